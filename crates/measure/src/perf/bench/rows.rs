//! The maker of rows: contenders on a device, or on several, become timed rows.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use device::NamedBuffers;
use device::buffer::free;
use device::{DeviceError, Error};
use exit::ErrorKind;
use lab::{Lab, target};

use super::check::Judged;
use super::contenders::Contender;
use super::fewer::{Fields, First};
use super::groups::{Measured, Start};
use super::meanwhile::Meanwhile;
use super::speedups::{compare_with_fewest, mark_fastest, times_as_long};
use super::{Bench, Place};
use crate::code_lines;
use crate::perf::bound::{self, Demand};
use crate::perf::interleaved::{DistinctOutputs, Timed};
use crate::perf::timed_run::RunError;
use exit::CommandError;
use output_files::digest::sha256;
use results::spent::Phase;
use results::{Capped, DeviceRecord, Figures, Judgement, OnDevice, Outcome, Row};
use select::devices::Named;
use select::kernels;
use select::memory_advice;

/// The times of a row turn by turn, where they count.
type Turns = Vec<Option<f64>>;

impl Bench<'_> {
    /// A row for each variant, its caps and its peers, on one device. Every run begins with
    /// `inputs`, and is compared with the others and with what the CPU computes from them.
    ///
    /// # Errors
    ///
    /// Where the host's memory is short, and bugs of ours. A failure on the device is in its row.
    pub fn rows_of_variants(
        &self,
        place: Place<'_>,
        inputs: &NamedBuffers,
        meanwhile: &Meanwhile<'_>,
    ) -> Result<Vec<Row>, CommandError> {
        let Place {
            named, stopwatch, ..
        } = place;
        let contenders = self.contenders(named.device);
        let mut distinct = DistinctOutputs::default();
        let mut start = Start::FromInputs(inputs, &mut distinct);
        let measured = self.measure(&contenders, place, &mut start);
        let runs = contenders.iter().zip(&measured);
        let judged: Vec<Judged> = runs.map(|(one, run)| one.judged(run)).collect();
        let computed = stopwatch.time(Phase::Waiting, || meanwhile.computed())?;
        let judgements = stopwatch
            .time(Phase::Checks, || {
                self.judge(&judged, &distinct, computed, named.device, inputs)
            })
            .map_err(|error| self.lacking(error))?;
        stopwatch.time(Phase::Freeing, || {
            free(distinct.all.into_iter().flatten().collect());
        });
        let judgements = judgements.into_iter().map(Ok);
        let (mut rows, turns_s) = self.rows(&contenders, measured, judgements, place, inputs)?;
        compare_in_turns(&contenders, self.first_variant(), &mut rows, &turns_s);
        mark_fastest(&mut rows, &turns_s);
        Ok(rows)
    }

    /// A row for each number of devices. Runs go on from one another, and the first of each is
    /// compared with that of the fewest devices.
    ///
    /// # Errors
    ///
    /// As [`Bench::rows_of_variants`].
    pub fn rows_of_gpus(&self, place: Place<'_>) -> Result<Vec<Row>, CommandError> {
        let Place {
            named, stopwatch, ..
        } = place;
        let contenders = self.contenders(named.device);
        let mut fields = Fields::default();
        let mut start = Start::GoingOn(&mut fields);
        let measured = self.measure(&contenders, place, &mut start);
        let firsts: Vec<Option<&First>> = measured
            .iter()
            .map(|run| run.as_ref().ok()?.first.as_ref())
            .collect();
        let correctness = stopwatch.time(Phase::Checks, || {
            self.judge_by_fewer(&contenders, &firsts, named.device, &mut fields)
        });
        let judgements = correctness
            .into_iter()
            .map(|result| Ok(Judgement::from(result?)));
        let inputs = &fields.inputs;
        let (mut rows, _) = self.rows(&contenders, measured, judgements, place, inputs)?;
        compare_with_fewest(&mut rows);
        Ok(rows)
    }

    /// The row of each contender, and its times turn by turn.
    fn rows(
        &self,
        contenders: &[Contender<'_>],
        measured: Vec<Result<Measured, RunError>>,
        judgements: impl Iterator<Item = Result<Judgement, RunError>>,
        place: Place<'_>,
        inputs: &NamedBuffers,
    ) -> Result<(Vec<Row>, Vec<Turns>), CommandError> {
        let (mut rows, mut turns_s) = (Vec::new(), Vec::new());
        for ((contender, run), judgement) in contenders.iter().zip(measured).zip(judgements) {
            let mut turns = Vec::new();
            let outcome = match run.and_then(|run| Ok((run, judgement?))) {
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
                    let done = contender.on.map_or(0.0, |on| on.done);
                    let run_s = timed.figures.run.median_s;
                    Outcome::Timed(Box::new(Figures {
                        judgement,
                        on_several: first.map(|first| first.with_rate(done, run_s)),
                        ..self.figures(contender, timed, place.record, inputs)
                    }))
                }
            };
            turns_s.push(turns);
            rows.push(contender.row(place.named, outcome));
        }
        Ok((rows, turns_s))
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
        let plan = launched.record_for(case, target(&record.info, contender.gpus().unwrap_or(1)));
        let buffer_bytes = plan.as_ref().ok().and_then(|plan| plan.memory_bytes().ok());
        // A cap of registers changes no kernel's text.
        let digests = match (&plan, contender.peer) {
            (Ok(own), None) => kernels::of_plan(&launched.module, own, &record.info),
            _ => kernels::Digests::new(),
        };
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
            kernel_digests: digests,
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

/// Notes how each row compares with the lab's first variant, and with its own variant.
fn compare_in_turns(
    contenders: &[Contender<'_>],
    first_variant: &str,
    rows: &mut [Row],
    turns_s: &[Turns],
) {
    for index in 0..rows.len() {
        // The other's time over this one's, where both were timed.
        let against = |variant: &str| {
            let is_our = |other: &Contender<'_>| other.is_plain() && other.variant.name == variant;
            let other = contenders.iter().position(is_our)?;
            let samples = |at: usize| Some(&rows[at].figures()?.run.samples_s[..]);
            let own = (&turns_s[index][..], samples(index)?);
            Some(times_as_long(own, (&turns_s[other], samples(other)?)))
        };
        let own = &contenders[index];
        let vs_first = against(first_variant);
        let vs_variant = (!own.is_plain()).then(|| against(&own.variant.name));
        if let Some(figures) = rows[index].figures_mut() {
            figures.compared.vs_first = vs_first;
            figures.compared.vs_variant = vs_variant.flatten();
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
    if error.is_for_memory() && contender.on.is_some() {
        return Ok(Outcome::DoesNotFit);
    }
    let error = match error {
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
