//! Which bytes of a buffer launches read and wrote, for those who ask.

use std::ops::Range;

use super::writes::WrittenShadow;
use crate::fault::AccessKind;
use crate::request::{Request, Span};

/// What launches read and wrote of a buffer since
/// [`Machine::watch_accesses`](crate::Machine::watch_accesses): ranges of bytes from its start, in
/// order and apart. An atomic reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accessed {
    /// Bytes read.
    pub read: Vec<Range<u64>>,
    /// Bytes written.
    pub written: Vec<Range<u64>>,
}

/// The bytes of a buffer that were accessed: a bit each, marked by blocks that run in parallel.
#[derive(Debug)]
pub(crate) struct Footprint {
    read: WrittenShadow,
    written: WrittenShadow,
}

impl Footprint {
    pub(crate) fn new(bytes: u64) -> Footprint {
        Footprint {
            read: WrittenShadow::new(bytes),
            written: WrittenShadow::new(bytes),
        }
    }

    /// Notes an access to the buffer that starts at `base`; `span` is that of its addresses.
    pub(crate) fn note(&self, base: u64, request: &Request, span: &Span) {
        let mark = |bits: &WrittenShadow| {
            request.all_ranges(span, |address, bytes| {
                bits.mark(address - base, bytes);
                true
            });
        };
        if request.kind != AccessKind::Store {
            mark(&self.read);
        }
        if request.kind != AccessKind::Load {
            mark(&self.written);
        }
    }

    pub(crate) fn accessed(&self) -> Accessed {
        Accessed {
            read: self.read.ranges(),
            written: self.written.ranges(),
        }
    }
}
