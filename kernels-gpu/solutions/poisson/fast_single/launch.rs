//! Each iteration is one launch. Every other launch takes the layers from the last to the first. It
//! thus begins with the layers with which the one before ended, which are in L2.

use kernels_gpu::cache_line;
use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// The choice of a kernel, and the shape of its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a block along x and y.
    pub block: [u32; 2],
    /// Layers of points that a thread computes, one above the other.
    pub layers: u32,
    /// Whether a thread asks L2 for its column at its start.
    pub ahead: bool,
}

impl Shape {
    /// A shape among the fastest on an H100; the best depends on N.
    pub const DEFAULT: Shape = Shape::new([64, 8], 4).ahead();

    /// Shapes that may be the fastest on some GPU.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new([64, 8], 4),
        Shape::new([64, 8], 8),
        Shape::new([64, 16], 8),
        Shape::new([64, 8], 2).ahead(),
        Shape::new([64, 8], 3).ahead(),
        Shape::new([64, 4], 4).ahead(),
        Shape::new([64, 4], 2).ahead(),
    ];

    const fn new(block: [u32; 2], layers: u32) -> Shape {
        Shape {
            block,
            layers,
            ahead: false,
        }
    }

    const fn ahead(self) -> Shape {
        Shape {
            ahead: true,
            ..self
        }
    }

    /// The shape in a few letters.
    pub fn label(&self) -> String {
        let [x, y] = self.block;
        format!("{x}x{y}_l{}{}", self.layers, self.suffix())
    }

    fn suffix(&self) -> &'static str {
        if self.ahead { "_ahead" } else { "" }
    }
}

/// The default shape.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Shape::DEFAULT.record(problem, buffers, plan)
    }
}

impl Solution for Shape {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        problem.at_most(Grid::MAX_N)?;
        let mut u = buffers.u;
        if problem.iterations == 0 {
            return Ok(Outputs { u });
        }
        let n = problem.n;
        let mut u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        // The kernel writes no walls except those at either end of x.
        plan.copy(u, u_next)?;
        let [x, y] = self.block;
        let threads = (
            cache_line::row_threads::<f64>(n),
            n - 2,
            (n - 2).div_ceil(self.layers.max(1)),
        );
        let config = LaunchConfig::covering(threads, [x, y, 1])?;
        let kernel = format!("poisson_fast_single{}", self.suffix());
        let h2_f = Grid { n }.h2() * Grid::SOURCE;
        for iteration in 0..problem.iterations {
            let args = args![u.slice(), u_next, n, self.layers, iteration % 2, h2_f];
            plan.launch(&kernel, config, args)?;
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u })
    }
}
