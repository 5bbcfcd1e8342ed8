//! Counts of kernels by the emulated device, as a document keeps them.

use serde::{Deserialize, Serialize};

/// The counts of each variant's kernels on a small case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The small case.
    pub case: String,
    /// The unit of `updates`.
    pub unit: String,
    /// The counts, variant by variant.
    pub kernels: Vec<KernelCounts>,
    /// Variants that could not be counted, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// The counts of one kernel of a variant, over a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The variant's name.
    pub variant: String,
    /// The kernel's name.
    pub kernel: String,
    /// Launches of it in a run.
    pub launches: u64,
    /// Useful work of the whole run.
    pub updates: u64,
    /// PTX instructions that threads executed.
    pub instructions: u64,
    /// PTX instructions that warps executed.
    pub warp_instructions: u64,
    /// Pieces of 32 bytes that warps touched.
    pub sectors: u64,
    /// Sectors that the same bytes would take at best.
    pub ideal_sectors: u64,
    /// `ideal_sectors / sectors`; none without traffic.
    pub efficiency: Option<f64>,
    /// Bytes that multiprocessors take from and give to L1 and shared memory: all sectors, and what
    /// threads move from and to shared memory. 0 in documents that do not say, as the next.
    #[serde(default)]
    pub l1_bytes: u64,
    /// Bytes that pass between L1 and L2, if a block's L1 keeps what the block has loaded.
    #[serde(default)]
    pub l2_bytes: u64,
}

/// Bytes of an update, of all kernels of a variant together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelBytes {
    /// Of L1 and shared memory.
    pub l1: f64,
    /// Of L2.
    pub l2: f64,
}

impl Counted {
    /// All kernels of each variant together, in order.
    pub fn totals(&self) -> Vec<KernelCounts> {
        let of_variant = self.kernels.chunk_by(|a, b| a.variant == b.variant);
        let totals = of_variant.map(|kernels| {
            let sum = |of: fn(&KernelCounts) -> u64| kernels.iter().map(of).sum::<u64>();
            let (sectors, ideal_sectors) = (sum(|one| one.sectors), sum(|one| one.ideal_sectors));
            KernelCounts {
                kernel: String::new(),
                launches: sum(|one| one.launches),
                instructions: sum(|one| one.instructions),
                warp_instructions: sum(|one| one.warp_instructions),
                sectors,
                ideal_sectors,
                efficiency: (sectors > 0).then(|| ideal_sectors as f64 / sectors as f64),
                l1_bytes: sum(|one| one.l1_bytes),
                l2_bytes: sum(|one| one.l2_bytes),
                ..kernels[0].clone()
            }
        });
        totals.collect()
    }

    /// The counts of a variant's kernel.
    pub fn of(&self, variant: &str, kernel: &str) -> Option<&KernelCounts> {
        let same = |counts: &&KernelCounts| counts.variant == variant && counts.kernel == kernel;
        self.kernels.iter().find(same)
    }

    /// The bytes that an update of a variant moves at each level of the caches; none if they were
    /// not counted.
    pub fn level_bytes(&self, variant: &str) -> Option<LevelBytes> {
        let own = || self.kernels.iter().filter(|own| own.variant == variant);
        let updates = own().next()?.updates as f64;
        let per_update = |bytes: fn(&KernelCounts) -> u64| {
            let bytes = own().map(bytes).sum::<u64>();
            (bytes > 0 && updates > 0.0).then(|| bytes as f64 / updates)
        };
        Some(LevelBytes {
            l1: per_update(|kernel| kernel.l1_bytes)?,
            l2: per_update(|kernel| kernel.l2_bytes)?,
        })
    }
}

impl KernelCounts {
    /// The share of warps' lanes that took part in their instructions.
    pub fn active_lanes(&self) -> Option<f64> {
        let lanes = 32 * self.warp_instructions;
        (lanes > 0).then(|| self.instructions as f64 / lanes as f64)
    }
}
