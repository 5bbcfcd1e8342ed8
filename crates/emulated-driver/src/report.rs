//! Tells the program's user: faults on standard error, and records for `harness emulate`.
//!
//! A record is written before its words, which may end the program: its standard error may be a
//! pipe that nothing reads.

use std::io::Write;
use std::time::Duration;

use ptx_emu::{
    Fault, FaultKind, ImageProblem, LaunchConfig, LaunchError, LaunchReport, Printed, ProgramFault,
    ShapeError,
};
use serde::Serialize;

use crate::code::Code;
use crate::objects::launch::Launch;
use crate::record;
use crate::settings::Settings;
use crate::site::Line;
use crate::stderr::tell;

/// A line of the report.
#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record<'a> {
    /// The driver was started.
    Started,
    /// A kernel broke a rule.
    Fault {
        process: u32,
        kernel: &'a str,
        grid: [u32; 3],
        block: [u32; 3],
        kind: &'a str,
        text: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        places: Vec<Place<'a>>,
    },
    /// It broke that rule at that place again.
    Again {
        process: u32,
        kernel: &'a str,
        text: &'a str,
    },
    /// It broke a rule, which the list of known faults has.
    Known {
        kernel: &'a str,
        kind: &'a str,
        reason: &'a str,
        text: &'a str,
    },
    /// A program needs what there is not.
    Unsupported { text: &'a str, what: Need },
    /// The machine lacks what kernels need to run at all.
    Lacking { text: &'a str },
    /// The driver panicked.
    Bug { text: &'a str },
    /// Something to know about a kernel, beside faults.
    Note { text: &'a str },
    /// A launch that ended well.
    Launch {
        kernel: &'a str,
        grid: [u32; 3],
        block: [u32; 3],
        instructions: u64,
        warp_instructions: u64,
        sectors: u64,
        bank_conflicts: u64,
        barriers: u64,
        local_bytes: u64,
        microseconds: u64,
    },
}

/// A source line of a fault.
#[derive(Serialize)]
struct Place<'a> {
    role: &'a str,
    file: &'a str,
    line: u32,
    column: u32,
}

/// A need without a means.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    /// A function of the driver.
    Function,
    Module,
    /// PTX instead of machine code that the program has made, or kept.
    Ptx,
    Kernel,
}

fn add(record: &Record<'_>) {
    match serde_json::to_string(record) {
        Ok(line) => record::append(&line),
        Err(error) => tell(format_args!("a bug: a record has no JSON form: {error}")),
    }
}

/// Notes that the driver was started.
pub(crate) fn started() {
    add(&Record::Started);
}

/// Tells a need without a means.
pub(crate) fn unsupported(what: Need, text: &str) {
    add(&Record::Unsupported { text, what });
    tell(format_args!("{text}"));
}

/// Tells what the machine lacks, without which no kernel runs.
pub(crate) fn lacking(text: &str) {
    add(&Record::Lacking { text });
    tell(format_args!("{text}"));
}

/// Tells that the driver panicked.
pub(crate) fn bug(text: &str) {
    add(&Record::Bug { text });
    tell(format_args!("a bug {text}"));
}

/// Tells something to know, beside faults.
pub(crate) fn note(text: &str) {
    add(&Record::Note { text });
    tell(format_args!("note: {text}"));
}

/// Tells why a call cannot be done as the program asks, and gives the result for it.
pub(crate) fn refused(text: &str) -> Code {
    tell(format_args!("{text}"));
    Code::INVALID_VALUE
}

/// Tells why a launch is not possible, and gives the result for the program.
pub(crate) fn not_launched(fault: &Fault) -> Code {
    let text = fault.to_string();
    match fault {
        Fault::Launch(LaunchError::Refused { .. }) | Fault::Unsupported(_) => {
            unsupported(Need::Kernel, &text);
            Code::NOT_SUPPORTED
        }
        Fault::Launch(LaunchError::Shape {
            error: ShapeError::Registers { .. },
            ..
        }) => {
            refused(&text);
            Code::LAUNCH_OUT_OF_RESOURCES
        }
        _ => refused(&text),
    }
}

/// Tells a rule that a kernel broke, with more lines of its message.
pub(crate) fn program_fault(launch: &Launch, fault: &ProgramFault, more: &str) {
    let text = fault.to_string() + more;
    let places = fault.places();
    let places = places.iter().filter_map(|place| {
        let source = place.source.as_ref()?;
        Some(Place {
            role: &place.role,
            file: &source.file,
            line: source.line,
            column: source.column,
        })
    });
    add(&Record::Fault {
        process: std::process::id(),
        kernel: &fault.kernel,
        grid: launch.config.grid,
        block: launch.config.block,
        kind: fault.kind.name(),
        text: &text,
        places: places.collect(),
    });
    tell(format_args!("{text}"));
}

/// A rule that commands of streams broke.
pub(crate) struct CommandFault {
    /// The later command: its kernel, or the function that sent it.
    pub(crate) command: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) places: Vec<Side>,
}

/// The call of a command.
pub(crate) struct Side {
    pub(crate) role: &'static str,
    pub(crate) line: Line,
}

/// Tells a rule that commands of streams broke, or notes that it is known.
pub(crate) fn command_fault(fault: &CommandFault) {
    let sides = fault.places.iter();
    let lines: Vec<(&str, u32)> = sides
        .map(|side| (side.line.file.as_str(), side.line.line))
        .collect();
    let known = &Settings::get().known;
    if let Some(reason) = known.reason_of(fault.kind, &fault.command, &lines) {
        return add(&Record::Known {
            kernel: &fault.command,
            kind: fault.kind,
            reason,
            text: &fault.text,
        });
    }
    let places = fault.places.iter().map(|side| Place {
        role: side.role,
        file: &side.line.file,
        line: side.line.line,
        column: side.line.column,
    });
    add(&Record::Fault {
        process: std::process::id(),
        kernel: &fault.command,
        grid: fault.grid,
        block: fault.block,
        kind: fault.kind,
        text: &fault.text,
        places: places.collect(),
    });
    tell(format_args!("{}", fault.text));
}

/// Notes that a kernel broke a rule which was told before.
pub(crate) fn again(fault: &ProgramFault) {
    add(&Record::Again {
        process: std::process::id(),
        kernel: &fault.kernel,
        text: &fault.to_string(),
    });
}

/// Notes a fault that is known.
pub(crate) fn known(fault: &ProgramFault, reason: &str) {
    add(&Record::Known {
        kernel: &fault.kernel,
        kind: fault.kind.name(),
        reason,
        text: &fault.to_string(),
    });
}

/// The result that a GPU's driver has for a fault.
pub(crate) fn code_of(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::OutOfBounds { .. } | FaultKind::BadCondition { .. } => Code::ILLEGAL_ADDRESS,
        FaultKind::Image { problem, .. } => match problem {
            ImageProblem::Misaligned { .. } => Code::MISALIGNED_ADDRESS,
            ImageProblem::Memory { .. } => Code::ILLEGAL_ADDRESS,
            _ => Code::LAUNCH_FAILED,
        },
        FaultKind::Misaligned { .. } => Code::MISALIGNED_ADDRESS,
        FaultKind::Assertion { .. } => Code::ASSERT,
        FaultKind::FuelExhausted { .. } => Code::LAUNCH_TIMEOUT,
        FaultKind::CallDepth { .. }
        | FaultKind::StackOverflow { .. }
        | FaultKind::Recursion { .. } => Code::HARDWARE_STACK_ERROR,
        FaultKind::NotShared { .. } => Code::INVALID_ADDRESS_SPACE,
        FaultKind::BadCall { .. } => Code::INVALID_PC,
        FaultKind::IllegalInstruction { .. } => Code::ILLEGAL_INSTRUCTION,
        _ => Code::LAUNCH_FAILED,
    }
}

/// Notes a launch that ended well, if that is wanted.
pub(crate) fn launched(config: &LaunchConfig, report: &LaunchReport, took: Duration) {
    if !Settings::get().counts {
        return;
    }
    let counts = &report.counts;
    let sectors = [
        &counts.global_loads,
        &counts.global_stores,
        &counts.global_atomics,
    ];
    add(&Record::Launch {
        kernel: &report.kernel,
        grid: config.grid,
        block: config.block,
        instructions: counts.instructions.thread,
        warp_instructions: counts.instructions.warp,
        sectors: sectors.iter().map(|traffic| traffic.sectors).sum(),
        bank_conflicts: counts.bank_conflicts(),
        barriers: counts.barriers,
        local_bytes: counts.local_bytes,
        microseconds: took.as_micros() as u64,
    });
}

/// Writes what kernels have printed to standard output, as a GPU's driver does.
pub(crate) fn printed(printed: &Printed) {
    if printed.text.is_empty() && !printed.is_cut {
        return;
    }
    let end = if printed.is_cut {
        "\n(more is left out)\n"
    } else {
        ""
    };
    // The C library's buffer may hold what the program has printed before.
    // SAFETY: a null pointer means every output stream.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // A reader that is gone misses nothing.
    let mut out = std::io::stdout();
    let _ = out
        .write_all((printed.text.clone() + end).as_bytes())
        .and_then(|()| out.flush());
}
