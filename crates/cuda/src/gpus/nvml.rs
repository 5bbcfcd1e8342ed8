//! Telemetry through the NVIDIA Management Library.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;
use nvml_wrapper::{Device, Nvml};

use device::telemetry::{About, NoTelemetry, Reading, Telemetry, ThrottleReason};

/// The most NVLinks that a GPU has: nvml.h's number of this name.
const NVML_NVLINK_MAX_LINKS: u32 = 18;

/// Where the library may be: wherever the system's loader looks, then folders that some systems
/// leave out of its list.
const CANDIDATES: [&str; 3] = [
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
];

/// One GPU.
pub struct Gpu {
    device: Device<'static>,
    about: About,
}

impl Gpu {
    /// The GPU at this PCI address.
    pub fn find(pci_bus_id: &str) -> Result<Gpu, NoTelemetry> {
        let nvml = library()?;
        let device = nvml
            .device_by_pci_bus_id(pci_bus_id)
            .map_err(|error| NoTelemetry {
                reason: format!("NVML has no GPU at {pci_bus_id}: {error}"),
            })?;
        let about = About {
            driver: nvml.sys_driver_version().ok(),
            max_sm_clock_mhz: device.max_clock_info(Clock::SM).ok(),
            max_memory_clock_mhz: device.max_clock_info(Clock::Memory).ok(),
            power_limit_w: device.enforced_power_limit().ok().map(from_milli),
            nvlinks: nvlinks(&device),
        };
        Ok(Gpu { device, about })
    }

    fn power_w(&self) -> Option<f64> {
        let instant = || {
            let mut values = self
                .device
                .field_values_for(&[FieldId(NVML_FI_DEV_POWER_INSTANT)])
                .ok()?;
            match values.pop()?.ok()?.value.ok()? {
                SampleValue::U32(milliwatts) if milliwatts > 0 => Some(milliwatts),
                _ => None,
            }
        };
        instant()
            .or_else(|| self.device.power_usage().ok())
            .map(from_milli)
    }
}

impl Telemetry for Gpu {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&self) -> Reading {
        let device = &self.device;
        Reading {
            sm_clock_mhz: device.clock_info(Clock::SM).ok(),
            memory_clock_mhz: device.clock_info(Clock::Memory).ok(),
            temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
            power_w: self.power_w(),
            energy_j: device
                .total_energy_consumption()
                .ok()
                .map(|millijoules| millijoules as f64 / 1e3),
            throttled_by: device.current_throttle_reasons().ok().map(reasons),
            compute_processes: device.running_compute_processes_count().ok(),
        }
    }
}

/// How many NVLinks are active; `None` if NVML says of none whether it is.
fn nvlinks(device: &Device<'_>) -> Option<u32> {
    let states = (0..NVML_NVLINK_MAX_LINKS).map(|link| device.link_wrapper_for(link).is_active());
    let known: Vec<bool> = states.filter_map(Result::ok).collect();
    (!known.is_empty()).then(|| known.iter().filter(|is_active| **is_active).count() as u32)
}

fn from_milli(value: u32) -> f64 {
    f64::from(value) / 1e3
}

fn reasons(bits: ThrottleReasons) -> BTreeSet<ThrottleReason> {
    [
        (ThrottleReasons::GPU_IDLE, ThrottleReason::Idle),
        (
            ThrottleReasons::APPLICATIONS_CLOCKS_SETTING,
            ThrottleReason::ClocksSet,
        ),
        (ThrottleReasons::SW_POWER_CAP, ThrottleReason::PowerCap),
        (
            ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN,
            ThrottleReason::PowerBrake,
        ),
        (
            ThrottleReasons::SW_THERMAL_SLOWDOWN,
            ThrottleReason::SoftwareThermal,
        ),
        (
            ThrottleReasons::HW_THERMAL_SLOWDOWN,
            ThrottleReason::HardwareThermal,
        ),
        (
            ThrottleReasons::HW_SLOWDOWN,
            ThrottleReason::HardwareSlowdown,
        ),
        (ThrottleReasons::SYNC_BOOST, ThrottleReason::SyncBoost),
        (
            ThrottleReasons::DISPLAY_CLOCK_SETTING,
            ThrottleReason::Display,
        ),
    ]
    .into_iter()
    .filter(|(bit, _)| bits.contains(*bit))
    .map(|(_, reason)| reason)
    .collect()
}

/// The library, opened once and never closed.
fn library() -> Result<&'static Nvml, NoTelemetry> {
    static LIBRARY: OnceLock<Result<Nvml, NoTelemetry>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| open_first(&CANDIDATES))
        .as_ref()
        .map_err(Clone::clone)
}

fn open_first(candidates: &[&str]) -> Result<Nvml, NoTelemetry> {
    let mut reason = None;
    for candidate in candidates {
        match Nvml::builder().lib_path(candidate.as_ref()).init() {
            Ok(nvml) => return Ok(nvml),
            // Most likely the file does not exist; other errors are more specific.
            Err(NvmlError::LibloadingError(_)) => {}
            Err(error) => reason = Some(format!("{candidate} does not start: {error}")),
        }
    }
    Err(NoTelemetry {
        reason: reason.unwrap_or_else(|| "libnvidia-ml.so.1 not found".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_an_ordinary_answer() {
        let none = open_first(&["libno-such-nvml.so.1", "/no/such/libnvidia-ml.so.1"])
            .err()
            .unwrap();
        insta::assert_snapshot!(none, @"no telemetry: libnvidia-ml.so.1 not found");
    }

    #[test]
    fn every_bit_has_a_reason() {
        assert_eq!(reasons(ThrottleReasons::NONE), BTreeSet::new());
        assert_eq!(reasons(ThrottleReasons::all()).len(), 9);
        let both = ThrottleReasons::GPU_IDLE | ThrottleReasons::SW_POWER_CAP;
        let expected = [ThrottleReason::Idle, ThrottleReason::PowerCap];
        assert_eq!(reasons(both), expected.into());
    }
}
