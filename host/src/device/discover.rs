//! Which devices this machine has.

use super::{Device, DeviceError, EmulatedDevice};

/// The devices of one kind, or why there are none.
pub type Discovery = Result<Vec<Box<dyn Device>>, DeviceError>;

/// Every CUDA device of this machine.
///
/// # Errors
///
/// [`DeviceError::NoDevice`] with the reason: no driver, no GPU, a driver that does not start. Otherwise what the driver
/// answers.
#[cfg(target_os = "linux")]
pub fn discover() -> Discovery {
    let devices = super::CudaDevice::all()?;
    Ok(devices
        .into_iter()
        .map(|device| Box::new(device) as Box<dyn Device>)
        .collect())
}

/// Every CUDA device of this machine: none, since the driver is only looked for on Linux.
///
/// # Errors
///
/// Always [`DeviceError::NoDevice`].
#[cfg(not(target_os = "linux"))]
pub fn discover() -> Discovery {
    Err(DeviceError::NoDevice {
        reason: format!(
            "CUDA is used on Linux only, and this is {}",
            std::env::consts::OS
        ),
    })
}

/// The emulated device, which every machine has: one, with every check on.
///
/// # Errors
///
/// None.
pub fn emulated() -> Discovery {
    Ok(vec![Box::new(EmulatedDevice::default())])
}
