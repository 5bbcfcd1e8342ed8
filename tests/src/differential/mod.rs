//! Tests of every instruction that the emulated device executes, on operands that show its effect.
//!
//! A [`Form`] is an instruction with its type and modifiers: operands, PTX text, and an evaluation
//! in Rust that shares no code with the emulated device. [`run_form`] makes a module from it and
//! runs that as a plan on the emulated device, and on a CUDA device if there is one. Then it
//! compares:
//!
//! - emulated device and Rust: bit for bit, or within the stated tolerance for `.approx` and
//!   `.full`;
//! - CUDA and emulated device: bit for bit; for `.approx` and `.full`, CUDA and Rust within the
//!   same tolerance.
//!
//! Each form is a separate module: a form that the driver's compiler refuses does not keep others
//! from running.
//!
//! Some forms are missing because their values depend on the machine: `%warpid`, `%nwarpid`,
//! `%smid`, `%nsmid`, `%gridid`, `%clock`, `%clock_hi`, `%clock64`, `%globaltimer` and its halves,
//! `%total_smem_size` (rounded up to the hardware's allocation unit). Instructions that end a
//! launch are missing too: `trap`, `brkpt`.
//!
//! - `form`: the parts of a form, and its PTX text;
//! - `forms`: all forms, by family;
//! - `operands`: edge values and seeded random ones;
//! - `exact`, `half`, `tolerance`: rounding and error bounds, written from the standard;
//! - `run`: one form on the devices;
//! - `report`: the table and the differences.

mod exact;
mod form;
mod forms;
mod half;
mod operands;
mod report;
mod run;
mod tolerance;

pub use form::{Class, Expect, Form, Row, module_text};
pub use forms::all;
pub use operands::{Amount, Operand};
pub use report::Report;
pub use run::{DeviceOutcome, Difference, Outcome, run_form};
pub use tolerance::{Bound, Target};
