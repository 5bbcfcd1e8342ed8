//! A PTX file: what it needs, and what launches of one of its kernels have shown.

use std::path::Path;
use std::sync::Arc;

use exit::{CommandError, Ending};
use output_files::input::{text, unreadable};
use ptx_emu::Executable;
use serde::Serialize;
use terminal::look::Look;
use terminal::stdout::Out;
use terminal::table::{Align, Columns};
use units::{count, indented};

use crate::launch::Launch;
use crate::options::EmulateArgs;
use crate::runs::{self, Run};

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

/// Shows what the file needs, or launches the kernel that is named.
pub(crate) fn run(
    args: &EmulateArgs,
    file: &Path,
    out: &mut Out<'_>,
    note: &mut dyn FnMut(&str),
) -> Result<Ending, CommandError> {
    let json = args.json.open()?;
    let forms = args.forge.open(json.wants_text())?;
    let replay = args.replay.open()?;
    let input =
        |error: &dyn std::fmt::Display| CommandError::Input(format!("{}: {error}", file.display()));
    let text = text(file).map_err(|error| input(&unreadable(&error)))?;
    let executable = Arc::new(Executable::parse(&text).map_err(|error| input(&error))?);
    let mut report = Report::of(file, &executable);
    let shows = json.wants_text();
    let ending = if let Some(kernel) = &args.kernel {
        let launch = Launch::new(args, kernel, &executable).map_err(CommandError::Input)?;
        // A replay shows the first order with a fault, else the first.
        let (mut shown, mut shown_fault) = (None, None);
        for order in &args.orders.0 {
            let launched = launch.run(*order)?;
            if shows {
                out.line(launched.words(args.counts, out.look()))?;
            }
            if report.runs.iter().all(|earlier| earlier.notes.is_empty()) {
                launched.run.notes.iter().for_each(|said| note(said));
            }
            if shown.is_none() || shown_fault.is_none() && launched.fault.is_some() {
                (shown, shown_fault) = (Some(*order), launched.fault);
            }
            report.runs.push(launched.run);
        }
        if let (Some(page), Some(order)) = (replay, shown) {
            let wrote = launch.replay(order, shown_fault.as_deref(), page)?;
            if shows {
                out.line(wrote)?;
            }
        }
        forms.write(|| runs::report(kernel, &report.runs), out)?;
        ending(&report.runs)
    } else {
        if !args.arguments.is_empty() {
            return Err(CommandError::Input(
                "arguments are of a kernel: name it with --kernel".to_owned(),
            ));
        }
        if shows {
            out.line(report.render(out.look()))?;
        }
        if report.lacks_nothing() {
            Ending::Fine
        } else {
            Ending::Lacking
        }
    };
    json.write("emulate", report, out)?;
    Ok(ending)
}

fn ending(runs: &[Run]) -> Ending {
    if runs.iter().any(|run| !run.faults.is_empty()) {
        Ending::Wrong
    } else if runs.iter().any(|run| run.needs_more) {
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
