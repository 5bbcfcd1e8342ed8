//! One launch per timestep, which replaces v; then u and v swap names.

use kernels_gpu::stencil25::{Coefficients, Grid, RADIUS, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{BufferId, LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, SHARED_MEM_BYTES, blocks};

/// See the module.
pub struct Submission;

impl Solution for Submission {
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
        let region = grid.inner(problem.shell);
        let task = Task {
            grid,
            region,
            coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
            source: problem.source,
        };
        let (blocks, planes) = blocks(&task);
        let config = LaunchConfig::new(blocks, BLOCK).with_shared_mem_bytes(SHARED_MEM_BYTES);
        let plane = u64::from(grid.stride_x());
        let points = |id: BufferId| id.range(u64::from(RADIUS) * plane, u64::from(n_x) * plane);
        for &value in &problem.source_values {
            let task = task.to_bytes().to_vec();
            let arrays = args![
                u.slice(),
                points(v),
                vp.slice(),
                eta.slice(),
                points(phi),
                task,
                value,
                planes
            ];
            plan.launch("stencil25_fast", config, arrays)?;
            (u, v) = (v, u);
        }
        Ok(Outputs { u, v, phi })
    }
}
