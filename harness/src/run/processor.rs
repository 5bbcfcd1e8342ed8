//! What a run computes on: the CPU, or a variant on a device.

use clap::Args;
use host::device::Sanitize;
use host::{Device, DeviceKind, Lab};

use crate::catalogue::variant_of_run;
use crate::cpu;
use crate::devices::{Machine, Wanted};
use crate::failure::Failure;

/// The flag.
#[derive(Debug, Clone, Copy, Args)]
pub struct DeviceArg {
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
}

/// The CPU, which runs the parallel reference, or a device and the variant that it runs.
pub struct Processor {
    machine: Machine,
    /// As `--device` has it.
    pub name: Wanted,
    /// The variant that a device runs.
    pub variant: &'static str,
}

impl DeviceArg {
    /// The device that is named, else the first GPU, else the CPU; and the variant of this name.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] for an unknown variant; [`Failure::Environment`] for a device that is named and missing.
    pub fn processor(&self, lab: &dyn Lab, variant: &str) -> Result<Processor, Failure> {
        let (variant, wanted) = variant_of_run(lab, variant, self.device)?;
        let machine = Machine::discover(&[wanted.unwrap_or(Wanted::Cuda(0))], Sanitize::NONE);
        let chosen = machine.choose(wanted.as_slice())?;
        let name = chosen
            .devices
            .first()
            .map_or(Wanted::Cpu, |named| named.name);
        Ok(Processor {
            machine,
            name,
            variant,
        })
    }
}

impl Processor {
    /// The device; `None` for the CPU.
    pub fn device(&self) -> Option<&dyn Device> {
        let chosen = self.machine.choose(&[self.name]).ok()?;
        chosen.devices.first().map(|named| named.device)
    }

    /// For headings: `naive on cuda (NVIDIA ...)`, `CPU reference (...)`.
    pub fn describe(&self) -> String {
        match self.device() {
            Some(device) => format!("{} on {} ({})", self.variant, self.name, device.info().name),
            None => format!("CPU reference ({})", cpu::description()),
        }
    }

    /// Whether times measured on it mean anything: those of the emulated device do not.
    pub fn has_speed(&self) -> bool {
        self.device()
            .is_none_or(|device| device.info().kind != DeviceKind::Emulated)
    }
}
