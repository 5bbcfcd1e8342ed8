//! One launch, in any mapping of threads to elements and any block shape; more where the matrix has
//! more rows than a grid.

use plan::matadd::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::Mapping;

/// A mapping of threads to elements, with the block's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The mapping of threads to the matrix.
    pub mapping: Mapping,
    /// Threads of a block along x and y.
    pub block: [u32; 2],
    /// The kernel that adds with this mapping.
    pub kernel: &'static str,
}

/// The most blocks of a grid along y.
const MAX_BLOCKS_Y: u32 = 65_535;

/// Blocks of a grid whose threads loop in its strides: enough to fill every multiprocessor of any
/// GPU several times.
const GRID_STRIDE_BLOCKS: u32 = 4096;

impl Layout {
    /// The best layout of those tried; docs/log/matadd.md has the reasons.
    pub const DEFAULT: Layout = Layout {
        mapping: Mapping::GridStride,
        block: [256, 1],
        kernel: "matadd_grid_stride_vector4",
    };

    /// The most rows of one launch.
    fn most_rows(self) -> u32 {
        match self.mapping {
            Mapping::Grid2dBlock2d | Mapping::Grid2dBlock1d => MAX_BLOCKS_Y * self.block[1],
            Mapping::Grid1dBlock1d | Mapping::GridStride => u32::MAX,
        }
    }

    /// Grid and block for a matrix of `n_y` rows of `n_x` elements.
    ///
    /// # Errors
    ///
    /// [`PlanError::NothingToCover`] for an empty one.
    pub fn config(self, n_x: u32, n_y: u32) -> Result<LaunchConfig, PlanError> {
        let [x, y] = self.block;
        match self.mapping {
            Mapping::Grid2dBlock2d | Mapping::Grid2dBlock1d => {
                LaunchConfig::covering((n_x, n_y), (x, y))
            }
            Mapping::Grid1dBlock1d => LaunchConfig::covering(n_x, x),
            Mapping::GridStride => Ok(LaunchConfig::new(GRID_STRIDE_BLOCKS, x)),
        }
    }
}

/// The default layout.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Layout::DEFAULT.record(problem, buffers, plan)
    }
}

/// The number of the first element of row `y`.
fn element(n_x: u32, y: u32) -> u64 {
    u64::from(n_x) * u64::from(y)
}

impl Solution for Layout {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { a, b, c } = buffers;
        let (n_x, n_y) = (problem.n_x, problem.n_y);
        let rows = self.most_rows();
        for first in (0..n_y).step_by(rows as usize) {
            let rows = rows.min(n_y - first);
            let (offset, len) = (element(n_x, first), element(n_x, rows));
            plan.launch(
                self.kernel,
                self.config(n_x, rows)?,
                args![
                    a.slice_at(offset, len),
                    b.slice_at(offset, len),
                    c.at(offset),
                    n_x,
                    rows,
                ],
            )?;
        }
        Ok(Outputs { c })
    }
}
