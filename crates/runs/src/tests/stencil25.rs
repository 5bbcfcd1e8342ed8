use exit::{CommandError, Ending};
use host::stencil25::{LAB, Model, Stencil25};
use lab::{Cpu, LabCase, Variant};
use terminal::progress::NoProgress;

use crate::field_files::write_npy;
use crate::npy;

fn computed(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    super::computed("stencil25", args)
}

fn refused(args: &[&str]) -> CommandError {
    super::refused("stencil25", args)
}

fn problem(args: &[&str]) -> Stencil25 {
    let problem = super::problem("stencil25", args);
    lab::downcast::<Stencil25>("run", problem.as_ref()).clone()
}

const SMALL: [&str; 3] = ["--shape=14,13,40", "--shell=3", "--device=cpu"];

#[test]
fn every_variant_gives_what_the_cpu_gives() {
    let usual = |variant: &&Variant| variant.is_exact() && !variant.on_request;
    for variant in LAB.variants.iter().filter(usual) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("line.npy");
        let receivers = format!("--receivers={}", file.display());
        let (chosen, every) = (format!("--variant={}", variant.name), "--receiver-period=2");
        let args = [
            "--shape=10,9,30",
            "--shell=2",
            "--steps=5",
            "--out-period=3",
            "--start=random",
            "--device=emulated",
            &chosen,
            &receivers,
            every,
        ];
        let (ending, text) = computed(&args);
        assert_eq!(ending, Ok(Ending::Fine));
        // Three arrays of 18 * 17 rows of 64 values, two chunks.
        assert!(
            text.contains("  0 of 117,504 values differ from the CPU's"),
            "{text}"
        );
        assert!(
            text.contains("line.npy: 2 samples of 6 receivers; "),
            "{text}"
        );
        let (shape, samples) = npy::read("--receivers", &file, 2).unwrap();
        assert_eq!(shape, [2, 6]);
        let problem = problem(&args);
        let [_, y, _] = problem.source_point();
        for (sample, values) in (1..).zip(samples.chunks(6)) {
            let part = problem.clone().with_steps(2 * sample);
            let fields = LabCase::reference(&part, Cpu::Serial, &NoProgress).unwrap();
            let u: &[f32] = device::buffer::elements(&fields, "u").unwrap();
            for (x, value) in (2..).zip(values) {
                assert_eq!(
                    value.to_bits(),
                    u[problem.grid().index(x, y, 2) as usize].to_bits()
                );
            }
        }
    }
}

#[test]
fn files_hold_the_points_without_the_halo() {
    let parent = tempfile::tempdir().unwrap();
    let path = |name: &str| parent.path().join(name);
    let out = format!("--out={}", path("fields").display());
    let gif = format!("--gif={}", path("slice.gif").display());
    let receivers = format!("--receivers={}", path("traces.npy").display());
    let args = [
        "--steps=6",
        "--start=pulse",
        "--out-period=3",
        "--spacing=10,12.5,8",
        &out,
        &gif,
        &receivers,
    ];
    let (ending, text) = computed(&[&SMALL[..], &args].concat());
    assert_eq!(ending, Ok(Ending::Fine), "{text}");
    assert!(text.contains("stencil25.pvd and 2 fields"), "{text}");
    assert!(text.contains("slice.gif: 14x40, 2 frames, "), "{text}");
    assert!(
        text.contains("traces.npy: 6 samples of 8 receivers; "),
        "{text}"
    );
    let picture = std::fs::read(path("traces.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));

    let problem = problem(&[&SMALL[..], &args].concat());
    let fields = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
    let u: &[f32] = device::buffer::elements(&fields, "u").unwrap();
    let bytes = std::fs::read(path("fields/u-000006.vti")).unwrap();
    let head = String::from_utf8_lossy(&bytes[..400]);
    let expected = r#"WholeExtent="0 13 0 12 0 39" Origin="0 0 0" Spacing="10 12.5 8""#;
    assert!(head.contains(expected), "{head}");
    let start = bytes.windows(2).position(|pair| pair == b"\n_").unwrap() + 2 + 8;
    let values = bytes[start..][..4 * 14 * 13 * 40].chunks_exact(4);
    for (index, value) in (0..).zip(values) {
        let (x, y, z) = (index % 14, index / 14 % 13, index / (14 * 13));
        let value = f32::from_le_bytes(value.try_into().unwrap());
        let cell = u[problem.grid().index(x, y, z) as usize];
        assert_eq!(value.to_bits(), cell.to_bits());
    }
}

#[test]
fn a_model_is_read_and_sets_the_shape() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.npy");
    let write = |shape: &[usize], speeds: Vec<f64>| {
        let mut bytes = Vec::new();
        write_npy(&mut bytes, shape, &speeds.into()).unwrap();
        std::fs::write(&file, bytes).unwrap();
    };
    let model = format!("--model={}", file.display());
    let without_name = |failure: CommandError| {
        failure
            .to_string()
            .replace(&file.display().to_string(), "model.npy")
    };
    write(
        &[7, 8, 9],
        (0..504).map(|at| 1500.0 + f64::from(at)).collect(),
    );
    let args = [
        "--shell=2",
        "--steps=3",
        "--device=cpu",
        "--start=pulse",
        &model,
    ];
    let problem = problem(&args);
    assert_eq!(problem.grid().shape(), [7, 8, 9]);
    let Model::Given(speeds) = problem.model() else {
        panic!("{:?}", problem.model())
    };
    assert_eq!((speeds[0], speeds[503]), (1500.0, 2003.0));
    assert_eq!(computed(&args).0, Ok(Ending::Fine));

    let with_model = |more: &[&str]| without_name(refused(&[&[model.as_str()], more].concat()));
    insta::assert_snapshot!(with_model(&["--shell=2", "--shape=9,8,7"]), @"--model model.npy: it has 7,8,9 points, and --shape says 9,8,7; leave --shape out");
    insta::assert_snapshot!(with_model(&["--shell=4"]), @"--model model.npy: n_x = 7: with an absorbing shell of 4 points at both ends and one between, at least 9; or a smaller shell");
    insta::assert_snapshot!(with_model(&["--shell=2", "--dt=0.1"]), @"--dt 0.1: unstable: with spacings of 10, 10 and 10 m and speeds up to 2003 m/s, the CFL condition is dt <= 0.00226088 s");
    write(&[7, 72], vec![1500.0; 504]);
    insta::assert_snapshot!(with_model(&["--shell=2"]), @"--model model.npy: its shape is (7, 72,); an array of 3 axes is needed");
    write(&[7, 8, 9], vec![f64::NAN; 504]);
    insta::assert_snapshot!(with_model(&["--shell=2"]), @"--model model.npy: the speed at point 0 is NaN; a number of m/s from 1e-6 to 1e6");
    write(&[3, 8, 21], vec![1.0; 504]);
    insta::assert_snapshot!(with_model(&["--shell=2"]), @"--model model.npy: n_x = 3: with an absorbing shell of 2 points at both ends and one between, at least 5; or a smaller shell");
}

#[test]
fn what_makes_no_sense() {
    insta::assert_snapshot!(refused(&["--shape=32,33,33"]), @"--shape: n_x = 32: with an absorbing shell of 16 points at both ends and one between, at least 33; or a smaller shell");
    insta::assert_snapshot!(refused(&["--shape=2000,2000,2000"]), @"--shape: n_x * n_y * n_z = 2000 * 2000 * 2000: with the halo, an array would have 8128641024 values, and kernels number at most 2147483648");
    insta::assert_snapshot!(refused(&["--dt=0.01"]), @"--dt 0.01: unstable: with spacings of 10, 10 and 10 m and speeds up to 2400 m/s, the CFL condition is dt <= 0.00188689 s");
    insta::assert_snapshot!(refused(&["--spacing=10,0,10"]), @"--spacing: dy = 0: a number of metres from 1e-12 to 1e12");
    insta::assert_snapshot!(refused(&["--model=layer"]), @"--model: unknown model `layer`; did you mean `layers`?; a model of your own is a .npy file");
    insta::assert_snapshot!(refused(&["--model=no/such.npy"]), @"--model no/such.npy: there is no such file");
    insta::assert_snapshot!(refused(&["--variant=gmen"]), @"--variant: unknown variant `gmen`; did you mean `gmem`?");
    let small = |more: &[&str]| refused(&[&SMALL[..], more].concat());
    insta::assert_snapshot!(small(&["--receivers=a.npy", "--receiver-depth=40"]), @"--receiver-depth 40: there are 40 points along z, numbered from 0");
    insta::assert_snapshot!(small(&["--receivers=a.txt"]), @"--receivers a.txt: a seismogram is a NumPy array: name a file that ends in .npy; its picture is beside it, as .png");
    insta::assert_snapshot!(small(&["--gif=a.mp4"]), @"--gif a.mp4: name a .gif, a .png, or a folder that ends in /");
    insta::assert_snapshot!(refused(&["--spacing=x"]), @"--spacing: dx = x: write a number: grid spacing along x in metres");
}
