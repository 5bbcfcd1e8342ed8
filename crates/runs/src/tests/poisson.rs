use exit::{CommandError, Ending};
use host::poisson::{LAB, Poisson, Start};
use lab::{Cpu, LabCase};

fn solved(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    super::computed("poisson", args)
}

fn refused(args: &[&str]) -> CommandError {
    super::refused("poisson", args)
}

const SMALL: [&str; 2] = ["--n=11", "--iterations=7"];

#[test]
fn every_variant_gives_what_the_cpu_gives() {
    for variant in &LAB.variants {
        let chosen = format!("--variant={}", variant.name);
        let (ending, text) = solved(&[&SMALL[..], &["--device=emulated", &chosen]].concat());
        assert_eq!(ending, Ok(Ending::Fine));
        assert!(
            text.contains("  0 of 1,331 values differ from the CPU's"),
            "{text}"
        );
        assert!(
            text.contains("says nothing of a GPU") && !text.contains("/s"),
            "{text}"
        );
    }
}

#[test]
fn npy_and_vti_hold_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b");
    let out = format!("--out={}", deep.display());
    for (device, format) in [("cpu", "npy"), ("emulated", "vti")] {
        let (device, output) = (format!("--device={device}"), format!("--output={format}"));
        let args = [
            &SMALL[..],
            &[&device, &output, &out, "--suffix=x", "--t0=-2"],
        ]
        .concat();
        let (ending, text) = solved(&args);
        assert_eq!(ending, Ok(Ending::Fine));
        assert!(text.contains(&format!("poisson-11-x.{format} (")), "{text}");
    }
    let problem = Poisson::new(11, 7)
        .unwrap()
        .with_start(Start::Uniform(-2.0))
        .unwrap();
    let expected = problem
        .reference(Cpu::Serial, &terminal::progress::NoProgress)
        .unwrap();
    let expected = expected[0].1.bytes();
    let npy = std::fs::read(deep.join("poisson-11-x.npy")).unwrap();
    assert!(npy.ends_with(expected));
    assert_eq!((npy.len() - expected.len()) % 64, 0);
    let vti = std::fs::read(deep.join("poisson-11-x.vti")).unwrap();
    let tail = b"\n  </AppendedData>\n</VTKFile>\n";
    assert!(vti.strip_suffix(tail).unwrap().ends_with(expected));
    assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 2);
}

#[test]
fn a_report_that_cannot_be_printed_loses_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = format!("--out={}", folder.path().display());
    let args = [&SMALL[..], &["--device=cpu", "--output=npy", &out]].concat();
    let failure = super::cut_short("poisson", &args);
    insta::assert_snapshot!(failure, @"cannot write to standard output: no storage space");
    assert!(folder.path().join("poisson-11.npy").is_file());
}

#[test]
fn iterations_to_a_tolerance_are_the_same_everywhere() {
    let args = [
        "--n=8",
        "--iterations=500",
        "--tolerance=1e-3",
        "--check-every=1",
    ];
    let reached = |device| {
        let (ending, text) = solved(&[&args[..], &[device]].concat());
        assert_eq!(ending, Ok(Ending::Fine));
        text.lines()
            .find(|line| line.contains("tolerance"))
            .unwrap()
            .to_owned()
    };
    let cpu = reached("--device=cpu");
    assert!(cpu.contains("tolerance 1e-3 reached after "), "{cpu}");
    assert_eq!(reached("--device=emulated"), cpu);

    let (ending, text) = solved(&[
        "--n=8",
        "--iterations=5",
        "--tolerance=1e-9",
        "--device=cpu",
    ]);
    assert!(text.contains("NOT reached after 5 iterations"), "{text}");
    assert_eq!(ending, Ok(Ending::Wrong));
}

#[test]
fn threads_do_not_change_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let field = |threads: &str| {
        let out = format!("--out={}", folder.path().display());
        let threads = format!("--threads={threads}");
        let args = [
            "--n=33",
            "--iterations=3",
            "--device=cpu",
            "--output=npy",
            &out,
            &threads,
        ];
        assert_eq!(solved(&args).0, Ok(Ending::Fine));
        std::fs::read(folder.path().join("poisson-33.npy")).unwrap()
    };
    assert!(field("1") == field("3"));
}

#[test]
fn what_makes_no_sense() {
    insta::assert_snapshot!(refused(&["--n=2"]), @"--n 2: a cube has at least 3 points along each axis: two walls and one between them");
    insta::assert_snapshot!(refused(&["--n=50000"]), @"--n 50000: a cube has at most 32768 points along each axis: kernels number those of a few layers with 32 bits");
    insta::assert_snapshot!(refused(&["--t0=nan"]), @"--t0 NaN: a number of at most 1e9 in magnitude");
    insta::assert_snapshot!(refused(&["--n=9", "--gpus=99", "--device=emulated"]), @"--gpus 99: the solution refuses this problem: 99 devices need a plane each, and there are 7 planes between the walls: use at most 7 devices");
    insta::assert_snapshot!(refused(&["--tolerance=0"]), @"--tolerance 0: a finite number above 0: the largest change of a point in one iteration");
    insta::assert_snapshot!(refused(&["--tolerance=-1e-3"]), @"--tolerance -0.001: a finite number above 0: the largest change of a point in one iteration");
    insta::assert_snapshot!(refused(&["--variant=computes-source"]), @"--variant: unknown variant `computes-source`; did you mean `computes_source`?");
    insta::assert_snapshot!(refused(&["--output=npy", "--suffix=a/b", "--device=cpu"]), @r#"--suffix "a/b": a part of a file's name, without / and \; name folders with --out"#);
}

#[test]
fn a_folder_that_cannot_be_made_is_known_before_the_work() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = format!("--out={}/deeper", file.path().display());
    let failure = refused(&[
        "--n=1600",
        "--iterations=1000000",
        "--device=cpu",
        "--output=npy",
        &out,
    ]);
    assert!(
        failure.to_string().contains("cannot create the folder: "),
        "{failure}"
    );
    assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
}

#[test]
fn the_choice_is_explained_and_nothing_computed() {
    let explained = |args: &[&str]| {
        let (ending, text) = solved(&[&["--explain", "--n=12"], args].concat());
        assert_eq!(ending, Ok(Ending::Fine));
        text
    };
    if LAB.variants.is_empty() {
        return;
    }
    insta::assert_snapshot!(explained(&["--device=emulated"]), @r"
    poisson  12^3, 1000 iterations
      computes_source runs: poisson takes it where no variant is named
      launch shape: the default one; shapes differ in speed, and this device has none that counts
      reads_source, no_branches, layer_by_layer, shared_tile, fast_single, fast, fast_at_once, resident,
        resident_grid, dual, split_single can run this, too: `--variant NAME` takes one, and `harness
        list poisson` says what each does
    ");
    insta::assert_snapshot!(explained(&["--device=emulated", "--gpus=2"]), @r"
    poisson  12^3, 1000 iterations
      fast_at_once runs: poisson says that it is the fastest for this size on 2 x PTX interpreter
      launch shape: it has one
      fast, dual, split_single can run this, too: `--variant NAME` takes one, and `harness list poisson`
        says what each does
      reads_source, no_branches, layer_by_layer, shared_tile, computes_source, fast_single, resident,
        resident_grid cannot run this: the plan uses 1 of 2 devices
    ");
    insta::assert_snapshot!(explained(&["--device=cpu"]), @r"
    poisson  12^3, 1000 iterations
      the CPU computes the reference, and no variant: --device names it
      --device emulated runs computes_source without a GPU, on a small problem
    ");
}
