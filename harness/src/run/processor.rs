//! What a run computes on: the CPU, or a variant on a device.

use clap::Args;
use host::device::Sanitize;
use host::{Device, DeviceKind, Lab};

use crate::catalogue::variant_of_run;
use crate::cpu;
use crate::devices::{Gpus, Machine, Wanted};
use crate::failure::Failure;

/// The flags.
#[derive(Debug, Clone, Args)]
pub struct DeviceArg {
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    /// Compute on several GPUs: how many, their numbers as in 0,2, or all; `--device emulated --gpus 4` works anywhere
    #[arg(long, value_name = "GPUS")]
    gpus: Option<Gpus>,
}

/// The variant that runs on several devices, of each lab that has one.
const SPLIT: &str = "split";

/// The CPU, which runs the parallel reference, or a device and the variant that it runs.
pub struct Processor {
    machine: Machine,
    /// As `--device` has it.
    pub name: Wanted,
    /// The variant that a device runs.
    pub variant: &'static str,
}

impl DeviceArg {
    /// The device that is named, else the first GPU, else the CPU, or several GPUs; and the variant of this name, or else `usual`, and on several
    /// GPUs `split`.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] for an unknown variant; [`Failure::Environment`] for a device that is named and missing.
    pub fn processor(
        &self,
        lab: &dyn Lab,
        variant: Option<&str>,
        usual: &str,
    ) -> Result<Processor, Failure> {
        let usual = if self.gpus.is_some() { SPLIT } else { usual };
        let (variant, wanted) = variant_of_run(lab, variant.unwrap_or(usual), self.device)?;
        if let Some(gpus) = &self.gpus {
            let group = gpus.group(wanted)?;
            let (kind, ordinal) = (group.info().kind, group.info().ordinal);
            return Ok(Processor {
                machine: Machine::new(vec![(kind, Ok(vec![group]))]),
                name: match kind {
                    DeviceKind::Cuda => Wanted::Cuda(ordinal),
                    DeviceKind::Emulated => Wanted::Emulated,
                },
                variant,
            });
        }
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
            Some(device) => {
                let (name, count) = (&device.info().name, device.count());
                match count {
                    1 => format!("{} on {} ({name})", self.variant, self.name),
                    _ => format!("{} on {count} devices ({name})", self.variant),
                }
            }
            None => format!("CPU reference ({})", cpu::description()),
        }
    }

    /// Whether times measured on it mean anything: those of the emulated device do not.
    pub fn has_speed(&self) -> bool {
        self.device()
            .is_none_or(|device| device.info().kind != DeviceKind::Emulated)
    }
}
