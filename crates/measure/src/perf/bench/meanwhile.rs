//! The CPU's part of a case, done while a device is timed: results to compare with, and counts.

use std::cell::OnceCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle, available_parallelism};

use device::NamedBuffers;
use exit::CommandError;
use select::memory_advice;

use super::Bench;
use super::computed::{CheckArg, Computed};
use crate::perf::counters;
use crate::perf::own_limit::{self, AllBusy, Launched};
use crate::perf::room::host_has;
use results::counted::Counted;

/// Cores that are left alone while a device is timed: for the thread that launches, and for the
/// driver's.
const LEFT_ALONE: usize = 2;

/// Copies of the inputs that the host holds at most while the CPU computes and results are read.
const COPIES: u64 = 4;

/// The emulated device's counts.
#[derive(Default)]
pub struct Counts {
    /// On a small case, for the reader.
    pub counted: Option<Counted>,
    pub busy: AllBusy,
}

/// The outputs that the CPU computed, if it computes any.
type Outputs = Option<Result<Computed, CommandError>>;

/// Work of the CPU for one case, which goes on until its results are asked for.
pub struct Meanwhile<'s> {
    outputs: OnceCell<Outputs>,
    arriving: Receiver<Outputs>,
    counts: Counting<'s>,
}

enum Counting<'s> {
    Running(ScopedJoinHandle<'s, Counts>),
    Done(Counts),
}

impl Bench<'_> {
    /// Begins with the CPU's work on all cores except some. Where there are few cores or little
    /// memory, it is done at once. Without `inputs` there is none. `known` are the case's outputs,
    /// if the CPU was timed on it;
    /// `launched` is counted.
    pub(super) fn meanwhile<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        launched: Vec<Launched>,
        inputs: Option<&'s NamedBuffers>,
        known: Option<NamedBuffers>,
    ) -> Meanwhile<'s> {
        let is_checked = self.check != CheckArg::None && !self.variants.is_empty();
        let inputs_bytes = inputs
            .into_iter()
            .flatten()
            .map(|(_, buffer)| buffer.bytes().len() as u64)
            .sum::<u64>();
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = match cores.saturating_sub(LEFT_ALONE) {
            threads if threads >= LEFT_ALONE && host_has(COPIES * inputs_bytes) => threads,
            _ => 0,
        };
        let (computing, lab) = (self.computing(), self.lab);
        let (variants, case) = (&self.variants[..], self.case.as_ref());
        begin(scope, threads, move |outputs: &Sender<Outputs>| {
            let checked = inputs.filter(|_| is_checked);
            let computed = checked.map(|from| {
                let computed = computing.compute(from, known);
                computed.map_err(|error| memory_advice::failure(error, lab, lab.variants.first()))
            });
            // It has gone where the measurement was given up.
            let _ = outputs.send(computed);
            let busy = |one: Launched| {
                let busy = own_limit::busy(case, inputs?, &one)?;
                Some(((one.device, one.variant.name.clone()), busy))
            };
            Counts {
                counted: inputs.and_then(|_| counters::count(variants, case)),
                busy: launched.into_iter().filter_map(busy).collect(),
            }
        })
    }
}

/// Does the work on this number of threads of its own; at once where there are none.
fn begin<'s>(
    scope: &'s Scope<'s, '_>,
    threads: usize,
    work: impl FnOnce(&Sender<Outputs>) -> Counts + Send + 's,
) -> Meanwhile<'s> {
    let pool = (threads > 0).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let (sender, arriving) = channel();
    let counts = match pool {
        Some(Ok(pool)) => {
            let work = move || pool.install(|| work(&sender));
            Counting::Running(scope.spawn(work))
        }
        // Threads that cannot be had are none of the reader's concern.
        Some(Err(_)) | None => Counting::Done(work(&sender)),
    };
    Meanwhile {
        outputs: OnceCell::new(),
        arriving,
        counts,
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

    /// The counts, once they are there, and the outputs, if they were asked for.
    pub fn end(self) -> (Counts, Option<Computed>) {
        let counts = match self.counts {
            Counting::Done(counts) => counts,
            Counting::Running(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        };
        (
            counts,
            self.outputs.into_inner().flatten().and_then(Result::ok),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_on_threads_of_its_own_or_at_once() {
        for threads in [0, 3] {
            std::thread::scope(|scope| {
                let own = std::thread::current().id();
                let (told, asked) = channel();
                let meanwhile = begin(scope, threads, move |outputs| {
                    let is_own = std::thread::current().id() == own;
                    told.send((is_own, rayon::current_num_threads())).unwrap();
                    outputs.send(None).unwrap();
                    Counts::default()
                });
                assert!(meanwhile.computed().unwrap().is_none());
                let (is_own, of_pool) = asked.recv().unwrap();
                assert_eq!(is_own, threads == 0);
                assert!(threads == 0 || of_pool == threads);
                assert!(meanwhile.end().0.counted.is_none());
            });
        }
    }

    #[test]
    fn outputs_are_there_before_the_counts() {
        std::thread::scope(|scope| {
            let (go_on, waiting) = channel();
            let meanwhile = begin(scope, 2, move |outputs| {
                let lacking = CommandError::Environment("out of memory".to_owned());
                outputs.send(Some(Err(lacking))).unwrap();
                waiting.recv().unwrap();
                Counts::default()
            });
            for _ in 0..2 {
                let error = meanwhile.computed().err().unwrap();
                assert_eq!(error, CommandError::Environment("out of memory".to_owned()));
            }
            go_on.send(()).unwrap();
            assert!(meanwhile.end().0.counted.is_none());
        });
    }

    #[test]
    #[should_panic = "scoped thread panicked"]
    fn a_panic_is_passed_on() {
        std::thread::scope(|scope| {
            let meanwhile = begin(scope, 2, |_| panic!("out of memory"));
            let computed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                meanwhile.computed().is_ok()
            }));
            assert!(computed.is_err());
        });
    }
}
