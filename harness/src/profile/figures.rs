//! The counts of a kernel or of a source line: sums and shares of them, and their form in JSON.

use host::device::{Counts, Executed, GlobalTraffic, InstructionClass, SharedTraffic};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Threads of a warp.
const LANES: u64 = 32;
/// Bytes of a sector.
pub const SECTOR_BYTES: u64 = 32;

/// Counts with what follows from them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures(pub Counts);

impl Figures {
    /// Traffic to global memory: loads, stores, atomics.
    pub fn global(&self) -> [(&'static str, GlobalTraffic); 3] {
        [
            ("loads", self.0.global_loads),
            ("stores", self.0.global_stores),
            ("atomics", self.0.global_atomics),
        ]
    }

    /// Traffic to shared memory: loads, stores, atomics.
    pub fn shared(&self) -> [(&'static str, SharedTraffic); 3] {
        [
            ("loads", self.0.shared_loads),
            ("stores", self.0.shared_stores),
            ("atomics", self.0.shared_atomics),
        ]
    }

    /// All traffic to global memory.
    pub fn all_global(&self) -> GlobalTraffic {
        sum(self.global().map(|(_, traffic)| traffic))
    }

    /// All traffic to shared memory.
    pub fn all_shared(&self) -> SharedTraffic {
        sum(self.shared().map(|(_, traffic)| traffic))
    }

    /// Floating-point instructions, by threads.
    pub fn floating(&self) -> u64 {
        let classes = [InstructionClass::Float32, InstructionClass::Float64];
        classes.map(|class| self.0.class(class).thread).iter().sum()
    }
}

fn sum<T: Default + std::ops::AddAssign>(all: [T; 3]) -> T {
    all.into_iter().fold(T::default(), |mut sum, one| {
        sum += one;
        sum
    })
}

/// `part / whole`, if there is a whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// Share of a warp's lanes that executed an instruction.
pub fn active_lanes(executed: Executed) -> Option<f64> {
    share(executed.thread, LANES * executed.warp)
}

#[derive(Serialize)]
struct ExecutedFigures {
    by_warps: u64,
    by_threads: u64,
}

impl From<Executed> for ExecutedFigures {
    fn from(executed: Executed) -> ExecutedFigures {
        ExecutedFigures {
            by_warps: executed.warp,
            by_threads: executed.thread,
        }
    }
}

#[derive(Serialize)]
struct ClassFigures {
    class: &'static str,
    #[serde(flatten)]
    executed: ExecutedFigures,
}

#[derive(Serialize)]
struct GlobalFigures {
    requests: u64,
    sectors: u64,
    ideal_sectors: u64,
    bytes: u64,
}

impl From<GlobalTraffic> for GlobalFigures {
    fn from(traffic: GlobalTraffic) -> GlobalFigures {
        GlobalFigures {
            requests: traffic.requests,
            sectors: traffic.sectors,
            ideal_sectors: traffic.ideal_sectors,
            bytes: traffic.bytes,
        }
    }
}

#[derive(Serialize)]
struct SharedFigures {
    requests: u64,
    wavefronts: u64,
    ideal_wavefronts: u64,
    bytes: u64,
}

impl From<SharedTraffic> for SharedFigures {
    fn from(traffic: SharedTraffic) -> SharedFigures {
        SharedFigures {
            requests: traffic.requests,
            wavefronts: traffic.wavefronts,
            ideal_wavefronts: traffic.ideal_wavefronts,
            bytes: traffic.bytes,
        }
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = &self.0;
        let classes = InstructionClass::ALL
            .map(|class| (class, counts.class(class)))
            .into_iter()
            .filter(|(_, executed)| executed.warp != 0)
            .map(|(class, executed)| ClassFigures {
                class: class.name(),
                executed: executed.into(),
            });
        let mut object = serializer.serialize_struct("Figures", 13)?;
        object.serialize_field("instructions", &ExecutedFigures::from(counts.instructions))?;
        object.serialize_field("classes", &classes.collect::<Vec<ClassFigures>>())?;
        object.serialize_field("branches", &counts.branches)?;
        object.serialize_field("divergent_branches", &counts.divergent_branches)?;
        object.serialize_field("barriers", &counts.barriers)?;
        for (name, traffic) in [
            ("global_loads", counts.global_loads),
            ("global_stores", counts.global_stores),
            ("global_atomics", counts.global_atomics),
        ] {
            object.serialize_field(name, &GlobalFigures::from(traffic))?;
        }
        for (name, traffic) in [
            ("shared_loads", counts.shared_loads),
            ("shared_stores", counts.shared_stores),
            ("shared_atomics", counts.shared_atomics),
        ] {
            object.serialize_field(name, &SharedFigures::from(traffic))?;
        }
        object.serialize_field("local_bytes", &counts.local_bytes)?;
        object.serialize_field("param_bytes", &counts.param_bytes)?;
        object.end()
    }
}
