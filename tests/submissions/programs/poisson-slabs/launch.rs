//! The cube in slabs of layers, one for each device, that exchange a layer after each iteration.

use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::slabs::Slabs;
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// What the harness grades.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let n = problem.n;
        let (layer, layers) = (u64::from(n) * u64::from(n), u64::from(n));
        let devices = plan.available_devices();
        let slabs = Slabs::new(devices, layers, 1..layers - 1, 1, "between the walls")?;
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = slabs.scatter(plan, buffers.u)?;
        let mut u_next = slabs.scatter(plan, u_next)?;
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
            for (below, above) in slabs.devices().zip(slabs.devices().skip(1)) {
                let seam = slabs.share(above).start;
                let at = |device: u32, z: u64| (z - slabs.held(device).start) * layer;
                for (from, to, z) in [(below, above, seam - 1), (above, below, seam)] {
                    let (source, target) = (u_next.part(from), u_next.part(to));
                    plan.copy_range(source, at(from, z), target, at(to, z), layer)?;
                }
            }
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}
