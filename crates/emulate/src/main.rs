//! The `emulate` program. See `emulate --help`.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use emulate::EmulateArgs;
use terminal::{command_line, program};

/// Runs a GPU program, or a file of PTX, without a GPU and with every access checked.
#[derive(Parser)]
#[command(name = "emulate", version, after_help = emulate::help("emulate"), max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: EmulateArgs,
}

fn main() -> ExitCode {
    program::main(|out| {
        let cli: Cli = command_line::read(Cli::command())?;
        program::start_threads()?;
        emulate::run(&cli.args, out)
    })
}
