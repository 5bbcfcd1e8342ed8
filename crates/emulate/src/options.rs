//! The flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use exit::CommandError;
use forge::ForgeArgs;
use ptx_emu::{Sanitize, parse_capability};
use terminal::json::JsonArg;
use trial::Extents;

use crate::orders::Orders;
use replay::ReplayArgs;

/// The arguments of the command. [`help`] goes below their list.
#[derive(Debug, Clone, Args)]
pub struct EmulateArgs {
    /// A file of PTX: shows what it needs, and with --kernel launches one of its kernels
    #[arg(value_name = "FILE.ptx", required_unless_present = "program")]
    pub(crate) file: Option<PathBuf>,
    /// The kernel's arguments.
    #[arg(
        value_name = "ARGUMENT",
        allow_hyphen_values = true,
        help = "The kernel's arguments: f32[1024]=iota, u8[64], 2.0f32, 5i32"
    )]
    pub(crate) arguments: Vec<String>,
    /// A program, with its arguments, to run without a GPU
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = ["file", "kernel"])]
    pub(crate) program: Vec<OsString>,
    /// How many devices the program finds
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "file", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) devices: u32,
    /// How many multiprocessors a device has. A program that sizes its grids by it, so that they
    /// fill a GPU, runs faster on a small one
    #[arg(long, value_name = "N", default_value_t = 132, conflicts_with = "file", value_parser = clap::value_parser!(u32).range(1..=132))]
    pub(crate) multiprocessors: u32,
    /// The compute capability of the devices, as in 7.5: what they have room for, and which PTX
    /// they refuse since it is for newer ones [default: 9.0, with PTX for any]
    #[arg(long, value_name = "X.Y", value_parser = parse_capability)]
    pub(crate) compute_capability: Option<(u32, u32)>,
    /// The orders in which threads run, and streams of a program: a number, a list, or FIRST..LAST;
    /// each runs the program again. 0 is by index and at once, others are random, with streams late
    #[arg(long, value_name = "ORDERS", default_value = "0")]
    pub(crate) orders: Orders,
    /// Checks beyond those of bounds, which are always made: races, unset, barriers, streams (races
    /// between commands of a program), or none
    #[arg(
        long,
        value_name = "CHECKS",
        value_delimiter = ',',
        default_value = CHECKS
    )]
    pub(crate) check: Vec<Check>,
    /// Let volatile accesses race as plain ones do, for older code that has `volatile` where it
    /// needs fences and atomics
    #[arg(long)]
    pub(crate) volatile_is_plain: bool,
    /// After a fault that a GPU notices, such as an address out of bounds: `stop`, its context is
    /// lost as on a GPU, or `continue`, the launch is skipped and the program goes on
    /// [default: stop, and continue for pytest with the plugin of the wheel]
    #[arg(long, value_name = "WHAT", conflicts_with = "file")]
    pub(crate) after_fault: Option<AfterFault>,
    /// Compare the program's own loads and stores of page-locked and managed memory with commands
    /// that it has not waited for. They are found by page faults, which `off` spares it
    #[arg(
        long,
        value_name = "WHETHER",
        default_value = "on",
        conflicts_with = "file"
    )]
    pub(crate) host_accesses: Whether,
    /// Tell memory that the program has not freed when its context ends, or the program
    #[arg(long, conflicts_with = "file")]
    pub(crate) leaks: bool,
    /// A list of known faults, which are counted and not told: a line for each with its kind and
    /// place, below a `#` with the reason; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) suppress: Vec<PathBuf>,
    /// Show what each kernel has executed
    #[arg(long)]
    pub(crate) counts: bool,
    #[command(flatten)]
    pub(crate) json: JsonArg,
    #[command(flatten)]
    pub(crate) forge: ForgeArgs,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    /// The kernel of FILE.ptx to launch
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Its blocks: X, or X,Y, or X,Y,Z
    #[arg(long, value_name = "X,Y,Z", default_value = "1", requires = "kernel")]
    pub(crate) grid: Extents,
    /// The threads of a block
    #[arg(long, value_name = "X,Y,Z", default_value = "32", requires = "kernel")]
    pub(crate) block: Extents,
    /// The blocks of a cluster
    #[arg(long, value_name = "X,Y,Z", default_value = "1", requires = "kernel")]
    pub(crate) cluster: Extents,
    /// Dynamic shared memory of a block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "kernel")]
    pub(crate) shared: u32,
}

/// The checks that are made where `--check` is not given.
const CHECKS: &str = "races,unset,barriers,streams";

/// The end of the command's help, with examples, where `program` is what a user types.
#[must_use]
pub fn help(program: &str) -> String {
    format!(
        "\
A program is run as it is: it finds a library instead of the GPU's driver, by LD_LIBRARY_PATH. Kernels that were compiled \
before must be in it as PTX: nvcc -gencode arch=compute_90,code=compute_90. For those that it compiles itself, by NVRTC, \
nvJitLink, Triton or nvcc --cubin, another library gives it PTX, by LD_PRELOAD: Numba, CuPy and cuda.core need no setting.

    {program} -- ./saxpy 1000
    {program} --orders 0..5 --counts -- ./saxpy 1000
    {program} -- python saxpy.py
    {program} saxpy.ptx
    {program} saxpy.ptx --kernel saxpy --grid 4 --block 256 f32[1024]=iota f32[1024]=0 2.0f32 1024u32

Arguments of a kernel, in its order:
  TYPE[COUNT]         a buffer that nothing has written; TYPE is u8 to u64, i8 to i64, f32, f64
  TYPE[COUNT]=VALUE   a buffer of this value
  TYPE[COUNT]=iota    a buffer of 0, 1, 2, ...
  VALUETYPE           a number: 2.0f32, 5i32
Buffers are shown after the launch.

Exit code: 1 if a kernel broke a rule, 3 if something is not supported or a fault may be missing, 4 if the emulated driver has a \
bug; else the program's own."
    )
}

/// The way on after a fault that a GPU notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AfterFault {
    Stop,
    Continue,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Whether {
    On,
    Off,
}

/// A check of the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Check {
    /// Data races.
    Races,
    /// Reads of uninitialised memory or registers.
    Unset,
    /// Barriers that a part of the block reaches.
    Barriers,
    /// Races between kernels and copies, of one stream and another.
    Streams,
    /// Accesses out of bounds, which are always checked.
    Bounds,
    /// None of those that can be left out.
    None,
}

impl EmulateArgs {
    /// Refuses flags that would do nothing.
    pub(crate) fn refuse_idle_flags(&self) -> Result<(), CommandError> {
        if self.check.len() > 1 && self.check.contains(&Check::None) {
            return Err(CommandError::Input(
                "--check: `none` stands alone; leave it out, or leave the others out".to_owned(),
            ));
        }
        if self.file.is_none() || self.kernel.is_some() {
            return Ok(());
        }
        let checks = CHECKS.split(',').map(|name| Check::from_str(name, false));
        let is_given = [
            ("--orders", self.orders.0 != [0]),
            (
                "--check",
                !checks.eq(self.check.iter().map(|check| Ok(*check))),
            ),
            ("--volatile-is-plain", self.volatile_is_plain),
            ("--counts", self.counts),
            ("--replay", self.replay.file().is_some()),
        ];
        let given = is_given.iter().find(|(_, is_given)| *is_given);
        match given.map(|(flag, _)| *flag).or(self.forge.given()) {
            Some(flag) => Err(CommandError::Input(format!(
                "{flag} is of a launch: name a kernel of the file with --kernel"
            ))),
            None => Ok(()),
        }
    }
}

/// The checks of a list.
pub(crate) fn sanitize(checks: &[Check]) -> Sanitize {
    Sanitize {
        races: checks.contains(&Check::Races),
        uninitialized: checks.contains(&Check::Unset),
        barriers: checks.contains(&Check::Barriers),
    }
}
