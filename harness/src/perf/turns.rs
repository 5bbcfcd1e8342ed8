//! Timing several runs in turns, so that what changes meanwhile changes for all of them.

use std::thread;
use std::time::{Duration, Instant};

use host::telemetry::Reading;
use host::{Capture, Launching, NamedBuffers, Timing};
use stats::{Collector, Doubt, Sample, SamplingRule, Summary};

use super::contender::{TimedRun, Trouble};
use super::results::{Batched, Clock, Figures};
use super::settings::Settings;
use super::watch::{self, Watch};

/// The most runs of a batch.
const MAX_RUNS: f64 = 10_000.0;
/// How long the device gets to recover after a sample under throttling.
const RECOVERY: Duration = Duration::from_millis(50);
/// One run that does not settle must not keep many others: a case gets the patience of at most so many rows.
const PATIENT_ROWS: usize = 4;

/// What was measured of one run.
pub struct Timed {
    /// Times, kernels and conditions; what the run is worth, the caller knows.
    pub figures: Figures,
    /// The isolated times turn by turn; `None` where the sample does not count.
    pub turns_s: Vec<Option<f64>>,
    /// What the last isolated run gave, and for a graph also a run by stream.
    pub outputs: Vec<NamedBuffers>,
}

/// Times the runs, each in every turn: single runs first, then batches. A run that fails is left out of the rest.
///
/// So many processes of ours compute on the device; if there are more, it is shared.
pub fn time(
    runs: Vec<Box<dyn TimedRun + '_>>,
    settings: &Settings,
    watch: &Watch,
    own_processes: u32,
) -> Vec<Result<Timed, Trouble>> {
    let rows = runs.len().min(PATIENT_ROWS) as u32;
    let scaled = |rule: SamplingRule| SamplingRule {
        patience: rule.patience.saturating_mul(rows),
        ..rule
    };
    let (isolated, batched) = (scaled(settings.isolated), scaled(settings.batched));
    let turns = runs.into_iter();
    let mut turns: Vec<Turn<'_>> = turns.map(|run| Turn::new(run, watch, isolated)).collect();

    each(&mut turns, Turn::capture);
    let began = Instant::now();
    while {
        each(&mut turns, Turn::warm_up);
        began.elapsed() < settings.device_warm_up && turns.iter().any(Turn::is_alive)
    } {}

    for turn in &mut turns {
        turn.isolated = Collector::new(isolated);
    }
    while {
        each(&mut turns, Turn::isolated);
        turns.iter().any(|turn| turn.needs(&turn.isolated))
    } {}
    each(&mut turns, Turn::keep_outputs);

    each(&mut turns, |turn| turn.begin_batches(batched, settings));
    while turns.iter().any(|turn| turn.needs(&turn.batched)) {
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
    for turn in turns.iter_mut().filter(|turn| turn.is_alive()) {
        turn.trouble = step(turn).err();
    }
}

/// One run, while it is timed.
struct Turn<'p> {
    run: Box<dyn TimedRun + 'p>,
    watch: Watch,
    trouble: Option<Trouble>,
    /// Single runs.
    isolated: Collector,
    turns_s: Vec<Option<f64>>,
    clock: Clock,
    host_s: Vec<f64>,
    outputs: Vec<NamedBuffers>,
    /// Why the run is not a graph, if it is none.
    no_graph: Option<String>,
    /// Runs of a batch.
    runs: u32,
    batched: Collector,
    readings: Vec<Reading>,
    energy_per_run_j: Option<f64>,
}

impl<'p> Turn<'p> {
    fn new(run: Box<dyn TimedRun + 'p>, watch: &Watch, rule: SamplingRule) -> Turn<'p> {
        Turn {
            run,
            watch: watch.clone(),
            trouble: None,
            isolated: Collector::new(rule),
            turns_s: Vec::new(),
            clock: Clock::Device,
            host_s: Vec::new(),
            outputs: Vec::new(),
            no_graph: None,
            runs: 1,
            batched: Collector::new(rule),
            readings: Vec::new(),
            energy_per_run_j: None,
        }
    }

    fn is_alive(&self) -> bool {
        self.trouble.is_none()
    }

    fn needs(&self, collector: &Collector) -> bool {
        self.is_alive() && !collector.is_done()
    }

    fn capture(&mut self) -> Result<(), Trouble> {
        if let Capture::Stream { reason } = self.run.capture()? {
            self.no_graph = Some(reason);
        }
        Ok(())
    }

    fn launching(&self) -> Launching {
        match self.no_graph {
            None => Launching::Graph,
            Some(_) => Launching::Stream,
        }
    }

    /// Launching one command as a graph would only add to its time.
    fn isolated_by(&self) -> Launching {
        match self.run.commands() {
            Some(1) => Launching::Stream,
            _ => self.launching(),
        }
    }

    /// Runs each way of launching at least once.
    fn warm_up(&mut self) -> Result<(), Trouble> {
        for by in [Launching::Stream, self.launching()] {
            self.run.reset()?;
            self.run.run_times(1, by)?;
        }
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
        self.isolated.push(sample);
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
        let one_s = self.isolated.clone().finish().median_s;
        let runs = settings.batch.as_secs_f64() / one_s.max(1e-9);
        self.runs = runs.ceil().clamp(1.0, MAX_RUNS) as u32;
        self.batched = Collector::new(rule);
        self.run.reset()
    }

    /// Batches are not compared turn by turn: what is known well enough leaves its time to the rest.
    fn batch(&mut self) -> Result<(), Trouble> {
        if self.needs(&self.batched) {
            let timing = self.run.run_times(self.runs, self.launching())?;
            let sample = self.sample(timing, self.runs);
            self.batched.push(sample);
        }
        Ok(())
    }

    /// What a batch leaves depends on how many runs it had: one run by stream, from the inputs, can be checked.
    fn check_stream(&mut self) -> Result<(), Trouble> {
        if self.no_graph.is_none() {
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
        let after_j = energy_j(&self.watch);
        self.energy_per_run_j = after_j.map(|after_j| (after_j - before_j) / runs as f64);
        Ok(())
    }

    fn finish(self, own_processes: u32) -> Result<Timed, Trouble> {
        let (by, isolated_by) = (self.launching(), self.isolated_by());
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        let mut isolated = self.isolated.finish();
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
        let batched = Batched {
            by,
            no_graph: self.no_graph,
            runs: self.runs,
            run: self.batched.finish(),
        };
        Ok(Timed {
            figures: Figures {
                by: Some(isolated_by),
                batched: Some(batched),
                conditions,
                kernels: self.run.kernels()?,
                ..Figures::new(isolated, self.clock, host_median_s)
            },
            turns_s: self.turns_s,
            outputs: self.outputs,
        })
    }
}

/// Events lie within what the host measures, and the host adds little: starting and waiting.
fn disagree(device_s: f64, host_s: f64) -> bool {
    device_s > 1.01 * host_s || host_s > 1.05 * device_s + 5e-4
}
