//! Executes PTX on the CPU, with every access checked and every count exact.
//!
//! ```
//! use ptx_emu::{Executable, LaunchConfig, Machine};
//!
//! let executable = Executable::parse(
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
//! let module = machine.load(executable)?;
//! let data = machine.allocate(128, "data")?;
//! machine.write(data, &[1; 128])?;
//! let config = LaunchConfig { grid: [1, 1, 1], block: [32, 1, 1], shared_mem_bytes: 0, cluster: [1; 3] };
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
//! Integer arithmetic, IEEE-rounded floating-point arithmetic in all four directions, conversions,
//! NaN and subnormal rules; `.approx` forms are at least as accurate as the PTX ISA asks (module
//! `instructions::divide` states the bounds), so they may differ from a GPU's. Counts follow the
//! hardware's rules (modules `coalesce` and `block`).
//!
//! # What is checked
//!
//! Always: bounds of every access in every space, alignment, null pointers, freed buffers, stores
//! to constant memory, barrier numbers, objects of `mbarrier`, masks of warp-wide operations,
//! deadlock, call depth and local memory, endless loops (fuel), traps. With [`Sanitize`]: reads of
//! memory that nothing has written, use of values that nothing has set, data races (module
//! `check::race` states the model), accesses to what asynchronous copies have under way, barriers
//! that a part of the block reaches or that lanes of one warp reach at different places.
//!
//! # Blind spots
//!
//! - Of values that nothing has set, module `unset` says which are found.
//! - Memory is checked by the byte and by the buffer: an index beyond its row but inside the buffer
//!   is not seen.
//! - Warp-wide lane checks and races show only if this run takes the path.
//! - Of the orders in which threads may run, a launch takes one ([`Schedule`]). Where threads learn
//!   of each other by atomics or strong accesses, the result may be right in it and wrong in
//!   another: run such kernels ([`Executable::depends_on_order`]) in several.
//! - How many blocks run at once follows from threads and shared memory
//!   ([`DeviceLimits::resident_blocks`]); registers may let a GPU hold fewer.
//! - Memory is sequentially consistent; missing fences are seen only as races of other accesses.
//! - Clocks count warp instructions of the block, not cycles.
//! - Asynchronous copies land when somebody waits for them (modules `instructions::copy`, `bulk`,
//!   `mbarrier`): that one lands early, and hides a missing wait, is not modelled, nor that
//!   `mbarrier.try_wait` gives up.
//! - Textures, surfaces, tensor instructions, tensor copies, half-precision arithmetic are not
//!   modelled.
//!
//! # Layout
//!
//! - `executable` reads a text: `read` an instruction's modifiers and operands, `instructions` (a
//!   file for each family) their meaning, with the frames of `frame` and the special registers of
//!   `special`;
//! - `machine` loads it, and `launch` hands its blocks to workers, or to `together` those that may
//!   learn of each other;
//! - `cluster`, `block` and `warp` hold what runs, `schedule` says whose turn it is, `step`
//!   executes;
//! - `registers` and `exact` are the arithmetic on lanes; `access` the way to the spaces of
//!   `memory`, past the shadow of `check`;
//! - `unset` follows values that nothing has set;
//! - `tally` and `coalesce` count; `fault` and `position` say what is wrong, and where.

mod access;
mod block;
mod check;
mod cluster;
mod coalesce;
mod config;
mod coresident;
mod counts;
mod exact;
mod executable;
mod fault;
mod frame;
mod instructions;
mod launch;
mod machine;
mod memory;
mod order;
mod position;
mod read;
mod registers;
mod request;
mod runner;
mod schedule;
mod special;
mod step;
mod tally;
mod turn;
mod unset;
mod warp;

pub use check::footprint::Accessed;
pub use config::{DeviceLimits, LaunchConfig, Options, Sanitize, Schedule};
pub use counts::{
    Counts, DistributedTraffic, Executed, GlobalTraffic, InstructionClass, InstructionCounts,
    LaunchReport, LineCounts, SharedTraffic,
};
pub use executable::{Executable, UnsupportedInstruction};
pub use fault::{
    Access, AccessKind, Fault, FaultKind, LaunchError, Lifetime, Location, ProgramFault,
    RaceAccess, RaceBetween, Stray, ThreadId, UnsetUse, UnsupportedFault, Waiting,
};
pub use machine::{InvalidCopy, LoadedModule, Machine};
pub use memory::global::{GUARD_BYTES, OutOfMemory};
pub use memory::{
    GLOBAL_BASE, LOCAL_WINDOW, NULL_LIMIT, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES,
};
pub use position::{CodePosition, SourcePosition};
pub use ptx::ShapeError;
