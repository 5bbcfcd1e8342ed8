use exit::{CommandError, Ending};
use host::wave3d::{LAB, Start, Wave3d};
use lab::{Cpu, LabCase};

use crate::flags::Extents;

fn computed(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    super::computed("wave3d", args)
}

fn refused(args: &[&str]) -> CommandError {
    super::refused("wave3d", args)
}

#[test]
fn every_variant_gives_what_the_cpu_gives() {
    for variant in &LAB.variants {
        let chosen = format!("--variant={}", variant.name);
        let args = [
            "--shape=12,13,33",
            "--steps=5",
            "--out-period=2",
            "--start=random",
        ];
        let (ending, text) = computed(&[&args[..], &["--device=emulated", &chosen]].concat());
        assert_eq!(ending, Ok(Ending::Fine));
        // 12 * 13 * 33 sites, two fields, three chunks.
        assert!(
            text.contains("  0 of 30,888 values differ from the CPU's"),
            "{text}"
        );
        assert!(text.contains("3 chunks; the speed"), "{text}");
    }
}

#[test]
fn the_series_holds_the_fields() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    let out = format!("--out={}", folder.display());
    let args = [
        "--shape=5,6,7",
        "--steps=5",
        "--out-period=3",
        "--start=pulse",
        "--dx=20",
        &out,
    ];
    let (ending, text) = computed(&[&args[..], &["--device=cpu"]].concat());
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("wave3d.pvd and 2 fields"), "{text}");
    let pvd = std::fs::read_to_string(folder.join("wave3d.pvd")).unwrap();
    for (step, time) in [(3, "0.006"), (5, "0.01")] {
        let file = format!("u-{step:06}.vti");
        let entry = format!(r#"timestep="{time}" part="0" file="{file}""#);
        assert!(pvd.contains(&entry), "{pvd}");

        let problem = Wave3d::new([5, 6, 7], step).unwrap();
        let model = problem.model();
        let problem = problem
            .with_medium(model, 20.0, 0.002)
            .unwrap()
            .with_start(Start::Pulse);
        let fields = problem
            .reference(Cpu::Serial, &terminal::progress::NoProgress)
            .unwrap();
        let expected = fields
            .iter()
            .find(|(name, _)| name == "u")
            .unwrap()
            .1
            .as_slice::<f64>()
            .unwrap();
        let bytes = std::fs::read(folder.join(&file)).unwrap();
        let head = String::from_utf8_lossy(&bytes[..400]);
        assert!(
            head.contains(r#"WholeExtent="0 4 0 5 0 6" Origin="0 0 0" Spacing="20 20 20""#),
            "{head}"
        );
        let start = bytes.windows(2).position(|pair| pair == b"\n_").unwrap() + 2 + 8;
        for (index, value) in bytes[start..][..8 * 210].chunks_exact(8).enumerate() {
            let (x, y, z) = (index % 5, index / 5 % 6, index / 30);
            let value = f64::from_le_bytes(value.try_into().unwrap());
            assert_eq!(value.to_bits(), expected[(x * 6 + y) * 7 + z].to_bits());
        }
    }
    let failure = computed(&[&args[..], &["--device=cpu"]].concat())
        .0
        .unwrap_err();
    assert!(
        failure.to_string().contains("the folder is not empty"),
        "{failure}"
    );
}

#[test]
fn rates_of_the_cpu() {
    let (ending, text) = computed(&[
        "--shape=20,20,20",
        "--steps=4",
        "--out-period=2",
        "--device=cpu",
    ]);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(
        text.contains("site updates/s, standard deviation "),
        "{text}"
    );
    assert!(text.contains("to 2 ") && text.contains("to 4 "), "{text}");
}

#[test]
fn what_makes_no_sense() {
    insta::assert_snapshot!(refused(&["--shape=2,10,10"]), @"--shape: n_x = 2: a domain has at least 3 sites along each axis: two borders and one between");
    insta::assert_snapshot!(refused(&["--shape=2000,2000,2000"]), @"--shape: n_x * n_y * n_z = 2000 * 2000 * 2000: a domain has at most 2147483648 sites");
    insta::assert_snapshot!(refused(&["--dt=0.01"]), @"--dt 0.01: unstable: the CFL condition is dt <= dx / (c sqrt(3)); with dx = 10 m and c up to 2400 m/s, dt is at most 0.00240562 s");
    insta::assert_snapshot!(refused(&["--dx=0"]), @"--dx 0: a number of metres from 1e-60 to 1e60");
    insta::assert_snapshot!(refused(&["--variant=singel"]), @"--variant: unknown variant `singel`; did you mean `single`?");
    assert!("10,10".parse::<Extents<3>>().is_err() && "1,2,x".parse::<Extents<3>>().is_err());
    assert_eq!("1, 2,3".parse(), Ok(Extents([1, 2, 3])));
}
