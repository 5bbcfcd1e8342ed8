//! The demand of a shape on a GPU.

use crate::occupancy::Gpu;
use device::DeviceInfo;
use plan::Target;

/// The type of the numbers that a kernel computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

/// The demand of a shape's launches on a GPU: enough to tell its shapes apart where none was timed.
///
/// Blocks stream through rounds, such as planes of a tile, one block at a time on each
/// multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Timesteps of a launch.
    pub steps: u32,
    /// Blocks of a launch.
    pub blocks: u64,
    /// Rounds of a block, with those that another block computes too.
    pub rounds: u64,
    /// Updates of a round, over all timesteps, with those that another block computes too.
    pub updates: u64,
    /// Cycles of an update on one lane of a multiprocessor's arithmetic units.
    pub lane_cycles: f64,
    /// Whose lanes they are.
    pub precision: Precision,
    /// Bytes that a round moves to and from device memory.
    pub bytes: u64,
}

/// The speed of a GPU, as far as a [`Demand`] needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    multiprocessors: u64,
    /// Lanes of a multiprocessor in each [`Precision`], times its clock.
    lanes_hz: [f64; 2],
    /// Device memory, by its data sheet.
    bytes_per_s: f64,
}

impl Speed {
    /// The share of its data sheet that device memory reaches. A copy has 0.89 on an H100, 0.87 on
    /// an H200.
    const MEMORY: f64 = 0.9;
    /// From the end of a launch to the work of the next.
    const LAUNCH_S: f64 = 4e-6;

    /// That of a device, if the driver says enough of it. A generation that is not in the table of
    /// [`Gpu`] counts as the newest before it.
    pub fn of(info: &DeviceInfo) -> Option<Speed> {
        let capability = info.compute_capability?;
        let gpu = Gpu::newest_for(capability)?;
        let clock_hz = 1e3 * f64::from(info.clock_khz?);
        // Two transfers per cycle.
        let transfers_per_s = 2e3 * f64::from(info.memory_clock_khz?);
        Some(Speed {
            multiprocessors: info.multiprocessors?.max(1).into(),
            lanes_hz: [gpu.f32_lanes, gpu.f64_lanes].map(|lanes| f64::from(lanes) * clock_hz),
            bytes_per_s: transfers_per_s * f64::from(info.memory_bus_bits?) / 8.0,
        })
    }

    /// About how long a timestep takes. A multiprocessor works off its blocks one after another. A
    /// round takes the longer of computing and moving bytes.
    pub fn step_s(&self, demand: &Demand) -> f64 {
        let busy = self.multiprocessors.min(demand.blocks) as f64;
        let lanes_hz = self.lanes_hz[demand.precision as usize];
        let computing_s = demand.updates as f64 * demand.lane_cycles / lanes_hz;
        let moving_s = demand.bytes as f64 * busy / (Speed::MEMORY * self.bytes_per_s);
        let rounds = demand.blocks.div_ceil(self.multiprocessors) * demand.rounds;
        let launch_s = Speed::LAUNCH_S + rounds as f64 * computing_s.max(moving_s);
        launch_s / f64::from(demand.steps)
    }
}

/// The machine as plans are recorded for it: this number of devices like this one, which share
/// memory.
pub fn target(info: &DeviceInfo, devices: u32) -> Target {
    let multiprocessors = info.multiprocessors.unwrap_or(Target::MULTIPROCESSORS);
    Target {
        multiprocessors,
        ..devices.into()
    }
}
