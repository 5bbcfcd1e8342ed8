//! The GPU generations that PTX is compiled for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A virtual architecture: the oldest compute capability that the PTX runs on.
///
/// A driver compiles PTX for any GPU of that capability or a newer one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[non_exhaustive]
pub enum NvvmArch {
    /// Turing (compute capability 7.5).
    Compute75,
    /// Ampere, A100 (8.0).
    #[default]
    Compute80,
    /// Ampere, GeForce 30 (8.6).
    Compute86,
    /// Ada (8.9).
    Compute89,
    /// Hopper (9.0).
    Compute90,
    /// Blackwell, B200 (10.0).
    Compute100,
    /// Blackwell, GeForce 50 (12.0).
    Compute120,
}

/// Names of any length in IR. By default LLVM refuses to read names of over 1024 characters, and
/// writes some: a block is named after the functions that were inlined into it, one in the other.
pub(crate) const LONG_NAMES: &str = "-non-global-value-max-name-size=-1";

impl NvvmArch {
    const ALL: [Self; 7] = [
        Self::Compute75,
        Self::Compute80,
        Self::Compute86,
        Self::Compute89,
        Self::Compute90,
        Self::Compute100,
        Self::Compute120,
    ];

    /// The architecture that compilers call so: `sm_80`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.to_string() == name)
    }

    /// The options of `opt` and `llc`: the name, the version of PTX, and that they read all that
    /// `opt` writes.
    pub fn llvm_options(self) -> Vec<String> {
        let version = self.ptx_version().replace('.', "");
        vec![
            format!("-mcpu={self}"),
            LONG_NAMES.to_owned(),
            format!("-mattr=+ptx{version}"),
        ]
    }

    /// The version of PTX that is written for the architecture: the oldest with the instructions
    /// that kernels use.
    pub(crate) fn ptx_version(self) -> &'static str {
        match self {
            // Hints to L2 came with PTX 7.4 (CUDA 11.4), some versions after the architecture.
            Self::Compute75 | Self::Compute80 | Self::Compute86 => "7.4",
            Self::Compute89 => "7.8",
            // Asynchronous stores to blocks of the cluster came later too, with PTX 8.1.
            Self::Compute90 => "8.1",
            Self::Compute100 => "8.6",
            Self::Compute120 => "8.7",
        }
    }

    /// Rust-CUDA's names of compute capabilities, in the order of their numbers. Code asks for them
    /// by `#[cfg(target_feature = "compute_80")]`.
    const CAPABILITIES: [u32; 24] = [
        35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 73, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110,
        120, 121,
    ];

    /// The options of rustc that make these names known, and the names of this capability and of
    /// all lower ones true.
    pub(crate) fn capability_options(self) -> Vec<String> {
        let (major, minor) = self.capability();
        let names = Self::CAPABILITIES.map(|number| format!("\"compute_{number}\""));
        let has = |number: &u32| *number <= 10 * major + minor;
        let has = Self::CAPABILITIES.iter().filter(|number| has(number));
        let set = has.map(|number| format!("--cfg=target_feature=\"compute_{number}\""));
        let known = format!(
            "--check-cfg=cfg(target_feature, values({}))",
            names.join(", ")
        );
        // The lint is for those who set what `-Ctarget-cpu` sets. It knows nothing of these names.
        ["-Aexplicit_builtin_cfgs_in_flags".to_owned(), known]
            .into_iter()
            .chain(set)
            .collect()
    }

    /// The compute capability, major and minor.
    pub const fn capability(self) -> (u32, u32) {
        match self {
            Self::Compute75 => (7, 5),
            Self::Compute80 => (8, 0),
            Self::Compute86 => (8, 6),
            Self::Compute89 => (8, 9),
            Self::Compute90 => (9, 0),
            Self::Compute100 => (10, 0),
            Self::Compute120 => (12, 0),
        }
    }
}

/// The name that compilers use: `sm_80`.
impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.capability();
        write!(f, "sm_{major}{minor}")
    }
}
