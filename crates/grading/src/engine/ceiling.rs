//! The shortest time that can be believed.
//!
//! Any solution reads the lab's inputs once and writes its outputs once. What of that does not fit
//! L2 crosses the bus to device memory; all of it crosses L2. Most operations of the scheme cannot
//! be saved either. Each bound is generous: a time below it means that the work was not done, or
//! that a clock is wrong.

use device::{Device, DeviceKind, Element, NamedBuffers};

/// No access pattern is faster than the copy by more than this.
const OVER_COPY: f64 = 1.25;
/// L2 is faster than device memory, but not by more than this.
const L2_OVER_COPY: f64 = 6.0;
/// Clever algebra saves some operations, but not more than half.
const SAVED_FLOPS: f64 = 0.5;

/// A device's highest rates; of several as one, all together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// Device memory, in bytes read and written per second.
    pub copy_bytes_per_s: f64,
    /// Size of L2.
    pub l2_bytes: u64,
    /// Multiprocessors times their clock, in Hz.
    pub multiprocessor_hz: Option<f64>,
}

impl Ceiling {
    /// Of a device that copies so fast, which may be several as one. `None` for the emulated
    /// device, whose time means nothing.
    pub fn new(device: &dyn Device, copy_bytes_per_s: f64) -> Option<Ceiling> {
        let info = device.info();
        if info.kind == DeviceKind::Emulated {
            return None;
        }
        let clock = info.multiprocessors.zip(info.clock_khz);
        Some(Ceiling {
            copy_bytes_per_s,
            l2_bytes: u64::from(device.count()) * info.l2_bytes.unwrap_or(0),
            multiprocessor_hz: clock
                .map(|(count, khz)| f64::from(count) * f64::from(khz) * 1e3)
                .map(|hz| f64::from(device.count()) * hz),
        })
    }

    /// The shortest time, in seconds, in which the device can move these bytes and do these
    /// operations on elements of this type.
    pub fn shortest_s(&self, bytes: u64, flops: u64, element: Element) -> f64 {
        let memory =
            bytes.saturating_sub(self.l2_bytes) as f64 / (OVER_COPY * self.copy_bytes_per_s);
        let l2 = bytes as f64 / (L2_OVER_COPY * self.copy_bytes_per_s);
        // Lanes of a multiprocessor since compute capability 7.0, each with a fused multiply-add a
        // clock.
        let lanes = match element {
            Element::F32 => Some(128.0),
            Element::F64 => Some(64.0),
            _ => None,
        };
        let arithmetic = lanes
            .zip(self.multiprocessor_hz)
            .map_or(0.0, |(lanes, hz)| {
                SAVED_FLOPS * flops as f64 / (2.0 * lanes * hz)
            });
        memory.max(l2).max(arithmetic)
    }
}

/// Bytes that any solution moves: its inputs, read once, and its outputs, written once.
pub fn necessary_bytes(inputs: &NamedBuffers, outputs: &NamedBuffers) -> u64 {
    let bytes = |buffers: &NamedBuffers| -> u64 {
        buffers.iter().map(|(_, b)| b.bytes().len() as u64).sum()
    };
    bytes(inputs) + bytes(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: Ceiling = Ceiling {
        copy_bytes_per_s: 3e12,
        l2_bytes: 50_000_000,
        multiprocessor_hz: Some(132.0 * 1.98e9),
    };

    fn near(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn memory_bounds_what_does_not_fit_l2() {
        near(H100.shortest_s(3_800_000_000, 0, Element::U32), 1e-3);
    }

    #[test]
    fn l2_bounds_what_fits() {
        near(H100.shortest_s(36_000_000, 0, Element::F32), 2e-6);
    }

    #[test]
    fn arithmetic_bounds_what_stays_on_chip() {
        // 67 Tflop/s in f32, half as many in f64.
        let f32 = H100.shortest_s(1, 1_000_000_000_000, Element::F32);
        let f64 = H100.shortest_s(1, 1_000_000_000_000, Element::F64);
        near(f32, 0.5e12 / (2.0 * 128.0 * 132.0 * 1.98e9));
        near(f64, 2.0 * f32);
    }
}
