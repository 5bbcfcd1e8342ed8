//! The lab's declaration.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kernels_gpu::wave3d::Domain;

use super::medium::{Coefficients, Model};
use super::problem::{Fields, Wave3d};
use super::reference::{advance, oracle};
use crate::arrays::taken;
use crate::fill::copied;
use crate::kernels::kernels_of;
use crate::random::Scale;
use crate::seismic::{Ricker, Start};
use device::buffer::{NamedBuffers, elements};
use device::error::Error;
use lab::{
    CaseError, CaseParams, Chunks, Cpu, InterfaceCase, Lab, LabCase, Lattice, Parameter, Running,
    Series, Shown, Values, View, Work, advance_copies, boxed, numbered,
};
use plan::Interface as _;
use terminal::progress::Progress;

/// The lab `wave3d`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::wave3d::Wave3d::NAME,
    summary: "3D wave equation in f64, damped at the sides, over layered ground; layers together or apart",
    parameters: PARAMETERS,
    outputs: plan::wave3d::Wave3d::OUTPUTS,
    rounds: true,
    seed_bits: 64,
    module: kernels_of("wave3d"),
    variants: crate::solutions::built_in!(wave3d),
    extents: &["n_x", "n_y", "n_z"],
    least_extent: 3,
    series: Series {
        short: &[256, 512],
        long: &[384, 512, 768],
        emulated: &[12, 24],
    },
    of_extent: |n| Ok(Box::new(Wave3d::new([n; 3], 1)?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable,
    running: Some(Running {
        defaults: &[
            ("n_x", "256"),
            ("n_y", "256"),
            ("n_z", "256"),
            ("start", "rest"),
        ],
        ..Running::shown(
            "3D wave: site updates a second, chunk by chunk, and the fields as a series for ParaView",
            Shown::Chunks(Chunks {
                period: Some(100),
                units: "lengths in metres and times in seconds",
                film: None,
                receivers: None,
            }),
        )
    }),
    small: || boxed(numbered(small(), Wave3d::random)),
    laptop: || boxed(numbered(laptop(), Wave3d::random)),
    large: || boxed(numbered(large(), Wave3d::random)),
});

const PARAMETERS: &[Parameter] = &[
    Parameter::new("n_x", "sites along x, at least 3", "128"),
    Parameter::new("n_y", "sites along y, at least 3", "128"),
    Parameter::new("n_z", "sites along z (depth), at least 3", "128"),
    Parameter::steps("steps", "timesteps, at least 1", "200"),
    Parameter::new("first_step", "number of the first timestep", "0"),
    Parameter::new("dx", "grid spacing in metres", "10"),
    Parameter::new(
        "dt",
        "timestep in seconds, at most dx / (c sqrt(3))",
        "0.002",
    ),
    Parameter::new(
        "model",
        "layers (c from 1500 m/s at the top to 2400 m/s at the bottom) or uniform (2000 m/s)",
        "layers",
    ),
    Parameter::new(
        "damping",
        "damping d beside the border in 1/s, 0 or more",
        "150",
    ),
    Parameter::new("source", "ricker or none", "ricker"),
    Parameter::new(
        "frequency",
        "the source's peak frequency in Hz, above 0",
        "15",
    ),
    Parameter::new("start", "initial fields: random, pulse or rest", "random"),
    Parameter::new("seed", "seed of random initial fields, 0 to 2^64 - 1", "1"),
    Parameter::SCALE,
];

/// The shapes of the large cases.
const LARGE: [[u32; 3]; 17] = [
    [32, 32, 32],
    [64, 64, 64],
    [96, 96, 96],
    [128, 128, 128],
    [160, 160, 160],
    [192, 192, 192],
    [224, 224, 224],
    [256, 256, 256],
    [333, 333, 333],
    [384, 384, 384],
    [256, 96, 256],
    [512, 64, 512],
    [512, 128, 512],
    [640, 64, 640],
    [768, 64, 768],
    [896, 64, 896],
    [1000, 64, 1000],
];

fn valid(shape: [u32; 3], steps: u32) -> Wave3d {
    Wave3d::new(shape, steps).expect("the lab's own cases are valid")
}

fn from_values(values: &Values<'_>) -> Result<Wave3d, CaseError> {
    let steps = values.get("steps")?;
    let model: String = values.get("model")?;
    let model = Model::from_name(&model)
        .ok_or_else(|| CaseError::unknown("model", &model, Model::NAMES))?;
    let source = Ricker::of_case(values)?;
    let start = Start::of_case(values)?;
    let shape = [values.get("n_x")?, values.get("n_y")?, values.get("n_z")?];
    Ok(Wave3d::new(shape, steps)?
        .with_medium(model, values.get("dx")?, values.get("dt")?)?
        .with_damping(values.get("damping")?)?
        .with_source(source)?
        .with_first_step(values.get("first_step")?)
        .with_start(start)
        .with_scale(Scale::of_case(values)?))
}

fn check_seedable(params: &CaseParams) -> Result<(), CaseError> {
    match params.get("start") {
        None | Some("random") => Ok(()),
        Some(other) => {
            let reason = "a seed is only for random fields";
            Err(CaseError::invalid("start", other, reason))
        }
    }
}

fn small() -> Vec<Wave3d> {
    // Widths just below, at and above twice an edge, so that layers meet, touch and leave a
    // middle; depths just below, at and above a block; even and odd numbers of steps, after
    // which u_prev and u have or have not swapped names.
    let defaults = [
        ([3, 3, 3], 1),
        ([3, 4, 5], 7),
        ([10, 11, 33], 4),
        ([9, 10, 32], 3),
        ([11, 10, 31], 3),
        ([11, 12, 64], 0),
        ([12, 11, 65], 1),
        ([21, 17, 40], 6),
        ([14, 30, 3], 5),
    ];
    let mut cases: Vec<Wave3d> = defaults
        .iter()
        .map(|&(shape, steps)| valid(shape, steps))
        .collect();
    let other = |shape, steps, change: &dyn Fn(Wave3d) -> Result<Wave3d, CaseError>| {
        change(valid(shape, steps)).expect("the lab's own cases are valid")
    };
    cases.push(other([13, 14, 15], 9, &|case| {
        case.with_medium(Model::Uniform, 10.0, 0.002)
    }));
    // A case near the limit of stability, in the middle of the source's rise.
    cases.push(other([15, 13, 16], 8, &|case| {
        Ok(case
            .with_medium(Model::Layers, 5.0, 0.0012)?
            .with_first_step(80))
    }));
    cases.push(other([13, 15, 17], 5, &|case| case.with_damping(0.0)));
    cases.push(other([12, 13, 14], 5, &|case| case.with_source(None)));
    cases
}

fn laptop() -> Vec<Wave3d> {
    vec![valid([128, 128, 128], 100)]
}

fn large() -> Vec<Wave3d> {
    // Small domains take more steps, so that a run is long compared with the resolution of the
    // clock.
    let steps = |[n_x, n_y, n_z]: [u32; 3]| {
        if n_x * n_y * n_z <= 1 << 21 {
            1000
        } else {
            100
        }
    };
    LARGE.map(|shape| valid(shape, steps(shape))).into()
}

impl InterfaceCase for Wave3d {
    type Interface = plan::wave3d::Wave3d;

    fn problem(&self) -> plan::wave3d::Problem {
        let Domain { n_x, n_y, n_z } = self.domain();
        plan::wave3d::Problem {
            n_x,
            n_y,
            n_z,
            steps: self.steps(),
            dt: self.scheme().dt,
            ratio: self.scheme().ratio,
            source: self.source_at(0).index,
            source_values: (0..self.steps()).map(|t| self.source_at(t).value).collect(),
        }
    }
}

impl LabCase for Wave3d {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let mut inputs = self.initial()?.into_buffers();
        inputs.extend(self.coefficients().into_buffers());
        Ok(inputs)
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        advance_copies(self, inputs, cpu, progress)
    }

    fn work(&self) -> Work {
        let updates = self.sites() as u64 * u64::from(self.steps());
        Work {
            updates,
            unit: "site updates",
            // With a launch per timestep, u is read, and u_prev is read and written. The tables are
            // smaller by at least the domain's depth, and stay in cache.
            bytes: 24 * updates,
            // The operations of an undamped site: seven for the Laplacian, two for its factor,
            // three for the rest.
            flops: 12 * updates,
        }
    }

    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let mut fields = Fields::each(|name| taken(buffers, name))?;
        let coefficients = Coefficients::each(|name| taken(buffers, name))?;
        let began = Instant::now();
        advance(self, &coefficients, &mut fields, cpu, progress);
        let time = began.elapsed();
        buffers.extend(fields.into_buffers());
        buffers.extend(coefficients.into_buffers());
        Ok(time)
    }

    fn view(&self) -> Option<View> {
        Some(View {
            lattice: Lattice::new("u", self.axes("u"), 0.0, self.dx_m()),
            timestep: self.dt_s(),
            slice: None,
            line: None,
        })
    }

    fn timesteps(&self) -> Option<u64> {
        Some(self.steps().into())
    }

    fn part(&self, first: u32, steps: u32) -> Option<Box<dyn LabCase>> {
        let first = self.first_step().wrapping_add(first);
        let part = self.clone().with_first_step(first).with_steps(steps);
        Some(Box::new(part))
    }

    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let copy = |name| Ok(copied(elements(inputs, name)?)?);
        let (fields, coefficients) = (Fields::each(copy)?, Coefficients::each(copy)?);
        let exact = oracle(self, &coefficients, &fields, progress);
        Ok(Some(exact.into_buffers()))
    }

    fn axes(&self, buffer: &str) -> Vec<(&'static str, u64)> {
        let Domain { n_x, n_y, n_z } = self.domain();
        let (i, j, k) = (("i", n_x.into()), ("j", n_y.into()), ("k", n_z.into()));
        match buffer {
            "c2" => vec![k],
            "d" => vec![j, i],
            _ => vec![k, j, i],
        }
    }
}
