//! The lines of a buffer, by pages that are locked together.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::line::Line;
use super::part::LINE;

/// Granules of a page.
pub(crate) const PAGE: u64 = 1024;

/// The lines of a page, made where it is accessed.
#[derive(Debug, Default)]
struct Content {
    lines: Option<Box<[Line]>>,
    saved: Option<Box<Saved>>,
    /// The number of the first block of the launch that `saved` is for.
    saved_for: u32,
}

/// A page, and the lock of its content.
#[derive(Debug, Default)]
struct Page {
    lock: Mutex<()>,
    content: UnsafeCell<Content>,
}

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

    /// A page of a shadow that one thread alone uses, without the lock.
    ///
    /// # Safety
    /// While the page lives here, no other thread uses the shadow, and there is no other of it.
    #[inline(always)]
    pub(crate) unsafe fn own(&self, page: u64) -> OwnPage<'_> {
        // SAFETY: the caller sees to it.
        OwnPage(unsafe { &mut *self.page(page).content.get() })
    }

    /// Looks at lines that lie far apart, each by page and index, so that the host fetches them at
    /// one time.
    ///
    /// # Safety
    /// As for [`RaceShadow::own`], of all these pages.
    #[inline(always)]
    pub(crate) unsafe fn fetch(&self, lines: impl Iterator<Item = (u64, u64)>) {
        let mut seen = 0;
        for (page, index) in lines {
            // SAFETY: the caller sees to it.
            seen |= unsafe { self.own(page) }.line(index).epoch();
        }
        std::hint::black_box(seen);
    }

    #[inline]
    fn page(&self, page: u64) -> &Page {
        // Room for granules of one byte.
        let make = || (0..self.bytes / PAGE + 1).map(|_| Page::default());
        &self.pages.get_or_init(|| make().collect())[page as usize]
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
        let make = || bytemuck::zeroed_slice_box((PAGE / LINE) as usize);
        let lines = self.0.lines.get_or_insert_with(make);
        &mut lines[index as usize]
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
