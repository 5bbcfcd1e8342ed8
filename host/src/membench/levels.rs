//! Plateaus beside the sizes of memory that the device reports.

use serde::{Deserialize, Serialize};

use super::latency::Path;
use super::plateaus::Plateau;
use device::DeviceInfo;
use lab::occupancy::Gpu;

/// A level of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Shared memory.
    Shared,
    /// The L1 cache.
    L1,
    /// The L2 cache.
    L2,
    /// Device memory.
    Device,
}

impl Memory {
    /// The name that users read.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Shared => "shared memory",
            Memory::L1 => "L1",
            Memory::L2 => "L2",
            Memory::Device => "device memory",
        }
    }
}

/// A plateau and its memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The memory that holds the plateau's middle; `None` if the device does not report the sizes
    /// of its caches.
    pub memory: Option<Memory>,
    /// The measured plateau.
    pub plateau: Plateau,
    /// The size of that memory that the device reports. For L1 it is the memory that L1 and shared
    /// memory divide between them: a footprint that fits is somewhat smaller.
    pub attribute_bytes: Option<u64>,
}

/// Finds the memory of each plateau of a curve by `path`: of the memories that the path reads, the
/// smallest that holds the plateau's middle (in octaves).
pub fn levels(path: Path, plateaus: &[Plateau], info: &DeviceInfo) -> Vec<Level> {
    let gpu = info.compute_capability.and_then(Gpu::of_capability);
    let l1_bytes = gpu.map(|gpu| u64::from(gpu.l1_and_shared_bytes));
    let shared_bytes = u64::from(info.limits.shared_mem_per_block_bytes);
    let name = |plateau: &Plateau| -> Option<(Memory, Option<u64>)> {
        if path == Path::Shared {
            return Some((Memory::Shared, Some(shared_bytes)));
        }
        let middle = (plateau.first_bytes as f64 * plateau.last_bytes as f64).sqrt();
        if path == Path::Ca {
            let bytes = l1_bytes?;
            if middle <= bytes as f64 {
                return Some((Memory::L1, l1_bytes));
            }
        }
        let bytes = info.l2_bytes?;
        if middle <= bytes as f64 {
            return Some((Memory::L2, info.l2_bytes));
        }
        Some((Memory::Device, info.memory_bytes))
    };
    plateaus
        .iter()
        .map(|plateau| {
            let named = name(plateau);
            Level {
                memory: named.map(|(memory, _)| memory),
                plateau: *plateau,
                attribute_bytes: named.and_then(|(_, bytes)| bytes),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::DeviceKind;

    fn h100() -> DeviceInfo {
        DeviceInfo {
            compute_capability: Some((9, 0)),
            multiprocessors: Some(132),
            memory_bytes: Some(80 << 30),
            l2_bytes: Some(50 << 20),
            ..DeviceInfo::new(DeviceKind::Cuda, "NVIDIA Test")
        }
    }

    fn plateau(first_bytes: u64, last_bytes: u64) -> Plateau {
        Plateau {
            cycles: 1.0,
            ns: 1.0,
            first_bytes,
            last_bytes,
            next_bytes: None,
        }
    }

    fn memories(path: Path, info: &DeviceInfo) -> Vec<Option<Memory>> {
        // Up to 200 KiB, to 28 MiB, to 1 GiB.
        let found = [
            plateau(1 << 10, 200 << 10),
            plateau(384 << 10, 28 << 20),
            plateau(96 << 20, 1 << 30),
        ];
        levels(path, &found, info)
            .iter()
            .map(|level| level.memory)
            .collect()
    }

    #[test]
    fn plateaus_get_the_memory_that_holds_them() {
        let info = h100();
        let all = [Some(Memory::L1), Some(Memory::L2), Some(Memory::Device)];
        assert_eq!(memories(Path::Ca, &info), all);
        let without_l1 = [Some(Memory::L2), Some(Memory::L2), Some(Memory::Device)];
        assert_eq!(memories(Path::Cg, &info), without_l1);
        assert_eq!(memories(Path::Cv, &info), without_l1);
        assert_eq!(memories(Path::Shared, &info), [Some(Memory::Shared); 3]);
        let level = levels(Path::Ca, &[plateau(1 << 10, 1 << 17)], &info)[0];
        assert_eq!(level.attribute_bytes, Some(256 << 10));
    }

    #[test]
    fn nothing_is_guessed() {
        let unknown = DeviceInfo {
            compute_capability: None,
            l2_bytes: None,
            ..h100()
        };
        assert_eq!(memories(Path::Ca, &unknown), [None; 3]);
        assert_eq!(memories(Path::Cg, &unknown), [None; 3]);
        let level = levels(Path::Ca, &[plateau(1 << 10, 1 << 17)], &unknown)[0];
        assert_eq!(level.attribute_bytes, None);
    }
}
