//! The tables' shape.

mod made_up;

use super::*;
use crate::document::{CaseResults, Language, Outcome, Reference, Row};
use crate::ratios::is_cpu;
use made_up::{
    check_ends, figures, make_impossible, make_noisy, make_wrong, matadd, membench, poisson,
    wave2d, wave3d,
};
use terminal::look::WIDTH;

/// As it is printed, with no line too long.
fn brief(cases: &[CaseResults]) -> String {
    fitting(rendered(cases, false, Look::PLAIN))
}

fn with_notes(cases: &[CaseResults]) -> String {
    fitting(rendered(cases, true, Look::PLAIN))
}

/// Cases that hold their references' rows.
fn rendered(cases: &[CaseResults], has_notes: bool, look: Look) -> String {
    let mut cases = cases.to_vec();
    let references = take_references(&mut cases);
    of_lab(&cases, &references, has_notes, look)
}

/// Takes the references' rows out of the cases, each once.
fn take_references(cases: &mut [CaseResults]) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    for case in cases {
        for row in case.rows.extract_if(.., |row| is_cpu(row)) {
            let lab = case.lab.clone();
            let reference = Reference { lab, row };
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
    }
    references
}

fn fitting(text: String) -> String {
    for line in text.lines() {
        let width = line.chars().count();
        assert!(width <= WIDTH, "{width} columns: {line}\n{text}");
    }
    text
}

/// The lines after the table.
fn notes(text: &str) -> Vec<&str> {
    let (_, notes) = text.trim_end().rsplit_once("\n\n").unwrap();
    notes.lines().collect()
}

#[test]
fn one_size_has_a_row_for_each_variant() {
    let mut cases = wave2d(12_800);
    check_ends(&mut cases, 340, 40);
    insta::assert_snapshot!(brief(&cases));
}

#[test]
fn seventeen_sizes_have_a_row_each() {
    insta::assert_snapshot!(brief(&wave3d()));
}

#[test]
fn long_names_take_two_lines_of_the_header() {
    let mut cases = poisson();
    check_ends(&mut cases[2..], 15, 2);
    insta::assert_snapshot!(brief(&cases));
}

#[test]
fn too_many_variants_for_columns_have_rows() {
    insta::assert_snapshot!("rows_of_matadd", brief(&matadd()));
    insta::assert_snapshot!("rows_of_membench", brief(&membench()));
}

#[test]
fn a_wide_interval_is_shown_and_what_is_impossible_is_withheld() {
    let mut cases = wave2d(200);
    make_noisy(figures(&mut cases[0], "naive"));
    insta::assert_snapshot!("noisy_first_variant", brief(&cases));
    // Nothing is compared with a time that cannot be.
    let mut impossible = wave2d(200);
    make_impossible(figures(&mut impossible[0], "naive"));
    insta::assert_snapshot!("impossible_first_variant", brief(&impossible));
    let mut noisy_cpu = wave2d(200);
    make_noisy(figures(&mut noisy_cpu[0], "parallel"));
    let text = brief(&noisy_cpu);
    assert!(text.contains("parallel 8.31 ± 0.51 (11.7"), "{text}");
    // One that is wrong has no rate.
    let mut wrong = wave2d(200);
    make_wrong(figures(&mut wrong[0], "naive"));
    insta::assert_snapshot!("wrong_first_variant", brief(&wrong));
}

#[test]
fn the_faster_of_two_peers_counts_if_it_is_a_result() {
    let mut cases = wave2d(200);
    assert!(brief(&cases).contains("  0.998 ± 0.000  bit-equal"));
    let peers = |case: &mut CaseResults, of: fn(&mut crate::document::Figures)| {
        let mut rows = case
            .rows
            .iter_mut()
            .filter(|row| row.language == Some(Language::cuda_cpp([])));
        of(rows.next().unwrap().figures_mut().unwrap());
    };
    // Not against the slower one: that would flatter.
    peers(&mut cases[0], make_impossible);
    let text = brief(&cases);
    let naive = text
        .lines()
        .find(|line| line.starts_with("  naive "))
        .unwrap();
    assert!(naive.ends_with("-  bit-equal"), "{text}");
    // A peer that gives wrong values is not a rival.
    peers(&mut cases[0], make_wrong);
    assert!(brief(&cases).contains("  1.10 ± 0.00  bit-equal"));
}

#[test]
fn marks_of_sizes() {
    let mut cases = poisson();
    cases.swap(0, 3);
    // The CPU's rows stay in the first case.
    let cpu: Vec<Row> = cases[3].rows.drain(..2).collect();
    cases[0].rows.splice(0..0, cpu);
    make_impossible(figures(&mut cases[0], "no_branches"));
    make_noisy(figures(&mut cases[1], "computes_source"));
    make_wrong(figures(&mut cases[2], "shared_tile"));
    make_wrong(figures(&mut cases[3], "shared_tile"));
    let device = |row: &&mut Row| row.device == "cuda" && row.language.is_none();
    let mut ours = cases[2].rows.iter_mut().filter(device);
    ours.next().unwrap().outcome = Outcome::Failed {
        message: "plan `reads_source`, kernel `poisson_reads_source` failed: the kernel trapped; run the case on the \
                  emulated device, which names the line and the thread"
            .to_owned(),
    };
    ours.next().unwrap().outcome = Outcome::Lacking {
        message: "out of device memory".to_owned(),
    };
    insta::assert_snapshot!(brief(&cases));
}

#[test]
fn three_lines_of_notes_at_most() {
    let mut cases = wave2d(200);
    assert_eq!(notes(&brief(&cases)), ["  limit: memory"]);
    // A reason that is long takes the lines that it needs.
    make_wrong(figures(&mut cases[0], "naive"));
    let text = brief(&cases);
    let [first, second] = notes(&text)[..] else {
        panic!("two lines\n{text}");
    };
    assert!(first.starts_with("  WRONG: naive: `x` is wrong in 1 of"));
    assert!(second.ends_with("got 102401022 (0x61a83fe)"), "{text}");
    // The notes are cut to their room.
    check_ends(&mut cases, 3, 3);
    let shmem = figures(&mut cases[0], "shmem");
    shmem.on_device.kernels[0].local_bytes = 8;
    make_impossible(shmem);
    let cut = brief(&cases);
    assert_eq!(notes(&cut)[2..], ["  2 more notes: --notes"], "{cut}");
    let all = with_notes(&cases);
    for note in [
        "naive on cuda: `x` is wrong in 1 of 100000",
        "shmem on cuda: compared with the CPU over 3 + 3 of 200 steps",
        "kernel `wave2d_shmem` keeps 8 bytes per thread in local memory, which is slow",
        "limit: memory",
        "cpu: timed on 1001x1001, 200 steps, point-source, compared by rate",
    ] {
        assert!(all.contains(note), "{note}\n{all}");
    }
}

#[test]
fn notes_have_every_row() {
    insta::assert_snapshot!("notes_of_one_size", with_notes(&wave2d(200)));
    insta::assert_snapshot!("notes_of_two_sizes", with_notes(&wave3d()[..2]));
    let text = with_notes(&poisson());
    for case in poisson() {
        let title = format!("\npoisson  {}\n", case.case);
        assert!(text.contains(&title), "{text}");
    }
    assert_eq!(text.matches("> Python, cupy").count(), 4);
    assert_eq!(text.matches("speedup over one core: ").count(), 4);
    assert!(
        text.contains("ours takes 0.980 (0.980 to 0.980) times as long"),
        "{text}"
    );
    with_notes(&wave3d());
    with_notes(&matadd());
    with_notes(&membench());
}

#[test]
fn speedups_of_what_is_withheld_are_not_said() {
    let mut cases = wave2d(200);
    make_impossible(figures(&mut cases[0], "shmem"));
    let text = with_notes(&cases);
    let line = "speedup over one core: parallel 11.7 ± 0.0; naive 250 ± 0; naive, CUDA C++ ";
    let has_shmem = text.contains("shmem 11");
    assert!(text.contains(line) && !has_shmem, "{text}");
    // The one core's own time is none.
    make_impossible(figures(&mut cases[0], "serial"));
    let without = with_notes(&cases);
    assert!(!without.contains("speedup over one core"), "{without}");
}

#[test]
fn several_devices_have_a_column() {
    let mut cases = poisson();
    for case in &mut cases {
        let mut others: Vec<Row> = case.rows.clone();
        others.retain(|row| row.device == "cuda" && row.language.is_none());
        others
            .iter_mut()
            .for_each(|row| row.device = "cuda:1".to_owned());
        case.rows.extend(others);
    }
    let text = brief(&cases);
    assert!(text.contains("  128^3  cuda:1    113 "), "{text}");
}

#[test]
fn colours_do_not_count() {
    let look = Look {
        colour: true,
        ..Look::PLAIN
    };
    let plain = brief(&poisson());
    let coloured = rendered(&poisson(), false, look);
    assert!(coloured.contains("\x1b["));
    assert_eq!(coloured.lines().count(), plain.lines().count());
}

#[test]
fn the_cpu_alone_takes_the_head() {
    let mut cases = wave2d(200);
    cases[0].rows.truncate(2);
    cases[0].case = cases[0].rows[0].case.clone();
    insta::assert_snapshot!(brief(&cases), @r"
    wave2d  1001x1001, 200 steps, point-source
      rates in G cell updates/s
      CPU: serial 0.712 ± 0.000, parallel 8.31 ± 0.00 (11.7 ± 0.0x)
    ");
}
