//! One launch, in any mapping of threads to elements and any block shape.

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

impl Solution for Layout {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { a, b, c } = buffers;
        let (n_x, n_y) = (problem.n_x, problem.n_y);
        plan.launch(
            self.kernel,
            self.config(n_x, n_y)?,
            args![a.slice(), b.slice(), c, n_x, n_y],
        )?;
        Ok(Outputs { c })
    }
}
