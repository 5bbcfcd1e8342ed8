//! Wrong submissions.

use device::{EmulatedDevice, Options as EmulatorOptions};

use super::*;
use crate::diagnose::Writer;
use crate::outcome::Memory;

/// How the small case fails with this body.
fn fails(body: &str) -> Failure {
    let lab_spec = lab_spec(MATADD);
    let report = emulated(
        &lab_spec,
        &bundle(&lab_spec, &elementwise(body), record_sum),
    );
    assert_eq!(report.totals.earned, 0.0, "{report:#?}");
    report.cases[0].status.failure().unwrap().clone()
}

#[test]
fn a_kernel_of_ones_own_passes() {
    let lab_spec = lab_spec(MATADD);
    let report = emulated(&lab_spec, &bundle(&lab_spec, &elementwise(SUM), record_sum));
    assert!(report.is_right(), "{report:#?}");
    assert_eq!(report.totals.earned, 2.0);
}

#[test]
fn wrong_values_are_found_and_explained() {
    let failure = fails("mov.f32 %f3, %f1;");
    assert_eq!((failure.kind, failure.sample), (Kind::WrongResult, Some(0)));
    assert!(failure.diagnosis.is_some());
    assert!(
        failure.message.contains("(x = 0, y = 0)"),
        "{}",
        failure.message
    );
    assert_eq!(fails("mov.f32 %f3, 0f00000000;").kind, Kind::WrongResult);
    assert_eq!(fails("mov.f32 %f3, 0f7fc00000;").kind, Kind::NonFinite);
    // Right except for the last element.
    let last = "add.f32 %f3, %f1, %f2; setp.eq.u32 %p2, %r1, 184; @%p2 mov.f32 %f3, %f1;";
    let of_last = fails(last);
    assert_eq!(of_last.kind, Kind::WrongResult);
    assert!(
        of_last.message.contains("wrong in 1 of 185"),
        "{}",
        of_last.message
    );
}

/// Memory is filled with NaN before a run: a cell that nothing wrote is wrong, and not the kernel's
/// NaN.
#[test]
fn cells_that_nothing_wrote_are_wrong() {
    let failure = fails(&format!("{SUM} setp.lt.u32 %p2, %r1, 100; @%p2 bra DONE;"));
    assert_eq!(failure.kind, Kind::WrongResult);
    let lines = crate::diagnose::text::lines(failure.diagnosis.as_deref().unwrap());
    assert!(
        lines[0].contains("100 of 185 cells, 100 never written"),
        "{}",
        lines[0]
    );
}

/// The emulated device sees each store, so a map knows the thread of the first wrong cell.
#[test]
fn the_thread_of_the_first_wrong_cell_is_known() {
    let map = |body: &str| fails(body).diagnosis.unwrap().map.expect("a map");
    // All wrong, and stored.
    let stored = map("mov.f32 %f3, %f1;");
    insta::assert_debug_snapshot!(stored.writer, @r#"
    Thread {
        launch: 1,
        thread: "block (0, 0, 0), thread (0, 0, 0)",
    }
    "#);
    // The first 100 of 37 x 5 are never written: two whole rows, and part of the third.
    let unwritten = map(&format!("{SUM} setp.lt.u32 %p2, %r1, 100; @%p2 bra DONE;"));
    assert_eq!(unwritten.writer, Writer::Nobody);
    insta::assert_snapshot!(unwritten.lines.join("\n"), @"
    _____________________________________
    _____________________________________
    __________________________...........
    .....................................
    .....................................
    ");
}

#[test]
fn inputs_that_change_are_found() {
    let failure = fails(&format!("{SUM} st.global.f32 [%rd5], %f3;"));
    assert_eq!(failure.kind, Kind::InputChanged);
    insta::assert_snapshot!(failure.message, @"input `a` was changed, first at element 0 of 185; the lab only reads it");
}

#[test]
fn the_emulated_device_s_findings_have_their_kinds() {
    let beyond = fails(&format!("{SUM} st.global.f32 [%rd7+4], %f3;"));
    assert_eq!(
        (beyond.kind, beyond.memory),
        (Kind::Race, Some(Memory::Global))
    );
    let far = fails(&format!("{SUM} st.global.f32 [%rd7+65536], %f3;"));
    assert_eq!((far.kind, far.memory), (Kind::OutOfBounds, None));
    assert!(far.sanitizer.unwrap().contains("in kernel `sum`"));
    let odd = fails(&format!("{SUM} st.global.f32 [%rd7+1], %f3;"));
    assert_eq!(odd.kind, Kind::Misaligned);
    let unwritten = fails("ld.global.f32 %f3, [%rd7]; add.f32 %f3, %f3, %f1;");
    assert_eq!(unwritten.kind, Kind::UninitializedRead);
    assert_eq!(fails("trap;").kind, Kind::KernelFault);
    let barrier =
        "setp.eq.u32 %p2, %r1, 3; @%p2 bra SKIP; bar.sync 0; SKIP: add.f32 %f3, %f1, %f2;";
    assert_eq!(fails(barrier).kind, Kind::Barrier);
}

#[test]
fn an_endless_kernel_ends() {
    let lab_spec = lab_spec(MATADD);
    let endless = bundle(&lab_spec, &elementwise("LOOP: bra LOOP;"), record_sum);
    let device = EmulatedDevice::new(EmulatorOptions {
        fuel: 10_000,
        ..EmulatorOptions::default()
    });
    let report = graded(&lab_spec, &endless, &device);
    assert_eq!(report.cases[0].status.kind(), Some(Kind::Deadline));
}

#[test]
fn globals_do_not_survive_a_sample() {
    // Right the first time that a module runs, wrong after: every sample is a first time.
    let counts = "atom.global.add.u32 %r4, [seen], 1; setp.ge.u32 %p2, %r4, 185;
        add.f32 %f3, %f1, %f2; @%p2 mov.f32 %f3, %f1;";
    let lab_spec = lab_spec(MATADD);
    let report = emulated(
        &lab_spec,
        &bundle(&lab_spec, &elementwise(counts), record_sum),
    );
    assert!(report.is_right(), "{report:#?}");
}

#[test]
fn a_public_result_is_wrong_for_secret_inputs() {
    // A replay can know the results for a seed that was used before.
    let lab_spec = lab_spec(MATADD);
    let lab = find_lab("matadd").unwrap();
    let case = lab_spec.cases[0].with_seed(lab, 1 << 32).unwrap();
    let known = case
        .reference(lab::Cpu::Serial, &terminal::progress::NoProgress)
        .unwrap();
    let values = known[0].1.as_slice::<f32>().unwrap();
    let table: Vec<String> = values.iter().map(|v| v.to_bits().to_string()).collect();
    let ptx =
        elementwise("mov.u64 %rd8, table; add.s64 %rd8, %rd8, %rd4; ld.global.f32 %f3, [%rd8];");
    let ptx = ptx.replace(
        ".global .align 4 .u32 seen = 0;",
        &format!(
            ".global .align 4 .u32 table[185] = {{{}}};",
            table.join(",")
        ),
    );
    let report = emulated(&lab_spec, &bundle(&lab_spec, &ptx, record_sum));
    assert_eq!(report.cases[0].status.kind(), Some(Kind::WrongResult));
}
