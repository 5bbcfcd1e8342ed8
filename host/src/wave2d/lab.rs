//! The lab's declaration.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kernels_gpu::wave2d::{AnyScene, Domain, Scene as _};

use super::problem::{Fields, Start, Wave2d};
use super::reference::{advance, advance_fused};
use crate::arrays::{taken, wide};
use crate::fill::copied;
use crate::kernels::kernels_of;
use crate::random::Scale;
use device::buffer::{NamedBuffers, elements};
use device::error::Error;
use lab::{
    CaseError, Chunks, Cpu, Film, InterfaceCase, Lab, LabCase, Lattice, Parameter, Running, Series,
    Shown, Slice, Values, View, Work, advance_copies, boxed, numbered,
};
use plan::Interface as _;
use terminal::progress::Progress;

/// The lab `wave2d`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::wave2d::Wave2d::NAME,
    summary: "2D wave equation with walls, sources and damping; several timesteps per launch",
    parameters: PARAMETERS,
    outputs: plan::wave2d::Wave2d::OUTPUTS,
    rounds: true,
    seed_bits: 64,
    module: kernels_of("wave2d"),
    variants: crate::solutions::built_in!(wave2d),
    extents: &["n_x", "n_y"],
    least_extent: 2,
    series: Series {
        short: &[3201, 6401],
        long: &[3201, 6401, 12_801],
        emulated: &[33, 60],
    },
    of_extent: |n| Ok(Box::new(Wave2d::new(n, n, 1, AnyScene::NAMES[0])?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable: |_| Ok(()),
    running: Some(Running {
        defaults: &[
            ("n_x", "400"),
            ("n_y", "300"),
            ("steps", "1200"),
            ("scene", "double-slit"),
            ("seed", "rest"),
        ],
        ..Running::shown(
            "2D wave with walls and sources: a film, the fields as .npy or .vti, cell updates a second",
            Shown::Chunks(Chunks {
                period: None,
                units: "lengths in cells and times in timesteps",
                film: Some(Film {
                    summary: "a film",
                    frames: 100,
                    fps: 25,
                }),
                receivers: None,
            }),
        )
    }),
    small: || boxed(numbered(small(), Wave2d::random)),
    laptop: || boxed(numbered(laptop(), Wave2d::random)),
    large: || boxed(numbered(large(), Wave2d::random)),
});

const PARAMETERS: &[Parameter] = &[
    Parameter::new("n_x", "cells along x, at least 2", "1001"),
    Parameter::new("n_y", "cells along y, at least 2", "1001"),
    Parameter::steps("steps", "timesteps, at least 1", "1000"),
    Parameter::new("first_step", "number of the first timestep", "0"),
    Parameter::new(
        "scene",
        "point-source, double-slit, elliptic-room, parabolic-mirror or empty-box",
        "point-source",
    ),
    Parameter::new("k", "(c dt/dx)^2, above 0 and at most 0.5", "0.25"),
    Parameter::new(
        "seed",
        "seed of the random initial fields, or `rest` for zeros",
        "1",
    ),
    Parameter::SCALE,
];

fn valid(n_x: u32, n_y: u32, steps: u32, scene: &str, k: f32) -> Wave2d {
    let case = Wave2d::new(n_x, n_y, steps, scene).and_then(|case| case.with_k(k));
    case.expect("the lab's own cases are valid")
}

fn from_values(values: &Values<'_>) -> Result<Wave2d, CaseError> {
    let steps = values.get("steps")?;
    let start = match values.seed_or("seed", "rest")? {
        None => Start::Rest,
        Some(seed) => Start::Random { seed },
    };
    let scene: String = values.get("scene")?;
    Ok(
        Wave2d::new(values.get("n_x")?, values.get("n_y")?, steps, &scene)?
            .with_first_step(values.get("first_step")?)
            .with_k(values.get("k")?)?
            .with_start(start)
            .with_scale(Scale::of_case(values)?),
    )
}

fn small() -> Vec<Wave2d> {
    // Sizes just below, at and above a block and a tile; steps just below, at and above a
    // launch of several steps.
    let mut cases = Vec::new();
    for (n_x, n_y, steps) in [
        (2, 2, 1),
        (3, 3, 7),
        (37, 53, 10),
        (33, 9, 11),
        (129, 65, 7),
    ] {
        cases.push(valid(n_x, n_y, steps, "point-source", 0.25));
    }
    for scene in AnyScene::NAMES {
        for (n_x, n_y, steps) in [
            (3, 3, 100),
            (37, 53, 100),
            (200, 201, 0),
            (200, 201, 1),
            (201, 201, 17),
        ] {
            cases.push(valid(n_x, n_y, steps, scene, 0.25));
        }
    }
    // A case at the limit of stability, with a last step in the middle of the source's rise.
    cases.push(valid(201, 200, 100, "double-slit", 0.5));
    cases
}

fn laptop() -> Vec<Wave2d> {
    vec![valid(1001, 1001, 200, "point-source", 0.25)]
}

fn large() -> Vec<Wave2d> {
    // The second fits into one cluster.
    let sizes = [(3201, 12_800), (201, 10_000)];
    sizes
        .map(|(n, steps)| valid(n, n, steps, "point-source", 0.25))
        .into()
}

impl InterfaceCase for Wave2d {
    type Interface = plan::wave2d::Wave2d;

    fn problem(&self) -> plan::wave2d::Problem {
        plan::wave2d::Problem {
            n_x: self.domain().n_x,
            n_y: self.domain().n_y,
            steps: self.steps(),
            first_step: self.first_step(),
            scene: self.scene_number(),
            k: self.k(),
        }
    }
}

impl LabCase for Wave2d {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        Ok(self.initial()?.into_buffers())
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
        let updates = self.cells() as u64 * u64::from(self.steps());
        Work {
            updates,
            unit: "cell updates",
            // With a launch per timestep, u1 is read, and u0 is read and written.
            bytes: 12 * updates,
            // The operations of an undamped cell: three additions of neighbours, two products, two
            // sums.
            flops: 7 * updates,
        }
    }

    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let mut fields: Fields<f32> = Fields::each(|name| taken(buffers, name))?;
        let began = Instant::now();
        advance(self, &mut fields, cpu, progress);
        let time = began.elapsed();
        buffers.extend(fields.into_buffers());
        Ok(time)
    }

    fn view(&self) -> Option<View> {
        let (Domain { n_x, n_y }, scene) = (self.domain(), self.scene());
        Some(View {
            lattice: Lattice::new("u1", self.axes("u1"), 0.0, 1.0),
            timestep: 1.0,
            slice: Some(Slice {
                first: 0,
                across: (n_x, 1),
                down: (n_y, n_x as usize),
                is_wall: Box::new(move |x, y| scene.is_wall(x, y)),
            }),
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

    /// The fields that the scheme computes in `f64`.
    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let mut fields = Fields::each(|name| wide(inputs, name))?;
        advance(self, &mut fields, Cpu::Parallel, progress);
        Ok(Some(fields.into_buffers()))
    }

    fn fused_reference(&self, inputs: &NamedBuffers) -> Result<Option<NamedBuffers>, Error> {
        let mut fields = Fields::each(|name| Ok(copied(elements(inputs, name)?)?))?;
        advance_fused(self, &mut fields);
        Ok(Some(fields.into_buffers()))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        let domain = self.domain();
        vec![("x", domain.n_x.into()), ("y", domain.n_y.into())]
    }
}
