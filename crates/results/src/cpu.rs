//! The CPU of a measurement.

use serde::{Deserialize, Serialize};
use units::{count, three};

/// The CPU as the system describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuInfo {
    /// Its model; the architecture, if the system does not say.
    pub model: String,
    /// Cores that this program may use.
    pub cores: usize,
    /// The highest current clock of a core, in MHz. It means most while the CPU is busy.
    pub clock_mhz: Option<f64>,
    /// Whether it is a virtual machine's, which others may share unseen.
    #[serde(default)]
    pub is_virtual: bool,
}

impl std::fmt::Display for CpuInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.model, count(self.cores, "core"))?;
        if let Some(clock) = self.clock_mhz {
            write!(f, ", {} GHz", three(clock / 1e3))?;
        }
        if self.is_virtual {
            write!(f, ", of a virtual machine")?;
        }
        Ok(())
    }
}
