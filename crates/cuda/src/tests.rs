use device::EmulatedDevice;
use test_support::{Need, skip};

use super::*;

#[test]
fn an_emulated_device_has_none() {
    let emulated = EmulatedDevice::default();
    let none = telemetry(emulated.info()).err().unwrap();
    insta::assert_snapshot!(none, @"no telemetry: an emulated device has no clocks, and draws no power");
}

#[test]
fn a_gpu_without_a_place_cannot_be_found() {
    let mut info = EmulatedDevice::default().info().clone();
    info.kind = DeviceKind::Cuda;
    let none = telemetry(&info).err().unwrap();
    insta::assert_snapshot!(none, @"no telemetry: the driver does not say where on the bus the GPU is");
}

/// Where there is a GPU, it reports; where there is none, NVML is not found or knows no such GPU.
#[test]
fn a_gpu_reports() {
    let devices = match discover() {
        Ok(devices) => devices,
        Err(reason) => {
            skip(Need::Gpu, reason);
            let mut info = EmulatedDevice::default().info().clone();
            info.kind = DeviceKind::Cuda;
            info.pci_bus_id = Some("0000:ff:1f.7".to_owned());
            assert!(telemetry(&info).is_err());
            return;
        }
    };
    for device in devices {
        let telemetry = match telemetry(device.info()) {
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
