//! Timing several runs in turns, so that what changes meanwhile changes for all of them.

use std::thread;
use std::time::{Duration, Instant};

use host::telemetry::Reading;
use host::{Capture, KernelInfo, Launching, NamedBuffers, Timing};

use super::contender::{TimedRun, Trouble};
use super::results::{Batched, Clock, Conditions, PerCommand};
use super::settings::Settings;
use super::watch::{self, Watch};
use crate::stats::{Collector, Doubt, Sample, SamplingRule, Summary};

/// Commands that take less on average are short beside the launching of them.
const SHORT_COMMAND: Duration = Duration::from_micros(20);
/// The most runs of a batch.
const MAX_RUNS: f64 = 10_000.0;
/// After a sample under throttling, the device gets as much time to recover.
const RECOVERY: Duration = Duration::from_millis(50);

/// What was measured of one run.
pub struct Timed {
    /// Alone, after a flush of the cache.
    pub isolated: Summary,
    /// How its commands reached the device.
    pub isolated_by: Launching,
    /// The same turn by turn; `None` where the sample does not count.
    pub turns_s: Vec<Option<f64>>,
    /// Which clock `isolated` is by.
    pub clock: Clock,
    /// Median by the host's clock.
    pub host_median_s: f64,
    /// Back to back.
    pub batched: Batched,
    /// Of one command.
    pub per_command: Option<PerCommand>,
    /// While it was timed.
    pub conditions: Option<Conditions>,
    /// The kernels as the device compiled them.
    pub kernels: Vec<KernelInfo>,
    /// What the last isolated run gave, and for a graph also a run by stream.
    pub outputs: Vec<NamedBuffers>,
}

/// One run that does not settle must not keep many others: so many rows' patience is all that a case gets.
const PATIENT_ROWS: usize = 4;

/// Times the runs, each in every turn, single runs first and then batches. What fails on the way is left out of the rest.
/// So many processes of ours compute on the device; with more, it is shared.
pub fn time(
    runs: Vec<Box<dyn TimedRun + '_>>,
    settings: &Settings,
    watch: &Watch,
    own_processes: u32,
) -> Vec<Result<Timed, Trouble>> {
    let scaled = |rule: SamplingRule| SamplingRule {
        patience: rule
            .patience
            .saturating_mul(runs.len().min(PATIENT_ROWS) as u32),
        ..rule
    };
    let (isolated, batched) = (scaled(settings.isolated), scaled(settings.batched));
    let mut turns: Vec<Turn<'_>> = runs.into_iter().map(|run| Turn::new(run, watch)).collect();

    each(&mut turns, Turn::capture);
    let began = Instant::now();
    while {
        each(&mut turns, Turn::warm_up);
        began.elapsed() < settings.device_warm_up && turns.iter().any(Turn::is_alive)
    } {}

    each(&mut turns, |turn| turn.begin_isolated(isolated));
    while {
        each(&mut turns, Turn::isolated);
        turns.iter().any(|turn| turn.needs(&turn.isolated))
    } {}
    each(&mut turns, |turn| turn.keep_outputs());

    each(&mut turns, |turn| turn.begin_batches(batched, settings));
    while turns.iter().any(Turn::needs_batch) {
        each(&mut turns, Turn::batch);
    }
    each(&mut turns, Turn::check_stream);
    if let Some(time) = settings.energy {
        each(&mut turns, |turn| turn.count_energy(time));
    }
    let turns = turns.into_iter();
    turns.map(|turn| turn.finish(own_processes)).collect()
}

fn each<'p>(turns: &mut [Turn<'p>], mut step: impl FnMut(&mut Turn<'p>) -> Result<(), Trouble>) {
    for turn in turns {
        if turn.is_alive()
            && let Err(trouble) = step(turn)
        {
            turn.trouble = Some(trouble);
        }
    }
}

/// One run in the making.
struct Turn<'p> {
    run: Box<dyn TimedRun + 'p>,
    watch: Watch,
    trouble: Option<Trouble>,
    isolated: Option<Collector>,
    turns_s: Vec<Option<f64>>,
    clock: Clock,
    host_s: Vec<f64>,
    outputs: Vec<NamedBuffers>,
    capture: Option<Capture>,
    runs: u32,
    batched: Option<Collector>,
    stream: Option<Collector>,
    readings: Vec<Reading>,
    energy_per_run_j: Option<f64>,
}

impl<'p> Turn<'p> {
    fn new(run: Box<dyn TimedRun + 'p>, watch: &Watch) -> Turn<'p> {
        Turn {
            run,
            watch: watch.clone(),
            trouble: None,
            isolated: None,
            turns_s: Vec::new(),
            clock: Clock::Device,
            host_s: Vec::new(),
            outputs: Vec::new(),
            capture: None,
            runs: 1,
            batched: None,
            stream: None,
            readings: Vec::new(),
            energy_per_run_j: None,
        }
    }

    fn is_alive(&self) -> bool {
        self.trouble.is_none()
    }

    fn needs(&self, collector: &Option<Collector>) -> bool {
        let is_done = collector.as_ref().is_none_or(Collector::is_done);
        self.is_alive() && !is_done
    }

    fn capture(&mut self) -> Result<(), Trouble> {
        self.capture = Some(self.run.capture()?);
        Ok(())
    }

    /// Each way of launching at least once.
    fn warm_up(&mut self) -> Result<(), Trouble> {
        for by in [Launching::Stream, self.launching()] {
            self.run.reset()?;
            self.run.run_times(1, by)?;
        }
        Ok(())
    }

    fn begin_isolated(&mut self, rule: SamplingRule) -> Result<(), Trouble> {
        self.isolated = Some(Collector::new(rule));
        Ok(())
    }

    fn isolated(&mut self) -> Result<(), Trouble> {
        self.run.reset()?;
        self.run.flush()?;
        let timing = self.run.run_times(1, self.isolated_by())?;
        let sample = self.sample(timing, 1);
        self.host_s.push(timing.host.as_secs_f64());
        let counts = sample.discard.is_none();
        self.turns_s
            .push(counts.then_some(sample.time.as_secs_f64()));
        push(&mut self.isolated, sample);
        Ok(())
    }

    /// The time of one of so many runs, and whether the device was at full speed when they ended.
    fn sample(&mut self, timing: Timing, runs: u32) -> Sample {
        let reading = self.watch.read();
        let discard = reading
            .as_ref()
            .and_then(|reading| self.watch.discard(reading));
        self.readings.extend(reading);
        if discard.is_some() {
            thread::sleep(RECOVERY);
        }
        if timing.device.is_none() {
            self.clock = Clock::Host;
        }
        Sample {
            time: timing.device.unwrap_or(timing.host) / runs,
            discard,
        }
    }

    fn keep_outputs(&mut self) -> Result<(), Trouble> {
        let outputs = self.run.outputs()?;
        let is_same = |kept: &NamedBuffers| {
            let pairs = kept.iter().zip(&outputs);
            let mut equal = pairs.map(|(a, b)| a.0 == b.0 && a.1.bytes() == b.1.bytes());
            kept.len() == outputs.len() && equal.all(|equal| equal)
        };
        // Gigabytes for each variant of a large case: the same result is kept and compared once.
        if !self.outputs.iter().any(is_same) {
            self.outputs.push(outputs);
        }
        Ok(())
    }

    fn begin_batches(&mut self, rule: SamplingRule, settings: &Settings) -> Result<(), Trouble> {
        let one_s = self
            .isolated
            .clone()
            .map_or(0.0, |isolated| isolated.finish().median_s);
        let runs = settings.batch.as_secs_f64() / one_s.max(1e-9);
        self.runs = runs.ceil().clamp(1.0, MAX_RUNS) as u32;
        self.run.reset()?;
        self.batched = Some(Collector::new(rule));
        let is_short = self
            .run
            .commands()
            .is_some_and(|commands| one_s < SHORT_COMMAND.as_secs_f64() * commands as f64);
        if self.is_graph() && is_short {
            self.stream = Some(Collector::new(rule));
        }
        Ok(())
    }

    fn is_graph(&self) -> bool {
        matches!(self.capture, Some(Capture::Graph { .. }))
    }

    fn launching(&self) -> Launching {
        if self.is_graph() {
            Launching::Graph
        } else {
            Launching::Stream
        }
    }

    /// The launching of one command as a graph would only add to its time.
    fn isolated_by(&self) -> Launching {
        match self.run.commands() {
            Some(1) => Launching::Stream,
            _ => self.launching(),
        }
    }

    fn needs_batch(&self) -> bool {
        self.needs(&self.batched) || self.needs(&self.stream)
    }

    /// Batches are not compared turn by turn: what is known well enough leaves its time to the rest.
    fn batch(&mut self) -> Result<(), Trouble> {
        if !self.needs_batch() {
            return Ok(());
        }
        let timing = self.run.run_times(self.runs, self.launching())?;
        let sample = self.sample(timing, self.runs);
        push(&mut self.batched, sample);
        if self.stream.is_some() {
            let timing = self.run.run_times(self.runs, Launching::Stream)?;
            let sample = self.sample(timing, self.runs);
            push(&mut self.stream, sample);
        }
        Ok(())
    }

    /// What a batch leaves depends on how many runs it had: one by stream, from the inputs, can be checked.
    fn check_stream(&mut self) -> Result<(), Trouble> {
        if self.is_graph() {
            self.run.reset()?;
            self.run.run_times(1, Launching::Stream)?;
            self.keep_outputs()?;
        }
        Ok(())
    }

    fn count_energy(&mut self, time: Duration) -> Result<(), Trouble> {
        let energy_j = |watch: &Watch| watch.read()?.energy_j;
        let Some(before_j) = energy_j(&self.watch) else {
            return Ok(());
        };
        let began = Instant::now();
        let mut runs = 0_u64;
        while began.elapsed() < time {
            self.run.run_times(self.runs, self.launching())?;
            runs += u64::from(self.runs);
        }
        self.energy_per_run_j =
            energy_j(&self.watch).map(|after_j| (after_j - before_j) / runs as f64);
        Ok(())
    }

    fn finish(self, own_processes: u32) -> Result<Timed, Trouble> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        let (by, isolated_by) = (self.launching(), self.isolated_by());
        let kernels = self.run.kernels()?;
        let commands = self.run.commands();
        let summary = |collector: Option<Collector>| collector.map(Collector::finish);
        let (Some(mut isolated), Some(batched)) = (summary(self.isolated), summary(self.batched))
        else {
            return Err(Trouble::Failed("it was never timed".to_owned()));
        };
        let mut conditions = watch::conditions(&self.readings);
        if let Some(conditions) = &mut conditions {
            conditions.energy_per_run_j = self.energy_per_run_j;
            let processes = conditions.compute_processes;
            if let Some(processes) = processes.filter(|count| *count > own_processes) {
                isolated.doubts.push(Doubt::Shared { processes });
            }
        }
        let host_median_s = Summary::new(self.host_s).median_s;
        if self.clock == Clock::Device && disagree(isolated.median_s, host_median_s) {
            isolated.doubts.push(Doubt::Clocks {
                device_s: isolated.median_s,
                host_s: host_median_s,
            });
        }
        let per_command = summary(self.stream)
            .zip(commands)
            .map(|(stream, commands)| {
                let one_s = |run: &Summary| run.median_s / commands.max(1) as f64;
                PerCommand {
                    commands,
                    stream_s: one_s(&stream),
                    graph_s: (by == Launching::Graph).then(|| one_s(&batched)),
                }
            });
        let no_graph = match self.capture {
            Some(Capture::Stream { reason }) => Some(reason),
            _ => None,
        };
        Ok(Timed {
            isolated,
            isolated_by,
            turns_s: self.turns_s,
            clock: self.clock,
            host_median_s,
            batched: Batched {
                by,
                no_graph,
                runs: self.runs,
                run: batched,
            },
            per_command,
            conditions,
            kernels,
            outputs: self.outputs,
        })
    }
}

fn push(collector: &mut Option<Collector>, sample: Sample) {
    if let Some(collector) = collector {
        collector.push(sample);
    }
}

/// Events lie within what the host measures, and the host adds little: starting and waiting.
fn disagree(device_s: f64, host_s: f64) -> bool {
    device_s > 1.01 * host_s || host_s > 1.05 * device_s + 5e-4
}
