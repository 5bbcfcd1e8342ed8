//! Memory that there is, for plans that each have buffers of their own.

use device::memory::available_bytes;
use device::{Device, DeviceKind};
use plan::Plan;

/// The part of a device's memory for graphs, modules and the driver is 1 / this.
const FREE_ON_DEVICE: u64 = 16;
const HOST_SHARE: f64 = 0.9;

/// Memory that there is.
pub struct Room {
    pub is_emulated: bool,
    /// Of each device.
    device_bytes: Option<u64>,
}

impl Room {
    pub fn of(device: &dyn Device) -> Room {
        let info = device.info();
        let memory = info.memory_bytes;
        Room {
            is_emulated: info.kind == DeviceKind::Emulated,
            device_bytes: memory.map(|bytes| bytes - bytes / FREE_ON_DEVICE),
        }
    }

    /// Whether each device holds the buffers of these plans together.
    pub fn has_all<'p>(&self, plans: impl Iterator<Item = &'p Plan> + Clone) -> bool {
        let devices = plans.clone().map(Plan::devices).max().unwrap_or(0);
        let Some(room) = self.device_bytes else {
            return true;
        };
        let used = |device| plans.clone().map(|plan| plan.bytes_on(device)).sum::<u64>();
        (0..devices).all(|device| used(device) <= room)
    }

    /// Whether each device holds the plan's buffers.
    pub fn has(&self, plan: &Plan) -> bool {
        self.has_all(std::iter::once(plan))
    }
}

/// Whether the host holds this, and has some left.
pub fn host_has(bytes: u64) -> bool {
    let is_less = |room: u64| bytes as f64 <= HOST_SHARE * room as f64;
    available_bytes().is_none_or(is_less)
}
