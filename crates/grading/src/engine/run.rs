//! One run in isolation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use device::{COUNTS, KernelReport, Order, POISON, Preparation};
use device::{
    Device, Error, Flushed, HostBuffer, Module, NamedBuffers, Session, Timing, check, run,
};
use plan::Plan;

use crate::outcome::{Kind, NoResult, fail};

/// The subject of a run: kernels, and a plan of launches.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The kernels.
    pub module: &'a Module,
    /// The plan.
    pub plan: &'a Plan,
}

/// The results of a run.
#[derive(Debug)]
pub struct Sample {
    /// Every output.
    pub outputs: NamedBuffers,
    /// How long it took.
    pub timing: Timing,
    /// Exact counts, where the device counts.
    pub counts: BTreeMap<String, u64>,
}

/// How long a device is kept at work before a run that is timed: while the host compares results,
/// its clocks may go down, and they take some milliseconds to come back.
pub const SETTLE: Duration = Duration::from_millis(25);

/// Runs once, with threads in this order: memory prepared, the device at work for at least
/// `settle`, L2 cold. Everything but the outputs' values is checked, and memory is overwritten in
/// the end.
///
/// # Errors
///
/// [`NoResult::Failed`] for faults, changed inputs, writes outside buffers.
pub fn run_isolated(
    device: &dyn Device,
    subject: Subject<'_>,
    order: Order,
    inputs: &NamedBuffers,
    settle: Duration,
) -> Result<Sample, NoResult> {
    let plan = subject.plan;
    let how = Preparation::isolated().in_order(order);
    let mut session = device.prepare_as(subject.module, plan, &how)?;
    let session = session.as_mut();
    run::reset(session, plan, inputs)?;
    let began = Instant::now();
    while session.flush()? != Flushed::NoCache && began.elapsed() < settle {}
    let timing = session.run()?;
    let strays = session.strays()?;
    if !strays.is_empty() {
        let words: Vec<String> = strays.iter().map(ToString::to_string).collect();
        fail!(Kind::GuardOverwritten, "{}", words.join("; "));
    }
    unchanged(session, plan, inputs)?;
    let outputs = run::outputs(session, plan)?;
    let counts = counts(session.reports());
    // Nothing of a result stays where what runs next may look for it.
    for id in plan.buffer_ids() {
        session.poison(id)?;
    }
    Ok(Sample {
        outputs,
        timing,
        counts,
    })
}

/// Inputs that are not also outputs must be unchanged.
fn unchanged(
    session: &mut dyn Session,
    plan: &Plan,
    inputs: &NamedBuffers,
) -> Result<(), NoResult> {
    let is_output = |name: &str| plan.outputs().iter().any(|(output, _)| output == name);
    for (name, held) in inputs.iter().filter(|(name, _)| !is_output(name)) {
        let id = plan.find_buffer(name).map_err(Error::from)?;
        let now = session.read(id)?;
        if now.bytes() != held.bytes() {
            let size = held.element().size();
            let mut pairs = held.bytes().chunks(size).zip(now.bytes().chunks(size));
            let first = pairs
                .position(|(before, after)| before != after)
                .unwrap_or(0);
            fail!(
                Kind::InputChanged,
                "input `{name}` was changed, first at element {first} of {}; the lab only reads it",
                held.len()
            );
        }
    }
    Ok(())
}

/// All kernels' counts together.
fn counts(reports: &[KernelReport]) -> BTreeMap<String, u64> {
    let sum = |of: fn(&KernelReport) -> u64| reports.iter().map(of).sum();
    let counted = COUNTS.iter().filter(|_| !reports.is_empty());
    counted
        .map(|count| (count.name.to_owned(), sum(count.of)))
        .collect()
}

/// The content of buffers before a run, by the names of the outputs that they hold after it: an
/// input, or poison.
pub fn before(plan: &Plan, inputs: &NamedBuffers) -> NamedBuffers {
    let outputs = plan.outputs().iter();
    outputs
        .filter_map(|(output, id)| {
            let buffer = &plan.buffers()[id.index()];
            let held = match check::find(inputs, &buffer.name) {
                Some(held) => held.clone(),
                None => {
                    let len = usize::try_from(buffer.len).ok()?;
                    let mut poisoned = HostBuffer::zeroed(buffer.element, len).ok()?;
                    poisoned.bytes_mut().fill(POISON);
                    poisoned
                }
            };
            Some((output.clone(), held))
        })
        .collect()
}
