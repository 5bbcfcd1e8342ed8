//! Copies of large buffers between host and device, through page-locked memory.
//!
//! The driver copies pageable memory with one thread, at a few GB/s. Here a piece is on its way over the bus while all cores copy
//! the one before.

use cust::memory::LockedBuffer;
use cust::sys::{self, CUdeviceptr, CUstream};
use rayon::prelude::*;

use crate::device_error::DriverError;
use crate::driver::check;

/// Bytes of a piece.
const PIECE: usize = 32 << 20;
/// Bytes that a core copies at once.
const TASK: usize = 1 << 20;

/// Two pieces of page-locked memory.
#[derive(Debug)]
pub struct Staging {
    pieces: [LockedBuffer<u8>; 2],
}

/// Whether a copy of so many bytes is worth it.
pub fn is_large(bytes: usize) -> bool {
    bytes >= 2 * PIECE
}

impl Staging {
    /// Allocates the pieces. The context is current.
    pub fn new() -> Result<Staging, DriverError> {
        let piece = || {
            // SAFETY: what is read of a piece has been written before; any bytes are valid `u8`.
            let allocated = unsafe { LockedBuffer::uninitialized(PIECE) };
            check("cuMemAllocHost", allocated)
        };
        Ok(Staging {
            pieces: [piece()?, piece()?],
        })
    }

    /// Copies from the device, and waits.
    ///
    /// # Safety
    ///
    /// `from` is the address of `to.len()` bytes of the current context's device, which stay allocated.
    pub unsafe fn read(
        &mut self,
        to: &mut [u8],
        from: CUdeviceptr,
        stream: CUstream,
    ) -> Result<(), DriverError> {
        let mut pieces = to.chunks_mut(PIECE).enumerate();
        let mut landed: Option<(usize, &mut [u8])> = None;
        loop {
            let next = pieces.next();
            if let Some((number, part)) = &next {
                let piece = self.pieces[number % 2].as_mut_ptr().cast();
                let from = from + (number * PIECE) as u64;
                // SAFETY: the caller's; the piece is as long, and is read only after the stream has finished.
                let result = unsafe { sys::cuMemcpyDtoHAsync_v2(piece, from, part.len(), stream) };
                check("cuMemcpyDtoHAsync", result)?;
            }
            if let Some((number, part)) = landed.take() {
                copy(part, &self.pieces[number % 2]);
            }
            // SAFETY: the stream is the caller's.
            check("cuStreamSynchronize", unsafe {
                sys::cuStreamSynchronize(stream)
            })?;
            match next {
                None => return Ok(()),
                some => landed = some,
            }
        }
    }

    /// Copies to the device, and waits.
    ///
    /// # Safety
    ///
    /// `to` is the address of `from.len()` bytes of the current context's device, which stay allocated.
    pub unsafe fn write(
        &mut self,
        to: CUdeviceptr,
        from: &[u8],
        stream: CUstream,
    ) -> Result<(), DriverError> {
        for (number, part) in from.chunks(PIECE).enumerate() {
            let piece = &mut self.pieces[number % 2];
            // The piece before is on its way; the one before that has arrived.
            copy(piece, part);
            // SAFETY: the stream is the caller's.
            check("cuStreamSynchronize", unsafe {
                sys::cuStreamSynchronize(stream)
            })?;
            let (to, piece) = (to + (number * PIECE) as u64, piece.as_ptr().cast());
            // SAFETY: the caller's; the piece is as long, and is written again only after the stream has finished.
            let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, piece, part.len(), stream) };
            check("cuMemcpyHtoDAsync", result)?;
        }
        // SAFETY: the stream is the caller's.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(stream)
        })
    }
}

/// Copies as many bytes as the shorter has, on all cores.
fn copy(to: &mut [u8], from: &[u8]) {
    let pairs = to.par_chunks_mut(TASK).zip(from.par_chunks(TASK));
    pairs.for_each(|(to, from)| {
        let len = to.len().min(from.len());
        to[..len].copy_from_slice(&from[..len]);
    });
}
