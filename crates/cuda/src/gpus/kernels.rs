//! A plan's kernels on one GPU, ready for the launches of the plan.

use std::sync::Arc;

use super::gpu::{CudaDevice, Opened};
use super::module::{Kernel, LoadedModule};
use device::{DeviceError, DriverError};
use plan::{Command, Plan};

/// A GPU of a session, with the plan's kernels.
pub struct Gpu<'d> {
    pub device: &'d CudaDevice,
    pub opened: &'d Opened,
    /// The plan's kernels.
    pub kernels: Vec<Kernel>,
    /// The kernels are this module's.
    pub module: Arc<LoadedModule>,
}

impl<'d> Gpu<'d> {
    /// A GPU, whose context is current, with the plan's kernels.
    pub fn new(
        device: &'d CudaDevice,
        opened: &'d Opened,
        module: Arc<LoadedModule>,
        plan: &Plan,
    ) -> Result<Gpu<'d>, DeviceError> {
        let kernels = plan
            .kernels()
            .iter()
            .map(|kernel| module.kernel(kernel))
            .collect::<Result<Vec<Kernel>, DriverError>>()?;
        allow_shared_memory(plan, &kernels)?;
        allow_clusters(plan, &kernels)?;
        Ok(Gpu {
            device,
            opened,
            kernels,
            module,
        })
    }
}

/// Opts in to more dynamic shared memory than the default, for each kernel that is launched with
/// more.
fn allow_shared_memory(plan: &Plan, kernels: &[Kernel]) -> Result<(), DriverError> {
    let mut largest = vec![0; kernels.len()];
    for command in plan.commands() {
        if let Command::Launch(launch) = command {
            let bytes = &mut largest[launch.kernel_index];
            *bytes = launch.config.shared_mem_bytes.max(*bytes);
        }
    }
    let mut pairs = kernels.iter().zip(largest);
    pairs.try_for_each(|(kernel, bytes)| kernel.allow_shared_memory(bytes))
}

/// Lets kernels have clusters of more blocks than is portable, where the plan asks for them.
fn allow_clusters(plan: &Plan, kernels: &[Kernel]) -> Result<(), DriverError> {
    let mut allowed = vec![false; kernels.len()];
    for command in plan.commands() {
        if let Command::Launch(launch) = command
            && launch.config.non_portable_cluster
            && !std::mem::replace(&mut allowed[launch.kernel_index], true)
        {
            kernels[launch.kernel_index].allow_non_portable_cluster()?;
        }
    }
    Ok(())
}
