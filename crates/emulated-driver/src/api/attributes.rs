//! The attributes of the devices: those of an H100, as far as the emulator has them. What differs
//! by compute capability is that of the device's own.

use std::ffi::c_int;

use crate::code::{Code, Outcome};
use crate::objects::launch::DEFAULT_SHARED_BYTES;
use crate::settings::Settings;

/// Registers of a multiprocessor.
pub(crate) const REGISTERS: c_int = 65536;

/// The number of a device's bus.
pub(crate) fn bus(number: u32) -> c_int {
    number as c_int + 1
}

/// The value of an attribute, which has the number of `CUdevice_attribute`, of the device with this
/// number among all.
pub(crate) fn of(attribute: c_int, number: u32) -> Outcome<c_int> {
    with(Settings::get(), attribute, number)
}

/// [`of`], with these settings.
fn with(settings: &Settings, attribute: c_int, number: u32) -> Outcome<c_int> {
    let limits = settings.limits();
    let (major, minor) = settings.capability();
    Ok(match attribute {
        1 => limits.threads_per_block as c_int,
        2..=4 => limits.block[attribute as usize - 2] as c_int,
        5..=7 => limits.grid[attribute as usize - 5] as c_int,
        // Of a block: shared memory, registers; constant memory, lanes of a warp, largest pitch.
        8 => DEFAULT_SHARED_BYTES as c_int,
        9 => 65536,
        10 => 32,
        11 => c_int::MAX,
        12 | 82 => REGISTERS,
        // Clocks in kHz, bits of the bus: those of the GPU, since programs divide by them.
        13 => 1_980_000,
        36 => 2_619_000,
        37 => 5120,
        14 => 512,
        30 => 512,
        51 => 32,
        16 => limits.multiprocessors as c_int,
        38 => 50 << 20,
        // Of L2: what may persist, and the window for it.
        108 => 32 << 20,
        109 => 128 << 20,
        39 => limits.threads_per_multiprocessor as c_int,
        81 => limits.shared_bytes_per_multiprocessor as c_int,
        97 => limits.shared_bytes as c_int,
        106 => limits.blocks_per_multiprocessor as c_int,
        111 => limits.reserved_shared_bytes as c_int,
        75 => major as c_int,
        76 => minor as c_int,
        120 => c_int::from(limits.cluster_blocks > 1),
        33 => bus(number),
        // Copy engines; ratio of f32 to f64 speed.
        40 => 3,
        87 => 2,
        // Extents of textures and surfaces, which arrays may have too.
        21..=23 | 56 | 69..=71 => 131_072,
        24..=26 | 58..=60 => 16384,
        27 | 28 | 42 | 45 | 46 | 52 | 53 | 55 | 61 | 63 | 64 | 66 | 67 | 73 | 74 | 77 => 32768,
        29 | 43 | 62 | 65 => 2048,
        54 | 68 => 2046,
        47 | 48 => 8192,
        49 => 32768,
        57 => 65536,
        72 => 2_097_120,
        // Host memory is mapped, registered memory at its own address, and managed memory used by
        // both at once; waits of streams; cooperative launches, clusters, pools of memory,
        // priorities, preemption.
        15 | 19 | 31 | 41 | 78 | 79 | 80 | 83 | 89 | 90 | 91 | 92 | 93 | 94 | 95 | 99 | 101
        | 115 | 122 | 123 => 1,
        126 => 1,
        // Tensor maps.
        127 => c_int::from(major >= 9),
        // The emulator does not have these, and no program misses these modes.
        17
        | 18
        | 20
        | 32
        | 34
        | 35
        | 44
        | 50
        | 84..=86
        | 88
        | 96
        | 98
        | 100
        | 102..=105
        | 107
        | 110
        | 112..=114
        | 116..=119
        | 121
        | 124
        | 125
        | 128..=200 => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a T4, an A10 and the default (CUDA C++ Programming Guide, "Compute Capabilities").
    #[test]
    fn room_is_that_of_the_compute_capability() {
        let all = |text: &str| {
            let name = "EMULATED_DRIVER_COMPUTE_CAPABILITY";
            let (settings, problems) = Settings::read(|asked| (asked == name).then(|| text.into()));
            assert_eq!(problems, [""; 0]);
            // Threads, blocks and shared memory of a multiprocessor, shared memory of a block and
            // its reserved part, capability, clusters.
            [39, 106, 81, 97, 111, 75, 76, 120]
                .map(|attribute| with(&settings, attribute, 0).unwrap())
        };
        assert_eq!(all("7.5"), [1024, 16, 65536, 65536, 0, 7, 5, 0]);
        assert_eq!(all("8.6"), [1536, 16, 102_400, 101_376, 1024, 8, 6, 0]);
        assert_eq!(all(""), [2048, 32, 233_472, 232_448, 1024, 9, 0, 1]);
    }
}
