//! `harness tune` as a whole on a device that is made up, where each command takes 1 ms.

use std::path::Path;
use std::sync::Arc;

use device::DeviceInfo;
use device::telemetry::{NoTelemetry, Telemetry};
use host::limits::MeasuredLimits;
use terminal::progress::Progress;

use super::*;
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

    let (second, second_text) = tune(&file, &test_lab::machine(), &["twofold"]);
    assert_eq!(second, Ok(Ending::Fine));
    insta::assert_snapshot!(second_text, @"
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
    let (third, third_text) = tune(&file, &test_lab::machine(), &["twofold"]);
    assert_eq!(third, Ok(Ending::Fine));
    assert!(
        third_text.contains("tuned.toml has all 7 shapes; --again tries them again"),
        "{third_text}"
    );
    assert_eq!(Table::read(&file).unwrap(), found);
    // Another case is another entry.
    let (of_another, _) = tune(
        &file,
        &test_lab::machine(),
        &["twofold", "--param=n=10", "--param=steps=2"],
    );
    assert!(of_another.is_err());
    assert_eq!(Table::read(&file).unwrap().entries.len(), 2);
    let (again_ending, _) = tune(&file, &test_lab::machine(), &["twofold", "--again"]);
    assert!(again_ending.is_err());
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

#[test]
fn the_table_in_this_program_is_right() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tuned.toml");
    let (table, warnings) = Table::usable(Path::new(file), labs()).unwrap();
    assert_eq!(warnings, [""; 0]);
    let is_whole = |entry: &Entry| entry.shape.is_some() && entry.compute_capability.is_some();
    assert!(table.entries.iter().all(is_whole));
}
