//! The lab's declaration.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::converge::{to_tolerance, to_tolerance_on_cpu};
use super::problem::{Poisson, Start};
use super::reference::{Box3, Jacobi, oracle};
use crate::kernels::kernels_of;
use crate::random::Scale;
use device::buffer::{NamedBuffers, elements, named, take};
use device::error::Error;
use lab::{
    By, CaseError, Converging, Cpu, InterfaceCase, Lab, LabCase, Last, Lattice, Parameter, Running,
    Seed, Series, Shown, Values, View, Work, advance_copies, boxed, downcast,
};
use plan::Interface as _;
use terminal::progress::Progress;

/// The lab `poisson`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::poisson::Poisson::NAME,
    summary: "Poisson's equation in a cube by Jacobi's iteration: what one kernel costs, written five ways",
    parameters: PARAMETERS,
    outputs: plan::poisson::Poisson::OUTPUTS,
    rounds: true,
    seed_bits: 64,
    module: kernels_of("poisson"),
    variants: crate::solutions::built_in!(poisson),
    extents: &["n"],
    least_extent: 3,
    series: Series {
        short: &[256, 512],
        long: &[512, 640, 800, 992, 1024, 1290],
        emulated: &[12, 24],
    },
    of_extent: |n| Ok(Box::new(Poisson::new(n, 1)?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable: |_| Ok(()),
    running: Some(Running::shown(
        "Poisson's equation in a cube: times, iterations to a tolerance, the field as .npy or .vti",
        Shown::Last(Last {
            quoted: Some(("24 K N^3 / t", "the usual figure, of three arrays")),
            converging: Some(Converging {
                summary: "Stop when an iteration changes no point by more than this, at the latest after --iterations; \
                          exit code 1 if they are too few",
                run: |case, by, stop, progress| {
                    let problem = downcast::<Poisson>("run", case);
                    match by {
                        By::Cpu(cpu) => to_tolerance_on_cpu(problem, stop, cpu, progress),
                        By::Device(device, variant) => {
                            to_tolerance(device, problem, variant, stop, progress)
                        }
                    }
                },
            }),
        }),
    )),
    small: || boxed(small()),
    laptop: || boxed(laptop()),
    large: || boxed(large()),
});

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "n",
        "points along each axis, walls included: 3 to 32768; variants of one launch take 1625",
        "128",
    ),
    Parameter::steps("iterations", "Jacobi iterations, at least 1", "1000"),
    Parameter::new(
        "t0",
        "start value inside the walls, at most 1e9 in magnitude",
        "0",
    ),
    Parameter::new(
        "seed",
        "seed of random start values instead of t0, or `none`",
        "none",
    ),
    Parameter::SCALE,
];

fn valid(n: u32, iterations: u32, start: Start) -> Poisson {
    let problem = Poisson::new(n, iterations).and_then(|problem| problem.with_start(start));
    problem.expect("the lab's own cases are valid")
}

fn from_values(values: &Values<'_>) -> Result<Poisson, CaseError> {
    let iterations = values.get("iterations")?;
    let start = match values.seed_or("seed", "none")? {
        None => Start::Uniform(values.get("t0")?),
        Some(seed) if values.given("t0").is_some() => {
            let reason = "start values are either random or t0: leave one of the two out";
            return Err(CaseError::invalid("seed", seed, reason));
        }
        Some(seed) => Start::Random { seed },
    };
    let problem = Poisson::new(values.get("n")?, iterations)?.with_start(start)?;
    Ok(problem.with_scale(Scale::of_case(values)?))
}

fn small() -> Vec<Poisson> {
    // One point inside; sizes just below, at and above a tile, a batch of layers, a warp and a
    // thread's layers.
    let random = [
        (3, 1),
        (3, 2),
        (4, 3),
        (7, 0),
        (8, 4),
        (9, 5),
        (10, 2),
        (11, 7),
        (17, 3),
        (33, 1),
        (35, 2),
    ];
    let uniform = [(16, 5, 0.0), (13, 8, 20.0), (6, 9, -3.5)];
    let random = random.into_iter().zip(1..).map(|((n, iterations), seed)| {
        valid(
            n,
            iterations,
            Start::Random {
                seed: Seed::Number(seed),
            },
        )
    });
    let uniform = uniform.map(|(n, iterations, t0)| valid(n, iterations, Start::Uniform(t0)));
    random.chain(uniform).collect()
}

fn laptop() -> Vec<Poisson> {
    vec![valid(128, 200, Start::Uniform(0.0))]
}

fn large() -> Vec<Poisson> {
    // The first fits in one cluster, and the next three in the whole GPU.
    [
        (32, 10_000),
        (64, 5000),
        (96, 2000),
        (128, 1000),
        (256, 1000),
        (512, 200),
        (640, 200),
    ]
    .map(|(n, iterations)| valid(n, iterations, Start::Uniform(0.0)))
    .into()
}

impl InterfaceCase for Poisson {
    type Interface = plan::poisson::Poisson;

    fn problem(&self) -> plan::poisson::Problem {
        plan::poisson::Problem {
            n: self.n(),
            iterations: self.iterations(),
        }
    }
}

impl LabCase for Poisson {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        Ok(named([("u", self.initial()?.into())]))
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
        let updates = self.points_inside() * u64::from(self.iterations());
        let side = u64::from(self.n() - 2);
        Work {
            updates,
            unit: "point updates",
            // With a launch per iteration, u is read except the cube's edges, and u_next is written
            // inside the walls.
            bytes: 8 * u64::from(self.iterations()) * (2 * self.points_inside() + 6 * side * side),
            // Five additions of neighbours, h^2 f and its addition, the product with 1/6.
            flops: 8 * updates,
        }
    }

    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let u = take(buffers, "u")?.try_into()?;
        let source = Box3::new(self.grid());
        let mut jacobi = Jacobi::new(self.grid(), u, &source, cpu)?;
        let began = Instant::now();
        for iteration in 1..=self.iterations() {
            jacobi.step();
            progress.update(iteration.into(), self.iterations().into());
        }
        let time = began.elapsed();
        buffers.extend(named([("u", jacobi.into_u().into())]));
        Ok(time)
    }

    fn view(&self) -> Option<View> {
        let spacing = 2.0 / f64::from(self.n() - 1);
        Some(View {
            lattice: Lattice::new("u", self.axes("u"), -1.0, spacing),
            timestep: 1.0,
            slice: None,
            line: None,
        })
    }

    fn quoted_bytes(&self) -> Option<u64> {
        Some(self.usual_bytes())
    }

    fn timesteps(&self) -> Option<u64> {
        Some(self.iterations().into())
    }

    fn part(&self, _first: u32, steps: u32) -> Option<Box<dyn LabCase>> {
        Some(Box::new(self.clone().with_iterations(steps)))
    }

    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let u = oracle(self, elements(inputs, "u")?, progress);
        Ok(Some(named([("u", u.into())])))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        ["x", "y", "z"].map(|axis| (axis, self.n().into())).into()
    }
}
