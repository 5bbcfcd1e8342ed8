//! Receivers along a line, which record a field every few timesteps: a seismogram.
//!
//! On a device, a chunk of timesteps is one plan: that of the timesteps up to each sample, then a
//! launch that gathers the line's values, again and again. So nothing but the seismogram leaves the
//! device, and no variant knows of it. The plans follow each other by their buffers: where one
//! leaves a result, the next finds its input of that name.

use std::collections::HashMap;

use device::{BufferError, Error, NamedBuffers};
use exit::CommandError;
use lab::{LabCase, Line, Variant};
use plan::{BufferId, LaunchConfig, Plan, args};
use plan::{Command, Element, PlanError, Role};

/// The result of a recorded plan that holds the samples.
pub const SAMPLES: &str = "samples";

/// Where the receivers are, and what they recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Receivers {
    /// The buffer of `f32` that they record.
    pub field: &'static str,
    /// The first one's element.
    pub first: u32,
    /// Elements from one to the next.
    pub stride: u32,
    /// How many there are, at least 1.
    pub len: u32,
    /// The kernel that gathers them: see [`Line::gather`].
    pub gather: &'static str,
    /// Timesteps from one sample to the next, at least 1.
    pub every: u32,
    /// The samples until now: each with a value of every receiver.
    pub samples: Vec<f32>,
}

/// How many timesteps a problem has; the labs count them in 32 bits.
pub fn timesteps_of(problem: &dyn LabCase) -> u32 {
    problem.timesteps().unwrap_or(0) as u32
}

/// Timesteps of a problem whose lab has them.
pub fn part(problem: &dyn LabCase, first: u32, steps: u32) -> Box<dyn LabCase> {
    let part = problem.part(first, steps);
    part.expect("labs without timesteps are not stepped")
}

/// Consecutive timesteps: those up to a sample, or to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The first one's number.
    pub first: u32,
    /// How many.
    pub steps: u32,
    /// Whether a sample is taken after them.
    pub is_sampled: bool,
}

impl Receivers {
    /// Receivers along a line of this buffer, which record every `every` timesteps.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a depth that there is not.
    pub fn along(
        line: Line,
        field: &'static str,
        depth: Option<u32>,
        every: u32,
    ) -> Result<Receivers, CommandError> {
        let (depth, (depths, down)) = (depth.unwrap_or(line.depth), line.depths);
        if depth >= depths {
            return Err(CommandError::Input(format!(
                "--receiver-depth {depth}: there are {depths} points along z, numbered from 0"
            )));
        }
        Ok(Receivers {
            field,
            first: line.first + depth * down,
            stride: line.stride,
            len: line.len,
            gather: line.gather,
            every,
            samples: Vec::new(),
        })
    }

    /// The timesteps from number `first` on, cut after those with a sample.
    pub fn pieces(&self, first: u32, steps: u32) -> Vec<Piece> {
        let (mut at, end) = (first, first + steps);
        let mut pieces = Vec::new();
        while at < end {
            let sampled = (at / self.every + 1).saturating_mul(self.every);
            let to = sampled.min(end);
            pieces.push(Piece {
                first: at,
                steps: to - at,
                is_sampled: sampled <= end,
            });
            at = to;
        }
        pieces
    }

    /// Takes a sample from fields of the host.
    ///
    /// # Errors
    ///
    /// A field that is not there, or not of `f32`.
    pub fn sample(&mut self, fields: &NamedBuffers) -> Result<(), BufferError> {
        let values: &[f32] = device::buffer::elements(fields, self.field)?;
        let line = values[self.first as usize..]
            .iter()
            .step_by(self.stride as usize)
            .take(self.len as usize);
        self.samples.extend(line);
        Ok(())
    }

    /// The plan of some timesteps of a problem, whose results are the problem's, and [`SAMPLES`] if
    /// there are any.
    ///
    /// # Errors
    ///
    /// The variant's.
    pub fn record(
        &self,
        problem: &dyn LabCase,
        variant: &Variant,
        first: u32,
        steps: u32,
    ) -> Result<Plan, Error> {
        let pieces = self.pieces(first, steps);
        let samples = pieces.iter().filter(|piece| piece.is_sampled).count();
        let mut chain = Chain::new(format!(
            "{}, steps {first} to {}",
            problem.label(),
            first + steps
        ));
        let mut taken = None;
        for piece in pieces {
            let plan = variant.record(part(problem, piece.first, piece.steps).as_ref())?;
            chain.append(&plan)?;
            if piece.is_sampled {
                let (to, done) = *taken.get_or_insert_with(|| {
                    let all = samples * self.len as usize;
                    (chain.plan.buffer(SAMPLES, Element::F32, all), 0)
                });
                let from = chain.find(self.field)?;
                let config = LaunchConfig::covering(self.len, 128)?;
                let out = to.at(u64::from(self.len) * done);
                let args = args![from.slice(), self.first, self.stride, out, self.len];
                chain.plan.launch(self.gather, config, args)?;
                taken = Some((to, done + 1));
            }
        }
        let mut plan = chain.finish();
        if let Some((to, _)) = taken {
            plan.output(SAMPLES, to);
        }
        plan.check()?;
        Ok(plan)
    }
}

/// Plans of one problem's timesteps, one after the other, as one.
struct Chain {
    plan: Plan,
    /// Which buffer of the whole the next plan's buffer of a name is.
    buffers: HashMap<String, BufferId>,
    /// The names of the results.
    outputs: Vec<String>,
}

impl Chain {
    fn new(name: String) -> Chain {
        Chain {
            plan: Plan::new(name),
            buffers: HashMap::new(),
            outputs: Vec::new(),
        }
    }

    /// The buffer that holds what the next plan calls so.
    fn find(&self, name: &str) -> Result<BufferId, PlanError> {
        match self.buffers.get(name) {
            Some(&id) => Ok(id),
            None => self.plan.find_buffer(name),
        }
    }

    /// Adds a plan's commands.
    fn append(&mut self, next: &Plan) -> Result<(), PlanError> {
        let whole = &mut self.plan;
        let mut ids = Vec::new();
        for buffer in next.buffers() {
            let declared = self.buffers.entry(buffer.name.clone());
            let id = declared.or_insert_with(|| {
                let (name, len) = (buffer.name.clone(), buffer.len as usize);
                match buffer.role {
                    Role::Io => whole.buffer(name, buffer.element, len),
                    Role::Scratch => whole.scratch(name, buffer.element, len),
                }
            });
            ids.push(*id);
        }
        let own = |id: BufferId| ids[id.index()];
        let mut commands = next.commands();
        for stage in next.stages() {
            let mut record = |to: &mut Plan| {
                for command in commands.by_ref().take(stage.len()) {
                    match command {
                        Command::Launch(launch) => {
                            let args = launch.args.iter().map(|arg| arg.with_buffer(own));
                            to.launch(launch.kernel, launch.config, args)?;
                        }
                        Command::Copy(copy) => to.copy_range(
                            own(copy.src),
                            copy.src_start,
                            own(copy.dst),
                            copy.dst_start,
                            copy.len,
                        )?,
                        Command::Fill(fill) => to.fill(own(fill.dst), fill.byte)?,
                    }
                }
                Ok(())
            };
            match stage.len() {
                1 => record(whole)?,
                _ => whole.independent(record)?,
            }
        }
        // A result becomes the input of its name; the buffers that are left over take the names
        // that are.
        let before = self.buffers.clone();
        let results: HashMap<&str, BufferId> = next
            .outputs()
            .iter()
            .map(|(name, id)| (name.as_str(), own(*id)))
            .collect();
        let is_result = |id: &BufferId| results.values().any(|result| result == id);
        let mut left_over: Vec<BufferId> = results
            .keys()
            .filter_map(|name| before.get(*name).copied())
            .filter(|id| !is_result(id))
            .collect();
        for (name, id) in &mut self.buffers {
            match results.get(name.as_str()) {
                Some(&result) => *id = result,
                None if is_result(id) => *id = left_over.pop().unwrap_or(*id),
                None => {}
            }
        }
        self.outputs = next
            .outputs()
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        Ok(())
    }

    /// The whole, whose results are those of the last.
    fn finish(mut self) -> Plan {
        for name in self.outputs {
            self.plan.output(name.clone(), self.buffers[&name]);
        }
        self.plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::Device;
    use device::EmulatedDevice;
    use device::run::run_once;
    use host::stencil25::{LAB, Start, Stencil25};
    use lab::Cpu;
    use terminal::progress::NoProgress;

    fn receivers(every: u32) -> Receivers {
        Receivers {
            field: "u",
            first: 1,
            stride: 2,
            len: 3,
            gather: "stencil25_gather",
            every,
            samples: Vec::new(),
        }
    }

    #[test]
    fn chunks_are_cut_after_samples() {
        let pieces = |every, first, steps| {
            let pieces = receivers(every).pieces(first, steps);
            let of = |piece: &Piece| (piece.first, piece.steps, piece.is_sampled);
            pieces.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(pieces(1, 5, 2), [(5, 1, true), (6, 1, true)]);
        assert_eq!(pieces(4, 0, 9), [(0, 4, true), (4, 4, true), (8, 1, false)]);
        assert_eq!(pieces(4, 9, 3), [(9, 3, true)]);
        assert_eq!(pieces(100, 9, 3), [(9, 3, false)]);
        assert_eq!(pieces(3, 3, 0), []);
    }

    #[test]
    fn a_line_is_sampled_with_its_stride() {
        let mut receivers = receivers(1);
        let fields = device::buffer::named([("u", vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0].into())]);
        receivers.sample(&fields).unwrap();
        receivers.sample(&fields).unwrap();
        assert_eq!(receivers.samples, [1.0, 3.0, 5.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn every_variant_records_what_the_cpu_does() {
        let problem = Stencil25::with_shell([9, 10, 12], 7, 3)
            .unwrap()
            .with_start(Start::Random { seed: 4.into() });
        let grid = problem.grid();
        for variant in LAB.variants.iter().filter(|variant| !variant.on_request) {
            for (every, first) in [(1, 0), (2, 3), (3, 0)] {
                let mut receivers = Receivers {
                    field: "u",
                    first: grid.index(1, 4, 5),
                    stride: grid.stride_x(),
                    len: 7,
                    gather: "stencil25_gather",
                    every,
                    samples: Vec::new(),
                };
                let steps = 7 - first;
                let plan = receivers.record(&problem, variant, first, steps).unwrap();
                let mut fields = LabCase::inputs(&problem).unwrap();
                let device = EmulatedDevice::default();
                let mut session = device.prepare(&variant.module, &plan).unwrap();
                let got = run_once(session.as_mut(), &plan, &fields).unwrap().outputs;
                let find = |name: &str| device::check::find(&got, name).unwrap();
                for piece in receivers.pieces(first, steps) {
                    let part = part(&problem, piece.first, piece.steps);
                    part.advance(&mut fields, Cpu::Serial, &NoProgress).unwrap();
                    if piece.is_sampled {
                        receivers.sample(&fields).unwrap();
                    }
                }
                if variant.is_exact() {
                    let samples = find(SAMPLES).as_slice::<f32>().unwrap();
                    let bits =
                        |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(samples), bits(&receivers.samples), "{}", variant.name);
                    for name in ["u", "v", "phi"] {
                        let want = device::check::find(&fields, name).unwrap();
                        assert!(find(name).bytes() == want.bytes(), "{name}");
                    }
                }
                assert_eq!(
                    receivers.samples.len() as u32,
                    7 * (7 / every - first / every)
                );
            }
        }
    }
}
