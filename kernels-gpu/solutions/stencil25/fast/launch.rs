//! One launch per timestep, which replaces v; then u and v swap names.
//!
//! On several devices, each has a slab of planes along x. A timestep computes the planes at the
//! seams, sends them to the neighbours, and computes the others meanwhile. The planes of a launch,
//! with those around them, form a separate grid.

use std::ops::Range;

use kernels_gpu::stencil25::{Coefficients, Grid, RADIUS, Region, Task};
use plan::slabs::Slabs;
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

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
        let Buffers { u, v, phi, .. } = buffers;
        if problem.source_values.is_empty() {
            return Ok(Outputs { u, v, phi });
        }
        // Planes count from the halo's first.
        let (points, halo) = (u64::from(problem.n_x), u64::from(RADIUS));
        let (planes, inside) = (points + 2 * halo, halo..halo + points);
        let slabs = Slabs::new(plan.available_devices(), planes, inside, halo, "along x")?;
        let mut u = slabs.scatter(plan, u)?;
        let mut v = slabs.scatter(plan, v)?;
        let phi = slabs.scatter(plan, phi)?;
        let vp = slabs.scatter(plan, buffers.vp)?;
        let eta = slabs.scatter(plan, buffers.eta)?;
        for &value in &problem.source_values {
            slabs.step(plan, &[&v], |plan, device, some| {
                let task = task(problem, &some);
                let around = some.start - halo..some.end + halo;
                let (grid, planes) = blocks(&task);
                let args = args![
                    u.read(device, around.clone()),
                    v.write(device, some.clone()),
                    vp.read(device, around.clone()),
                    eta.read(device, around),
                    phi.write(device, some),
                    task.to_bytes().to_vec(),
                    value,
                    planes
                ];
                let config = LaunchConfig::new(grid, BLOCK).with_shared_mem_bytes(SHARED_MEM_BYTES);
                plan.launch("stencil25_fast", config, args)
            })?;
            (u, v) = (v, u);
        }
        Ok(Outputs {
            u: u.whole(),
            v: v.whole(),
            phi: phi.whole(),
        })
    }
}

/// The task of some planes, as a grid that begins [`RADIUS`] planes before them.
fn task(problem: &Problem, planes: &Range<u64>) -> Task {
    let whole = Grid::new([problem.n_x, problem.n_y, problem.n_z]);
    let inner = whole.inner(problem.shell);
    let halo = u64::from(RADIUS);
    let (first, len) = (planes.start - halo, planes.end - planes.start);
    let along_x = |x: u32| u64::from(x).saturating_sub(first).min(len) as u32;
    let bounds = |[x, y, z]: [u32; 3]| [along_x(x), y, z];
    let stride = u64::from(whole.stride_x());
    let source = u64::from(problem.source);
    let is_here = problem.source != u32::MAX && planes.contains(&(source / stride));
    Task {
        grid: Grid {
            n_x: len as u32,
            ..whole
        },
        region: Region {
            low: bounds(inner.low),
            high: bounds(inner.high),
        },
        coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
        source: if is_here {
            (source - first * stride) as u32
        } else {
            u32::MAX
        },
    }
}
