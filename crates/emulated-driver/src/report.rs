//! Tells the program's user: faults on standard error, and records in a file.

use std::fs::OpenOptions;
use std::io::Write;

use ptx_emu::{Fault, FaultKind, LaunchConfig, LaunchError, LaunchReport, Printed, ProgramFault};
use serde::Serialize;

use crate::code::Code;
use crate::settings::Settings;

/// A line of the report.
#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record<'a> {
    /// The driver was started.
    Started,
    /// A kernel broke a rule.
    Fault {
        kernel: &'a str,
        grid: [u32; 3],
        block: [u32; 3],
        kind: &'a str,
        text: &'a str,
    },
    /// A program needs what there is not.
    Unsupported { text: &'a str, what: Need },
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
    },
}

/// A need without a means.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    /// A function of the driver.
    Function,
    Module,
    Kernel,
}

fn add(record: &Record<'_>) {
    let Some(path) = &Settings::get().report else {
        return;
    };
    // In one go, so that lines of several processes stay whole.
    let written = serde_json::to_string(record).map_err(std::io::Error::other);
    let written = written.and_then(|line| {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all((line + "\n").as_bytes())
    });
    if let Err(error) = written {
        eprintln!("emulated driver: cannot write {}: {error}", path.display());
    }
}

/// Notes that the driver was started.
pub(crate) fn started() {
    add(&Record::Started);
}

/// Tells a need without a means.
pub(crate) fn unsupported(what: Need, text: &str) {
    eprintln!("emulated driver: {text}");
    add(&Record::Unsupported { text, what });
}

/// Tells something to know, beside faults.
pub(crate) fn note(text: &str) {
    eprintln!("emulated driver: note: {text}");
    add(&Record::Note { text });
}

/// Tells why a call cannot be done as the program asks, and gives the result for it.
pub(crate) fn refused(text: &str) -> Code {
    eprintln!("emulated driver: {text}");
    Code::INVALID_VALUE
}

/// Tells why a launch failed, and gives the result for the program.
pub(crate) fn fault(config: &LaunchConfig, fault: &Fault) -> Code {
    let text = fault.to_string();
    match fault {
        Fault::Program(program) => {
            program_fault(config, program);
            code_of(&program.kind)
        }
        Fault::Unsupported(_) | Fault::Launch(LaunchError::Refused { .. }) => {
            unsupported(Need::Kernel, &text);
            Code::NOT_SUPPORTED
        }
        Fault::Launch(_) => refused(&text),
    }
}

/// Tells a rule that a kernel broke.
pub(crate) fn program_fault(config: &LaunchConfig, fault: &ProgramFault) {
    let text = fault.to_string();
    eprintln!("emulated driver: {text}");
    add(&Record::Fault {
        kernel: &fault.kernel,
        grid: config.grid,
        block: config.block,
        kind: fault.kind.name(),
        text: &text,
    });
}

/// The result that a GPU's driver has for a fault.
fn code_of(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::OutOfBounds { .. } => Code::ILLEGAL_ADDRESS,
        FaultKind::Misaligned { .. } => Code::MISALIGNED_ADDRESS,
        FaultKind::Assertion { .. } => Code::ASSERT,
        FaultKind::FuelExhausted { .. } => Code::LAUNCH_TIMEOUT,
        FaultKind::CallDepth { .. } | FaultKind::StackOverflow { .. } => Code::HARDWARE_STACK_ERROR,
        FaultKind::NotShared { .. } => Code::INVALID_ADDRESS_SPACE,
        FaultKind::BadCall { .. } => Code::INVALID_PC,
        FaultKind::IllegalInstruction { .. } => Code::ILLEGAL_INSTRUCTION,
        _ => Code::LAUNCH_FAILED,
    }
}

/// Notes a launch that ended well, if that is wanted.
pub(crate) fn launched(config: &LaunchConfig, report: &LaunchReport) {
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
