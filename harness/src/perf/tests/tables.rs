//! The tables' shape.

use super::*;

#[test]
fn without_a_gpu_instructions_and_sectors_are_counted() {
    let args = ["--samples=1", "--variant=coalesced,scattered,stray"];
    let labs: [&dyn Lab; 1] = [&testing::ptx::Tripling];
    let machine = testing::machine_without_gpu();
    let run = run_with(&labs, &machine, Peers::default(), &MadeUp::default(), &args);
    assert_eq!(run.ending, Ok(Ending::Fine));
    let missing = "missing: cuda: no CUDA device: libcuda.so.1 not found";
    assert!(run.text.contains(missing), "{}", run.text);
    let (_, kernels) = run.text.split_once("\n\n  variant    kernel").unwrap();
    insta::assert_snapshot!(kernels);
}

#[test]
fn tables_fit_a_hundred_columns() {
    let mut case = small("naive,twofold").results.unwrap().cases.swap_remove(0);
    for row in &mut case.rows {
        row.variant = "grid_stride_vector4_256".to_owned();
        let figures = row.figures_mut().unwrap();
        figures.kernels[0].name = "matadd_grid_stride_vector4".to_owned();
        figures.kernels[0].registers = Some(255);
        // The lab with the longest names has no timesteps.
        figures.timesteps = None;
        figures.run.median_s = 70.12e-6;
        figures.updates_per_s = 240e9;
        figures.bytes_per_s = Some(2.88e12);
        figures.vs_cpu = Some(4321.0);
    }
    case.counted = Some(counted::Counted {
        case: "4096x4096".to_owned(),
        unit: "additions".to_owned(),
        kernels: Vec::new(),
        failures: Vec::new(),
    });
    let text = report::render_lab(&[case], true, Look::PLAIN);
    let notes = ["rate:", "limit:", "*:", "no graph", "kernel `"];
    let is_note = |line: &&str| notes.iter().any(|note| line.contains(note));
    for line in text.lines().filter(|line| !is_note(line)) {
        assert!(line.len() <= 100, "{} columns\n{text}", line.len());
    }
}

#[test]
fn an_absent_device_takes_one_line() {
    let args = ["--variant=naive,off-by-one", "--samples=1"];
    let text = timed(&args, &testing::machine_without_gpu()).text;
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  cuda  "))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("  cuda    all 2 "), "{text}");
}
