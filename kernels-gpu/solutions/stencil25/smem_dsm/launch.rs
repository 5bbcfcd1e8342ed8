//! One launch per timestep, in clusters, which replaces v; then u and v swap names.

use kernels_gpu::stencil25::{Coefficients, Grid, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::BLOCK;

/// The solution with clusters of these numbers of blocks along the grid's x, y and z, which are the
/// points' z, y and x. The grid is rounded up to whole clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clusters(pub [u32; 3]);

/// The solution with clusters of two blocks along y and two along x.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Clusters([1, 2, 2]).record(problem, buffers, plan)
    }
}

impl Solution for Clusters {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers {
            mut u,
            mut v,
            vp,
            eta,
            phi,
        } = buffers;
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let grid = Grid::new([n_x, n_y, n_z]);
        let task = Task {
            grid,
            region: grid.inner(problem.shell),
            coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
            source: problem.source,
        };
        let Clusters(cluster) = *self;
        let config = LaunchConfig::covering([n_z, n_y, n_x], BLOCK)?.in_whole_clusters(cluster);
        for &value in &problem.source_values {
            let task = task.to_bytes().to_vec();
            let args = args![u.slice(), v, vp.slice(), eta.slice(), phi, task, value];
            plan.launch("stencil25_smem_dsm", config, args)?;
            (u, v) = (v, u);
        }
        Ok(Outputs { u, v, phi })
    }
}
