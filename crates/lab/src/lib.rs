//! The lab contract: what a lab declares. Which of it a command is about is crate `select`'s.
//!
//! # Purpose
//!
//! Tests, measurements, the grader and pictures work for every lab alike. They know a lab as data,
//! [`Lab`], its cases as [`LabCase`]s, and its built-in solutions as [`Variant`]s. The labs
//! themselves are in `host`, which depends on this crate.
//!
//! # Contract
//!
//! - **A lab** is a [`Lab`]: names, parameters, functions that make its cases, and its variants.
//!   Registry functions take a list of labs: nothing here knows the course's.
//! - **A case** is one size, parameters, seed: each lab's type of cases implements [`LabCase`].
//!   Inputs and the CPU reference are required; timesteps, an oracle, axes are for labs that have
//!   them.
//! - **A variant** is a handle, `&Variant`. It has its kernels, records its plan of a case
//!   ([`Variant::record`]), and knows how its results are compared ([`Variant::check`]). Names are
//!   looked up once, where a command line is read (crate `select`).
//!
//! # Reading order
//!
//! 1. `case`: a case, its reference and its work;
//! 2. `variant`: a solution, its shapes, and how its results are compared;
//! 3. `demand`: what a shape asks of a GPU, and how long that takes about; [`occupancy`]: how many
//!    blocks a multiprocessor holds;
//! 4. `lab`: a lab, and lookups by name;
//! 5. `peer`: programs in other languages beside a variant;
//! 6. `params`: parameters as `key=value`; `seed`: what random inputs follow from;
//! 7. `view`: the parts of a case that are drawn and saved; `running`: how `harness run` runs a lab
//!    and shows it; `convergence`: up to a tolerance;
//! 8. [`run`]: a variant's case on a device; `counted`: the case that is counted without a GPU.
//!
//! # Limits
//!
//! A variant takes cases of its own lab only: any other is a bug, and panics.

mod case;
mod convergence;
mod counted;
mod demand;
mod lab;
pub mod occupancy;
mod params;
mod peer;
pub mod run;
mod running;
mod seed;
mod variant;
mod view;

pub use case::{Axes, Cpu, InterfaceCase, LabCase, Work, advance_copies, axes};
pub use convergence::{By, Convergence, Stop};
pub use counted::counted_instead;
pub use demand::{Demand, Precision, Speed, target};
pub use lab::{Lab, Series, boxed, find_lab, find_variant, numbered};
pub use params::{CaseError, CaseParams, MAX_SCALE, Parameter, Values};
pub use peer::{Counterpart, CudaKernels, Relaunch, Script};
pub use running::{
    Chunks, Converge, Converging, Film, FromFile, Last, Receiving, Running, Shown, Together,
};
pub use seed::Seed;
pub use variant::{Arithmetic, SHAPE, Variant, downcast};
pub use view::{Lattice, Line, Slice, View};
