//! How much is moved and computed.

use std::time::Duration;

use crate::device::DeviceInfo;
use crate::membench::MembenchError;

/// How much is moved and computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Multiprocessors to fill.
    pub multiprocessors: u32,
    /// Each buffer in device memory: a multiple of 16, much more than L2 holds.
    pub device_bytes: u64,
    /// Times that L2 and shared memory are read.
    pub passes: u32,
    /// Turns of the arithmetic's loop.
    pub turns: u32,
    /// Runs that are not timed take this long at least: clocks rise meanwhile.
    pub warm_up: Duration,
    /// Each sample is of so many runs that it takes about this long.
    pub sample: Duration,
    /// How many.
    pub samples: u32,
}

impl Options {
    /// All limits of a GPU together within two seconds; on a device of unknown size, hardly anything.
    pub fn for_device(info: &DeviceInfo) -> Options {
        let Some(multiprocessors) = info.multiprocessors else {
            return Options {
                multiprocessors: 1,
                device_bytes: 48 << 10,
                passes: 2,
                turns: 1,
                warm_up: Duration::ZERO,
                sample: Duration::ZERO,
                samples: 1,
            };
        };
        let memory = info.memory_bytes.unwrap_or(u64::MAX);
        Options {
            multiprocessors,
            device_bytes: (memory / 8).min(512 << 20) / 16 * 16,
            passes: 1024,
            turns: 512,
            warm_up: Duration::from_millis(20),
            sample: Duration::from_millis(5),
            samples: 11,
        }
    }

    pub(super) fn check(&self) -> Result<(), MembenchError> {
        let refused = |option, value: u64, reason: &str| {
            Err(MembenchError::Option {
                option,
                value,
                reason: reason.to_owned(),
            })
        };
        let numbers = [
            ("multiprocessors", self.multiprocessors),
            ("passes", self.passes),
            ("turns", self.turns),
            ("samples", self.samples),
        ];
        if let Some((option, _)) = numbers.into_iter().find(|(_, number)| *number == 0) {
            return refused(option, 0, "at least 1");
        }
        let bytes = self.device_bytes;
        if bytes == 0 || !bytes.is_multiple_of(16) || bytes >= 1 << 34 {
            let reason = "a multiple of 16, above 0 and below 17179869184";
            return refused("device_bytes", bytes, reason);
        }
        Ok(())
    }
}
