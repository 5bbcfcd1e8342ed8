//! Devices: their number, names and attributes; errors' names.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};

use crate::api::attributes;
use crate::call::{put, put_if_wanted, text};
use crate::code::{self, Code, Outcome};
use crate::driver::{self, DEVICE_BYTES, with};
use crate::settings::Settings;
use crate::visible::uuid;

/// The version of CUDA that the driver supports, as 1000 * major + 10 * minor.
pub(crate) const CUDA_VERSION: c_int = 13050;

/// Device names say that nothing here is a GPU.
fn name() -> CString {
    let (major, minor) = Settings::get().capability();
    let name = format!("ptx-emu (emulated, compute capability {major}.{minor})");
    CString::new(name).unwrap_or_default()
}

/// The number among all devices of one that the program sees.
fn known(device: c_int) -> Outcome<u32> {
    with(|driver| Ok(driver.device(device)?.number))
}

/// Writes a text, cut to the room that there is.
///
/// # Safety
///
/// `to` has room for `room` bytes.
unsafe fn put_text(to: *mut c_char, room: c_int, text: &CStr) -> Outcome {
    let room = usize::try_from(room).map_err(|_| Code::INVALID_VALUE)?;
    if to.is_null() || room == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let bytes = text.to_bytes();
    let kept = bytes.len().min(room - 1);
    // SAFETY: `kept` bytes and a NUL are at most `room`.
    unsafe {
        to.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), kept);
        to.add(kept).write(0);
    }
    Ok(())
}

/// Two devices that exist and differ.
fn two(one: c_int, other: c_int) -> Outcome<bool> {
    known(one)?;
    known(other)?;
    Ok(one != other)
}

driver_api! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        driver::start()
    }
    fn cuDriverGetVersion(to: *mut c_int) { put(to, CUDA_VERSION) }
    fn cuDeviceGet(to: *mut c_int, number: c_int) { known(number)?; put(to, number) }
    fn cuDeviceGetCount(to: *mut c_int) { put(to, with(|driver| Ok(driver.devices.len() as c_int))?) }
    fn cuDeviceGetName(to: *mut c_char, room: c_int, device: c_int) { known(device)?; put_text(to, room, &name()) }
    fn cuDeviceGetUuid(to: *mut [u8; 16], device: c_int) { put(to, uuid(known(device)?)) }
    fn cuDeviceGetUuid_v2(to: *mut [u8; 16], device: c_int) { put(to, uuid(known(device)?)) }
    fn cuDeviceTotalMem(to: *mut usize, device: c_int) { known(device)?; put(to, DEVICE_BYTES as usize) }
    fn cuDeviceTotalMem_v2(to: *mut usize, device: c_int) { known(device)?; put(to, DEVICE_BYTES as usize) }
    fn cuDeviceGetAttribute(to: *mut c_int, attribute: c_int, device: c_int) {
        put(to, attributes::of(attribute, known(device)?)?)
    }
    fn cuDeviceGetProperties(to: *mut [c_int; 13], device: c_int) {
        let number = known(device)?;
        let of = |attribute| attributes::of(attribute, number).unwrap_or(0);
        put(to, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map(of))?;
        // The structure has the texture alignment as its last member.
        put(to.cast::<c_int>().add(13), of(14))
    }
    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        known(device)?;
        let own = Settings::get().capability();
        put(major, own.0 as c_int)?;
        put(minor, own.1 as c_int)
    }
    fn cuDeviceGetPCIBusId(to: *mut c_char, room: c_int, device: c_int) {
        let bus = attributes::bus(known(device)?);
        let text = CString::new(format!("0000:{bus:02X}:00.0")).unwrap_or_default();
        put_text(to, room, &text)
    }
    fn cuDeviceGetByPCIBusId(to: *mut c_int, id: *const c_char) {
        let id = text(id)?;
        let bus = id.split(':').rev().nth(1).and_then(|bus| c_int::from_str_radix(bus, 16).ok()).ok_or(Code::INVALID_VALUE)?;
        let device = with(|driver| {
            let mut devices = driver.devices.iter();
            let at = devices.position(|device| attributes::bus(device.number) == bus);
            at.ok_or(Code::INVALID_DEVICE)
        })?;
        put(to, device as c_int)
    }
    fn cuDeviceCanAccessPeer(to: *mut c_int, device: c_int, peer: c_int) {
        put(to, two(device, peer)?.into())
    }
    fn cuDeviceGetP2PAttribute(to: *mut c_int, attribute: c_int, from: c_int, device: c_int) {
        if !two(from, device)? {
            return Err(Code::INVALID_DEVICE);
        }
        put(to, match attribute {
            // Rank, access, native atomics; no access to arrays.
            1..=3 => 1,
            _ => 0,
        })
    }
    fn cuDeviceGetExecAffinitySupport(to: *mut c_int, _kind: c_int, device: c_int) { known(device)?; put(to, 0) }
    fn cuGetErrorName(error: c_int, to: *mut *const c_char) { described(to, code::name(error)) }
    fn cuGetErrorString(error: c_int, to: *mut *const c_char) { described(to, code::description(error)) }
    fn cuProfilerInitialize(_config: *const c_char, _output: *const c_char, _mode: c_int) { Ok(()) }
    fn cuProfilerStart() { Ok(()) }
    fn cuProfilerStop() { Ok(()) }
    fn cuFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) { Ok(()) }
}

/// Writes a text that lives as long as the library; none for an unknown result.
///
/// # Safety
///
/// As [`put`].
unsafe fn described(to: *mut *const c_char, text: Option<&'static CStr>) -> Outcome {
    let Some(text) = text else {
        // SAFETY: the caller promises it.
        unsafe { put_if_wanted(to, std::ptr::null()) };
        return Err(Code::INVALID_VALUE);
    };
    // SAFETY: the caller promises it.
    unsafe { put(to, text.as_ptr()) }
}
