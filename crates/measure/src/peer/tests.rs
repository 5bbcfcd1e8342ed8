use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use device::BufferPool;
use device::EmulatedDevice;
use device::check::{Value, find};
use device::{Device, DeviceKind, Launching, NamedBuffers};
use host::find_lab;
use lab::{CaseParams, Cpu, LabCase, Variant, find_variant};
use terminal::progress::NoProgress;
use test_support::{Need, skip};

use super::cuda::CudaPeer;
use super::python::{CUPY, NUMBA, PythonPeer, PythonSession, Toolkit, peers};
use super::{cuda, nvcc};
use crate::perf::timed_run::{Peer, RunError, TimedRun};
use select::devices::Machine;

/// The emulated device takes its time: about a microsecond for an update.
const MAX_EMULATED_UPDATES: u64 = 100_000;

/// How many times the reference's distance from the oracle a result may be that rounds differently:
/// what the labs' courses suggest for such solutions.
const FACTOR: f64 = 8.0;

/// Every kernel of every source, on small cases of its lab; on all of them where there is a GPU.
/// Without contraction they are equal to the reference to the last bit, with it they are not, and
/// as near to the oracle.
#[test]
fn cuda_peers_are_right() {
    let nvcc = match nvcc::Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(reason) => return skip(Need::Peers, reason),
    };
    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(EmulatedDevice::default())];
    match ::cuda::discover() {
        Ok(found) => devices.extend(found),
        Err(reason) => skip(Need::Gpu, reason),
    }
    let capabilities = devices
        .iter()
        .map(|device| device.info())
        .filter_map(|info| info.compute_capability);
    let compute_capability = capabilities.min().unwrap_or((8, 0));
    let mut done = Vec::new();
    for source in cuda::sources(host::labs()) {
        for peer in cuda::compile(&nvcc, &source, compute_capability).unwrap() {
            let about = peer.about();
            let lab = find_lab(about.lab).unwrap();
            let mut is_equal = true;
            let updates = |case: &dyn LabCase| case.work().updates;
            let is_emulated = |case: &dyn LabCase| updates(case) <= MAX_EMULATED_UPDATES;
            let cases = lab.small_cases();
            let emulated = cases.iter().filter(|case| is_emulated(case.as_ref()));
            let most = emulated.map(|case| updates(case.as_ref())).max();
            for case in &cases {
                let inputs = case.inputs().unwrap();
                let expected = case.reference(Cpu::Serial, &NoProgress).unwrap();
                println!("{} {} {}", about.lab, case.label(), updates(case.as_ref()));
                // One case in all shapes in which `perf` may launch it.
                let plain = find_variant(&lab.variants, about.variant).unwrap();
                let shapes = if Some(updates(case.as_ref())) == most {
                    &plain.shapes[..]
                } else {
                    &[]
                };
                for launched in std::iter::once(plain).chain(shapes) {
                    let devices = devices.iter().map(|device| device.as_ref());
                    for device in devices.filter(|device| {
                        device.info().kind != DeviceKind::Emulated || is_emulated(case.as_ref())
                    }) {
                        let got = outputs_of(&peer, device, case.as_ref(), launched, &inputs);
                        is_equal &=
                            is_right(&peer, case.as_ref(), plain, (&inputs, &expected), &got);
                    }
                }
            }
            assert_eq!(is_equal, !about.rounds_differently, "{}", about.language);
            assert!(about.built_by.starts_with("nvcc "), "{}", about.built_by);
            assert_eq!(about.code_sha256.as_ref().unwrap().len(), 64);
            done.push(format!(
                "{} {}, {}",
                about.lab, about.variant, about.language
            ));
        }
    }
    assert_eq!(
        done,
        [
            "wave2d naive, CUDA C++",
            "wave2d naive, CUDA C++, FMA",
            "wave2d naive, CUDA C++, shared tile",
            "wave2d naive, CUDA C++, shared tile, FMA",
            "wave2d shmem, CUDA C++",
            "wave2d shmem, CUDA C++, FMA",
            "wave2d fast, CUDA C++",
            "wave2d fast, CUDA C++, FMA",
            "wave2d wavefront, CUDA C++",
            "wave2d wavefront, CUDA C++, FMA",
            "wave3d single, CUDA C++",
            "wave3d single, CUDA C++, FMA",
            "wave3d fast, CUDA C++",
            "wave3d fast, CUDA C++, FMA",
            "poisson reads_source, CUDA C++",
            "poisson reads_source, CUDA C++, FMA",
            "poisson computes_source, CUDA C++",
            "poisson fast, CUDA C++",
            "stencil25 gmem, CUDA C++",
            "stencil25 st_reg_fixed, CUDA C++",
        ]
    );
}

/// The outputs that a peer computes.
fn outputs_of(
    peer: &CudaPeer,
    device: &dyn Device,
    case: &dyn LabCase,
    launched: &Variant,
    inputs: &NamedBuffers,
) -> NamedBuffers {
    println!("  {}, {}", launched.name, device.info().name);
    let memory = BufferPool::default();
    let mut run = peer
        .prepare(device, case, launched, inputs, &memory)
        .unwrap();
    run.reset().unwrap();
    run.run_times(1, Launching::Stream).unwrap();
    run.outputs().unwrap()
}

/// Whether it is equal to the reference, as it must be unless it rounds differently; then it must
/// be as near to the oracle.
fn is_right(
    peer: &CudaPeer,
    case: &dyn LabCase,
    variant: &Variant,
    (inputs, expected): (&NamedBuffers, &NamedBuffers),
    got: &NamedBuffers,
) -> bool {
    let about = peer.about();
    let checked = variant.check(case, inputs, expected, got).unwrap();
    if about.rounds_differently {
        let oracle = case.oracle_from(inputs, &NoProgress).unwrap().unwrap();
        let [allowed, distance] = [expected, got].map(|outputs| distance(outputs, &oracle));
        println!("    {distance:e}, the reference {allowed:e}");
        assert!(distance <= FACTOR * allowed);
    } else if let Err(error) = &checked {
        panic!("{} of {}: {error}", about.language, case.label());
    }
    checked.is_ok()
}

/// The greatest distance of a value from the oracle's.
fn distance(outputs: &NamedBuffers, oracle: &NamedBuffers) -> f64 {
    let mut greatest = 0.0f64;
    for (name, buffer) in outputs {
        let exact = find(oracle, name).unwrap();
        for index in 0..buffer.len() {
            let [value, exact] = [buffer, exact].map(|buffer| Value::at(buffer, index).to_f64());
            greatest = greatest.max((value - exact).abs());
        }
    }
    greatest
}

/// A program that plays nvcc. It knows one of poisson's kernels where fusing changes
/// something, and one where it does not.
const COMPILES: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0; }
case "$*" in
    "-ptx -O3 -std=c++17 -arch=compute_90 -fmad=false -o "*/poisson.cu) fuses=false ;;
    "-ptx -O3 -std=c++17 -arch=compute_90 -fmad=true -o "*/poisson.cu) fuses=true ;;
    *) echo "nvcc fatal   : Unknown option '$*'" >&2; exit 1 ;;
esac
[ -f "$8" ] || exit 1
{
    echo ".visible .entry poisson_reads_source("
    $fuses && echo "fma.rn.f64 %fd3, %fd1, %fd2, %fd0;" || echo "mul.rn.f64 %fd3, %fd1, %fd2;"
    echo "}"
    for kernel in computes_source fast_t3_r4_w8_s6; do
        echo ".visible .entry poisson_$kernel("
        $fuses && echo "mul.f64 %fd3, %fd1, %fd2;" || echo "mul.rn.f64 %fd3, %fd1, %fd2;"
        echo "fma.rn.f64 %fd3, %fd1, %fd2, %fd0;"
        echo "}"
    done
} > "$7"
"#;

#[test]
fn what_contraction_changes_is_built_both_ways_for_the_gpu_at_hand() {
    let (_folder, path) = program(COMPILES);
    let nvcc = nvcc::Nvcc::at(path).unwrap();
    let sources = cuda::sources(host::labs());
    let poisson = sources.iter().find(|one| one.file == "poisson.cu");
    let peers = cuda::compile(&nvcc, poisson.unwrap(), (9, 0)).unwrap();
    let told: Vec<_> = peers.iter().map(|peer| peer.about()).collect();
    let lines = told.iter().map(|about| {
        let rounding = if about.rounds_differently {
            "differs"
        } else {
            "is the reference's"
        };
        let (variant, language, built_by) = (about.variant, &about.language, &about.built_by);
        format!("{variant}: {language}, by {built_by}; rounding {rounding}")
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    reads_source: CUDA C++, by nvcc 13.0.88 -O3 -std=c++17 -arch=compute_90 -fmad=false; rounding is the reference's
    reads_source: CUDA C++, FMA, by nvcc 13.0.88 -O3 -std=c++17 -arch=compute_90 -fmad=true; rounding differs
    computes_source: CUDA C++, by nvcc 13.0.88 -O3 -std=c++17 -arch=compute_90 -fmad=false; rounding is the reference's
    fast: CUDA C++, by nvcc 13.0.88 -O3 -std=c++17 -arch=compute_90 -fmad=false; rounding is the reference's
    ");
    assert_ne!(told[0].code_sha256, told[1].code_sha256);
    assert_eq!(told[0].code_sha256, told[2].code_sha256);
    let error = cuda::compile(&nvcc, poisson.unwrap(), (7, 5)).unwrap_err();
    assert!(error.starts_with("nvcc 13.0.88: nvcc fatal"), "{error}");
}

#[test]
fn what_is_built_runs_on_every_gpu_of_the_machine() {
    assert_eq!(
        super::compute_capability(&test_lab::machine()),
        Some((9, 0))
    );
    let emulated: Box<dyn Device> = Box::new(EmulatedDevice::default());
    let machine = Machine::new(vec![(DeviceKind::Emulated, Ok(vec![emulated]))]);
    assert_eq!(super::compute_capability(&machine), None);
}

#[test]
fn what_nvcc_refuses_is_told_by_the_sources_name() {
    let nvcc = match nvcc::Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(reason) => return skip(Need::Peers, reason),
    };
    let build = nvcc::Build {
        compute_capability: (8, 0),
        fuses: false,
    };
    let error = nvcc
        .compile("bad.cu", "__global__ void k() { x = 1; }", build)
        .unwrap_err();
    assert!(
        error.contains("bad.cu(1): error: identifier \"x\" is undefined"),
        "{error}"
    );
}

/// A program that plays another.
fn program(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("python3");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

fn naive() -> &'static Variant {
    find_lab("wave2d").unwrap().find("naive").unwrap()
}

fn case(steps: u32) -> Box<dyn LabCase> {
    let mut params = CaseParams::default();
    for (name, value) in [("n_x", 20), ("n_y", 12), ("steps", steps)] {
        params.set(name, value.to_string());
    }
    find_lab("wave2d").unwrap().case(&params).unwrap()
}

/// The naive variant with the toolkit of this Python.
fn peer_of(python: PathBuf, toolkit: Toolkit) -> Result<PythonPeer, String> {
    let with = toolkit.find(python)?;
    Ok(peers(host::labs(), &with).remove(0))
}

fn start<'i>(
    peer: &PythonPeer,
    case: &dyn LabCase,
    inputs: &'i NamedBuffers,
) -> Result<TimedRun<'i>, RunError> {
    let plan = naive().record(case).unwrap();
    let session = PythonSession::start(peer, &plan, inputs, 0, 0)?;
    Ok(TimedRun::of_program(Box::new(session), plan, inputs))
}

/// Answers as the script does; its fields swap and nothing else.
const SWAPS: &str = r#"#!/bin/sh
[ "$1" = -c ] && { echo 1.2.3; exit 0; }
folder=$(dirname "$2")
while read -r command argument; do
    case "$command $argument" in
        prepare*\"n_x\":20,\"n_y\":12,*\"rows\":1,*\"steps\":3*) echo ok ;;
        reset*) echo ok ;;
        "run 1 "*|"run 1") echo "time 0.5 0.75" ;;
        run*) echo "time 5.0 7.5" ;;
        outputs*) cp "$folder/u0" "$folder/u1.out"; cp "$folder/u1" "$folder/u0.out"; echo ok ;;
        flush*) echo "error MemoryError: none left" ;;
        *) echo "no idea" ;;
    esac
done
"#;

#[test]
fn python_is_asked_and_understood() {
    let (_folder, python) = program(SWAPS);
    let peer = peer_of(python, CUPY).unwrap();
    assert_eq!(peer.about().built_by, "cupy 1.2.3");
    let case = case(3);
    let inputs = case.inputs().unwrap();
    let mut run = start(&peer, case.as_ref(), &inputs).unwrap();
    run.reset().unwrap();
    let timing = run.run_times(1, Launching::Stream).unwrap();
    assert_eq!(
        (timing.device.unwrap().as_millis(), timing.host.as_millis()),
        (500, 750)
    );
    let ten = run.run_times(10, Launching::Stream).unwrap();
    assert_eq!(
        (ten.device.unwrap().as_millis(), ten.host.as_millis()),
        (5000, 7500)
    );
    let outputs = run.outputs().unwrap();
    assert_eq!(
        (&outputs[0].0, &outputs[0].1),
        (&"u0".to_owned(), &inputs[1].1)
    );
    assert_eq!(
        (&outputs[1].0, &outputs[1].1),
        (&"u1".to_owned(), &inputs[0].1)
    );
    assert_eq!(run.commands(), 3);
    assert!(run.kernels().unwrap().is_empty());
    insta::assert_snapshot!(run.flush().unwrap_err(), @"MemoryError: none left");
}

#[test]
fn python_that_fails_is_told() {
    let (_folder, python) = program(SWAPS);
    let peer = peer_of(python, NUMBA).unwrap();
    let error = |of, steps| {
        let case = case(steps);
        let inputs = case.inputs().unwrap();
        start(of, case.as_ref(), &inputs).err().unwrap()
    };
    let text = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\necho 'Traceback' >&2\necho 'ImportError: libcuda' >&2\n";
    let (_other, failing) = program(text);
    let ends = peer_of(failing, NUMBA).unwrap();
    insta::assert_snapshot!(error(&ends, 3), @"python3 ended: ImportError: libcuda");
    // The stand-in knows cases of three timesteps only.
    insta::assert_snapshot!(error(&peer, 1), @"wave2d.py answered `no idea`");
    let (_third, lacking) =
        program("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'numba'\" >&2\nexit 1\n");
    let reason = peer_of(lacking, NUMBA).unwrap_err();
    insta::assert_snapshot!(reason, @"ModuleNotFoundError: No module named 'numba'");
    let no_program = peer_of("/no/such/python3".into(), NUMBA).unwrap_err();
    insta::assert_snapshot!(no_program, @"/no/such/python3 does not start: No such file or directory (os error 2)");
}

#[test]
fn python_needs_a_gpu() {
    let (_folder, python) = program(SWAPS);
    let peer = peer_of(python, NUMBA).unwrap();
    let (case, device) = (case(3), EmulatedDevice::default());
    let inputs = case.inputs().unwrap();
    let memory = BufferPool::default();
    let prepared = peer.prepare(&device, case.as_ref(), naive(), &inputs, &memory);
    let error = prepared.err().unwrap();
    insta::assert_snapshot!(error, @"Python, numba runs on a GPU only");
}

/// The real script, with numba's simulator of CUDA, where numba is installed.
#[test]
fn numba_is_equal_to_the_last_bit() {
    let (_folder, python) = program("#!/bin/sh\nNUMBA_ENABLE_CUDASIM=1 exec python3 \"$@\"\n");
    let peer = match peer_of(python, NUMBA) {
        Ok(peer) => peer,
        Err(reason) => return skip(Need::Peers, reason),
    };
    for scene in [
        "point-source",
        "double-slit",
        "elliptic-room",
        "parabolic-mirror",
        "empty-box",
    ] {
        let mut params = CaseParams::default();
        for (name, value) in [
            ("n_x", "28"),
            ("n_y", "12"),
            ("steps", "2"),
            ("scene", scene),
        ] {
            params.set(name, value.to_owned());
        }
        let case = find_lab("wave2d").unwrap().case(&params).unwrap();
        let inputs = case.inputs().unwrap();
        let mut run = start(&peer, case.as_ref(), &inputs).unwrap();
        run.reset().unwrap();
        run.run_times(1, Launching::Stream).unwrap();
        let expected = case.reference_from(&inputs, Cpu::Serial, &NoProgress);
        let outputs = run.outputs().unwrap();
        let checked = naive().check(case.as_ref(), &inputs, &expected.unwrap(), &outputs);
        checked.unwrap().unwrap();
    }
}
