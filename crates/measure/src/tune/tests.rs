//! `harness tune` as a whole on a device that is made up, where each command takes 1 ms.

use std::path::Path;
use std::sync::{Arc, LazyLock};

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
    let args = [&["doubling"], more].concat();
    tune_of(&test_lab::labs(), file, machine, &args)
}

/// `harness tune` with these arguments of these labs.
fn tune_of(
    labs: &[&'static Lab],
    file: &Path,
    machine: &Machine,
    more: &[&str],
) -> (Result<Ending, CommandError>, String) {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: TuneArgs,
    }
    let table = format!("--table={}", file.display());
    let always = ["tune", "--quick", &table];
    let args = always.into_iter().chain(more.iter().copied());
    let args = <Parser as clap::Parser>::parse_from(args).args;
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = run_on(&args, labs, Submitted::NONE, machine, &Silent, &mut out);
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
    insta::assert_snapshot!(says(&["naive", "--device=emulated"]), @"doubling naive has one shape, so there is nothing to choose; with shapes: doubling twofold");
    insta::assert_snapshot!(says(&["twofald"]), @"unknown variant `twofald`; did you mean `twofold`?");
    insta::assert_snapshot!(says(&["twofold", "--device=cuda:1"]), @"--device cuda:1: this machine has 1, numbered from 0; see `harness doctor`. Without a GPU, `--device emulated` compares shapes by instructions");
    std::fs::write(&file, "[[tuned]]\ngpu = \"A\"\nlabb = 3\n").unwrap();
    let says = says(&["twofold"]).to_string();
    insta::assert_snapshot!(says.rsplit_once('/').unwrap().1, @"tuned.toml:3: unknown field `labb`, expected one of `gpu`, `compute_capability`, `lab`, `variant`, `case`, `cells`, `shape`, `unit`, `step`, `default_step`, `kernels`, `date`, `driver`, `tried`; mend it, or delete the entry and run `harness tune` again");
}

#[test]
fn the_table_in_this_program_is_right() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tuned.toml");
    let (table, warnings) = Table::usable(Path::new(file), labs()).unwrap();
    assert_eq!(warnings, [""; 0]);
    let is_whole = |entry: &Entry| {
        let lab = lab::find_lab(labs(), &entry.lab).unwrap();
        let has_shapes = !lab.find(&entry.variant).unwrap().shapes.is_empty();
        entry.shape.is_some() == has_shapes && entry.compute_capability.is_some()
    };
    assert!(table.entries.iter().all(is_whole));
}

/// The lab with few variants, whose kernels have this instruction.
fn few(instruction: &str) -> Lab {
    let kernel = |name| format!(".visible .entry {name}()\n{{\n{instruction}\n}}\n");
    let kernels = ["naive", "twofold", "fourfold", "hungry"]
        .map(kernel)
        .concat();
    let text = format!(".version 8.0\n.target sm_75\n.address_size 64\n{kernels}");
    let module = Arc::new(device::Module::new("doubling", text));
    let of = |name: &'static str| {
        let like = name
            .replace("fast", "twofold")
            .replace("slow", "twofold@slow");
        Variant::recorded(name, "", Arc::clone(&module), move |case, _| {
            test_lab::DOUBLING.find(&like).unwrap().record(case)
        })
    };
    let mut fast = of("fast");
    fast.shapes = vec![of("fast@x2"), of("fast@x1"), of("fast@x4")];
    Lab {
        module: Arc::clone(&module),
        variants: vec![
            of("naive"),
            of("slow"),
            of("hungry").on_request(),
            fast.usual(),
        ],
        ..*test_lab::DOUBLING
    }
}

#[test]
fn variants_with_one_shape_are_timed_too_unless_they_take_far_longer() {
    static LAB: LazyLock<Lab> = LazyLock::new(|| few("ret;"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    // All labs: the only one is found.
    let (ending, text) = tune_of(&[&LAB], &file, &test_lab::machine(), &[]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text, @r"
    doubling fast, 100 numbers, 10 steps on Adder 9000
      shape            us/step   default  vs default
      x2                 500.0     500.0  1.000 (1.000 to 1.000)
      x1                  1000     500.0  0.500 (0.500 to 0.500)
      x4                 400.0     500.0  1.250 (1.250 to 1.250)
      best: x4, 1.250 times as fast as x2; tuned.toml has it

    doubling naive, 100 numbers, 10 steps on Adder 9000
      passed over: a first run takes 2.5 times as long as the best

    doubling slow, 100 numbers, 10 steps on Adder 9000
      passed over: a first run takes 25.0 times as long as the best
    ");
    let table = Table::read(&file).unwrap();
    let of = |entry: &Entry| {
        let shape = entry.shape.clone().unwrap_or_default();
        let kernels: Vec<String> = entry.kernels.keys().cloned().collect();
        format!(
            "{} {shape} {:?} {}",
            entry.variant,
            entry.step,
            kernels.join("+")
        )
    };
    let entries: Vec<String> = table.entries.iter().map(of).collect();
    insta::assert_snapshot!(entries.join("\n"), @r"
    fast x4 Some(400.0) fourfold+naive+twofold
    naive  None naive
    slow  None naive
    ");
    let (again, second) = tune_of(&[&LAB], &file, &test_lab::machine(), &[]);
    assert_eq!(again, Ok(Ending::Fine));
    assert!(
        second.contains("tuned.toml has its time; --again takes it again"),
        "{second}"
    );
    assert_eq!(Table::read(&file).unwrap(), table);
}

#[test]
fn entries_of_other_kernels_are_tried_again_and_those_of_another_length_go() {
    static OLD: LazyLock<Lab> = LazyLock::new(|| few("ret;"));
    static NEW: LazyLock<Lab> = LazyLock::new(|| few("exit;"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let run = |lab: &'static Lab, more: &[&str]| {
        let args = [&["doubling", "fast"], more].concat();
        let (ending, text) = tune_of(&[lab], &file, &test_lab::machine(), &args);
        assert_eq!(ending, Ok(Ending::Fine), "{text}");
        text
    };
    run(&OLD, &["--param=n=100", "--param=steps=8"]);
    run(&OLD, &["--param=n=10", "--param=steps=8"]);
    run(&OLD, &[]);
    assert_eq!(Table::read(&file).unwrap().entries.len(), 3);
    insta::assert_snapshot!(run(&NEW, &[]), @r"
    doubling fast, 100 numbers, 10 steps on Adder 9000
      the table has times of other kernels, or does not say which: trying again
      shape            us/step   default  vs default
      x2                 500.0     500.0  1.000 (1.000 to 1.000)
      x1                  1000     500.0  0.500 (0.500 to 0.500)
      x4                 400.0     500.0  1.250 (1.250 to 1.250)
      best: x4, 1.250 times as fast as x2; tuned.toml has it
    ");
    let table = Table::read(&file).unwrap();
    let cases: Vec<&str> = table.entries.iter().map(|entry| &*entry.case).collect();
    assert_eq!(cases, ["10 numbers, 8 steps", "100 numbers, 10 steps"]);
    let info = test_lab::device();
    let variant = &NEW.variants[3];
    let outdated = |entry: &Entry| entry.is_outdated(variant, info.info());
    let all: Vec<_> = table.entries.iter().map(outdated).collect();
    assert_eq!(all, [Some(true), Some(false)]);
}

#[test]
fn where_no_time_is_left_the_default_shape_is_timed_and_the_rest_named() {
    static LAB: LazyLock<Lab> = LazyLock::new(|| few("ret;"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let run = |more: &[&str]| {
        let args = [&["doubling"], more].concat();
        tune_of(&[&LAB], &file, &test_lab::machine(), &args).1
    };
    insta::assert_snapshot!(run(&["fast", "--minutes=0.00001"]), @r"
    doubling fast, 100 numbers, 10 steps on Adder 9000
      shape            us/step   default  vs default
      x2                 500.0     500.0  1.000 (1.000 to 1.000)
      left out, since no time is left for them: x1, x4; `harness tune doubling fast` with the same case
        goes on with them
      best: x2, the default: no other beats it by more than the noise; tuned.toml has it
    ");
    let second = run(&["fast"]);
    assert!(
        second.contains("has 1 of 3 shapes; continuing with the others"),
        "{second}"
    );
    assert!(second.contains("best: x4"), "{second}");
}

#[test]
fn under_a_limit_a_slow_variant_is_timed_in_its_default_shape_alone() {
    static LAB: LazyLock<Lab> = LazyLock::new(|| {
        let mut lab = few("ret;");
        let of = |name: &str| {
            let module = Arc::clone(&lab.module);
            Variant::recorded(name, "", module, |case, _| {
                test_lab::DOUBLING.find("naive").unwrap().record(case)
            })
        };
        let mut slow = of("slow");
        slow.shapes = vec![of("slow@a"), of("slow@b")];
        lab.variants[1] = slow;
        lab
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let run = |more: &[&str]| {
        let (ending, text) = tune_of(&[&LAB], &file, &test_lab::machine(), more);
        assert_eq!(ending, Ok(Ending::Fine), "{text}");
        let at = text.find("doubling slow").unwrap();
        text[at..].split("\n\n").next().unwrap().to_owned()
    };
    insta::assert_snapshot!(run(&[]), @r"
    doubling slow, 100 numbers, 10 steps on Adder 9000
      shape            us/step   default  vs default
      a                   1000      1000  1.000 (1.000 to 1.000)
      left out, since the default one takes 2.5 times as long as the fastest variant: b; `harness tune
        doubling slow` with the same case goes on with them
      best: a, the default: no other beats it by more than the noise; tuned.toml has it
    ");
    // One lab has no limit.
    assert!(run(&["doubling"]).contains("has 1 of 2 shapes; continuing with the others"));
}
