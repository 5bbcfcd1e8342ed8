//! Executes a typed PTX program on the CPU, with every access checked and every count exact.
//!
//! ```
//! use ptx_emu::{LaunchConfig, Machine};
//!
//! let program = ptx::Program::parse(
//!     "
//! .version 7.8
//! .target sm_80
//! .address_size 64
//! .visible .entry double(.param .u64 data)
//! {
//!     .reg .b32 %r<3>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [data];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.u32 %r2, [%rd3];
//!     add.u32 %r2, %r2, %r2;
//!     st.global.u32 [%rd3], %r2;
//!     ret;
//! }",
//! )?;
//! let mut machine = Machine::default();
//! let module = machine.load(program)?;
//! let data = machine.allocate(128, "data")?;
//! machine.write(data, &[1; 128])?;
//! let config = LaunchConfig { grid: [1, 1, 1], block: [32, 1, 1], shared_mem_bytes: 0 };
//! let report = machine.launch(&module, "double", &config, &data.to_le_bytes())?;
//! let mut result = [0; 128];
//! machine.read(data, &mut result)?;
//! assert_eq!(result, [2; 128]);
//! assert_eq!(report.counts.global_loads.sectors, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is exact
//!
//! Integer arithmetic, IEEE-rounded floating-point arithmetic in all four directions, conversions, NaN and subnormal
//! rules; `.approx` forms are at least as accurate as the PTX ISA asks (module `ops::float` states the bounds), so
//! they may differ from a GPU's. Counts follow the hardware's rules (modules `coalesce` and `block`).
//!
//! # What is checked
//!
//! Always: bounds of every access in every space, alignment, null pointers, freed buffers, stores to constant memory,
//! barrier numbers, masks of warp-wide operations, deadlock, call depth and local memory, endless loops (fuel),
//! traps. With [`Sanitize`]: reads of memory that nobody wrote, data races (module `check::race` states the
//! model), barriers that a part of the block reaches or that lanes of one warp reach at different places.
//!
//! # Blind spots
//!
//! - Registers and local memory that were not written read as zero.
//! - Memory is checked by the byte and by the buffer: an index beyond its row but inside the buffer is not seen.
//! - Warp-wide lane checks and races show only if this run takes the path.
//! - Blocks run to completion in order of their start: a kernel in which a block waits for a later one does not end
//!   (out of fuel), where a GPU that runs both at once might.
//! - Memory is sequentially consistent within a block; missing fences are not seen.
//! - Clocks count warp instructions of the block, not cycles.
//! - Textures, surfaces, tensor instructions, clusters, `mbarrier`, half-precision arithmetic are not modelled.
//!
//! # Layout
//!
//! `decode` turns the program into `code`; `launch` hands blocks to workers; `block` schedules warps and barriers;
//! `step` executes instructions, with the arithmetic of `ops`, the state spaces of `memory` and the shadow of `check`;
//! `tally` and `coalesce` count.

mod block;
mod check;
mod coalesce;
mod code;
mod config;
mod counts;
mod decode;
mod fault;
mod launch;
mod machine;
mod memory;
mod ops;
mod place;
mod registers;
mod step;
mod tally;

pub use config::{LaunchConfig, Limits, Options, Sanitize, Schedule};
pub use counts::{
    Counts, Executed, GlobalTraffic, InstructionClass, InstructionCounts, LaunchReport, LineCounts,
    SharedTraffic,
};
pub use fault::{
    Access, AccessKind, Fault, FaultKind, LaunchError, Location, ProgramFault, RaceAccess,
    RaceBetween, Stray, ThreadId, UnsupportedFault, Waiting,
};
pub use machine::{InvalidCopy, Machine, Module};
pub use memory::global::{GUARD_BYTES, OutOfMemory};
pub use memory::{
    GLOBAL_BASE, LOCAL_WINDOW, NULL_LIMIT, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES,
};
pub use place::{Place, SourcePosition};
