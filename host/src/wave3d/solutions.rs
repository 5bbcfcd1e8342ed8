//! The built-in solutions: how each records its launches.

use kernels_gpu::wave3d::domain::{edge_len, middle_len};
use kernels_gpu::wave3d::fields::Source;
use kernels_gpu::wave3d::split::Y_LAYERS_BLOCK;
use kernels_gpu::wave3d::{BLOCK, Domain};

use super::problem::Wave3d;
use crate::args;
use crate::buffer::Element;
use crate::error::Error;
use crate::lab::Variant;
use crate::plan::{BufferId, LaunchConfig, Plan, PlanError};
use crate::registry::find_variant;

const SINGLE: &str = "single";
const SPLIT2: &str = "split2";
const SPLIT3: &str = "split3";

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: SINGLE,
        summary: "one launch a timestep, one thread a site, a branch for the damping",
        exact: true,
    },
    Variant {
        name: SPLIT2,
        summary: "two launches a timestep: the damped layers in x apart",
        exact: true,
    },
    Variant {
        name: SPLIT3,
        summary: "three launches a timestep: the damped layers in x and in y apart, no branch",
        exact: true,
    },
];

/// The variant's plan: inputs `u_prev`, `u`, `c2` and `d`, outputs `u_prev` and `u`.
///
/// A timestep's launches replace u_prev by the next field; then the two swap names. Nothing is copied.
pub(super) fn record(problem: &Wave3d, variant: &str) -> Result<Plan, Error> {
    let variant = find_variant(VARIANTS, variant)?.name;
    let Domain { n_x, n_y, n_z } = problem.domain();
    let mut plan = Plan::new(format!("wave3d {variant}, {problem}"));
    let mut u_prev = plan.buffer("u_prev", Element::F64, problem.sites());
    let mut u = plan.buffer("u", Element::F64, problem.sites());
    let c2 = plan.buffer("c2", Element::F64, n_z as usize);
    let d = plan.buffer("d", Element::F64, n_x as usize * n_y as usize);
    for step in 0..problem.steps() {
        let mut timestep = Timestep {
            plan: &mut plan,
            problem,
            buffers: [u_prev, u, c2, d],
            source: problem.source_at(step),
        };
        match variant {
            SINGLE => timestep.launch("wave3d_single", [n_z, n_y, n_x], BLOCK)?,
            SPLIT2 => timestep.split2()?,
            _ => timestep.split3()?,
        }
        (u_prev, u) = (u, u_prev);
    }
    plan.output("u_prev", u_prev);
    plan.output("u", u);
    Ok(plan)
}

/// What the launches of one timestep share.
struct Timestep<'p> {
    plan: &'p mut Plan,
    problem: &'p Wave3d,
    buffers: [BufferId; 4],
    source: Source,
}

impl Timestep<'_> {
    fn split2(&mut self) -> Result<(), PlanError> {
        let Domain { n_x, n_y, n_z } = self.problem.domain();
        self.launch("wave3d_x_layers", [n_z, n_y, edge_len(n_x)], BLOCK)?;
        self.launch("wave3d_middle", [n_z, n_y, middle_len(n_x)], BLOCK)
    }

    fn split3(&mut self) -> Result<(), PlanError> {
        let Domain { n_x, n_y, n_z } = self.problem.domain();
        self.launch("wave3d_x_layers", [n_z, n_y, edge_len(n_x)], BLOCK)?;
        let y_layers = [n_z, edge_len(n_y), middle_len(n_x)];
        self.launch("wave3d_y_layers", y_layers, Y_LAYERS_BLOCK)?;
        self.interior()
    }

    /// Records a launch with one thread for each of `threads`; none if there are none, as between the layers of a
    /// narrow domain.
    fn launch(
        &mut self,
        kernel: &str,
        threads: [u32; 3],
        block: [u32; 3],
    ) -> Result<(), PlanError> {
        if threads.contains(&0) {
            return Ok(());
        }
        let [u_prev, u, c2, d] = self.buffers;
        let Domain { n_x, n_y, n_z } = self.problem.domain();
        let scheme = self.problem.scheme();
        self.plan.launch(
            kernel,
            LaunchConfig::covering(threads, block)?,
            args![
                u_prev,
                u.slice(),
                c2.slice(),
                d.slice(),
                n_x,
                n_y,
                n_z,
                scheme.dt,
                scheme.ratio,
                self.source.index,
                self.source.value,
            ],
        )
    }

    /// As [`launch`](Self::launch), of the kernel that knows no damping.
    fn interior(&mut self) -> Result<(), PlanError> {
        let [u_prev, u, c2, _] = self.buffers;
        let Domain { n_x, n_y, n_z } = self.problem.domain();
        let threads = [n_z, middle_len(n_y), middle_len(n_x)];
        if threads.contains(&0) {
            return Ok(());
        }
        self.plan.launch(
            "wave3d_interior",
            LaunchConfig::covering(threads, BLOCK)?,
            args![
                u_prev,
                u.slice(),
                c2.slice(),
                n_x,
                n_y,
                n_z,
                self.problem.scheme().ratio,
                self.source.index,
                self.source.value,
            ],
        )
    }
}

/// Fewest bytes that a variant moves for the problem: u read, u_prev read and written, in each timestep. The tables are
/// smaller by a factor of the domain's depth and more, and stay in cache.
pub(super) fn bytes(problem: &Wave3d) -> u64 {
    24 * problem.sites() as u64 * u64::from(problem.steps())
}
