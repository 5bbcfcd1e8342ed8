//! `harness tune` as a whole on a device that is made up, where each command takes 1 ms; and its
//! table.

use std::path::Path;
use std::sync::Arc;

use device::DeviceKind;
use device::telemetry::{NoTelemetry, Telemetry};
use device::{DeviceInfo, EmulatedDevice};
use host::limits::MeasuredLimits;
use lab::CaseParams;
use terminal::progress::Progress;

use super::*;
use select::tuned::Measured;
use terminal::look::Look;

struct Silent;

impl Probe for Silent {
    fn limits(&self, _: &dyn Device, _: &dyn Progress) -> (MeasuredLimits, Option<String>) {
        unreachable!("tuning needs no limits")
    }

    fn telemetry(&self, _: &DeviceInfo) -> Result<Arc<dyn Telemetry>, NoTelemetry> {
        Err(NoTelemetry {
            reason: "libnvidia-ml.so.1 not found".to_owned(),
        })
    }
}

/// `harness tune doubling twofold` with these arguments and this table; how it ends, and what it
/// prints, without the folder's name.
fn tune(file: &Path, machine: &Machine, more: &[&str]) -> (Result<Ending, CommandError>, String) {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: TuneArgs,
    }
    let table = format!("--table={}", file.display());
    let always = ["tune", "doubling", "--quick", &table];
    let args = always.into_iter().chain(more.iter().copied());
    let args = <Parser as clap::Parser>::parse_from(args).args;
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = run_on(
        &args,
        &test_lab::labs(),
        Submitted::NONE,
        machine,
        &Silent,
        &mut out,
    );
    drop(out);
    let text = String::from_utf8(text).unwrap();
    let folder = format!("{}/", file.parent().unwrap().display());
    (ending, text.replace(&folder, ""))
}

#[test]
fn shapes_are_checked_timed_and_saved_and_a_second_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    // A kernel that traps takes the device with it.
    let (ending, text) = tune(&file, &test_lab::machine(), &["twofold"]);
    let failure = ending.unwrap_err();
    assert_eq!(failure.exit_code(), exit::codes::ENVIRONMENT);
    insta::assert_snapshot!(failure, @"twofold@slow: this process can no longer use the device after an earlier fault: a kernel trapped; start the program again");
    insta::assert_snapshot!(text, @"
    doubling twofold, 100 numbers, 10 steps on Adder 9000
      shape            us/step   default  vs default
      x2                 500.0     500.0  1.000 (1.000 to 1.000)
      x1                  1000     500.0  0.500 (0.500 to 0.500)
      wrong  passed over: wrong: 8 numbers, 3 steps: `x` is wrong in 8 of 8 elements, first at [0] (number 0): expected 7 (0x7), got 1 (0x1)
      small  passed over: the solution refuses this problem: it takes at most 50 numbers
      trap   passed over: plan `trapping`, kernel `trapping` failed: the kernel trapped; run the case on the emulated device, which names the line and the thread
    ");
    let table = Table::read(&file).unwrap();
    assert_eq!(
        (table.entries[0].tried.len(), &table.entries[0].shape),
        (5, &None)
    );

    let (ending, text) = tune(&file, &test_lab::machine(), &["twofold"]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text, @"
    doubling twofold, 100 numbers, 10 steps on Adder 9000
      tuned.toml has 5 of 7 shapes; continuing with the others
      shape            us/step   default  vs default
      x2                 500.0     500.0  1.000 (1.000 to 1.000)
      x1                  1000     500.0  0.500 (0.500 to 0.500)
      wrong  passed over: wrong: 8 numbers, 3 steps: `x` is wrong in 8 of 8 elements, first at [0] (number 0): expected 7 (0x7), got 1 (0x1)
      small  passed over: the solution refuses this problem: it takes at most 50 numbers
      trap   passed over: plan `trapping`, kernel `trapping` failed: the kernel trapped; run the case on the emulated device, which names the line and the thread
      slow   passed over: a first run takes 20.0 times as long as the best
      x4                 400.0     500.0  1.250 (1.250 to 1.250)
      best: x4, 1.250 times as fast as x2; tuned.toml has it
    ");
    let found = Table::read(&file).unwrap();
    let entry = &found.entries[0];
    assert_eq!(entry.shape.as_deref(), Some("x4"));
    assert_eq!((entry.step, entry.default_step), (Some(400.0), Some(500.0)));
    assert_eq!(entry.cells, 100);

    // All are there: nothing is tried, and nothing changes.
    let (ending, text) = tune(&file, &test_lab::machine(), &["twofold"]);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(
        text.contains("tuned.toml has all 7 shapes; --again tries them again"),
        "{text}"
    );
    assert_eq!(Table::read(&file).unwrap(), found);
    // Another case is another entry.
    let (ending, _) = tune(
        &file,
        &test_lab::machine(),
        &["twofold", "--param=n=10", "--param=steps=2"],
    );
    assert!(ending.is_err());
    assert_eq!(Table::read(&file).unwrap().entries.len(), 2);
    let (ending, _) = tune(&file, &test_lab::machine(), &["twofold", "--again"]);
    assert!(ending.is_err());
    // The best shape stays so until all are tried.
    let again = &Table::read(&file).unwrap().entries[0];
    assert_eq!((again.tried.len(), again.shape.as_deref()), (5, Some("x4")));
}

#[test]
fn what_cannot_be_tuned_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let says = |more: &[&str]| tune(&file, &test_lab::machine(), more).0.unwrap_err();
    insta::assert_snapshot!(says(&["naive"]), @"doubling naive has one shape, so there is nothing to choose; with shapes: doubling twofold");
    insta::assert_snapshot!(says(&["twofald"]), @"unknown variant `twofald`; did you mean `twofold`?");
    insta::assert_snapshot!(says(&["twofold", "--device=cuda:1"]), @"--device cuda:1: this machine has 1, numbered from 0; see `harness doctor`. Without a GPU, `--device emulated` compares shapes by instructions");
    std::fs::write(&file, "[[tuned]]\ngpu = \"A\"\nlabb = 3\n").unwrap();
    let says = says(&["twofold"]).to_string();
    insta::assert_snapshot!(says.rsplit_once('/').unwrap().1, @"tuned.toml:3: unknown field `labb`, expected one of `gpu`, `compute_capability`, `lab`, `variant`, `case`, `cells`, `shape`, `unit`, `step`, `default_step`, `date`, `driver`, `tried`; mend it, or delete the entry and run `harness tune` again");
}

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
        let tried = steps.iter().map(|(shape, step)| {
            Tried::Measured(Measured {
                shape: (*shape).to_owned(),
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
    let (usable, warnings) = Table::usable(&file, &[&test_lab::BARE]).unwrap();
    assert_eq!((usable, warnings.len()), (Table::default(), 0));
}

#[test]
fn the_table_in_this_program_is_right() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tuned.toml");
    let (table, warnings) = Table::usable(Path::new(file), labs()).unwrap();
    assert_eq!(warnings, [""; 0]);
    let is_whole = |entry: &Entry| entry.shape.is_some() && entry.compute_capability.is_some();
    assert!(table.entries.iter().all(is_whole));
}
