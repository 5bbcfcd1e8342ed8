//! Iterating until u hardly changes.
//!
//! The measure is the largest |u_next - u| over all points. A maximum is the same in any order, so
//! all devices and both CPU references stop at the same iteration. Except for rounding, it never
//! grows from one iteration to the next, since an average of differences is at most the largest of
//! them. A check every few iterations therefore finds the end at most those few iterations late.

use std::time::{Duration, Instant};

use kernels_gpu::poisson::{Grid, max_change};

use super::problem::Poisson;
use super::reference::{Box3, Jacobi};
use crate::kernels::kernels_of;
use device::buffer::HostBuffer;
use device::error::Error;
use device::{Device, Timing};
use lab::{CaseError, Cpu, Variant};
use plan::args;
use plan::{Element, LaunchConfig, Plan};
use terminal::progress::Progress;

/// The rule for stopping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    tolerance: f64,
    check_every: u32,
}

impl Stop {
    /// Checks the change after every `check_every` iterations, and stops if no point changes by
    /// more than `tolerance`.
    ///
    /// A check takes about as long as an iteration (it reads two fields), and a few more bytes if
    /// `check_every` is odd.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for a tolerance that is not above 0 or not finite, and for a
    /// `check_every` of 0.
    pub fn new(tolerance: f64, check_every: u32) -> Result<Stop, CaseError> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            return Err(CaseError::invalid(
                "tolerance",
                tolerance,
                "a finite number above 0: the largest change of a point in one iteration",
            ));
        }
        if check_every == 0 {
            return Err(CaseError::invalid(
                "check_every",
                0,
                "iterations from one look at the change to the next, at least 1",
            ));
        }
        Ok(Stop {
            tolerance,
            check_every,
        })
    }

    /// The tolerance.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Iterations from one check to the next.
    pub fn check_every(&self) -> u32 {
        self.check_every
    }

    /// The iterations between checks, in order: `check_every` as often as it fits into `all`, then
    /// the rest.
    fn chunks(&self, all: u32) -> impl Iterator<Item = u32> + use<> {
        let whole = std::iter::repeat_n(self.check_every, (all / self.check_every) as usize);
        let rest = all % self.check_every;
        whole.chain((rest > 0).then_some(rest))
    }
}

/// The end of the iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    /// Iterations done: a multiple of `check_every`, unless it is the problem's number of
    /// iterations, which is the limit.
    pub iterations: u32,
    /// The largest change of a point in the last of them; infinite if there was none.
    pub change: f64,
    /// Whether the change is within the tolerance.
    pub reached: bool,
    /// u after them: N^3 values of `f64`.
    pub u: HostBuffer,
    /// The time of iterations and checks, without allocation, transfers of u, and recording.
    pub timing: Timing,
}

impl Convergence {
    fn start(u: HostBuffer, device: Option<Duration>) -> Convergence {
        Convergence {
            iterations: 0,
            change: f64::INFINITY,
            reached: false,
            u,
            timing: Timing {
                device,
                host: Duration::ZERO,
            },
        }
    }

    /// Records the result of a check.
    fn looked(&mut self, iterations: u32, change: f64, stop: &Stop) {
        self.iterations += iterations;
        self.change = change;
        // NaN is not within any tolerance.
        self.reached = change <= stop.tolerance;
    }
}

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
