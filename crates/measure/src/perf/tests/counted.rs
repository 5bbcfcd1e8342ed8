//! Kernels in the tables: beside times, and where there is no GPU to time them on.

use std::collections::BTreeMap;

use super::*;
use crate::perf::own_limit::{self, Busy};
use results::Row;
use results::bound::{OwnLimit, Unit};

#[test]
fn without_a_gpu_instructions_and_sectors_are_counted() {
    let args = ["--samples=1", "--variant=coalesced,scattered,stray"];
    let labs: [&Lab; 1] = [&test_lab::ptx::TRIPLING];
    let machine = test_lab::machine_without_gpu();
    let run = run_with(&labs, &machine, Peers::default(), &MadeUp::default(), &args);
    assert_eq!(run.ending, Ok(Ending::Fine));
    let missing = "missing: cuda: no CUDA device: libcuda.so.1 not found";
    assert!(run.text.contains(missing), "{}", run.text);
    assert_eq!(run.text.matches("no CUDA device").count(), 1);
    let (_, totals) = run.text.split_once("\n\n  variant ").unwrap();
    insta::assert_snapshot!(totals);
    // The kernels are under --notes, behind the same totals.
    let notes = [&args[..], &["--notes"]].concat();
    let noted = run_with(
        &labs,
        &machine,
        Peers::default(),
        &MadeUp::default(),
        &notes,
    );
    let (before, kernels) = noted.text.split_once("\n\n  variant    kernel").unwrap();
    assert!(before.contains("active"), "{}", noted.text);
    assert!(kernels.contains("scattered  scattered"), "{}", noted.text);
}

#[test]
fn tables_of_kernels_fit() {
    let mut results = small("naive,twofold").results.unwrap();
    let case = &mut results.cases[0];
    for row in &mut case.rows {
        row.variant = "grid_stride_vector4_256".to_owned();
        let figures = row.figures_mut().unwrap();
        figures.on_device.kernels[0].name = "matadd_grid_stride_vector4".to_owned();
        figures.on_device.kernels[0].registers = Some(255);
        // The lab with the longest names has no timesteps.
        figures.timesteps = None;
        figures.run.median_s = 70.12e-6;
        figures.work.updates_per_s = 240e9;
        figures.on_device.bytes_per_s = Some(2.88e12);
        figures.on_device.own_limit = Some(OwnLimit {
            by: Unit::Issue,
            run_s: 60e-6,
            share: 0.856,
        });
        figures.compared.vs_cpu = Some(results::Ratio {
            estimate: 4321.0,
            interval: Some([4000.0, 4600.0]),
        });
    }
    case.counted = Some(results::counted::Counted {
        case: "4096x4096".to_owned(),
        unit: "additions".to_owned(),
        kernels: Vec::new(),
        failures: Vec::new(),
    });
    let text = results::tables::last_lab(&results, true, Look::PLAIN);
    let is_narrow = |line: &str| line.chars().count() <= WIDTH;
    assert!(text.lines().all(is_narrow), "{text}");
    assert!(text.contains(" 86% issue "), "{text}");
    let brief = results::tables::last_lab(&results, false, Look::PLAIN);
    assert!(brief.contains("; own limit: issue, 86%"), "{brief}");
}

#[test]
fn the_own_limit_is_that_of_the_shape_which_was_launched() {
    let mut results = small("naive,twofold").results.unwrap();
    let rows = &mut results.cases[0].rows;
    rows[1].shape = Some("wide".to_owned());
    let name = |variant: &str| (rows[1].device.clone(), variant.to_owned());
    let busy = |busy_s| Busy([busy_s, 0.0, 0.0, 0.0]);
    let all = BTreeMap::from([
        (name("twofold"), busy(1e-3)),
        (name("twofold@wide"), busy(2e-3)),
    ]);
    for row in rows.iter_mut() {
        own_limit::add(row, &all);
    }
    let own = |row: &Row| row.figures().unwrap().on_device.own_limit;
    assert_eq!(own(&rows[0]), None);
    // Of a run of 5 ms.
    assert_eq!(own(&rows[1]).unwrap().share, 0.4);
}

#[test]
fn an_absent_device_takes_one_line() {
    let args = ["--variant=naive,off-by-one", "--samples=1", "--notes"];
    let text = timed(&args, &test_lab::machine_without_gpu()).text;
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  cuda  "))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("  cuda    all 2 "), "{text}");
}
