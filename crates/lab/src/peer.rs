//! Programs in other languages that do what a variant does: `harness perf --peers` times them.

use plan::{Launch, LaunchConfig, Plan, PlanError};

/// A program in another language that computes what a variant does, from the same inputs.
///
/// Its source is beside the lab's solutions. It computes in the order that the lab defines, so that
/// its result is the variant's to the last bit.
#[derive(Debug, Clone)]
pub enum Counterpart {
    /// Kernels in CUDA C++, which the variant's plan launches.
    Cuda(CudaKernels),
    /// A script, which is a process of its own.
    Python(Script),
}

/// Kernels in CUDA C++ that take the same arguments as a variant's.
#[derive(Debug, Clone)]
pub struct CudaKernels {
    /// The source's name.
    pub file: &'static str,
    /// The form of the kernels in rows, `shared tile`; none for the plain one.
    pub form: Option<&'static str>,
    /// The kernel that computes, with its lab's name: it is built with contraction too, where that
    /// changes it.
    pub kernel: String,
    /// The launch instead of one of the variant's; none if kernels have the same names and blocks
    /// the same shape.
    pub relaunch: Option<Relaunch>,
}

/// Another kernel's name, and another shape.
pub type Relaunch = fn(&Launch<'_>) -> Result<(String, LaunchConfig), PlanError>;

/// A script in Python, for each toolkit that it can use.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// The script's name.
    pub file: &'static str,
    /// A source in CUDA C++ that one of the toolkits compiles.
    pub source: &'static str,
    /// The facts of a variant's plan that it is told, beside inputs and outputs; or why it cannot
    /// run it.
    pub arguments: fn(&Plan) -> Result<serde_json::Value, String>,
}
