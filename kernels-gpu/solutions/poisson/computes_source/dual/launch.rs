//! Two devices of one process, each with half of the layers. A kernel reads the layer beyond the
//! seam from the other device's memory, without a halo or a copy. With one device, one part has all
//! layers; with more than two, two devices compute.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::slabs::{Slabs, chunks};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, LAYERS, most_layers};

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
        let devices = plan.available_devices().min(2);
        let slabs = Slabs::new(devices, layers, inside, 0, "between the walls")?;
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = slabs.scatter(plan, buffers.u)?;
        let mut u_next = slabs.scatter(plan, u_next)?;
        // The kernel writes no walls except those at either end of x.
        for device in slabs.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }
        let h2 = Grid { n }.h2();
        for _ in 0..problem.iterations {
            for device in slabs.devices() {
                for some in chunks(slabs.share(device), most) {
                    let (first_z, len) = (some.start as u32, (some.end - some.start) as u32);
                    let threads = (n, n - 2, len.div_ceil(LAYERS));
                    let layer = |z| u.read(slabs.owner(z), z..z + 1);
                    let args = args![
                        layer(some.start - 1),
                        u.read(device, some.clone()),
                        layer(some.end),
                        u_next.write(device, some),
                        n,
                        first_z,
                        len,
                        LAYERS,
                        h2
                    ];
                    let config = LaunchConfig::covering(threads, BLOCK)?;
                    plan.launch("poisson_dual", config, args)?;
                }
            }
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}
