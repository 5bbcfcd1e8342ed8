//! Times the cases of a size on more and more devices, in turns where memory allows, and compares their results.

use std::time::{Duration, Instant};

use device::Session;
use device::buffer::copies;
use device::run::outputs_into;
use device::{Capture, Device, Error, Launching, NamedBuffers};
use host::{Case, Lab};
use plan::Plan;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use stats::{Collector, Sample, SamplingRule};

use super::agenda::{Item, Room, is_out_of_memory};
use super::results::{Agreement, Figures, Outcome, Row, Size};
use crate::perf::settings::Settings;
use crate::perf::watch::Watch;
use exit::CommandError;

/// Bytes of a buffer that one core digests at a time.
const DIGESTED_BYTES: usize = 16 << 20;

/// A result, digested: fields can be larger than what is left of the host's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Digested(Vec<u8>);

/// How many times as long as for one GPU energy is counted: counters are read one after the other, 15 ms each, while the GPUs wait, and
/// each moves in steps of its own.
const ENERGY_WINDOWS: u32 = 8;

type Measured = Result<(Figures, Digested), Error>;

/// What rows are measured on, and how.
pub struct Bench<'b> {
    pub lab: &'b dyn Lab,
    pub variant: &'b str,
    pub device: &'b dyn Device,
    pub watches: &'b [Watch],
    pub settings: Settings,
    /// Whether times mean anything.
    pub is_timed: bool,
}

/// A case and its plan for so many devices.
struct Planned<'i> {
    at: usize,
    case: &'i dyn Case,
    plan: Plan,
}

/// A plan on its devices, which has run once.
struct Prepared<'d> {
    session: Box<dyn Session + 'd>,
    no_graph: Option<String>,
    setup_s: f64,
    write_s: f64,
    read_s: f64,
    digest: Digested,
    samples: Collector,
    energy_per_run_j: Option<f64>,
}

/// The inputs of a case, kept while its next run is of the same case, and where results are read to.
#[derive(Default)]
struct Fields {
    case: String,
    inputs: NamedBuffers,
    results: NamedBuffers,
}

impl Fields {
    /// Makes those of the case, unless they are there.
    fn make(&mut self, case: &dyn Case) -> Result<(), Error> {
        if self.case != case.label() {
            // Not both in memory at once.
            *self = Fields::default();
            let inputs = case.inputs()?;
            // Copies of inputs, whose pages are there: the time of reading is not that of making pages.
            let is_output = |name: &str| case.output_names().contains(&name);
            (self.results, self.inputs) = (copies(&inputs, is_output)?, inputs);
            self.case = case.label();
        }
        Ok(())
    }
}

impl Bench<'_> {
    /// Opens what every row needs: contexts, and the module on each device. Nothing of it is timed again.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn start(&self, case: &dyn Case) -> Result<(), Error> {
        let plan = case.record_for(self.device.count(), self.variant)?;
        self.device.prepare(self.lab.module(), &plan)?;
        Ok(())
    }

    /// Measures a size: a row for each number of devices. `rate` is what a run of the case does, in the unit of rates.
    ///
    /// # Errors
    ///
    /// Plans that cannot be recorded. What fails on the devices is in its row.
    pub fn size(&self, item: &Item, rate: impl Fn(&dyn Case) -> f64) -> Result<Size, CommandError> {
        let mut planned = Vec::new();
        for (at, run) in item.runs.iter().enumerate().filter(|(_, run)| run.fits) {
            planned.push(Planned {
                at,
                case: run.case.as_ref(),
                plan: run.case.record_for(run.gpus, self.variant)?,
            });
        }
        let mut fields = Fields::default();
        let mut measured = self.all(&planned, &mut fields);
        let mut digests: Vec<Option<Digested>> = vec![None; item.runs.len()];
        for (at, measured) in &measured {
            digests[*at] = measured.as_ref().ok().map(|(_, digest)| digest.clone());
        }
        let mut size = Size {
            steps: item.steps,
            rows: Vec::new(),
        };
        for (at, run) in item.runs.iter().enumerate() {
            let case = run.case.as_ref();
            let found = measured.iter().position(|(other, _)| *other == at);
            let outcome = match found.map(|found| measured.swap_remove(found).1) {
                None => Outcome::DoesNotFit,
                Some(Err(error)) => without_figures(error),
                Some(Ok((mut figures, _))) => {
                    let result = self.agreement(item, at, &digests, &mut fields);
                    match result {
                        Err(error) => without_figures(error),
                        Ok(result) if !self.is_timed => Outcome::Computed { result },
                        Ok(result) => {
                            figures.result = result;
                            figures.rate_per_s = rate(case) / figures.run.median_s.max(1e-12);
                            Outcome::Timed(Box::new(figures))
                        }
                    }
                }
            };
            size.rows.push(Row {
                gpus: run.gpus,
                case: case.label(),
                points: case.work(self.variant).updates / item.steps.max(1),
                outcome,
            });
        }
        size.compare();
        Ok(size)
    }

    /// Measures each plan: all in turns if the devices hold them together, or else one after the other.
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

    /// Measures the plans, of which the devices hold all at once.
    fn in_turns(
        &self,
        planned: &[Planned<'_>],
        fields: &mut Fields,
    ) -> Result<Vec<(Figures, Digested)>, Error> {
        let rows = planned.len() as u32;
        let rule = SamplingRule {
            patience: self.settings.isolated.patience.saturating_mul(rows),
            min_time: self.settings.isolated.min_time.saturating_mul(rows),
            ..self.settings.isolated
        };
        let mut prepared = Vec::new();
        for Planned { case, plan, .. } in planned {
            fields.make(*case)?;
            prepared.push(self.prepare(plan, fields, rule)?);
        }
        if self.is_timed {
            let began = Instant::now();
            while began.elapsed() < self.settings.device_warm_up {
                for one in &mut prepared {
                    one.run()?;
                }
            }
            for one in &mut prepared {
                one.samples = Collector::new(rule);
            }
            while prepared.iter().any(|one| !one.samples.is_done()) {
                let waiting = prepared.iter_mut().filter(|one| !one.samples.is_done());
                for one in waiting {
                    let time = one.run()?;
                    let discard = self.watches.iter().find_map(|watch| {
                        let reading = watch.read_recent()?;
                        watch.discard(&reading)
                    });
                    one.samples.push(Sample { time, discard });
                }
            }
            for (one, Planned { plan, .. }) in prepared.iter_mut().zip(planned) {
                one.energy_per_run_j = self.energy(one, plan.devices())?;
            }
        }
        Ok(prepared.into_iter().map(Prepared::finish).collect())
    }

    /// The energy of a run of so many devices, of runs back to back; `None` if it is not wanted or a device does not count it.
    fn energy(&self, prepared: &mut Prepared<'_>, devices: u32) -> Result<Option<f64>, Error> {
        let count = || -> Option<f64> {
            let watches = self.watches.get(..devices as usize)?;
            watches.iter().map(|watch| watch.read()?.energy_j).sum()
        };
        let Some((least, before_j)) = self.settings.energy.zip(count()) else {
            return Ok(None);
        };
        let least = least * ENERGY_WINDOWS;
        let (began, mut runs) = (Instant::now(), 0_u32);
        while runs == 0 || began.elapsed() < least {
            prepared.run()?;
            runs += 1;
        }
        Ok(count().map(|after_j| (after_j - before_j) / f64::from(runs)))
    }

    /// Prepares a plan, runs it once from the inputs, and reads the results.
    fn prepare<'s>(
        &'s self,
        plan: &Plan,
        fields: &mut Fields,
        rule: SamplingRule,
    ) -> Result<Prepared<'s>, Error> {
        let began = Instant::now();
        let mut session = self.device.prepare(self.lab.module(), plan)?;
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
        let mut prepared = Prepared {
            session,
            no_graph,
            setup_s,
            write_s,
            read_s: 0.0,
            digest: Digested::default(),
            samples: Collector::new(rule),
            energy_per_run_j: None,
        };
        let time = prepared.run()?;
        // Without samples of its own, on the emulated device, that is the only one.
        prepared.samples.push(time.into());
        let began = Instant::now();
        outputs_into(prepared.session.as_mut(), plan, &mut fields.results)?;
        prepared.read_s = began.elapsed().as_secs_f64();
        prepared.digest = Digested::of(&fields.results);
        Ok(prepared)
    }

    /// How the result of a row compares with that of fewer devices.
    fn agreement(
        &self,
        item: &Item,
        at: usize,
        digests: &[Option<Digested>],
        fields: &mut Fields,
    ) -> Result<Agreement, Error> {
        let of = |digest: &Digested| match digests[at].as_ref() == Some(digest) {
            true => Agreement::Equal,
            false => Agreement::Different,
        };
        let (run, fewer) = (&item.runs[at], &item.runs[..at]);
        let mut known = fewer.iter().zip(digests).filter_map(|(other, digest)| {
            let digest = digest.as_ref()?;
            Some((other.case.label() == run.case.label(), digest))
        });
        match known.next() {
            None => return Ok(Agreement::First),
            Some((true, digest)) => return Ok(of(digest)),
            // It grew: the same is computed on fewer devices.
            Some((false, _)) => {}
        }
        let room = Room::of(self.device);
        for other in fewer {
            let plan = run.case.record_for(other.gpus, self.variant)?;
            if room.has(&plan) {
                fields.make(run.case.as_ref())?;
                let prepared = self.prepare(&plan, fields, self.settings.isolated)?;
                return Ok(of(&prepared.digest));
            }
        }
        Ok(Agreement::Unchecked)
    }
}

impl Prepared<'_> {
    /// The time of a run from what the one before left.
    fn run(&mut self) -> Result<Duration, Error> {
        let by = self.launching();
        let timing = self.session.run_times(1, by)?;
        Ok(timing.device.unwrap_or(timing.host))
    }

    fn launching(&self) -> Launching {
        match self.no_graph {
            None => Launching::Graph,
            Some(_) => Launching::Stream,
        }
    }

    fn finish(self) -> (Figures, Digested) {
        let figures = Figures {
            by: self.launching(),
            run: self.samples.finish(),
            no_graph: self.no_graph,
            setup_s: self.setup_s,
            write_s: self.write_s,
            read_s: self.read_s,
            energy_per_run_j: self.energy_per_run_j,
            rate_per_s: 0.0,
            speedup: None,
            efficiency: None,
            result: Agreement::Unchecked,
        };
        (figures, self.digest)
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
}
