//! All timesteps in one launch of the whole GPU. Domains that do not fit in its registers and
//! shared memory are refused.

use kernels_gpu::boxes::{COLUMNS, Division};
use kernels_gpu::wave3d::source::VALUES;
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{BufferId, Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, all_shared_mem_bytes};

/// The kernel and the boxes for a domain on this number of multiprocessors, if it fits.
fn fitting([n_x, n_y, n_z]: [u32; 3], multiprocessors: u32) -> Option<(&'static str, Division)> {
    let extents = [n_z, n_y, n_x];
    Division::fitting(INSTANCES, extents, multiprocessors, all_shared_mem_bytes)
}

/// Whether it is faster on this number of multiprocessors than a launch per timestep, as far as
/// that is known: the domain fits, and is divided evenly. The last kernel spills registers, and is
/// faster only where the fields leave little of L2 to a launch per timestep.
pub fn wins(extents: [u32; 3], multiprocessors: u32) -> bool {
    let [n_x, n_y, n_z] = extents;
    let field_bytes = 8 * u64::from(n_x) * u64::from(n_y) * u64::from(n_z);
    let fitting = fitting(extents, multiprocessors);
    fitting.is_some_and(|(kernel, division)| {
        let spills = INSTANCES.last().is_some_and(|last| last.0 == kernel);
        division.is_even([n_y, n_x], multiprocessors) && (!spills || field_bytes > 16_000_000)
    })
}

/// The launch for domains that fit.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let Buffers { u_prev, u, c2, d } = buffers;
        if problem.steps == 0 {
            return Ok(Outputs { u_prev, u });
        }
        let multiprocessors = plan.multiprocessors();
        let Some((kernel, division)) = fitting([n_x, n_y, n_z], multiprocessors) else {
            return Err(PlanError::unsupported(format!(
                "it keeps the fields in registers and shared memory, and {n_x} x {n_y} x {n_z} \
                 sites do not fit in those of {multiprocessors} multiprocessors; variant fast takes \
                 any size"
            )));
        };
        let Division {
            boxes: [boxes_y, boxes_x],
            warps: [warps_y, warps_x],
            extents: [rows, layers],
        } = division;
        let pairs = n_z.div_ceil(COLUMNS);
        let inbox = plan.scratch("inbox", Element::U64, division.inbox_words(pairs));
        plan.fill(inbox, 0)?;
        let values = source_values(problem, plan)?;
        let config = LaunchConfig::new([boxes_y, boxes_x, 1], [32, warps_y, warps_x])
            .with_shared_mem_bytes(all_shared_mem_bytes(layers, rows, pairs));
        let args = args![
            u_prev,
            u,
            c2.slice(),
            d.slice(),
            inbox,
            n_x,
            n_y,
            n_z,
            problem.dt,
            problem.ratio,
            problem.source,
            values.slice(),
            problem.steps
        ];
        plan.launch(kernel, config, args)?;
        Ok(Outputs { u_prev, u })
    }
}

/// Records the source's values at all timesteps into a buffer.
fn source_values(problem: &Problem, plan: &mut Plan) -> Result<BufferId, PlanError> {
    let chunks = problem.source_values.chunks(VALUES);
    let values = plan.scratch("source_values", Element::F64, chunks.len() * VALUES);
    for (chunk, of_chunk) in chunks.enumerate() {
        let mut bytes: Vec<u8> = of_chunk
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        bytes.resize(size_of::<f64>() * VALUES, 0);
        let out = values.range((chunk * VALUES) as u64, VALUES as u64);
        let config = LaunchConfig::new(1, 1);
        plan.launch("wave3d_resident_grid_values", config, args![out, bytes])?;
    }
    Ok(values)
}
