//! All iterations in one launch of the whole GPU. Cubes that do not fit in its registers and shared
//! memory are refused.

use kernels_gpu::boxes::{COLUMNS, Division, shared_mem_bytes};
use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::INSTANCES;

/// The kernel and the boxes for a cube on this number of multiprocessors, if it fits.
fn fitting(n: u32, multiprocessors: u32) -> Option<(&'static str, Division)> {
    Division::fitting(INSTANCES, [n; 3], multiprocessors, shared_mem_bytes)
}

/// Whether it is faster on this number of multiprocessors than several iterations per launch. As
/// far as that is known, it is if the cube fits and is divided evenly.
pub fn wins(n: u32, multiprocessors: u32) -> bool {
    let fitting = fitting(n, multiprocessors);
    fitting.is_some_and(|(_, division)| division.is_even([n; 2], multiprocessors))
}

/// The launch for cubes that fit.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Problem { n, iterations } = *problem;
        let Buffers { u } = buffers;
        if iterations == 0 {
            return Ok(Outputs { u });
        }
        let multiprocessors = plan.multiprocessors();
        let Some((kernel, division)) = fitting(n, multiprocessors) else {
            return Err(PlanError::unsupported(format!(
                "it keeps the field in registers and shared memory, and {n}^3 points do not fit in \
                 those of {multiprocessors} multiprocessors; variant fast takes any size"
            )));
        };
        let Division {
            boxes: [boxes_y, boxes_z],
            warps: [warps_y, warps_z],
            extents: [rows, layers],
        } = division;
        let pairs = n.div_ceil(COLUMNS);
        let before = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let inbox = plan.scratch("inbox", Element::U64, division.inbox_words(pairs));
        plan.fill(inbox, 0)?;
        let config = LaunchConfig::new([boxes_y, boxes_z, 1], [32, warps_y, warps_z])
            .with_shared_mem_bytes(shared_mem_bytes(layers, rows, pairs));
        let args = args![u, before, inbox, n, Grid { n }.h2(), iterations];
        plan.launch(kernel, config, args)?;
        Ok(Outputs { u })
    }
}
