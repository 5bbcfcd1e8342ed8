//! Times the cases of a size on more and more devices, in turns where memory allows, and compares
//! their results.

use std::time::{Duration, Instant};

use device::buffer::copies;
use device::run::outputs_into;
use device::{Capture, Device, Error, Launching, NamedBuffers};
use exit::CommandError;
use lab::{Lab, LabCase, Variant};
use plan::Plan;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use stats::Summary;

use super::sizes::{Item, Room, is_out_of_memory};
use crate::perf::interleaved;
use crate::perf::results::{Clock, Correctness, Figures, OnSeveral, Outcome, Row};
use crate::perf::settings::Settings;
use crate::perf::timed_run::{PeerFailure, RunError, TimedRun};
use crate::perf::watch::Watch;

/// Bytes of a buffer that one core digests at a time.
const DIGESTED_BYTES: usize = 16 << 20;

/// A result, digested: fields can be larger than what is left of the host's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Digested(Vec<u8>);

/// How many times as long as for one GPU energy is counted: counters are read one after the other,
/// 15 ms each, while the GPUs wait, and each moves in steps of its own.
const ENERGY_WINDOWS: u32 = 8;

/// The measurement of a run, and its result.
type Measured = Result<(Figures, Digested), Error>;

/// The devices that rows are measured on, and the rules.
pub struct Bench<'b> {
    pub lab: &'static Lab,
    pub variant: &'static Variant,
    pub device: &'b dyn Device,
    pub watches: &'b [Watch],
    pub settings: Settings,
    /// Whether times mean anything.
    pub is_timed: bool,
}

/// A case and its plan for a number of devices.
struct Planned<'i> {
    at: usize,
    case: &'i dyn LabCase,
    plan: Plan,
}

/// A plan on its devices, which has run once.
struct Prepared<'d> {
    run: TimedRun<'d>,
    by: Launching,
    /// The only sample on the emulated device.
    first: Duration,
    known: OnSeveral,
    digest: Digested,
}

/// The inputs of a case, kept while its next run is of the same case, and where results are read
/// to.
#[derive(Default)]
struct Fields {
    case: String,
    inputs: NamedBuffers,
    results: NamedBuffers,
}

impl Fields {
    /// Makes those of the case, unless they are there.
    fn make(&mut self, lab: &Lab, case: &dyn LabCase) -> Result<(), Error> {
        if self.case != case.label() {
            // Not both in memory at once.
            *self = Fields::default();
            let inputs = case.inputs()?;
            // Copies of inputs, whose pages are there: the time of reading is not that of making
            // pages.
            let is_output = |name: &str| lab.outputs.contains(&name);
            (self.results, self.inputs) = (copies(&inputs, is_output)?, inputs);
            self.case = case.label();
        }
        Ok(())
    }
}

impl Bench<'_> {
    /// Opens what every row needs: contexts, and the module on each device. Nothing of it is timed
    /// again.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn start(&self, case: &dyn LabCase) -> Result<(), Error> {
        let plan = self.variant.record_for(case, self.device.count())?;
        self.device.prepare(&self.variant.module, &plan)?;
        Ok(())
    }

    /// Measures a size: a row for each number of devices. `rate` is what a run of the case does, in
    /// the unit of rates.
    ///
    /// # Errors
    ///
    /// Plans that cannot be recorded. A failure on the devices is in its row.
    pub fn rows(
        &self,
        item: &Item,
        rate: impl Fn(&dyn LabCase) -> f64,
    ) -> Result<Vec<Row>, CommandError> {
        let mut planned = Vec::new();
        for (at, run) in item.runs.iter().enumerate().filter(|(_, run)| run.fits) {
            planned.push(Planned {
                at,
                case: run.case.as_ref(),
                plan: self.variant.record_for(run.case.as_ref(), run.gpus)?,
            });
        }
        let mut fields = Fields::default();
        let mut measured = self.all(&planned, &mut fields);
        let mut digests: Vec<Option<Digested>> = vec![None; item.runs.len()];
        for (at, measured) in &measured {
            digests[*at] = measured.as_ref().ok().map(|(_, digest)| digest.clone());
        }
        let mut rows = Vec::new();
        for (at, run) in item.runs.iter().enumerate() {
            let case = run.case.as_ref();
            let found = measured.iter().position(|(other, _)| *other == at);
            let outcome = match found.map(|found| measured.swap_remove(found).1) {
                None => Outcome::DoesNotFit,
                Some(Err(error)) => without_figures(error),
                Some(Ok((figures, _))) => match self.correctness(item, at, &digests, &mut fields) {
                    Err(error) => without_figures(error),
                    Ok(result) if !self.is_timed => Outcome::Computed { result },
                    Ok(result) => {
                        let work = self.variant.work(case);
                        let mut figures = figures.with_work(work, Some(item.steps));
                        figures.result = result;
                        if let Some(known) = &mut figures.on_several {
                            known.rate_per_s = rate(case) / figures.run.median_s.max(1e-12);
                        }
                        Outcome::Timed(Box::new(figures))
                    }
                },
            };
            let device = self.device.info().kind.name();
            rows.push(Row {
                gpus: Some(run.gpus),
                ..Row::new(device, &self.variant.name, case.label(), outcome)
            });
        }
        compare_with_fewest(&mut rows);
        Ok(rows)
    }

    /// Measures each plan: all in turns if the devices hold them together, or else one after the
    /// other.
    fn all(&self, planned: &[Planned<'_>], fields: &mut Fields) -> Vec<(usize, Measured)> {
        let room = Room::of(self.device);
        let plans = planned.iter().map(|planned| &planned.plan);
        if self.is_timed && planned.len() > 1 && room.has_all(plans) {
            // If they fail, each may do alone, or say why not.
            if let Ok(measured) = self.in_turns(planned, fields) {
                let rows = planned.iter().map(|planned| planned.at);
                return rows.zip(measured.into_iter().map(Ok)).collect();
            }
        }
        let alone = planned.chunks(1).map(|one| {
            let measured = self.in_turns(one, fields);
            let measured = measured.map(|mut all| all.pop().expect("one for each plan"));
            (one[0].at, measured)
        });
        alone.collect()
    }

    /// Measures plans that the devices hold all at once.
    fn in_turns(
        &self,
        planned: &[Planned<'_>],
        fields: &mut Fields,
    ) -> Result<Vec<(Figures, Digested)>, Error> {
        let mut runs = Vec::new();
        let mut others = Vec::new();
        for Planned { case, plan, .. } in planned {
            fields.make(self.lab, *case)?;
            let Prepared {
                run,
                by,
                first,
                known,
                digest,
            } = self.prepare(plan, fields)?;
            let devices = (plan.devices() as usize).min(self.watches.len());
            runs.push((run, Watch::joined(&self.watches[..devices])));
            others.push((by, first, known, digest));
        }
        let times: Vec<Figures> = match self.is_timed {
            true => {
                let timed = interleaved::time(runs, &self.settings(), 1, None).into_iter();
                let figures = timed.map(|timed| Ok(timed.map_err(host_error)?.figures));
                figures.collect::<Result<_, Error>>()?
            }
            false => {
                let times = others.iter().map(|(_, first, ..)| *first);
                times.map(untimed).collect()
            }
        };
        let all = times.into_iter().zip(others);
        let all = all.map(|(figures, (by, _, known, digest))| {
            let figures = Figures {
                by: Some(by),
                on_several: Some(known),
                ..figures
            };
            (figures, digest)
        });
        Ok(all.collect())
    }

    /// Whole runs one by one, and then their energy for longer: several devices' counters are read
    /// one after the other, while the devices wait.
    fn settings(&self) -> Settings {
        let energy = self.settings.energy;
        Settings {
            batch: None,
            energy: energy.map(|least| least * ENERGY_WINDOWS),
            ..self.settings
        }
    }

    /// Prepares a plan, runs it once from the inputs, and reads the results.
    fn prepare<'s>(&'s self, plan: &Plan, fields: &mut Fields) -> Result<Prepared<'s>, Error> {
        let began = Instant::now();
        let mut session = self.device.prepare(&self.variant.module, plan)?;
        let no_graph = match self.is_timed {
            true => match session.capture()? {
                Capture::Graph { .. } => None,
                Capture::Stream { reason } => Some(reason),
            },
            false => None,
        };
        let setup_s = began.elapsed().as_secs_f64();
        // Nothing that another run left can pass for a result of this one.
        for id in plan.in_memory() {
            session.poison(id)?;
        }
        let began = Instant::now();
        for (name, buffer) in &fields.inputs {
            session.write(plan.find_buffer(name)?, buffer)?;
        }
        let write_s = began.elapsed().as_secs_f64();
        let by = match no_graph {
            None => Launching::Graph,
            Some(_) => Launching::Stream,
        };
        let timing = session.run_times(1, by)?;
        let began = Instant::now();
        outputs_into(session.as_mut(), plan, &mut fields.results)?;
        Ok(Prepared {
            run: TimedRun::going_on(session, plan.clone()),
            by,
            first: timing.device.unwrap_or(timing.host),
            known: OnSeveral {
                no_graph,
                setup_s,
                write_s,
                read_s: began.elapsed().as_secs_f64(),
                ..OnSeveral::default()
            },
            digest: Digested::of(&fields.results),
        })
    }

    /// How the result of a row compares with that of fewer devices.
    fn correctness(
        &self,
        item: &Item,
        at: usize,
        digests: &[Option<Digested>],
        fields: &mut Fields,
    ) -> Result<Correctness, Error> {
        let of = |digest: &Digested| match digests[at].as_ref() == Some(digest) {
            true => Correctness::Equal,
            false => Correctness::Wrong,
        };
        let (run, fewer) = (&item.runs[at], &item.runs[..at]);
        let mut known = fewer.iter().zip(digests).filter_map(|(other, digest)| {
            let digest = digest.as_ref()?;
            Some((other.case.label() == run.case.label(), digest))
        });
        match known.next() {
            None => return Ok(Correctness::Reference),
            Some((true, digest)) => return Ok(of(digest)),
            // It grew: the same is computed on fewer devices.
            Some((false, _)) => {}
        }
        let room = Room::of(self.device);
        for other in fewer {
            let plan = self.variant.record_for(run.case.as_ref(), other.gpus)?;
            if room.has(&plan) {
                fields.make(self.lab, run.case.as_ref())?;
                let prepared = self.prepare(&plan, fields)?;
                return Ok(of(&prepared.digest));
            }
        }
        Ok(Correctness::Unchecked)
    }
}

impl Digested {
    /// Of all bytes, and of how they are divided among buffers.
    fn of(buffers: &NamedBuffers) -> Digested {
        let mut all = Sha256::new();
        for (name, buffer) in buffers {
            all.update(name);
            let pieces = buffer
                .bytes()
                .par_chunks(DIGESTED_BYTES)
                .map(Sha256::digest);
            for piece in pieces.collect::<Vec<_>>() {
                all.update(piece);
            }
        }
        Digested(all.finalize().to_vec())
    }
}

/// The figures of a run whose time says nothing.
fn untimed(time: Duration) -> Figures {
    let s = time.as_secs_f64();
    Figures::new(Summary::new(vec![s]), Clock::Device, s)
}

/// The device's error. Runs of variants of ours have no other.
fn host_error(error: RunError) -> Error {
    match error {
        RunError::Host(error) => error,
        RunError::Lacking(text) | RunError::Failed(text) | RunError::Unsuited(text) => {
            PeerFailure(text).into()
        }
    }
}

/// Notes how each row compares with that of the fewest devices.
fn compare_with_fewest(rows: &mut [Row]) {
    let usable = |row: &Row| {
        let figures = row.figures().filter(|figures| figures.is_result())?;
        Some(figures.updates as f64 / figures.steps() / figures.run.median_s.max(1e-12))
    };
    let mut timed = rows.iter().filter(|row| row.figures().is_some());
    let Some(first) = timed.next() else { return };
    let (fewest, base) = (first.gpus.unwrap_or(1), usable(first));
    for row in rows {
        let gpus = row.gpus.unwrap_or(1);
        let speedup = usable(row).zip(base).map(|(rate, base)| rate / base);
        let times = f64::from(gpus) / f64::from(fewest);
        if let Some(known) = row.figures_mut().and_then(|own| own.on_several.as_mut()) {
            known.speedup = speedup.filter(|_| gpus != fewest);
            known.efficiency = known.speedup.map(|speedup| speedup / times);
        }
    }
}

/// The outcome of a row that failed.
fn without_figures(error: Error) -> Outcome {
    let (message, is_short) = (error.to_string(), is_out_of_memory(&error));
    match CommandError::from(error) {
        _ if is_short => Outcome::DoesNotFit,
        CommandError::Environment(_) => Outcome::Lacking { message },
        _ => Outcome::Failed { message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::HostBuffer;

    #[test]
    fn a_digest_is_of_every_byte() {
        let values = vec![0.0_f64; DIGESTED_BYTES / 8 + 3];
        let of = |values: &Vec<f64>| {
            Digested::of(&vec![("u".to_owned(), HostBuffer::from(values.clone()))])
        };
        let whole = of(&values);
        assert_eq!(of(&values), whole);
        for at in [0, DIGESTED_BYTES / 8, DIGESTED_BYTES / 8 + 2] {
            let mut other = values.clone();
            // As a number, the same.
            other[at] = -0.0;
            assert_ne!(of(&other), whole);
        }
    }

    fn row(gpus: u32, points: u64, run_s: f64) -> Row {
        let figures = Figures {
            timesteps: Some(2),
            updates: 2 * points,
            result: Correctness::Equal,
            on_several: Some(OnSeveral::default()),
            ..Figures::new(Summary::new(vec![run_s; 6]), Clock::Device, run_s)
        };
        let outcome = Outcome::Timed(Box::new(figures));
        Row {
            gpus: Some(gpus),
            ..Row::new("cuda", "split", "8^3, 2 iterations".to_owned(), outcome)
        }
    }

    /// Speedup and efficiency of each row.
    fn compared(rows: Vec<Row>) -> Vec<Option<[f64; 2]>> {
        let mut rows = rows;
        compare_with_fewest(&mut rows);
        let rows = rows.iter();
        rows.map(|row| {
            let known = row.figures()?.on_several.as_ref()?;
            Some([known.speedup?, known.efficiency?])
        })
        .collect()
    }

    #[test]
    fn efficiency_is_against_the_fewest_that_fit() {
        let strong = vec![row(1, 100, 8.0), row(2, 100, 5.0), row(4, 100, 2.5)];
        assert_eq!(compared(strong), [None, Some([1.6, 0.8]), Some([3.2, 0.8])]);
        let does_not_fit = Row {
            outcome: Outcome::DoesNotFit,
            ..row(1, 100, 1.0)
        };
        let large = vec![does_not_fit, row(2, 100, 8.0), row(4, 100, 5.0)];
        assert_eq!(compared(large), [None, None, Some([1.6, 0.8])]);
        // Of four times the work in twice the time, on four devices.
        let weak = vec![row(1, 100, 1.0), row(4, 400, 2.0)];
        assert_eq!(compared(weak), [None, Some([2.0, 0.5])]);
    }

    #[test]
    fn what_is_no_result_is_compared_with_nothing() {
        let mut wrong = row(2, 100, 4.0);
        wrong.figures_mut().unwrap().result = Correctness::Wrong;
        let rows = vec![row(1, 100, 8.0), wrong, row(4, 100, 2.0)];
        assert_eq!(compared(rows), [None, None, Some([4.0, 1.0])]);
    }
}
