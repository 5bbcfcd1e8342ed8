//! Device memory: buffers at 64-bit addresses.
//!
//! # Soundness under races
//!
//! Blocks run on several host threads and may access the same bytes. A buffer is a sequence of
//! `AtomicU32`, and every access is one or more relaxed atomic accesses to whole words, so that a
//! race in the PTX program is never one in ours. 8- and 16-bit stores are compare-and-swap loops on
//! their word. A 64-bit access is two words: weak ones may tear under a race (as PTX allows),
//! strong and atomic ones are made under a lock.
//!
//! The words of a buffer are its own, or memory that the host uses under the same address.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use super::{
    CONST_WINDOW, GLOBAL_BASE, NULL_LIMIT, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES, Words,
    byte_mask,
};
use crate::check::footprint::{Accessed, Footprint, PageAccess};
use crate::check::race::{PAGE, RaceShadow, Saved};
use crate::check::writes::WrittenShadow;
use crate::request::{Request, Span};

/// Buffers start at multiples of this. The CUDA guide promises 256; drivers give 512.
const ALIGNMENT: u64 = 512;
/// Buffers of as many bytes or more start at multiples of the second number, as drivers give them:
/// programs that align within a large allocation count on it.
const LARGE: (u64, u64) = (1 << 20, 2 << 20);
/// At least this many bytes between two buffers belong to no buffer.
pub const GUARD_BYTES: u64 = 64 << 10;
/// Chance adds fewer than this many [`ALIGNMENT`]s to the gap between two buffers.
const GAP: u64 = 2048;
/// The first buffer lies above [`GLOBAL_BASE`] at a multiple of the first number; the factor is
/// below the second.
const FIRST: (u64, u64) = (2 << 20, 4096);
/// Locks that 64-bit atomics share.
const LOCKS: usize = 64;

/// Buffers that the host uses too start at multiples of this, the largest page of any Linux, and
/// have their pages to themselves.
const PAGE_BYTES: u64 = 64 << 10;

/// Buffers of as many bytes start at multiples of this.
fn alignment(bytes: u64) -> u64 {
    let (least, alignment) = LARGE;
    if bytes < least { ALIGNMENT } else { alignment }
}

/// The memory behind a buffer.
#[derive(Debug)]
enum Memory {
    Own(Box<[AtomicU32]>),
    Shared(&'static [AtomicU32]),
}

impl Deref for Memory {
    type Target = [AtomicU32];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            Self::Own(words) => words,
            Self::Shared(words) => words,
        }
    }
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Offsets count from here: a multiple of [`ALIGNMENT`].
    pub(crate) base: u64,
    /// The address of its first byte. Memory that the host has chosen may lie behind the base.
    pub(crate) start: u64,
    /// From the base to its end.
    pub(crate) bytes: u64,
    pub(crate) name: String,
    /// Stores are faults.
    pub(crate) read_only: bool,
    words: Memory,
    pub(crate) written: WrittenShadow,
    pub(crate) races: RaceShadow,
    /// The accesses of launches, while they are watched.
    footprint: Option<Footprint>,
}

impl Buffer {
    /// Every word of the buffer, the last one perhaps only partly inside.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// Whether all of `bytes` bytes at an address belong to it.
    #[inline(always)]
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        address >= self.start && offset <= self.bytes && bytes <= self.bytes - offset
    }

    /// The bytes from its first one to an offset.
    pub(crate) fn place(&self, offset: u64) -> u64 {
        offset - (self.start - self.base)
    }

    /// The bits of a word that belong to it.
    fn own_bits(&self, index: u64) -> u32 {
        let before = (self.start - self.base).saturating_sub(4 * index).min(4) as u32;
        let inside = self.bytes.saturating_sub(4 * index).min(4) as u32;
        (byte_mask(inside) & !byte_mask(before)) as u32
    }

    /// The content of a page of the race check's shadow, for a launch with granules of these bytes.
    pub(crate) fn content(&self, page: u64, granule: u32) -> Saved {
        let bytes = PAGE * u64::from(granule);
        let range = page * bytes..((page + 1) * bytes).min(self.bytes);
        let words = (range.start / 4) as usize..(range.end.div_ceil(4) as usize);
        let mut saved = Saved::new(range.start);
        let words = &self.words[words];
        saved.words = words.iter().map(|word| word.load(Relaxed)).collect();
        saved.written = self.written.words(range);
        saved
    }

    /// Puts a page's content back, if it is saved and to be, and forgets it.
    fn settle(&self, page: u64, is_undone: bool) {
        let mut guard = self.races.lock(page);
        let Some(saved) = guard.take_saved().filter(|_| is_undone) else {
            return;
        };
        for (index, &content) in (saved.start / 4..).zip(&saved.words) {
            let mut buffer = self;
            buffer.set_word(0, index as usize, self.own_bits(index), content);
        }
        let end = saved.start + 4 * saved.words.len() as u64;
        self.written.set_words(saved.start..end, &saved.written);
    }

    /// Notes an access, if accesses are watched. `span` is that of its addresses.
    #[inline(always)]
    pub(crate) fn note(&self, request: &Request, span: &Span) {
        if let Some(footprint) = &self.footprint {
            footprint.note(request, span);
        }
    }

    /// Reads, modifies and writes a location atomically; gives the old value.
    fn update(&self, offset: u64, bytes: u32, new: impl Fn(u64) -> u64) -> u64 {
        let word = &self.words[(offset >> 2) as usize];
        let shift = 8 * (offset & 3);
        let mask = (byte_mask(bytes) << shift) as u32;
        let value = |bits: u32| u64::from((bits & mask) >> shift);
        let step = |old: u32| Some((old & !mask) | ((new(value(old)) << shift) as u32 & mask));
        match word.fetch_update(Relaxed, Relaxed, step) {
            Ok(old) | Err(old) => value(old),
        }
    }
}

impl Words for &Buffer {
    #[inline(always)]
    fn word(&self, _lane: usize, index: usize) -> u32 {
        self.words[index].load(Relaxed)
    }

    #[inline(always)]
    fn set_word(&mut self, _lane: usize, index: usize, mask: u32, bits: u32) {
        let word = &self.words[index];
        if mask == u32::MAX {
            word.store(bits, Relaxed);
        } else {
            let _ = word.fetch_update(Relaxed, Relaxed, |old| Some((old & !mask) | (bits & mask)));
        }
    }
}

/// A name and extent that is not valid now, for messages.
#[derive(Debug)]
struct Freed {
    base: u64,
    bytes: u64,
    name: String,
    /// False of addresses that are reserved, and that have had no memory yet.
    was_there: bool,
}

/// All buffers, by address.
#[derive(Debug)]
pub(crate) struct GlobalMemory {
    buffers: Vec<Buffer>,
    freed: Vec<Freed>,
    next: u64,
    /// The next constant variable lies here or above.
    next_constant: u64,
    /// The addresses of buffers follow from it.
    random: fastrand::Rng,
    used: u64,
    capacity: u64,
    /// Accesses of launches are noted.
    is_watched: bool,
    locks: Box<[Mutex<()>]>,
}

/// Why memory cannot be allocated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {requested} bytes for `{name}`: {used} of {capacity} bytes are in use")]
pub struct OutOfMemory {
    /// The name given.
    pub name: String,
    /// Bytes requested.
    pub requested: u64,
    /// Bytes in use before.
    pub used: u64,
    /// Bytes that the device has.
    pub capacity: u64,
}

/// The buffer nearest to an address that no buffer contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour<'a> {
    pub(crate) name: &'a str,
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) state: State,
}

/// Whether the addresses of a buffer have memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Live,
    Freed,
    Reserved,
}

impl GlobalMemory {
    /// Nothing allocated. Where buffers lie follows from the seed and from what is allocated.
    pub(crate) fn new(capacity: u64, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let (step, steps) = FIRST;
        Self {
            buffers: Vec::new(),
            freed: Vec::new(),
            next: GLOBAL_BASE + step * random.u64(0..steps),
            next_constant: CONST_WINDOW + NULL_LIMIT,
            random,
            used: 0,
            capacity,
            is_watched: false,
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
        }
    }

    /// Makes a buffer of zeros, none of it counted as written, and gives its address.
    pub(crate) fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64, OutOfMemory> {
        let (memory, written) = self.zeros(bytes, name)?;
        let base = self.next.next_multiple_of(alignment(bytes));
        self.skip(base + bytes);
        Ok(self.place(base, base, bytes, name, memory, written))
    }

    /// Reserves addresses, which have no memory until [`GlobalMemory::allocate_reserved`].
    pub(crate) fn reserve(&mut self, bytes: u64, name: &str) -> u64 {
        let base = self.next.next_multiple_of(alignment(bytes));
        self.skip(base + bytes);
        self.freed.push(Freed {
            base,
            bytes,
            name: name.to_owned(),
            was_there: false,
        });
        base
    }

    /// Makes a buffer of zeros at addresses that are reserved, or that were freed; none of it
    /// counts as written. False if there are none from this address on.
    pub(crate) fn allocate_reserved(&mut self, address: u64) -> Result<bool, OutOfMemory> {
        let Some(index) = self.freed.iter().rposition(|known| known.base == address) else {
            return Ok(false);
        };
        let Freed { bytes, name, .. } = &self.freed[index];
        let (bytes, name) = (*bytes, name.clone());
        let (memory, written) = self.zeros(bytes, &name)?;
        self.freed.swap_remove(index);
        self.place(address, address, bytes, &name, memory, written);
        Ok(true)
    }

    /// Makes a buffer of zeros for a constant variable, in the window of those while there is room.
    /// None of it counts as written.
    pub(crate) fn allocate_constant(&mut self, bytes: u64, name: &str) -> Result<u64, OutOfMemory> {
        let base = self.next_constant;
        if bytes > (CONST_WINDOW + WINDOW_BYTES).saturating_sub(base) {
            return self.allocate(bytes, name);
        }
        let (memory, written) = self.zeros(bytes, name)?;
        self.next_constant = (base + bytes + GUARD_BYTES).next_multiple_of(ALIGNMENT);
        Ok(self.place(base, base, bytes, name, memory, written))
    }

    /// Memory of zeros, none of it counted as written.
    fn zeros(&mut self, bytes: u64, name: &str) -> Result<(Memory, WrittenShadow), OutOfMemory> {
        let refuse = |used, capacity| OutOfMemory {
            name: name.to_owned(),
            requested: bytes,
            used,
            capacity,
        };
        if bytes > self.capacity - self.used {
            return Err(refuse(self.used, self.capacity));
        }
        let words = usize::try_from(bytes.div_ceil(4))
            .ok()
            .and_then(|words| bytemuck::try_zeroed_slice_box::<AtomicU32>(words).ok())
            .ok_or_else(|| refuse(self.used, self.capacity))?;
        self.used += bytes;
        Ok((Memory::Own(words), WrittenShadow::new(bytes)))
    }

    /// Makes a buffer of words that the host has at the same address; all of it counts as written.
    /// `map` gives them, at an address that is a multiple of a page; `None` if it cannot.
    pub(crate) fn share(
        &mut self,
        bytes: u64,
        name: &str,
        map: impl FnOnce(u64) -> Option<&'static [AtomicU32]>,
    ) -> Option<u64> {
        let base = self.next.next_multiple_of(alignment(bytes).max(PAGE_BYTES));
        let words = map(base).filter(|words| 4 * words.len() as u64 >= bytes)?;
        // The gap behind a buffer is at least a page.
        self.skip(base + bytes);
        Some(self.place_shared(base, base, bytes, name, words))
    }

    /// Makes a buffer of memory that the host has already, at its own address; all of it counts as
    /// written. `map` gives the words from the address that it is called with: the last multiple of
    /// [`ALIGNMENT`] that is not behind `start`. False if a buffer has a byte of it, or kernels
    /// have other memory there.
    pub(crate) fn share_at(
        &mut self,
        start: u64,
        bytes: u64,
        name: &str,
        map: impl FnOnce(u64) -> Option<&'static [AtomicU32]>,
    ) -> bool {
        let Some(end) = start.checked_add(bytes) else {
            return false;
        };
        let is_apart = |from: u64, to: u64| end <= from || to <= start;
        let is_free = is_apart(0, NULL_LIMIT)
            && is_apart(SHARED_WINDOW, PARAM_WINDOW + WINDOW_BYTES)
            && { self.buffers.iter() }.all(|other| is_apart(other.start, other.base + other.bytes));
        let base = start - start % ALIGNMENT;
        let Some(words) = is_free.then(|| map(base)).flatten() else {
            return false;
        };
        // The host may use the addresses again.
        self.freed
            .retain(|other| is_apart(other.base, other.base + other.bytes));
        self.place_shared(base, start, end - base, name, words);
        true
    }

    fn place_shared(
        &mut self,
        base: u64,
        start: u64,
        bytes: u64,
        name: &str,
        words: &'static [AtomicU32],
    ) -> u64 {
        let mut written = WrittenShadow::new(bytes);
        written.assume_all();
        self.place(base, start, bytes, name, Memory::Shared(words), written)
    }

    /// Decides where the buffer behind the one lies that ends at an address.
    fn skip(&mut self, end: u64) {
        let gap = GUARD_BYTES + ALIGNMENT * self.random.u64(0..GAP);
        self.next = (end + gap).next_multiple_of(ALIGNMENT);
    }

    /// Adds a buffer at an address that no other has, which it gives.
    fn place(
        &mut self,
        base: u64,
        start: u64,
        bytes: u64,
        name: &str,
        words: Memory,
        written: WrittenShadow,
    ) -> u64 {
        let buffer = Buffer {
            base,
            start,
            bytes,
            name: name.to_owned(),
            read_only: false,
            words,
            written,
            races: RaceShadow::new(bytes),
            footprint: self.is_watched.then(|| Footprint::new(base, bytes)),
        };
        let index = self.buffers.partition_point(|other| other.start < start);
        self.buffers.insert(index, buffer);
        start
    }

    /// Forbids stores to the buffer at an address.
    pub(crate) fn make_read_only(&mut self, address: u64) {
        if let Some(buffer) = self
            .buffers
            .iter_mut()
            .find(|buffer| buffer.start == address)
        {
            buffer.read_only = true;
        }
    }

    /// Frees the buffer that starts at `address`; false if none does. Its addresses are never used
    /// again.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let Ok(index) = self
            .buffers
            .binary_search_by_key(&address, |buffer| buffer.start)
        else {
            return false;
        };
        let buffer = self.buffers.remove(index);
        if let Memory::Own(_) = buffer.words {
            self.used -= buffer.bytes;
        }
        self.freed.push(Freed {
            base: buffer.start,
            bytes: buffer.place(buffer.bytes),
            name: buffer.name,
            was_there: true,
        });
        true
    }

    /// Sets every byte of the buffer that starts at `address`, and counts them as never written;
    /// false if none does.
    pub(crate) fn poison(&mut self, address: u64, byte: u8) -> bool {
        let Ok(index) = self
            .buffers
            .binary_search_by_key(&address, |buffer| buffer.start)
        else {
            return false;
        };
        let buffer = &mut self.buffers[index];
        for word in &*buffer.words {
            word.store(u32::from_le_bytes([byte; 4]), Relaxed);
        }
        buffer.written = WrittenShadow::new(buffer.bytes);
        true
    }

    /// The buffer that an address lies in, or that lies below it.
    #[inline]
    fn at_or_below(&self, address: u64) -> Option<&Buffer> {
        let index = self
            .buffers
            .partition_point(|buffer| buffer.start <= address);
        self.buffers.get(index.checked_sub(1)?)
    }

    /// The buffer that contains all of `bytes` bytes at `address`.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<&Buffer> {
        let buffer = self.at_or_below(address)?;
        let offset = address - buffer.base;
        (offset <= buffer.bytes && bytes <= buffer.bytes - offset).then_some(buffer)
    }

    /// The buffer nearest to an address: one that contains it, else one that ends below it or
    /// starts above it within reach of a stray index.
    pub(crate) fn neighbour(&self, address: u64) -> Option<Neighbour<'_>> {
        const REACH: u64 = 1 << 32;
        let live = self.buffers.iter().map(|buffer| Neighbour {
            name: &buffer.name,
            base: buffer.start,
            bytes: buffer.place(buffer.bytes),
            state: State::Live,
        });
        let freed = self.freed.iter().map(|buffer| Neighbour {
            name: &buffer.name,
            base: buffer.base,
            bytes: buffer.bytes,
            state: if buffer.was_there {
                State::Freed
            } else {
                State::Reserved
            },
        });
        let distance = |n: &Neighbour| {
            if address < n.base {
                n.base - address
            } else {
                (address - n.base).saturating_sub(n.bytes.saturating_sub(1))
            }
        };
        let nearest = live.chain(freed).min_by_key(|n| (distance(n), n.base))?;
        (distance(&nearest) < REACH).then_some(nearest)
    }

    fn lock(&self, address: u64) -> MutexGuard<'_, ()> {
        let lock = &self.locks[(address >> 3) as usize % LOCKS];
        // A panic elsewhere leaves the words valid.
        lock.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Reads, modifies and writes `bytes` bytes; gives the old value. Atomic towards every other
    /// update and strong access.
    pub(crate) fn update(
        &self,
        mut buffer: &Buffer,
        offset: u64,
        bytes: u32,
        new: impl Fn(u64) -> u64,
    ) -> u64 {
        if bytes != 8 {
            return buffer.update(offset, bytes, new);
        }
        let _guard = self.lock(buffer.base + offset);
        let old = buffer.load(0, offset, 8);
        buffer.store(0, offset, 8, new(old));
        old
    }

    /// A load that does not tear.
    pub(crate) fn load_strong(&self, buffer: &Buffer, offset: u64, bytes: u32) -> u64 {
        let _guard = (bytes == 8).then(|| self.lock(buffer.base + offset));
        buffer.load(0, offset, bytes)
    }

    /// A store that does not tear.
    pub(crate) fn store_strong(&self, mut buffer: &Buffer, offset: u64, bytes: u32, value: u64) {
        let _guard = (bytes == 8).then(|| self.lock(buffer.base + offset));
        buffer.store(0, offset, bytes, value);
    }

    /// Copies from the host; the bytes count as written. The range must lie in one buffer.
    pub(crate) fn write(&mut self, address: u64, data: &[u8]) -> bool {
        let Some(mut buffer) = self.find(address, data.len() as u64) else {
            return false;
        };
        let mut offset = address - buffer.base;
        buffer.written.mark_alone(offset, data.len() as u64);
        let (head, tail) = data.split_at(data.len().min((offset.wrapping_neg() & 3) as usize));
        for &byte in head {
            buffer.store(0, offset, 1, byte.into());
            offset += 1;
        }
        let mut words = tail.chunks_exact(4);
        for (word, bytes) in buffer.words[(offset >> 2) as usize..]
            .iter()
            .zip(&mut words)
        {
            word.store(
                u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
                Relaxed,
            );
            offset += 4;
        }
        for &byte in words.remainder() {
            buffer.store(0, offset, 1, byte.into());
            offset += 1;
        }
        true
    }

    /// Copies to the host. The range must lie in one buffer.
    pub(crate) fn read(&self, address: u64, data: &mut [u8]) -> bool {
        let Some(buffer) = self.find(address, data.len() as u64) else {
            return false;
        };
        let mut offset = address - buffer.base;
        let head = data.len().min((offset.wrapping_neg() & 3) as usize);
        let (head, tail) = data.split_at_mut(head);
        for byte in head {
            *byte = buffer.load(0, offset, 1) as u8;
            offset += 1;
        }
        let mut words = tail.chunks_exact_mut(4);
        for (word, bytes) in buffer.words[(offset >> 2) as usize..]
            .iter()
            .zip(&mut words)
        {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
            offset += 4;
        }
        for byte in words.into_remainder() {
            *byte = buffer.load(0, offset, 1) as u8;
            offset += 1;
        }
        true
    }

    /// Copies within the device, together with what is known to be written. Both ranges must lie in
    /// buffers.
    pub(crate) fn copy(&mut self, src: u64, dst: u64, bytes: u64) {
        let mut data = vec![0; bytes as usize];
        self.read(src, &mut data);
        let (Some(from), Some(mut to)) = (self.find(src, bytes), self.find(dst, bytes)) else {
            return;
        };
        let (from_offset, to_offset) = (src - from.base, dst - to.base);
        if from.written.covers(from_offset, bytes) {
            self.write(dst, &data);
            return;
        }
        let written: Vec<bool> = (0..bytes)
            .map(|i| from.written.covers(from_offset + i, 1))
            .collect();
        for ((i, &byte), is_written) in (0..).zip(&data).zip(written) {
            to.store(0, to_offset + i, 1, byte.into());
            if is_written {
                to.written.mark_alone(to_offset + i, 1);
            }
        }
    }

    /// Counts every byte of every buffer as written: what a launch without that check leaves behind
    /// is not known.
    pub(crate) fn assume_written(&mut self) {
        for buffer in &mut self.buffers {
            buffer.written.assume_all();
        }
    }

    /// Forgets what was saved of these pages, each of the buffer at an address; puts it back
    /// before, if the launch is undone.
    pub(crate) fn settle(&self, saved: Vec<(u64, u64)>, is_undone: bool) {
        for (base, page) in saved {
            if let Some(buffer) = self.find(base, 0) {
                buffer.settle(page, is_undone);
            }
        }
    }

    /// Forgets all accesses, so that block numbers may start again.
    pub(crate) fn forget_accesses(&mut self) {
        for buffer in &mut self.buffers {
            buffer.races = RaceShadow::new(buffer.bytes);
        }
    }

    /// Notes from now on what launches access, of buffers that are made later too.
    pub(crate) fn watch_accesses(&mut self) {
        self.is_watched = true;
        for buffer in &mut self.buffers {
            buffer.footprint = Some(Footprint::new(buffer.base, buffer.bytes));
        }
    }

    /// The address of each buffer and what was accessed of it while they were watched, which ends.
    pub(crate) fn take_accesses(&mut self) -> Vec<(u64, Accessed)> {
        self.is_watched = false;
        let buffers = self.buffers.iter_mut();
        let taken = buffers.filter_map(|buffer| Some((buffer.base, buffer.footprint.take()?)));
        taken
            .map(|(base, mut footprint)| (base, footprint.accessed(base)))
            .collect()
    }

    /// The accesses since they were taken last, page by page; buffers are watched as before.
    pub(crate) fn take_pages(&mut self, mut each: impl FnMut(&PageAccess)) {
        if self.is_watched {
            let buffers = self.buffers.iter_mut();
            for footprint in buffers.filter_map(|buffer| buffer.footprint.as_mut()) {
                footprint.take(&mut each);
            }
        }
    }

    /// Bytes allocated.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}
