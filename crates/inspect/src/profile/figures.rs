//! The counts of a kernel or of a source line: sums and shares of them, and their form in JSON.

use std::ops::AddAssign;

use device::{Counts, Executed, GlobalTraffic, InstructionClass, SharedTraffic};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Threads of a warp.
const LANES: u64 = 32;
/// Bytes of a sector.
pub const SECTOR_BYTES: u64 = 32;

/// Traffic to global or shared memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// Warp-wide accesses.
    pub requests: u64,
    /// Their cost: sectors of global memory, wavefronts of shared memory.
    pub units: u64,
    /// The fewest that the same bytes could take.
    pub ideal: u64,
    /// Bytes that threads moved.
    pub bytes: u64,
}

impl Traffic {
    /// Units beyond the ideal: in shared memory, bank conflicts.
    pub fn excess(self) -> u64 {
        self.units - self.ideal
    }

    /// The ideal by the units: in global memory, how coalesced the accesses are.
    pub fn efficiency(self) -> Option<f64> {
        share(self.ideal, self.units)
    }
}

impl From<GlobalTraffic> for Traffic {
    fn from(traffic: GlobalTraffic) -> Traffic {
        Traffic {
            requests: traffic.requests,
            units: traffic.sectors,
            ideal: traffic.ideal_sectors,
            bytes: traffic.bytes,
        }
    }
}

impl From<SharedTraffic> for Traffic {
    fn from(traffic: SharedTraffic) -> Traffic {
        Traffic {
            requests: traffic.requests,
            units: traffic.wavefronts,
            ideal: traffic.ideal_wavefronts,
            bytes: traffic.bytes,
        }
    }
}

/// Loads, stores, atomics, and all of them.
pub type ByKind = [(&'static str, Traffic); 4];

/// Counts, with sums of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures(pub Counts);

impl Figures {
    /// Traffic to global memory.
    pub fn global(&self) -> ByKind {
        let counts = &self.0;
        with_sum([
            counts.global_loads,
            counts.global_stores,
            counts.global_atomics,
        ])
    }

    /// Traffic to shared memory.
    pub fn shared(&self) -> ByKind {
        let counts = &self.0;
        with_sum([
            counts.shared_loads,
            counts.shared_stores,
            counts.shared_atomics,
        ])
    }

    /// All traffic to global memory.
    pub fn all_global(&self) -> Traffic {
        self.global()[3].1
    }

    /// All traffic to shared memory.
    pub fn all_shared(&self) -> Traffic {
        self.shared()[3].1
    }

    /// Traffic to the shared memory of other blocks of the cluster, as (requests, bytes), by the
    /// name in JSON; nothing where there is none.
    pub fn distributed(&self) -> Vec<(&'static str, u64, u64)> {
        let counts = &self.0;
        [
            ("distributed_loads", counts.distributed_loads),
            ("distributed_stores", counts.distributed_stores),
            ("distributed_atomics", counts.distributed_atomics),
        ]
        .into_iter()
        .filter(|(_, traffic)| traffic.requests > 0)
        .map(|(name, traffic)| (name, traffic.requests, traffic.bytes))
        .collect()
    }

    /// Floating-point instructions, by threads.
    pub fn floating(&self) -> u64 {
        let classes = [InstructionClass::Float32, InstructionClass::Float64];
        classes.map(|class| self.0.class(class).thread).iter().sum()
    }
}

fn with_sum<T: Copy + Default + AddAssign + Into<Traffic>>(
    [loads, stores, atomics]: [T; 3],
) -> ByKind {
    let mut all = T::default();
    for one in [loads, stores, atomics] {
        all += one;
    }
    [
        ("loads", loads.into()),
        ("stores", stores.into()),
        ("atomics", atomics.into()),
        ("all", all.into()),
    ]
}

/// `part / whole`, if the whole is not 0.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// The share of a warp's lanes that executed an instruction.
pub fn active_lanes(executed: Executed) -> Option<f64> {
    share(executed.thread, LANES * executed.warp)
}

/// An object of named numbers.
struct Numbers<const N: usize>([(&'static str, u64); N]);

impl<const N: usize> Serialize for Numbers<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0)
    }
}

#[derive(Serialize)]
struct ClassFigures {
    class: &'static str,
    #[serde(flatten)]
    executed: Numbers<2>,
}

fn executed(executed: Executed) -> Numbers<2> {
    Numbers([("by_warps", executed.warp), ("by_threads", executed.thread)])
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = &self.0;
        let classes = InstructionClass::ALL
            .map(|class| (class, counts.class(class)))
            .into_iter()
            .filter(|(_, of_class)| of_class.warp != 0)
            .map(|(class, of_class)| ClassFigures {
                class: class.name(),
                executed: executed(of_class),
            });
        let distributed = self.distributed();
        let mut object = serializer.serialize_struct("Figures", 13 + distributed.len())?;
        object.serialize_field("instructions", &executed(counts.instructions))?;
        object.serialize_field("classes", &classes.collect::<Vec<ClassFigures>>())?;
        object.serialize_field("branches", &counts.branches)?;
        object.serialize_field("divergent_branches", &counts.divergent_branches)?;
        object.serialize_field("barriers", &counts.barriers)?;
        const GLOBAL: [&str; 3] = ["global_loads", "global_stores", "global_atomics"];
        const SHARED: [&str; 3] = ["shared_loads", "shared_stores", "shared_atomics"];
        for (names, traffic, units, ideal) in [
            (GLOBAL, self.global(), "sectors", "ideal_sectors"),
            (SHARED, self.shared(), "wavefronts", "ideal_wavefronts"),
        ] {
            for (name, (_, moved)) in names.into_iter().zip(traffic) {
                let numbers = Numbers([
                    ("requests", moved.requests),
                    (units, moved.units),
                    (ideal, moved.ideal),
                    ("bytes", moved.bytes),
                ]);
                object.serialize_field(name, &numbers)?;
            }
        }
        for (name, requests, bytes) in distributed {
            let numbers = Numbers([("requests", requests), ("bytes", bytes)]);
            object.serialize_field(name, &numbers)?;
        }
        object.serialize_field("local_bytes", &counts.local_bytes)?;
        object.serialize_field("param_bytes", &counts.param_bytes)?;
        object.end()
    }
}
