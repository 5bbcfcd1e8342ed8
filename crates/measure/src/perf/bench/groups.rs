//! Contenders in groups: those that memory holds together take turns, and the rest come after them.

use std::time::{Duration, Instant};

use device::{BufferPool, NamedBuffers};
use plan::Plan;

use super::contenders::Contender;
use super::fewer::{Fields, First};
use super::{Bench, Place};
use crate::perf::interleaved::{self, DistinctOutputs, Timed};
use crate::perf::room::Room;
use crate::perf::timed_run::{RunError, TimedRun};
use crate::perf::watch::Watch;
use results::spent::Phase;
use select::devices::Named;
use terminal::progress::Bar;

/// Inputs of more bytes are not written to other allocations.
const ELSEWHERE_BYTES: usize = 1 << 30;
/// After this time, another allocation is the last.
const ELSEWHERE: Duration = Duration::from_millis(200);

/// How runs begin.
pub enum Start<'s, 'r> {
    /// Each from these inputs, with its results kept.
    FromInputs(&'r NamedBuffers, &'s mut DistinctOutputs),
    /// The first from the fields of its case, and each later one from what the one before left.
    GoingOn(&'s mut Fields),
}

/// A contender that ran.
pub struct Measured {
    /// `None` on the emulated device, whose times say nothing.
    pub timed: Option<Timed>,
    /// Of runs that go on from one another.
    pub first: Option<First>,
}

/// A contender, and how far it is.
struct Entry<'r> {
    contender: &'r Contender<'r>,
    /// Memory was short beside others.
    is_alone: bool,
    /// Once it ran, or could not.
    measured: Option<Result<Measured, RunError>>,
}

impl<'r> Entry<'r> {
    fn new(contender: &'r Contender<'r>) -> Entry<'r> {
        Entry {
            contender,
            is_alone: false,
            measured: None,
        }
    }

    fn is_waiting(&self) -> bool {
        self.measured.is_none()
    }

    fn timed(&mut self) -> Option<&mut Timed> {
        self.measured.as_mut()?.as_mut().ok()?.timed.as_mut()
    }
}

/// An entry whose run is ready.
struct Prepared<'g, 'r> {
    entry: &'g mut Entry<'r>,
    run: TimedRun<'r>,
    watch: Watch,
    first: Option<First>,
}

impl Bench<'_> {
    /// Measures all of them. The results are in their order.
    pub(super) fn measure<'r>(
        &'r self,
        contenders: &'r [Contender<'r>],
        place: Place<'r>,
        start: &mut Start<'_, 'r>,
    ) -> Vec<Result<Measured, RunError>> {
        let mut entries: Vec<Entry<'r>> = contenders.iter().map(Entry::new).collect();
        while entries.iter().any(Entry::is_waiting) {
            let before = place.compute_processes();
            let memory = BufferPool::default();
            let group = self.prepared(&mut entries, place, start, &memory);
            if group.is_empty() {
                continue;
            }
            // Peers may have started some.
            let started = place.compute_processes().zip(before);
            let own = 1 + started.map_or(0, |(after, earlier)| after.saturating_sub(earlier));
            let names: Vec<String> = group.iter().map(|one| one.entry.contender.name()).collect();
            let (progress, on) = (&self.progress, place.named.name);
            let _bar = Bar::spinner(format!("{progress} on {on}: {}", names.join(", ")));
            let timed = self.time(group, place, start, own);
            if let Start::FromInputs(inputs, _) = *start {
                place.stopwatch.time(Phase::Elsewhere, || {
                    self.elsewhere(timed, place, inputs, memory);
                });
            }
        }
        let measured = entries.into_iter().filter_map(|entry| entry.measured);
        measured.collect()
    }

    /// Prepares as many of those that wait as memory holds together. One that cannot be prepared
    /// at all is measured with that.
    fn prepared<'g, 'r>(
        &'r self,
        entries: &'g mut [Entry<'r>],
        place: Place<'r>,
        start: &mut Start<'_, 'r>,
        memory: &BufferPool,
    ) -> Vec<Prepared<'g, 'r>> {
        let mut group: Vec<Prepared<'g, 'r>> = Vec::new();
        for entry in entries.iter_mut().filter(|entry| entry.is_waiting()) {
            if entry.is_alone && !group.is_empty() {
                continue;
            }
            let others: Vec<&Plan> = group.iter().map(|one| one.run.plan()).collect();
            let prepared = place.stopwatch.time(Phase::Preparation, || {
                self.start(entry.contender, place.named, start, &others, memory)
            });
            match prepared {
                Ok((_, first)) if !place.has_times() => {
                    entry.measured = Some(Ok(Measured { timed: None, first }));
                }
                Ok((run, first)) => {
                    let is_last = entry.is_alone;
                    group.push(Prepared {
                        watch: place.watch.of_first(entry.contender.gpus()),
                        entry,
                        run,
                        first,
                    });
                    if is_last {
                        break;
                    }
                }
                // Later, without those that are prepared already.
                Err(error) if error.is_for_memory() && !group.is_empty() => {}
                Err(error) => entry.measured = Some(Err(error)),
            }
        }
        group
    }

    /// Prepares a run, beside others of these plans. Of runs that go on from one another, the first
    /// is over then.
    fn start<'r>(
        &'r self,
        contender: &Contender<'r>,
        named: Named<'r>,
        start: &mut Start<'_, 'r>,
        others: &[&Plan],
        memory: &BufferPool,
    ) -> Result<(TimedRun<'r>, Option<First>), RunError> {
        match start {
            &mut Start::FromInputs(inputs, _) => {
                let run = self.prepare(contender, named, inputs, memory)?;
                Ok((run, None))
            }
            Start::GoingOn(fields) => {
                let room = Room::of(named.device);
                let first = self.first_run(contender, named.device, &room, others, fields);
                first.map(|(run, first)| (run, Some(first)))
            }
        }
    }

    /// Times a group, on devices where `own_processes` are ours: its entries. One for which memory
    /// was short beside the others waits again, to be timed alone.
    fn time<'g, 'r>(
        &self,
        group: Vec<Prepared<'g, 'r>>,
        place: Place<'_>,
        start: &mut Start<'_, 'r>,
        own_processes: u32,
    ) -> Vec<&'g mut Entry<'r>> {
        let are_several = group.len() > 1;
        let (mut entries, mut firsts, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for one in group {
            entries.push(one.entry);
            firsts.push(one.first);
            runs.push((one.run, one.watch));
        }
        let distinct = match start {
            Start::FromInputs(_, distinct) => Some(&mut **distinct),
            Start::GoingOn(_) => None,
        };
        let results = interleaved::time(
            runs,
            &self.settings,
            own_processes,
            distinct,
            place.stopwatch,
        );
        for ((entry, first), result) in entries.iter_mut().zip(firsts).zip(results) {
            match result {
                Err(error) if error.is_for_memory() && are_several => entry.is_alone = true,
                Err(error) => entry.measured = Some(Err(error)),
                Ok(timed) => {
                    let timed = Some(timed);
                    entry.measured = Some(Ok(Measured { timed, first }));
                }
            }
        }
        entries
    }

    /// Times the short runs of a group in other allocations of the buffers, while the first is
    /// held: their addresses differ, and so may their times. Fields of gigabytes are spread over
    /// all of a device in any allocation.
    fn elsewhere<'r>(
        &'r self,
        mut group: Vec<&mut Entry<'r>>,
        place: Place<'r>,
        inputs: &'r NamedBuffers,
        first: BufferPool,
    ) {
        let bytes: usize = inputs.iter().map(|(_, buffer)| buffer.bytes().len()).sum();
        group.retain_mut(|entry| {
            let took_turns = |timed: &mut Timed| !timed.turns_s.is_empty();
            entry.contender.peer.is_none() && entry.timed().is_some_and(took_turns)
        });
        if group.is_empty() || bytes > ELSEWHERE_BYTES {
            return;
        }
        let (began, mut held) = (Instant::now(), vec![first]);
        for others in 0..self.settings.elsewhere {
            if others > 0 && began.elapsed() >= ELSEWHERE {
                break;
            }
            let memory = BufferPool::default();
            let runs = group.iter().map(|entry| {
                let run = self.prepare(entry.contender, place.named, inputs, &memory)?;
                Ok::<_, RunError>((run, place.watch.clone()))
            });
            // Where memory is short, what is known already is all.
            let Ok(prepared) = runs.collect::<Result<Vec<_>, RunError>>() else {
                return;
            };
            let medians = interleaved::medians(prepared, self.settings.isolated);
            for (entry, median_s) in group.iter_mut().zip(medians) {
                if let Some((timed, median_s)) = entry.timed().zip(median_s) {
                    timed.figures.run.elsewhere(median_s);
                }
            }
            held.push(memory);
        }
    }

    /// Prepares a run that begins with these inputs each time.
    fn prepare<'r>(
        &'r self,
        contender: &Contender<'r>,
        named: Named<'r>,
        inputs: &'r NamedBuffers,
        memory: &BufferPool,
    ) -> Result<TimedRun<'r>, RunError> {
        let Contender { case, launched, .. } = *contender;
        match contender.peer {
            Some(peer) => peer.prepare(named.device, case, launched, inputs, memory),
            None => {
                let plan = launched.record_on(case, named.device)?;
                let capped = contender.capped(&launched.module);
                let module = capped.as_ref().unwrap_or(&launched.module);
                TimedRun::prepare(named.device, module, plan, inputs, memory)
            }
        }
    }
}
