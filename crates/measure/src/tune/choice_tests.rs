//! The variants that `run` takes on known GPUs, and on one without entries.

use std::fmt::Write as _;

use device::DeviceInfo;
use host::labs;
use lab::find_lab;
use plan::Target;
use select::choice::{On, choose};
use select::kernels::Digests;
use select::tuned::{Entry, Table};

use super::demand_tests::{case, h100, h200};

const CASES: [(&str, &str); 14] = [
    ("wave2d", "201x201, 100 steps"),
    ("wave2d", "1601x1601, 100 steps"),
    ("wave2d", "3201x3201, 100 steps"),
    ("wave2d", "6401x6401, 100 steps"),
    ("wave3d", "32x32x32, 100 steps"),
    ("wave3d", "192x192x192, 100 steps"),
    ("wave3d", "384x384x384, 100 steps"),
    ("stencil25", "200x200x200, 8 steps"),
    ("stencil25", "512x512x512, 8 steps"),
    ("stencil25", "1000x1000x1000, 4 steps"),
    ("poisson", "32^3, 100 iterations"),
    ("poisson", "128^3, 100 iterations"),
    ("poisson", "200^3, 100 iterations"),
    ("poisson", "512^3, 200 iterations"),
];

fn chosen(table: &Table, lab: &str, label: &str, info: &DeviceInfo, devices: u32) -> String {
    let lab = find_lab(labs(), lab).unwrap();
    let target = Target {
        devices,
        ..lab::target(info, devices)
    };
    let on = On {
        is_several: devices > 1,
        ..On::several(info, target)
    };
    let case = case(lab.name, label);
    let choice = choose(lab, case.as_ref(), on, None, table).unwrap();
    choice.variant.name.clone()
}

#[test]
fn a_fast_variant_runs_where_none_is_named() {
    let untuned = DeviceInfo {
        name: "NVIDIA H20".to_owned(),
        ..h200()
    };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tuned.toml");
    let (table, _) = Table::usable(file.as_ref(), labs()).unwrap();
    let mut text = String::new();
    for (lab, label) in CASES {
        let on = |info: &DeviceInfo| chosen(&table, lab, label, info, 1);
        let [h100, h200, none] = [&h100(), &h200(), &untuned].map(on);
        writeln!(text, "{lab:9} {label:24} {h100:13} {h200:13} {none}").unwrap();
    }
    insta::assert_snapshot!(text, @r"
    wave2d    201x201, 100 steps       resident      resident      resident
    wave2d    1601x1601, 100 steps     fast          fast          fast
    wave2d    3201x3201, 100 steps     wavefront     wavefront     wavefront
    wave2d    6401x6401, 100 steps     fast          fast          fast
    wave3d    32x32x32, 100 steps      resident      resident      resident
    wave3d    192x192x192, 100 steps   fast          fast          fast
    wave3d    384x384x384, 100 steps   fast          fast          fast
    stencil25 200x200x200, 8 steps     fast          fast          fast
    stencil25 512x512x512, 8 steps     two_steps     two_steps     two_steps
    stencil25 1000x1000x1000, 4 steps  two_steps     two_steps     two_steps
    poisson   32^3, 100 iterations     resident      resident      resident
    poisson   128^3, 100 iterations    resident_grid resident_grid resident_grid
    poisson   200^3, 100 iterations    fast          fast          fast
    poisson   512^3, 200 iterations    fast          fast          fast
    ");
}

/// Of stencil25 at 512^3, us per timestep: `fast` takes 877 on an H200 and 1084 on an H100, and
/// `two_steps` 888 and 928; on two of them 457 and 560, and 487 and 496.
#[test]
fn two_gpus_take_what_is_faster_on_one() {
    let label = "512x512x512, 8 steps";
    let entry = |variant: &str, step: f64| Entry {
        gpu: h100().name,
        compute_capability: Some("9.0".to_owned()),
        lab: "stencil25".to_owned(),
        variant: variant.to_owned(),
        case: label.to_owned(),
        cells: 512 * 512 * 512,
        shape: None,
        unit: "us/step".to_owned(),
        step: Some(step),
        default_step: None,
        kernels: Digests::new(),
        date: "2026-11-30".to_owned(),
        driver: "580".to_owned(),
        tried: Vec::new(),
    };
    let of = |[fast, two_steps]: [f64; 2], devices| {
        let entries = vec![entry("fast", fast), entry("two_steps", two_steps)];
        chosen(&Table { entries }, "stencil25", label, &h100(), devices)
    };
    assert_eq!(
        [1, 2].map(|gpus| of([877.0, 888.0], gpus)),
        ["fast", "fast"]
    );
    assert_eq!(
        [1, 2].map(|gpus| of([1084.0, 928.0], gpus)),
        ["two_steps", "two_steps"]
    );
    // In slabs of 128 planes its lab knows that `fast` wins.
    assert_eq!(of([1084.0, 928.0], 4), "fast");
}
