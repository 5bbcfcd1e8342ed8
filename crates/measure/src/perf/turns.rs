//! Timing several runs in turns, so that what changes meanwhile changes for all of them.

use std::thread;
use std::time::{Duration, Instant};

use device::Segments;
use device::telemetry::Reading;
use device::{Capture, Launching, NamedBuffers, Timing};
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

/// Parts of a long run that are timed one by one.
const SEGMENTS: u32 = 20;
/// By so much may the time of a run differ between its parts and the whole.
const SEGMENTS_APART: f64 = 0.01;

/// What was measured of one run.
pub struct Timed {
    /// Times, kernels and conditions; what the run is worth, the caller knows.
    pub figures: Figures,
    /// The isolated times turn by turn; `None` where the sample does not count or none was taken. Empty if it took no turns.
    pub turns_s: Vec<Option<f64>>,
    /// What a timed isolated run gave: which of the [`DistinctOutputs`].
    pub output: Option<usize>,
}

/// Results of runs, each once however many runs gave it: they can be gigabytes.
#[derive(Default)]
pub struct DistinctOutputs {
    pub all: Vec<NamedBuffers>,
    /// Where the next is read to.
    spare: NamedBuffers,
}

impl DistinctOutputs {
    /// Reads a result: which of all it is.
    fn read(&mut self, run: &mut dyn TimedRun) -> Result<usize, Trouble> {
        run.outputs(&mut self.spare)?;
        let is_same = |known: &NamedBuffers| {
            let mut pairs = known.iter().zip(&self.spare);
            known.len() == self.spare.len() && pairs.all(|(a, b)| a.0 == b.0 && a.1.is_same(&b.1))
        };
        if let Some(known) = self.all.iter().position(is_same) {
            return Ok(known);
        }
        self.all.push(std::mem::take(&mut self.spare));
        Ok(self.all.len() - 1)
    }
}

/// Times the runs, which may share their memory. Those that are short take turns, one run each, and then a batch each; those that
/// are long are timed one after the other, in parts. A run that fails is left out of the rest.
///
/// So many processes of ours compute on the device; if there are more, it is shared.
pub fn time(
    runs: Vec<Box<dyn TimedRun + '_>>,
    settings: &Settings,
    watch: &Watch,
    own_processes: u32,
    distinct: &mut DistinctOutputs,
) -> Vec<Result<Timed, Trouble>> {
    let rows = runs.len().min(PATIENT_ROWS) as u32;
    let isolated = SamplingRule {
        patience: settings.isolated.patience.saturating_mul(rows),
        min_time: settings.isolated.min_time.saturating_mul(rows),
        ..settings.isolated
    };
    let turns = runs.into_iter();
    let mut turns: Vec<Turn<'_>> = turns.map(|run| Turn::new(run, watch, isolated)).collect();

    let began = Instant::now();
    let mut all: Vec<&mut Turn<'_>> = turns.iter_mut().collect();
    each(&mut all, Turn::capture);
    each(&mut all, |turn| turn.begin(settings, distinct));
    let mut short: Vec<&mut Turn<'_>> = turns.iter_mut().filter(|turn| !turn.is_long).collect();
    while {
        each(&mut short, Turn::warm_up);
        began.elapsed() < settings.device_warm_up && short.iter().any(|turn| turn.is_alive())
    } {}

    for turn in &mut short {
        turn.isolated = Collector::new(isolated);
    }
    each(&mut short, |turn| turn.checked(distinct));
    // To read and compare gigabytes takes longer than to compute them.
    for turn in &mut short {
        turn.isolated.restart_time();
    }
    while short.iter().any(|turn| turn.needs(&turn.isolated)) {
        each(&mut short, Turn::isolated_or_wait);
    }
    each(&mut short, |turn| turn.batches(settings));
    let turns = turns.into_iter();
    turns.map(|turn| turn.finish(own_processes)).collect()
}

fn each<'p>(
    turns: &mut [&mut Turn<'p>],
    mut step: impl FnMut(&mut Turn<'p>) -> Result<(), Trouble>,
) {
    for turn in turns.iter_mut().filter(|turn| turn.is_alive()) {
        turn.trouble = step(turn).err();
    }
}

/// One run, while it is timed.
struct Turn<'p> {
    run: Box<dyn TimedRun + 'p>,
    watch: Watch,
    trouble: Option<Trouble>,
    /// Whether it is timed in parts.
    is_long: bool,
    rule: SamplingRule,
    /// Single runs.
    isolated: Collector,
    turns_s: Vec<Option<f64>>,
    clock: Clock,
    host_s: Vec<f64>,
    output: Option<usize>,
    /// Of the last run in parts: its time by the device's events, and how it was launched.
    whole: Option<(f64, Launching)>,
    /// Why the run is not a graph, if it is none.
    no_graph: Option<String>,
    /// Runs of a batch.
    runs: u32,
    batched: Option<Summary>,
    readings: Vec<Reading>,
    energy_per_run_j: Option<f64>,
}

impl<'p> Turn<'p> {
    fn new(run: Box<dyn TimedRun + 'p>, watch: &Watch, rule: SamplingRule) -> Turn<'p> {
        Turn {
            run,
            watch: watch.clone(),
            trouble: None,
            is_long: false,
            rule,
            isolated: Collector::new(rule),
            turns_s: Vec::new(),
            clock: Clock::Device,
            host_s: Vec::new(),
            output: None,
            whole: None,
            no_graph: None,
            runs: 1,
            batched: None,
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

    /// The first run, which loads the code. If it is long, all that is measured is done now.
    fn begin(
        &mut self,
        settings: &Settings,
        distinct: &mut DistinctOutputs,
    ) -> Result<(), Trouble> {
        self.run.reset()?;
        self.run.flush()?;
        let before_j = settings.energy.and_then(|_| self.energy_j());
        let Some(segments) = self.run.run_segments(SEGMENTS)? else {
            self.run.run_times(1, Launching::Stream)?;
            return Ok(());
        };
        let Timing { device, host } = segments.whole;
        self.is_long = device.unwrap_or(host) >= settings.long;
        match self.is_long {
            true => self.in_segments(segments, before_j, distinct),
            false => Ok(()),
        }
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

    /// A turn of a run whose samples are enough is left out: the time is for those that need more.
    fn isolated_or_wait(&mut self) -> Result<(), Trouble> {
        if self.needs(&self.isolated) {
            return self.isolated();
        }
        self.turns_s.push(None);
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
        let reading = self.watch.read_recent();
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

    /// The first timed run, whose outputs are read: runs may share their memory, so no later one leaves them there.
    fn checked(&mut self, distinct: &mut DistinctOutputs) -> Result<(), Trouble> {
        self.isolated()?;
        self.output = Some(distinct.read(self.run.as_mut())?);
        Ok(())
    }

    /// Runs back to back, and the energy that they take. They are not compared turn by turn, so each takes all of its own in one
    /// go.
    fn batches(&mut self, settings: &Settings) -> Result<(), Trouble> {
        let one_s = self.isolated.clone().finish().median_s;
        let runs = settings.batch.as_secs_f64() / one_s.max(1e-9);
        self.runs = runs.ceil().clamp(1.0, MAX_RUNS) as u32;
        self.run.reset()?;
        let before_j = self.energy_j();
        let least = settings.energy.filter(|_| before_j.is_some());
        let (began, mut runs) = (Instant::now(), 0_u64);
        let mut batched = Collector::new(settings.batched);
        while !batched.is_done() || least.is_some_and(|least| began.elapsed() < least) {
            let timing = self.run.run_times(self.runs, self.launching())?;
            let sample = self.sample(timing, self.runs);
            batched.push(sample);
            runs += u64::from(self.runs);
        }
        if least.is_some() {
            self.count_energy(before_j, runs);
        }
        self.batched = Some(batched.finish());
        Ok(())
    }

    /// Times a long run in parts, beginning with those of its first run, and reads its outputs. Its energy is that of the timed
    /// runs.
    fn in_segments(
        &mut self,
        first: Segments,
        before_j: Option<f64>,
        distinct: &mut DistinctOutputs,
    ) -> Result<(), Trouble> {
        self.isolated = Collector::new(SamplingRule {
            min_samples: SEGMENTS as usize,
            ..self.rule
        });
        let (mut segments, mut before_j) = (first, before_j);
        let (mut joule, mut runs) = (0.0, 0_u64);
        loop {
            if let Some((before_j, after_j)) = before_j.zip(self.energy_j()) {
                joule += after_j - before_j;
                runs += 1;
            }
            let whole = self.sample(segments.whole, 1);
            self.host_s.push(segments.whole.host.as_secs_f64());
            let whole_s = whole.time.as_secs_f64();
            self.whole = Some((whole_s, segments.by));
            let commands: u64 = segments.parts.iter().map(|(commands, _)| commands).sum();
            for (part, time) in segments.parts {
                self.isolated.push(Sample {
                    time: time.mul_f64(commands as f64 / part as f64),
                    discard: whole.discard.clone(),
                });
            }
            // In a first run, the code is loaded, and clocks rise.
            let median_s = self.isolated.clone().finish().median_s;
            let is_like = !are_apart(median_s, whole_s);
            if self.isolated.is_over() || self.isolated.is_settled() && is_like {
                break;
            }
            self.run.reset()?;
            self.run.flush()?;
            before_j = before_j.and_then(|_| self.energy_j());
            segments = self.run.run_segments(SEGMENTS)?.ok_or_else(|| {
                Trouble::Failed("the run had parts once, and then no more".to_owned())
            })?;
        }
        if runs > 0 {
            self.energy_per_run_j = Some(joule / runs as f64);
        }
        self.output = Some(distinct.read(self.run.as_mut())?);
        Ok(())
    }

    fn energy_j(&self) -> Option<f64> {
        self.watch.read()?.energy_j
    }

    fn count_energy(&mut self, before_j: Option<f64>, runs: u64) {
        let joule = self.energy_j().zip(before_j);
        self.energy_per_run_j = joule.map(|(after_j, before_j)| (after_j - before_j) / runs as f64);
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
        if let Some((whole_s, _)) = self.whole
            && are_apart(isolated.median_s, whole_s)
        {
            isolated.doubts.push(Doubt::Segments {
                segments_s: isolated.median_s,
                whole_s,
            });
        }
        let host_median_s = Summary::new(self.host_s).median_s;
        if self.clock == Clock::Device && disagree(isolated.median_s, host_median_s) {
            isolated.doubts.push(Doubt::Clocks {
                device_s: isolated.median_s,
                host_s: host_median_s,
            });
        }
        let batched = self.batched.map(|run| Batched {
            by,
            no_graph: self.no_graph,
            runs: self.runs,
            run,
        });
        Ok(Timed {
            figures: Figures {
                by: Some(self.whole.map_or(isolated_by, |(_, by)| by)),
                batched,
                segments: self.whole.map(|_| SEGMENTS),
                conditions,
                kernels: self.run.kernels()?,
                ..Figures::new(isolated, self.clock, host_median_s)
            },
            turns_s: self.turns_s,
            output: self.output,
        })
    }
}

/// Whether the parts of a run are not like the whole.
fn are_apart(segments_s: f64, whole_s: f64) -> bool {
    (segments_s / whole_s - 1.0).abs() > SEGMENTS_APART
}

/// Events lie within what the host measures, and the host adds little: starting and waiting.
fn disagree(device_s: f64, host_s: f64) -> bool {
    device_s > 1.01 * host_s || host_s > 1.05 * device_s + 5e-4
}
