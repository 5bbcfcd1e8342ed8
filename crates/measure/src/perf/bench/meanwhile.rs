//! The CPU's part of a case, done while a device is timed: results to compare with, and counts.

use std::cell::OnceCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle, available_parallelism};

use device::NamedBuffers;
use exit::CommandError;
use lab::memory_advice;

use super::Bench;
use super::check::CheckArg;
use super::computed::Computed;
use crate::perf::counters::Counted;
use crate::perf::room::host_has;

/// Cores that are left alone while a device is timed: for the thread that launches, and for the
/// driver's.
const LEFT_ALONE: usize = 2;

/// Copies of the inputs that the host holds at most while the CPU computes and results are read.
const COPIES: u64 = 4;

/// The outputs that the CPU computed, if it computes any.
type Outputs = Option<Result<Computed, CommandError>>;

/// Work of the CPU for one case, which goes on until its results are asked for.
pub struct Meanwhile<'s> {
    outputs: OnceCell<Outputs>,
    arriving: Receiver<Outputs>,
    counted: Counting<'s>,
}

enum Counting<'s> {
    Running(ScopedJoinHandle<'s, Option<Counted>>),
    Done(Option<Counted>),
}

impl Bench<'_> {
    /// Begins with the CPU's work on all cores except some. Where there are few cores or little
    /// memory, it is done at once. Without `inputs` there is none. `known` are the case's outputs,
    /// if the CPU was timed on it.
    pub(super) fn meanwhile<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        inputs: Option<&'s NamedBuffers>,
        known: Option<NamedBuffers>,
    ) -> Meanwhile<'s> {
        let is_checked = self.check != CheckArg::None && !self.variants.is_empty();
        let inputs_bytes = { inputs.into_iter().flatten() }
            .map(|(_, buffer)| buffer.bytes().len() as u64)
            .sum::<u64>();
        let has_room = host_has(COPIES * inputs_bytes);
        let (computing, lab) = (self.computing(), self.lab);
        let (variants, case) = (&self.variants[..], self.case.as_ref());
        begin(scope, has_room, move |outputs: &Sender<Outputs>| {
            let checked = inputs.filter(|_| is_checked);
            let computed = checked.map(|inputs| {
                let computed = computing.compute(inputs, known);
                computed.map_err(|error| memory_advice::failure(error, lab, lab.variants.first()))
            });
            // It has gone where the measurement was given up.
            let _ = outputs.send(computed);
            inputs.and_then(|_| Counted::count(variants, case))
        })
    }
}

/// Does the work on other cores, if there are enough and it may.
fn begin<'s>(
    scope: &'s Scope<'s, '_>,
    may_wait: bool,
    work: impl FnOnce(&Sender<Outputs>) -> Option<Counted> + Send + 's,
) -> Meanwhile<'s> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = cores.saturating_sub(LEFT_ALONE);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (sender, arriving) = channel();
    let counted = match pool {
        Ok(pool) if may_wait && threads >= LEFT_ALONE => {
            let work = move || pool.install(|| work(&sender));
            Counting::Running(scope.spawn(work))
        }
        _ => Counting::Done(work(&sender)),
    };
    Meanwhile {
        outputs: OnceCell::new(),
        arriving,
        counted,
    }
}

impl Meanwhile<'_> {
    /// The outputs to compare with, once they are computed; none if nothing is checked.
    ///
    /// # Errors
    ///
    /// Where memory was short.
    pub fn computed(&self) -> Result<Option<&Computed>, CommandError> {
        let outputs = self.outputs.get_or_init(|| {
            let arrived = self.arriving.recv();
            arrived.expect("the CPU's thread sends its results, or has panicked")
        });
        outputs
            .as_ref()
            .map(Result::as_ref)
            .transpose()
            .map_err(Clone::clone)
    }

    /// The counts, once they are there.
    pub fn counted(self) -> Option<Counted> {
        match self.counted {
            Counting::Done(counted) => counted,
            Counting::Running(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_on_other_cores_or_at_once() {
        for may_wait in [false, true] {
            std::thread::scope(|scope| {
                let own = std::thread::current().id();
                let (told, asked) = channel();
                let meanwhile = begin(scope, may_wait, move |outputs| {
                    told.send(std::thread::current().id() == own).unwrap();
                    outputs.send(None).unwrap();
                    None
                });
                assert!(meanwhile.computed().unwrap().is_none());
                let has_many = available_parallelism().unwrap().get() >= 2 * LEFT_ALONE;
                assert_eq!(asked.recv().unwrap(), !(may_wait && has_many));
                assert!(meanwhile.counted().is_none());
            });
        }
    }

    #[test]
    #[should_panic]
    fn a_panic_is_passed_on() {
        std::thread::scope(|scope| {
            let meanwhile = begin(scope, true, |_| panic!("out of memory"));
            let _ = meanwhile.computed();
        });
    }
}
