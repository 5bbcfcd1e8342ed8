//! The lab on several GPUs, solved: each device computes its slab, and neighbours exchange layers.

use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::slabs::Slabs;
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let n = problem.n;
        let layers = u64::from(n);

        // Every device computes some neighbouring layers, `slabs.share(device)`, of those between
        // the walls. In memory it has one more on either side, its halo: `slabs.held(device)`.
        let devices = plan.available_devices();
        let slabs = Slabs::new(devices, layers, 1..layers - 1, 1, "between the walls")?;

        // Both fields in parts: `u.part(device)` is a buffer on that device, and begins with
        // layer `slabs.held(device).start`. A layer has n^2 elements.
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = slabs.scatter(plan, buffers.u)?;
        let mut u_next = slabs.scatter(plan, u_next)?;

        // The kernel writes no walls, so both fields begin with them.
        for device in slabs.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }

        for _ in 0..problem.iterations {
            for device in slabs.devices() {
                let share = slabs.share(device);
                let count = (share.end - share.start) as u32;
                let config = LaunchConfig::covering((n, n, count), (32, 4, 2))?;
                let read = u.read(device, share.start - 1..share.end + 1);
                let written = u_next.write(device, share.clone());
                let arguments = args![read, written, n, share.start as u32, count];
                plan.launch("poisson_layers", config, arguments)?;
            }
            let layer = layers * layers;
            for device in 1..devices {
                let [below, above] = [device - 1, device];
                let seam = slabs.share(above).start;
                let at = |holder: u32, z: u64| (z - slabs.held(holder).start) * layer;
                let (from, to) = (u_next.part(below), u_next.part(above));
                plan.copy_range(from, at(below, seam - 1), to, at(above, seam - 1), layer)?;
                plan.copy_range(to, at(above, seam), from, at(below, seam), layer)?;
            }
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}
