//! The lines of a buffer, by pages that are locked together.

use std::cell::{OnceCell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::line::Line;
use super::part::LINE;
use crate::registers::LANES;

/// Granules of a page.
pub(crate) const PAGE: u64 = 1024;

/// The lines of a page, made where it is accessed.
#[derive(Debug, Default)]
struct Content {
    lines: OnceCell<Box<[UnsafeCell<Line>]>>,
    saved: Option<Box<Saved>>,
    /// The number of the first block of the launch that `saved` is for.
    saved_for: u32,
}

/// A page, and the lock of its content.
#[derive(Debug, Default)]
struct Page {
    /// The first block of the latest launch that had loads without notes, or stores, and which of
    /// them it had: see [`STORED`].
    use_of: AtomicU64,
    lock: Mutex<()>,
    content: UnsafeCell<Content>,
}

/// The bit of a page's use that says that it was stored to. Without it, loads have no notes.
const STORED: u64 = 1;

// SAFETY: the content is reached by `RaceShadow::lock`, under the lock, and by `RaceShadow::own`,
// whose caller excludes all others.
unsafe impl Sync for Page {}

/// The content of a page before the first store of a launch: see `attempt`.
#[derive(Debug)]
pub(crate) struct Saved {
    /// Where the page starts in the buffer, in bytes.
    pub(crate) start: u64,
    pub(crate) words: Vec<u32>,
    /// Which bytes had been written, as words of [`WrittenShadow`].
    ///
    /// [`WrittenShadow`]: crate::check::writes::WrittenShadow
    pub(crate) written: Vec<u32>,
}

impl Saved {
    pub(crate) fn new(start: u64) -> Self {
        Self {
            start,
            words: Vec::new(),
            written: Vec::new(),
        }
    }
}

/// The lines of a buffer. They stay from launch to launch, and are cleared when a launch accesses
/// them first.
#[derive(Debug)]
pub(crate) struct RaceShadow {
    bytes: u64,
    pages: OnceLock<Box<[Page]>>,
}

impl RaceShadow {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            pages: OnceLock::new(),
        }
    }

    /// Locks a page.
    pub(crate) fn lock(&self, page: u64) -> PageGuard<'_> {
        let page = self.page(page);
        let lock = page.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: this thread has the lock, and no page is owned meanwhile.
        let content = unsafe { &mut *page.content.get() };
        PageGuard {
            page: OwnPage(content),
            _lock: lock,
        }
    }

    /// Whether a load of a page needs no note, in the launch of this first block: nothing has
    /// stored to the page. If something does later, [`RaceShadow::begin_stores`] tells it.
    #[inline(always)]
    pub(crate) fn needs_no_note(&self, page: u64, first_block: u32) -> bool {
        let use_of = &self.page(page).use_of;
        let loaded = u64::from(first_block) << 1;
        let known = use_of.load(SeqCst);
        known == loaded
            || known != loaded | STORED
                && use_of
                    .compare_exchange(known, loaded, SeqCst, SeqCst)
                    .map_or_else(|now| now == loaded, |_| true)
    }

    /// Notes that a launch stores to a page. True if it has loads without notes.
    pub(crate) fn begin_stores(&self, page: u64, first_block: u32) -> bool {
        let loaded = u64::from(first_block) << 1;
        self.page(page).use_of.swap(loaded | STORED, SeqCst) == loaded
    }

    /// A page of a shadow that one thread alone uses, without the lock.
    ///
    /// # Safety
    /// While the page lives here, no other thread uses the shadow, and there is no other of it.
    #[inline(always)]
    pub(crate) unsafe fn own(&self, page: u64) -> OwnPage<'_> {
        // SAFETY: the caller sees to it.
        OwnPage(unsafe { &mut *self.page(page).content.get() })
    }

    /// The lines of lanes, each by lane and granule. Looks at all, so that the host fetches those
    /// that lie far apart at one time. Gives each page to `visit` first.
    ///
    /// # Safety
    /// The shadow outlives the result, and no other thread uses it meanwhile. While a line of the
    /// result is borrowed, no page is asked for a line. No line is borrowed now.
    #[inline(always)]
    pub(crate) unsafe fn lines<'l>(
        &self,
        granules: impl Iterator<Item = (usize, u64)>,
        mut visit: impl FnMut(u64, &mut OwnPage),
    ) -> LaneLines<'l> {
        let mut lines = [None; LANES];
        let mut seen = 0;
        for (lane, granule) in granules {
            // SAFETY: the caller sees to it.
            let mut page = unsafe { self.own(granule / PAGE) };
            visit(granule / PAGE, &mut page);
            let line = page.cell(granule % PAGE / LINE);
            // SAFETY: no line is borrowed.
            seen |= unsafe { &*line.get() }.look(granule % LINE);
            lines[lane] = NonNull::new(line.get());
        }
        std::hint::black_box(seen);
        LaneLines {
            lines,
            shadow: PhantomData,
        }
    }

    #[inline]
    fn page(&self, page: u64) -> &Page {
        // Room for granules of one byte.
        let make = || (0..self.bytes / PAGE + 1).map(|_| Page::default());
        &self.pages.get_or_init(|| make().collect())[page as usize]
    }
}

/// The line of each of some lanes, in pages for one user alone.
pub(crate) struct LaneLines<'a> {
    lines: [Option<NonNull<Line>>; LANES],
    shadow: PhantomData<&'a RaceShadow>,
}

impl LaneLines<'_> {
    /// The line of a lane.
    #[inline(always)]
    pub(crate) fn line(&mut self, lane: usize) -> Option<&mut Line> {
        // SAFETY: pages keep their lines as long as the shadow lives, in cells that no reference to
        // a page covers. The caller of `RaceShadow::lines` sees to it that no other is borrowed.
        self.lines[lane].map(|mut line| unsafe { line.as_mut() })
    }
}

/// A page that is locked.
pub(crate) struct PageGuard<'a> {
    page: OwnPage<'a>,
    _lock: MutexGuard<'a, ()>,
}

impl<'a> Deref for PageGuard<'a> {
    type Target = OwnPage<'a>;

    fn deref(&self) -> &OwnPage<'a> {
        &self.page
    }
}

impl DerefMut for PageGuard<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.page
    }
}

/// A page for one user alone.
pub(crate) struct OwnPage<'a>(&'a mut Content);

impl OwnPage<'_> {
    /// Line `index` of the page.
    #[inline(always)]
    pub(crate) fn line(&mut self, index: u64) -> &mut Line {
        // SAFETY: the page's one user borrows it. One of `LaneLines` is not borrowed meanwhile.
        unsafe { &mut *self.cell(index).get() }
    }

    #[inline(always)]
    fn cell(&self, index: u64) -> &UnsafeCell<Line> {
        let make = || bytemuck::zeroed_slice_box((PAGE / LINE) as usize);
        &self.0.lines.get_or_init(make)[index as usize]
    }

    /// True if the page's content is saved for the launch of this first block.
    #[inline]
    pub(crate) fn is_saved(&self, first_block: u32) -> bool {
        self.0.saved_for == first_block
    }

    /// Keeps the page's content for the launch of this first block.
    pub(crate) fn save(&mut self, saved: Saved, first_block: u32) {
        self.0.saved = Some(Box::new(saved));
        self.0.saved_for = first_block;
    }

    /// Gives the content back.
    pub(crate) fn take_saved(&mut self) -> Option<Box<Saved>> {
        self.0.saved_for = 0;
        self.0.saved.take()
    }
}
