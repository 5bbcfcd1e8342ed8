//! Whole grades, of right and wrong submissions, on the emulated device and on one whose clock is ours.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use host::device::{EmulatedDevice, Options as EmulatorOptions, Side, Stray};
use host::plan::Plan;
use host::{
    BufferId, Device, DeviceInfo, DeviceKind, Element, Error, HostBuffer, KernelInfo, LaunchConfig,
    Module, Session, Timing, args, find_lab,
};

use super::child::{Deadlines, Ended, Request};
use super::grading::{Options, Quiet, Runner, grade};
use super::job::{Phase, Watch};
use super::timed::Rule;
use crate::bundle::{BuiltWith, Bundle, BundledCase};
use crate::course::Course;
use crate::devices::Wanted;
use crate::failure::Failure;
use crate::grade::kind::Kind;
use crate::grade::verdict::{Failing, GradeReport, PerformanceStatus, Status, SubmissionId};

const MATADD: &str = r#"format_version = 1
lab = "matadd"
tolerance = { rule = "exact" }
[[case]]
name = "small"
group = "small"
points = 2
params = { n_x = 37, n_y = 5 }
[[case]]
name = "large"
group = "large"
points = 3
params = { n_x = 64, n_y = 6 }
[[performance]]
case = "large"
points = 10
against = "reference"
variant = "grid2d_block2d_32x8"
zero = 0.5
full = 1.5
[[performance]]
case = "large"
points = 20
against = "limit"
zero = 0.0
full = 1.0
"#;

fn course(text: &str) -> Course {
    Course::parse(text, "lab.toml").unwrap()
}

/// A submission with these kernels, whose plans `record` makes from each case's own.
fn bundle(course: &Course, ptx: &str, record: impl Fn(&dyn host::Case) -> Plan) -> Bundle {
    let lab = find_lab(&course.lab).unwrap();
    let cases = course.cases.iter().map(|spec| {
        let case = spec.with_seed(lab, 0).unwrap();
        BundledCase {
            name: spec.name.clone(),
            problem: case.problem_json(),
            plan: record(case.as_ref()),
        }
    });
    Bundle {
        lab: course.lab.clone(),
        ptx: ptx.to_owned(),
        cases: cases.collect(),
        built_with: BuiltWith {
            harness: "0".to_owned(),
            kernels: "test".to_owned(),
            llvm: 22,
            host: "test".to_owned(),
        },
        protections: Vec::new(),
    }
}

/// A built-in variant as a submission.
fn built_in(course: &Course, variant: &str) -> Bundle {
    let ptx = find_lab(&course.lab).unwrap().module().ptx();
    bundle(course, ptx, |case| case.record(variant).unwrap())
}

/// Jobs in this process, on this device.
struct Here<'d>(&'d dyn Device);

struct Unwatched;

impl Watch for Unwatched {
    fn enter(&mut self, _: Phase) {}
    fn failed(&mut self, _: &Failing) {}
}

impl Runner for Here<'_> {
    fn run(&self, request: &Request, _: &Deadlines) -> Result<Ended, Failure> {
        // As through a pipe.
        let json = serde_json::to_string(request).unwrap();
        let request: Request = serde_json::from_str(&json).unwrap();
        Ok(match request.job.run(self.0, &mut Unwatched) {
            Ok(answer) => Ended::Answer(Box::new(answer)),
            Err(reason) => Ended::Lacking(reason),
        })
    }
}

fn options() -> Options {
    Options {
        seed: Some(42),
        stopping: Rule {
            least: 10,
            most: 12,
            uncertainty: 0.005,
            patience: Duration::MAX,
        },
        ..Options::default()
    }
}

fn graded_with(
    course: &Course,
    bundle: &Bundle,
    device: &dyn Device,
    runner: &dyn Runner,
    options: &Options,
) -> GradeReport {
    let id = SubmissionId {
        name: "ada".to_owned(),
        sha256: None,
    };
    let name = match device.info().kind {
        DeviceKind::Cuda => Wanted::Cuda(0),
        DeviceKind::Emulated => Wanted::Emulated,
    };
    grade(
        bundle,
        id,
        course,
        (name, device),
        runner,
        options,
        &mut Quiet,
    )
    .unwrap()
}

fn graded(course: &Course, bundle: &Bundle, device: &dyn Device) -> GradeReport {
    graded_with(course, bundle, device, &Here(device), &options())
}

fn emulated(course: &Course, bundle: &Bundle) -> GradeReport {
    graded(course, bundle, &EmulatedDevice::default())
}

// Right submissions.

#[test]
fn built_in_variants_earn_all_points_that_are_graded() {
    for (lab, file, text) in crate::course::embedded_files() {
        let text = with_small_cases(text);
        let course = Course::parse(&text, file).unwrap();
        for variant in find_lab(lab).unwrap().variants() {
            let report = emulated(&course, &built_in(&course, variant.name));
            assert!(report.is_right(), "{lab} {}: {report:#?}", variant.name);
            let totals = report.totals;
            assert_eq!(totals.earned, totals.graded(), "{lab} {}", variant.name);
            assert!(totals.not_graded_here > 0.0);
        }
    }
}

/// The lab's file with the first two cases and what is large.
fn with_small_cases(text: &str) -> String {
    let mut parts = text.split("[[case]]");
    let head = parts.next().unwrap().to_owned();
    let kept = parts
        .enumerate()
        .filter(|(i, case)| *i < 2 || case.contains("\"large\""));
    kept.fold(head, |text, (_, case)| text + "[[case]]" + case)
}

#[test]
fn large_cases_wait_for_a_gpu() {
    let course = course(MATADD);
    let report = emulated(&course, &built_in(&course, "grid2d_block1d_64"));
    let Status::NotGradedHere { reason } = &report.cases[1].status else {
        panic!("{report:#?}")
    };
    assert_eq!(reason, "large cases are graded on a GPU");
    assert_eq!(report.totals.not_graded_here, 33.0);
    assert_eq!(report.totals.earned, 2.0);
    assert!(report.cases[0].counts["warp_instructions"] > 0);
    assert_eq!(report.cases[0].samples, 2);
    assert!(report.is_right() && !report.is_complete());
}

#[test]
fn equal_seeds_give_equal_grades_and_secret_ones_are_told_after_a_failure() {
    let course = course(MATADD);
    let wrong = bundle(&course, &elementwise("mov.f32 %f3, %f1;"), record_sum);
    let mut reports = [(); 2].map(|()| emulated(&course, &wrong));
    for report in &mut reports {
        report.elapsed_s = 0.0;
        report.started_unix_s = None;
    }
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0].seed, Some(42));

    let device = EmulatedDevice::default();
    let secret = Options {
        seed: None,
        ..options()
    };
    let report = graded_with(&course, &wrong, &device, &Here(&device), &secret);
    assert_eq!(report.seed, None);
    let note = &report.notes[0];
    let seed = note.split(' ').nth(1).unwrap().parse().unwrap();
    let again = Options {
        seed: Some(seed),
        ..options()
    };
    let again = graded_with(&course, &wrong, &device, &Here(&device), &again);
    assert_eq!(again.cases, report.cases);
}

// Wrong submissions: kernels written by hand. Thread t of block b adds element i = 64 b + t, if there is one.

/// A kernel `sum(a, b, c, n)`: %f1 and %f2 are the elements, `body` sets %f3, what is stored. %r1 is i.
fn elementwise(body: &str) -> String {
    format!(
        "
.version 7.8
.target sm_80
.address_size 64
.global .align 4 .u32 seen = 0;
.visible .entry sum(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<10>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r2, %r2, 6;
    add.u32 %r1, %r2, %r1;
    ld.param.u32 %r3, [n];
    setp.ge.u32 %p1, %r1, %r3;
    @%p1 bra DONE;
    mul.wide.u32 %rd4, %r1, 4;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    {body}
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}}
"
    )
}

const SUM: &str = "add.f32 %f3, %f1, %f2;";

/// The lab's buffers, and one launch of `sum`.
fn record_sum(case: &dyn host::Case) -> Plan {
    let own = case.record("grid2d_block1d_64").unwrap();
    let len = own.buffers()[0].len as usize;
    let mut plan = Plan::new("sum");
    let [a, b, c] = ["a", "b", "c"].map(|name| plan.buffer(name, Element::F32, len));
    let n = len as u32;
    let config = LaunchConfig::covering(n, 64).unwrap();
    plan.launch("sum", config, args![a, b, c, n]).unwrap();
    plan.output("c", c);
    plan
}

/// How the small case fails with this body.
fn fails(body: &str) -> Failing {
    let course = course(MATADD);
    let report = emulated(&course, &bundle(&course, &elementwise(body), record_sum));
    assert_eq!(report.totals.earned, 0.0, "{report:#?}");
    report.cases[0].status.failing().unwrap().clone()
}

#[test]
fn a_kernel_of_ones_own_passes() {
    let course = course(MATADD);
    let report = emulated(&course, &bundle(&course, &elementwise(SUM), record_sum));
    assert!(report.is_right(), "{report:#?}");
    assert_eq!(report.totals.earned, 2.0);
}

#[test]
fn wrong_values_are_found_and_explained() {
    let failing = fails("mov.f32 %f3, %f1;");
    assert_eq!((failing.kind, failing.sample), (Kind::WrongResult, Some(0)));
    assert!(failing.diagnosis.is_some());
    assert!(
        failing.message.contains("(x = 0, y = 0)"),
        "{}",
        failing.message
    );
    assert_eq!(fails("mov.f32 %f3, 0f00000000;").kind, Kind::WrongResult);
    assert_eq!(fails("mov.f32 %f3, 0f7fc00000;").kind, Kind::NonFinite);
    // Right but for the last element.
    let last = "add.f32 %f3, %f1, %f2; setp.eq.u32 %p2, %r1, 184; @%p2 mov.f32 %f3, %f1;";
    let failing = fails(last);
    assert_eq!(failing.kind, Kind::WrongResult);
    assert!(
        failing.message.contains("wrong in 1 of 185"),
        "{}",
        failing.message
    );
}

#[test]
fn inputs_that_change_are_found() {
    let failing = fails(&format!("{SUM} st.global.f32 [%rd5], %f3;"));
    assert_eq!(failing.kind, Kind::InputChanged);
    insta::assert_snapshot!(failing.message, @"input `a` was changed, first at element 0 of 185; the lab only reads it");
}

#[test]
fn the_emulated_device_s_findings_have_their_kinds() {
    let beyond = fails(&format!("{SUM} st.global.f32 [%rd7+4], %f3;"));
    assert_eq!(beyond.kind, Kind::Race);
    let far = fails(&format!("{SUM} st.global.f32 [%rd7+65536], %f3;"));
    assert_eq!(far.kind, Kind::OutOfBounds);
    assert!(far.sanitizer.unwrap().contains("in kernel `sum`"));
    let odd = fails(&format!("{SUM} st.global.f32 [%rd7+1], %f3;"));
    assert_eq!(odd.kind, Kind::Misaligned);
    let unwritten = fails("ld.global.f32 %f3, [%rd7]; add.f32 %f3, %f1, %f2;");
    assert_eq!(unwritten.kind, Kind::UninitializedRead);
    assert_eq!(fails("trap;").kind, Kind::KernelFault);
    let barrier =
        "setp.eq.u32 %p2, %r1, 3; @%p2 bra SKIP; bar.sync 0; SKIP: add.f32 %f3, %f1, %f2;";
    assert_eq!(fails(barrier).kind, Kind::Barrier);
}

#[test]
fn an_endless_kernel_ends() {
    let course = course(MATADD);
    let endless = bundle(&course, &elementwise("LOOP: bra LOOP;"), record_sum);
    let device = EmulatedDevice::new(EmulatorOptions {
        fuel: 10_000,
        ..EmulatorOptions::default()
    });
    let report = graded(&course, &endless, &device);
    assert_eq!(report.cases[0].status.kind(), Some(Kind::Deadline));
}

#[test]
fn globals_do_not_survive_a_sample() {
    // Right the first time that a module runs, wrong after: every sample is a first time.
    let counts = "atom.global.add.u32 %r4, [seen], 1; setp.ge.u32 %p2, %r4, 185;
        add.f32 %f3, %f1, %f2; @%p2 mov.f32 %f3, %f1;";
    let course = course(MATADD);
    let report = emulated(&course, &bundle(&course, &elementwise(counts), record_sum));
    assert!(report.is_right(), "{report:#?}");
}

#[test]
fn a_public_result_is_wrong_for_secret_inputs() {
    // What a replay can know: the results for a seed that was used before.
    let course = course(MATADD);
    let lab = find_lab("matadd").unwrap();
    let case = course.cases[0].with_seed(lab, 1 << 32).unwrap();
    let known = case
        .reference(host::Cpu::Serial, &host::NoProgress)
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
    let report = emulated(&course, &bundle(&course, &ptx, record_sum));
    assert_eq!(report.cases[0].status.kind(), Some(Kind::WrongResult));
}

// What is refused before anything runs.

#[test]
fn a_bundle_for_other_problems_is_refused() {
    let course = course(MATADD);
    let good = built_in(&course, "grid2d_block1d_64");
    let refused = |change: &dyn Fn(&mut Bundle)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        let report = emulated(&course, &bundle);
        let failing = report.refused.clone().unwrap();
        assert_eq!(failing.kind, Kind::BundleMismatch);
        assert_eq!((report.totals.earned, report.totals.possible), (0.0, 35.0));
        failing.message
    };
    insta::assert_snapshot!(refused(&|bundle| bundle.lab = "wave2d".to_owned()), @"it is a submission for lab wave2d, not matadd; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| drop(bundle.cases.pop())), @"it does not have case `large` exactly once; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases.push(bundle.cases[0].clone())), @"it does not have case `small` exactly once; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases.push(BundledCase {
        name: "more".to_owned(),
        ..bundle.cases[0].clone()
    })), @"it has 3 cases, and the lab has 2; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases[0].problem["n_x"] = 36.into()), @r#"its plan for case `small` was recorded for another problem: {"n_x":36,"n_y":5} in place of {"n_x":37,"n_y":5}; pack the submission again"#);
}

/// How the small case fails with this plan.
fn refused_plan(ptx: &str, change: impl Fn(&mut Plan, [BufferId; 3])) -> Failing {
    let course = course(MATADD);
    let bundle = bundle(&course, ptx, |case| {
        let mut plan = record_sum(case);
        let ids: Vec<BufferId> = plan.buffer_ids().collect();
        change(&mut plan, [ids[0], ids[1], ids[2]]);
        plan
    });
    let report = emulated(&course, &bundle);
    assert_eq!(report.refused, None);
    report.cases[0].status.failing().unwrap().clone()
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let ptx = elementwise(SUM);
    let failing = refused_plan(&ptx, |plan, _| {
        plan.buffer("d", Element::F32, 8);
    });
    assert_eq!(failing.kind, Kind::PlanInvalid);
    insta::assert_snapshot!(failing.message, @"the plan's buffers are not the lab's: it has `a`: 185 f32, `b`: 185 f32, `c`: 185 f32, `d`: 8 f32; the lab declares `a`: 185 f32, `b`: 185 f32, `c`: 185 f32");
    let failing = refused_plan(&ptx, |plan, [a, ..]| plan.output("d", a));
    insta::assert_snapshot!(failing.message, @"output `d` is not one that the lab asks for; there are: c");
    let failing = refused_plan(&ptx, |plan, [a, b, c]| {
        let config = LaunchConfig::new(1, 32).with_shared_mem_bytes(300_000);
        plan.launch("sum", config, args![a, b, c, 32u32]).unwrap();
    });
    assert_eq!(failing.kind, Kind::PlanInvalid);
    assert!(failing.message.contains("300000"), "{}", failing.message);
    let failing = refused_plan(&ptx, |plan, _| {
        plan.launch("add", LaunchConfig::new(1, 32), args![])
            .unwrap();
    });
    assert!(
        failing.message.contains("has no kernel `add`"),
        "{}",
        failing.message
    );
    let failing = refused_plan("garbage", |_, _| {});
    assert_eq!(failing.kind, Kind::PtxInvalid);
}

#[test]
fn plans_that_are_too_large_are_refused() {
    let ptx = elementwise(SUM);
    let failing = refused_plan(&ptx, |plan, _| {
        plan.scratch("d", Element::U8, 1 << 40);
    });
    assert_eq!(failing.kind, Kind::PlanTooLarge);
    insta::assert_snapshot!(failing.message, @"the plan needs 1099511627776 bytes of memory beside the lab's buffers; the limit is 67117744");
    let failing = refused_plan(&ptx, |plan, [a, ..]| {
        for _ in 0..super::screen::MOST_COMMANDS {
            plan.fill(a, 0).unwrap();
        }
    });
    insta::assert_snapshot!(failing.message, @"the plan needs 1000001 launches and copies; the limit is 1000000");
    let failing = refused_plan(&ptx, |plan, _| {
        for i in 0..257 {
            plan.scratch(i.to_string(), Element::U8, 1);
        }
    });
    insta::assert_snapshot!(failing.message, @"the plan needs 257 buffers of its own; the limit is 256");
}

// What the end of a process means.

struct Ends(Mutex<Vec<Ended>>);

impl Runner for Ends {
    fn run(&self, _: &Request, _: &Deadlines) -> Result<Ended, Failure> {
        Ok(self.0.lock().unwrap().remove(0))
    }
}

#[test]
fn an_end_costs_its_case_and_no_more() {
    let course = course(MATADD);
    let bundle = built_in(&course, "grid2d_block1d_64");
    let device = Clocked::new(|_, _| 1000.0);
    let status = |ended: Ended| {
        // The second case is graded all the same.
        let good = Here(&device)
            .run(&request(&course, &bundle), &DEADLINES)
            .unwrap();
        let runner = Ends(Mutex::new(vec![ended, good]));
        let report = graded_with(&course, &bundle, &device, &runner, &options());
        assert!(
            matches!(report.cases[1].status, Status::Passed),
            "{report:#?}"
        );
        report.cases[0].status.clone()
    };
    let died = |has_run, how: &str| Ended::Died {
        has_run,
        how: how.to_owned(),
        said: "first\nlast words".to_owned(),
    };
    let message = |status: Status, kind| {
        assert_eq!(status.kind(), Some(kind));
        status.failing().unwrap().message.clone()
    };
    let timed_out = status(Ended::TimedOut(Phase::Submission));
    insta::assert_snapshot!(message(timed_out, Kind::Deadline), @"a run was not finished after 120 s, and was ended");
    let crashed = status(died(true, "signal 11"));
    insta::assert_snapshot!(message(crashed, Kind::Crashed), @"the process that ran it died (signal 11): last words");
    let reason = |status: Status| match status {
        Status::NotGradedHere { reason } => reason,
        other => panic!("{other:?}"),
    };
    insta::assert_snapshot!(reason(status(died(false, "signal 9"))), @"the process that ran it died (signal 9): last words");
    insta::assert_snapshot!(reason(status(died(true, "a bug in harness"))), @"the process that ran it died (a bug in harness): last words");
    insta::assert_snapshot!(reason(status(Ended::TimedOut(Phase::Ours))), @"the harness's own part was not finished after 1800 s");
    insta::assert_snapshot!(reason(status(Ended::Lacking("no memory".to_owned()))), @"no memory");
    let failed = Failing::new(Kind::WrongResult, "wrong");
    let failed = status(Ended::Failed(Box::new(failed)));
    assert_eq!(failed.kind(), Some(Kind::WrongResult));
}

const DEADLINES: Deadlines = Deadlines {
    submission: Duration::from_secs(60),
    ours: Duration::from_secs(60),
};

/// The large case.
fn request(course: &Course, bundle: &Bundle) -> Request {
    Request {
        device: "cuda".to_owned(),
        job: super::job::Job {
            course_file: course.file.clone(),
            course_text: course.text.clone(),
            case: "large".to_owned(),
            ptx: bundle.ptx.clone(),
            plan: bundle.case("large").unwrap().plan.clone(),
            seed: 1,
            samples: 1,
            stopping: options().stopping,
        },
    }
}

// Time: the emulated device with a clock of ours.

type Clock = dyn Fn(Who, u32) -> f64 + Send + Sync;

/// Whose run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Submission,
    Reference,
    /// Copies that measure bandwidth.
    Copies,
}

/// Says that it is a GPU, takes as long as it is told to, in microseconds, and does wrong what it is told to.
struct Clocked {
    inner: EmulatedDevice,
    info: DeviceInfo,
    clock: Box<Clock>,
    runs: [AtomicU32; 3],
    /// From which run of the submission on its outputs are spoiled.
    spoiled_from: u32,
    /// What the host's clock tells more than the device's for the submission.
    hidden: Duration,
    strays: Vec<Stray>,
}

impl Clocked {
    fn new(clock: impl Fn(Who, u32) -> f64 + Send + Sync + 'static) -> Clocked {
        let inner = EmulatedDevice::new(EmulatorOptions::default());
        let info = DeviceInfo {
            kind: DeviceKind::Cuda,
            name: "Clocked 1".to_owned(),
            multiprocessors: Some(1),
            clock_khz: Some(1_000_000),
            l2_bytes: Some(0),
            // An eighth is copied: 8 KiB.
            memory_bytes: Some(64 << 10),
            ..inner.info().clone()
        };
        Clocked {
            inner,
            info,
            clock: Box::new(clock),
            runs: Default::default(),
            spoiled_from: u32::MAX,
            hidden: Duration::ZERO,
            strays: Vec::new(),
        }
    }
}

impl Device for Clocked {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare<'d>(&'d self, module: &Module, plan: &Plan) -> Result<Box<dyn Session + 'd>, Error> {
        let who = match (module.name(), plan.name()) {
            ("submission", _) => Who::Submission,
            (_, "copy bandwidth") => Who::Copies,
            _ => Who::Reference,
        };
        Ok(Box::new(ClockedSession {
            device: self,
            inner: self.inner.prepare(module, plan)?,
            plan: plan.clone(),
            who,
        }))
    }
}

struct ClockedSession<'d> {
    device: &'d Clocked,
    inner: Box<dyn Session + 'd>,
    plan: Plan,
    who: Who,
}

impl Session for ClockedSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        self.inner.write(id, from)
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.inner.fill(id, byte)
    }

    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.inner.poison(id)
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        self.inner.read(id)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.inner.run()?;
        let run = self.device.runs[self.who as usize].fetch_add(1, Ordering::Relaxed);
        if self.who == Who::Submission && run >= self.device.spoiled_from {
            let (_, id) = self.plan.outputs()[0];
            self.inner.fill(id, 1)?;
        }
        let time = Duration::from_secs_f64((self.device.clock)(self.who, run) * 1e-6);
        let hidden = match self.who {
            Who::Submission => self.device.hidden,
            _ => Duration::ZERO,
        };
        Ok(Timing {
            device: Some(time),
            host: time + hidden,
        })
    }

    fn strays(&mut self) -> Result<Vec<Stray>, Error> {
        Ok(match self.who {
            Who::Submission => self.device.strays.clone(),
            _ => Vec::new(),
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.inner.kernel_info(kernel)
    }
}

/// Copies of 8 KiB in 10 us, ten together: 1.6384 GB/s. The large case moves 12 * 384 bytes: 2.8125 us at that rate.
const COPIES_US: f64 = 100.0;

fn timed(device: &Clocked) -> GradeReport {
    let course = course(MATADD);
    graded(&course, &built_in(&course, "grid2d_block1d_64"), device)
}

#[test]
fn points_follow_from_the_ratios() {
    let device = Clocked::new(|who, run| {
        // What slows both in turn.
        let slow = 1.0 + 0.3 * f64::from(run % 2);
        match who {
            Who::Submission => 5.625 * slow,
            Who::Reference => 5.625 * slow,
            Who::Copies => COPIES_US,
        }
    });
    let report = timed(&device);
    assert!(report.is_right() && report.is_complete(), "{report:#?}");
    let [reference, limit] = &report.performance[..] else {
        panic!("{report:#?}")
    };
    let ratio = reference.ratio.unwrap();
    assert!((ratio.value - 1.0).abs() < 0.4, "{ratio:?}");
    assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
    assert!(reference.submission.as_ref().unwrap().samples_s.len() >= 10);
    assert_eq!(limit.limit.unwrap().necessary_bytes, 12 * 384);
    assert!((limit.limit.unwrap().copy_bytes_per_s / 1.6384e9 - 1.0).abs() < 1e-6);
    let expected = limit.points * limit.ratio.unwrap().value;
    assert!((limit.earned - expected).abs() < 1e-9);
    // Every timed sample was compared, and one more for the case.
    let samples =
        [reference, limit].map(|timed| timed.submission.as_ref().unwrap().samples_s.len());
    assert_eq!(
        report.cases[1].samples as usize,
        1 + samples[0] + samples[1]
    );
}

#[test]
fn half_the_speed_earns_what_the_file_says() {
    let device = Clocked::new(|who, _| match who {
        Who::Submission => 8.0,
        Who::Reference => 6.0,
        Who::Copies => COPIES_US,
    });
    let report = timed(&device);
    let [reference, limit] = &report.performance[..] else {
        panic!("{report:#?}")
    };
    assert!((reference.ratio.unwrap().value - 0.75).abs() < 1e-9);
    assert!((reference.earned - 2.5).abs() < 1e-6);
    assert!((limit.ratio.unwrap().value - 2.8125 / 8.0).abs() < 1e-3);
    assert_eq!(reference.submission.as_ref().unwrap().samples_s.len(), 10);
}

fn untrusted(device: &Clocked) -> Failing {
    let report = timed(device);
    // The results are right; only the time is not believed.
    assert!(
        matches!(report.cases[1].status, Status::Passed),
        "{report:#?}"
    );
    assert_eq!(report.totals.earned, 5.0);
    let PerformanceStatus::Failed(failing) = &report.performance[0].status else {
        panic!("{report:#?}")
    };
    failing.clone()
}

#[test]
fn impossible_speed_is_not_believed() {
    // The bytes take 2.8125 us at the copy's rate, 2.25 us at what nothing exceeds.
    let time_us = |us: f64| {
        Clocked::new(move |who, _| match who {
            Who::Submission => us,
            Who::Reference => 4.0,
            Who::Copies => COPIES_US,
        })
    };
    let failing = untrusted(&time_us(2.2));
    assert_eq!(failing.kind, Kind::ImpossibleSpeed);
    insta::assert_snapshot!(failing.message, @"it took 2.200 us, and this device cannot do the work in less than 2.250 us");
    assert!(timed(&time_us(2.3)).is_right());
}

#[test]
fn clocks_that_disagree_are_not_believed() {
    let mut device = Clocked::new(|who, _| match who {
        Who::Copies => COPIES_US,
        _ => 10.0,
    });
    device.hidden = Duration::from_millis(1);
    assert!(timed(&device).is_right());
    device.hidden = Duration::from_millis(30);
    assert_eq!(untrusted(&device).kind, Kind::ClocksDisagree);
}

#[test]
fn every_timed_result_counts() {
    // Right for the small case's two samples, the large one's first, and nine timed ones.
    let mut device = Clocked::new(|who, _| match who {
        Who::Copies => COPIES_US,
        _ => 10.0,
    });
    device.spoiled_from = 12;
    let report = timed(&device);
    assert!(matches!(report.cases[0].status, Status::Passed));
    let failing = report.cases[1].status.failing().unwrap();
    assert_eq!((failing.kind, failing.sample), (Kind::WrongLater, Some(9)));
    for timed in &report.performance {
        assert!(timed.status.failing().is_some() && timed.earned == 0.0);
    }
    assert_eq!(report.totals.earned, 2.0);
}

#[test]
fn writes_beside_buffers_fail() {
    let mut device = Clocked::new(|_, _| 10.0);
    device.strays = vec![Stray {
        buffer: "c".to_owned(),
        side: Side::After,
        distance_bytes: 1,
        bytes: 8,
    }];
    let report = timed(&device);
    let failing = report.cases[0].status.failing().unwrap();
    assert_eq!(failing.kind, Kind::GuardOverwritten);
    insta::assert_snapshot!(failing.message, @"8 bytes outside buffer `c` were written, the nearest 1 bytes behind the last byte of it");
}

// Tolerance.

#[test]
fn rounding_is_allowed_and_no_more() {
    let lab = find_lab("wave2d").unwrap();
    let (n_x, n_y, steps, k) = (40_usize, 30_usize, 20, 0.3_f32);
    let params = [
        ("n_x", "40"),
        ("n_y", "30"),
        ("steps", "20"),
        ("scene", "empty-box"),
        ("k", "0.3"),
    ];
    let mut parameters = host::CaseParams::default();
    for (name, value) in params {
        parameters.set(name, value);
    }
    let case = lab.case(&lab.seeded(&parameters, 9).unwrap()).unwrap();
    let inputs = case.inputs().unwrap();
    let reference = case
        .reference(host::Cpu::Serial, &host::NoProgress)
        .unwrap();
    let oracle = case
        .oracle_from(&inputs, &host::NoProgress)
        .unwrap()
        .unwrap();
    let (judge, noise) = super::judge::Judge::rounding(8.0, &reference, &oracle);
    assert!(
        noise.iter().all(|(_, noise)| (1e-8..1e-4).contains(noise)),
        "{noise:?}"
    );
    judge.check(&reference).unwrap();

    // The scheme in a closed box, with `store` applied to what a step leaves in memory.
    let run = |fused: bool, columns: usize, store: &dyn Fn(f32) -> f32| {
        let field = |name| {
            host::check::find(&inputs, name)
                .unwrap()
                .as_slice::<f32>()
                .unwrap()
                .to_vec()
        };
        let (mut u0, mut u1) = (field("u0"), field("u1"));
        for _ in 0..steps {
            let mut next = vec![0.0_f32; n_x * n_y];
            for y in 1..n_y - 1 {
                for x in 1..columns {
                    let i = y * n_x + x;
                    let sum = u1[i - 1] + u1[i + 1] + u1[i - n_x] + u1[i + n_x];
                    let own = 2.0 - 4.0 * k;
                    let value = if fused {
                        k.mul_add(sum, own.mul_add(u1[i], -u0[i]))
                    } else {
                        own * u1[i] - u0[i] + k * sum
                    };
                    next[i] = store(value);
                }
            }
            (u0, u1) = (u1, next);
        }
        vec![
            ("u0".to_owned(), HostBuffer::from(u0)),
            ("u1".to_owned(), u1.into()),
        ]
    };
    let as_is = |value| value;
    assert!(run(false, n_x - 1, &as_is) == reference);
    let fused = run(true, n_x - 1, &as_is);
    assert!(fused != reference);
    judge.check(&fused).unwrap();
    // 11 bits of significand, as half precision has.
    let half = |value: f32| f32::from_bits(value.to_bits().wrapping_add(0x1000) & !0x1fff);
    judge.check(&run(false, n_x - 1, &half)).unwrap_err();
    // The last column before the border is left out.
    judge.check(&run(false, n_x - 2, &as_is)).unwrap_err();
}

#[test]
fn a_lab_without_oracle_says_so() {
    let text = MATADD.replace("\"exact\"", "\"rounding\", factor = 2");
    let course = course(&text);
    let report = emulated(&course, &built_in(&course, "grid2d_block1d_64"));
    let Status::NotGradedHere { reason } = &report.cases[0].status else {
        panic!("{report:#?}")
    };
    insta::assert_snapshot!(reason, @r#"lab matadd has no oracle: rule "rounding" cannot be used"#);
}
