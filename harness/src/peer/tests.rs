use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use host::device::EmulatedDevice;
use host::device::SharedMemory;
use host::{Case, CaseParams, Cpu, Device, DeviceKind, Launching, NoProgress, find_lab};
use test_support::{Need, skip};

use super::python::{CUPY, NUMBA, PythonPeer, PythonRun};
use super::{cuda, nvcc};
use crate::perf::contender::{Peer, TimedRun, Trouble};

/// The emulated device takes its time: about a microsecond for an update.
const MAX_EMULATED_UPDATES: u64 = 100_000;

/// Every kernel of every source, on small cases of its lab, against the reference; all small cases where there is a GPU.
#[test]
fn cuda_peers_are_equal_to_the_last_bit() {
    let nvcc = match nvcc::Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(reason) => return skip(Need::Peers, reason),
    };
    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(EmulatedDevice::default())];
    match host::device::discover() {
        Ok(found) => devices.extend(found),
        Err(reason) => skip(Need::Gpu, reason),
    }
    let mut done = Vec::new();
    for source in cuda::SOURCES {
        for peer in cuda::compile(&nvcc, source).unwrap() {
            let lab = find_lab(peer.about().lab).unwrap();
            for case in lab.small_cases() {
                let inputs = case.inputs().unwrap();
                let expected = case.reference(Cpu::Serial, &NoProgress).unwrap();
                let updates = case.work(peer.about().variant).updates;
                println!("{} {} {updates}", peer.about().lab, case.label());
                for device in &devices {
                    if device.info().kind == DeviceKind::Emulated && updates > MAX_EMULATED_UPDATES
                    {
                        continue;
                    }
                    let mut run = peer
                        .prepare(
                            device.as_ref(),
                            case.as_ref(),
                            &inputs,
                            &SharedMemory::default(),
                        )
                        .unwrap();
                    run.reset().unwrap();
                    run.run_times(1, Launching::Stream).unwrap();
                    let mut got = Vec::new();
                    run.outputs(&mut got).unwrap();
                    let checked = case.check(peer.about().variant, &expected, &got);
                    checked.unwrap_or_else(|error| {
                        panic!("{} of {}: {error}", peer.about().language, case.label())
                    });
                }
            }
            assert!(
                peer.about().built_by.starts_with("nvcc "),
                "{}",
                peer.about().built_by
            );
            assert_eq!(peer.about().code_sha256.as_ref().unwrap().len(), 64);
            done.push(format!(
                "{} {}, {}",
                peer.about().lab,
                peer.about().variant,
                peer.about().language
            ));
        }
    }
    assert_eq!(
        done,
        [
            "wave2d naive, CUDA C++",
            "wave2d naive, CUDA C++, shared tile",
            "wave2d shmem, CUDA C++",
            "wave3d single, CUDA C++",
            "poisson reads_source, CUDA C++",
            "poisson computes_source, CUDA C++",
        ]
    );
}

#[test]
fn what_nvcc_refuses_is_told_by_the_sources_name() {
    let nvcc = match nvcc::Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(reason) => return skip(Need::Peers, reason),
    };
    let error = nvcc
        .compile("bad.cu", "__global__ void k() { x = 1; }")
        .unwrap_err();
    assert!(
        error.contains("bad.cu(1): error: identifier \"x\" is undefined"),
        "{error}"
    );
}

/// A program that stands in for Python.
fn program(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("python3");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

fn case(steps: u32) -> Box<dyn Case> {
    let mut params = CaseParams::default();
    for (name, value) in [("n_x", 20), ("n_y", 12), ("steps", steps)] {
        params.set(name, value.to_string());
    }
    find_lab("wave2d").unwrap().case(&params).unwrap()
}

fn start(peer: &PythonPeer, case: &dyn Case) -> Result<PythonRun, Trouble> {
    let inputs = case.inputs().unwrap();
    PythonRun::start(peer, &case.record("naive").unwrap(), &inputs, 0, 0)
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
    let peer = PythonPeer::find(python, CUPY).unwrap();
    assert_eq!(peer.about().built_by, "cupy 1.2.3");
    let case = case(3);
    let inputs = case.inputs().unwrap();
    let mut run = start(&peer, case.as_ref()).unwrap();
    run.reset().unwrap();
    let timing = run.run_times(1, Launching::Stream).unwrap();
    assert_eq!(
        (timing.device.unwrap().as_millis(), timing.host.as_millis()),
        (500, 750)
    );
    let timing = run.run_times(10, Launching::Stream).unwrap();
    assert_eq!(
        (timing.device.unwrap().as_millis(), timing.host.as_millis()),
        (5000, 7500)
    );
    let mut outputs = Vec::new();
    run.outputs(&mut outputs).unwrap();
    assert_eq!(
        (&outputs[0].0, &outputs[0].1),
        (&"u0".to_owned(), &inputs[1].1)
    );
    assert_eq!(
        (&outputs[1].0, &outputs[1].1),
        (&"u1".to_owned(), &inputs[0].1)
    );
    assert_eq!(run.commands(), Some(3));
    insta::assert_snapshot!(run.flush().unwrap_err(), @"MemoryError: none left");
}

#[test]
fn python_that_fails_is_told() {
    let (_folder, python) = program(SWAPS);
    let peer = PythonPeer::find(python, NUMBA).unwrap();
    let trouble = |peer, steps| start(peer, case(steps).as_ref()).err().unwrap();
    let text = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\necho 'Traceback' >&2\necho 'ImportError: libcuda' >&2\n";
    let (_other, python) = program(text);
    let ends = PythonPeer::find(python, NUMBA).unwrap();
    insta::assert_snapshot!(trouble(&ends, 3), @"python3 ended: ImportError: libcuda");
    // The stand-in knows cases of three timesteps only.
    insta::assert_snapshot!(trouble(&peer, 1), @"wave2d.py answered `no idea`");
    let (_folder, python) =
        program("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'numba'\" >&2\nexit 1\n");
    let reason = PythonPeer::find(python, NUMBA).unwrap_err();
    insta::assert_snapshot!(reason, @"ModuleNotFoundError: No module named 'numba'");
    let reason = PythonPeer::find("/no/such/python3".into(), NUMBA).unwrap_err();
    insta::assert_snapshot!(reason, @"/no/such/python3 does not start: No such file or directory (os error 2)");
}

#[test]
fn python_needs_a_gpu() {
    let (_folder, python) = program(SWAPS);
    let peer = PythonPeer::find(python, NUMBA).unwrap();
    let (case, device) = (case(3), EmulatedDevice::default());
    let inputs = case.inputs().unwrap();
    let memory = SharedMemory::default();
    let prepared = peer.prepare(&device, case.as_ref(), &inputs, &memory);
    let trouble = prepared.err().unwrap();
    insta::assert_snapshot!(trouble, @"Python, numba runs on a GPU only");
}

/// The real script, with numba's simulator of CUDA, where numba is installed.
#[test]
fn numba_is_equal_to_the_last_bit() {
    let (_folder, python) = program("#!/bin/sh\nNUMBA_ENABLE_CUDASIM=1 exec python3 \"$@\"\n");
    let peer = match PythonPeer::find(python, NUMBA) {
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
        let mut run = start(&peer, case.as_ref()).unwrap();
        run.reset().unwrap();
        run.run_times(1, Launching::Stream).unwrap();
        let expected = case.reference(Cpu::Serial, &NoProgress).unwrap();
        let mut outputs = Vec::new();
        run.outputs(&mut outputs).unwrap();
        case.check("naive", &expected, &outputs).unwrap();
    }
}
