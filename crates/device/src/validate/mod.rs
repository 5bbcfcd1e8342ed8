//! A plan against its module and a device's limits, before anything runs.
//!
//! A driver that is given a wrong plan answers "invalid value" at best, and reads arbitrary memory
//! at worst: it trusts the number and the sizes of arguments. So every launch is checked here
//! first, on every device alike. The checks themselves ([`Function::check_shape`],
//! [`Function::check_args`]) are shared with the emulator, which has users without plans.

pub(crate) mod error;
mod requires;

use ptx::{ArgType, Element, Function, LaunchShape, ScalarType, ShapeLimits};

use crate::error::Error;
use crate::generations::Needs;
use crate::info::LaunchLimits;
use crate::module::{Module, ModuleError};
use plan::{Arg, BufferId, Command, LaunchConfig, PORTABLE_CLUSTER_BLOCKS, Plan, View};

pub use error::{LaunchFault, ValidationError};
pub use ptx::ArgsError;

/// The most shared memory that a kernel may declare with a size, in bytes. What a device has more
/// of is for launches to ask for.
const MAX_STATIC_SHARED_BYTES: u32 = 48 << 10;

/// Checks a plan: [`Plan::check`], then every launch against its kernel and the limits. Returns the
/// module that such a device runs: see [`Module::for_device`].
///
/// # Errors
///
/// The first fault found. [`Error::Needs`] if there is none, but the device is too old for a kernel
/// or a launch.
pub fn validate<'m>(
    module: &'m Module,
    plan: &Plan,
    limits: &LaunchLimits,
) -> Result<&'m Module, Error> {
    plan.check()?;
    let of_device = module.for_device(limits.compute_capability);
    let executable = of_device.executable()?;
    let mut lacking = None;
    let kernels = plan
        .kernels()
        .iter()
        .map(|name| find_kernel(module, of_device, name, &mut lacking))
        .collect::<Result<Vec<&Function>, ModuleError>>()?;
    for (position, command) in plan.commands().enumerate() {
        if let Command::Launch(launch) = command {
            let kernel = kernels[launch.kernel_index];
            check_shape(kernel, &launch.config, limits)
                .and_then(|()| {
                    let needed = || executable.needed_registers(launch.kernel);
                    Ok(kernel.check_registers(launch.config.block, needed)?)
                })
                .and_then(|()| check_args(kernel, plan, launch.args))
                .and_then(|()| requires::check(of_device.ptx(), launch.kernel, launch.args, plan))
                .map_err(|fault| ValidationError::Launch {
                    place: plan.place(position, format_args!("launch of `{}`", launch.kernel)),
                    fault,
                })?;
            let cluster = kernel.cluster(launch.config.cluster);
            if cluster != [1; 3] && limits.compute_capability < LaunchLimits::CLUSTERS_SINCE {
                let what = format!(
                    "kernel `{}` in clusters of {cluster:?} blocks",
                    launch.kernel
                );
                let needs = Needs {
                    capability: LaunchLimits::CLUSTERS_SINCE,
                    forms: "",
                };
                keep_newest(&mut lacking, what, needs);
            }
        }
    }
    match lacking {
        None => Ok(of_device),
        Some((what, needs)) => Err(Error::Needs {
            what,
            needed: needs.capability,
            forms: needs.forms.to_owned(),
            has: limits.compute_capability,
        }),
    }
}

/// A part of a plan that a device lacks, and its needs.
type Lacking<'m> = Option<(String, Needs<'m>)>;

/// Keeps what needs the newest device, and of equals the first.
fn keep_newest<'m>(lacking: &mut Lacking<'m>, what: String, needs: Needs<'m>) {
    let newest = lacking.as_ref().map(|(_, newest)| newest.capability);
    if newest.is_none_or(|newest| newest < needs.capability) {
        *lacking = Some((what, needs));
    }
}

/// Checks a plan against this number of devices. `reaches` says whether kernels of the first can
/// access the memory of the second.
///
/// # Errors
///
/// [`ValidationError::TooFewDevices`], [`ValidationError::NoPeerAccess`].
pub fn validate_devices(
    plan: &Plan,
    devices: u32,
    reaches: impl Fn(u32, u32) -> bool,
) -> Result<(), ValidationError> {
    let needed = plan.devices();
    if needed > devices {
        return Err(ValidationError::TooFewDevices {
            plan: plan.name().to_owned(),
            needed,
            has: devices,
        });
    }
    if needed == 1 {
        return Ok(());
    }
    for (position, command) in plan.commands().enumerate() {
        let Command::Launch(launch) = command else {
            continue;
        };
        let device = command.device(plan.buffers());
        for (id, _) in command.accesses() {
            let buffer = &plan.buffers()[id.index()];
            if buffer.device != device && !reaches(device, buffer.device) {
                return Err(ValidationError::NoPeerAccess {
                    place: plan.place(position, format_args!("launch of `{}`", launch.kernel)),
                    device,
                    buffer: buffer.name.clone(),
                    of: buffer.device,
                });
            }
        }
    }
    Ok(())
}

/// A kernel as the device's module has it, or else as newer devices have it, which `lacking` then
/// says.
fn find_kernel<'m>(
    module: &'m Module,
    of_device: &'m Module,
    name: &str,
    lacking: &mut Lacking<'m>,
) -> Result<&'m Function, ModuleError> {
    let missing = match of_device.kernel(name) {
        Ok(kernel) => return Ok(kernel),
        Err(missing) => missing,
    };
    let needs = module.needs(name).ok_or(missing)?;
    keep_newest(lacking, format!("kernel `{name}`"), needs);
    module.kernel(name)
}

/// Checks the shape of a launch against the kernel's bounds and the device's limits.
fn check_shape(
    kernel: &Function,
    config: &LaunchConfig,
    limits: &LaunchLimits,
) -> Result<(), LaunchFault> {
    let shape = LaunchShape {
        grid: config.grid,
        block: config.block,
        cluster: config.cluster,
        dynamic_shared_bytes: config.shared_mem_bytes,
    };
    let limits = ShapeLimits {
        grid: limits.grid,
        block: limits.block,
        threads_per_block: limits.threads_per_block,
        static_shared_bytes: MAX_STATIC_SHARED_BYTES,
        shared_bytes: limits.shared_mem_per_block_bytes,
        cluster_blocks: if config.non_portable_cluster {
            LaunchLimits::MAX_CLUSTER_BLOCKS
        } else {
            PORTABLE_CLUSTER_BLOCKS
        },
        is_portable: !config.non_portable_cluster,
    };
    Ok(kernel.check_shape(&shape, &limits)?)
}

/// Checks arguments against the kernel's parameters.
fn check_args(kernel: &Function, plan: &Plan, args: &[Arg]) -> Result<(), LaunchFault> {
    let types: Vec<ArgType> = args.iter().map(|arg| arg_type(plan, arg)).collect();
    Ok(kernel.check_args(&types)?)
}

fn arg_type(plan: &Plan, arg: &Arg) -> ArgType {
    let elements = |id: BufferId| {
        let element = plan.buffers()[id.index()].element;
        Element {
            name: element.name(),
            align: element.size() as u32,
        }
    };
    match *arg {
        Arg::Slice(id)
        | Arg::SliceAt { id, .. }
        | Arg::Within {
            id,
            view: View::Slice,
            ..
        } => ArgType::Slice(elements(id)),
        Arg::Buffer(id)
        | Arg::BufferAt { id, .. }
        | Arg::BufferRange { id, .. }
        | Arg::Within { id, .. } => ArgType::Pointer(elements(id)),
        Arg::U8(_) => ArgType::Number(ScalarType::U8),
        Arg::U32(_) => ArgType::Number(ScalarType::U32),
        Arg::I32(_) => ArgType::Number(ScalarType::S32),
        Arg::U64(_) => ArgType::Number(ScalarType::U64),
        Arg::I64(_) => ArgType::Number(ScalarType::S64),
        Arg::F32(_) => ArgType::Number(ScalarType::F32),
        Arg::F64(_) => ArgType::Number(ScalarType::F64),
        Arg::Bytes(ref bytes) => ArgType::Bytes(bytes.len() as u64),
    }
}
