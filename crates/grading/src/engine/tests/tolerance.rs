//! The tolerance for rounding.

use device::{Element, HostBuffer};
use plan::{LaunchConfig, args};

use super::*;

const ONE_STEP: &str = r#"format_version = 1
lab = "wave2d"
tolerance = { rule = "rounding", factor = 1000 }
[[case]]
name = "one-step"
group = "small"
points = 2
params = { n_x = 37, n_y = 5, steps = 1, scene = "empty-box" }
"#;

#[test]
fn rounding_is_allowed_and_no_more() {
    let lab = find_lab("wave2d").unwrap();
    let (n_x, n_y, steps, k) = (40_usize, 30_usize, 20, 0.3_f32);
    let params = [
        ("n_x", "40"),
        ("n_y", "30"),
        ("steps", "20"),
        ("scene", "empty-box"),
        ("k", "0.3"),
    ];
    let mut parameters = lab::CaseParams::default();
    for (name, value) in params {
        parameters.set(name, value);
    }
    let case = lab.case(&lab.seeded(&parameters, 9).unwrap()).unwrap();
    let inputs = case.inputs().unwrap();
    let reference = case
        .reference(lab::Cpu::Serial, &terminal::progress::NoProgress)
        .unwrap();
    let oracle = case
        .oracle_from(&inputs, &terminal::progress::NoProgress)
        .unwrap()
        .unwrap();
    let (expected, noise) = device::check::Expected::rounding(8.0, &reference, &oracle);
    assert!(
        noise.iter().all(|(_, noise)| (1e-8..1e-4).contains(noise)),
        "{noise:?}"
    );
    expected.check(&reference).unwrap();

    // The scheme in a closed box, with `store` applied to what a step leaves in memory.
    let run = |fused: bool, columns: usize, store: &dyn Fn(f32) -> f32| {
        let field = |name| {
            device::check::find(&inputs, name)
                .unwrap()
                .as_slice::<f32>()
                .unwrap()
                .to_vec()
        };
        let (mut u0, mut u1) = (field("u0"), field("u1"));
        for _ in 0..steps {
            let mut next = vec![0.0_f32; n_x * n_y];
            for y in 1..n_y - 1 {
                for x in 1..columns {
                    let i = y * n_x + x;
                    let sum = u1[i - 1] + u1[i + 1] + u1[i - n_x] + u1[i + n_x];
                    let own = 2.0 - 4.0 * k;
                    let value = if fused {
                        k.mul_add(sum, own.mul_add(u1[i], -u0[i]))
                    } else {
                        own * u1[i] - u0[i] + k * sum
                    };
                    next[i] = store(value);
                }
            }
            (u0, u1) = (u1, next);
        }
        vec![
            ("u0".to_owned(), HostBuffer::from(u0)),
            ("u1".to_owned(), u1.into()),
        ]
    };
    let as_is = |value| value;
    assert!(run(false, n_x - 1, &as_is) == reference);
    let fused = run(true, n_x - 1, &as_is);
    assert!(fused != reference);
    expected.check(&fused).unwrap();
    // 11 bits of significand, as half precision has.
    let half = |value: f32| f32::from_bits(value.to_bits().wrapping_add(0x1000) & !0x1fff);
    expected.check(&run(false, n_x - 1, &half)).unwrap_err();
    // The last column before the border is left out.
    expected.check(&run(false, n_x - 2, &as_is)).unwrap_err();
}

#[test]
fn where_nothing_is_rounded_rounding_allows_nothing() {
    let lab_spec = lab_spec(ONE_STEP);
    // The second-last field of the last step is the last one before it: it is not off by rounding.
    let off = |bit: u32| {
        let body = format!("mov.b32 %r4, %f1; xor.b32 %r4, %r4, {bit}; mov.b32 %f3, %r4;");
        let own = elementwise(&body);
        let (_, own) = own.split_once(".global").unwrap();
        let module = find_lab("wave2d").unwrap().module.clone();
        let ptx = format!("{}.global{own}", module.for_device((9, 0)).ptx());
        let submitted = bundle(&lab_spec, &ptx, |case| {
            let mut plan = find_lab("wave2d")
                .unwrap()
                .find("naive")
                .unwrap()
                .record(case)
                .unwrap();
            let [u0, u1] = ["u0", "u1"].map(|name| plan.find_output(name).unwrap());
            let n = plan.buffers()[0].len;
            let copy = plan.scratch("copy", Element::F32, n as usize);
            let config = LaunchConfig::covering(n as u32, 64).unwrap();
            plan.launch("sum", config, args![u0, u1, copy, n as u32])
                .unwrap();
            plan.set_outputs(vec![("u0".to_owned(), copy), ("u1".to_owned(), u1)]);
            plan
        });
        emulated(&lab_spec, &submitted).cases[0].status.kind()
    };
    assert_eq!(off(0), None);
    assert_eq!(off(1), Some(Kind::WrongResult));
}
