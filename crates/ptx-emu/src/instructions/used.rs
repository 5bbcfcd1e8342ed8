//! Vector loads whose last elements nothing uses.
//!
//! A compiler may load more than the source does, if it knows that the rest has memory: the
//! elements behind an array's end share the 16 bytes, and so the page, of those before it. A
//! pragma, `used_bytes_mask`, says which bytes of the load are used (PTX ISA, "Pragma strings").
//! The others may be beyond a buffer, which a GPU does not notice.

use super::memory::Load;
use crate::fault::{AccessKind, Stop};
use crate::registers::{Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next};
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

/// A load that has bytes which nothing uses.
#[derive(Debug)]
pub(super) struct LoadUsed {
    whole: Load,
    /// Loads of its elements up to the last that is used, where the whole would leave a buffer.
    parts: Box<[Load]>,
}

impl LoadUsed {
    /// A load, and the bytes that are used of it, a bit each.
    pub(super) fn new(whole: Load, used: u32) -> Self {
        let bytes = whole.elements.bytes;
        let used_elements = (u32::BITS - used.leading_zeros()).div_ceil(bytes);
        let count = (used_elements as usize).min(whole.elements.registers.len());
        let part = |index: usize| {
            let mut part = whole.clone();
            part.access.address.offset += index as i64 * i64::from(bytes);
            part.access.width = bytes;
            part.elements.registers = Box::new([whole.elements.registers[index]]);
            part
        };
        Self {
            parts: (0..count).map(part).collect(),
            whole,
        }
    }
}

/// Whether some lane's access leaves the buffer that it begins in.
fn leaves_a_buffer(runner: &BlockRunner, request: &Request, span: &Span) -> bool {
    let (memory, width) = (runner.launch.memory, u64::from(request.width));
    let bytes = (span.max - span.min).checked_add(width);
    let is_whole = bytes.is_some_and(|bytes| memory.find(span.min, bytes).is_some());
    !is_whole
        && lanes(request.mask).any(|lane| {
            let address = request.addresses[lane];
            let buffer = memory.find(address, 1);
            buffer.is_some_and(|buffer| !buffer.holds(address, width))
        })
}

impl Execute for LoadUsed {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let (address, width) = (&self.whole.access.address, self.whole.access.width);
        let addresses = warp.registers.addresses(address);
        let mask = at.active;
        let request = Request::weak(AccessKind::Load, &addresses, mask, width, at.pc, warp.index);
        let span = Span::of(&addresses, mask, width);
        if !leaves_a_buffer(runner, &request, &span) {
            return self.whole.execute(runner, warp, at);
        }
        runner.check_alignment(&request, &span, None)?;
        for part in &self.parts {
            part.execute(runner, warp, at)?;
        }
        Ok(Next::Step)
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        for load in std::iter::once(&mut self.whole).chain(&mut self.parts) {
            load.track(shadow, is_late);
        }
    }

    fn is_quiet(&self) -> bool {
        self.whole.is_quiet()
    }

    fn element_bytes(&self) -> Option<u32> {
        self.whole.element_bytes()
    }
}
