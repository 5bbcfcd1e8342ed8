//! The devices that a command uses.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use device::{Device, DeviceInfo, DeviceKind};
use device::{Discovery, EmulatedDevice, Options, Sanitize, parse_capability};
use lab::CaseError;
use serde::{Deserialize, Serialize};

use exit::CommandError;

pub mod gpus;

pub use gpus::{Gpus, Joined, Route};

/// A device that executes plans, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    /// A GPU, by its number.
    Cuda(u32),
    /// The PTX interpreter.
    Emulated,
}

impl DeviceName {
    fn kind(self) -> DeviceKind {
        match self {
            DeviceName::Cuda(_) => DeviceKind::Cuda,
            DeviceName::Emulated => DeviceKind::Emulated,
        }
    }

    /// Its number among those of its kind.
    fn ordinal(self) -> u32 {
        match self {
            DeviceName::Cuda(ordinal) => ordinal,
            DeviceName::Emulated => 0,
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Cuda(0) => f.write_str("cuda"),
            DeviceName::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            DeviceName::Emulated => f.write_str("emulated"),
        }
    }
}

/// A value of `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The CPU references.
    Cpu,
    /// A device that executes plans.
    Device(DeviceName),
}

impl Wanted {
    /// The first GPU.
    pub const CUDA: Wanted = Wanted::Device(DeviceName::Cuda(0));
    /// The emulated device.
    pub const EMULATED: Wanted = Wanted::Device(DeviceName::Emulated);

    /// The device, unless it is the CPU that is named.
    pub fn device(self) -> Option<DeviceName> {
        match self {
            Wanted::Cpu => None,
            Wanted::Device(name) => Some(name),
        }
    }
}

impl From<DeviceName> for Wanted {
    fn from(name: DeviceName) -> Wanted {
        Wanted::Device(name)
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Wanted, String> {
        match text {
            "cpu" => Ok(Wanted::Cpu),
            "cuda" => Ok(Wanted::CUDA),
            "emulated" => Ok(Wanted::EMULATED),
            // The nearest name would be `cpu`.
            "gpu" => Err("unknown device `gpu`; a GPU is called `cuda`".to_owned()),
            _ => match text.strip_prefix("cuda:") {
                Some(number) => number
                    .parse()
                    .map(|number| DeviceName::Cuda(number).into())
                    .map_err(|_| {
                        format!("`{number}` is not a number of a GPU; write cuda:0, cuda:1")
                    }),
                None => {
                    Err(CaseError::unknown("device", text, ["cpu", "cuda", "emulated"]).to_string())
                }
            },
        }
    }
}

impl Serialize for Wanted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Cpu => f.write_str("cpu"),
            Wanted::Device(name) => name.fmt(f),
        }
    }
}

/// The oldest compute capability that kernels are compiled for, the built-in ones and those of
/// submissions.
pub const OLDEST: (u32, u32) = (7, 5);

/// Why a GPU counts as missing although it is there: no kernel runs on it. None of one that is of
/// [`OLDEST`] or newer.
pub fn too_old(info: &DeviceInfo) -> Option<String> {
    let (major, minor) = info.compute_capability.filter(|own| *own < OLDEST)?;
    Some(format!(
        "{} has compute capability {major}.{minor}, and the kernels need {}.{} or newer; `--device emulated` runs and tests \
         them without a GPU",
        info.name, OLDEST.0, OLDEST.1
    ))
}

/// The emulated device, with these checks.
fn emulated(sanitize: Sanitize) -> EmulatedDevice {
    EmulatedDevice::new(Options {
        sanitize,
        ..Options::default()
    })
}

/// The devices of this machine, by kind.
pub struct Machine {
    found: Vec<(DeviceKind, Discovery)>,
}

/// A device and its name.
#[derive(Clone, Copy)]
pub struct Named<'m> {
    /// As `--device` has it.
    pub name: DeviceName,
    /// The device.
    pub device: &'m dyn Device,
}

/// A kind of device that the machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// As `--device` has it.
    #[serde(rename = "device")]
    pub name: Wanted,
    /// Why.
    pub reason: String,
}

/// The devices that a command runs on.
#[derive(Default)]
pub struct Chosen<'m> {
    /// Whether the CPU references count among the devices.
    pub cpu: bool,
    /// The devices, in the order asked for.
    pub devices: Vec<Named<'m>>,
    /// Kinds that were not asked for by name and are missing.
    pub absent: Vec<Absent>,
}

/// The generation of the emulated device.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct GenerationArg {
    /// Emulate a device of this compute capability, as in 7.5: with the kernels and the room that
    /// such devices have; with --device emulated [default: 9.0]
    #[arg(long, value_name = "X.Y", value_parser = parse_capability)]
    pub compute_capability: Option<(u32, u32)>,
}

impl GenerationArg {
    /// Refuses the flag where no emulated device is asked for.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`].
    fn check(self, wanted: &[Wanted]) -> Result<(), CommandError> {
        match self.compute_capability {
            Some((major, minor)) if !wanted.contains(&Wanted::EMULATED) => {
                Err(CommandError::Input(format!(
                    "--compute-capability {major}.{minor}: only the emulated device can be of any; add --device emulated"
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Machine {
    /// [`Machine::discover`], with an emulated device of this generation.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a generation where no emulated device is wanted by its name.
    pub fn discover_as(
        generation: GenerationArg,
        wanted: &[Wanted],
        sanitize: Sanitize,
    ) -> Result<Machine, CommandError> {
        generation.check(wanted)?;
        let mut machine = Machine::discover(wanted, sanitize);
        if let Some(capability) = generation.compute_capability {
            let emulated = emulated(sanitize).with_capability(capability);
            machine
                .found
                .retain(|(kind, _)| *kind != DeviceKind::Emulated);
            let found: Discovery = Ok(vec![Box::new(emulated) as _]);
            machine.found.push((DeviceKind::Emulated, found));
        }
        Ok(machine)
    }

    /// Looks for the devices that are wanted, or for all kinds if none is named. The emulated
    /// device makes these checks.
    pub fn discover(wanted: &[Wanted], sanitize: Sanitize) -> Machine {
        let is_wanted = |kind| {
            wanted.is_empty()
                || wanted
                    .iter()
                    .filter_map(|wanted| wanted.device())
                    .any(|name| name.kind() == kind)
        };
        let mut found = Vec::new();
        if is_wanted(DeviceKind::Cuda) {
            found.push((DeviceKind::Cuda, cuda::discover()));
        }
        if is_wanted(DeviceKind::Emulated) {
            let device = Box::new(emulated(sanitize));
            found.push((DeviceKind::Emulated, Ok(vec![device as _])));
        }
        Machine { found }
    }

    /// A machine with these devices.
    pub fn new(found: Vec<(DeviceKind, Discovery)>) -> Machine {
        Machine { found }
    }

    /// Every kind that was looked for, and what there is of it.
    pub fn found(&self) -> &[(DeviceKind, Discovery)] {
        &self.found
    }

    /// The devices that are wanted. If none is named: the CPU and the first GPU, or without one the
    /// emulated device. A GPU that is [`too_old`] is none.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] for a device that is named and missing.
    pub fn choose(&self, wanted: &[Wanted]) -> Result<Chosen<'_>, CommandError> {
        let mut chosen = Chosen::default();
        for one in wanted {
            let Some(name) = one.device() else {
                chosen.cpu = true;
                continue;
            };
            match self.device(name) {
                Ok(_) if chosen.devices.iter().any(|other| other.name == name) => {}
                Ok(device) => chosen.devices.push(Named { name, device }),
                Err(reason) => {
                    return Err(CommandError::Environment(format!(
                        "--device {name}: {reason}; see `harness doctor`"
                    )));
                }
            }
        }
        if wanted.is_empty() {
            chosen.cpu = true;
            for name in [self.first_gpu(), DeviceName::Emulated] {
                if !self.found.iter().any(|found| name.kind() == found.0) {
                    continue;
                }
                match self.device(name) {
                    Err(reason) => chosen.absent.push(Absent {
                        name: name.into(),
                        reason,
                    }),
                    Ok(device) => {
                        chosen.devices.push(Named { name, device });
                        break;
                    }
                }
            }
        }
        Ok(chosen)
    }

    /// The device that is wanted, or if none is named the first that [`Machine::choose`] takes.
    ///
    /// # Errors
    ///
    /// As [`Machine::choose`]; [`CommandError::Bug`] for the CPU, which is not a device.
    pub fn choose_one(&self, wanted: Option<Wanted>) -> Result<Named<'_>, CommandError> {
        let chosen = self.choose(wanted.as_slice())?;
        let first = chosen.devices.first().copied();
        first.ok_or_else(|| CommandError::Bug("no device is chosen".to_owned()))
    }

    /// This device, taken out of the machine; `None` for one that is not there.
    pub fn into_device(self, name: DeviceName) -> Option<Box<dyn Device>> {
        let (kind, ordinal) = (name.kind(), name.ordinal());
        let found = self.found.into_iter().filter(|(found, _)| *found == kind);
        let mut devices = found.filter_map(|(_, found)| found.ok()).flatten();
        devices.find(|device| device.info().ordinal == ordinal)
    }

    /// The first GPU that kernels run on, or else number 0, whose absence has a reason.
    fn first_gpu(&self) -> DeviceName {
        let found = self
            .found
            .iter()
            .filter(|(kind, _)| *kind == DeviceKind::Cuda);
        let devices = found.filter_map(|(_, found)| found.as_ref().ok()).flatten();
        let mut infos = devices.map(|device| device.info());
        let usable = infos.find(|info| too_old(info).is_none());
        DeviceName::Cuda(usable.map_or(0, |info| info.ordinal))
    }

    /// The device, or why it is missing.
    fn device(&self, name: DeviceName) -> Result<&dyn Device, String> {
        let kind = name.kind();
        let discovery = self.found.iter().find(|(found, _)| *found == kind);
        let ordinal = name.ordinal();
        match discovery {
            None => Err(format!("this build has no {kind} device")),
            Some((_, Err(error))) => Err(error.to_string()),
            Some((_, Ok(devices))) => {
                let mut devices = devices.iter().map(|device| device.as_ref());
                let count = devices.len();
                match devices.find(|device| device.info().ordinal == ordinal) {
                    Some(device) => too_old(device.info()).map_or(Ok(device), Err),
                    None => Err(format!("this machine has {count}, numbered from 0")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
