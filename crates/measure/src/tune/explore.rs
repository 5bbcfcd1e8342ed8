//! Trying a shape: whether its results are right, then what it takes beside the default shape.

use std::cell::RefCell;
use std::collections::HashMap;

use device::BufferPool;
use device::run::run_once;
use device::{Device, DeviceKind, Error, Launching, NamedBuffers};
use exit::ErrorKind;
use lab::run::run_from;
use lab::{Cpu, Lab, LabCase, Variant};

use crate::perf::interleaved::{self, DistinctOutputs};
use crate::perf::settings::Settings;
use crate::perf::stopwatch::Stopwatch;
use crate::perf::timed_run::{RunError, TimedRun};
use crate::perf::times_as_long;
use crate::perf::watch::Watch;
use exit::CommandError;
use lab::run::explain;
use select::memory_advice;
use select::tuned::{Measured, Tried};
use terminal::progress::Bar;

/// A shape whose first run takes this many times as long as the best is not timed any further.
pub const HOPELESS: f64 = 2.0;
/// A first run of this time says enough by itself; a shorter one, while the device wakes up, is
/// repeated.
const LONG_S: f64 = 0.1;

/// A run of this time is long enough to compare shapes by. One of twice as much takes fewer
/// timesteps.
const ENOUGH_S: f64 = 0.03;
/// Shapes take 1 to 4, 12 or 16 timesteps per launch: a multiple of this number leaves no rest.
const NO_REST: u32 = 48;

/// Of the small cases, the emulated device, which is slow, takes every fourth.
const EVERY_EMULATED: usize = 4;

/// Tries shapes of a lab's variants on a device.
pub struct Explorer<'e> {
    lab: &'static Lab,
    device: &'e dyn Device,
    watch: Watch,
    settings: Settings,
    small: Vec<Expected>,
    /// Whether a shape's results on these are right, by its name: they are the same for every case.
    checked: RefCell<HashMap<String, Result<(), PassedOver>>>,
}

/// A small case, and what the reference makes of it.
struct Expected {
    case: Box<dyn LabCase>,
    inputs: NamedBuffers,
    outputs: NamedBuffers,
}

/// The case that shapes are timed on.
pub struct Timed<'e> {
    pub case: &'e dyn LabCase,
    pub inputs: &'e NamedBuffers,
    /// The default shape.
    pub default: &'e Variant,
    /// The time of a run in the best shape yet.
    pub best_s: Option<f64>,
}

/// Why a shape is not used.
type PassedOver = String;

impl<'e> Explorer<'e> {
    /// Computes what is right on the lab's small cases.
    ///
    /// # Errors
    ///
    /// Where the host has too little memory.
    pub fn new(
        lab: &'static Lab,
        device: &'e dyn Device,
        watch: Watch,
        settings: Settings,
    ) -> Result<Explorer<'e>, CommandError> {
        let bar = Bar::spinner("references of the small cases");
        let every = match device.info().kind {
            DeviceKind::Cuda => 1,
            DeviceKind::Emulated => EVERY_EMULATED,
        };
        let cases = lab.small_cases().into_iter().step_by(every);
        let expected = cases.map(|case| {
            let inputs = case.inputs()?;
            let outputs = case.reference_from(&inputs, Cpu::Parallel, &bar)?;
            Ok(Expected {
                case,
                inputs,
                outputs,
            })
        });
        let small = expected.collect::<Result<Vec<Expected>, Error>>()?;
        Ok(Explorer {
            lab,
            device,
            watch,
            settings,
            small,
            checked: RefCell::default(),
        })
    }

    /// Whether times on the device mean something. Otherwise instructions are counted.
    pub fn has_times(&self) -> bool {
        self.device.info().kind != DeviceKind::Emulated
    }

    /// A case of the same size with fewer timesteps, where a run of all of them takes long in the
    /// `default` shape.
    ///
    /// # Errors
    ///
    /// As [`Explorer::try_shape`]'s.
    pub fn shortened(
        &self,
        case: &dyn LabCase,
        inputs: &NamedBuffers,
        default: &Variant,
    ) -> Result<Option<Box<dyn LabCase>>, CommandError> {
        let steps = case.timesteps().and_then(|steps| u32::try_from(steps).ok());
        let Some(steps) = steps.filter(|steps| self.has_times() && *steps > NO_REST) else {
            return Ok(None);
        };
        let plan = default.record_on(case, self.device);
        let run = plan.map_err(RunError::Host).and_then(|plan| {
            let memory = BufferPool::default();
            let mut run = TimedRun::prepare(self.device, &default.module, plan, inputs, &memory)?;
            first_run_s(&mut run)
        });
        // An error comes once more where the shape is tried.
        let share = run.map_or(1.0, |run_s| ENOUGH_S / run_s);
        let enough = (share * f64::from(steps)) as u32;
        let enough = enough.next_multiple_of(NO_REST);
        Ok((2 * enough <= steps)
            .then(|| case.part(0, enough))
            .flatten())
    }

    /// Tries a shape.
    ///
    /// # Errors
    ///
    /// Errors that are not the shape's fault: the device is lost, memory is short, a bug of ours.
    pub fn try_shape(&self, timed: &Timed<'_>, shape: &Variant) -> Result<Tried, CommandError> {
        let tried = self.plans(timed, shape);
        let measured = match tried.and_then(|plans| {
            plans.map_or_else(|why| Ok(Err(why)), |()| self.measure(timed, shape))
        }) {
            Ok(measured) => measured,
            Err(RunError::Host(error)) => Err(passed_over(error, self.lab, shape)?),
            Err(error) => return Err(CommandError::Environment(error.to_string())),
        };
        Ok(measured.map_or_else(
            |passed_over| Tried::PassedOver {
                shape: label(shape),
                passed_over,
            },
            Tried::Measured,
        ))
    }

    /// Whether the shape can be recorded for the case, and gives right results on small cases.
    fn plans(
        &self,
        timed: &Timed<'_>,
        shape: &Variant,
    ) -> Result<Result<(), PassedOver>, RunError> {
        shape.record_on(timed.case, self.device)?;
        if let Some(known) = self.checked.borrow().get(&shape.name) {
            return Ok(known.clone());
        }
        let checked = self.check(shape)?;
        let mut known = self.checked.borrow_mut();
        Ok(known.entry(shape.name.clone()).or_insert(checked).clone())
    }

    /// Whether the shape gives right results on every small case for which it can be recorded.
    fn check(&self, shape: &Variant) -> Result<Result<(), PassedOver>, RunError> {
        let _bar = Bar::spinner(format!("{}: small cases", shape.name));
        let mut right = 0;
        for Expected {
            case,
            inputs,
            outputs,
        } in &self.small
        {
            let case = case.as_ref();
            if shape.record(case).is_err() {
                continue;
            }
            let got = run_from(self.device, case, shape, inputs)?;
            if let Err(error) = shape.check(case, inputs, outputs, &got.outputs)? {
                let error = explain(case, &error);
                return Ok(Err(format!("wrong: {}: {error}", case.label())));
            }
            right += 1;
        }
        Ok(match right {
            0 => Err("it can be used for no small case, and so is not checked".to_owned()),
            _ => Ok(()),
        })
    }

    fn measure(
        &self,
        timed: &Timed<'_>,
        shape: &Variant,
    ) -> Result<Result<Measured, PassedOver>, RunError> {
        if self.has_times() {
            self.time(timed, shape)
        } else {
            self.count(timed, shape)
        }
    }

    /// Times the shape in turns with the default one, whose time is then as recent.
    fn time(
        &self,
        timed: &Timed<'_>,
        shape: &Variant,
    ) -> Result<Result<Measured, PassedOver>, RunError> {
        let memory = BufferPool::default();
        let prepare = |variant: &Variant| {
            let plan = variant.record_on(timed.case, self.device)?;
            TimedRun::prepare(self.device, &variant.module, plan, timed.inputs, &memory)
        };
        let mut own = prepare(shape)?;
        let _bar = Bar::spinner(format!("timing {}", shape.name));
        if let Some(best_s) = timed.best_s {
            let times = first_run_s(&mut own)? / best_s;
            if times > HOPELESS {
                return Ok(Err(format!(
                    "a first run takes {times:.1} times as long as the best"
                )));
            }
        }
        let mut runs = vec![own];
        if shape != timed.default {
            runs.push(prepare(timed.default)?);
        }
        let mut distinct = DistinctOutputs::default();
        let runs = runs.into_iter().map(|run| (run, self.watch.clone()));
        let results = interleaved::time(
            runs.collect(),
            &self.settings,
            1,
            Some(&mut distinct),
            &Stopwatch::default(),
        )
        .into_iter()
        .collect::<Result<Vec<_>, RunError>>()?;
        let (of_shape, default) = (&results[0], &results[results.len() - 1]);
        if shape.is_exact() && of_shape.output != default.output {
            return Ok(Err(
                "wrong: its result is not that of the default shape".to_owned()
            ));
        }
        let samples = |run: &'_ interleaved::Timed| run.figures.run.samples_s.clone();
        let ratio = times_as_long(
            (&of_shape.turns_s, &samples(of_shape)),
            (&default.turns_s, &samples(default)),
        );
        let steps = steps(timed.case);
        let step = |run: &interleaved::Timed| 1e6 * run.figures.run.median_s / steps;
        Ok(Ok(Measured {
            shape: label(shape),
            step: step(of_shape),
            default_step: step(default),
            vs_default: ratio.estimate,
            interval: ratio.interval,
        }))
    }

    /// Counts the instructions that threads execute.
    fn count(
        &self,
        timed: &Timed<'_>,
        shape: &Variant,
    ) -> Result<Result<Measured, PassedOver>, RunError> {
        let Timed { case, inputs, .. } = *timed;
        let run = |variant: &Variant| -> Result<(u64, NamedBuffers), Error> {
            let plan = variant.record(case)?;
            let mut session = self.device.prepare(&variant.module, &plan)?;
            let outcome = run_once(session.as_mut(), &plan, inputs)?;
            let reports = session.reports().iter();
            let instructions = reports.map(|report| report.total.counts.instructions.thread);
            Ok((instructions.sum(), outcome.outputs))
        };
        let _bar = Bar::spinner(format!("counting {}", shape.name));
        let (own, default) = (run(shape)?, run(timed.default)?);
        if shape.is_exact() && own.1 != default.1 {
            return Ok(Err(
                "wrong: its result is not that of the default shape".to_owned()
            ));
        }
        let steps = steps(case);
        let ratio = default.0 as f64 / own.0.max(1) as f64;
        Ok(Ok(Measured {
            shape: label(shape),
            step: own.0 as f64 / steps,
            default_step: default.0 as f64 / steps,
            vs_default: ratio,
            interval: Some([ratio; 2]),
        }))
    }
}

fn label(shape: &Variant) -> String {
    shape.label().unwrap_or_default().to_owned()
}

/// The timesteps of a run, or 1 where it has none.
pub fn steps(case: &dyn LabCase) -> f64 {
    case.timesteps().unwrap_or(1).max(1) as f64
}

/// About how long a run takes.
fn first_run_s(run: &mut TimedRun<'_>) -> Result<f64, RunError> {
    let mut once = || {
        run.reset()?;
        run.flush()?;
        let timing = run.run_times(1, Launching::Stream)?;
        Ok::<f64, RunError>(timing.device.unwrap_or(timing.host).as_secs_f64())
    };
    match once()? {
        long if long >= LONG_S => Ok(long),
        _ => once(),
    }
}

/// Why the shape is passed over, if it is at fault.
fn passed_over(error: Error, lab: &Lab, shape: &Variant) -> Result<PassedOver, CommandError> {
    match error.kind() {
        ErrorKind::Submission | ErrorKind::Needs | ErrorKind::Input => Ok(error.to_string()),
        ErrorKind::Environment | ErrorKind::Bug => {
            Err(memory_advice::failure(error, lab, Some(shape)).context(&shape.name))
        }
    }
}
