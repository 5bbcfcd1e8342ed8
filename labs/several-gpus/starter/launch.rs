//! Your host code: the cube in slabs of layers, one for each device.
//!
//! A buffer lives on one device. A launch runs where the buffers live that it is given. A copy
//! between buffers of two devices is a peer copy. The plan lists commands in an order in which they
//! are right one after the other. The harness finds out which of them may overlap: those that touch
//! no common element.

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

        // Both fields in parts. `u.part(device)` is a buffer on that device, which begins with
        // layer `slabs.held(device).start`. A layer has n^2 elements.
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = slabs.scatter(plan, buffers.u)?;
        let mut u_next = slabs.scatter(plan, u_next)?;

        // The kernel writes no walls, so both fields begin with them.
        for device in slabs.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }

        for _ in 0..problem.iterations {
            // TODO 1: only the first device computes. Let each compute its share.
            let device = 0;
            let share = slabs.share(device);
            let count = (share.end - share.start) as u32;
            let config = LaunchConfig::covering((n, n, count), (32, 4, 2))?;
            // The layers that the kernel reads: its share, and one more on either side.
            let read = u.read(device, share.start - 1..share.end + 1);
            let written = u_next.write(device, share.clone());
            let arguments = args![read, written, n, share.start as u32, count];
            plan.launch("poisson_layers", config, arguments)?;

            // TODO 2: the next iteration reads the halo, which other devices have computed. For
            // each pair of neighbours copy two layers, with
            // `plan.copy_range(from, from_element, to, to_element, elements)`, where `from` and
            // `to` are parts of u_next. At which element of its part does layer z begin?

            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}
