//! The counts of a kernel or of a source line: sums and shares of them, and their form in JSON.

use host::device::{Counts, Executed, GlobalTraffic, InstructionClass, SharedTraffic};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Threads of a warp.
const LANES: u64 = 32;
/// Bytes of a sector.
pub const SECTOR_BYTES: u64 = 32;

/// Counts, with sums of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures(pub Counts);

impl Figures {
    /// Traffic to global memory: loads, stores, atomics, and all of it.
    pub fn global(&self) -> [(&'static str, GlobalTraffic); 4] {
        let counts = &self.0;
        with_sum([
            counts.global_loads,
            counts.global_stores,
            counts.global_atomics,
        ])
    }

    /// Traffic to shared memory: loads, stores, atomics, and all of it.
    pub fn shared(&self) -> [(&'static str, SharedTraffic); 4] {
        let counts = &self.0;
        with_sum([
            counts.shared_loads,
            counts.shared_stores,
            counts.shared_atomics,
        ])
    }

    /// All traffic to global memory.
    pub fn all_global(&self) -> GlobalTraffic {
        self.global()[3].1
    }

    /// All traffic to shared memory.
    pub fn all_shared(&self) -> SharedTraffic {
        self.shared()[3].1
    }

    /// Floating-point instructions, by threads.
    pub fn floating(&self) -> u64 {
        let classes = [InstructionClass::Float32, InstructionClass::Float64];
        classes.map(|class| self.0.class(class).thread).iter().sum()
    }
}

fn with_sum<T: Copy + Default + std::ops::AddAssign>(
    [loads, stores, atomics]: [T; 3],
) -> [(&'static str, T); 4] {
    let mut all = T::default();
    for one in [loads, stores, atomics] {
        all += one;
    }
    [
        ("loads", loads),
        ("stores", stores),
        ("atomics", atomics),
        ("all", all),
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
        let mut object = serializer.serialize_struct("Figures", 13)?;
        object.serialize_field("instructions", &executed(counts.instructions))?;
        object.serialize_field("classes", &classes.collect::<Vec<ClassFigures>>())?;
        object.serialize_field("branches", &counts.branches)?;
        object.serialize_field("divergent_branches", &counts.divergent_branches)?;
        object.serialize_field("barriers", &counts.barriers)?;
        for (name, traffic) in [
            ("global_loads", counts.global_loads),
            ("global_stores", counts.global_stores),
            ("global_atomics", counts.global_atomics),
        ] {
            let numbers = Numbers([
                ("requests", traffic.requests),
                ("sectors", traffic.sectors),
                ("ideal_sectors", traffic.ideal_sectors),
                ("bytes", traffic.bytes),
            ]);
            object.serialize_field(name, &numbers)?;
        }
        for (name, traffic) in [
            ("shared_loads", counts.shared_loads),
            ("shared_stores", counts.shared_stores),
            ("shared_atomics", counts.shared_atomics),
        ] {
            let numbers = Numbers([
                ("requests", traffic.requests),
                ("wavefronts", traffic.wavefronts),
                ("ideal_wavefronts", traffic.ideal_wavefronts),
                ("bytes", traffic.bytes),
            ]);
            object.serialize_field(name, &numbers)?;
        }
        object.serialize_field("local_bytes", &counts.local_bytes)?;
        object.serialize_field("param_bytes", &counts.param_bytes)?;
        object.end()
    }
}
