//! Plans, which solutions record, and the interface of each lab.
//!
//! A [`Plan`] is plain data: buffers, kernel launches and copies. Its commands run in order, each after the one before it has
//! finished, as on one CUDA stream, unless they are recorded as independent ([`Plan::independent`]). Buffers may live on several devices
//! ([`Plan::scratch_on`], [`Plan::scatter`]): a launch runs where those are that it writes, and commands that do not access the same elements may
//! run at the same time ([`Plan::dependencies`]), which changes no result. It knows neither device nor PTX: `host` validates it against both before
//! anything runs.
//! Everything else is checked while recording, so that `?` ends it there; the error names the plan and the command. A plan can be saved and
//! loaded (serde); a loaded plan has passed the same checks as a recorded one.
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
//! Each lab has a module ([`wave2d`], [`wave3d`], [`poisson`], [`matadd`], [`membench`], [`stencil25`]) with what a solution gets
//! (`Problem`, `Buffers`), what it returns (`Outputs`), and the trait that it implements (`Solution`). [`Lab`] describes all
//! of them; [`record_all`] is the main function of a program that records a solution's plans.

mod arg;
mod buffer;
mod command;
mod error;
mod independent;
mod inspect;
mod lab;
pub mod matadd;
pub mod membench;
mod nearest;
mod order;
pub mod poisson;
mod record;
mod recorder;
mod scatter;
mod serial;
pub mod slabs;
pub mod stencil25;
pub mod wave2d;
pub mod wave3d;

pub use arg::Arg;
pub use buffer::{Buffer, BufferId, Element, Role};
pub use command::{Command, Copy, Dim3, Fill, Launch, LaunchConfig, PORTABLE_CLUSTER_BLOCKS};
pub use error::PlanError;
pub use independent::{Dependence, Does};
pub use inspect::MOST_DEVICES;
pub use lab::{AnyLab, Lab, Solves};
pub use nearest::{nearest, suggestion};
pub use record::Plan;
pub use recorder::{Recording, Task, record_all};
pub use scatter::{Part, Rect, Scattered};
