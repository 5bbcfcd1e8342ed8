//! What instructions of memory are made of.

use ptx::Space;

use super::Flag;
use crate::ops::atomic::Update;
use crate::registers::Slot;

/// Where an access goes: a row of addresses, plus an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// A 64-bit row, or a 32-bit one that is zero-extended.
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// `ld` or `st`.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// Bytes of an element.
    pub(crate) bytes: u32,
    /// Elements are sign-extended to the register.
    pub(crate) signed: bool,
    /// Registers loaded or stored, consecutive in memory.
    pub(crate) elements: Box<[Option<Slot>]>,
    /// Not weak: may meet other strong accesses without a race.
    pub(crate) strong: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    /// Through the read-only path.
    pub(crate) non_coherent: bool,
    /// Index of this instruction's memory counts.
    pub(crate) tally: u32,
}

impl Access {
    /// Bytes that one lane moves.
    pub(crate) fn width(&self) -> u32 {
        self.bytes * self.elements.len() as u32
    }
}

/// `atom` or `red`.
#[derive(Clone, Debug)]
pub(crate) struct AtomicAccess {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) update: Update,
    pub(crate) dst: Option<Slot>,
    pub(crate) b: Slot,
    pub(crate) c: Option<Slot>,
    pub(crate) release: bool,
    pub(crate) tally: u32,
}

/// `cp.async`.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) dst: Address,
    pub(crate) src: Address,
    pub(crate) bytes: u32,
    pub(crate) src_bytes: Option<Slot>,
    pub(crate) ignore_src: Option<Flag>,
    pub(crate) tally: u32,
}
