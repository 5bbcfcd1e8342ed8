//! Devices execute plans: what every device does, the checks before and after, the emulated device.
//!
//! A solution's host code never touches a device. It records a [`Plan`](plan::Plan): buffers,
//! kernel launches and copies as plain data. A [`Device`] checks the plan against the module's PTX
//! and prepares it: it allocates memory, looks up kernels and lays out arguments. The resulting
//! [`Session`] moves buffers and runs the plan, any number of times.
//!
//! ```
//! use device::run::{outputs, reset};
//! use device::{Device, EmulatedDevice, Element, Module};
//! use plan::{LaunchConfig, Plan, args};
//!
//! let module = Module::new("axpy", r"
//!     .version 7.0
//!     .target sm_70
//!     .address_size 64
//!     .visible .entry twice(.param .u64 y)
//!     {
//!         .reg .b64 %rd<4>;
//!         .reg .b32 %r<2>;
//!         .reg .f32 %f<2>;
//!         ld.param.u64 %rd1, [y];
//!         cvta.to.global.u64 %rd1, %rd1;
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.f32 %f1, [%rd3];
//!         add.f32 %f1, %f1, %f1;
//!         st.global.f32 [%rd3], %f1;
//!         ret;
//!     }".to_owned());
//! let mut plan = Plan::new("twice");
//! let y = plan.buffer("y", Element::F32, 4);
//! plan.launch("twice", LaunchConfig::new(1, 4), args![y])?;
//! plan.output("y", y);
//!
//! let device = EmulatedDevice::default();
//! let mut session = device.prepare(&module, &plan)?;
//! let inputs = vec![("y".to_owned(), vec![1.0f32, 2.0, 3.0, 4.0].into())];
//! reset(session.as_mut(), &plan, &inputs)?;
//! session.run()?;
//! assert_eq!(outputs(session.as_mut(), &plan)?[0].1, vec![2.0f32, 4.0, 6.0, 8.0].into());
//! # Ok::<(), device::Error>(())
//! ```
//!
//! # Contract
//!
//! One plan gives the same outputs on every device, bit for bit where the kernels' arithmetic is
//! defined. A mistake in a plan is found before anything runs ([`validate`]). A kernel's fault is
//! an error of the run that names the kernel ([`DeviceError`]). Every error says who can fix it
//! ([`Error::kind`]).
//!
//! GPUs are devices of another crate, `cuda`, and nothing of CUDA is needed to build this one: a
//! program that tests on the emulated device uses it as it is, without a driver, a toolkit, `cust`
//! and its patch.
//!
//! # Spine, in reading order
//!
//! | file | what it holds |
//! |---|---|
//! | `traits.rs` | [`Device`], [`Session`], [`TimedSession`]: what every device does |
//! | `preparation.rs` | whose buffers a session uses, in which order its threads run |
//! | `validate/mod.rs` | a plan against a module and a device's limits, before anything runs |
//! | `emulated_device/mod.rs` | the emulated device, and which orders of threads it has |
//! | `emulated_device/session/mod.rs` | a plan on the emulator, with its checks |
//! | `module.rs`, `generations.rs` | a kernel's PTX: its text for each generation of GPUs, parsed once |
//! | `ranked_device.rs` | one plan in several processes, which meet by the crate `ranks` |
//! | `check/compare.rs` | outputs against expected outputs, every element |
//! | `telemetry/recorder.rs` | clocks, throttling, temperature and power while a GPU works |
//! | `run.rs` | one run: inputs written, all else poisoned, outputs read |
//! | `params.rs`, `pieces.rs`, `share.rs` | for other crates: argument bytes, parts, own devices |
//!
//! # Limits
//!
//! [`ptx_emu`] says which PTX the emulated device does not run. Emulated devices of several
//! processes exchange bytes by the hosts' sockets.

mod arm_cores;
pub mod buffer;
pub mod check;
pub mod cpu;
mod device_error;
mod emulated_device;
pub mod error;
mod generations;
mod info;
pub mod memory;
pub mod module;
pub mod params;
pub mod pieces;
mod preparation;
mod ranked_device;
mod report;
pub mod run;
pub mod share;
pub mod telemetry;
mod traits;
mod useful;
pub mod validate;

pub use buffer::{BufferError, Element, HostBuffer, NamedBuffers, Scalar};
pub use check::{CheckError, Mismatch};
pub use device_error::{DeviceError, DriverError};
pub use emulated_device::replayed::{Replay, WrongValue};
pub use emulated_device::stores::Stored;
pub use emulated_device::{EmulatedDevice, Sampling, write_printed_by};
pub use error::Error;
pub use generations::Needs;
pub use info::{
    Capture, DeviceInfo, DeviceKind, Flushed, KernelInfo, LaunchLimits, Launching, STACK_BYTES,
    Side, Spills, Stray, Timing,
};
pub use module::Module;
pub use preparation::{BufferPool, Buffers, Order, Preparation};
pub use ptx_emu::{
    Counts, Executed, Fault, FaultKind, GlobalTraffic, InstructionClass, InstructionCounts,
    Location, Multiprocessor, Options, ProgramFault, Sanitize, Schedule, SharedTraffic, ThreadId,
    parse_capability,
};
pub use ranked_device::RankedDevice;
pub use replay::{Facts, Wish};
pub use report::{COUNTS, Count, KernelReport};
pub use share::Share;
pub use traits::{Device, POISON, Segments, Session, TimedSession, check_buffer};
pub use useful::{Computed, stated_stores};

/// The devices of one kind, or why there are none.
pub type Discovery = Result<Vec<Box<dyn Device>>, DeviceError>;
