//! Seven launches a timestep, for the points inside and for the shell's six boxes: together they replace v, and u and v swap
//! names.

use kernels_gpu::stencil25::{Coefficients, Grid, Region};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{Arg, LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, THIN_BLOCK};

/// How the points inside are advanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    /// The kernel.
    pub kernel: &'static str,
    /// Threads of a block along z, y and x.
    pub block: [u32; 3],
}

impl Inner {
    /// One point a thread, all from global memory.
    pub const GMEM: Inner = Inner {
        kernel: "stencil25_gmem",
        block: BLOCK,
    };

    /// Grid and block for the points of `region`.
    fn config(self, region: Region) -> Result<LaunchConfig, PlanError> {
        covering(region, self.block)
    }
}

/// See the module.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Inner::GMEM.record(problem, buffers, plan)
    }
}

impl Solution for Inner {
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
        let inner = grid.inner(problem.shell);
        let coefficients = Coefficients::new([problem.dx, problem.dy, problem.dz]);
        for &value in &problem.source_values {
            let launch = |plan: &mut Plan, kernel, config, arrays: &[Arg], region: Region| {
                let constants = args![
                    grid.to_bytes().to_vec(),
                    region.to_bytes().to_vec(),
                    coefficients.to_bytes().to_vec(),
                    problem.source,
                    value,
                ];
                plan.launch(kernel, config, [arrays, &constants].concat())
            };
            let arrays = args![u.slice(), v, vp.slice()];
            launch(plan, self.kernel, self.config(inner)?, &arrays, inner)?;
            let arrays = args![u.slice(), v, vp.slice(), eta.slice(), phi];
            for region in grid.shell(problem.shell) {
                let config = shell_config(region)?;
                launch(plan, "stencil25_shell", config, &arrays, region)?;
            }
            (u, v) = (v, u);
        }
        Ok(Outputs { u, v, phi })
    }
}

/// Grid and block for a box of the shell.
fn shell_config(region: Region) -> Result<LaunchConfig, PlanError> {
    let [_, _, n_z] = region.shape();
    let block = if n_z <= THIN_BLOCK[0] {
        THIN_BLOCK
    } else {
        BLOCK
    };
    covering(region, block)
}

/// A thread for each point of the box, and for those before it in their cache line.
fn covering(region: Region, block: [u32; 3]) -> Result<LaunchConfig, PlanError> {
    let [n_x, n_y, _] = region.shape();
    LaunchConfig::covering([region.high[2] - region.line_z(), n_y, n_x], block)
}
