//! A launch of a kernel of a PTX file.

use replay::{Facts, Mistake, Page};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use exit::CommandError;
use forge::Place;
use ptx_emu::{
    DeviceLimits, Executable, Fault, FaultPlace, LaunchConfig, LaunchError, LaunchReport,
    LoadedModule, Machine, Options, OutOfMemory, ProgramFault, Schedule,
};
use terminal::look::Look;
use units::{count, grouped};

use crate::arguments::{Argument, Buffer};
use crate::options::{EmulateArgs, sanitize};

use crate::runs::{self, Counts, Run};

/// Elements of a buffer that are shown.
const SHOWN: u64 = 16;

/// A launch that was asked for.
pub(crate) struct Launch<'a> {
    args: &'a EmulateArgs,
    executable: &'a Arc<Executable>,
    kernel: &'a ptx::Function,
    config: LaunchConfig,
    arguments: Vec<Argument>,
}

impl<'a> Launch<'a> {
    /// The launch that the flags ask for.
    ///
    /// # Errors
    ///
    /// No such kernel, or arguments that it does not take, in words.
    pub(crate) fn new(
        args: &'a EmulateArgs,
        name: &str,
        executable: &'a Arc<Executable>,
    ) -> Result<Launch<'a>, String> {
        let program = executable.program();
        let target = program.target.first().map_or("", String::as_str);
        if let Some((major, minor)) = args.compute_capability
            && ptx::capability(target).is_some_and(|needed| needed > (major, minor))
        {
            return Err(format!(
                "--compute-capability {major}.{minor}: the file is for {target} and newer; compile it for sm_{major}{minor}, or emulate a newer device"
            ));
        }
        let mut refused = program.refused();
        if let Some((_, error)) = refused.find(|(function, _)| function.name == name) {
            return Err(format!("--kernel {name}: its body is refused: {error}"));
        }
        let kernel = program.kernel(name).ok_or_else(|| {
            let error = LaunchError::NoSuchKernel {
                name: name.to_owned(),
                available: program
                    .kernels()
                    .map(|kernel| kernel.name.clone())
                    .collect(),
            };
            format!("--kernel {name}: {error}")
        })?;
        let arguments: Vec<Argument> = args
            .arguments
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()?;
        if arguments.len() != kernel.params.len() {
            return Err(format!(
                "kernel `{name}` takes {}, not {}",
                count(kernel.params.len(), "argument"),
                arguments.len()
            ));
        }
        for (number, (argument, parameter)) in (1..).zip(arguments.iter().zip(&kernel.params)) {
            let given = match argument {
                Argument::Number(bytes) => bytes.len() as u32,
                Argument::Buffer(_) => 8,
            };
            if given != parameter.size() {
                return Err(format!(
                    "argument {number} of `{name}` has {} bytes (a buffer is a pointer of 8), and {given} were given: {}",
                    parameter.size(),
                    args.arguments[number - 1]
                ));
            }
        }
        Ok(Launch {
            args,
            executable,
            kernel,
            config: LaunchConfig {
                grid: args.grid.0,
                block: args.block.0,
                shared_mem_bytes: args.shared,
                cluster: args.cluster.0,
            },
            arguments,
        })
    }

    /// Launches in one order, on a machine of its own.
    ///
    /// # Errors
    ///
    /// A launch that is not possible, and too little memory for its buffers.
    pub(crate) fn run(&self, order: u32) -> Result<Launched<'_>, CommandError> {
        let (mut machine, module) = self.machine(order)?;
        let (block, buffers) = self.place(&mut machine)?;
        let outcome = machine.launch(&module, &self.kernel.name, &self.config, &block);
        self.judge(order, outcome, machine, buffers)
    }

    /// A machine with the module, for launches in one order.
    fn machine(&self, order: u32) -> Result<(Machine, LoadedModule), CommandError> {
        let options = Options {
            sanitize: sanitize(&self.args.check),
            volatile_is_plain: self.args.volatile_is_plain,
            schedule: match order {
                0 => Schedule::InOrder,
                seed => Schedule::Random { seed: seed.into() },
            },
            ..Options::default()
        };
        let capability = self.args.compute_capability;
        let limits = capability.map_or_else(DeviceLimits::default, DeviceLimits::of);
        let mut machine = Machine::new(limits, options);
        let module = machine.load(Arc::clone(self.executable)).map_err(lacking)?;
        Ok((machine, module))
    }

    /// Launches once more in an order, in which a launch ended so, writes a page that replays it,
    /// and says so.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run`], blocks that the grid does not have, and a file that cannot be
    /// written.
    pub(crate) fn replay(
        &self,
        order: u32,
        fault: Option<&ProgramFault>,
        page: Page,
    ) -> Result<String, CommandError> {
        let (mut machine, module) = self.machine(order)?;
        machine.record(Some(page.wish.plan(self.config.grid, fault)?));
        let (block, _) = self.place(&mut machine)?;
        // It ends as it did before.
        let _ = machine.launch(&module, &self.kernel.name, &self.config, &block);
        let recording = machine.take_recording();
        let recording = recording.ok_or_else(|| lacking("the launch was not recorded"))?;
        let mistake = fault.map(|fault| Mistake::fault(&recording, fault));
        let program = self.executable.program();
        page.write(&recording, program, mistake.as_ref(), &Facts::LOCAL)
    }

    /// The findings of a launch.
    fn judge<'l>(
        &'l self,
        order: u32,
        outcome: Result<LaunchReport, Fault>,
        mut machine: Machine,
        buffers: Vec<Placed<'l>>,
    ) -> Result<Launched<'l>, CommandError> {
        let mut run = Run {
            order,
            started: true,
            ..Run::default()
        };
        match &outcome {
            Ok(report) => {
                run.notes
                    .extend(report.notes().into_iter().map(|(_, text)| text));
                if self.args.counts {
                    run.counts
                        .insert(report.kernel.clone(), Counts::from(report));
                }
            }
            Err(fault @ Fault::Program(program)) => run.faults.push(runs::Fault {
                kernel: self.kernel.name.clone(),
                grid: self.config.grid,
                block: self.config.block,
                kind: program.kind.name().to_owned(),
                text: fault.to_string(),
                places: self.places(program),
            }),
            Err(fault @ Fault::Unsupported(_)) => {
                run.unsupported.push(fault.to_string());
                run.needs_more = true;
            }
            Err(fault @ Fault::Launch(_)) => return Err(CommandError::Input(fault.to_string())),
        }
        Ok(Launched {
            run,
            fault: match outcome {
                Err(Fault::Program(fault)) => Some(fault),
                _ => None,
            },
            printed: machine.take_printed().text,
            machine,
            buffers,
        })
    }

    /// The source lines of a fault, or the lines of the file of PTX where there are none.
    fn places(&self, fault: &ProgramFault) -> Vec<Place> {
        let file = self.args.file.as_deref().unwrap_or(Path::new("PTX"));
        let place = |place: FaultPlace| match place.source {
            Some(source) => Place::new(place.role, &*source.file, source.line, source.column),
            None => Place::new(place.role, file.to_string_lossy(), place.ptx_line, 0),
        };
        fault.places().into_iter().map(place).collect()
    }

    /// Allocates and fills the buffers; the block of parameters, and where each buffer is.
    fn place(&self, machine: &mut Machine) -> Result<(Vec<u8>, Vec<Placed<'_>>), CommandError> {
        let mut block = vec![0; self.kernel.kernel_param_bytes as usize];
        let mut buffers = Vec::new();
        let arguments = self.arguments.iter().zip(&self.args.arguments);
        for ((argument, text), parameter) in arguments.zip(&self.kernel.params) {
            let bytes = match argument {
                Argument::Number(bytes) => bytes.clone(),
                Argument::Buffer(buffer) => {
                    let address = machine
                        .allocate(buffer.bytes(), &parameter.name)
                        .map_err(|error| no_memory(text, &error))?;
                    buffer
                        .fill(|start, content| machine.write(address + start, content))
                        .map_err(lacking)?;
                    buffers.push(Placed {
                        name: &parameter.name,
                        address,
                        buffer,
                    });
                    address.to_le_bytes().to_vec()
                }
            };
            let start = parameter.offset as usize;
            block[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        Ok((block, buffers))
    }
}

/// A buffer in a machine's memory.
struct Placed<'a> {
    name: &'a str,
    address: u64,
    buffer: &'a Buffer,
}

/// A launch that was made.
pub(crate) struct Launched<'a> {
    /// Its outcome.
    pub(crate) run: Run,
    /// The fault among it.
    pub(crate) fault: Option<Box<ProgramFault>>,
    /// The kernel's prints.
    printed: String,
    machine: Machine,
    buffers: Vec<Placed<'a>>,
}

impl Launched<'_> {
    /// The outcome, what the kernel has printed, its counts if they are wanted, and the buffers
    /// where nothing went wrong.
    pub(crate) fn words(&self, wants_counts: bool, look: Look) -> String {
        let faults = self.run.faults.iter().map(|fault| &fault.text);
        let wrong = faults.chain(&self.run.unsupported).next();
        let order = self.run.order;
        let mut lines = vec![match wrong {
            Some(text) => look.bad(&format!("order {order}: {text}")),
            None => format!("order {order}: no fault"),
        }];
        if !self.printed.is_empty() {
            lines.push(self.printed.trim_end().to_owned());
        }
        if wrong.is_none() {
            if wants_counts {
                lines.push(self.run.table(look).trim_end().to_owned());
            }
            lines.extend(self.buffers.iter().map(|placed| self.shown(placed)));
        }
        lines.join("\n")
    }

    /// The first elements of a buffer.
    fn shown(&self, placed: &Placed<'_>) -> String {
        let Placed {
            name,
            address,
            buffer,
        } = *placed;
        let mut bytes = vec![0; buffer.first_bytes(SHOWN)];
        // The buffer is the machine's, and its size is known.
        let _ = self.machine.read(address, &mut bytes);
        let more = if buffer.count > SHOWN {
            format!(" ... ({} in all)", buffer.count)
        } else {
            String::new()
        };
        format!("  {name}: {}{more}", buffer.words(&bytes).join(" "))
    }
}

fn lacking(error: impl Display) -> CommandError {
    CommandError::Environment(error.to_string())
}

/// Why there is no room for an argument: on the emulated device, or on this machine.
fn no_memory(argument: &str, error: &OutOfMemory) -> CommandError {
    CommandError::Environment(if error.requested <= error.capacity - error.used {
        format!(
            "argument {argument}: this machine has no {} bytes of memory free for it",
            grouped(error.requested)
        )
    } else {
        format!("argument {argument}: the emulated device {error}")
    })
}

impl From<&ptx_emu::LaunchReport> for Counts {
    fn from(report: &ptx_emu::LaunchReport) -> Counts {
        let counts = &report.counts;
        let traffic = [
            &counts.global_loads,
            &counts.global_stores,
            &counts.global_atomics,
        ];
        Counts {
            launches: 1,
            instructions: counts.instructions.thread,
            warp_instructions: counts.instructions.warp,
            sectors: traffic.iter().map(|traffic| traffic.sectors).sum(),
            bank_conflicts: counts.bank_conflicts(),
            barriers: counts.barriers,
            local_bytes: counts.local_bytes,
            microseconds: 0,
        }
    }
}
