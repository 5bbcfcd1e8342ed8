//! Executes PTX on the CPU, with every access checked and every count exact.
//!
//! # Purpose
//!
//! A sanitizer for PTX that needs no GPU: it runs kernels of any compiler, names the first rule
//! that one breaks with thread, source line and buffer, and counts instructions and memory traffic
//! as the hardware does.
//!
//! ```
//! use ptx_emu::{Executable, LaunchConfig, Machine, args};
//!
//! let executable = Executable::parse(
//!     "
//! .version 7.8
//! .target sm_80
//! .address_size 64
//! .visible .entry scale(.param .u64 data, .param .u32 factor)
//! {
//!     .reg .b32 %r<4>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [data];
//!     ld.param.u32 %r3, [factor];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.u32 %r2, [%rd3];
//!     mul.lo.u32 %r2, %r2, %r3;
//!     st.global.u32 [%rd3], %r2;
//!     ret;
//! }",
//! )?;
//! let mut machine = Machine::default();
//! let module = machine.load(executable)?;
//! let data = machine.buffer(&[1u32; 32])?;
//! let config = LaunchConfig::new([1], [32]);
//! let report = machine.launch(&module, "scale", &config, args![&data, 2u32])?;
//! assert_eq!(data.to_vec(&machine)?, [2; 32]);
//! assert_eq!(report.counts.global_loads.sectors, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contract
//!
//! - **A launch either ends or gives one [`Fault`].** [`FaultKind`] lists every kind with its
//!   message; of several faults, a launch gives that of the block that starts first.
//! - **Checked always:** bounds of every access in every space, alignment, null pointers, freed
//!   buffers, stores to constant memory, barrier numbers, objects of `mbarrier`, masks of warp-wide
//!   operations, deadlock, call depth and local memory, endless loops (fuel), traps and failed
//!   assertions.
//! - **Checked with [`Sanitize`]:** reads of memory that nothing has written, use of values that
//!   nothing has set, data races (module `check::race` states the model), accesses to memory that
//!   asynchronous copies have under way, barriers that a part of the block reaches or that lanes of
//!   one warp reach at different places.
//! - **Exact:** integer arithmetic, IEEE-rounded floating-point arithmetic in all four directions,
//!   conversions, NaN and subnormal rules. `.approx` forms are at least as accurate as the PTX ISA
//!   asks (module `instructions::divide` states the bounds), so they may differ from a GPU's. With
//!   [`Options::inexact`] they are as wrong as it allows.
//!   Counts follow the hardware's rules (modules `coalesce` and `runner`).
//! - **Reproducible:** results and counts depend on the options alone, not on the machine or on the
//!   number of host threads.
//! - **The driver's functions:** kernels print by `vprintf`, and [`Machine::take_printed`] gives
//!   the text. A failed assertion (`__assertfail`) is a fault with its message. `malloc` and `free`
//!   work on a heap of 8 MiB. The blocks of any launch can meet (`%envreg1`, `%envreg2`, and
//!   `cudaCGSynchronize` of CUDA's device runtime). A launch from a kernel is refused by name.
//! - An instruction that is not modelled is a fault only where a thread reaches it
//!   ([`Executable::unsupported`] lists them). A wrong body costs its own function only.
//!   [`Executable::parse_lazily`] reads a kernel when it is first launched.
//!
//! # Spine
//!
//! | file | content |
//! |------|---------|
//! | `executable/mod.rs` | reads a text, instruction by instruction, into code |
//! | `instructions/mod.rs` | the table of opcodes; each family has a file |
//! | `machine/mod.rs` | a device: its memory, its modules, launches |
//! | `launch.rs` | checks a launch and hands its blocks to host threads |
//! | `coresident.rs` | blocks that communicate through memory take turns on one thread |
//! | `cluster/mod.rs` | gives each block of a cluster its turn |
//! | `runner.rs` | the state of a running block: launch, block, turn, sanitizer |
//! | `schedule.rs` | gives each warp of a block its turn, and chooses the lanes that run |
//! | `step.rs` | executes the instructions of these lanes |
//! | `access/mod.rs` | takes the accesses of a warp to their memory, past the checks |
//! | `access/shadow.rs` | **reports races** (`race`), unwritten reads; model: `check/race/` |
//! | `fault/kind.rs` | every fault with its message |
//!
//! Beside the spine: `access/bounds.rs` reports accesses out of bounds, `access/claims.rs` those
//! that meet asynchronous copies, `instructions/barrier.rs` barriers and deadlocks, `unset_values`
//! values that nothing has set. `order.rs` has the order in which blocks start. `attempt.rs` runs
//! blocks in parallel until it shows that they are not independent, and `spin.rs` parks groups that
//! poll until what they poll changes. `request.rs`, `coalesce.rs` and `tally.rs` count.
//! `recording/mod.rs` keeps what warps did, for a replay.
//! `registers.rs` and `exact/mod.rs` are the arithmetic on lanes, `memory` the spaces, `read` and
//! `frame.rs` the operands, `position.rs` the source lines. `args.rs` has typed buffers, and
//! arguments as the bytes of the kernel's parameters.
//!
//! # Limits
//!
//! - Module `unset_values` says which of the values that nothing has set are found.
//! - Memory is checked by the byte, the buffer and the shared array: an index beyond its row but
//!   inside these is not seen. Module `shared_arrays` says which addresses are known to be of one
//!   array.
//! - Warp-wide lane checks and races show only if this run takes the path.
//! - A launch takes one of the orders in which threads may run ([`Schedule`]). Where threads
//!   communicate by atomics or strong accesses, the result may be right in it and wrong in another:
//!   run such kernels ([`Executable::depends_on_order`]) in several.
//! - The number of blocks that run at once ([`DeviceLimits::resident_blocks`]) follows from
//!   threads, shared memory, and the registers that a thread needs at least (module `pressure`); a
//!   compiler may take more, and a GPU hold fewer.
//! - Memory is sequentially consistent; missing fences are seen only as races of other accesses.
//!   With [`Options::volatile_is_plain`], volatile accesses are such.
//! - Clocks count warp instructions of the block, not cycles.
//! - Asynchronous copies land when a thread waits for them (modules `instructions::copy`, `bulk`,
//!   `mbarrier`). A copy that lands early, and hides a missing wait, is not modelled;
//!   `mbarrier.try_wait` never gives up.
//! - Instructions of a warpgroup, sparse matrices, tensor copies, mipmaps and names of textures are
//!   not modelled. The page on instructions in the book lists what is.
//! - Filters of a cube stay within a face, and a texture sees at once what its launch stores.
//! - Tensor cores round sums in ways that are not known (module `instructions::matrix`).
//! - Stores beyond an allocation of `malloc`, inside the heap, are not seen.

mod access;
mod address_origin;
mod args;
mod attempt;
mod block;
mod chance;
mod check;
mod cluster;
mod coalesce;
mod conditions;
mod config;
mod convergence;
mod coresident;
mod counts;
mod device_runtime;
mod exact;
mod executable;
mod fault;
mod frame;
mod hold;
mod image;
mod instructions;
mod launch;
mod liveness;
mod machine;
mod memory;
mod names;
mod order;
mod placement;
mod polls;
mod position;
mod pressure;
mod printed;
mod printf;
mod products;
mod read;
mod recording;
mod registers;
mod request;
mod runner;
mod schedule;
mod shared_arrays;
mod special;
mod spin;
mod step;
mod tally;
mod tensor_map;
mod turn;
mod unset_origin;
mod unset_values;
mod views;
mod warp;

pub use args::{Arg, Buffer, Params};
pub use check::footprint::{Accessed, PAGE_BYTES, PageAccess, PageBits};
pub use conditions::{ConditionHandles, HandleProblem};
pub use config::{
    DeviceLimits, LaunchConfig, Multiprocessor, Options, Sanitize, Schedule, Undo, parse_capability,
};
pub use counts::{
    Counts, DistributedTraffic, Executed, GlobalTraffic, InstructionClass, InstructionCounts,
    LaunchReport, LineCounts, SharedTraffic,
};
pub use device_runtime::{Provider, provider};
pub use executable::{Executable, UnsupportedInstruction};
pub use fault::{
    Access, AccessKind, EarlyExit, Fault, FaultKind, FaultPlace, ImageAccess, ImageProblem,
    KnownFaults, LaunchError, Lifetime, Location, ProductProblem, ProgramFault, RaceAccess,
    RaceBetween, Stray, ThreadId, UnsetUse, UnsupportedFault, Waiting, WidenedLoad,
};
pub use image::{AddressMode, Channel, Image, ImageKind, Sampler};
pub use machine::{InvalidCopy, LoadedModule, Machine};
pub use memory::global::{GUARD_BYTES, OutOfMemory};
pub use memory::{
    CONST_WINDOW, GLOBAL_BASE, LOCAL_WINDOW, NULL_LIMIT, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES,
};
pub use names::{parameter_types, readable_name, short_name};
pub use position::{CodePosition, SourcePosition};
pub use printed::Printed;
pub use ptx::{ArgsError, ShapeError};
pub use recording::{
    RecordedAccess, RecordedBlocks, RecordedBuffer, RecordedKind, RecordedRegister, RecordedSpace,
    RecordedWrite, Recording, RecordingPlan, Step, number_in,
};
pub use tensor_map::{MAX_RANK, TensorElement, TensorMap};
