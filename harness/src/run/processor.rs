//! The processor of a run: the CPU, or a variant on a device.

use std::sync::Arc;

use ::ranks::Session;
use clap::Args;
use device::Sanitize;
use device::{Device, DeviceKind};
use lab::{Lab, LabCase, Variant, target};

use exit::{CommandError, Ending};
use lab::catalogue::{self, SubmissionArg, variant_of_run};
use lab::devices::{Gpus, Machine, Wanted};
use measure::cpu;
use measure::tuned::Table;
use terminal::stdout::Out;

/// The flags that say what computes, and whether the CPU computes the same.
#[derive(Debug, Clone, Args)]
pub struct DeviceArg {
    /// Which variant, on a GPU or the emulated device; `harness list` has the names [default: a
    /// plain one; on a GPU one that keeps the problem on the chip where that wins; on several GPUs
    /// a fast one that uses them]
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    /// Compute on several GPUs: how many, their numbers as in 0,2, or all; `--device emulated
    /// --gpus 4` works anywhere
    #[arg(long, value_name = "GPUS")]
    gpus: Option<Gpus>,
    #[command(flatten)]
    own: SubmissionArg,
    /// Do not compare the fields with the CPU's
    #[arg(long)]
    pub no_check: bool,
}

/// The CPU, which runs the parallel reference, or a device and the variant that it runs.
pub struct Processor {
    machine: Machine,
    /// As `--device` has it.
    pub name: Wanted,
    /// The lab of what is run.
    pub lab: &'static Lab,
    /// The variant that a device runs. A copy without built-in solutions has none, and no device.
    pub variant: Option<&'static Variant>,
    /// The other processes that compute with this one.
    ranks: Option<Arc<Session>>,
}

impl DeviceArg {
    /// The submissions that are named; the last one computes.
    pub fn own(&self) -> &SubmissionArg {
        &self.own
    }

    /// The device that is named, else the first GPU, else the CPU, or several GPUs; and the variant
    /// that is named, or else `usual`, and on several GPUs the lab's variant for them.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for an unknown variant, and for one that the CPU would not compute;
    /// [`CommandError::Environment`] for a device that is named and missing.
    pub fn processor(
        &self,
        lab: &'static Lab,
        case: &dyn LabCase,
        usual: &str,
    ) -> Result<Processor, CommandError> {
        let name = self.variant.as_deref();
        catalogue::one_solution("--variant", name, &self.own)?;
        let world = match self.device {
            // Each process computes by itself.
            Some(Wanted::Cpu) => None,
            _ => super::ranks::world()?,
        };
        let is_several = self.gpus.is_some() || world.is_some();
        let is_own = !self.own.submission.is_empty();
        if is_several && !is_own {
            self.needs_several(lab)?;
        }
        let several = lab.for_several().filter(|_| is_several);
        let usual = several.map_or(usual, |variant| &variant.name);
        let (variant, wanted) = variant_of_run(lab, name.unwrap_or(usual), self.device)?;
        if let Some(world) = world {
            let facts = [
                ("lab", lab.name.to_owned()),
                (
                    "variant",
                    variant.map_or("", |variant| &variant.name).to_owned(),
                ),
                (
                    "problem",
                    format!("{}, {}", case.label(), case.problem_json()),
                ),
            ];
            let facts = facts.map(|(name, value)| (name.to_owned(), value)).into();
            let wanted = wanted.unwrap_or(Wanted::Cuda(0));
            let kernels = variant.map_or(&lab.module, |variant| &variant.module);
            let (device, session) =
                super::ranks::meet(&world, wanted, self.gpus.as_ref(), kernels, facts)?;
            let chosen = variant
                .map(|variant| {
                    let own = shaped(lab, variant, case, device.as_ref())?;
                    super::ranks::firsts_shape(&session, variant, own)
                })
                .transpose();
            return match chosen {
                Ok(variant) => Ok(Processor {
                    ranks: Some(session),
                    ..Processor::of(device, lab, variant)
                }),
                Err(failure) => {
                    drop(device);
                    super::ranks::end(session, Err(&failure))?;
                    Err(failure)
                }
            };
        }
        if let Some(gpus) = &self.gpus {
            let joined = gpus.joined(wanted)?;
            let target = joined.target(joined.device.count());
            let device = joined.device;
            let variant = match self.variant {
                None if !is_own && variant.is_some() => lab.on_several(case, device.info(), target),
                _ => variant,
            };
            let variant = variant
                .map(|variant| shaped(lab, variant, case, device.as_ref()))
                .transpose()?;
            return Ok(Processor::of(device, lab, variant));
        }
        let machine = Machine::discover(&[wanted.unwrap_or(Wanted::Cuda(0))], Sanitize::NONE);
        let chosen = machine.choose(wanted.as_slice())?;
        let name = chosen
            .devices
            .first()
            .map_or(Wanted::Cpu, |named| named.name);
        let device = chosen.devices.first().map(|named| named.device);
        if device.is_none() {
            self.needs_device()?;
        }
        let winner = match self.variant {
            None if !is_own => device.and_then(|device| winner(lab, case, device)),
            _ => None,
        };
        let variant = match winner.or(variant).zip(device) {
            Some((variant, device)) => Some(shaped(lab, variant, case, device)?),
            None => variant,
        };
        Ok(Processor {
            machine,
            name,
            lab,
            variant,
            ranks: None,
        })
    }
}

/// The lab's winner, if this is a GPU.
fn winner(lab: &'static Lab, case: &dyn LabCase, device: &dyn Device) -> Option<&'static Variant> {
    let info = device.info();
    if info.kind != DeviceKind::Cuda {
        return None;
    }
    lab.winner(case, info, target(info, 1))
}

/// The variant in the shape that was found for the case on this device, or on these.
fn shaped(
    lab: &Lab,
    variant: &'static Variant,
    case: &dyn LabCase,
    device: &dyn Device,
) -> Result<&'static Variant, CommandError> {
    Ok(Table::in_force()?.choose(lab, variant, case, device.info(), device.count()))
}

impl DeviceArg {
    /// Refuses a solution that is named and would not run: the CPU computes the reference.
    fn needs_device(&self) -> Result<(), CommandError> {
        let named = catalogue::named_solution(self.variant.as_deref(), &self.own);
        let Some((flag, name)) = named else {
            return Ok(());
        };
        Err(match self.device {
            Some(_) => catalogue::on_cpu(flag, &name),
            None => CommandError::Input(format!(
                "{flag} {name}: this machine has no GPU that could run it; add --device emulated, with a small problem, or leave out {flag}"
            )),
        })
    }

    /// Refuses several GPUs for a lab that has no variant for them.
    fn needs_several(&self, lab: &Lab) -> Result<(), CommandError> {
        let (name, variants) = (lab.name, &lab.variants);
        if variants.is_empty() || lab.for_several().is_some() {
            return Ok(());
        }
        Err(CommandError::Input(match &self.gpus {
            Some(gpus) => format!(
                "--gpus {gpus}: no variant of {name} computes on several GPUs; leave out --gpus"
            ),
            None => format!(
                "no variant of {name} computes in several processes; start one, or write --device cpu"
            ),
        }))
    }
}

impl Processor {
    /// A device, which may be several, and the variant that it runs.
    fn of(
        device: Box<dyn Device>,
        lab: &'static Lab,
        variant: Option<&'static Variant>,
    ) -> Processor {
        let (kind, ordinal) = (device.info().kind, device.info().ordinal);
        Processor {
            machine: Machine::new(vec![(kind, Ok(vec![device]))]),
            name: match kind {
                DeviceKind::Cuda => Wanted::Cuda(ordinal),
                DeviceKind::Emulated => Wanted::Emulated,
            },
            lab,
            variant,
            ranks: None,
        }
    }

    /// Computes something, and tells the other processes, if there are any, how it ended. Of these,
    /// the first alone writes a report.
    ///
    /// # Errors
    ///
    /// Those of `compute`; another process that failed or died.
    pub fn compute(
        self,
        out: &mut Out<'_>,
        compute: impl FnOnce(&Processor, &mut Out<'_>) -> Result<Ending, CommandError>,
    ) -> Result<Ending, CommandError> {
        if self.is_first() {
            let ended = compute(&self, out);
            return self.end(ended);
        }
        let ended = compute(&self, &mut Out::new(std::io::sink(), out.look()));
        self.end(ended)
    }

    fn end(mut self, ended: Result<Ending, CommandError>) -> Result<Ending, CommandError> {
        if let Some(ranks) = self.ranks.take() {
            drop(self);
            super::ranks::end(ranks, ended.as_ref().map(drop))?;
        }
        ended
    }

    /// Whether this is the only process, or the first of several: the one that reports, compares
    /// and writes files.
    pub fn is_first(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.rank() == 0)
    }

    /// The variant that the device runs.
    ///
    /// # Panics
    ///
    /// In a copy of the course without built-in solutions, where nothing runs on a device.
    pub fn device_variant(&self) -> &'static Variant {
        self.variant.expect("a device runs a variant")
    }

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
                let variant = self.variant.map_or("", |variant| &variant.name);
                match count {
                    1 => format!("{variant} on {} ({name})", self.name),
                    _ => {
                        let processes = match device.processes() {
                            1 => String::new(),
                            processes => format!(" of {processes} processes"),
                        };
                        format!("{variant} on {count} devices{processes} ({name})")
                    }
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
