//! The processor of a run: the CPU, or a variant on a device.

use std::path::Path;
use std::sync::Arc;

use ::ranks::{Session, World};
use clap::Args;
use device::Sanitize;
use device::{Device, DeviceKind, Facts};
use lab::{Axes, Lab, LabCase, Variant};

use device::cpu;
use exit::{CommandError, Ending};
use replay::{Page, ReplayArgs};
use select::catalogue::{self, SubmissionArg, Submitted};
use select::choice::{self, On};
use select::course_root;
use select::devices::{DeviceName, GenerationArg, Gpus, Machine, Wanted};
use select::tuned::Table;
use terminal::stdout::Out;

/// The flags that say what computes, and whether the CPU computes the same.
#[derive(Debug, Clone, Args)]
pub struct DeviceArg {
    /// Which variant, on a GPU or the emulated device; `harness list` has the names [default: on
    /// GPUs the fastest by tuned.toml, or else by what the lab knows; on the emulated device a
    /// plain one]
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    #[command(flatten)]
    generation: GenerationArg,
    /// Compute on several GPUs: how many, their numbers as in 0,2, or all; `--device emulated
    /// --gpus 4` works anywhere
    #[arg(long, value_name = "GPUS")]
    gpus: Option<Gpus>,
    #[command(flatten)]
    own: SubmissionArg,
    /// Tell which variant would run, in which launch shape and why, and what others there are;
    /// compute nothing
    #[arg(long)]
    explain: bool,
    /// Do not compare the fields with the CPU's
    #[arg(long)]
    pub no_check: bool,
    #[command(flatten)]
    replay: ReplayArgs,
}

/// The CPU, which runs the parallel reference, or a device and the variant that it runs.
pub struct Processor {
    device: Option<Box<dyn Device>>,
    /// As `--device` has it.
    pub name: Wanted,
    /// The lab of what is run.
    pub lab: &'static Lab,
    /// The variant that a device runs. A copy without built-in solutions has none, and no device.
    pub variant: Option<&'static Variant>,
    /// The reasons of the choice, which are told instead of computing anything.
    explanation: Option<Explanation>,
    /// The page that replays a launch, and the axes of the buffers.
    replay: Option<(Page, Axes)>,
    /// The other processes that compute with this one.
    ranks: Option<Arc<Session>>,
}

impl DeviceArg {
    /// The submissions that are named; the last one computes.
    pub fn own(&self) -> &SubmissionArg {
        &self.own
    }

    /// The device that is named, else the first GPU, else the CPU, or several GPUs; and the variant
    /// that [`choice::choose`] takes for the case there.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for an unknown variant, and for one that the CPU would not compute;
    /// [`CommandError::Environment`] for a device that is named and missing.
    pub fn processor(
        &self,
        lab: &'static Lab,
        case: &dyn LabCase,
        submitted: Submitted,
    ) -> Result<Processor, CommandError> {
        catalogue::one_solution("--variant", self.variant.as_deref(), &self.own)?;
        let own = submitted.of(lab).last();
        let world = match self.device {
            // Each process computes by itself.
            Some(Wanted::Cpu) => None,
            _ => super::ranks::world()?,
        };
        if (self.gpus.is_some() || world.is_some()) && own.is_none() {
            self.needs_several(lab)?;
        }
        // A copy without built-in solutions has no variant to run, and computes on the CPU.
        let wanted = if own.is_none() && lab.variants.is_empty() {
            self.on_cpu_alone()?
        } else if self.replay.file().is_some() {
            self.on_emulated()?
        } else {
            self.device
        };
        let page = self.replay.open()?;
        let name = self.variant.as_deref().filter(|_| !lab.variants.is_empty());
        let named = match own {
            Some(own) => Some(own),
            None => name.map(|name| catalogue::variant(lab, name)).transpose()?,
        };
        let wish = Wish {
            lab,
            case,
            named,
            wanted,
            explains: self.explain,
        };
        let is_several = world.is_some() || self.gpus.is_some();
        if self.generation.compute_capability.is_some() && is_several {
            return Err(CommandError::Input(
                "--compute-capability is for one device: leave --gpus out".to_owned(),
            ));
        }
        if let Some(world) = world {
            if page.is_some() {
                return Err(CommandError::Input(
                    "--replay is for one process; `--gpus` computes on several emulated devices in one".to_owned(),
                ));
            }
            return wish.in_world(&world, self.gpus.as_ref());
        }
        let processor = match &self.gpus {
            Some(gpus) => wish.on_several(gpus),
            None => self.on_one(&wish),
        }?;
        let (Some(page), Some(device)) = (page, processor.device()) else {
            return Ok(processor);
        };
        device.record(page.wish.clone(), None);
        let axes = lab::axes(&processor.device_variant().record(case)?, case);
        Ok(Processor {
            replay: Some((page, axes)),
            ..processor
        })
    }

    /// The emulated device, which alone records.
    fn on_emulated(&self) -> Result<Option<Wanted>, CommandError> {
        match self.device {
            None | Some(Wanted::EMULATED) => Ok(Some(Wanted::EMULATED)),
            Some(device) => Err(CommandError::Input(format!(
                "--replay: --device {device} records nothing; write --device emulated, with a small problem"
            ))),
        }
    }

    /// The device that is named, or else the first GPU, or else the CPU.
    fn on_one(&self, wish: &Wish<'_>) -> Result<Processor, CommandError> {
        let wanted = [wish.wanted.unwrap_or(Wanted::CUDA)];
        // A page of a race is what one looks for.
        let sanitize = match self.replay.file() {
            Some(_) => Sanitize::ALL,
            None => Sanitize::NONE,
        };
        let machine = Machine::discover_as(self.generation, &wanted, sanitize)?;
        let found = machine.choose(wish.wanted.as_slice())?.devices;
        let Some(name) = found.first().map(|named| named.name) else {
            self.needs_device()?;
            return Ok(wish.on_cpu(self.device.is_some()));
        };
        let device = machine.into_device(name).expect("it was found there");
        let choice = wish.choose(On::device(device.as_ref()))?;
        Ok(wish.processor(device, choice))
    }

    /// The CPU, which is the only device of a copy of the course without built-in solutions.
    fn on_cpu_alone(&self) -> Result<Option<Wanted>, CommandError> {
        match self.device {
            None | Some(Wanted::Cpu) => Ok(Some(Wanted::Cpu)),
            Some(device) => Err(CommandError::Input(format!(
                "--device {device}: this copy of the course has no built-in solution that could run there; \
                 `--submission DIR` runs yours, `--device cpu` the reference"
            ))),
        }
    }
}

/// The case of a run, and the solution and device that its command line names.
struct Wish<'r> {
    lab: &'static Lab,
    case: &'r dyn LabCase,
    /// The variant or the submission that is named.
    named: Option<&'static Variant>,
    /// The device that is named.
    wanted: Option<Wanted>,
    /// Whether the choice is told, and nothing computed.
    explains: bool,
}

impl Wish<'_> {
    /// The choice on these devices, and its reasons where they are asked for.
    fn choose(&self, on: On<'_>) -> Result<Chosen, CommandError> {
        let tuned = Table::in_force(host::labs())?;
        let choice = choice::choose(self.lab, self.case, on, self.named, &tuned);
        let why = choice.as_ref().filter(|_| self.explains);
        Ok(Chosen {
            why: why.map(|known| choice::explain(self.lab, self.case, on, known)),
            variant: choice.map(|choice| choice.shape.launched),
        })
    }

    /// The devices as they are named, and the variant that they run.
    fn processor(&self, device: Box<dyn Device>, chosen: Chosen) -> Processor {
        let info = device.info();
        let name = match info.kind {
            DeviceKind::Cuda => DeviceName::Cuda(info.ordinal),
            DeviceKind::Emulated => DeviceName::Emulated,
        };
        Processor {
            device: Some(device),
            variant: chosen.variant,
            ..self.without_device(name.into(), chosen.why)
        }
    }

    /// The CPU, since it is named, or there is no GPU.
    fn on_cpu(&self, is_named: bool) -> Processor {
        let why = if is_named {
            "--device names it"
        } else {
            "this machine has no GPU that kernels run on, and --device names nothing else"
        };
        let mut lines = vec![format!(
            "the CPU computes the reference, and no variant: {why}"
        )];
        if let Some(usual) = self.lab.usual() {
            let usual = &usual.name;
            lines.push(format!(
                "--device emulated runs {usual} without a GPU, on a small problem"
            ));
        }
        self.without_device(Wanted::Cpu, self.explains.then_some(lines))
    }

    fn without_device(&self, name: Wanted, why: Option<Vec<String>>) -> Processor {
        let title = format!("{}  {}", self.lab.name, self.case.label());
        Processor {
            device: None,
            name,
            lab: self.lab,
            variant: None,
            explanation: why.map(|lines| Explanation { title, lines }),
            replay: None,
            ranks: None,
        }
    }

    /// Several GPUs of this process.
    fn on_several(&self, gpus: &Gpus) -> Result<Processor, CommandError> {
        let joined = gpus.joined(self.wanted)?;
        let target = joined.target(joined.device.count());
        let choice = self.choose(On::several(joined.device.info(), target))?;
        Ok(self.processor(joined.device, choice))
    }

    /// The devices of all processes together.
    fn in_world(&self, world: &World, gpus: Option<&Gpus>) -> Result<Processor, CommandError> {
        let variant = choice::of_processes(self.lab, self.named);
        let problem = format!("{}, {}", self.case.label(), self.case.problem_json());
        let name = variant.map_or("", |variant| &variant.name);
        let facts = [
            ("lab", self.lab.name.to_owned()),
            ("variant", name.to_owned()),
            ("problem", problem),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let wanted = self.wanted.unwrap_or(Wanted::CUDA);
        let kernels = variant.map_or(&self.lab.module, |variant| &variant.module);
        let (device, session) = super::ranks::meet(world, wanted, gpus, kernels, facts)?;
        let chosen = self
            .choose(On::of_processes(device.as_ref()))
            .and_then(|mut chosen| {
                if let Some((variant, own)) = variant.zip(chosen.variant) {
                    chosen.variant = Some(super::ranks::firsts_shape(&session, variant, own)?);
                }
                Ok(chosen)
            });
        match chosen {
            Ok(chosen) => Ok(Processor {
                ranks: Some(session),
                ..self.processor(device, chosen)
            }),
            Err(failure) => {
                drop(device);
                super::ranks::end(session, Err(&failure))?;
                Err(failure)
            }
        }
    }
}

/// The variant in its shape, and the reasons if they are asked for.
struct Chosen {
    variant: Option<&'static Variant>,
    why: Option<Vec<String>>,
}

/// Why this variant, in this shape, on this device.
struct Explanation {
    title: String,
    lines: Vec<String>,
}

impl Explanation {
    fn print(&self, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        let look = out.look();
        out.line(look.title(&look.wrapped(&self.title, 0)))?;
        for line in &self.lines {
            out.line(look.wrapped(line, 2))?;
        }
        Ok(Ending::Fine)
    }
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
        if variants.is_empty() || lab.usual_on_several().is_some() {
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
    /// Computes something, or explains the choice, and tells the other processes, if there are any,
    /// how it ended. Of these, the first alone writes a report.
    ///
    /// # Errors
    ///
    /// Those of `compute`; another process that failed or died.
    pub fn compute(
        mut self,
        out: &mut Out<'_>,
        compute: impl FnOnce(&Processor, &mut Out<'_>) -> Result<Ending, CommandError>,
    ) -> Result<Ending, CommandError> {
        let mut nowhere = Out::new(std::io::sink(), out.look());
        let out = if self.is_first() { out } else { &mut nowhere };
        let ended = match &self.explanation {
            Some(explanation) => explanation.print(out),
            None => compute(&self, out),
        };
        if let Some((page, axes)) = self.replay.take() {
            self.write_replay(page, &axes, out)?;
        }
        self.end(ended)
    }

    /// Writes the page of the launch that was recorded, if there was one.
    fn write_replay(&self, page: Page, axes: &Axes, out: &mut Out<'_>) -> Result<(), CommandError> {
        let Some(recorded) = self.device().and_then(Device::take_replay) else {
            let missing = "no launch was recorded; no page is written";
            eprintln!("{}", out.look().message("note:", missing));
            return Ok(());
        };
        let solution = Path::new(self.variant.map_or("", |variant| &variant.name));
        let course = course_root::of_program().unwrap_or_default();
        let facts = Facts {
            axes: &|name| axes.get(name).cloned().unwrap_or_default(),
            text: &|name| replay::source(&[solution, &course], name),
        };
        let program = recorded.executable.program();
        let wrote = page.write(
            &recorded.recording,
            program,
            recorded.mistake.as_ref(),
            &facts,
        )?;
        out.line(wrote)
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
        self.device.as_deref()
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
