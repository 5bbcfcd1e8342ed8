//! A PTX file: what it needs, and a launch of one of its kernels.

use std::path::Path;
use std::sync::Arc;

use device::{Options, Schedule};
use exit::{CommandError, Ending};
use output_files::input::{text, unreadable};
use ptx_emu::{Executable, Fault, LaunchConfig, Machine, OutOfMemory};
use serde::Serialize;
use terminal::look::Look;
use terminal::stdout::Out;
use terminal::table::{Align, Columns};
use units::{count, grouped, indented};

use super::arguments::{Argument, Buffer};
use super::options::{EmulateArgs, sanitize};
use super::records::{self, Counts, Run};

/// Elements of a buffer that are shown.
const SHOWN: u64 = 16;

#[derive(Serialize)]
struct Report {
    file: String,
    target: String,
    kernels: Vec<Kernel>,
    unsupported: Vec<Unsupported>,
    /// Functions whose body is wrong: the others are read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Unsupported>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Run>,
}

/// A kernel, as its module declares it.
#[derive(Serialize)]
struct Kernel {
    name: String,
    /// Bytes of each parameter.
    parameters: Vec<u32>,
    shared_bytes: u32,
    local_bytes: u32,
    depends_on_order: bool,
}

/// An instruction that the emulator does not have, or that makes it refuse a body.
#[derive(Serialize)]
struct Unsupported {
    function: String,
    line: u32,
    reason: String,
}

/// Shows what the file needs, and launches a kernel if one is named.
pub(super) fn run(
    args: &EmulateArgs,
    file: &Path,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let json = args.json.open()?;
    let input =
        |error: &dyn std::fmt::Display| CommandError::Input(format!("{}: {error}", file.display()));
    let text = text(file).map_err(|error| input(&unreadable(&error)))?;
    let executable = Arc::new(Executable::parse(&text).map_err(|error| input(&error))?);
    let mut report = Report::of(file, &executable);
    let shows = json.wants_text();
    let ending = match &args.kernel {
        None => {
            if !args.arguments.is_empty() {
                return Err(CommandError::Input(
                    "arguments are of a kernel: name it with --kernel".to_owned(),
                ));
            }
            if shows {
                out.line(report.render(out.look()))?;
            }
            match report.lacks_nothing() {
                true => Ending::Fine,
                false => Ending::Lacking,
            }
        }
        Some(kernel) => {
            let launch = Launch::new(args, kernel, &executable).map_err(CommandError::Input)?;
            for order in &args.orders.0 {
                let (run, shown) = launch.run(args, *order, out.look())?;
                if shows {
                    out.line(shown)?;
                }
                for note in &run.notes {
                    if report.runs.iter().all(|earlier| earlier.notes.is_empty()) {
                        eprintln!("{}", Look::of_stderr().message("note:", note));
                    }
                }
                report.runs.push(run);
            }
            ending(&report.runs)
        }
    };
    json.write("emulate", report, out)?;
    Ok(ending)
}

fn ending(runs: &[Run]) -> Ending {
    if runs.iter().any(|run| !run.faults.is_empty()) {
        Ending::Wrong
    } else if runs.iter().any(|run| !run.unsupported.is_empty()) {
        Ending::Lacking
    } else {
        Ending::Fine
    }
}

impl Report {
    fn of(file: &Path, executable: &Executable) -> Report {
        let program = executable.program();
        let kernels = program.kernels().map(|kernel| Kernel {
            name: kernel.name.clone(),
            parameters: kernel.params.iter().map(ptx::Param::size).collect(),
            shared_bytes: kernel.shared_bytes,
            local_bytes: kernel.local_bytes,
            depends_on_order: executable.depends_on_order(&kernel.name),
        });
        let unsupported = executable.unsupported().iter().map(|missing| Unsupported {
            function: missing.function.clone(),
            line: missing.ptx_line,
            reason: missing.reason.clone(),
        });
        let refused = program.refused().map(|(function, error)| Unsupported {
            function: function.name.clone(),
            line: error.pos.line,
            reason: error.kind.to_string(),
        });
        Report {
            file: file.display().to_string(),
            target: program.target.join(", "),
            kernels: kernels.collect(),
            unsupported: unsupported.collect(),
            refused: refused.collect(),
            runs: Vec::new(),
        }
    }

    fn lacks_nothing(&self) -> bool {
        self.unsupported.is_empty() && self.refused.is_empty()
    }

    fn render(&self, look: Look) -> String {
        let header = [
            ("kernel", Align::Left),
            ("bytes of parameters", Align::Left),
            ("shared\nbytes", Align::Right),
            ("local\nbytes", Align::Right),
            ("orders", Align::Left),
        ];
        let mut columns = Columns::with_header(look, &header);
        for kernel in &self.kernels {
            let parameters: Vec<String> = kernel.parameters.iter().map(u32::to_string).collect();
            let orders = if kernel.depends_on_order {
                "may differ"
            } else {
                "agree"
            };
            columns.row([
                kernel.name.clone(),
                parameters.join(", "),
                kernel.shared_bytes.to_string(),
                kernel.local_bytes.to_string(),
                orders.to_owned(),
            ]);
        }
        let mut text = format!(
            "{} for {}\n\n{}\n",
            self.file,
            self.target,
            columns.render(0).trim_end()
        );
        if self.lacks_nothing() {
            text += "\nThe emulator has everything that it needs.";
        }
        let instructions = count(self.unsupported.len(), "instruction");
        let functions = count(self.refused.len(), "function");
        for (places, what) in [
            (
                &self.unsupported,
                format!("{instructions} not supported, a fault where a thread reaches it:"),
            ),
            (
                &self.refused,
                format!("{functions} refused, as a GPU's driver refuses the file:"),
            ),
        ] {
            if places.is_empty() {
                continue;
            }
            text += &format!("\n{what}");
            for place in places {
                text += &format!(
                    "\n  line {} of `{}`: {}",
                    place.line,
                    place.function,
                    indented(&place.reason)
                );
            }
        }
        text
    }
}

/// A launch that was asked for.
struct Launch<'a> {
    executable: &'a Arc<Executable>,
    kernel: &'a ptx::Function,
    config: LaunchConfig,
    arguments: Vec<Argument>,
}

impl<'a> Launch<'a> {
    fn new(
        args: &EmulateArgs,
        name: &str,
        executable: &'a Arc<Executable>,
    ) -> Result<Launch<'a>, String> {
        let program = executable.program();
        let mut refused = program.refused();
        if let Some((_, error)) = refused.find(|(function, _)| function.name == name) {
            return Err(format!("--kernel {name}: its body is refused: {error}"));
        }
        let kernel = program.kernel(name).ok_or_else(|| {
            let names = program.kernels().map(|kernel| kernel.name.as_str());
            format!(
                "--kernel {name}: the file lacks this kernel; {}",
                plan::suggestion(name, names)
            )
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

    /// Launches in one order; what happened, and the same in words.
    fn run(
        &self,
        args: &EmulateArgs,
        order: u32,
        look: Look,
    ) -> Result<(Run, String), CommandError> {
        let options = Options {
            sanitize: sanitize(&args.check),
            volatile_is_plain: args.volatile_is_plain,
            schedule: match order {
                0 => Schedule::InOrder,
                seed => Schedule::Random { seed: seed.into() },
            },
            ..Options::default()
        };
        let lacking = |error: &dyn std::fmt::Display| CommandError::Environment(error.to_string());
        let mut machine = Machine::new(Default::default(), options);
        let module = machine
            .load(Arc::clone(self.executable))
            .map_err(|error| lacking(&error))?;
        let mut block = vec![0; self.kernel.kernel_param_bytes as usize];
        let mut buffers: Vec<(&str, u64, &Buffer)> = Vec::new();
        let arguments = self.arguments.iter().zip(&args.arguments);
        for ((argument, text), parameter) in arguments.zip(&self.kernel.params) {
            let bytes = match argument {
                Argument::Number(bytes) => bytes.clone(),
                Argument::Buffer(buffer) => {
                    let address = machine.allocate(buffer.bytes(), &parameter.name);
                    let address = address.map_err(|error| no_memory(text, &error))?;
                    let filled =
                        buffer.fill(|start, content| machine.write(address + start, content));
                    filled.map_err(|error| lacking(&error))?;
                    buffers.push((&parameter.name, address, buffer));
                    address.to_le_bytes().to_vec()
                }
            };
            let start = parameter.offset as usize;
            block[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        let launched = machine.launch(&module, &self.kernel.name, &self.config, &block);
        let mut run = Run {
            order,
            started: true,
            ..Run::default()
        };
        let mut lines = vec![format!("order {order}:")];
        let printed = machine.take_printed().text;
        if !printed.is_empty() {
            lines.push(printed.trim_end().to_owned());
        }
        match launched {
            Ok(report) => {
                lines[0] += " no fault";
                run.notes
                    .extend(report.notes().into_iter().map(|(_, text)| text));
                if args.counts {
                    run.counts
                        .insert(report.kernel.clone(), Counts::from(&report));
                    lines.push(run.table(look).trim_end().to_owned());
                }
                for (name, address, buffer) in &buffers {
                    lines.push(shown(&machine, name, *address, buffer));
                }
            }
            Err(fault) => {
                lines[0] = look.bad(&format!("order {order}: {fault}"));
                match &fault {
                    Fault::Program(program) => run.faults.push(records::Fault {
                        kernel: self.kernel.name.clone(),
                        grid: self.config.grid,
                        block: self.config.block,
                        kind: program.kind.name().to_owned(),
                        text: fault.to_string(),
                    }),
                    Fault::Unsupported(_) => run.unsupported.push(fault.to_string()),
                    Fault::Launch(_) => return Err(CommandError::Input(fault.to_string())),
                }
            }
        }
        Ok((run, lines.join("\n")))
    }
}

/// Why there is no room for an argument: on the emulated device, or on this machine.
fn no_memory(argument: &str, error: &OutOfMemory) -> CommandError {
    CommandError::Environment(match error.requested <= error.capacity - error.used {
        true => format!(
            "argument {argument}: this machine has no {} bytes of memory free for it",
            grouped(error.requested)
        ),
        false => format!("argument {argument}: the emulated device {error}"),
    })
}

/// The first elements of a buffer.
fn shown(machine: &Machine, name: &str, address: u64, buffer: &Buffer) -> String {
    let mut bytes = vec![0; buffer.first_bytes(SHOWN)];
    // The buffer is the machine's, and its size is known.
    let _ = machine.read(address, &mut bytes);
    let more = match buffer.count > SHOWN {
        true => format!(" ... ({} in all)", buffer.count),
        false => String::new(),
    };
    format!("  {name}: {}{more}", buffer.words(&bytes).join(" "))
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
        }
    }
}
