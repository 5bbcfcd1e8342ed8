//! One launch a timestep, which replaces v; then u and v swap names.

use kernels_gpu::stencil25::{Coefficients, Grid, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, SHARED_MEM_BYTES, TILE};

/// Blocks that keep any GPU busy to the end.
const ENOUGH_BLOCKS: u32 = 8192;
/// Planes of a block: before the first it reads eight, and fewer are soon done, so that neighbours stay near each other.
const PLANES: [u32; 2] = [24, 48];
/// About as many blocks as run at once. A band of rows of tiles has so many, and goes through all planes before the next band starts: the planes that a block reads
/// before its first are in L2 still, since the block before it has just used them.
const BAND: u32 = 640;

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
        let [inner_x, ..] = region.shape();
        let tiles = [n_z.div_ceil(TILE[0]), n_y.div_ceil(TILE[1])];
        let parts = ENOUGH_BLOCKS.div_ceil(tiles[0].saturating_mul(tiles[1]));
        let planes = inner_x.div_ceil(parts).clamp(PLANES[0], PLANES[1]);
        let parts = inner_x.div_ceil(planes);
        // Of equal parts none is much shorter than the others.
        let planes = inner_x.div_ceil(parts);
        let bands = tiles[0].saturating_mul(tiles[1]).saturating_add(BAND / 2) / BAND;
        let rows = tiles[1].div_ceil(bands.max(1));
        let parts = inner_x.div_ceil(planes) + 2;
        let config = LaunchConfig::new([tiles[0] * rows, parts, tiles[1].div_ceil(rows)], BLOCK);
        let config = config.with_shared_mem_bytes(SHARED_MEM_BYTES);
        for &value in &problem.source_values {
            let task = task.to_bytes().to_vec();
            let arrays = args![
                u.slice(),
                v,
                vp.slice(),
                eta.slice(),
                phi,
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
