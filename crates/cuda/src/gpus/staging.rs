//! Copies of large buffers between host and device, through page-locked memory.
//!
//! The driver copies pageable memory with one thread, at a few GB/s. Here a piece is on its way
//! over the bus while all cores copy the one before.

use std::ops::Range;

use cust::memory::LockedBuffer;
use rayon::prelude::*;

use super::driver::stream::StreamRef;
use super::driver::{call, check};
use super::memory::Memory;
use device::DriverError;

/// Bytes of a piece.
const PIECE: usize = 32 << 20;
/// Bytes that a core copies at once.
const TASK: usize = 1 << 20;

/// Two pieces of page-locked memory.
#[derive(Debug)]
pub struct Staging {
    pieces: [LockedBuffer<u8>; 2],
}

/// Whether a copy of this length is worth it.
pub fn is_large(bytes: usize) -> bool {
    bytes >= 2 * PIECE
}

impl Staging {
    /// Allocates the pieces. The context is current.
    pub fn new() -> Result<Staging, DriverError> {
        let piece = || {
            // SAFETY: any bytes are valid `u8`, and a piece is written before it is read.
            let allocated = unsafe { LockedBuffer::uninitialized(PIECE) };
            check("cuMemAllocHost", allocated)
        };
        Ok(Staging {
            pieces: [piece()?, piece()?],
        })
    }

    /// Copies from a buffer of the current context's device, from `offset` on, and waits.
    pub fn read(
        &mut self,
        to: &mut [u8],
        memory: &Memory,
        offset: usize,
        stream: StreamRef<'_>,
    ) -> Result<(), DriverError> {
        self.arriving(to.len(), memory, offset, stream, |at, piece| {
            copy(&mut to[at], piece);
            true
        })?;
        Ok(())
    }

    /// Whether a buffer of the current context's device has these bytes from `offset` on. Waits.
    pub fn holds(
        &mut self,
        expected: &[u8],
        memory: &Memory,
        offset: usize,
        stream: StreamRef<'_>,
    ) -> Result<bool, DriverError> {
        self.arriving(expected.len(), memory, offset, stream, |at, piece| {
            let pairs = expected[at].par_chunks(TASK).zip(piece.par_chunks(TASK));
            pairs.into_par_iter().all(|(right, got)| right == got)
        })
    }

    /// Gives each piece of `len` bytes of a buffer to `landed`, with its place among them, while
    /// the next one is on its way. Ends where `landed` wants no more: whether it wanted all. The
    /// pieces, which kernels can read, are overwritten afterwards.
    fn arriving(
        &mut self,
        len: usize,
        memory: &Memory,
        offset: usize,
        stream: StreamRef<'_>,
        landed: impl FnMut(Range<usize>, &[u8]) -> bool,
    ) -> Result<bool, DriverError> {
        let arrived = self.by_pieces(len, memory, offset, stream, landed);
        for piece in &mut self.pieces {
            piece.par_chunks_mut(TASK).for_each(|part| part.fill(0));
        }
        arrived
    }

    fn by_pieces(
        &mut self,
        len: usize,
        memory: &Memory,
        offset: usize,
        stream: StreamRef<'_>,
        mut landed: impl FnMut(Range<usize>, &[u8]) -> bool,
    ) -> Result<bool, DriverError> {
        let mut before: Option<(usize, Range<usize>)> = None;
        let mut starts = (0..len).step_by(PIECE).enumerate();
        loop {
            let next = starts
                .next()
                .map(|(number, start)| (number, start..len.min(start + PIECE)));
            if let Some((number, at)) = &next {
                let piece = &mut self.pieces[number % 2][..at.len()];
                let from = memory.address_of(offset + at.start, at.len());
                // SAFETY: `address_of` has checked the bytes. Memory and piece live until the
                // stream has finished, and nothing accesses the piece before: this loop waits
                // below.
                unsafe { call::copy_to_host(piece, from, stream) }?;
            }
            let wants_more = before.take().is_none_or(|(number, at)| {
                let piece = &self.pieces[number % 2][..at.len()];
                landed(at, piece)
            });
            stream.synchronize()?;
            match next {
                _ if !wants_more => return Ok(false),
                None => return Ok(true),
                some => before = some,
            }
        }
    }

    /// Copies to a buffer of the current context's device, from `offset` on, and waits.
    pub fn write(
        &mut self,
        memory: &Memory,
        offset: usize,
        from: &[u8],
        stream: StreamRef<'_>,
    ) -> Result<(), DriverError> {
        for (number, part) in from.chunks(PIECE).enumerate() {
            let piece = &mut self.pieces[number % 2];
            // The piece before is on its way; the one before that has arrived.
            copy(piece, part);
            stream.synchronize()?;
            let to = memory.address_of(offset + number * PIECE, part.len());
            // SAFETY: `address_of` has checked the bytes. Memory and piece live until the stream
            // has finished, and nothing writes the piece before: this function waits above and at
            // its end.
            unsafe { call::copy_from_host(to, &piece[..part.len()], stream) }?;
        }
        stream.synchronize()
    }
}

/// Copies as many bytes as the shorter has, on all cores.
fn copy(to: &mut [u8], from: &[u8]) {
    let pairs = to.par_chunks_mut(TASK).zip(from.par_chunks(TASK));
    pairs.for_each(|(into, part)| {
        let len = into.len().min(part.len());
        into[..len].copy_from_slice(&part[..len]);
    });
}
