//! The table of shapes: which of them fits a case, and the file.

use device::{Device, DeviceKind, EmulatedDevice};
use lab::{CaseParams, Variant, find_variant};
use select::tuned::{Entry, Measured, Table, Tried};

fn measured(shape: &str, vs_default: f64, interval: Option<[f64; 2]>) -> Tried {
    Tried::Measured(Measured {
        shape: shape.to_owned(),
        step: 100.0 / vs_default,
        default_step: 100.0,
        vs_default,
        interval,
    })
}

fn entry(case: &str, cells: u64, shape: &str) -> Entry {
    Entry {
        gpu: "Adder 9000".to_owned(),
        compute_capability: Some("9.0".to_owned()),
        lab: "doubling".to_owned(),
        variant: "twofold".to_owned(),
        case: case.to_owned(),
        cells,
        shape: Some(shape.to_owned()),
        unit: "us/step".to_owned(),
        step: Some(1.5),
        default_step: None,
        kernels: [("twofold".to_owned(), "0123456789abcdef".to_owned())].into(),
        date: "2026-11-22".to_owned(),
        driver: "580.65 \"x\"".to_owned(),
        tried: Vec::new(),
    }
}

#[test]
fn the_default_shape_stays_unless_another_beats_it_by_more_than_the_noise() {
    let settled = |tried: &[Tried]| {
        let mut entry = entry("", 1, "");
        entry.tried = [&[measured("x2", 1.0, None)], tried].concat();
        entry.settle("x2");
        entry.shape.unwrap()
    };
    assert_eq!(settled(&[]), "x2");
    // Its interval is not known, has 1 in it, is within what other runs differ by.
    assert_eq!(settled(&[measured("x4", 1.2, None)]), "x2");
    assert_eq!(settled(&[measured("x4", 1.2, Some([0.99, 1.4]))]), "x2");
    assert_eq!(
        settled(&[measured("x4", 1.005, Some([1.004, 1.006]))]),
        "x2"
    );
    let sure = [
        measured("x4", 1.02, Some([1.01, 1.03])),
        measured("x1", 1.05, Some([1.04, 1.06])),
        measured("x8", 1.09, Some([0.98, 1.20])),
    ];
    assert_eq!(settled(&sure), "x1");
}

#[test]
fn the_same_case_counts_and_else_the_nearest_in_size() {
    let table = Table {
        entries: vec![
            entry("100 numbers, 10 steps", 3, "x1"),
            entry("a", 1000, "x4"),
            entry("b", 10_000, "slow"),
            Entry {
                shape: None,
                ..entry("c", 4000, "")
            },
            Entry {
                gpu: "Adder 1".to_owned(),
                ..entry("d", 200, "small")
            },
        ],
    };
    let adder = test_lab::device();
    let lab = test_lab::labs()[0];
    let twofold = find_variant(&lab.variants, "twofold").unwrap();
    let on_several = |n: u32, variant: &'static Variant, device: &dyn Device, devices: u32| {
        let params = [format!("n={n}"), "steps=10".to_owned()];
        let params = CaseParams::parse(params.iter().map(String::as_str)).unwrap();
        let case = lab.case(&params).unwrap();
        let chosen = table
            .shape(lab, variant, case.as_ref(), device.info(), devices)
            .launched;
        chosen.name.as_str()
    };
    let chosen = |n, variant, device: &dyn Device| on_several(n, variant, device, 1);
    let of_size = |n| chosen(n, twofold, adder.as_ref());
    assert_eq!(of_size(100), "twofold@x1");
    assert_eq!(of_size(200), "twofold@x4");
    assert_eq!([3000, 4000].map(of_size), ["twofold@x4", "twofold@slow"]);
    assert_eq!(of_size(2), "twofold@x1");
    // Several devices take the shape for a device's share.
    let of_share = |n, devices| on_several(n, twofold, adder.as_ref(), devices);
    assert_eq!(of_share(4000, 1), "twofold@slow");
    assert_eq!(of_share(8000, 2), "twofold@slow");
    assert_eq!(of_share(4000, 1000), "twofold@x1");
    // Not where a shape is named, of another variant, on a device without times.
    let named = lab.find("twofold@x2").unwrap();
    assert_eq!(chosen(100, named, adder.as_ref()), "twofold@x2");
    let naive = find_variant(&lab.variants, "naive").unwrap();
    assert_eq!(chosen(100, naive, adder.as_ref()), "naive");
    let emulated = EmulatedDevice::default();
    assert_eq!(emulated.info().kind, DeviceKind::Emulated);
    assert_eq!(chosen(100, twofold, &emulated), "twofold");
    assert_eq!(Table::default().entries, []);
}

#[test]
fn between_two_sizes_the_shape_counts_that_loses_least_at_both() {
    let timed = |cells: u64, shape: &str, steps: &[(&str, f64)]| {
        let tried = steps.iter().map(|(tried_shape, step)| {
            Tried::Measured(Measured {
                shape: (*tried_shape).to_owned(),
                step: *step,
                default_step: 1.0,
                vs_default: 1.0 / step,
                interval: None,
            })
        });
        Entry {
            tried: tried.collect(),
            ..entry(&format!("of {cells}"), cells, shape)
        }
    };
    // x2 is the best at neither size, and loses 2 % at each.
    let table = Table {
        entries: vec![
            timed(100, "x1", &[("x1", 1.0), ("x2", 1.02), ("x4", 1.2)]),
            timed(10_000, "x4", &[("x1", 3.6), ("x2", 3.06), ("x4", 3.0)]),
        ],
    };
    let adder = test_lab::device();
    let lab = test_lab::labs()[0];
    let twofold = find_variant(&lab.variants, "twofold").unwrap();
    let chosen = |n: u32| {
        let params = [format!("n={n}"), "steps=10".to_owned()];
        let params = CaseParams::parse(params.iter().map(String::as_str)).unwrap();
        let case = lab.case(&params).unwrap();
        let chosen = table
            .shape(lab, twofold, case.as_ref(), adder.info(), 1)
            .launched;
        chosen.name.as_str()
    };
    assert_eq!(
        [101, 1000, 9_900].map(chosen),
        ["twofold@x1", "twofold@x2", "twofold@x4"]
    );
    // Beyond the sizes that were tuned, it is the nearest.
    assert_eq!([20, 20_000].map(chosen), ["twofold@x1", "twofold@x4"]);
}

#[test]
fn a_gpu_without_entries_uses_those_of_its_generation() {
    let of = |gpu: &str, capability: Option<&str>, case: &str, shape: &str| Entry {
        gpu: gpu.to_owned(),
        compute_capability: capability.map(str::to_owned),
        ..entry(case, 100, shape)
    };
    let lab = test_lab::labs()[0];
    let twofold = find_variant(&lab.variants, "twofold").unwrap();
    let params = CaseParams::parse(["n=100", "steps=10"]).unwrap();
    let case = lab.case(&params).unwrap();
    let chosen = |entries: &[Entry]| {
        let table = Table {
            entries: entries.to_vec(),
        };
        let adder = test_lab::device();
        let chosen = table
            .shape(lab, twofold, case.as_ref(), adder.info(), 1)
            .launched;
        chosen.name.as_str()
    };
    let label = case.label();
    let others = [
        of("Adder 1", None, &label, "small"),
        of("Adder 8000", Some("8.0"), &label, "slow"),
        of("Adder 9001", Some("9.0"), &label, "x1"),
    ];
    assert_eq!(chosen(&others), "twofold@x1");
    // Other generations' only where it can run, which a kernel without PTX cannot.
    assert_eq!(chosen(&others[..2]), "twofold");
    // Its own goes before a better match elsewhere.
    let own = of("Adder 9000", Some("9.0"), "another", "x4");
    assert_eq!(chosen(&[&others[..], &[own]].concat()), "twofold@x4");
}

#[test]
fn the_file_is_read_as_it_was_written_and_a_shape_that_is_gone_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let passed_over = Tried::PassedOver {
        shape: "x8".to_owned(),
        passed_over: "wrong: \"x\" differs\nin line 2".to_owned(),
    };
    let mut table = Table {
        entries: vec![
            entry("a", 7, "x4"),
            entry("b", 8, "x9"),
            entry("c", 9, "x1"),
        ],
    };
    table.entries[0].tried = vec![
        measured("x2", 1.0, None),
        passed_over,
        measured("x4", 1.25, Some([1.24, 1.26])),
    ];
    std::fs::write(&file, table.to_toml()).unwrap();
    assert_eq!(Table::read(&file).unwrap(), table);

    let (usable, warnings) = Table::usable(&file, &test_lab::labs()).unwrap();
    let cases: Vec<&str> = usable.entries.iter().map(|entry| &*entry.case).collect();
    assert_eq!(cases, ["a", "c"]);
    let line = table
        .to_toml()
        .lines()
        .position(|line| line == "case = \"b\"")
        .unwrap();
    // Lines count from 1; the entry begins five lines before.
    let expected = format!(
        "tuned.toml:{}: doubling twofold has no shape `x9`; the default one is used. `harness tune doubling twofold` finds another",
        line - 4
    );
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].ends_with(&expected),
        "{}\n{expected}",
        warnings[0]
    );
    // A student's copy has no variants, and warns of none.
    let (bare, none) = Table::usable(&file, &[&test_lab::BARE]).unwrap();
    assert_eq!((bare, none.len()), (Table::default(), 0));
}

#[test]
fn entries_of_other_kernels_are_told_by_lab() {
    use std::sync::Arc;
    static LAB: std::sync::LazyLock<lab::Lab> = std::sync::LazyLock::new(|| {
        let text =
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
        let module = Arc::new(device::Module::new("k", text));
        let of = |name| {
            let record = |_: &dyn lab::LabCase, _| unreachable!("nothing is recorded");
            lab::Variant::recorded(name, "", Arc::clone(&module), record)
        };
        lab::Lab {
            module: Arc::clone(&module),
            variants: vec![of("twofold"), of("fast"), of("plain")],
            ..*test_lab::DOUBLING
        }
    });
    let adder = test_lab::device();
    let of = |variant: &str, digest: Option<&str>| Entry {
        variant: variant.to_owned(),
        kernels: digest
            .map(|it| ("k".to_owned(), it.to_owned()))
            .into_iter()
            .collect(),
        ..entry("a", 7, "x4")
    };
    let own = select::kernels::digest(LAB.module.ptx(), "k").unwrap();
    let told = |entries: Vec<Entry>| {
        let outdated = Table { entries }.outdated(&[&*LAB], adder.info());
        let lines: Vec<String> = outdated.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    assert_eq!(told(vec![of("twofold", Some(&own)), of("gone", None)]), "");
    let entries = vec![
        of("twofold", Some("0123")),
        of("twofold", None),
        of("fast", Some("4567")),
        of("plain", None),
        Entry {
            gpu: "Adder 1".to_owned(),
            ..of("fast", None)
        },
    ];
    insta::assert_snapshot!(told(entries), @r"
    Adder 9000: doubling twofold, fast: tuned.toml has times of other kernels than this program's; `harness tune doubling --large` takes them again
    Adder 9000: doubling plain: tuned.toml has times of unknown age, since it names no kernels; `harness tune doubling --large` takes them again
    ");
}
