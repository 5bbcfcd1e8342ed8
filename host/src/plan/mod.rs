//! What a solution records: buffers, kernel launches and copies, as plain data.
//!
//! A plan is executed in order, each command after the one before it has finished, as on one CUDA stream. It knows
//! neither device nor PTX: [`crate::validate`] checks it against both before anything runs. What can be checked
//! without them is checked while recording, so that the error points at the line that records.
//!
//! A plan can be saved and loaded (serde); a loaded plan has passed the same checks as a recorded one.

mod arg;
mod command;
mod config;
mod error;
mod inspect;
mod record;
mod serial;

pub use arg::{Arg, BufferId};
pub use command::{Buffer, Command, Copy, Fill, Launch, Role};
pub use config::{Dim3, LaunchConfig};
pub use error::PlanError;
pub use record::Plan;
