//! The cube in blocks of rows and layers, one for each device. Each iteration computes the points
//! at the seams, sends them to the neighbours, and computes the rest meanwhile. Rows at a seam are
//! not contiguous in memory: one kernel packs them, and another unpacks them.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::slabs::{Blocks, Work, chunks};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, LAYERS, most_layers};

/// Threads of a block that packs and unpacks rows.
const PACKING: [u32; 3] = [256, 1, 1];

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
        let (all, inside) = (u64::from(n), 1..u64::from(n - 1));
        let devices = plan.available_devices();
        let blocks = Blocks::new(
            devices,
            [all; 2],
            [&inside, &inside],
            1,
            "between the walls",
        )?;
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = blocks.scatter(plan, buffers.u)?;
        let mut u_next = blocks.scatter(plan, u_next)?;
        let halos = blocks.row_halos(plan, &u)?;
        // The kernel writes no walls except those at either end of x.
        for device in blocks.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }
        let h2 = Grid { n }.h2();
        for _ in 0..problem.iterations {
            blocks.step(plan, &u_next, &halos, |plan, work| match work {
                Work::Compute {
                    device,
                    planes,
                    rows,
                } => {
                    let stride = u.stride(device);
                    for some in chunks(planes, most_layers(stride)) {
                        let len = (some.end - some.start) as u32;
                        let number = (rows.end - rows.start) as u32;
                        let threads = (n, number, len.div_ceil(LAYERS));
                        let around = [&some, &rows].map(|all| all.start - 1..all.end + 1);
                        let (first_y, first_z) = (rows.start as u32, some.start as u32);
                        let args = args![
                            u.read(device, around),
                            u_next.write(device, [some, rows.clone()]),
                            n,
                            first_y,
                            number,
                            first_z,
                            len,
                            stride as u32,
                            LAYERS,
                            h2
                        ];
                        let config = LaunchConfig::covering(threads, BLOCK)?;
                        plan.launch("poisson_block", config, args)?;
                    }
                    Ok(())
                }
                Work::Pack(halo) => {
                    let (len, layers) = (halo.plane as u32, halo.planes() as u32);
                    let config = LaunchConfig::covering((len, layers), PACKING)?;
                    let rows = u_next.read(halo.from, halo.place.clone());
                    let stride = u_next.stride(halo.from) as u32;
                    let args = args![rows, halo.sent, len, layers, stride];
                    plan.launch("poisson_pack", config, args)
                }
                Work::Unpack(halo) => {
                    let (len, layers) = (halo.plane as u32, halo.planes() as u32);
                    let config = LaunchConfig::covering((len, layers), PACKING)?;
                    let rows = u_next.write(halo.to, halo.place.clone());
                    let stride = u_next.stride(halo.to) as u32;
                    let args = args![halo.received.slice(), rows, len, layers, stride];
                    plan.launch("poisson_unpack", config, args)
                }
            })?;
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}
