//! Runs on several devices: the first one's result, and whether it is that of fewer devices.
//!
//! Their fields can be larger than what is left of the host's memory. They are written once, runs
//! go on from one another, and a result is kept as its digest.

use std::time::Instant;

use device::buffer::copies;
use device::run::outputs_into;
use device::{Capture, Device, Error, Launching, NamedBuffers};
use lab::{Lab, LabCase};
use plan::Plan;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::Bench;
use super::contenders::Contender;
use crate::perf::room::Room;
use crate::perf::timed_run::{RunError, TimedRun};
use results::{Correctness, OnSeveral};

/// Bytes of a buffer that one core digests at a time.
const DIGESTED_BYTES: usize = 16 << 20;

/// A result, digested: fields can be larger than what is left of the host's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Digested(Vec<u8>);

/// The facts of a first run from the inputs.
pub struct First {
    known: OnSeveral,
    digest: Digested,
}

impl First {
    /// The facts for the row of a run that does this amount of work in this time.
    pub fn with_rate(self, done: f64, run_s: f64) -> OnSeveral {
        OnSeveral {
            rate_per_s: done / run_s.max(1e-12),
            ..self.known
        }
    }
}

/// The inputs of a case, kept while its next run is of the same case, and where results are read
/// to.
#[derive(Default)]
pub struct Fields {
    case: String,
    pub inputs: NamedBuffers,
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
    /// Prepares a plan beside the others that the devices hold, runs it once from the inputs, and
    /// reads the results. Later runs go on from there.
    ///
    /// # Errors
    ///
    /// [`RunError::DoesNotFit`] where memory does not hold it beside the others; the device's.
    pub(super) fn first_run<'d>(
        &self,
        contender: &Contender<'_>,
        device: &'d dyn Device,
        room: &Room,
        others: &[&Plan],
        fields: &mut Fields,
    ) -> Result<(TimedRun<'d>, First), RunError> {
        let gpus = contender.gpus().unwrap_or(1);
        let target = lab::target(device.info(), gpus);
        let plan = contender.launched.record_for(contender.case, target)?;
        if !room.has_all(others.iter().copied().chain([&plan])) {
            return Err(RunError::DoesNotFit);
        }
        fields.make(self.lab, contender.case)?;
        let began = Instant::now();
        let mut session = device.prepare(&contender.launched.module, &plan)?;
        let no_graph = if room.is_emulated {
            None
        } else {
            match session.capture()? {
                Capture::Graph { .. } => None,
                Capture::Stream { reason } => Some(reason),
            }
        };
        let setup_s = began.elapsed().as_secs_f64();
        // Nothing that another run left can pass for a result of this one.
        for id in plan.in_memory() {
            session.poison(id)?;
        }
        let writing = Instant::now();
        for (name, buffer) in &fields.inputs {
            let id = plan.find_buffer(name).map_err(Error::from)?;
            session.write(id, buffer)?;
        }
        let write_s = writing.elapsed().as_secs_f64();
        let by = match no_graph {
            None => Launching::Graph,
            Some(_) => Launching::Stream,
        };
        session.run_times(1, by)?;
        let reading = Instant::now();
        outputs_into(session.as_mut(), &plan, &mut fields.results)?;
        let first = First {
            known: OnSeveral {
                no_graph,
                setup_s,
                write_s,
                read_s: reading.elapsed().as_secs_f64(),
                ..OnSeveral::default()
            },
            digest: Digested::of(&fields.results),
        };
        Ok((TimedRun::going_on(session, plan), first))
    }

    /// How the result of each compares with that of fewer devices. The first runs are in the
    /// contenders' order; none of those that failed.
    pub(super) fn judge_by_fewer(
        &self,
        contenders: &[Contender<'_>],
        firsts: &[Option<&First>],
        device: &dyn Device,
        fields: &mut Fields,
    ) -> Vec<Result<Correctness, RunError>> {
        let all = 0..contenders.len();
        let judged = all.map(|at| match firsts[at] {
            Some(own) => {
                let fewer: Vec<_> = contenders[..at]
                    .iter()
                    .zip(firsts)
                    .map(|(other, first)| (other, first.map(|first| &first.digest)))
                    .collect();
                self.correctness(&contenders[at], &own.digest, &fewer, device, fields)
            }
            None => Ok(Correctness::Unchecked),
        });
        judged.collect()
    }

    /// How a result compares with those of fewer devices.
    fn correctness(
        &self,
        own: &Contender<'_>,
        digest: &Digested,
        fewer: &[(&Contender<'_>, Option<&Digested>)],
        device: &dyn Device,
        fields: &mut Fields,
    ) -> Result<Correctness, RunError> {
        let of = |expected: &Digested| {
            if expected == digest {
                Correctness::Equal
            } else {
                Correctness::Wrong
            }
        };
        let mut known = fewer.iter().filter_map(|(other, result)| {
            let is_same = other.case.label() == own.case.label();
            Some((is_same, (*result)?))
        });
        match known.next() {
            None => return Ok(Correctness::Reference),
            Some((true, expected)) => return Ok(of(expected)),
            // It grew: the same is computed on fewer devices.
            Some((false, _)) => {}
        }
        let room = Room::of(device);
        for (other, _) in fewer {
            let same = Contender {
                on: other.on,
                ..*own
            };
            match self.first_run(&same, device, &room, &[], fields) {
                Err(RunError::DoesNotFit) => {}
                first => return Ok(of(&first?.1.digest)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use device::HostBuffer;

    #[test]
    fn a_digest_is_of_every_byte() {
        let values = vec![0.0_f64; DIGESTED_BYTES / 8 + 3];
        let of = |of_these: &Vec<f64>| {
            Digested::of(&vec![("u".to_owned(), HostBuffer::from(of_these.clone()))])
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
