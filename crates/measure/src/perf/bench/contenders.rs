//! The rows of a device: all variants and peers in turns, as far as its memory holds them together.

use device::registers::{RegisterCap, capped};
use device::{BufferPool, DeviceError};
use device::{Error, Module, NamedBuffers};
use exit::ErrorKind;
use lab::{Lab, Variant};

use super::Bench;
use super::check::{Computed, Judged, Judgement};
use super::speedups::times_as_long;
use crate::code_lines;
use crate::perf::bound::{self, Demand};
use crate::perf::interleaved::{self, DistinctOutputs, Timed};
use crate::perf::results::{Capped, DeviceRecord, Figures, Outcome, Row};
use crate::perf::timed_run::{About, Peer, RunError, TimedRun};
use crate::perf::watch::Watch;
use exit::CommandError;
use lab::devices::Named;
use lab::memory_advice;
use output_files::digest::sha256;
use terminal::progress::Bar;

/// A variant as it is, a variant under a cap of registers, or a peer.
#[derive(Clone, Copy)]
struct Contender<'b> {
    variant: &'static Variant,
    /// The same in the shape in which it is launched.
    launched: &'static Variant,
    peer: Option<&'b dyn Peer>,
    cap: Option<RegisterCap>,
}

impl Contender<'_> {
    fn about(&self) -> Option<&About> {
        self.peer.map(|peer| peer.about())
    }

    fn name(&self) -> String {
        match self.about() {
            None => self.row_name(),
            Some(about) => format!("{} ({})", self.variant.name, about.language),
        }
    }

    /// Its row's name: `naive @ 80 registers`.
    fn row_name(&self) -> String {
        let name = &self.variant.name;
        self.cap
            .map_or_else(|| name.clone(), |cap| format!("{name} @ {cap}"))
    }

    /// The module under its cap, if it has one.
    fn capped(&self, module: &Module) -> Option<Module> {
        Some(capped(module, self.cap?))
    }

    /// Whether it is a variant of ours, without a cap.
    fn is_plain(&self) -> bool {
        self.peer.is_none() && self.cap.is_none()
    }
}

impl Bench<'_> {
    /// The rows of a device, each compared with the others.
    pub(super) fn device_rows(
        &self,
        named: Named<'_>,
        record: &DeviceRecord,
        watch: &Watch,
        inputs: &NamedBuffers,
        computed: Option<&Computed>,
    ) -> Result<Vec<Row>, CommandError> {
        let contenders = self.contenders(named);
        let mut distinct = DistinctOutputs::default();
        let timed = self.time(&contenders, named, watch, inputs, &mut distinct);
        let judged = timed
            .iter()
            .zip(&contenders)
            .map(|(timed, contender)| Judged {
                variant: contender.variant,
                is_ours: contender.peer.is_none(),
                rounds_differently: contender
                    .about()
                    .is_some_and(|about| about.rounds_differently),
                output: timed.as_ref().ok().and_then(|timed| timed.output),
            });
        let judged: Vec<Judged> = judged.collect();
        let judgements = self.judge(&judged, &distinct, computed, named.device, inputs);
        let judgements = judgements.map_err(|error| self.lacking(error))?;
        drop(distinct);
        let mut rows = Vec::new();
        let mut turns_s = Vec::new();
        for ((contender, timed), judgement) in contenders.iter().zip(timed).zip(judgements) {
            let about = contender.about();
            let variant = contender.variant;
            let outcome = match timed {
                Err(error) => {
                    turns_s.push(Vec::new());
                    outcome_of(error, self.lab, variant)?
                }
                Ok(mut timed) => {
                    turns_s.push(std::mem::take(&mut timed.turns_s));
                    let figures = self.figures(contender, timed, record, inputs, judgement);
                    Outcome::Timed(Box::new(figures))
                }
            };
            let (row_name, case) = (contender.row_name(), self.case.label());
            rows.push(Row {
                language: about.map(|about| about.language.clone()),
                built_by: about.map(|about| about.built_by.clone()),
                capped: contender.cap.map(|cap| Capped {
                    of: variant.name.clone(),
                    registers: cap.get(),
                }),
                shape: (contender.launched != variant)
                    .then(|| contender.launched.label().unwrap_or_default().to_owned()),
                ..Row::new(named.name, &row_name, case, outcome)
            });
        }
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
                (figures.vs_first, figures.vs_variant) = (vs_first, vs_variant.flatten());
            }
        }
        Ok(rows)
    }

    /// Every variant, with its peers behind it.
    fn contenders(&self, named: Named<'_>) -> Vec<Contender<'_>> {
        let mut contenders = Vec::new();
        for &variant in &self.variants {
            let peers = self.peers.iter().copied();
            let peers = peers.filter(|peer| peer.about().variant == variant.base());
            let case = self.case.as_ref();
            let plain = Contender {
                variant,
                launched: self.tuned.choose(self.lab, variant, case, named.device),
                peer: None,
                cap: None,
            };
            contenders.push(plain);
            contenders.extend(self.caps.iter().map(|&cap| Contender {
                cap: Some(cap),
                ..plain
            }));
            contenders.extend(peers.map(|peer| Contender {
                peer: Some(peer),
                ..plain
            }));
        }
        contenders
    }

    /// Times all of them, in turns as far as the device's memory holds them together. The results
    /// are in their order.
    fn time(
        &self,
        contenders: &[Contender<'_>],
        named: Named<'_>,
        watch: &Watch,
        inputs: &NamedBuffers,
        distinct: &mut DistinctOutputs,
    ) -> Vec<Result<Timed, RunError>> {
        let mut timed: Vec<Option<Result<Timed, RunError>>> =
            contenders.iter().map(|_| None).collect();
        while timed.iter().any(Option::is_none) {
            let processes = || watch.read()?.compute_processes;
            let before = processes();
            let memory = BufferPool::default();
            let mut group = Vec::new();
            let mut runs = Vec::new();
            for (index, contender) in contenders.iter().enumerate() {
                if timed[index].is_some() {
                    continue;
                }
                match self.prepare(contender, named, inputs, &memory) {
                    Ok(run) => {
                        group.push(index);
                        runs.push(run);
                    }
                    // Later, without those that are prepared already.
                    Err(RunError::Host(Error::Device(DeviceError::OutOfMemory { .. })))
                        if !runs.is_empty() => {}
                    Err(error) => timed[index] = Some(Err(error)),
                }
            }
            let names: Vec<String> = group.iter().map(|&i| contenders[i].name()).collect();
            let (place, names) = (&self.place, names.join(", "));
            let _bar = Bar::spinner(format!("{place} on {}: {names}", named.name));
            // Peers may have started some.
            let started = processes().zip(before);
            let own = 1 + started.map_or(0, |(after, before)| after.saturating_sub(before));
            let runs = runs.into_iter().map(|run| (run, watch.clone())).collect();
            let results = interleaved::time(runs, &self.settings, own, Some(&mut *distinct));
            for (index, result) in group.into_iter().zip(results) {
                timed[index] = Some(result);
            }
        }
        timed.into_iter().flatten().collect()
    }

    fn prepare<'r>(
        &'r self,
        contender: &Contender<'r>,
        named: Named<'r>,
        inputs: &'r NamedBuffers,
        memory: &BufferPool,
    ) -> Result<TimedRun<'r>, RunError> {
        let case = self.case.as_ref();
        match contender.peer {
            Some(peer) => {
                let launched = contender.launched;
                peer.prepare(named.device, case, launched, inputs, memory)
            }
            None => {
                let plan = contender.launched.record_for(case, named.device.count())?;
                let own = &contender.launched.module;
                let capped = contender.capped(own);
                let module = capped.as_ref().unwrap_or(own);
                TimedRun::prepare(named.device, module, plan, inputs, memory)
            }
        }
    }

    fn figures(
        &self,
        contender: &Contender<'_>,
        timed: Timed,
        record: &DeviceRecord,
        inputs: &NamedBuffers,
        judgement: Judgement,
    ) -> Figures {
        let launched = contender.launched;
        let case = self.case.as_ref();
        let work = launched.work(case);
        let run_s = timed.figures.run.median_s;
        let plan = launched.record(case).ok();
        let demand = Demand {
            work,
            buffer_bytes: plan
                .and_then(|plan| plan.memory_bytes().ok())
                .unwrap_or(u64::MAX),
            precision: bound::precision(inputs),
            l2_bytes: record.info.l2_bytes,
            may_fuse: !launched.is_exact(),
        };
        Figures {
            bytes_per_s: Some(work.bytes as f64 / run_s.max(1e-12)),
            bound: bound::bound(&record.limits, &demand, run_s),
            code_lines: match contender.peer {
                None => code_lines::of_variant(self.lab, contender.variant),
                Some(_) => None,
            },
            code_sha256: match contender.about() {
                None => {
                    let capability = record.info.limits.compute_capability;
                    let capped = contender.capped(&launched.module);
                    let module = capped.as_ref().unwrap_or(&launched.module);
                    Some(sha256(module.for_device(capability).ptx()))
                }
                Some(about) => about.code_sha256.clone(),
            },
            result: judgement.result,
            checked_steps: judgement.steps,
            mismatch: judgement.mismatch,
            ..timed.figures.with_work(work, case.timesteps())
        }
    }
}

/// The outcome that a row says; bugs of ours are not for rows.
fn outcome_of(error: RunError, lab: &Lab, variant: &Variant) -> Result<Outcome, CommandError> {
    let error = match error {
        RunError::Host(error) => error,
        RunError::Lacking(message) => return Ok(Outcome::Lacking { message }),
        RunError::Failed(message) => return Ok(Outcome::Failed { message }),
        RunError::Unsuited(message) => return Ok(Outcome::Skipped { message }),
    };
    let message = memory_advice::explained(&error, lab, Some(variant));
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
