//! Devices, plans, and each lab's problem and reference.
//!
//! A solution's host code never touches a device. It records a [`Plan`]: buffers, kernel launches and
//! copies as plain data. A [`Device`] checks a plan against the module's PTX, then runs it as often as asked:
//!
//! ```
//! use host::{Element, LaunchConfig, Plan, args};
//!
//! let mut plan = Plan::new("axpy");
//! let n: u32 = 1000;
//! let x = plan.buffer("x", Element::F32, n as usize);
//! let y = plan.buffer("y", Element::F32, n as usize);
//! plan.launch("axpy", LaunchConfig::covering(n, 256)?, args![2.0f32, x, y, n])?;
//! plan.output("y", y);
//! # Ok::<(), host::Error>(())
//! ```
//!
//! | module      | what it holds                                                            |
//! |-------------|--------------------------------------------------------------------------|
//! | [`buffer`]  | typed host memory                                                        |
//! | [`plan`]    | what a solution records: crate `plan`                                    |
//! | [`module`]  | PTX text and the program parsed from it                                  |
//! | [`validate`]| a plan against a module and a device's limits, before anything runs      |
//! | [`device`]  | what executes plans: CUDA, emulated                                      |
//! | [`check`]   | outputs against expected outputs, every element                          |
//! | [`lab`]     | what every lab offers for testing, timing and showing it                 |
//! | [`registry`]| the labs, by name                                                        |
//! | [`solutions`]| the built-in solutions, from `kernels-gpu/solutions`                    |
//! | [`run`]     | one case of a lab on one device                                          |
//! | [`limits`]  | the device's measured bandwidths and rates of arithmetic                 |
//! | [`memory`]  | how much memory the host has left                                        |
//! | [`occupancy`]| how many blocks of a kernel a multiprocessor holds, and what limits them |
//! | [`ranks`]     | several processes: who they are, how they meet, what they tell each other |
//! | [`telemetry`]| clocks, throttling, temperature and power of a GPU                      |
//! | [`matadd`]  | the lab of that name                                                     |
//! | [`membench`]| the lab of that name; latency and bandwidth of each level of memory      |
//! | [`poisson`] | the lab of that name                                                     |
//! | [`stencil25`]| the lab of that name                                                    |
//! | [`wave2d`]  | the lab of that name                                                     |
//! | [`wave3d`]  | the lab of that name                                                     |

pub mod buffer;
pub mod check;
pub mod device;
mod double;
#[cfg(target_os = "linux")]
mod driver;
pub mod error;
mod fill;
mod kernels;
pub mod lab;
pub mod limits;
pub mod matadd;
pub mod membench;
pub mod memory;
pub mod module;
#[cfg(target_os = "linux")]
pub mod nccl;
pub mod occupancy;
pub mod poisson;
pub mod ranks;
pub mod registers;
pub mod registry;
pub mod run;
mod seismic;
pub mod solutions;
pub mod stencil25;
pub mod telemetry;
pub mod validate;
pub mod wave2d;
pub mod wave3d;

pub use buffer::{BufferError, Element, HostBuffer, NamedBuffers, Scalar};
pub use check::{CheckError, Mismatch};
pub use device::{
    Capture, Device, DeviceInfo, DeviceKind, Flushed, KernelInfo, Launching, Session, Timing,
};
pub use error::Error;
pub use lab::{Case, CaseParams, Cpu, Lab, Parameter, Variant, Work, find_shaped};
pub use module::Module;
pub use plan::{self, Arg, BufferId, LaunchConfig, Plan, args};
pub use registry::{find_lab, find_variant, labs};
pub use run::{Outcome, run_case};
