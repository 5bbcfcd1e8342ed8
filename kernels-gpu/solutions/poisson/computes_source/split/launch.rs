//! The cube in slabs of layers, one for each device. Each iteration computes the layers at the
//! seams, sends them to the neighbours, and computes the others meanwhile. A launch numbers points
//! with 32 bits: in a large cube, it computes a part of the slab's layers.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::slabs::{Slabs, chunks};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, LAYERS, most_layers};

/// Least points of a launch. Several launches per slab let one begin while the last blocks of
/// another end; with fewer points this does not pay.
const POINTS_OF_LAUNCH: u64 = 1 << 20;
/// The largest number of launches for a slab's interior layers.
const MAX_LAUNCHES: u64 = 4;
/// The number of blocks of threads that a slab should have. With fewer, the last ones leave much of
/// a device idle.
const BLOCKS: u64 = 4096;

/// The number of layers of a launch, with `layer` points per layer, so that some launches of a slab
/// overlap. With a single device, launches do not overlap.
fn of_launch(slabs: &Slabs, layer: u64) -> u64 {
    let inside = slabs.interior(0);
    let inside = inside.end - inside.start;
    if slabs.devices().len() == 1 || inside == 0 {
        return u64::MAX;
    }
    let launches = (inside * layer / POINTS_OF_LAUNCH).clamp(1, MAX_LAUNCHES);
    inside.div_ceil(launches)
}

/// The number of layers that a thread computes: [`LAYERS`], or half as many if blocks would be few.
fn of_thread(slabs: &Slabs, layer: u64) -> u32 {
    let share = slabs.share(0);
    let of_block = u64::from(BLOCK.iter().product::<u32>() * LAYERS);
    if (share.end - share.start) * layer < BLOCKS * of_block {
        LAYERS / 2
    } else {
        LAYERS
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
        if problem.iterations == 0 {
            return Ok(Outputs { u: buffers.u });
        }
        let n = problem.n;
        let (layers, inside) = (u64::from(n), 1..u64::from(n - 1));
        let most = most_layers(layers * layers);
        let devices = plan.available_devices();
        let slabs = Slabs::new(devices, layers, inside, 1, "between the walls")?;
        let most = most.min(of_launch(&slabs, layers * layers));
        let column = of_thread(&slabs, layers * layers);
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = slabs.scatter(plan, buffers.u)?;
        let mut u_next = slabs.scatter(plan, u_next)?;
        // The kernel writes no walls except those at either end of x.
        for device in slabs.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }
        let h2 = Grid { n }.h2();
        for _ in 0..problem.iterations {
            slabs.step(plan, &[&u_next], |plan, device, layers| {
                for some in chunks(layers, most) {
                    let (first_z, len) = (some.start as u32, (some.end - some.start) as u32);
                    let threads = (n, n - 2, len.div_ceil(column));
                    let read = u.read(device, some.start - 1..some.end + 1);
                    let written = u_next.write(device, some);
                    let args = args![read, written, n, first_z, len, column, h2];
                    let config = LaunchConfig::covering(threads, BLOCK)?;
                    plan.launch("poisson_computes_source", config, args)?;
                }
                Ok(())
            })?;
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}
