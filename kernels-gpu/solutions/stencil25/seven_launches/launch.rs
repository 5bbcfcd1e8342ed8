//! Seven launches per timestep, for the points inside and for the shell's six boxes. Together they
//! replace v; then u and v swap names.

use kernels_gpu::stencil25::{Coefficients, Grid, Region, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, PLANE_BLOCK, THIN_BLOCK, TILE_BLOCK};

/// The kernel for the points inside, and its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    /// The kernel.
    pub kernel: &'static str,
    /// Threads of a block along z, y and x.
    pub block: [u32; 3],
    /// Whether blocks stream along x, and take many planes each.
    pub streams: bool,
    /// Whether the seven launches of a timestep may overlap. Each writes its own box of v and phi,
    /// and reads u and its own box.
    pub at_once: bool,
    /// Blocks of a cluster along the grid's x, y and z, which are the points' z, y and x. The grid
    /// is rounded up to whole clusters. Clusters of more than one block need compute capability
    /// 9.0.
    pub cluster: [u32; 3],
}

impl Inner {
    /// One point per thread, all from global memory.
    pub const GMEM: Inner = Inner {
        kernel: "stencil25_gmem",
        block: BLOCK,
        streams: false,
        at_once: false,
        cluster: [1; 3],
    };

    /// As [`Inner::GMEM`], with launches that may overlap.
    pub const GMEM_AT_ONCE: Inner = Inner {
        at_once: true,
        ..Inner::GMEM
    };

    /// One point per thread; a block's points and their halo come from shared memory.
    pub const SMEM: Inner = Inner {
        kernel: "stencil25_smem",
        block: TILE_BLOCK,
        ..Inner::GMEM
    };

    /// Columns along x in fixed registers, planes in shared memory.
    pub const ST_REG_FIXED: Inner = Inner {
        kernel: "stencil25_st_reg_fixed",
        block: PLANE_BLOCK,
        streams: true,
        ..Inner::GMEM
    };

    /// Columns of partial sums, planes in shared memory.
    pub const ST_SEMI: Inner = Inner {
        kernel: "stencil25_st_semi",
        ..Inner::ST_REG_FIXED
    };

    /// Launches the kernel in clusters of these numbers of blocks, along the grid's x, y and z.
    pub const fn in_clusters(self, cluster: [u32; 3]) -> Inner {
        Inner { cluster, ..self }
    }

    /// Grid and block for the points of `region`.
    fn config(self, region: Region) -> Result<LaunchConfig, PlanError> {
        let mut config = covering(region, self.block)?;
        if self.streams {
            let [planes, ..] = region.shape();
            let parts = ENOUGH_BLOCKS.div_ceil(config.grid[0].saturating_mul(config.grid[1]));
            config.grid[2] = parts.min(planes.div_ceil(FEWEST_PLANES));
        }
        Ok(config.in_whole_clusters(self.cluster))
    }
}

/// A number of blocks that fills any GPU many times: the wait for the last ones is short.
const ENOUGH_BLOCKS: u32 = 4096;
/// The least number of planes of a streaming block, if the region has as many. The block loads
/// eight planes before the first.
const FEWEST_PLANES: u32 = 32;

/// The solution with [`Inner::ST_REG_FIXED`].
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Inner::ST_REG_FIXED.record(problem, buffers, plan)
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
        let task = |region| {
            let task = Task {
                grid,
                region,
                coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
                source: problem.source,
            };
            task.to_bytes().to_vec()
        };
        let inner = grid.inner(problem.shell);
        for &value in &problem.source_values {
            let launches = |plan: &mut Plan| {
                let args = args![u.slice(), v, vp.slice(), task(inner), value];
                plan.launch(self.kernel, self.config(inner)?, args)?;
                for region in grid.shell(problem.shell) {
                    let (u, vp, eta) = (u.slice(), vp.slice(), eta.slice());
                    let args = args![u, v, vp, eta, phi, task(region), value];
                    plan.launch("stencil25_shell", shell_config(region)?, args)?;
                }
                Ok(())
            };
            if self.at_once {
                plan.independent(launches)?
            } else {
                launches(plan)?
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
