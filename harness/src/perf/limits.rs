//! What the devices could do at best, measured before anything else.

use host::limits::{Bandwidth, copy_bandwidth};
use host::{Device, DeviceInfo, ErrorKind};
use serde::Serialize;

use crate::cpu;
use crate::devices::{Chosen, Wanted};
use crate::failure::Failure;
use crate::progress::Bar;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::bytes_per_s;

/// Copies between buffers of this size are far beyond every cache.
const BUFFER_BYTES: u64 = 512 << 20;

/// The devices and their limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limits {
    cpu: Option<String>,
    devices: Vec<DeviceLimits>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct DeviceLimits {
    device: String,
    info: DeviceInfo,
    copy: Option<Bandwidth>,
}

impl Limits {
    /// Measures every chosen device.
    ///
    /// # Errors
    ///
    /// What a device answers, except that its memory is short.
    pub fn measure(chosen: &Chosen<'_>) -> Result<Limits, Failure> {
        let devices = chosen.devices.iter().map(|named| {
            let _bar = Bar::spinner(format!("copy bandwidth of {}", named.name));
            Ok(DeviceLimits {
                device: named.name.to_string(),
                info: named.device.info().clone(),
                copy: copy(named.device)?,
            })
        });
        Ok(Limits {
            cpu: chosen.cpu.then(cpu::description),
            devices: devices.collect::<Result<_, Failure>>()?,
        })
    }

    /// The best rate at which the device copied, if it has the memory to be measured.
    pub fn copy_bytes_per_s(&self, name: Wanted) -> Option<f64> {
        let name = name.to_string();
        let device = self.devices.iter().find(|device| device.device == name)?;
        Some(device.copy.as_ref()?.best_bytes_per_s)
    }

    /// A line for each device.
    pub fn render(&self, look: Look) -> String {
        let mut table = Columns::new(look, [Align::Left; 2]);
        if let Some(cpu) = &self.cpu {
            table.row([("cpu", Tone::Normal), (cpu, Tone::Normal)]);
        }
        for DeviceLimits { device, info, copy } in &self.devices {
            let copy = match copy {
                Some(copy) => format!("copies {}", bytes_per_s(copy.best_bytes_per_s)),
                None => "too little free memory to measure copies".to_owned(),
            };
            let text = format!("{}, {copy}", info.name);
            table.row([(device, Tone::Normal), (&text, Tone::Normal)]);
        }
        table.render(0) + "\n"
    }
}

fn copy(device: &dyn Device) -> Result<Option<Bandwidth>, Failure> {
    let eighth = device.info().memory_bytes.unwrap_or(u64::MAX) / 8;
    match copy_bandwidth(device, BUFFER_BYTES.min(eighth)) {
        Ok(bandwidth) => Ok(Some(bandwidth)),
        Err(error) if error.kind() == ErrorKind::Environment => Ok(None),
        Err(error) => Err(error.into()),
    }
}
