//! The maker of rows: contenders on a device, or on several, become timed rows. All of them take
//! turns as far as memory holds them together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use device::DeviceKind;
use device::NamedBuffers;
use device::buffer::free;
use device::{BufferPool, DeviceError, Error};
use exit::ErrorKind;
use lab::Lab;
use plan::Plan;

use super::Bench;
use super::check::Judged;
use super::contenders::Contender;
use super::fewer::{Fields, First};
use super::meanwhile::Meanwhile;
use super::speedups::{compare_with_fewest, mark_fastest, times_as_long};
use crate::code_lines;
use crate::perf::bound::{self, Demand};
use crate::perf::interleaved::{self, DistinctOutputs, Timed};
use crate::perf::room::Room;
use crate::perf::stopwatch::Stopwatch;
use crate::perf::timed_run::{RunError, TimedRun};
use crate::perf::watch::Watch;
use exit::CommandError;
use output_files::digest::sha256;
use results::spent::Phase;
use results::{Capped, DeviceRecord, Figures, Judgement, OnDevice, Outcome, Row};
use select::devices::Named;
use select::memory_advice;
use terminal::progress::Bar;

/// Where rows are made: a device, or several as one.
#[derive(Clone, Copy)]
pub struct Place<'d> {
    pub named: Named<'d>,
    pub record: &'d DeviceRecord,
    /// The reports of all its devices.
    pub watch: &'d Watch,
    pub stopwatch: &'d Stopwatch,
}

impl Place<'_> {
    /// Whether times mean anything.
    fn has_times(&self) -> bool {
        self.named.device.info().kind != DeviceKind::Emulated
    }
}

/// Inputs of more bytes are not written to other allocations.
const ELSEWHERE_BYTES: usize = 1 << 30;
/// After this time, another allocation is the last.
const ELSEWHERE: Duration = Duration::from_millis(200);

/// A contender that ran.
struct Measured {
    /// `None` on the emulated device, whose times say nothing.
    timed: Option<Timed>,
    /// Where the number of devices is what rows differ by.
    first: Option<First>,
}

impl Bench<'_> {
    /// A row for each contender, each compared with the others. `given` are the inputs of each run,
    /// and what the CPU computes from them; without them, runs go on from one another.
    ///
    /// # Errors
    ///
    /// Where the host's memory is short, and bugs of ours. A failure on the device is in its row.
    pub fn rows(
        &self,
        place: Place<'_>,
        given: Option<(&NamedBuffers, &Meanwhile<'_>)>,
    ) -> Result<Vec<Row>, CommandError> {
        let contenders = self.contenders(place.named.device);
        let inputs = given.map(|(inputs, _)| inputs);
        let (mut fields, mut distinct) = (Fields::default(), DistinctOutputs::default());
        let measured = self.measure(&contenders, place, inputs, &mut fields, &mut distinct);
        let judgements: Vec<Result<Judgement, RunError>> = match given {
            Some((inputs, meanwhile)) => {
                let judged: Vec<Judged> = contenders
                    .iter()
                    .zip(&measured)
                    .map(|(one, run)| one.judged(run))
                    .collect();
                let (device, stopwatch) = (place.named.device, place.stopwatch);
                let computed = stopwatch.time(Phase::Waiting, || meanwhile.computed())?;
                let judgements = stopwatch
                    .time(Phase::Checks, || {
                        self.judge(&judged, &distinct, computed, device, inputs)
                    })
                    .map_err(|error| self.lacking(error))?;
                judgements.into_iter().map(Ok).collect()
            }
            None => {
                let firsts: Vec<Option<&First>> = measured
                    .iter()
                    .map(|run| run.as_ref().ok()?.first.as_ref())
                    .collect();
                let device = place.named.device;
                let judgements = place.stopwatch.time(Phase::Checks, || {
                    self.judge_by_fewer(&contenders, &firsts, device, &mut fields)
                });
                judgements
                    .into_iter()
                    .map(|judgement| Ok(judgement?.into()))
                    .collect()
            }
        };
        place.stopwatch.time(Phase::Freeing, || {
            free(distinct.all.into_iter().flatten().collect());
        });
        let inputs = inputs.unwrap_or(&fields.inputs);
        let (mut rows, mut turns_s) = (Vec::new(), Vec::new());
        for ((contender, measured), judgement) in contenders.iter().zip(measured).zip(judgements) {
            let mut turns = Vec::new();
            let outcome = match measured.and_then(|measured| Ok((measured, judgement?))) {
                Err(error) => outcome_of(error, self.lab, contender)?,
                Ok((Measured { timed: None, .. }, Judgement { result, .. })) => {
                    Outcome::Computed { result }
                }
                Ok((
                    Measured {
                        timed: Some(mut timed),
                        first,
                    },
                    judgement,
                )) => {
                    turns = std::mem::take(&mut timed.turns_s);
                    let mut figures = self.figures(contender, timed, place.record, inputs);
                    figures.judgement = judgement;
                    let done = contender.on.map_or(0.0, |on| on.done);
                    let run_s = figures.run.median_s;
                    figures.on_several = first.map(|first| first.with_rate(done, run_s));
                    Outcome::Timed(Box::new(figures))
                }
            };
            turns_s.push(turns);
            rows.push(contender.row(place.named, outcome));
        }
        if self.gpus.is_empty() {
            self.compare_in_turns(&contenders, &mut rows, &turns_s);
            mark_fastest(&mut rows, &turns_s);
        } else {
            compare_with_fewest(&mut rows)
        }
        Ok(rows)
    }

    /// Notes how each row compares with the lab's first variant, and with its own variant.
    fn compare_in_turns(
        &self,
        contenders: &[Contender<'_>],
        rows: &mut [Row],
        turns_s: &[Vec<Option<f64>>],
    ) {
        for index in 0..rows.len() {
            // The other's time over this one's, where both were timed.
            let against = |variant: &str| {
                let is_our =
                    |other: &Contender<'_>| other.is_plain() && other.variant.name == variant;
                let other = contenders.iter().position(is_our)?;
                let samples = |index: usize| Some(&rows[index].figures()?.run.samples_s[..]);
                let own = (&turns_s[index][..], samples(index)?);
                Some(times_as_long(own, (&turns_s[other], samples(other)?)))
            };
            let vs_first = against(self.first_variant());
            let is_plain = contenders[index].is_plain();
            let vs_variant = (!is_plain).then(|| against(&contenders[index].variant.name));
            if let Some(figures) = rows[index].figures_mut() {
                figures.compared.vs_first = vs_first;
                figures.compared.vs_variant = vs_variant.flatten();
            }
        }
    }

    /// Measures all of them, in turns as far as memory holds them together. The results are in
    /// their order.
    fn measure(
        &self,
        contenders: &[Contender<'_>],
        place: Place<'_>,
        inputs: Option<&NamedBuffers>,
        fields: &mut Fields,
        distinct: &mut DistinctOutputs,
    ) -> Vec<Result<Measured, RunError>> {
        let Place {
            named,
            watch,
            stopwatch,
            ..
        } = place;
        let room = Room::of(named.device);
        let mut measured: Vec<Option<Result<Measured, RunError>>> =
            contenders.iter().map(|_| None).collect();
        // Memory was short beside others.
        let mut is_alone = vec![false; contenders.len()];
        while measured.iter().any(Option::is_none) {
            let processes = || watch.read()?.compute_processes;
            let before = processes();
            let memory = BufferPool::default();
            let mut group = Vec::new();
            let mut runs: Vec<(TimedRun<'_>, Watch)> = Vec::new();
            for (index, contender) in contenders.iter().enumerate() {
                if measured[index].is_some() || is_alone[index] && !runs.is_empty() {
                    continue;
                }
                let prepared = stopwatch.time(Phase::Preparation, || match inputs {
                    Some(inputs) => self
                        .prepare(contender, named, inputs, &memory)
                        .map(|run| (run, None)),
                    None => {
                        let others: Vec<&Plan> = runs.iter().map(|(run, _)| run.plan()).collect();
                        let first = self.first_run(contender, named.device, &room, &others, fields);
                        first.map(|(run, first)| (run, Some(first)))
                    }
                });
                match prepared {
                    Ok((_, first)) if !place.has_times() => {
                        measured[index] = Some(Ok(Measured { timed: None, first }));
                    }
                    Ok((run, first)) => {
                        let watch = watch.of_first(contender.gpus());
                        group.push((index, first));
                        runs.push((run, watch));
                        if is_alone[index] {
                            break;
                        }
                    }
                    // Later, without those that are prepared already.
                    Err(error) if error.is_for_memory() && !runs.is_empty() => {}
                    Err(error) => measured[index] = Some(Err(error)),
                }
            }
            if runs.is_empty() {
                continue;
            }
            let names = group.iter().map(|(index, _)| contenders[*index].name());
            let (bar, names) = (&self.place, names.collect::<Vec<String>>().join(", "));
            let _bar = Bar::spinner(format!("{bar} on {}: {names}", named.name));
            // Peers may have started some.
            let started = processes().zip(before);
            let own = 1 + started.map_or(0, |(after, before)| after.saturating_sub(before));
            let distinct = inputs.is_some().then_some(&mut *distinct);
            let results = interleaved::time(runs, &self.settings, own, distinct, stopwatch);
            let are_several = group.len() > 1;
            let indices: Vec<usize> = group.iter().map(|(index, _)| *index).collect();
            for ((index, first), result) in group.into_iter().zip(results) {
                match result {
                    Err(error) if error.is_for_memory() && are_several => is_alone[index] = true,
                    result => {
                        let timed = result.map(Some);
                        measured[index] = Some(timed.map(|timed| Measured { timed, first }));
                    }
                }
            }
            if let Some(inputs) = inputs {
                stopwatch.time(Phase::Elsewhere, || {
                    let group = indices.into_iter().map(|index| (index, &contenders[index]));
                    self.elsewhere(group.collect(), place, inputs, memory, &mut measured);
                });
            }
        }
        measured.into_iter().flatten().collect()
    }

    /// Times the short runs of a group in other allocations of the buffers, while the first is
    /// held: their addresses differ, and so may their times. Fields of gigabytes are spread over
    /// all of a device in any allocation.
    fn elsewhere(
        &self,
        mut group: Vec<(usize, &Contender<'_>)>,
        place: Place<'_>,
        inputs: &NamedBuffers,
        first: BufferPool,
        measured: &mut [Option<Result<Measured, RunError>>],
    ) {
        let bytes: usize = inputs.iter().map(|(_, buffer)| buffer.bytes().len()).sum();
        let takes_turns = |measured: &Option<Result<Measured, RunError>>| {
            let timed = measured
                .as_ref()
                .and_then(|run| run.as_ref().ok()?.timed.as_ref());
            timed.is_some_and(|timed| !timed.turns_s.is_empty())
        };
        group.retain(|(index, one)| one.peer.is_none() && takes_turns(&measured[*index]));
        let (began, mut held) = (Instant::now(), vec![first]);
        while held.len() <= self.settings.elsewhere
            && !group.is_empty()
            && bytes <= ELSEWHERE_BYTES
            && (held.len() == 1 || began.elapsed() < ELSEWHERE)
        {
            let memory = BufferPool::default();
            let runs = group.iter().map(|(_, contender)| {
                let run = self.prepare(contender, place.named, inputs, &memory)?;
                Ok::<_, RunError>((run, place.watch.clone()))
            });
            // Where memory is short, what is known already is all.
            let Ok(runs) = runs.collect::<Result<Vec<_>, RunError>>() else {
                return;
            };
            let medians = interleaved::medians(runs, self.settings.isolated);
            for ((index, _), median_s) in group.iter().zip(medians) {
                if let Some(Ok(Measured {
                    timed: Some(timed), ..
                })) = &mut measured[*index]
                    && let Some(median_s) = median_s
                {
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

    /// The figures that follow from the times and this contender's work.
    fn figures(
        &self,
        contender: &Contender<'_>,
        timed: Timed,
        record: &DeviceRecord,
        inputs: &NamedBuffers,
    ) -> Figures {
        let Contender { case, launched, .. } = *contender;
        let work = launched.work(case);
        let run_s = timed.figures.run.median_s;
        let plan = launched.record_for(case, contender.gpus().unwrap_or(1));
        let buffer_bytes = plan.ok().and_then(|plan| plan.memory_bytes().ok());
        let demand = Demand {
            work,
            buffer_bytes: buffer_bytes.unwrap_or(u64::MAX),
            precision: bound::precision(inputs),
            l2_bytes: record.info.l2_bytes,
            may_fuse: !launched.is_exact(),
        };
        let figures = timed.figures.with_work(work, case.timesteps());
        let on_device = OnDevice {
            bytes_per_s: Some(work.bytes as f64 / run_s.max(1e-12)),
            bound: bound::bound(&record.limits, &demand, run_s),
            code_lines: match contender.peer {
                None => code_lines::of_variant(self.lab, contender.variant),
                Some(_) => None,
            },
            code_sha256: match contender.about() {
                None => {
                    let capability = record.info.limits.compute_capability;
                    Some(match contender.capped(&launched.module) {
                        Some(capped) => sha256(capped.for_device(capability).ptx()),
                        None => sha256_once(launched.module.for_device(capability).ptx()),
                    })
                }
                Some(about) => about.code_sha256.clone(),
            },
            ..figures.on_device
        };
        Figures {
            on_device,
            ..figures
        }
    }
}

impl Contender<'_> {
    /// The row that says this of it.
    fn row(&self, named: Named<'_>, outcome: Outcome) -> Row {
        let (about, variant) = (self.about(), self.variant);
        Row {
            language: about.map(|about| about.language.clone()),
            built_by: about.map(|about| about.built_by.clone()),
            capped: self.cap.map(|cap| Capped {
                of: variant.name.clone(),
                registers: cap.get(),
            }),
            shape: (self.launched != variant)
                .then(|| self.launched.label().unwrap_or_default().to_owned()),
            gpus: self.gpus(),
            ..Row::new(named.name, &self.row_name(), self.case.label(), outcome)
        }
    }

    fn judged(&self, measured: &Result<Measured, RunError>) -> Judged {
        let timed = measured.as_ref().ok().and_then(|run| run.timed.as_ref());
        Judged {
            variant: self.variant,
            is_ours: self.peer.is_none(),
            rounds_differently: self.about().is_some_and(|about| about.rounds_differently),
            output: timed.and_then(|timed| timed.output),
        }
    }
}

/// The SHA-256 of a text that lives as long as the program. Megabytes, and the same for most rows.
fn sha256_once(text: &'static str) -> String {
    static KNOWN: Mutex<BTreeMap<(usize, usize), String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (text.as_ptr() as usize, text.len());
    known.entry(place).or_insert_with(|| sha256(text)).clone()
}

/// The outcome that a row says; bugs of ours are not for rows.
fn outcome_of(
    error: RunError,
    lab: &Lab,
    contender: &Contender<'_>,
) -> Result<Outcome, CommandError> {
    let error = match error {
        error if error.is_for_memory() && contender.on.is_some() => return Ok(Outcome::DoesNotFit),
        RunError::DoesNotFit => return Ok(Outcome::DoesNotFit),
        RunError::Host(error) => error,
        RunError::Lacking(message) => return Ok(Outcome::Lacking { message }),
        RunError::Failed(message) => return Ok(Outcome::Failed { message }),
        RunError::Unsuited(message) => return Ok(Outcome::Skipped { message }),
    };
    let message = memory_advice::explained(&error, lab, Some(contender.variant));
    match (error.kind(), &error) {
        (ErrorKind::Submission, _) => Ok(Outcome::Failed { message }),
        (ErrorKind::Environment, Error::Device(DeviceError::Lost { .. })) => Ok(Outcome::Skipped {
            message: "device lost: another kernel failed on it; leave that out with --variant"
                .to_owned(),
        }),
        (ErrorKind::Environment, _) => Ok(Outcome::Lacking { message }),
        (ErrorKind::Needs, _) => Ok(Outcome::Skipped { message }),
        (ErrorKind::Input | ErrorKind::Bug, _) => Err(error.into()),
    }
}
