//! Variants and references: their figures, how they compare, and what is said where there are none.

use device::Launching;

use super::*;
use results::Correctness;

#[test]
fn figures_of_a_device() {
    let run = small("naive,twofold");
    assert_eq!(run.ending, Ok(Ending::Fine));
    insta::assert_snapshot!(run.text);
    let args = [&SMALL[..], &["--variant=naive,twofold", "--notes"]].concat();
    let noted = timed(&args, &test_lab::machine());
    insta::assert_snapshot!("figures_of_a_device_with_notes", noted.text);
    let figures = noted.figures(1);
    assert_eq!(figures.run.samples_s, [5e-3; 12]);
    assert!(figures.is_result() && figures.judgement.result == Correctness::Equal);
    let batched = figures.on_device.batched.as_ref().unwrap();
    assert_eq!(
        (batched.by, batched.run.median_s),
        (Launching::Stream, 5e-3)
    );
    let vs_first = figures.compared.vs_first.unwrap();
    assert_eq!(
        (vs_first.estimate, vs_first.interval),
        (2.0, Some([2.0, 2.0]))
    );
    // SHA-256 of the PTX of the lab.
    let sha256 = figures.on_device.code_sha256.as_ref().unwrap();
    assert!(sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn caps_of_registers_are_rows_that_are_checked() {
    let args = [
        "--variant=naive,twofold,off-by-one",
        "--registers=40,none,80,40",
    ];
    let run = timed(&[&SMALL[..], &args].concat(), &test_lab::machine());
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
    let rows = run.rows();
    let names: Vec<&str> = rows.iter().map(|row| row.variant.as_str()).collect();
    let naive = ["naive", "naive @ 80 registers", "naive @ 40 registers"];
    assert_eq!((names.len(), &names[..3]), (9, &naive[..]));
    let capped = rows[5].capped.as_ref().unwrap();
    assert_eq!((capped.of.as_str(), capped.registers), ("twofold", 40));
    let figures = run.figures(5);
    let estimate = |ratio: Option<results::Ratio>| ratio.unwrap().estimate;
    assert_eq!(
        (
            estimate(figures.compared.vs_first),
            estimate(figures.compared.vs_variant)
        ),
        (2.0, 1.0)
    );
    assert_eq!(run.figures(3).compared.vs_variant, None);
    assert_eq!(figures.judgement.result, Correctness::Equal);
    assert_eq!(run.figures(8).judgement.result, Correctness::Wrong);
}

#[test]
fn caps_of_registers_need_a_gpu() {
    let refused = |args: &[&str]| {
        let machine = test_lab::machine_without_gpu();
        timed(&[&["doubling"], args].concat(), &machine)
            .ending
            .unwrap_err()
    };
    insta::assert_snapshot!(refused(&["--registers=80"]), @"--registers needs a GPU, whose compiler allocates registers: no CUDA device: libcuda.so.1 not found");
    insta::assert_snapshot!(refused(&["--registers=80", "--device=cpu"]), @"--registers needs a GPU, whose compiler allocates registers: none was asked for with --device");
    assert_eq!(
        refused(&["--registers=none"]).exit_code(),
        exit::codes::ENVIRONMENT
    );
    let args = PerfArgs {
        device: vec![Wanted::EMULATED],
        registers: vec!["80".parse().unwrap()],
        ..PerfArgs::default()
    };
    let mut text = Vec::new();
    let on_emulated = crate::perf::run(
        &args,
        Submitted::NONE,
        &mut Out::new(&mut text, Look::PLAIN),
    );
    insta::assert_snapshot!(on_emulated.unwrap_err(), @"--registers needs a GPU, whose compiler allocates registers; the emulated device has as many as a kernel names");
    insta::assert_snapshot!("8".parse::<Registers>().unwrap_err(), @"`8` is not a number of registers: a thread has 16 to 255; `none` is without a cap");
}

#[test]
fn a_wrong_result_is_explained() {
    let run = small("off-by-one");
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
    assert_eq!(run.figures(0).judgement.result, Correctness::Wrong);
}

#[test]
fn a_failed_kernel_is_explained() {
    let run = small("naive,trapping");
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
}

#[test]
fn too_little_memory_is_not_a_wrong_result() {
    let run = small("naive,hungry");
    assert_eq!(run.ending, Ok(Ending::Lacking));
    insta::assert_snapshot!(run.text);
}

#[test]
fn unchecked_results_are_called_so() {
    let args = [&SMALL[..], &["--variant=off-by-one", "--check=none"]].concat();
    let run = timed(&args, &test_lab::machine());
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert!(run.text.contains("unchecked"), "{}", run.text);
}

#[test]
fn the_fastest_right_variant_is_marked() {
    let starred = |variants: &str| {
        let text = small(variants).text;
        let starred = text.lines().filter(|line| line.contains("*  "));
        starred.map(str::to_owned).collect::<Vec<String>>()
    };
    let [line] = &starred("naive,twofold,off-by-one")[..] else {
        panic!("one variant is the fastest")
    };
    assert!(line.starts_with("  twofold*"), "{line}");
    // One variant alone is not the fastest, and neither is a wrong one.
    assert!(starred("twofold").is_empty());
    assert!(starred("naive,off-by-one").is_empty());
}

#[test]
fn the_cpu_is_compared_by_rate() {
    let args = ["--large", "--samples=12", "--variant=naive", "--notes"];
    let run = timed(&args, &test_lab::machine());
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert!(
        run.text.contains("doubling  1000 numbers, 20 steps"),
        "{}",
        run.text
    );
    let note = "cpu: timed on 100 numbers, 10 steps, compared by rate";
    assert!(run.text.contains(note), "{}", run.text);
    let [serial, parallel, naive] = [0, 1, 2].map(|row| run.figures(row));
    let ones =
        [serial.compared.vs_serial, parallel.compared.vs_cpu].map(|ratio| ratio.unwrap().estimate);
    assert_eq!(ones, [1.0, 1.0]);
    let expected = naive.work.updates_per_s / serial.work.updates_per_s;
    let vs_serial = naive.compared.vs_serial.unwrap().estimate;
    assert!((vs_serial / expected - 1.0).abs() < 1e-12, "{vs_serial}");
    let cpu = "  CPU: 100 numbers, 10 steps: serial ";
    assert!(run.text.contains(cpu), "{}", run.text);
    let speedup = "speedup over one core: parallel 1.00 ± 0.00; naive ";
    assert!(run.text.contains(speedup), "{}", run.text);
    // Single samples have no interval.
    let once = ["--large", "--samples=1", "--variant=naive", "--notes"];
    let single = timed(&once, &test_lab::machine());
    let without_interval = "speedup over one core: parallel 1.00; naive 100\n";
    assert!(single.text.contains(without_interval), "{}", single.text);
}

#[test]
fn without_a_gpu_its_rows_say_why() {
    let args = ["--variant=naive", "--samples=1", "--notes"];
    let run = timed(&args, &test_lab::machine_without_gpu());
    assert_eq!(run.ending, Ok(Ending::Fine));
    let note = "cuda skipped: no CUDA device: libcuda.so.1 not found";
    assert!(run.text.contains(note), "{}", run.text);
    let mut lines = run.text.lines();
    let row = lines.find(|line| line.starts_with("  cuda")).unwrap();
    assert!(row.ends_with("skipped"), "{}", run.text);
}

#[test]
fn a_copy_without_solutions_times_the_cpu() {
    for args in [&["--samples=12"][..], &["--samples=12", "--large"]] {
        for machine in [test_lab::machine(), test_lab::machine_without_gpu()] {
            let labs: [&Lab; 1] = [&test_lab::BARE];
            let run = run_with(&labs, &machine, Peers::default(), &MadeUp::default(), args);
            assert_eq!(run.ending, Ok(Ending::Fine), "{}", run.text);
            let rows: Vec<&str> = run.rows().iter().map(|row| &row.variant[..]).collect();
            assert_eq!(rows, ["serial", "parallel"]);
            let note = "this copy of the course has no built-in variants";
            assert!(run.text.contains(note), "{}", run.text);
        }
    }
}

#[test]
fn nothing_is_timed_for_a_case_that_makes_no_sense() {
    let run = timed(&["doubling", "--param=n=many"], &test_lab::machine());
    assert_eq!((run.text.as_str(), run.results), ("", None));
    insta::assert_snapshot!(run.ending.unwrap_err(), @"--param: parameter `n` = `many`: write a whole number from 0 to 2^64 - 1: numbers, 1 or more");
}

#[test]
fn a_shape_that_was_found_is_used_and_said() {
    let table = table_with_x4();
    let run = |variants: &str| {
        let flag = format!("--variant={variants}");
        run_tuned(
            &test_lab::labs(),
            &test_lab::machine(),
            Peers::default(),
            &MadeUp::default(),
            &table,
            &[&SMALL[..], &[&flag]].concat(),
        )
    };
    let found = run("naive,twofold");
    assert_eq!(found.ending, Ok(Ending::Fine));
    let shapes: Vec<Option<&str>> = found
        .rows()
        .iter()
        .map(|row| row.shape.as_deref())
        .collect();
    assert_eq!(shapes, [None, Some("x4")]);
    // Two launches of four steps, two of one.
    assert_eq!(found.figures(1).run.median_s, 4e-3);
    assert_eq!(found.figures(1).judgement.result, Correctness::Equal);
    let note = "tuned: twofold: launched in the shape x4, as `harness tune` found";
    assert!(found.text.contains(note), "{}", found.text);
    // The variant that was named is the one that is timed.
    let named = run("twofold@x1,twofold@x2");
    let rows: Vec<(&str, Option<&str>)> = named
        .rows()
        .iter()
        .map(|row| (row.variant.as_str(), row.shape.as_deref()))
        .collect();
    assert_eq!(rows, [("twofold@x2", None), ("twofold@x1", None)]);
    assert_eq!(named.figures(1).run.median_s, 10e-3);
}
