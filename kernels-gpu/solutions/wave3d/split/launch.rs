//! The domain in slabs along x, one for each device. Each timestep computes the planes at the
//! seams, sends them to the neighbours, and computes the others meanwhile. The new field replaces
//! u_prev, and the two swap names.

use kernels_gpu::cache_line;
use plan::slabs::Slabs;
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, PLANES};

/// See the module.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { u_prev, u, c2, d } = buffers;
        if problem.source_values.is_empty() {
            return Ok(Outputs { u_prev, u });
        }
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let planes = u64::from(n_x);
        let slabs = Slabs::new(plan.available_devices(), planes, 0..planes, 1, "along x")?;
        let mut u_prev = slabs.scatter(plan, u_prev)?;
        let mut u = slabs.scatter(plan, u)?;
        let d = slabs.scatter(plan, d)?;
        let c2 = slabs.copies(plan, c2)?;
        for (step, &value) in (0_u32..).zip(&problem.source_values) {
            slabs.step(plan, &[&u_prev], |plan, device, some| {
                let (first, len) = (some.start as u32, (some.end - some.start) as u32);
                let around = some.start.saturating_sub(1)..(some.end + 1).min(planes);
                let args = args![
                    u_prev.write(device, some.clone()),
                    u.read(device, around),
                    c2[device as usize].slice(),
                    d.read(device, some),
                    first,
                    len,
                    n_x,
                    n_y,
                    n_z,
                    problem.dt,
                    problem.ratio,
                    problem.source,
                    value,
                    step % 2,
                ];
                let threads = (
                    cache_line::row_threads::<f64>(n_z),
                    n_y,
                    len.div_ceil(PLANES),
                );
                let config = LaunchConfig::covering(threads, BLOCK)?;
                plan.launch("wave3d_single", config, args)
            })?;
            (u_prev, u) = (u, u_prev);
        }
        Ok(Outputs {
            u_prev: u_prev.whole(),
            u: u.whole(),
        })
    }
}
