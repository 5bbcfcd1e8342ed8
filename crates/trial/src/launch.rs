//! A launch of a kernel of a text of PTX.

use std::fmt::Display;
use std::sync::Arc;

use ptx_emu::{
    DeviceLimits, Executable, Fault, LaunchConfig, LaunchError, LaunchReport, LoadedModule,
    Machine, Options, OutOfMemory, Recording, RecordingPlan, Schedule,
};
use thiserror::Error;
use units::{count, grouped};

use crate::arguments::{Argument, Buffer};

/// Elements of a buffer that are shown.
const SHOWN: u64 = 16;

/// A launch that was asked for.
#[derive(Debug)]
pub struct Trial<'a> {
    executable: &'a Arc<Executable>,
    kernel: &'a ptx::Function,
    /// Each as it was written, and as it was read.
    arguments: Vec<(&'a str, Argument)>,
    /// The shape of the launch.
    pub config: LaunchConfig,
    /// The device.
    pub limits: DeviceLimits,
    /// The checks, and bounds of the work. The schedule is that of the order of a run.
    pub options: Options,
}

/// Why a launch makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The text has no such kernel, or its body is refused.
    #[error("{0}")]
    Kernel(String),
    /// An argument cannot be read, or is none that the kernel takes.
    #[error("{0}")]
    Argument(String),
}

impl<'a> Trial<'a> {
    /// A launch of the kernel of this name, on a device of compute capability 9.0, with all checks.
    ///
    /// # Errors
    ///
    /// No such kernel, or arguments that it does not take.
    pub fn new(
        executable: &'a Arc<Executable>,
        name: &str,
        config: LaunchConfig,
        arguments: &'a [String],
    ) -> Result<Trial<'a>, Refused> {
        let program = executable.program();
        let mut refused = program.refused();
        if let Some((_, error)) = refused.find(|(function, _)| function.name == name) {
            return Err(Refused::Kernel(format!("its body is refused: {error}")));
        }
        let kernel = program.kernel(name).ok_or_else(|| {
            let error = LaunchError::NoSuchKernel {
                name: name.to_owned(),
                available: program
                    .kernels()
                    .map(|kernel| kernel.name.clone())
                    .collect(),
            };
            Refused::Kernel(error.to_string())
        })?;
        Ok(Trial {
            executable,
            kernel,
            arguments: read(kernel, arguments).map_err(Refused::Argument)?,
            config,
            limits: DeviceLimits::default(),
            options: Options::default(),
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'a ptx::Function {
        self.kernel
    }

    /// The registers that a thread of the kernel takes at least.
    pub fn registers(&self) -> u32 {
        let needed = self.executable.needed_registers(&self.kernel.name);
        self.kernel.bounded_registers(needed)
    }

    /// Launches in one order of threads, on a machine of its own: 0 is by index, others are random.
    ///
    /// # Errors
    ///
    /// Too little memory, in words.
    pub fn run(&self, order: u32) -> Result<Launched<'_>, String> {
        let (mut machine, module) = self.machine(order)?;
        let (block, buffers) = self.place(&mut machine)?;
        let outcome = machine.launch(&module, &self.kernel.name, &self.config, &block);
        Ok(Launched {
            outcome,
            printed: machine.take_printed().text,
            machine,
            buffers,
        })
    }

    /// Launches once more in an order, and records as the plan says. It ends as it did before.
    ///
    /// # Errors
    ///
    /// Too little memory, in words, and a launch that is not possible.
    pub fn record(&self, order: u32, plan: RecordingPlan) -> Result<Recording, String> {
        let (mut machine, module) = self.machine(order)?;
        machine.record(Some(plan));
        let (block, _) = self.place(&mut machine)?;
        let _ = machine.launch(&module, &self.kernel.name, &self.config, &block);
        let recording = machine.take_recording();
        recording.ok_or_else(|| "the launch was not recorded".to_owned())
    }

    /// A machine with the module, for launches in one order.
    fn machine(&self, order: u32) -> Result<(Machine, LoadedModule), String> {
        let options = Options {
            schedule: match order {
                0 => Schedule::InOrder,
                seed => Schedule::Random { seed: seed.into() },
            },
            ..self.options.clone()
        };
        let mut machine = Machine::new(self.limits.clone(), options);
        let module = machine.load(Arc::clone(self.executable)).map_err(words)?;
        Ok((machine, module))
    }

    /// Allocates and fills the buffers; the block of parameters, and where each buffer is.
    fn place(&self, machine: &mut Machine) -> Result<(Vec<u8>, Vec<Placed<'_>>), String> {
        let mut block = vec![0; self.kernel.kernel_param_bytes as usize];
        let mut buffers = Vec::new();
        for ((text, argument), parameter) in self.arguments.iter().zip(&self.kernel.params) {
            let bytes = match argument {
                Argument::Number(bytes) => bytes.clone(),
                Argument::Buffer(buffer) => {
                    let address = machine
                        .allocate(buffer.bytes(), &parameter.name)
                        .map_err(|error| no_memory(text, &error))?;
                    buffer
                        .fill(|start, content| machine.write(address + start, content))
                        .map_err(words)?;
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

/// The arguments, if they are those that the kernel takes.
fn read<'a>(
    kernel: &ptx::Function,
    texts: &'a [String],
) -> Result<Vec<(&'a str, Argument)>, String> {
    let arguments: Vec<(&str, Argument)> = texts
        .iter()
        .map(|text| Ok((text.as_str(), text.parse()?)))
        .collect::<Result<_, String>>()?;
    let name = &kernel.name;
    if arguments.len() != kernel.params.len() {
        return Err(format!(
            "kernel `{name}` takes {}, not {}",
            count(kernel.params.len(), "argument"),
            arguments.len()
        ));
    }
    for (number, ((text, argument), parameter)) in (1..).zip(arguments.iter().zip(&kernel.params)) {
        let given = match argument {
            Argument::Number(bytes) => bytes.len() as u32,
            Argument::Buffer(_) => 8,
        };
        if given != parameter.size() {
            return Err(format!(
                "argument {number} of `{name}` has {} bytes (a buffer is a pointer of 8), and {given} were given: {text}",
                parameter.size()
            ));
        }
    }
    Ok(arguments)
}

/// A buffer in a machine's memory.
#[derive(Debug)]
struct Placed<'a> {
    name: &'a str,
    address: u64,
    buffer: &'a Buffer,
}

/// A launch that was made.
#[derive(Debug)]
pub struct Launched<'a> {
    /// How it ended.
    pub outcome: Result<LaunchReport, Fault>,
    /// The kernel's prints.
    pub printed: String,
    machine: Machine,
    buffers: Vec<Placed<'a>>,
}

impl Launched<'_> {
    /// The first elements of each buffer, behind its name.
    pub fn buffers(&self) -> impl Iterator<Item = String> {
        self.buffers.iter().map(|placed| self.shown(placed))
    }

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
        format!("{name}: {}{more}", buffer.words(&bytes).join(" "))
    }
}

fn words(error: impl Display) -> String {
    error.to_string()
}

/// Why there is no room for an argument: on the emulated device, or on this machine.
fn no_memory(argument: &str, error: &OutOfMemory) -> String {
    if error.requested <= error.capacity - error.used {
        format!(
            "argument {argument}: this machine has no {} bytes of memory free for it",
            grouped(error.requested)
        )
    } else {
        format!("argument {argument}: the emulated device {error}")
    }
}
