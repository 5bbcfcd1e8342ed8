//! Launches that take nearly all registers of a block.
//!
//! A launch whose threads need more registers than a block has is refused, on every device
//! (`device::validate`). How many they need at least follows from the kernel's PTX alone, so that
//! the verdict is one on every machine. A compiler takes more, and which it is differs from machine
//! to machine: so of those that come near, the grade says so and takes no points.

use std::collections::BTreeMap;

use device::Module;
use plan::{Command, Plan};
use ptx::BLOCK_REGISTERS;

/// Registers that a block may take at least without a warning: three quarters of what it has.
const MANY: u64 = BLOCK_REGISTERS as u64 / 4 * 3;
/// Kernels that are named, and bytes of a name.
const MAX_KERNELS: usize = 4;
const LONGEST_NAME: usize = 100;

/// The kernels that a GPU may refuse to launch, and the most threads of a block that the plans
/// launch each with.
#[derive(Debug, Default)]
pub struct Tight(BTreeMap<String, (u64, u32)>);

impl Tight {
    /// Adds those of a plan, whose launches fit the module.
    pub fn add(&mut self, plan: &Plan, module: &Module) {
        let Ok(executable) = module.executable() else {
            return;
        };
        for command in plan.commands() {
            let Command::Launch(launch) = command else {
                continue;
            };
            let Some(kernel) = executable.kernel(launch.kernel) else {
                continue;
            };
            let threads = launch.config.block.iter().product();
            let worst = kernel.bounded_registers(u32::MAX);
            if ptx::block_registers(threads, worst) <= BLOCK_REGISTERS.into() {
                continue;
            }
            let needed = kernel.bounded_registers(executable.needed_registers(launch.kernel));
            let taken = ptx::block_registers(threads, needed);
            if taken > MANY {
                let entry = self.0.entry(launch.kernel.to_owned()).or_default();
                *entry = (*entry).max((taken, threads));
            }
        }
    }

    /// A warning for each kernel.
    pub fn warnings(&self) -> Vec<String> {
        let named = self.0.iter().take(MAX_KERNELS);
        let warnings = named.map(|(kernel, (taken, threads))| {
            let kernel: String = kernel.chars().take(LONGEST_NAME).collect();
            format!(
                "kernel `{kernel}` in blocks of {threads} threads takes at least {taken} of the {BLOCK_REGISTERS} registers that a \
                 block has; a compiler may take more, and a GPU then refuses the launch: say how large its blocks are with \
                 `max_threads` in its `#[kernel]`"
            )
        });
        warnings.collect()
    }
}
