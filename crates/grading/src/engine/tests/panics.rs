//! Panics of kernels, which are told by kernels that were compiled once more; and prints.

use std::cell::Cell;
use std::path::Path;

use super::super::open::messages_file;
use super::*;
use crate::outcome::Panic;

/// A small case and a hidden one.
const TWO: &str = r#"format_version = 1
lab = "matadd"
tolerance = { rule = "exact" }
[[case]]
name = "small"
group = "small"
points = 2
params = { n_x = 37, n_y = 5 }
[[case]]
name = "secret"
group = "hidden"
points = 3
params = { n_x = 64, n_y = 6 }
"#;

/// As [`Here`], with kernels whose panics have messages, where there are any.
struct WithMessages<'d> {
    here: Here<'d>,
    kernels: Option<String>,
    compiled: Cell<u32>,
}

impl CaseRunner for WithMessages<'_> {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        if job.with_messages {
            let kernels = self.kernels.as_ref().unwrap();
            std::fs::write(messages_file(&job.parts), kernels).unwrap();
        }
        self.here.run(job, deadlines)
    }

    fn compile_with_messages(&self, _: &Path) -> Result<(), String> {
        self.compiled.set(self.compiled.get() + 1);
        self.kernels.as_ref().map(drop).ok_or("no rustc".to_owned())
    }
}

/// Thread 20 panics: with `__assertfail`, or with a `trap`.
fn panicking(with_message: bool) -> String {
    let call = if with_message {
        "mov.u64 %rd8, word; cvta.global.u64 %rd8, %rd8; {.param .b64 p; .param .b64 q; .param .b32 l; \
             .param .b64 f; .param .b64 s; st.param.b64 [p], %rd8; st.param.b64 [q], %rd8; st.param.b32 [l], 7; \
             st.param.b64 [f], %rd8; st.param.b64 [s], 1; call.uni __assertfail, (p, q, l, f, s);}"
    } else {
        ""
    };
    let body = format!("setp.ne.u32 %p2, %r1, 20; @%p2 bra GO; {call} trap; GO: {SUM}");
    elementwise(&body).replace(
        ".visible",
        ".extern .func __assertfail(.param .b64 p, .param .b64 q, .param .b32 l, .param .b64 f, .param .b64 s);\n\
         .global .align 1 .b8 word[] = {112, 97, 110, 105, 99, 0};\n.visible",
    )
}

fn graded_panic(kernels: Option<String>) -> (GradeReport, u32) {
    let lab_spec = lab_spec(TWO);
    let device = EmulatedDevice::default();
    let runner = WithMessages {
        here: Here(&device),
        kernels,
        compiled: Cell::new(0),
    };
    let bundle = bundle(&lab_spec, &panicking(false), record_sum);
    let report = graded_with(&lab_spec, &bundle, &device, &runner, &options());
    (report, runner.compiled.get())
}

#[test]
fn a_panic_is_told_of_a_hidden_case_too() {
    let (report, compiled) = graded_panic(Some(panicking(true)));
    assert_eq!(compiled, 1);
    let failures: Vec<&Failure> = report
        .cases
        .iter()
        .filter_map(|case| case.status.failure())
        .collect();
    let panics: Vec<_> = failures.iter().map(|failure| failure.panic).collect();
    assert_eq!(panics, [Some(Panic::Told); 2]);
    assert!(
        failures
            .iter()
            .all(|failure| failure.kind == Kind::KernelFault)
    );
    for failure in failures {
        assert!(failure.message.ends_with(": panic"), "{failure:?}");
        let sanitizer = failure.sanitizer.as_ref().unwrap();
        assert!(sanitizer.contains("panic: panic\n"), "{sanitizer}");
    }
}

#[test]
fn a_panic_whose_message_cannot_be_known() {
    let (report, _) = graded_panic(None);
    let panic = report.cases[0].status.failure().unwrap().panic;
    assert_eq!(panic, Some(Panic::Silent));
    assert_eq!(
        report.notes,
        ["the messages of panics are not known: no rustc"]
    );
    // Other kernels that do not panic change nothing.
    let (silent, _) = graded_panic(Some(elementwise(SUM)));
    let how = silent.cases[0].status.failure().unwrap().panic;
    assert_eq!(how, Some(Panic::Silent));
}

#[test]
fn prints_are_shown_but_not_of_a_hidden_case() {
    let lab_spec = lab_spec(TWO);
    let body = format!(
        "{{.param .b64 p; .param .b64 q; .param .b32 s; mov.u64 %rd8, word; cvta.global.u64 %rd8, %rd8; \
         st.param.b64 [p], %rd8; st.param.b64 [q], %rd8; call.uni (s), vprintf, (p, q);}} {SUM}"
    );
    let kernels = elementwise(&body).replace(
        ".visible",
        ".extern .func (.param .b32 s) vprintf(.param .b64 p, .param .b64 q);\n\
         .global .align 1 .b8 word[] = {104, 105, 10, 0};\n.visible",
    );
    let bundle = bundle(&lab_spec, &kernels, record_sum);
    let device = EmulatedDevice::default().keeping_printed();
    let report = graded(&lab_spec, &bundle, &device);
    assert!(report.is_right());
    assert_eq!(report.cases[0].printed, "hi\n".repeat(37 * 5));
    assert_eq!(report.cases[1].printed, "");
}
