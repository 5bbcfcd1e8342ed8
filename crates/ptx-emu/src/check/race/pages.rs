//! The lines of a buffer, by pages that are locked together.

use std::sync::{Mutex, MutexGuard, OnceLock};

use super::line::Line;
use super::part::LINE;

/// Granules of a page.
pub(crate) const PAGE: u64 = 1024;

/// The lines of a page, made where it is accessed.
#[derive(Debug, Default)]
struct Page {
    lines: Option<Box<[Line]>>,
    saved: Option<Box<Saved>>,
}

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
    pages: OnceLock<Box<[Mutex<Page>]>>,
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
        // Room for granules of one byte.
        let pages = self.pages.get_or_init(|| {
            (0..self.bytes / PAGE + 1)
                .map(|_| Mutex::default())
                .collect()
        });
        let mut guard = pages[page as usize]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let make = || bytemuck::zeroed_slice_box((PAGE / LINE) as usize);
        guard.lines.get_or_insert_with(make);
        PageGuard(guard)
    }
}

/// A locked page.
pub(crate) struct PageGuard<'a>(MutexGuard<'a, Page>);

impl PageGuard<'_> {
    /// Line `index` of the page.
    #[inline]
    pub(crate) fn line(&mut self, index: u64) -> &mut Line {
        let lines = self.0.lines.as_mut();
        let lines = lines.expect("made when the page was locked");
        &mut lines[index as usize]
    }

    /// True if the page's content is saved for the launch of this first block.
    #[inline]
    pub(crate) fn is_saved(&self, first_block: u32) -> bool {
        let saved = self.0.saved.as_ref();
        saved.is_some_and(|saved| saved.first_block == first_block)
    }

    /// Keeps the page's content.
    pub(crate) fn save(&mut self, saved: Saved) {
        self.0.saved = Some(Box::new(saved));
    }

    /// Gives the content back.
    pub(crate) fn take_saved(&mut self) -> Option<Box<Saved>> {
        self.0.saved.take()
    }
}
