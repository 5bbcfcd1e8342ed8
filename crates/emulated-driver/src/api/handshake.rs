//! The answer that the CUDA runtime expects of a driver.
//!
//! The runtime asks the driver for a number over the process, the tables and the devices, and works
//! only with a driver that answers as NVIDIA's does. The number is an HMAC with MD2, and its key a
//! constant; both are those that ZLUDA's `dark_api` crate has found.

use md2::{Digest, Md2};

use crate::api::attributes;
use crate::api::device::CUDA_VERSION;
use crate::code::Outcome;
use crate::driver::with;
use crate::visible::uuid;

/// The key.
const KEY: [u8; 16] = [
    0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f,
];

/// Answers of runtimes that ask for no computation, by the last digit of their version.
const CONSTANT: [[u64; 2]; 2] = [
    [0x3341_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8],
    [0x1841_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8],
];

/// The number is over these, and over the devices.
pub(crate) struct Asked {
    /// The runtime's version and its time.
    pub(crate) version: u32,
    pub(crate) seconds: u64,
    /// Addresses: of the table "runtime interface", of the one that has this function, and of the
    /// function.
    pub(crate) addresses: [usize; 3],
}

/// The number.
pub(crate) fn answer(asked: &Asked) -> Outcome<[u64; 2]> {
    if let Some(constant) = CONSTANT.get((asked.version % 10) as usize) {
        return Ok(*constant);
    }
    // SAFETY: the function has no preconditions.
    let thread = unsafe { libc::pthread_self() } as u32;
    let numbers = [
        CUDA_VERSION as u32,
        asked.version,
        std::process::id(),
        thread,
    ];
    let mut text: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect();
    text.extend(
        asked
            .addresses
            .iter()
            .flat_map(|address| address.to_ne_bytes()),
    );
    text.extend(asked.seconds.to_ne_bytes());
    let devices: Vec<u32> =
        with(|driver| Ok(driver.devices.iter().map(|device| device.number).collect()))?;
    for number in devices {
        text.extend(uuid(number));
        // Domain, bus and device on the PCI bus, as the attributes say.
        text.extend(
            [0, attributes::bus(number), 0]
                .iter()
                .flat_map(|number: &i32| number.to_ne_bytes()),
        );
    }
    let digest = authenticated(&text);
    let (low, high) = digest.split_at(8);
    let half = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    Ok([half(low), half(high)])
}

/// HMAC (RFC 2104) with MD2 (RFC 1319), whose blocks have 16 bytes.
fn authenticated(text: &[u8]) -> [u8; 16] {
    let masked = |mask: u8| KEY.map(|byte| byte ^ mask);
    let inner = Md2::new()
        .chain_update(masked(0x36))
        .chain_update(text)
        .finalize();
    let outer = Md2::new().chain_update(masked(0x5c)).chain_update(inner);
    outer.finalize().into()
}
