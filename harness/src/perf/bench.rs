//! All rows of one case, in order: the CPU references, then every variant and peer on every device.

use host::device::DeviceError;
use host::{Case, Cpu, Error, ErrorKind, Lab, NamedBuffers, Variant, Work, check};

use super::bound::{self, Demand, Precision};
use super::contender::{Peer, PlanRun, TimedRun, Trouble};
use super::kernels::Counted;
use super::measure;
use super::results::{
    CaseResults, Clock, DeviceRecord, DeviceTrace, Figures, Outcome, Ratio, Row, Verdict,
};
use super::settings::Settings;
use super::turns::{self, Timed};
use super::watch::Watch;
use crate::catalogue::first_variant;
use crate::devices::{Chosen, Named, Wanted};
use crate::digest::sha256;
use crate::failure::Failure;
use crate::fits;
use crate::progress::Bar;
use crate::stats::Summary;
use crate::stats::interval::{self, Confidence};
use crate::test::explain;

/// What to time.
pub struct Bench<'b> {
    /// The lab.
    pub lab: &'b dyn Lab,
    /// Its variants that are timed.
    pub variants: Vec<Variant>,
    /// Peers of these variants.
    pub peers: Vec<&'b dyn Peer>,
    /// The case.
    pub case: Box<dyn Case>,
    /// What the CPU is timed on, if not the same case.
    pub cpu_case: Option<Box<dyn Case>>,
    /// How long and how well.
    pub settings: Settings,
    /// Whether results are compared with the reference.
    pub is_checked: bool,
}

impl Bench<'_> {
    /// Times everything on the chosen devices, whose limits were measured. `began` is when the program was started;
    /// `tell` gets what is finished so far, after the CPU and after each device.
    ///
    /// # Errors
    ///
    /// Where the reference cannot be computed, and bugs of ours. What fails on a device is in its row.
    pub fn run(
        &self,
        chosen: &Chosen<'_>,
        devices: &[(DeviceRecord, Watch)],
        began: std::time::Instant,
        tell: &dyn Fn(&CaseResults),
    ) -> Result<CaseResults, Failure> {
        // Made once, for the CPU and for every variant: they can be gigabytes.
        let mut inputs = None;
        let (cpu_rows, mut expected) = if chosen.cpu {
            match &self.cpu_case {
                Some(case) => {
                    let inputs = self.inputs(case.as_ref())?;
                    (self.cpu_rows(case.as_ref(), &inputs)?.0, None)
                }
                None => {
                    let inputs = inputs.insert(self.inputs(self.case.as_ref())?);
                    let (rows, expected) = self.cpu_rows(self.case.as_ref(), inputs)?;
                    (rows, Some(expected))
                }
            }
        } else {
            (Vec::new(), None)
        };
        let mut results = CaseResults {
            lab: self.lab.name().to_owned(),
            first_variant: first_variant(self.lab).to_owned(),
            case: self.case.label(),
            rows: cpu_rows,
            counted: None,
            traces: Vec::new(),
        };
        compare_with_cpu(&mut results.rows);
        tell(&results);
        let inputs = match inputs {
            Some(inputs) => inputs,
            None if chosen.devices.is_empty() => NamedBuffers::new(),
            None => self.inputs(self.case.as_ref())?,
        };
        if !self.is_checked {
            expected = None;
        } else if expected.is_none() && !chosen.devices.is_empty() {
            let bar = Bar::new(format!("reference of {}", self.case.label()));
            let result = self.case.reference_from(&inputs, Cpu::Parallel, &bar);
            expected = Some(result.map_err(|error| self.lacking(error, self.case.as_ref()))?);
        }
        for (&named, (record, watch)) in chosen.devices.iter().zip(devices) {
            let recorder = watch.record();
            let began_s = began.elapsed().as_secs_f64();
            let mut rows = self.device_rows(named, record, watch, &inputs, expected.as_ref())?;
            if let Some(recorder) = recorder {
                results.traces.push(DeviceTrace {
                    device: named.name.to_string(),
                    began_s,
                    samples: recorder.stop().samples,
                });
            }
            results.rows.append(&mut rows);
            compare_with_cpu(&mut results.rows);
            mark_fastest(&mut results.rows);
            tell(&results);
        }
        for absent in &chosen.absent {
            results.rows.extend(self.variants.iter().map(|variant| Row {
                outcome: Outcome::Skipped {
                    message: absent.reason.clone(),
                },
                ..self.row(absent.name, variant.name)
            }));
        }
        let nothing_timed = chosen.devices.is_empty() && !chosen.absent.is_empty();
        results.counted = Counted::count(self.lab, &self.variants, &*self.case, nothing_timed);
        Ok(results)
    }

    fn inputs(&self, case: &dyn Case) -> Result<NamedBuffers, Failure> {
        case.inputs().map_err(|error| self.lacking(error, case))
    }

    /// The error, with what fits where memory is short.
    fn lacking(&self, error: Error, case: &dyn Case) -> Failure {
        fits::failure(error, case, first_variant(self.lab))
    }

    /// The rows of the references, serial first, and their result.
    fn cpu_rows(
        &self,
        case: &dyn Case,
        inputs: &NamedBuffers,
    ) -> Result<(Vec<Row>, NamedBuffers), Failure> {
        let time = |cpu| {
            measure::cpu(case, inputs, cpu, &self.settings)
                .map_err(|error| self.lacking(error, case))
        };
        let (serial, parallel) = (time(Cpu::Serial)?, time(Cpu::Parallel)?);
        let parallel_is = if self.is_checked {
            match check::exact(&serial.outputs, &parallel.outputs) {
                Ok(()) => (Verdict::Equal, None),
                Err(error) => (Verdict::Wrong, Some(explain(case, &error))),
            }
        } else {
            (Verdict::Unchecked, None)
        };
        // The amount of useful work is the same for every variant.
        let work = case.work(first_variant(self.lab));
        let row = |cpu: Cpu, run: Summary, (result, mismatch)| {
            let host_median_s = run.median_s;
            let mut figures = figures(run, Clock::Host, host_median_s, work, case);
            figures.result = result;
            figures.mismatch = mismatch;
            Row {
                outcome: Outcome::Timed(Box::new(figures)),
                case: case.label(),
                ..self.row(Wanted::Cpu, cpu.name())
            }
        };
        let rows = vec![
            row(Cpu::Serial, serial.run, (Verdict::Reference, None)),
            row(Cpu::Parallel, parallel.run, parallel_is),
        ];
        Ok((rows, serial.outputs))
    }

    /// The rows of a device: all variants and peers in turns, as far as its memory holds them together.
    fn device_rows(
        &self,
        named: Named<'_>,
        record: &DeviceRecord,
        watch: &Watch,
        inputs: &NamedBuffers,
        expected: Option<&NamedBuffers>,
    ) -> Result<Vec<Row>, Failure> {
        let contenders = self.contenders();
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
        let timed: Vec<Result<Timed, Trouble>> = timed.into_iter().flatten().collect();
        let turns: Vec<Option<Turns>> = timed
            .iter()
            .map(|timed| {
                let timed = timed.as_ref().ok()?;
                Some((timed.turns_s.clone(), timed.isolated.samples_s.clone()))
            })
            .collect();
        let mut rows = Vec::new();
        for (index, (contender, timed)) in contenders.iter().zip(timed).enumerate() {
            let mut row = Row {
                language: contender.peer.map(|peer| peer.language().to_owned()),
                built_by: contender.peer.map(|peer| peer.built_by().to_owned()),
                ..self.row(named.name, contender.variant.name)
            };
            row.outcome = match timed {
                Err(trouble) => outcome_of(trouble, self.case.as_ref(), contender.variant.name)?,
                Ok(timed) => {
                    let mut figures =
                        self.device_figures(contender, timed, record, inputs, expected);
                    let is_first = |other: &Contender<'_>| {
                        other.peer.is_none() && other.variant.name == first_variant(self.lab)
                    };
                    let is_own = |other: &Contender<'_>| {
                        other.peer.is_none() && other.variant.name == contender.variant.name
                    };
                    let against = |is: &dyn Fn(&Contender<'_>) -> bool| {
                        let other = contenders.iter().position(is)?;
                        let (own, other) = (turns[index].as_ref()?, turns[other].as_ref()?);
                        Some(times_as_long(own, other))
                    };
                    figures.vs_first = against(&is_first);
                    if contender.peer.is_some() {
                        figures.vs_variant = against(&is_own);
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

    /// A row that nothing is known of yet.
    fn row(&self, device: Wanted, variant: &str) -> Row {
        Row {
            device: device.to_string(),
            variant: variant.to_owned(),
            language: None,
            built_by: None,
            case: self.case.label(),
            outcome: Outcome::Skipped {
                message: String::new(),
            },
        }
    }
}

/// A variant, or a peer of it.
struct Contender<'b> {
    variant: Variant,
    peer: Option<&'b dyn Peer>,
}

impl Contender<'_> {
    fn name(&self) -> String {
        match self.peer {
            None => self.variant.name.to_owned(),
            Some(peer) => format!("{} ({})", self.variant.name, peer.language()),
        }
    }
}

/// Times turn by turn, and the samples that count.
type Turns = (Vec<Option<f64>>, Vec<f64>);

/// How many times as long the other takes: turn by turn where both took turns, otherwise from all samples.
fn times_as_long((own_turns, own): &Turns, (other_turns, other): &Turns) -> Ratio {
    let interval = if own_turns.len() == other_turns.len() {
        let turns = own_turns.iter().zip(other_turns);
        let both = turns.filter_map(|(own, other)| own.zip(*other));
        let (own, other): (Vec<f64>, Vec<f64>) = both.unzip();
        interval::paired_ratio(&own, &other, Confidence::P95)
    } else {
        interval::ratio(own, other, Confidence::P95)
    };
    let median = |samples: &[f64]| Summary::new(samples.to_vec()).median_s;
    match interval {
        Some(interval) => Ratio {
            estimate: interval.estimate,
            interval: Some([interval.low, interval.high]),
        },
        None => Ratio {
            estimate: median(other) / median(own),
            interval: None,
        },
    }
}

fn figures(run: Summary, clock: Clock, host_median_s: f64, work: Work, case: &dyn Case) -> Figures {
    Figures {
        batched: None,
        per_command: None,
        timesteps: case.timesteps(),
        clock,
        host_median_s,
        unit: work.unit.to_owned(),
        updates: work.updates,
        bytes: work.bytes,
        flops: work.flops,
        updates_per_s: work.updates as f64 / run.median_s.max(1e-12),
        bytes_per_s: None,
        bound: None,
        vs_first: None,
        vs_variant: None,
        vs_cpu: None,
        vs_serial: None,
        is_fastest: false,
        conditions: None,
        kernels: Vec::new(),
        code_sha256: None,
        result: Verdict::Unchecked,
        mismatch: None,
        run,
    }
}

/// Notes each row's rate relative to the references'.
fn compare_with_cpu(rows: &mut [Row]) {
    let rate = |cpu: Cpu| {
        let row = rows
            .iter()
            .find(|row| row.device == Wanted::Cpu.to_string() && row.variant == cpu.name())?;
        Some(row.figures()?.updates_per_s)
    };
    let (serial, parallel) = (rate(Cpu::Serial), rate(Cpu::Parallel));
    for figures in rows.iter_mut().filter_map(Row::figures_mut) {
        figures.vs_serial = serial.map(|rate| figures.updates_per_s / rate);
        figures.vs_cpu = parallel.map(|rate| figures.updates_per_s / rate);
    }
}

/// Marks the best of several right variants of each device.
fn mark_fastest(rows: &mut [Row]) {
    let is_right = |row: &Row| {
        let figures = row.figures();
        figures
            .is_some_and(|figures| !matches!(figures.result, Verdict::Wrong | Verdict::Reference))
    };
    let mut devices: Vec<String> = rows.iter().map(|row| row.device.clone()).collect();
    devices.dedup();
    devices.retain(|device| *device != Wanted::Cpu.to_string());
    for device in devices {
        let mut right: Vec<&mut Row> = rows
            .iter_mut()
            .filter(|row| row.device == device && row.language.is_none() && is_right(row))
            .collect();
        if right.len() < 2 {
            continue;
        }
        let time = |row: &Row| {
            row.figures()
                .map_or(f64::INFINITY, |figures| figures.run.median_s)
        };
        right.sort_by(|a, b| time(a).total_cmp(&time(b)));
        if let Some(figures) = right[0].figures_mut() {
            figures.is_fastest = true;
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
    let message = fits::explained(&error, case, variant);
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
