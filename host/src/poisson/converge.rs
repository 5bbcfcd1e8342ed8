//! Iterating until u hardly changes.
//!
//! The measure is the largest |u_next - u| over all points. A maximum is the same in any order, so
//! all devices and both CPU references stop at the same iteration. Except for rounding, it never
//! grows from one iteration to the next, since an average of differences is at most the largest of
//! them. A check every few iterations therefore finds the end at most those few iterations late.
//! A check takes about as long as an iteration (it reads two fields), and a few more bytes where
//! the number of iterations before it is odd.

use std::time::{Duration, Instant};

use kernels_gpu::poisson::{Grid, max_change};

use super::problem::Poisson;
use super::reference::{Box3, Jacobi};
use crate::kernels::kernels_of;
use device::Device;
use device::buffer::HostBuffer;
use device::error::Error;
use lab::{CaseError, Convergence, Cpu, Stop, Variant};
use plan::args;
use plan::{Element, LaunchConfig, Plan};
use terminal::progress::Progress;

/// Iterates on the CPU until `stop` says so, or the problem's iterations are done.
///
/// # Errors
///
/// [`Error::Buffer`] if the host has too little memory.
pub fn to_tolerance_on_cpu(
    problem: &Poisson,
    stop: &Stop,
    cpu: Cpu,
    progress: &dyn Progress,
) -> Result<Convergence, Error> {
    let source = Box3::new(problem.grid());
    let mut jacobi = Jacobi::new(problem.grid(), problem.initial()?, &source, cpu)?;
    let mut state = Convergence::start(Vec::<f64>::new().into(), None);
    let start = Instant::now();
    for chunk in stop.chunks(problem.iterations()) {
        for _ in 0..chunk {
            jacobi.step();
        }
        state.looked(chunk, jacobi.change(), stop);
        progress.update(state.iterations.into(), problem.iterations().into());
        if state.reached {
            break;
        }
    }
    state.timing.host = start.elapsed();
    state.u = jacobi.into_u().into();
    Ok(state)
}

/// Iterates on a device until `stop` says so, or the problem's iterations are done. The result is
/// that of [`to_tolerance_on_cpu`] to the last bit, timing aside.
///
/// # Errors
///
/// The errors of recording, preparing and running.
pub fn to_tolerance(
    device: &dyn Device,
    problem: &Poisson,
    variant: &Variant,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<Convergence, Error> {
    let u = HostBuffer::from(problem.initial()?);
    let mut state = Convergence::start(u, Some(Duration::ZERO));
    // Whole chunks share one plan. The rest at the end may need another, and u goes there through
    // the host.
    let mut chunks = stop.chunks(problem.iterations()).peekable();
    while let Some(&chunk) = chunks.peek()
        && !state.reached
    {
        let part = problem.clone().with_iterations(chunk);
        let plan = record_with_change(&part, variant)?;
        let (field, change) = (plan.find_buffer("u")?, plan.find_output("change")?);
        let mut session = device.prepare(&kernels_of("poisson"), &plan)?;
        session.write(field, &state.u)?;
        while !state.reached && chunks.next_if_eq(&chunk).is_some() {
            let timing = session.run()?;
            state.timing.host += timing.host;
            state.timing.device = state
                .timing
                .device
                .zip(timing.device)
                .map(|(all, this)| all + this);
            let bits = session.read(change)?.as_slice::<u64>()?[0];
            state.looked(chunk, f64::from_bits(bits), stop);
            progress.update(state.iterations.into(), problem.iterations().into());
        }
        state.u = session.read(field)?;
    }
    Ok(state)
}

/// The variant's plan, and then the largest change of u in the last iteration: output `change`, one
/// `u64` that holds the bits of an `f64`. Input and output `u` are one buffer, so that running the
/// plan again continues.
///
/// The problem has at least one iteration.
fn record_with_change(problem: &Poisson, variant: &Variant) -> Result<Plan, Error> {
    if problem.n() > Grid::MAX_N {
        let reason = "the kernel that finds the largest change numbers points with 32 bits; at most 1625 with a tolerance";
        return Err(CaseError::invalid("n", problem.n(), reason).into());
    }
    let mut plan = variant.record(problem)?;
    let start = plan.find_buffer("u")?;
    // All variants leave the last two fields in `u` and `u_next`.
    let (last, before) = match (plan.find_output("u")?, plan.find_buffer("u_next")?) {
        (last, u_next) if last == u_next => (last, start),
        (last, u_next) => (last, u_next),
    };
    let change = plan.buffer("change", Element::U64, 1);
    plan.output("change", change);
    plan.fill(change, 0)?;
    // Some blocks per multiprocessor on any GPU, but not more than the points need.
    let points = problem.points() as u32;
    let blocks = points.div_ceil(max_change::BLOCK).min(1024);
    plan.launch(
        "poisson_max_change",
        LaunchConfig::new(blocks, max_change::BLOCK),
        args![last.slice(), before.slice(), change, points],
    )?;
    if last != start {
        plan.copy(last, start)?;
    }
    Ok(plan)
}
