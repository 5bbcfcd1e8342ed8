//! Clocks, throttling, temperature, power and energy of a GPU, beside what is measured on it.
//!
//! A [`Telemetry`] is read at any time, from any thread: [`open`] finds that of a CUDA device through NVML, whose library
//! (`libnvidia-ml.so.1`) belongs to the driver and is opened when first needed. Without it there is no telemetry, which is
//! an ordinary answer ([`NoTelemetry`]); with it, each quantity that a GPU does not report is `None`. A [`Recorder`] reads
//! one at regular times, in a thread of its own, until it is stopped.

#[cfg(target_os = "linux")]
mod nvml;
mod reading;
mod recorder;

use thiserror::Error;

use crate::device::{DeviceInfo, DeviceKind};

pub use reading::{About, Reading, ThrottleReason};
pub use recorder::{Recorder, Sample, Trace};

/// What reports on one GPU.
pub trait Telemetry: Send + Sync {
    /// What does not change while it runs.
    fn about(&self) -> &About;

    /// What it reports now.
    fn read(&self) -> Reading;
}

/// Why nothing reports on a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no telemetry: {reason}")]
pub struct NoTelemetry {
    /// In words for the user.
    pub reason: String,
}

/// The telemetry of a device: the GPU at the same place on the bus.
///
/// # Errors
///
/// [`NoTelemetry`]: the emulated device, no NVML, a GPU that NVML does not know.
pub fn open(device: &DeviceInfo) -> Result<Box<dyn Telemetry>, NoTelemetry> {
    let none = |reason: &str| NoTelemetry {
        reason: reason.to_owned(),
    };
    if device.kind == DeviceKind::Emulated {
        return Err(none("an emulated device has no clocks, and draws no power"));
    }
    let Some(pci_bus_id) = &device.pci_bus_id else {
        return Err(none("the driver does not say where on the bus the GPU is"));
    };
    #[cfg(target_os = "linux")]
    {
        Ok(Box::new(nvml::Gpu::find(pci_bus_id)?))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pci_bus_id;
        Err(none("NVML is used on Linux only"))
    }
}

#[cfg(test)]
mod tests {
    use test_support::{Need, skip};

    use super::*;
    use crate::Device;
    use crate::device::EmulatedDevice;

    #[test]
    fn an_emulated_device_has_none() {
        let emulated = EmulatedDevice::default();
        let none = open(emulated.info()).err().unwrap();
        insta::assert_snapshot!(none, @"no telemetry: an emulated device has no clocks, and draws no power");
    }

    #[test]
    fn a_gpu_without_a_place_cannot_be_found() {
        let mut info = EmulatedDevice::default().info().clone();
        info.kind = DeviceKind::Cuda;
        let none = open(&info).err().unwrap();
        insta::assert_snapshot!(none, @"no telemetry: the driver does not say where on the bus the GPU is");
    }

    /// Where there is a GPU, it reports; where there is none, NVML is not found or knows no such GPU.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_gpu_reports() {
        let devices = match crate::device::discover() {
            Ok(devices) => devices,
            Err(reason) => {
                skip(Need::Gpu, reason);
                let mut info = EmulatedDevice::default().info().clone();
                info.kind = DeviceKind::Cuda;
                info.pci_bus_id = Some("0000:ff:1f.7".to_owned());
                assert!(open(&info).is_err());
                return;
            }
        };
        for device in devices {
            let telemetry = match open(device.info()) {
                Ok(telemetry) => telemetry,
                Err(none) => return skip(Need::Gpu, none),
            };
            assert!(
                telemetry.about().driver.is_some(),
                "{:?}",
                telemetry.about()
            );
            let reading = telemetry.read();
            let clock = reading.sm_clock_mhz.expect("every GPU tells its clock");
            assert!((100..5000).contains(&clock), "{reading:?}");
            if let Some(celsius) = reading.temperature_c {
                assert!((5..120).contains(&celsius), "{reading:?}");
            }
            if let Some(watts) = reading.power_w {
                assert!((1.0..2000.0).contains(&watts), "{reading:?}");
            }
        }
    }
}
