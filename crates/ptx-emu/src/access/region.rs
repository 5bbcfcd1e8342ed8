//! Memory that one access may lie in, whatever its space: what it holds, and what its shadow knows.

use std::sync::atomic::Ordering::Relaxed;

use crate::check::race::{
    BlockOrder, DeviceOrder, LINE, LaneLines, Leftovers, Line, OwnPage, PAGE, PageGuard,
};
use crate::fault::Location;
use crate::memory::Words;
use crate::memory::global::{Buffer, GlobalMemory};
use crate::memory::lanes::LaneMemory;
use crate::memory::shared::SharedMemory;
use crate::registers::lanes;
use crate::request::{Request, Span};
use crate::runner::{BlockRunner, LaunchContext};
use crate::unset_origin::Origin;

/// Memory that one access may lie in. Offsets are in bytes from its start.
///
/// Memory without a shadow counts as written, and has no cells for races.
pub(crate) trait Region: Words {
    /// Global memory: the rules for atomics and read-only loads are its own.
    const IS_GLOBAL: bool = false;
    /// A read of what nothing has written is reported at the next barrier, if no race is found
    /// before.
    const DEFERS_UNWRITTEN: bool = false;
    /// No other thread sees it.
    const IS_OWN: bool = false;
    /// The order among blocks that accesses follow.
    type Order<'l>: BlockOrder;

    /// That order, as a warp of the running block sees it.
    fn order<'l>(runner: &BlockRunner<'l>, warp: usize) -> Self::Order<'l>;

    /// The address of its first byte.
    fn base(&self) -> u64 {
        0
    }

    /// A load that does not tear.
    fn load_strong(&self, lane: usize, offset: u64, bytes: u32) -> u64 {
        self.load(lane, offset, bytes)
    }

    /// A store that does not tear.
    fn store_strong(&mut self, lane: usize, offset: u64, bytes: u32, value: u64) {
        self.store(lane, offset, bytes, value);
    }

    /// Reads, modifies and writes; gives the old value.
    fn update(&mut self, lane: usize, offset: u64, bytes: u32, new: impl Fn(u64) -> u64) -> u64 {
        let old = self.load(lane, offset, bytes);
        self.store(lane, offset, bytes, new(old));
        old
    }

    /// Loads consecutive words, one for each lane from `lane` on.
    fn load_row(&self, lane: usize, offset: u64, row: &mut [u32]) {
        for (k, value) in row.iter_mut().enumerate() {
            *value = self.word(lane + k, (offset >> 2) as usize + k);
        }
    }

    /// Loads consecutive values of 8 bytes, one for each lane from `lane` on.
    fn load_wide_row(&self, lane: usize, offset: u64, row: &mut [u64]) {
        for (k, value) in row.iter_mut().enumerate() {
            *value = self.load(lane + k, offset + 8 * k as u64, 8);
        }
    }

    /// Stores consecutive values of 8 bytes, one from each lane from `lane` on.
    fn store_wide_row(&mut self, lane: usize, offset: u64, row: &[u64]) {
        for (k, value) in row.iter().enumerate() {
            self.store(lane + k, offset + 8 * k as u64, 8, *value);
        }
    }

    /// Loads one word to each lane from `lane` on.
    fn load_same(&self, lane: usize, offset: u64, row: &mut [u32]) {
        row.fill(self.word(lane, (offset >> 2) as usize));
    }

    /// Stores words of lanes from `lane` on to one place: the last stays.
    fn store_same(&mut self, lane: usize, offset: u64, row: &[u32]) {
        if let Some(&last) = row.last() {
            let lane = lane + row.len() - 1;
            self.set_word(lane, (offset >> 2) as usize, u32::MAX, last);
        }
    }

    /// Stores consecutive words, one from each lane from `lane` on.
    fn store_row(&mut self, lane: usize, offset: u64, row: &[u32]) {
        for (k, value) in row.iter().enumerate() {
            self.set_word(lane + k, (offset >> 2) as usize + k, u32::MAX, *value);
        }
    }

    /// True if all of it is known to have been written.
    fn is_whole(&self) -> bool {
        false
    }

    /// True if all of a range has been written.
    fn is_written(&self, _offset: u64, _bytes: u64) -> bool {
        true
    }

    /// Counts a range as written.
    fn mark_written(&mut self, _offset: u64, _bytes: u64) {}

    /// The bits that are not set of a value.
    fn unset(&self, _lane: usize, offset: u64, bytes: u32) -> u64 {
        if self.is_written(offset, bytes.into()) {
            return 0;
        }
        let unset = (0..u64::from(bytes)).filter(|byte| !self.is_written(offset + byte, 1));
        unset.fold(0, |bits, byte| bits | 0xff << (8 * byte))
    }

    /// Where a byte that is not set comes from, if it was stored so.
    fn origin(&self, _lane: usize, _offset: u64) -> Origin {
        Origin::UNKNOWN
    }

    /// Counts bits of a value that has just been stored as not set.
    fn mark_unset(&mut self, lane: usize, offset: u64, bytes: u32, bits: u64, origin: Origin);

    /// A line of granules: its latest accesses. Those before an epoch are forgotten.
    fn line(&mut self, _line: u64, _epoch: u32) -> Option<&mut Line> {
        None
    }

    /// The number of the first block whose accesses count, of those that may be remembered.
    #[inline(always)]
    fn epoch(runner: &BlockRunner) -> u32 {
        if Self::IS_GLOBAL {
            runner.launch.first_block
        } else {
            runner.cluster.numbers.first().copied().unwrap_or(1)
        }
    }

    /// Whether a load needs no note, since nothing has stored there: see `attempt`. `span` is that
    /// of its addresses.
    #[inline(always)]
    fn needs_no_note(&self, _launch: &LaunchContext, _request: &Request, _span: &Span) -> bool {
        false
    }

    /// The lines of lanes, each by lane and granule, found together; `None` if they are to be asked
    /// for one after the other. If an access `stores`, saves what it changes, as `save` does. While
    /// one of them is borrowed, no other line is asked for.
    fn lane_lines<'l>(
        &mut self,
        _launch: &LaunchContext<'l>,
        _granules: impl Iterator<Item = (usize, u64)>,
        _stores: bool,
    ) -> Option<LaneLines<'l>> {
        None
    }

    /// Saves what a store to a line changes, which was asked for last, if the launch may have to be
    /// undone.
    #[inline(always)]
    fn save(&mut self, _launch: &LaunchContext, _line: u64) {}

    /// Ends a series of calls of [`Region::line`]: others may look at the lines.
    fn release_lines(&mut self) {}

    /// An offset as a user knows it.
    fn location(&self, _launch: &LaunchContext, offset: u64) -> Location {
        Location::Shared {
            variable: None,
            offset,
            block: None,
            element: 1,
        }
    }
}

/// Lines of a page.
const LINES: u64 = PAGE / LINE;
/// Bytes of the widest access of a thread's own.
pub(super) const WIDEST: u32 = 32;
/// The number of no page.
const NO_PAGE: u64 = u64::MAX;

/// The offsets of the bytes of a value that have no set bit. A byte with some counts as written:
/// a field of bits is set in it.
fn unset_bytes(offset: u64, bytes: u32, bits: u64) -> impl Iterator<Item = u64> {
    let is_unset = move |byte: &u64| bits >> (8 * byte) & 0xff == 0xff;
    (0..u64::from(bytes))
        .filter(is_unset)
        .map(move |byte| offset + byte)
}

/// A buffer of global memory.
pub(crate) struct GlobalRegion<'a> {
    buffer: &'a Buffer,
    memory: &'a GlobalMemory,
    /// No other thread runs blocks of the launch.
    is_alone: bool,
    /// The number of the page of the buffer's shadow that lines were asked for last, and the page:
    /// as the one user's own or locked.
    page: u64,
    own: Option<OwnPage<'a>>,
    locked: Option<PageGuard<'a>>,
}

impl<'a> GlobalRegion<'a> {
    pub(crate) fn new(buffer: &'a Buffer, launch: &LaunchContext<'a>) -> Self {
        Self {
            buffer,
            memory: launch.memory,
            is_alone: launch.is_sequential(),
            page: NO_PAGE,
            own: None,
            locked: None,
        }
    }

    /// The page that lines were asked for last.
    #[inline(always)]
    fn page(&mut self) -> Option<&mut OwnPage<'a>> {
        if self.is_alone {
            self.own.as_mut()
        } else {
            self.locked.as_deref_mut()
        }
    }
}

/// Saves a page of a buffer before the launch's first store to it.
#[inline(never)]
fn save_page(launch: &LaunchContext, buffer: &Buffer, number: u64, page: &mut OwnPage) {
    if buffer.races.begin_stores(number, launch.first_block) {
        launch.attempt.doubt(buffer.start);
    }
    page.save(buffer.content(number, launch.granule), launch.first_block);
    launch.attempt.note_saved(buffer.start, number);
}

impl Words for GlobalRegion<'_> {
    #[inline(always)]
    fn word(&self, lane: usize, index: usize) -> u32 {
        self.buffer.word(lane, index)
    }

    #[inline(always)]
    fn set_word(&mut self, lane: usize, index: usize, mask: u32, bits: u32) {
        self.buffer.set_word(lane, index, mask, bits);
    }
}

impl Region for GlobalRegion<'_> {
    const IS_GLOBAL: bool = true;
    type Order<'l> = DeviceOrder<'l>;

    fn order<'l>(runner: &BlockRunner<'l>, warp: usize) -> DeviceOrder<'l> {
        runner.device_order(warp)
    }

    #[inline(always)]
    fn base(&self) -> u64 {
        self.buffer.base
    }

    // One thread alone needs no locks, which the memory takes for 8 bytes.

    #[inline(always)]
    fn load_strong(&self, lane: usize, offset: u64, bytes: u32) -> u64 {
        if self.is_alone {
            return self.load(lane, offset, bytes);
        }
        self.memory.load_strong(self.buffer, offset, bytes)
    }

    #[inline(always)]
    fn store_strong(&mut self, lane: usize, offset: u64, bytes: u32, value: u64) {
        if self.is_alone {
            return self.store(lane, offset, bytes, value);
        }
        self.memory.store_strong(self.buffer, offset, bytes, value);
    }

    #[inline(always)]
    fn update(&mut self, lane: usize, offset: u64, bytes: u32, new: impl Fn(u64) -> u64) -> u64 {
        // A word may be one that the host's threads update meanwhile.
        if self.is_alone && bytes == 8 {
            let old = self.load(lane, offset, bytes);
            self.store(lane, offset, bytes, new(old));
            return old;
        }
        self.memory.update(self.buffer, offset, bytes, new)
    }

    #[inline(always)]
    fn load_row(&self, _lane: usize, offset: u64, row: &mut [u32]) {
        let words = &self.buffer.words()[(offset >> 2) as usize..][..row.len()];
        for (value, word) in row.iter_mut().zip(words) {
            *value = word.load(Relaxed);
        }
    }

    #[inline(always)]
    fn store_row(&mut self, _lane: usize, offset: u64, row: &[u32]) {
        let words = &self.buffer.words()[(offset >> 2) as usize..][..row.len()];
        for (value, word) in row.iter().zip(words) {
            word.store(*value, Relaxed);
        }
    }

    #[inline(always)]
    fn load_wide_row(&self, _lane: usize, offset: u64, row: &mut [u64]) {
        let words = &self.buffer.words()[(offset >> 2) as usize..][..2 * row.len()];
        for (value, word) in row.iter_mut().zip(words.chunks_exact(2)) {
            *value = u64::from(word[0].load(Relaxed)) | u64::from(word[1].load(Relaxed)) << 32;
        }
    }

    #[inline(always)]
    fn store_wide_row(&mut self, _lane: usize, offset: u64, row: &[u64]) {
        let words = &self.buffer.words()[(offset >> 2) as usize..][..2 * row.len()];
        for (value, word) in row.iter().zip(words.chunks_exact(2)) {
            word[0].store(*value as u32, Relaxed);
            word[1].store((*value >> 32) as u32, Relaxed);
        }
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.buffer.written.is_whole()
    }

    #[inline(always)]
    fn is_written(&self, offset: u64, bytes: u64) -> bool {
        self.buffer.written.covers(offset, bytes)
    }

    #[inline(always)]
    fn mark_written(&mut self, offset: u64, bytes: u64) {
        if self.is_alone {
            self.buffer.written.mark_alone(offset, bytes)
        } else {
            self.buffer.written.mark(offset, bytes)
        }
    }

    fn mark_unset(&mut self, lane: usize, offset: u64, bytes: u32, bits: u64, origin: Origin) {
        for at in unset_bytes(offset, bytes, bits) {
            self.buffer.written.unmark(at);
            // The host may read it: it should look wrong. What comes from global memory looks as
            // it did there.
            if !origin.is_moved() {
                self.store(lane, at, 1, 0xa5);
            }
        }
    }

    #[inline(always)]
    fn line(&mut self, line: u64, epoch: u32) -> Option<&mut Line> {
        let page = line / LINES;
        if self.page != page {
            // Unlock first: two pages at once could be a deadlock.
            self.locked = None;
            let races = &self.buffer.races;
            if self.is_alone {
                // SAFETY: a launch that is sequential has one thread. Where that has two regions of
                // a buffer, it releases the lines of one before it asks for those of the other, as
                // it must for `lock`. This region drops its page here.
                self.own = Some(unsafe { races.own(page) })
            } else {
                self.locked = Some(races.lock(page))
            }
            self.page = page;
        }
        Some(self.page()?.line(line % LINES).enter(epoch))
    }

    #[inline(always)]
    fn needs_no_note(&self, launch: &LaunchContext, request: &Request, span: &Span) -> bool {
        let (buffer, first_block) = (self.buffer, launch.first_block);
        let has_watched = launch.attempt.has_watched();
        // One that is wider may lie in several pages.
        if request.strong || request.width > WIDEST || !launch.attempt.trusts(buffer.start) {
            return false;
        }
        let bytes = PAGE * u64::from(launch.granule);
        let number = |address: u64| (address - buffer.base) / bytes;
        let needs_none = |page: u64| buffer.races.needs_no_note(page, first_block);
        // The span is that of all lanes, and others may lie in another buffer.
        let is_here = buffer.holds(span.min, 1) && buffer.holds(span.max, 1);
        let pages = is_here.then(|| number(span.max) - number(span.min));
        let needs_none = match pages.unwrap_or(u64::MAX) {
            0 => needs_none(number(span.min)),
            1 => needs_none(number(span.min)) && needs_none(number(span.max)),
            _ => lanes(request.mask).all(|lane| needs_none(number(request.addresses[lane]))),
        };
        needs_none && has_watched
    }

    #[inline(always)]
    fn lane_lines<'l>(
        &mut self,
        launch: &LaunchContext<'l>,
        granules: impl Iterator<Item = (usize, u64)>,
        stores: bool,
    ) -> Option<LaneLines<'l>> {
        if !self.is_alone || self.own.is_some() {
            return None;
        }
        let (buffer, saves) = (self.buffer, stores && launch.attempt.saves);
        let visit = |number: u64, page: &mut OwnPage| {
            if saves && !page.is_saved(launch.first_block) {
                save_page(launch, buffer, number, page);
            }
        };
        // SAFETY: buffers stay during a launch. One that is sequential has one thread, which has no
        // page of this buffer here. Callers borrow one line at a time.
        Some(unsafe { buffer.races.lines(granules, visit) })
    }

    #[inline(always)]
    fn save(&mut self, launch: &LaunchContext, line: u64) {
        debug_assert_eq!(self.page, line / LINES);
        let (buffer, number) = (self.buffer, self.page);
        if launch.attempt.saves
            && let Some(page) = self.page()
            && !page.is_saved(launch.first_block)
        {
            save_page(launch, buffer, number, page);
        }
    }

    fn release_lines(&mut self) {
        (self.page, self.own, self.locked) = (NO_PAGE, None, None);
    }

    fn location(&self, _launch: &LaunchContext, offset: u64) -> Location {
        Location::Buffer {
            name: self.buffer.name.clone(),
            offset: self.buffer.place(offset),
        }
    }
}

impl Region for SharedMemory {
    const DEFERS_UNWRITTEN: bool = true;
    type Order<'l> = Leftovers;

    fn order<'l>(_: &BlockRunner<'l>, _: usize) -> Leftovers {
        Leftovers
    }

    #[inline(always)]
    fn load_row(&self, _lane: usize, offset: u64, row: &mut [u32]) {
        row.copy_from_slice(&self.words()[(offset >> 2) as usize..][..row.len()]);
    }

    #[inline(always)]
    fn store_row(&mut self, _lane: usize, offset: u64, row: &[u32]) {
        self.words_mut()[(offset >> 2) as usize..][..row.len()].copy_from_slice(row);
    }

    #[inline(always)]
    fn is_written(&self, offset: u64, bytes: u64) -> bool {
        self.written.covers(offset, bytes)
    }

    #[inline(always)]
    fn mark_written(&mut self, offset: u64, bytes: u64) {
        self.written.mark(offset, bytes);
    }

    fn origin(&self, _lane: usize, offset: u64) -> Origin {
        let origin = self.origins.get((offset / 4) as usize);
        origin.copied().unwrap_or_default()
    }

    fn mark_unset(&mut self, _lane: usize, offset: u64, bytes: u32, bits: u64, origin: Origin) {
        for at in unset_bytes(offset, bytes, bits) {
            self.written.unmark(at);
            self.set_origin(at, origin);
        }
    }

    #[inline(always)]
    fn line(&mut self, line: u64, epoch: u32) -> Option<&mut Line> {
        let interval = self.interval;
        Some(self.races[line as usize].enter_shared(epoch, interval))
    }

    fn location(&self, launch: &LaunchContext, offset: u64) -> Location {
        let kernel = ptx::FunctionId(launch.kernel);
        let variable = launch.program.shared.iter().find(|variable| {
            let start = u64::from(variable.offset);
            variable.kernels.contains(&kernel)
                && (start..start + u64::from(variable.size)).contains(&offset)
        });
        Location::Shared {
            variable: variable.map(|variable| variable.name.clone()),
            offset: offset - variable.map_or(0, |variable| u64::from(variable.offset)),
            block: self.owner,
            element: 1,
        }
    }
}

/// Memory that every lane has its own of, and where it starts in its space.
pub(super) struct LaneRegion<'a> {
    pub(super) memory: &'a mut LaneMemory,
    pub(super) base: u64,
}

impl Words for LaneRegion<'_> {
    fn word(&self, lane: usize, index: usize) -> u32 {
        self.memory.word(lane, index)
    }

    fn set_word(&mut self, lane: usize, index: usize, mask: u32, bits: u32) {
        self.memory.set_word(lane, index, mask, bits);
    }
}

impl Region for LaneRegion<'_> {
    const IS_OWN: bool = true;
    type Order<'l> = Leftovers;

    fn load_same(&self, lane: usize, offset: u64, row: &mut [u32]) {
        self.memory.load_lanes(lane, (offset >> 2) as usize, row);
    }

    fn store_same(&mut self, lane: usize, offset: u64, row: &[u32]) {
        self.memory.store_lanes(lane, (offset >> 2) as usize, row);
    }

    fn order<'l>(_: &BlockRunner<'l>, _: usize) -> Leftovers {
        Leftovers
    }

    fn base(&self) -> u64 {
        self.base
    }

    fn unset(&self, lane: usize, offset: u64, bytes: u32) -> u64 {
        self.memory.unset(lane, offset, bytes)
    }

    fn origin(&self, lane: usize, offset: u64) -> Origin {
        self.memory.origin(lane, offset)
    }

    fn mark_unset(&mut self, lane: usize, offset: u64, bytes: u32, bits: u64, origin: Origin) {
        self.memory.mark_unset(lane, offset, bytes, bits, origin);
    }
}

/// The launch's parameters, which nothing stores to.
pub(crate) struct ParamRegion<'a>(pub(crate) &'a [u8]);

impl Words for ParamRegion<'_> {
    fn word(&self, _lane: usize, index: usize) -> u32 {
        let mut bytes = [0; 4];
        let rest = self.0.get(4 * index..).unwrap_or_default();
        let count = rest.len().min(4);
        bytes[..count].copy_from_slice(&rest[..count]);
        u32::from_le_bytes(bytes)
    }

    fn set_word(&mut self, _lane: usize, _index: usize, _mask: u32, _bits: u32) {}
}

impl Region for ParamRegion<'_> {
    const IS_OWN: bool = true;
    type Order<'l> = Leftovers;

    fn order<'l>(_: &BlockRunner<'l>, _: usize) -> Leftovers {
        Leftovers
    }

    fn mark_unset(&mut self, _: usize, _: u64, _: u32, _: u64, _: Origin) {}
}
