//! Timing several runs in turns, so that what changes meanwhile changes for all of them.

use std::thread;
use std::time::{Duration, Instant};

use device::Segments;
use device::run::Digests;
use device::telemetry::Reading;
use device::{Capture, Launching, NamedBuffers, Timing};
use stats::{Collector, Doubt, Sample, SamplingRule, Summary};

use super::settings::Settings;
use super::timed_run::{RunError, TimedRun};
use super::watch::{self, Watch};
use crate::perf::stopwatch::Stopwatch;
use results::spent::Phase;
use results::{Batched, Clock, Figures, OnDevice};

mod capped;
mod elsewhere;

pub use elsewhere::medians;

/// The highest number of runs in a batch.
const MAX_RUNS: f64 = 10_000.0;
/// A run of this number of times the least time of a batch has no batched time: it would be that of
/// a single run.
const WITHOUT_BATCH: f64 = 2.0;
/// The pause in which the device recovers after a sample under throttling.
const RECOVERY: Duration = Duration::from_millis(50);
/// One run that does not settle must not keep many others: the patience for a case is that of this
/// number of rows at most.
const PATIENT_ROWS: usize = 4;

/// Parts of a long run that are timed one by one.
pub const SEGMENTS: u32 = 20;
/// By this share may the time of a run differ between its parts and the whole.
const SEGMENTS_APART: f64 = 0.01;
/// Shorter commands are not timed in parts: by stream, they would wait for the host, which launches
/// one in 3.6 us.
const COMMAND: Duration = Duration::from_micros(10);

/// The measurement of one run.
pub struct Timed {
    /// Times, kernels and conditions; the caller adds what the run is worth.
    pub figures: Figures,
    /// The isolated times turn by turn; `None` where the sample does not count or none was taken.
    /// Empty if it took no turns, or was timed alone at the power cap.
    pub turns_s: Vec<Option<f64>>,
    /// Which of the [`DistinctOutputs`] a timed isolated run gave.
    pub output: Option<usize>,
}

/// Results of runs, each once however many runs gave it: they can be gigabytes.
#[derive(Default)]
pub struct DistinctOutputs {
    pub all: Vec<NamedBuffers>,
    /// Of each, where the device makes them.
    digests: Vec<Option<Digests>>,
}

impl DistinctOutputs {
    /// The run's result: which of all it is. One that is known stays on the device.
    fn of(&mut self, run: &mut TimedRun<'_>) -> Result<usize, RunError> {
        let digests = run.digests()?;
        for (index, (known, known_digests)) in self.all.iter().zip(&self.digests).enumerate() {
            let is_known = match (&digests, known_digests) {
                (Some(own), Some(its)) => own == its,
                _ => run.holds(known)?,
            };
            if is_known {
                return Ok(index);
            }
        }
        self.all.push(run.outputs()?);
        self.digests.push(digests);
        Ok(self.all.len() - 1)
    }
}

/// Times the runs, each with what reports on its devices. The runs may share their memory. Short
/// runs take turns, one run each, and then a batch each; long runs are timed one after the other,
/// in parts. On a device at its power cap all runs are timed one after the other. A run that fails
/// is left out of the rest.
///
/// A device on which more than `own_processes` compute is shared. Without `distinct`, results are
/// not read.
pub fn time(
    runs: Vec<(TimedRun<'_>, Watch)>,
    settings: &Settings,
    own_processes: u32,
    mut distinct: Option<&mut DistinctOutputs>,
    stopwatch: &Stopwatch,
) -> Vec<Result<Timed, RunError>> {
    let rows = runs.len().min(PATIENT_ROWS) as u32;
    let rule = SamplingRule {
        patience: settings.isolated.patience.saturating_mul(rows),
        min_time: settings.isolated.min_time.saturating_mul(rows),
        ..settings.isolated
    };
    let began = Instant::now();
    let mut turns: Vec<Turn<'_>> = stopwatch.time(Phase::WarmUp, || {
        let mut turns: Vec<Turn<'_>> = runs
            .into_iter()
            .map(|(run, watch)| {
                let distinct = distinct.as_deref_mut();
                let turn = Turn::begin(run, watch, settings, rule, distinct, stopwatch);
                turn.unwrap_or_else(Turn::Failed)
            })
            .collect();
        loop {
            each(&mut turns, Short::warm_up);
            let is_warm = began.elapsed() >= settings.device_warm_up;
            if is_warm || !turns.iter().any(Turn::is_short) {
                break turns;
            }
        }
    });
    each(&mut turns, |turn| {
        turn.sampled.isolated = Collector::new(rule);
        Ok(())
    });
    stopwatch.time(Phase::Results, || {
        each(&mut turns, |turn| turn.checked(distinct.as_deref_mut()));
    });
    // To read and compare gigabytes takes longer than to compute them.
    each(&mut turns, |turn| {
        turn.sampled.isolated.restart_time();
        Ok(())
    });
    stopwatch.time(Phase::Samples, || {
        // Every other turn goes backwards: no run is later than another in all turns, or always
        // comes after the same one. The first was that whose result was checked.
        let mut is_backwards = true;
        while turns.iter().any(Turn::needs_samples) {
            if turns.iter().any(Turn::is_capped) {
                each(&mut turns, |turn| turn.alone(settings.isolated));
                break;
            }
            if is_backwards {
                each(turns.iter_mut().rev(), Short::isolated_or_wait)
            } else {
                each(&mut turns, Short::isolated_or_wait)
            }
            is_backwards = !is_backwards;
        }
    });
    stopwatch.time(Phase::Batches, || {
        each(&mut turns, |turn| turn.back_to_back(settings));
    });
    let turns = turns.into_iter();
    turns.map(|turn| turn.finish(own_processes)).collect()
}

/// Gives every short run a turn.
fn each<'t, 'p: 't>(
    turns: impl IntoIterator<Item = &'t mut Turn<'p>>,
    mut step: impl FnMut(&mut Short<'p>) -> Result<(), RunError>,
) {
    for turn in turns {
        if let Turn::Short(short) = turn
            && let Err(error) = step(short)
        {
            *turn = Turn::Failed(error);
        }
    }
}

/// A run while it is timed.
enum Turn<'p> {
    /// It takes turns with the others.
    Short(Box<Short<'p>>),
    /// It was timed alone, in parts.
    Long(Box<Long<'p>>),
    Failed(RunError),
}

/// A run and its samples.
struct Sampled<'p> {
    run: TimedRun<'p>,
    watch: Watch,
    /// Single runs.
    isolated: Collector,
    rule: SamplingRule,
    clock: Clock,
    host_s: Vec<f64>,
    readings: Vec<Reading>,
    /// Why the run is not a graph, where it is not.
    no_graph: Option<String>,
    energy_per_run_j: Option<f64>,
    output: Option<usize>,
}

/// A run that takes turns.
struct Short<'p> {
    sampled: Sampled<'p>,
    turns_s: Vec<Option<f64>>,
    /// The runs of a batch, and the time of one.
    batched: Option<(u32, Summary)>,
}

/// A run that was timed in parts.
struct Long<'p> {
    sampled: Sampled<'p>,
    /// The last run's time by the device's events, and how it was launched.
    whole: (f64, Launching),
}

impl<'p> Turn<'p> {
    /// The first run, which loads the code. Of a long run, all that is measured is measured now.
    fn begin(
        run: TimedRun<'p>,
        watch: Watch,
        settings: &Settings,
        rule: SamplingRule,
        distinct: Option<&mut DistinctOutputs>,
        stopwatch: &Stopwatch,
    ) -> Result<Turn<'p>, RunError> {
        let mut sampled = Sampled::new(run, watch, rule)?;
        sampled.run.reset()?;
        sampled.run.flush()?;
        let before_j = settings.energy.and_then(|_| sampled.energy_j());
        let Some(segments) = sampled.run.run_segments(SEGMENTS)? else {
            sampled.run.run_times(1, Launching::Stream)?;
            return Ok(Turn::short(sampled));
        };
        let whole = segments.whole.device.unwrap_or(segments.whole.host);
        let commands = sampled.run.commands().try_into().unwrap_or(u32::MAX);
        let waits = segments.by == Launching::Stream && whole < COMMAND.saturating_mul(commands);
        if whole < settings.long || waits {
            return Ok(Turn::short(sampled));
        }
        let warm_up = settings.device_warm_up;
        let energy = settings.energy.unwrap_or_default();
        let last = stopwatch.time(Phase::Samples, || {
            sampled.in_segments(segments, before_j, warm_up, energy)
        })?;
        stopwatch.time(Phase::Results, || sampled.read(distinct))?;
        Ok(Turn::Long(Box::new(Long {
            sampled,
            whole: last,
        })))
    }

    /// It takes turns.
    fn short(sampled: Sampled<'p>) -> Turn<'p> {
        Turn::Short(Box::new(Short::new(sampled)))
    }

    fn is_short(&self) -> bool {
        matches!(self, Turn::Short(_))
    }

    fn needs_samples(&self) -> bool {
        matches!(self, Turn::Short(short) if !short.sampled.isolated.is_done())
    }

    fn finish(self, own_processes: u32) -> Result<Timed, RunError> {
        match self {
            Turn::Failed(error) => Err(error),
            Turn::Long(long) => {
                let Long { sampled, whole } = *long;
                // One whole run by both clocks: its parts need not be alike.
                let mut timed = sampled.finish(own_processes, Some(whole.0))?;
                let figures = &mut timed.figures;
                (figures.on_device.by, figures.segments) = (Some(whole.1), Some(SEGMENTS));
                if are_apart(figures.run.median_s, whole.0) {
                    figures.run.doubt(Doubt::Segments {
                        segments_s: figures.run.median_s,
                        whole_s: whole.0,
                    });
                }
                Ok(timed)
            }
            Turn::Short(short) => {
                let Short {
                    sampled,
                    turns_s,
                    batched,
                } = *short;
                let (by, no_graph) = (sampled.launching(), sampled.no_graph.clone());
                let mut timed = sampled.finish(own_processes, None)?;
                timed.turns_s = turns_s;
                timed.figures.on_device.batched = batched.map(|(runs, run)| Batched {
                    by,
                    no_graph,
                    runs,
                    run,
                });
                Ok(timed)
            }
        }
    }
}

impl<'p> Short<'p> {
    fn new(sampled: Sampled<'p>) -> Short<'p> {
        Short {
            sampled,
            turns_s: Vec::new(),
            batched: None,
        }
    }

    /// Runs each way of launching at least once.
    fn warm_up(&mut self) -> Result<(), RunError> {
        let Sampled { run, .. } = &mut self.sampled;
        run.reset()?;
        run.run_times(1, Launching::Stream)?;
        run.reset()?;
        let by = self.sampled.launching();
        self.sampled.run.run_times(1, by)?;
        Ok(())
    }

    /// A turn of a run whose samples are enough is left out: the time is for those that need more.
    fn isolated_or_wait(&mut self) -> Result<(), RunError> {
        if self.sampled.isolated.is_done() {
            self.turns_s.push(None);
            return Ok(());
        }
        self.isolated()
    }

    fn isolated(&mut self) -> Result<(), RunError> {
        let sampled = &mut self.sampled;
        sampled.run.reset()?;
        sampled.run.flush()?;
        let timing = sampled.run.run_times(1, sampled.isolated_by())?;
        let sample = sampled.sample(timing, 1);
        sampled.host_s.push(timing.host.as_secs_f64());
        let counts = sample.discard.is_none();
        self.turns_s
            .push(counts.then_some(sample.time.as_secs_f64()));
        sampled.isolated.push(sample);
        Ok(())
    }

    /// The first timed run, whose outputs are read: runs may share their memory, so no later one
    /// leaves them there.
    fn checked(&mut self, distinct: Option<&mut DistinctOutputs>) -> Result<(), RunError> {
        self.isolated()?;
        self.sampled.read(distinct)
    }

    /// Runs back to back, and the energy that they take. They are not compared turn by turn, so
    /// each takes all of its own in one go.
    fn back_to_back(&mut self, settings: &Settings) -> Result<(), RunError> {
        let sampled = &mut self.sampled;
        sampled.run.reset()?;
        let Some(batch) = settings.batch else {
            return sampled.energy(settings);
        };
        let one_s = sampled.isolated.clone().finish().median_s;
        if one_s > WITHOUT_BATCH * batch.as_secs_f64() {
            return sampled.energy(settings);
        }
        let of_batch = batch.as_secs_f64() / one_s.max(1e-9);
        let of_batch = of_batch.ceil().clamp(1.0, MAX_RUNS) as u32;
        let before_j = sampled.energy_j();
        let least = settings.energy.filter(|_| before_j.is_some());
        let (began, mut runs) = (Instant::now(), 0_u64);
        let mut batched = Collector::new(settings.batched);
        while !batched.is_done() || least.is_some_and(|least| began.elapsed() < least) {
            let timing = sampled.run.run_times(of_batch, sampled.launching())?;
            batched.push(sampled.sample(timing, of_batch));
            runs += u64::from(of_batch);
        }
        if least.is_some() {
            sampled.count_energy(before_j, runs);
        }
        self.batched = Some((of_batch, batched.finish()));
        Ok(())
    }
}

impl<'p> Sampled<'p> {
    fn new(
        mut run: TimedRun<'p>,
        watch: Watch,
        rule: SamplingRule,
    ) -> Result<Sampled<'p>, RunError> {
        let no_graph = match run.capture()? {
            Capture::Graph { .. } => None,
            Capture::Stream { reason } => Some(reason),
        };
        Ok(Sampled {
            run,
            watch,
            isolated: Collector::new(rule),
            rule,
            clock: Clock::Device,
            host_s: Vec::new(),
            readings: Vec::new(),
            no_graph,
            energy_per_run_j: None,
            output: None,
        })
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
            1 => Launching::Stream,
            _ => self.launching(),
        }
    }

    /// The time of one of these runs, and whether the device was at full speed when they ended. A
    /// sample is discarded here: see [`Watch::discard`].
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

    fn read(&mut self, distinct: Option<&mut DistinctOutputs>) -> Result<(), RunError> {
        if let Some(distinct) = distinct {
            self.output = Some(distinct.of(&mut self.run)?);
        }
        Ok(())
    }

    /// Times a long run in parts, beginning with those of its first run. Runs count once the device
    /// has worked for `warm_up`. Their energy, if it is counted, is that of all runs, which then
    /// take the time `energy` at least.
    fn in_segments(
        &mut self,
        first: Segments,
        before_j: Option<f64>,
        warm_up: Duration,
        energy: Duration,
    ) -> Result<(f64, Launching), RunError> {
        self.isolated = Collector::new(SamplingRule {
            min_samples: SEGMENTS as usize,
            ..self.rule
        });
        let (mut segments, mut before_j) = (first, before_j);
        let (mut joule, mut runs, mut worked_s) = (0.0, 0_u64, 0.0);
        let last = loop {
            if let Some((before_j, after_j)) = before_j.zip(self.energy_j()) {
                joule += after_j - before_j;
                runs += 1;
            }
            let whole = self.sample(segments.whole, 1);
            let whole_s = whole.time.as_secs_f64();
            let is_warm = whole_s.max(worked_s) >= self.warm_up(warm_up).as_secs_f64();
            worked_s += whole_s;
            if is_warm {
                self.host_s.push(segments.whole.host.as_secs_f64());
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
                let is_counted = before_j.is_none() || worked_s >= energy.as_secs_f64();
                let is_enough = self.isolated.is_settled() && is_like;
                if is_counted && (self.isolated.is_over() || is_enough) {
                    break (whole_s, segments.by);
                }
            }
            self.run.reset()?;
            self.run.flush()?;
            before_j = before_j.and_then(|_| self.energy_j());
            segments = self.run.run_segments(SEGMENTS)?.ok_or_else(|| {
                RunError::Failed("the run had parts once, and then no more".to_owned())
            })?;
        };
        if runs > 0 {
            self.energy_per_run_j = Some(joule / runs as f64);
        }
        Ok(last)
    }

    /// The energy of runs one after the other, while nothing else is read: several devices'
    /// counters are slow to read.
    fn energy(&mut self, settings: &Settings) -> Result<(), RunError> {
        let before_j = settings.energy.and_then(|_| self.energy_j());
        let Some(least) = settings.energy.filter(|_| before_j.is_some()) else {
            return Ok(());
        };
        let (began, mut runs) = (Instant::now(), 0);
        while runs == 0 || began.elapsed() < least {
            self.run.run_times(1, self.launching())?;
            runs += 1;
        }
        self.count_energy(before_j, runs);
        Ok(())
    }

    fn energy_j(&self) -> Option<f64> {
        self.watch.read()?.energy_j
    }

    fn count_energy(&mut self, before_j: Option<f64>, runs: u64) {
        let joule = self.energy_j().zip(before_j);
        self.energy_per_run_j = joule.map(|(after_j, began_j)| (after_j - began_j) / runs as f64);
    }

    /// `whole_s` is the time of the last run by the device's events, where samples are of its
    /// parts.
    fn finish(self, own_processes: u32, whole_s: Option<f64>) -> Result<Timed, RunError> {
        let by = self.isolated_by();
        let mut isolated = self.isolated.finish();
        let mut conditions = watch::conditions(&self.readings);
        if let Some(conditions) = &mut conditions {
            conditions.energy_per_run_j = self.energy_per_run_j;
            let processes = conditions.compute_processes;
            if let Some(processes) = processes.filter(|count| *count > own_processes) {
                isolated.doubt(Doubt::Shared { processes });
            }
        }
        let host_median_s = Summary::new(self.host_s).median_s;
        let device_s = whole_s.unwrap_or(isolated.median_s);
        if self.clock == Clock::Device && disagree(device_s, host_median_s) {
            isolated.doubt(Doubt::Clocks {
                device_s,
                host_s: host_median_s,
            });
        }
        Ok(Timed {
            figures: Figures {
                on_device: OnDevice {
                    by: Some(by),
                    conditions,
                    kernels: self.run.kernels()?,
                    ..OnDevice::default()
                },
                ..Figures::new(isolated, self.clock, host_median_s)
            },
            turns_s: Vec::new(),
            output: self.output,
        })
    }
}

/// Whether the parts of a run are not like the whole.
pub fn are_apart(segments_s: f64, whole_s: f64) -> bool {
    (segments_s / whole_s - 1.0).abs() > SEGMENTS_APART
}

/// Events lie within what the host measures, and the host adds little: starting and waiting.
fn disagree(device_s: f64, host_s: f64) -> bool {
    device_s > 1.01 * host_s || host_s > 1.05 * device_s + 5e-4
}
