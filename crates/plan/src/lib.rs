//! Plans, which solutions record, and the interface of each lab.
//!
//! # Purpose
//!
//! A [`Plan`] is plain data: buffers, kernel launches and copies. A solution's host code does not
//! touch a device: it records a plan. So its launches can be checked before they run, saved, sent
//! to another machine, graded, and timed by a program that is not the solution's.
//!
//! ```
//! use plan::{Element, LaunchConfig, Plan, args};
//!
//! let mut plan = Plan::new("axpy");
//! let n: u32 = 1000;
//! let x = plan.buffer("x", Element::F32, n as usize);
//! let y = plan.buffer("y", Element::F32, n as usize);
//! plan.launch("axpy", LaunchConfig::covering(n, 256)?, args![2.0f32, x, y, n])?;
//! plan.output("y", y);
//! # Ok::<(), plan::PlanError>(())
//! ```
//!
//! # Contract
//!
//! - **Order.** Commands run in order, each after the one before it has finished, as on one CUDA
//!   stream, unless they are recorded as independent ([`Plan::independent`]).
//! - **Devices.** A buffer lives on a device ([`Plan::scratch_on`], [`Plan::scatter`]), and a
//!   launch runs on the device of the buffers that it writes. Commands that do not access the same
//!   elements may run at the same time ([`Plan::dependencies`]), which changes no result.
//! - **Checks.** Recording checks each command, so that `?` ends it there; the error names the plan
//!   and the command. [`Plan::check`] checks a complete plan. The crate does not know
//!   devices or PTX: `device` validates a plan against both before anything runs.
//! - **Saving.** A plan is saved and loaded with serde. Loading records it again, so that a file
//!   passes the checks of a recording and may come from anywhere.
//! - **Labs.** Each lab has a module ([`wave2d`], [`wave3d`], [`poisson`], [`matadd`],
//!   [`membench`], [`stencil25`]) with the input of a solution (`Problem`, `Buffers`), its results
//!   (`Outputs`), and the trait that it implements (`Solution`). [`Interface`] describes all of
//!   them; [`record_all`] is the main function of a program that records a solution's plans.
//!
//! # Reading order
//!
//! 1. `buffer`, `arg`, `command`, `plan`: a plan and its parts;
//! 2. `record`: the functions that a solution calls, and their checks;
//! 3. `inspect`: reading a plan, and the checks of a complete one;
//! 4. `serial`: the saved form;
//! 5. `independent`, `order`: which commands may run at the same time;
//! 6. `parts`, `scatter`, `slabs`: fields over several devices;
//! 7. `balance`: the chunks that tiles are cut into;
//! 8. `interface`, `recorder`: the interface of labs, and the program that records plans.
//!
//! # Limits
//!
//! A plan has at most 2^20 commands, 2^24 arguments in all and 2^10 in a launch. Names have at most
//! 200 bytes, and buffers are smaller than 2^63 bytes. At most 2^10 buffers are scattered, each in
//! at most 2^12 parts, over devices with numbers below [`MAX_DEVICES`]. Plans have no loops and no
//! branches: a step that depends on a result needs another plan.

mod arg;
pub mod balance;
mod buffer;
mod command;
mod error;
mod independent;
mod inspect;
mod interface;
mod limits;
pub mod matadd;
pub mod membench;
mod nearest;
mod order;
mod parts;
mod plan;
pub mod poisson;
mod record;
mod recorder;
mod scatter;
mod serial;
pub mod slabs;
pub mod stencil25;
mod target;
pub mod wave2d;
pub mod wave3d;

pub use arg::{Arg, View};
pub use buffer::{Buffer, BufferId, Element, Role};
pub use command::{Command, Copy, Dim3, Fill, Launch, LaunchConfig, PORTABLE_CLUSTER_BLOCKS};
pub use error::{Dependence, PlanError};
pub use independent::Does;
pub use interface::{Interface, InterfaceInfo, Solution};
pub use limits::MAX_DEVICES;
pub use nearest::{nearest, suggestion};
pub use parts::{Part, Rect, Scattered};
pub use plan::Plan;
pub use recorder::{Recording, Task, record_all};
pub use target::Target;
