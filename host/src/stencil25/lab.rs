//! The lab's declaration.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kernels_gpu::stencil25::LINE;

use super::model::{Medium, Model};
use super::problem::{Fields, Stencil25};
use super::reference::advance;
use crate::arrays::{taken, wide};
use crate::kernels::kernels_of;
use crate::random::Scale;
use crate::seismic::{Ricker, Start};
use device::buffer::{NamedBuffers, elements, named};
use device::error::Error;
use lab::{
    CaseError, CaseParams, Chunks, Cpu, Film, FromFile, InterfaceCase, Lab, LabCase, Lattice, Line,
    Parameter, Receiving, Running, Series, Shown, Slice, Together, Values, View, Work,
    advance_copies, boxed, numbered,
};
use plan::Interface as _;
use terminal::progress::Progress;

/// The lab `stencil25`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::stencil25::Stencil25::NAME,
    summary: "acoustic wave in f32, 25-point stencil, absorbing shell",
    parameters: PARAMETERS,
    outputs: plan::stencil25::Stencil25::OUTPUTS,
    rounds: true,
    seed_bits: 64,
    module: kernels_of("stencil25"),
    variants: crate::solutions::built_in!(stencil25),
    extents: &["n_x", "n_y", "n_z"],
    least_extent: 33,
    series: Series {
        short: &[256, 512],
        long: &[512, 768, 1000],
        emulated: &[33, 36],
    },
    // Solutions with passes of several timesteps have all of their arrays.
    of_extent: |n| Ok(Box::new(Stencil25::new([n; 3], 4)?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable,
    running: Some(Running {
        defaults: &[
            ("n_x", "256"),
            ("n_y", "256"),
            ("n_z", "256"),
            ("steps", "500"),
            ("start", "rest"),
        ],
        together: Some(Together {
            flag: "spacing",
            value: "METRES",
            summary: "Grid spacing in metres: one number, or three for x, y and z",
            parameters: &["dx", "dy", "dz"],
        }),
        file: Some(FromFile {
            name: "model",
            summary: "The wave's speed: layers, uniform, or a .npy of n_x * n_y * n_z speeds in m/s, z contiguous, \
                      which gives the shape, too",
            words: &Model::NAMES,
            case: |values, speeds| Ok(Box::new(of_model(values, Model::Given(speeds.into()))?)),
        }),
        ..Running::shown(
            "Seismic wave in f32: rates, energy, fields for ParaView, a film of a slice, a seismogram",
            Shown::Chunks(Chunks {
                period: None,
                units: "lengths in metres and times in seconds",
                film: Some(Film {
                    summary: "a film of the slice through the source, x across and z down",
                    frames: 20,
                    fps: 10,
                }),
                receivers: Some(Receiving {
                    along: "x",
                    depth: "just below the shell",
                }),
            }),
        )
    }),
    small: || boxed(numbered(small(), Stencil25::random)),
    laptop: || boxed(numbered(laptop(), Stencil25::random)),
    large: || boxed(numbered(large(), Stencil25::random)),
});

const PARAMETERS: &[Parameter] = &[
    Parameter::new("n_x", "points along x, at least 2 shell + 1", "96"),
    Parameter::new("n_y", "points along y, at least 2 shell + 1", "96"),
    Parameter::new("n_z", "points along z (depth), at least 2 shell + 1", "96"),
    Parameter::steps("steps", "timesteps, at least 1", "100"),
    Parameter::new("first_step", "number of the first timestep", "0"),
    Parameter::new("dx", "grid spacing along x in metres", "10"),
    Parameter::new("dy", "grid spacing along y in metres", "10"),
    Parameter::new("dz", "grid spacing along z in metres", "10"),
    Parameter::new(
        "dt",
        "timestep in seconds, or `auto`: 0.9 of the largest that is stable",
        "auto",
    ),
    Parameter::new(
        "shell",
        "width of the absorbing shell in points, at least 1",
        "16",
    ),
    Parameter::new(
        "model",
        "layers (c from 1500 m/s at the top to 2400 m/s at the bottom) or uniform (2000 m/s)",
        "layers",
    ),
    Parameter::new("source", "ricker or none", "ricker"),
    Parameter::new(
        "frequency",
        "the source's peak frequency in Hz, above 0",
        "15",
    ),
    Parameter::new(
        "start",
        "random (fields, and vp up to an eighth less than the model's), pulse or rest",
        "random",
    ),
    Parameter::new("seed", "seed of a random start, 0 to 2^64 - 1", "1"),
    Parameter::SCALE,
];

/// The large cases, with timesteps that take some hundredths of a second on a GPU. They are few
/// enough for 16 cores to compute all of them within the two seconds of a check. To continue from a
/// state of gigabytes would take longer.
const LARGE: [(u32, u32); 3] = [(512, 8), (768, 4), (1000, 4)];

fn valid(shape: [u32; 3], steps: u32, shell: u32) -> Stencil25 {
    Stencil25::with_shell(shape, steps, shell).expect("the lab's own cases are valid")
}

/// The constant arrays among the buffers of a plan.
fn medium(buffers: &NamedBuffers) -> Result<Medium<'_>, Error> {
    Ok(Medium {
        vp: elements(buffers, "vp")?,
        eta: elements(buffers, "eta")?,
    })
}

fn from_values(values: &Values<'_>) -> Result<Stencil25, CaseError> {
    let model: String = values.get("model")?;
    let model = Model::from_name(&model)
        .ok_or_else(|| CaseError::unknown("model", &model, Model::NAMES))?;
    of_model(values, model)
}

/// The case with this model, and everything else as the values say.
fn of_model(values: &Values<'_>, model: Model) -> Result<Stencil25, CaseError> {
    let steps = values.get("steps")?;
    let source = Ricker::of_case(values)?;
    let start = Start::of_case(values)?;
    let dt = match values.given("dt") {
        None | Some("auto") => None,
        Some(_) => Some(values.get("dt")?),
    };
    let shape = [values.get("n_x")?, values.get("n_y")?, values.get("n_z")?];
    let spacing = [values.get("dx")?, values.get("dy")?, values.get("dz")?];
    Ok(Stencil25::with_shell(shape, steps, values.get("shell")?)?
        .with_medium(model, spacing, dt)?
        .with_source(source)?
        .with_first_step(values.get("first_step")?)
        .with_start(start)
        .with_scale(Scale::of_case(values)?))
}

fn check_seedable(params: &CaseParams) -> Result<(), CaseError> {
    match params.get("start") {
        None | Some("random") => Ok(()),
        Some(other) => {
            let reason = "a seed is only for a random start";
            Err(CaseError::invalid("start", other, reason))
        }
    }
}

fn small() -> Vec<Stencil25> {
    // Insides of one point, and just below, at and above a block and a tile; shells below, at
    // and beyond the stencil's radius; rows that exactly fill their lines; even and odd numbers
    // of steps, after which u and v have or have not swapped names.
    let mut cases: Vec<Stencil25> = [
        ([3, 3, 3], 1, 1),
        ([3, 4, 5], 7, 1),
        ([9, 8, 28], 2, 1),
        ([10, 9, 29], 3, 4),
        ([12, 25, 65], 0, 3),
        ([13, 18, 40], 4, 2),
        ([24, 13, 33], 5, 5),
        ([11, 12, 124], 2, 5),
        ([33, 33, 33], 1, 16),
    ]
    .map(|(shape, steps, shell)| valid(shape, steps, shell))
    .into();
    let other = |shape, steps, change: &dyn Fn(Stencil25) -> Result<Stencil25, CaseError>| {
        change(valid(shape, steps, 3)).expect("the lab's own cases are valid")
    };
    cases.push(other([14, 15, 37], 4, &|case| {
        case.with_medium(Model::UNIFORM, [10.0, 12.5, 8.0], None)
    }));
    // A case near the limit of stability, in the middle of the source's rise.
    cases.push(other([15, 13, 16], 6, &|case| {
        let spacing = [5.0, 5.0, 5.0];
        Ok(case
            .with_medium(Model::LAYERS, spacing, Some(0.0009))?
            .with_first_step(70))
    }));
    // A case near the source's peak, with the source in a corner of the shell.
    cases.push(other([12, 13, 17], 3, &|case| {
        Ok(case.with_source_point([1, 12, 0])?.with_first_step(60))
    }));
    cases.push(other([12, 13, 14], 5, &|case| case.with_source(None)));
    cases
}

fn laptop() -> Vec<Stencil25> {
    vec![valid([96; 3], 100, 16)]
}

fn large() -> Vec<Stencil25> {
    LARGE.map(|(n, steps)| valid([n; 3], steps, 16)).into()
}

impl InterfaceCase for Stencil25 {
    type Interface = plan::stencil25::Stencil25;

    fn problem(&self) -> plan::stencil25::Problem {
        let grid = self.grid();
        let [dx, dy, dz] = self.spacing_m();
        plan::stencil25::Problem {
            n_x: grid.n_x,
            n_y: grid.n_y,
            n_z: grid.n_z,
            pitch: grid.pitch,
            shell: self.shell(),
            steps: self.steps(),
            dx,
            dy,
            dz,
            source: self.source_index(),
            source_values: (0..self.steps()).map(|t| self.source_value(t)).collect(),
        }
    }
}

impl LabCase for Stencil25 {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let mut inputs = self.initial()?.into_buffers();
        let (vp, eta) = (self.vp()?, self.eta()?);
        inputs.extend(named([("vp", vp.into()), ("eta", eta.into())]));
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
        let updates = self.grid().points() * u64::from(self.steps());
        let [inner, shell] = self.parts();
        Work {
            updates,
            unit: "point updates",
            // With a launch per timestep, u and vp are read, and v is read and written. In the
            // shell, eta is read, and phi is read and written too.
            bytes: (16 * inner + 28 * shell) * u64::from(self.steps()),
            // The operations of a point inside: 37 for the Laplacian, 4 for the rest. A fused
            // product and sum count as two.
            flops: 41 * updates,
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
        advance(self, medium(buffers)?, &mut fields, cpu, progress);
        let time = began.elapsed();
        buffers.extend(fields.into_buffers());
        Ok(time)
    }

    fn view(&self) -> Option<View> {
        let (grid, shell) = (self.grid(), self.shell());
        let (to_x, to_y) = (grid.stride_x() as usize, grid.stride_y() as usize);
        // Film and receivers pass through the source.
        let [_, y, _] = self.source_point();
        Some(View {
            lattice: Lattice {
                name: "u",
                first: grid.index(0, 0, 0) as usize,
                axes: [(grid.n_x, to_x), (grid.n_y, to_y), (grid.n_z, 1)],
                origin: [0.0; 3],
                spacing: self.spacing_m(),
            },
            timestep: self.dt_s(),
            slice: Some(Slice {
                first: grid.index(0, y, 0) as usize,
                across: (grid.n_x, to_x),
                down: (grid.n_z, 1),
                is_wall: Box::new(|_, _| false),
            }),
            line: Some(Line {
                first: grid.index(shell, y, 0),
                stride: grid.stride_x(),
                len: grid.n_x - 2 * shell,
                gather: "stencil25_gather",
                depths: (grid.n_z, 1),
                depth: shell,
            }),
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
        let medium = medium(inputs)?;
        advance(self, medium, &mut fields, Cpu::Parallel, progress);
        Ok(Some(fields.into_buffers()))
    }

    /// A case of more than a few million points is replaced by some tens of points along each axis,
    /// with the same spacing and timestep: an oracle has twice the bytes.
    fn rounding_sample(&self) -> Option<Box<dyn LabCase>> {
        if self.grid().points() <= 1 << 22 {
            return None;
        }
        let least = 2 * self.shell() + 1;
        let shape = self.grid().shape().map(|n| n.min(64.max(least)));
        let sample = Stencil25::with_shell(shape, self.steps(), self.shell())
            .ok()?
            .with_medium(Model::LAYERS, self.spacing_m(), Some(self.dt_s()))
            .ok()?
            .with_source(self.source())
            .ok()?
            .with_start(Start::Random { seed: 1.into() })
            .with_first_step(self.first_step());
        Some(Box::new(sample))
    }

    /// The axes of every buffer; x and y count from the first row of the halo.
    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        let grid = self.grid();
        vec![
            ("z", grid.pitch.into()),
            ("y + 4", grid.rows_of_plane() as u64),
            ("x + 4", u64::from(grid.n_x) + 8),
        ]
    }

    /// One step of at most some million points, whose rows end at the same place of a cache line.
    /// Its shell's share of the points is the nearest to the full case's: most blocks have no
    /// larger share than there.
    fn reduced(&self) -> Option<Box<dyn LabCase>> {
        let [n_x, n_y, n_z] = self.grid().shape();
        let shape = [n_x.min(96), n_y.min(96), n_z.min(256 + n_z % LINE)];
        let share = self.shell_share();
        let cases = (1..=self.shell()).filter_map(|shell| {
            let case = Stencil25::with_shell(shape, self.steps().min(1), shell).ok()?;
            let difference = (case.shell_share() - share).abs();
            Some((difference, case))
        });
        let nearest = cases.min_by(|a, b| a.0.total_cmp(&b.0));
        let (_, nearest) = nearest?;
        Some(Box::new(nearest))
    }
}
