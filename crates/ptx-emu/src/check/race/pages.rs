//! The lines of a buffer, by pages that are locked together.

use std::cell::UnsafeCell;
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
    /// The number of the launch's first block.
    first_block: u32,
    /// Where the page starts in the buffer, in bytes.
    pub(crate) start: u64,
    pub(crate) words: Vec<u32>,
    /// Which bytes had been written, as words of [`WrittenShadow`].
    ///
    /// [`WrittenShadow`]: crate::check::writes::WrittenShadow
    pub(crate) written: Vec<u32>,
}

impl Saved {
    pub(crate) fn new(first_block: u32, start: u64) -> Self {
        Self {
            first_block,
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
        unsafe { PageGuard::new(page, Some(lock)) }
    }

    /// A page of a shadow that one thread alone uses, without the lock.
    ///
    /// # Safety
    /// While the guard lives, no other thread uses the shadow, and there is no other guard of the
    /// page.
    #[inline]
    pub(crate) unsafe fn own(&self, page: u64) -> PageGuard<'_> {
        // SAFETY: the caller sees to it.
        unsafe { PageGuard::new(self.page(page), None) }
    }

    #[inline]
    fn page(&self, page: u64) -> &Page {
        // Room for granules of one byte.
        let make = || (0..self.bytes / PAGE + 1).map(|_| Page::default());
        &self.pages.get_or_init(|| make().collect())[page as usize]
    }
}

/// A page for one user alone.
pub(crate) struct PageGuard<'a> {
    lines: &'a mut [Line],
    saved: &'a mut Option<Box<Saved>>,
    _lock: Option<MutexGuard<'a, ()>>,
}

impl<'a> PageGuard<'a> {
    /// # Safety
    /// There is no other guard of the page while this one lives.
    #[inline]
    unsafe fn new(page: &'a Page, lock: Option<MutexGuard<'a, ()>>) -> Self {
        // SAFETY: the guards alone reach the content, and there is no other.
        let Content { lines, saved } = unsafe { &mut *page.content.get() };
        let make = || bytemuck::zeroed_slice_box((PAGE / LINE) as usize);
        Self {
            lines: lines.get_or_insert_with(make),
            saved,
            _lock: lock,
        }
    }
}

impl PageGuard<'_> {
    /// Line `index` of the page.
    #[inline]
    pub(crate) fn line(&mut self, index: u64) -> &mut Line {
        &mut self.lines[index as usize]
    }

    /// True if the page's content is saved for the launch of this first block.
    #[inline]
    pub(crate) fn is_saved(&self, first_block: u32) -> bool {
        let saved = self.saved.as_ref();
        saved.is_some_and(|saved| saved.first_block == first_block)
    }

    /// Keeps the page's content.
    pub(crate) fn save(&mut self, saved: Saved) {
        *self.saved = Some(Box::new(saved));
    }

    /// Gives the content back.
    pub(crate) fn take_saved(&mut self) -> Option<Box<Saved>> {
        self.saved.take()
    }
}
