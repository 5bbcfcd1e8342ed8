use exit::{CommandError, Ending};
use host::wave2d::{LAB, Wave2d};
use lab::{Cpu, LabCase};
use terminal::progress::NoProgress;

use crate::flags::Extents;
use crate::npy;

fn computed(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    super::computed("wave2d", args)
}

fn refused(args: &[&str]) -> CommandError {
    super::refused("wave2d", args)
}

/// The last field after some timesteps of the double slit on 30 by 20 cells.
fn expected(steps: u32) -> Vec<f32> {
    let problem = Wave2d::new(30, 20, steps, "double-slit").unwrap();
    let fields = problem.reference(Cpu::Serial, &NoProgress).unwrap();
    device::buffer::elements(&fields, "u1").unwrap().to_vec()
}

#[test]
fn every_variant_gives_what_the_cpu_gives() {
    for variant in LAB.variants.iter().filter(|variant| !variant.on_request) {
        let chosen = format!("--variant={}", variant.name);
        let args = [
            "--shape=37,53",
            "--steps=25",
            "--out-period=12",
            "--seed=1",
            "--device=emulated",
        ];
        let (ending, text) = computed(&[&args[..], &[&chosen]].concat());
        assert_eq!(ending, Ok(Ending::Fine), "{text}");
        // 37 * 53 cells, two fields, three chunks.
        assert!(
            text.contains("  0 of 11,766 values differ from the CPU's"),
            "{text}"
        );
        assert!(text.contains("3 chunks; the speed"), "{text}");
    }
}

const SMALL: [&str; 3] = ["--shape=30,20", "--steps=50", "--device=cpu"];

#[test]
fn arrays_hold_the_fields() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    let out = format!("--out={}", folder.display());
    let args = ["--out-period=30", "--output=npy", &out];
    let (ending, text) = computed(&[&SMALL[..], &args].concat());
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("a/b: 2 fields"), "{text}");
    for step in [30, 50] {
        let file = folder.join(format!("u1-{step:06}.npy"));
        let (shape, values) = npy::read("--out", &file, 2).unwrap();
        assert_eq!(shape, [20, 30]);
        let bits = |all: Vec<f32>| all.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(values), bits(expected(step)));
    }
}

#[test]
fn paraviews_files_hold_the_fields() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("wave");
    let out = format!("--out={}", folder.display());
    let args = [&SMALL[..], &["--frames=2", &out]].concat();
    let (ending, text) = computed(&args);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("wave2d.pvd and 2 fields"), "{text}");
    let pvd = std::fs::read_to_string(folder.join("wave2d.pvd")).unwrap();
    for step in [25, 50] {
        let file = format!("u1-{step:06}.vti");
        let entry = format!(r#"timestep="{step}" part="0" file="{file}""#);
        assert!(pvd.contains(&entry), "{pvd}");
        let bytes = std::fs::read(folder.join(&file)).unwrap();
        let head = String::from_utf8_lossy(&bytes[..400]);
        let grid = r#"WholeExtent="0 29 0 19 0 0" Origin="0 0 0" Spacing="1 1 1""#;
        assert!(head.contains(grid), "{head}");
        let start = bytes.windows(2).position(|pair| pair == b"\n_").unwrap() + 2 + 8;
        let values = bytes[start..][..4 * 600].chunks_exact(4);
        for (value, expected) in values.zip(expected(step)) {
            assert_eq!(value, expected.to_le_bytes());
        }
    }
    let failure = computed(&args).0.unwrap_err();
    assert!(
        failure.to_string().contains("the folder is not empty"),
        "{failure}"
    );
}

#[test]
fn a_report_that_cannot_be_printed_loses_no_file() {
    let parent = tempfile::tempdir().unwrap();
    let path = |name: &str| parent.path().join(name).display().to_string();
    let [out, gif] = [path("w"), path("w.gif")];
    let args = ["--frames=3", "--out", &out, "--gif", &gif];
    let failure = super::cut_short("wave2d", &[&SMALL[..], &args].concat());
    assert_eq!(failure.exit_code(), exit::codes::ENVIRONMENT);
    insta::assert_snapshot!(failure, @"cannot write to standard output: no storage space");
    let gif = std::fs::read(gif).unwrap();
    assert!(gif.starts_with(b"GIF89a") && gif.ends_with(b";"));
    // Three fields, and the list of them.
    assert_eq!(std::fs::read_dir(out).unwrap().count(), 4);
}

#[test]
fn what_makes_no_sense() {
    insta::assert_snapshot!(refused(&["--scene=double-slot"]), @"--scene: unknown scene `double-slot`; did you mean `double-slit`?");
    insta::assert_snapshot!(refused(&["--shape=1,9"]), @"--shape: n_x = 1: a domain has at least 2 cells along each axis, its two borders");
    insta::assert_snapshot!(refused(&["--k=0.51"]), @"--k 0.51: unstable: the CFL condition is k = (c dt/dx)^2 <= 0.5");
    insta::assert_snapshot!(refused(&["--variant=nave"]), @"--variant: unknown variant `nave`; did you mean `naive`?");
    let (ending, _) = computed(&["--gpus=3", "--device=emulated", "--shape=9,2"]);
    insta::assert_snapshot!(ending.unwrap_err(), @"--gpus 3: the solution refuses this problem: 3 devices need a plane each, and there are 2 planes along y, each a row: use at most 2 devices");
    insta::assert_snapshot!(refused(&["--device=cpu", "--shape=800,800", "--gif=a.gif", "--frames=1000"]), @"--gif: 1000 frames of 800x800 pixels need 2560000000 bytes; at most 2147483648: make fewer, with a longer --out-period");
    assert!("400".parse::<Extents<2>>().is_err());
}

#[test]
fn a_film_has_no_row_for_each_frame() {
    let parent = tempfile::tempdir().unwrap();
    let gif = format!("--gif={}", parent.path().join("wave.gif").display());
    let args = [&SMALL[..], &["--frames=21", &gif]].concat();
    let (ending, text) = computed(&args);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("\n  mean of 21 chunks: "), "{text}");
    assert!(text.contains("wave.gif: 30x20, 21 frames, "), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
}
