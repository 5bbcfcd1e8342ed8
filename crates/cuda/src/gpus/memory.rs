//! The memory of a buffer, with or without guard bands around it.
//!
//! A GPU does not notice a write slightly out of bounds: it lands in whatever lies there. In a
//! guard band of known contents, it leaves a trace.

use std::ops::Range;

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::sys::CUdeviceptr;

use super::driver::stream::StreamRef;
use super::driver::{call, check};
use device::{DriverError, Side, Stray};

/// Length of each band. A multiple of every alignment that the driver gives, so that a buffer
/// between bands is aligned like one without; long enough for several rows of a stencil's field.
pub const BAND_BYTES: usize = 256 << 10;

/// The contents of all bands of one session.
#[derive(Debug)]
pub struct Bands {
    pub pattern: Vec<u8>,
}

impl Bands {
    /// Random bytes, which no kernel writes by chance.
    pub fn new() -> Bands {
        let mut pattern = vec![0; BAND_BYTES];
        fastrand::Rng::new().fill(&mut pattern);
        Bands { pattern }
    }
}

/// Memory of one buffer.
#[derive(Debug)]
pub struct Memory {
    all: DeviceBuffer<u8>,
    /// The buffer's part of it; the rest is bands.
    own: Range<usize>,
}

impl Memory {
    /// Allocates `bytes` bytes of undefined contents, between bands if there are any. The context
    /// is current.
    pub fn new(bytes: usize, bands: Option<&Bands>) -> Result<Memory, DriverError> {
        let band = bands.map_or(0, |bands| bands.pattern.len());
        // SAFETY: any bytes are valid `u8`, and the contents of this memory are stated to be
        // undefined.
        let allocated = unsafe { DeviceBuffer::uninitialized(bytes + 2 * band) };
        let memory = Memory {
            all: check("cuMemAlloc", allocated)?,
            own: band..band + bytes,
        };
        if let Some(bands) = bands {
            for (_, at) in memory.bands() {
                memory.write_all(at.start, &bands.pattern)?;
            }
        }
        Ok(memory)
    }

    /// Sets every byte of the buffer, and waits.
    pub fn fill(&self, byte: u8, stream: StreamRef<'_>) -> Result<(), DriverError> {
        // SAFETY: the memory has these bytes, and lives until the stream has finished: this
        // function waits.
        unsafe { call::fill(self.address(), byte, self.bytes(), stream) }?;
        stream.synchronize()
    }

    /// Copies the bytes of another buffer of this length and device, and waits.
    pub fn copy_from(&self, from: &Memory, stream: StreamRef<'_>) -> Result<(), DriverError> {
        assert_eq!(from.bytes(), self.bytes(), "both are of one buffer");
        // SAFETY: both memories have these bytes; they are two allocations, which live until the
        // stream has finished: this function waits.
        unsafe {
            call::copy_on_device(self.address(), from.address(), self.bytes(), stream)?;
        }
        stream.synchronize()
    }

    /// The address of `len` bytes of the buffer from `offset` on.
    ///
    /// # Panics
    ///
    /// If the buffer is shorter.
    pub fn address_of(&self, offset: usize, len: usize) -> CUdeviceptr {
        assert!(offset <= self.bytes() && len <= self.bytes() - offset);
        self.address() + offset as u64
    }

    /// Where the buffer starts.
    pub fn address(&self) -> CUdeviceptr {
        self.all.as_device_ptr().as_raw() + self.own.start as u64
    }

    /// The buffer's bytes.
    pub fn bytes(&self) -> usize {
        self.own.len()
    }

    /// Writes bytes of the buffer from `offset` on, and waits.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), DriverError> {
        self.write_all(self.own.start + offset, from)
    }

    /// Writes bytes of the buffer and its bands, from a place in both.
    fn write_all(&self, start: usize, from: &[u8]) -> Result<(), DriverError> {
        let to = self.all.index(start..start + from.len()).as_device_ptr();
        // SAFETY: the slice has as many bytes; nothing uses them until this function returns, as
        // for a copy by `cust`.
        unsafe { call::write(to.as_raw(), from) }
    }

    /// Reads bytes of the buffer from `offset` on.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), DriverError> {
        let start = self.own.start + offset;
        let copied = self.all.index(start..start + to.len()).copy_to(to);
        check("cuMemcpyDtoH", copied)
    }

    /// Writes to the bands around the buffer of this name, at most one for each band.
    pub fn strays(&self, name: &str, bands: &Bands) -> Result<Vec<Stray>, DriverError> {
        let mut strays = Vec::new();
        for (side, at) in self.bands() {
            let mut band = vec![0; at.len()];
            check("cuMemcpyDtoH", self.all.index(at).copy_to(&mut band))?;
            strays.extend(stray(name, side, &bands.pattern, &band));
        }
        Ok(strays)
    }

    fn bands(&self) -> [(Side, Range<usize>); 2] {
        [
            (Side::Before, 0..self.own.start),
            (Side::After, self.own.end..self.all.len()),
        ]
    }
}

/// The writes to a band, if there were any.
pub fn stray(buffer: &str, side: Side, pattern: &[u8], band: &[u8]) -> Option<Stray> {
    let differs = |i: &usize| pattern[*i] != band[*i];
    let bytes = (0..pattern.len()).filter(differs).count();
    let nearest = match side {
        Side::Before => (0..pattern.len())
            .rev()
            .find(differs)
            .map(|i| pattern.len() - i),
        Side::After => (0..pattern.len()).find(differs).map(|i| i + 1),
    };
    Some(Stray {
        buffer: buffer.to_owned(),
        side,
        distance_bytes: nearest? as u64,
        bytes: bytes as u64,
    })
}
