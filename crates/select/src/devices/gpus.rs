//! Several GPUs of a machine, as `--gpus` names them.

use std::fmt::Display;
use std::str::FromStr;

use cuda::{CudaDevice, CudaGroup, Link};
use device::{Device, DeviceKind};
use device::{DeviceError, DeviceInfo, EmulatedDevice, Options, Sanitize};
use serde::{Deserialize, Serialize};

use super::{DeviceName, Machine, Wanted, too_old};
use exit::CommandError;
use lab::target;
use plan::Target;
use units::count;

/// Which GPUs, as `--gpus` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gpus {
    /// All that the machine has.
    All,
    /// So many, from number 0 on; at least one.
    Count(u32),
    /// Those of these numbers: at least two, no number twice.
    List(Vec<u32>),
}

impl FromStr for Gpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Gpus, String> {
        let wrong = || "write all, how many from 1 on, or their numbers as in 0,2".to_owned();
        let number = |word: &str| word.parse::<u32>().map_err(|_| wrong());
        match text {
            "all" => Ok(Gpus::All),
            _ if text.contains(',') => {
                let numbers = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
                let twice = |(i, gpu): (usize, &u32)| numbers[..i].contains(gpu);
                match numbers.iter().enumerate().find(|each| twice(*each)) {
                    Some((_, gpu)) => Err(format!("GPU {gpu} is named twice")),
                    None => Ok(Gpus::List(numbers)),
                }
            }
            _ => match number(text)? {
                0 => Err(wrong()),
                count => Ok(Gpus::Count(count)),
            },
        }
    }
}

impl Display for Gpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Gpus::All => f.write_str("all"),
            Gpus::Count(count) => write!(f, "{count}"),
            Gpus::List(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                f.write_str(&numbers.join(","))
            }
        }
    }
}

impl Gpus {
    /// The devices of this machine that are meant, beside what `--device` says. GPUs are of one
    /// model, so that it makes no difference which of them does a piece of work. The emulated
    /// device is there as often as is wanted.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] for GPUs that the machine does not have;
    /// [`CommandError::Input`] for GPUs of two models, and where `--device` says something else.
    pub fn choose(
        &self,
        machine: &Machine,
        device: Option<Wanted>,
    ) -> Result<Vec<DeviceName>, CommandError> {
        match device {
            None | Some(Wanted::CUDA) => self.choose_cuda(machine),
            Some(Wanted::EMULATED) => match self {
                Gpus::Count(count) => Ok(vec![DeviceName::Emulated; *count as usize]),
                Gpus::All | Gpus::List(_) => Err(CommandError::Input(format!(
                    "--gpus {self}: of the emulated device there are as many as you like: write how many, as in --gpus 2"
                ))),
            },
            Some(other) => Err(CommandError::Input(format!(
                "--gpus {self}: --device {other} is one device; leave it out, or write --device cuda"
            ))),
        }
    }

    /// The devices that are meant as one, for plans over several.
    ///
    /// # Errors
    ///
    /// As [`Gpus::choose`], and errors of the driver.
    pub fn group(&self, device: Option<Wanted>) -> Result<Box<dyn Device>, CommandError> {
        Ok(self.joined(device)?.device)
    }

    /// The devices that are meant as one, with what is known of each and of how they are joined.
    ///
    /// # Errors
    ///
    /// As [`Gpus::group`].
    pub fn joined(&self, device: Option<Wanted>) -> Result<Joined, CommandError> {
        let wanted = device.unwrap_or(Wanted::CUDA);
        let machine = Machine::discover(&[wanted], Sanitize::NONE);
        let chosen = self.choose(&machine, device)?;
        if wanted == Wanted::EMULATED {
            let one = EmulatedDevice::new(Options {
                sanitize: Sanitize::NONE,
                ..Options::default()
            });
            let emulated = Box::new(one.with_devices(chosen.len() as u32));
            return Ok(Joined {
                gpus: vec![emulated.info().clone(); chosen.len()],
                device: emulated,
                route: None,
            });
        }
        open(&chosen).map_err(|error| {
            CommandError::Environment(format!("--gpus {self}: {error}; see `harness doctor`"))
        })
    }

    fn choose_cuda(&self, machine: &Machine) -> Result<Vec<DeviceName>, CommandError> {
        let lacking = |reason: &dyn Display, remedy: &str| {
            Err(CommandError::Environment(format!(
                "--gpus {self}: {reason}; {remedy}"
            )))
        };
        let mut found = machine.found().iter();
        let devices = match found.find(|(kind, _)| *kind == DeviceKind::Cuda) {
            Some((_, Ok(devices))) => devices,
            Some((_, Err(error))) => return lacking(error, "see `harness doctor`"),
            None => return lacking(&"this build has no cuda device", "see `harness doctor`"),
        };
        let there = devices.len() as u32;
        let useless = |number: &u32| {
            let mut infos = devices.iter().map(|device| device.info());
            too_old(infos.find(|info| info.ordinal == *number)?)
        };
        let numbers: Vec<u32> = match self {
            Gpus::All if !(0..there).all(|number| useless(&number).is_some()) => (0..there)
                .filter(|number| useless(number).is_none())
                .collect(),
            Gpus::All => (0..there).collect(),
            Gpus::Count(count) => (0..*count).collect(),
            Gpus::List(numbers) => numbers.clone(),
        };
        if numbers.iter().any(|number| *number >= there) {
            let reason = format!(
                "this machine shows {}, numbered from 0",
                count(there as usize, "GPU")
            );
            return lacking(&reason, "ask for no more");
        }
        if let Some(reason) = numbers.iter().find_map(useless) {
            return lacking(&reason, "see `harness doctor`");
        }
        let model = |number: u32| {
            let info = devices.iter().map(|device| device.info());
            let mut info = info.filter(|info| info.ordinal == number);
            info.next().map_or("", |info| info.name.as_str())
        };
        let first = numbers[0];
        match numbers
            .iter()
            .find(|number| model(**number) != model(first))
        {
            Some(other) => Err(CommandError::Input(format!(
                "--gpus {self}: GPU {first} is of model {}, GPU {other} of model {}: what comes out would depend on which is \
                 taken; name GPUs of one model, as in --gpus 0,2",
                model(first),
                model(*other)
            ))),
            None => Ok(numbers.into_iter().map(DeviceName::Cuda).collect()),
        }
    }
}

/// Several devices as one.
pub struct Joined {
    /// All of them, for plans over several devices.
    pub device: Box<dyn Device>,
    /// Each of them.
    pub gpus: Vec<DeviceInfo>,
    /// The worst route between two of them; `None` of one device, and of emulated ones.
    pub route: Option<Route>,
}

impl Joined {
    /// The machine as plans are recorded for it, with `devices` of these.
    pub fn target(&self, devices: u32) -> Target {
        Target {
            shares_memory: self.route != Some(Route::Staged),
            ..target(self.device.info(), devices)
        }
    }
}

/// The way of a copy between two GPUs, from the best on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// From one to the other, where atomic operations work too: NVLink.
    Atomic,
    /// From one to the other.
    Peer,
    /// Through the host's memory.
    Staged,
}

/// Opens these GPUs as one device.
fn open(chosen: &[DeviceName]) -> Result<Joined, DeviceError> {
    let numbers = chosen.iter().filter_map(|name| match name {
        DeviceName::Cuda(number) => Some(*number),
        DeviceName::Emulated => None,
    });
    let gpus: Result<Vec<CudaDevice>, DeviceError> = numbers.map(CudaDevice::open).collect();
    let group = CudaGroup::new(gpus?)?;
    let mut route = None;
    for from in 0..group.gpus().len() {
        for to in 0..from {
            let of_pair = match group.link(from, to)? {
                Link::Peer { has_atomics: true } => Route::Atomic,
                Link::Peer { has_atomics: false } => Route::Peer,
                Link::Staged => Route::Staged,
            };
            route = route.max(Some(of_pair));
        }
    }
    let infos = group.gpus().iter().map(|gpu| gpu.info().clone());
    Ok(Joined {
        gpus: infos.collect(),
        device: Box::new(group),
        route,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::{Error, Module, Preparation, TimedSession};
    use plan::Plan;

    /// A GPU that is there, and never used.
    struct Gpu(DeviceInfo);

    impl Device for Gpu {
        fn info(&self) -> &DeviceInfo {
            &self.0
        }

        fn prepare_as<'d>(
            &'d self,
            _: &Module,
            _: &Plan,
            _: &Preparation,
        ) -> Result<Box<dyn TimedSession + 'd>, Error> {
            unreachable!("nothing is run")
        }
    }

    fn with_gpus(models: &[&str]) -> Machine {
        let gpus = models.iter().zip(0..).map(|(model, ordinal)| {
            let info = DeviceInfo::new(DeviceKind::Cuda, *model);
            Box::new(Gpu(DeviceInfo { ordinal, ..info })) as Box<dyn Device>
        });
        let emulated: Box<dyn Device> = Box::new(EmulatedDevice::default());
        Machine::new(vec![
            (DeviceKind::Cuda, Ok(gpus.collect())),
            (DeviceKind::Emulated, Ok(vec![emulated])),
        ])
    }

    fn chosen(machine: &Machine, gpus: &str, device: Option<Wanted>) -> String {
        let gpus: Gpus = gpus.parse().unwrap();
        match gpus.choose(machine, device) {
            Ok(chosen) => {
                let names: Vec<String> = chosen.iter().map(DeviceName::to_string).collect();
                names.join(" ")
            }
            Err(failure) => format!("{}: {failure}", failure.exit_code()),
        }
    }

    #[test]
    fn they_are_read_and_written() {
        for text in ["all", "1", "4", "0,2", "3,1,0"] {
            assert_eq!(text.parse::<Gpus>().unwrap().to_string(), text);
        }
        let error = |text: &str| text.parse::<Gpus>().unwrap_err();
        for text in ["", "0", "-1", "some", "0,", "0,x", "1-3"] {
            assert_eq!(
                error(text),
                "write all, how many from 1 on, or their numbers as in 0,2"
            );
        }
        assert_eq!(error("0,2,0"), "GPU 0 is named twice");
    }

    #[test]
    fn all_or_some_or_those_that_are_named() {
        let machine = with_gpus(&["H100"; 4]);
        assert_eq!(chosen(&machine, "all", None), "cuda cuda:1 cuda:2 cuda:3");
        assert_eq!(chosen(&machine, "2", Some(Wanted::CUDA)), "cuda cuda:1");
        assert_eq!(chosen(&machine, "3,1", None), "cuda:3 cuda:1");
        let emulated = Some(Wanted::EMULATED);
        assert_eq!(chosen(&machine, "2", emulated), "emulated emulated");
    }

    #[test]
    fn what_is_not_there_or_makes_no_sense() {
        let machine = with_gpus(&["H100", "H100", "A100"]);
        insta::assert_snapshot!(chosen(&machine, "4", None), @"3: --gpus 4: this machine shows 3 GPUs, numbered from 0; ask for no more");
        insta::assert_snapshot!(chosen(&machine, "0,3", None), @"3: --gpus 0,3: this machine shows 3 GPUs, numbered from 0; ask for no more");
        insta::assert_snapshot!(chosen(&machine, "all", None), @"2: --gpus all: GPU 0 is of model H100, GPU 2 of model A100: what comes out would depend on which is taken; name GPUs of one model, as in --gpus 0,2");
        insta::assert_snapshot!(chosen(&machine, "2", Some(DeviceName::Cuda(1).into())), @"2: --gpus 2: --device cuda:1 is one device; leave it out, or write --device cuda");
        insta::assert_snapshot!(chosen(&machine, "all", Some(Wanted::EMULATED)), @"2: --gpus all: of the emulated device there are as many as you like: write how many, as in --gpus 2");
        let without = (DeviceKind::Cuda, Err(test_lab::no_device()));
        insta::assert_snapshot!(chosen(&Machine::new(vec![without]), "2", None), @"3: --gpus 2: no CUDA device: libcuda.so.1 not found; see `harness doctor`");
    }
}
