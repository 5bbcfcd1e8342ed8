//! The rows of the references, which the CPU computes.

use std::time::{Duration, Instant};

use device::buffer::copies;
use device::{Error, NamedBuffers, check};
use lab::{Cpu, LabCase};
use stats::{Collector, Doubt, SamplingRule, Summary};

use super::Bench;
use super::computed::{CheckArg, keep_outputs};
use super::speedups::compare_with_cpu;
use crate::perf::interleaved::{SEGMENTS, are_apart};
use exit::CommandError;
use lab::run::explain;
use results::{CaseLabel, Clock, Correctness, Figures, Judgement, Outcome, Row};
use select::devices::Wanted;
use terminal::progress::{Bar, NoProgress, Progress};

/// The references of a lab, timed, and what they gave.
pub struct References {
    /// Serial first.
    pub rows: Vec<Row>,
    pub case: CaseLabel,
    pub outputs: NamedBuffers,
}

impl Bench<'_> {
    /// Times the references on this case of the lab.
    ///
    /// # Errors
    ///
    /// Where memory is short.
    pub fn references(&self, case: &dyn LabCase) -> Result<References, CommandError> {
        let inputs = case.inputs().map_err(|error| self.lacking(error))?;
        let time = |cpu| time(case, &inputs, cpu, self).map_err(|error| self.lacking(error));
        let (serial, parallel) = (time(Cpu::Serial)?, time(Cpu::Parallel)?);
        let mut outputs = parallel.buffers;
        let compared = match serial.steps {
            _ if self.check == CheckArg::None => None,
            None => Some(check::exact(&serial.buffers, &outputs)),
            // One core computed the first steps alone.
            Some(steps) => {
                let part = case
                    .part(0, steps as u32)
                    .expect("a case with timesteps has parts");
                let mut buffers =
                    copies(&inputs, |_| true).map_err(|error| self.lacking(error.into()))?;
                let advanced = part.advance(&mut buffers, Cpu::Parallel, &NoProgress);
                advanced.map_err(|error| self.lacking(error))?;
                Some(check::exact(&serial.buffers, &buffers))
            }
        };
        let judgement = match compared {
            None => Judgement::default(),
            Some(Ok(())) => Correctness::Equal.into(),
            Some(Err(error)) => Judgement {
                mismatch: Some(explain(case, &error)),
                ..Correctness::Wrong.into()
            },
        };
        let row = |cpu: Cpu, run: Summary, segments, judged| {
            let host_median_s = run.median_s;
            let figures = Figures {
                judgement: judged,
                segments,
                ..Figures::new(run, Clock::Host, host_median_s)
            };
            // The amount of useful work is the same for every variant.
            let with_work = figures.with_work(case.work(), case.timesteps());
            let outcome = Outcome::Timed(Box::new(with_work));
            Row::new(Wanted::Cpu, cpu.name(), case.label(), outcome)
        };
        let reference = Correctness::Reference.into();
        let mut rows = vec![
            row(Cpu::Serial, serial.run, serial.segments, reference),
            row(Cpu::Parallel, parallel.run, parallel.segments, judgement),
        ];
        keep_outputs(self.lab, &mut outputs);
        let known = rows.clone();
        compare_with_cpu(&mut rows, &known);
        Ok(References {
            rows,
            case: case.label().into(),
            outputs,
        })
    }
}

/// A reference, timed.
struct Timed {
    run: Summary,
    /// Into how many parts runs were divided, if they were.
    segments: Option<u32>,
    /// As the last run left them.
    buffers: NamedBuffers,
    /// The steps of that run, if it ended before the last of the case.
    steps: Option<u64>,
}

/// A run: the time of all its parts, of each with the timesteps of that, and what it left.
struct Run {
    time: Duration,
    parts: Vec<(u64, Duration)>,
    buffers: NamedBuffers,
}

impl Run {
    fn steps(&self) -> u64 {
        self.parts.iter().map(|(steps, _)| steps).sum()
    }
}

/// Times a reference, without setup. A first run that takes long enough is itself warm, and counts;
/// of one that takes longer still, each part is a sample. On one core, such a run ends once these
/// are enough.
fn time(
    case: &dyn LabCase,
    inputs: &NamedBuffers,
    cpu: Cpu,
    bench: &Bench<'_>,
) -> Result<Timed, Error> {
    let (began, settings) = (Instant::now(), &bench.settings);
    let text = || format!("{} on the CPU, {}", bench.progress, cpu.name());
    let bar = || Bar::since(text(), began);
    let rule = &settings.cpu;
    let first = in_parts(case, inputs, cpu, rule, &bar())?;
    if first.time >= rule.min_time && !first.parts.is_empty() {
        return by_parts(case, first, rule, || {
            in_parts(case, inputs, cpu, rule, &bar())
        });
    }
    let mut buffers = first.buffers;
    let run = rule.collect(|index| {
        if index == 0 && first.time >= settings.cpu_warm_up {
            return Ok(first.time);
        }
        buffers = copies(inputs, |_| true)?;
        case.advance(&mut buffers, cpu, &bar())
    })?;
    Ok(Timed {
        run,
        segments: None,
        buffers,
        steps: None,
    })
}

/// Runs until the parts are samples enough.
fn by_parts(
    case: &dyn LabCase,
    first: Run,
    rule: &SamplingRule,
    mut again: impl FnMut() -> Result<Run, Error>,
) -> Result<Timed, Error> {
    let all = case.timesteps().unwrap_or(0);
    let mut samples = Collector::new(*rule);
    let mut run = first;
    loop {
        add(&mut samples, &run.parts, all);
        if samples.is_done() {
            break;
        }
        run = again()?;
    }
    let steps = run.steps();
    let mut summary = samples.finish();
    let whole_s = run.time.as_secs_f64() * all as f64 / steps as f64;
    let segments_s = summary.median_s;
    if are_apart(segments_s, whole_s) {
        summary.doubt(Doubt::Segments {
            segments_s,
            whole_s,
        });
    }
    Ok(Timed {
        run: summary,
        segments: Some(SEGMENTS),
        buffers: run.buffers,
        steps: (steps < all).then_some(steps),
    })
}

/// Adds each part as a sample of a run of `all` timesteps.
fn add(samples: &mut Collector, parts: &[(u64, Duration)], all: u64) {
    for (part, time) in parts {
        samples.push(time.mul_f64(all as f64 / *part as f64).into());
    }
}

/// One run, in parts if it has as many timesteps. On one core it ends once they are samples enough.
fn in_parts(
    case: &dyn LabCase,
    inputs: &NamedBuffers,
    cpu: Cpu,
    rule: &SamplingRule,
    bar: &Bar,
) -> Result<Run, Error> {
    let mut buffers = copies(inputs, |_| true)?;
    let all = case.timesteps().unwrap_or(0);
    if all < SEGMENTS.into() || case.part(0, 1).is_none() {
        let time = case.advance(&mut buffers, cpu, bar)?;
        return Ok(Run {
            time,
            parts: Vec::new(),
            buffers,
        });
    }
    let ends: Vec<u64> = (0..=u64::from(SEGMENTS))
        .map(|part| all * part / u64::from(SEGMENTS))
        .collect();
    let (mut parts, mut samples) = (Vec::new(), Collector::new(*rule));
    for between in ends.windows(2) {
        let (first, steps) = (between[0], between[1] - between[0]);
        let part = case
            .part(first as u32, steps as u32)
            .expect("a case with timesteps has parts");
        parts.push((steps, part.advance(&mut buffers, cpu, &NoProgress)?));
        bar.update(between[1], all);
        add(&mut samples, &parts[parts.len() - 1..], all);
        if cpu == Cpu::Serial && samples.is_settled() {
            break;
        }
    }
    Ok(Run {
        time: parts.iter().map(|(_, time)| *time).sum(),
        parts,
        buffers,
    })
}
