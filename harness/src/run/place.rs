//! Where a run takes place.

use host::{DeviceKind, Error};

use crate::cpu;
use crate::devices::{Machine, Named, Wanted};
use crate::failure::Failure;
use crate::memory_advice::room_bytes;

/// The CPU, or a device.
#[derive(Clone, Copy)]
pub enum Place<'m> {
    /// The parallel reference.
    Cpu,
    /// A variant on a device.
    Device(Named<'m>),
}

impl<'m> Place<'m> {
    /// What was asked for, else the first GPU, else the CPU.
    ///
    /// # Errors
    ///
    /// [`Failure::Environment`] for a device that is named and not there.
    pub fn choose(wanted: Option<Wanted>, machine: &'m Machine) -> Result<Place<'m>, Failure> {
        let chosen = match wanted {
            Some(wanted) => machine.choose(&[wanted])?,
            None => machine.choose(&[])?,
        };
        let device = chosen.devices.first();
        Ok(device.map_or(Place::Cpu, |named| Place::Device(*named)))
    }

    /// What a machine must look for, so that [`Place::choose`] can.
    pub fn wanted(wanted: Option<Wanted>) -> Wanted {
        wanted.unwrap_or(Wanted::Cuda(0))
    }

    /// For headings: `naive on cuda (NVIDIA ...)`, `CPU reference (...)`.
    pub fn describe(&self, variant: &str) -> String {
        match self {
            Place::Cpu => format!("CPU reference ({})", cpu::description()),
            Place::Device(named) => {
                format!("{variant} on {} ({})", named.name, named.device.info().name)
            }
        }
    }

    /// Whether its speed says something of a GPU or a CPU.
    pub fn has_speed(&self) -> bool {
        !matches!(self, Place::Device(named) if named.device.info().kind == DeviceKind::Emulated)
    }
}

/// The error; if memory is short, with the largest size that fits the free bytes.
pub fn explained(error: Error, largest: impl FnOnce(u64) -> Option<String>) -> Failure {
    let fits = room_bytes(&error).and_then(largest);
    match (Failure::from(error), fits) {
        (Failure::Environment(text), Some(fits)) => {
            Failure::Environment(format!("{text}; what fits: {fits}"))
        }
        (failure, _) => failure,
    }
}
