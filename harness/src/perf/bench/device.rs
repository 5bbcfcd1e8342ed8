//! The rows of a device: all variants and peers in turns, as far as its memory holds them together.

use host::device::DeviceError;
use host::{Case, Error, ErrorKind, NamedBuffers, Variant};

use super::ratios::{Turns, times_as_long};
use super::{Bench, figures};
use crate::catalogue::first_variant;
use crate::devices::Named;
use crate::digest::sha256;
use crate::failure::Failure;
use crate::memory_advice;
use crate::perf::bound::{self, Demand, Precision};
use crate::perf::contender::{Peer, PlanRun, TimedRun, Trouble};
use crate::perf::results::{DeviceRecord, Figures, Outcome, Row, Verdict};
use crate::perf::turns::{self, Timed};
use crate::perf::watch::Watch;
use crate::progress::Bar;
use crate::test::explain;

impl Bench<'_> {
    /// The rows of a device, each compared with the others.
    pub(super) fn device_rows(
        &self,
        named: Named<'_>,
        record: &DeviceRecord,
        watch: &Watch,
        inputs: &NamedBuffers,
        expected: Option<&NamedBuffers>,
    ) -> Result<Vec<Row>, Failure> {
        let contenders = self.contenders();
        let timed = self.time(&contenders, named, watch, inputs);
        let turns: Vec<Option<Turns>> = timed
            .iter()
            .map(|timed| {
                let timed = timed.as_ref().ok()?;
                Some((timed.turns_s.clone(), timed.isolated.samples_s.clone()))
            })
            .collect();
        // The other's time over that of one of them, where both were timed.
        let against = |index: usize, is: &dyn Fn(&Contender<'_>) -> bool| {
            let other = contenders.iter().position(is)?;
            let (own, other) = (turns[index].as_ref()?, turns[other].as_ref()?);
            Some(times_as_long(own, other))
        };
        let mut rows = Vec::new();
        for (index, (contender, timed)) in contenders.iter().zip(timed).enumerate() {
            let name = contender.variant.name;
            let mut row = Row {
                language: contender.peer.map(|peer| peer.language().to_owned()),
                built_by: contender.peer.map(|peer| peer.built_by().to_owned()),
                ..self.row(named.name, name)
            };
            row.outcome = match timed {
                Err(trouble) => outcome_of(trouble, self.case.as_ref(), name)?,
                Ok(timed) => {
                    let mut figures =
                        self.device_figures(contender, timed, record, inputs, expected);
                    figures.vs_first =
                        against(index, &|other| other.is_our(first_variant(self.lab)));
                    if contender.peer.is_some() {
                        figures.vs_variant = against(index, &|other| other.is_our(name));
                    }
                    Outcome::Timed(Box::new(figures))
                }
            };
            rows.push(row);
        }
        Ok(rows)
    }

    /// Every variant, with its peers behind it.
    fn contenders(&self) -> Vec<Contender<'_>> {
        let mut contenders = Vec::new();
        for &variant in &self.variants {
            contenders.push(Contender {
                variant,
                peer: None,
            });
            let peers = self.peers.iter();
            let peers = peers.filter(|peer| peer.variant() == variant.name);
            contenders.extend(peers.map(|&peer| Contender {
                variant,
                peer: Some(peer),
            }));
        }
        contenders
    }

    /// Times all of them, in turns as far as the device's memory holds them together. The answers are in their order.
    fn time(
        &self,
        contenders: &[Contender<'_>],
        named: Named<'_>,
        watch: &Watch,
        inputs: &NamedBuffers,
    ) -> Vec<Result<Timed, Trouble>> {
        let mut timed: Vec<Option<Result<Timed, Trouble>>> =
            contenders.iter().map(|_| None).collect();
        while let Some(first) = timed.iter().position(Option::is_none) {
            let processes = || watch.read()?.compute_processes;
            let before = processes();
            let mut group = Vec::new();
            let mut runs = Vec::new();
            for index in first..contenders.len() {
                if timed[index].is_some() {
                    continue;
                }
                match self.prepare(&contenders[index], named, inputs) {
                    Ok(run) => {
                        group.push(index);
                        runs.push(run);
                    }
                    // Later, without those that are prepared already.
                    Err(Trouble::Host(Error::Device(DeviceError::OutOfMemory { .. })))
                        if !runs.is_empty() => {}
                    Err(trouble) => timed[index] = Some(Err(trouble)),
                }
            }
            let names: Vec<String> = group
                .iter()
                .map(|&index| contenders[index].name())
                .collect();
            let _bar = Bar::spinner(format!(
                "{} on {}: {}",
                self.case.label(),
                named.name,
                names.join(", ")
            ));
            // Peers may have started some.
            let started = processes().zip(before);
            let own = 1 + started.map_or(0, |(after, before)| after.saturating_sub(before));
            let results = turns::time(runs, &self.settings, watch, own);
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
    ) -> Result<Box<dyn TimedRun + 'r>, Trouble> {
        match contender.peer {
            Some(peer) => peer.prepare(named.device, self.case.as_ref(), inputs),
            None => {
                let plan = self.case.record(contender.variant.name)?;
                let run = PlanRun::prepare(named.device, self.lab.module(), plan, inputs)?;
                Ok(Box::new(run))
            }
        }
    }

    fn device_figures(
        &self,
        contender: &Contender<'_>,
        timed: Timed,
        record: &DeviceRecord,
        inputs: &NamedBuffers,
        expected: Option<&NamedBuffers>,
    ) -> Figures {
        let Variant { name, exact, .. } = contender.variant;
        let case = self.case.as_ref();
        let work = case.work(name);
        let run_s = timed.isolated.median_s;
        let (result, mismatch) = match expected {
            None => (Verdict::Unchecked, None),
            Some(expected) => {
                let check = |got| case.check(name, expected, got);
                match timed.outputs.iter().try_for_each(check) {
                    Ok(()) if exact => (Verdict::Equal, None),
                    Ok(()) => (Verdict::Close, None),
                    Err(error) => (Verdict::Wrong, Some(explain(case, &error))),
                }
            }
        };
        let plan_bytes = case
            .record(name)
            .ok()
            .and_then(|plan| plan.memory_bytes().ok());
        let demand = Demand {
            work,
            buffer_bytes: plan_bytes.unwrap_or(u64::MAX),
            precision: Precision::of(inputs),
            l2_bytes: record.info.l2_bytes,
            may_fuse: !exact,
        };
        Figures {
            by: Some(timed.isolated_by),
            batched: Some(timed.batched),
            per_command: timed.per_command,
            bytes_per_s: Some(work.bytes as f64 / run_s.max(1e-12)),
            bound: bound::bound(&record.limits, &demand, run_s),
            conditions: timed.conditions,
            kernels: timed.kernels,
            code_sha256: match contender.peer {
                None => Some(sha256(self.lab.module().ptx())),
                Some(peer) => peer.code_sha256(),
            },
            result,
            mismatch,
            ..figures(timed.isolated, timed.clock, timed.host_median_s, work, case)
        }
    }
}

/// A variant, or a peer of it.
struct Contender<'b> {
    variant: Variant,
    peer: Option<&'b dyn Peer>,
}

impl Contender<'_> {
    /// Whether it is this variant of ours.
    fn is_our(&self, variant: &str) -> bool {
        self.peer.is_none() && self.variant.name == variant
    }

    fn name(&self) -> String {
        match self.peer {
            None => self.variant.name.to_owned(),
            Some(peer) => format!("{} ({})", self.variant.name, peer.language()),
        }
    }
}

/// What a row says of trouble; bugs of ours are not for rows.
fn outcome_of(trouble: Trouble, case: &dyn Case, variant: &str) -> Result<Outcome, Failure> {
    let error = match trouble {
        Trouble::Host(error) => error,
        Trouble::Lacking(message) => return Ok(Outcome::Lacking { message }),
        Trouble::Failed(message) => return Ok(Outcome::Failed { message }),
        Trouble::Unsuited(message) => return Ok(Outcome::Skipped { message }),
    };
    let message = memory_advice::explained(&error, case, variant);
    match error.kind() {
        ErrorKind::Submission => Ok(Outcome::Failed { message }),
        ErrorKind::Environment => Ok(match error {
            Error::Device(DeviceError::Lost { .. }) => Outcome::Skipped {
                message: "device lost: another kernel failed on it; leave that out with --variant"
                    .to_owned(),
            },
            _ => Outcome::Lacking { message },
        }),
        ErrorKind::Input | ErrorKind::Bug => Err(error.into()),
    }
}
