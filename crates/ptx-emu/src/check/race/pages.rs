//! The cells of a buffer.

use std::sync::{Mutex, MutexGuard, OnceLock};

use super::cell::Cell;

/// Cells of a page.
pub(crate) const PAGE: u64 = 1024;

type Page = Option<Box<[Cell]>>;

/// The cells of a buffer, made where it is accessed. Cells stay from launch to launch: records of earlier
/// launches are told apart by their block numbers.
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

    /// Locks the page of a cell.
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
        guard.get_or_insert_with(|| vec![Cell::default(); PAGE as usize].into_boxed_slice());
        PageGuard(guard)
    }
}

/// A locked page.
pub(crate) struct PageGuard<'a>(MutexGuard<'a, Page>);

impl PageGuard<'_> {
    /// Cell `index` of the page.
    #[inline]
    pub(crate) fn cell(&mut self, index: u64) -> &mut Cell {
        let cells = self.0.as_mut().expect("made when the page was locked");
        &mut cells[index as usize]
    }
}
