//! The memory that is guarded against the host, and for which commands: see `host.rs`.

use std::ops::Range;

use command_order::Stamp;

use crate::guard;

/// Pages that are guarded for a command.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) pages: Range<u64>,
    /// The command writes them: the host may not read them either.
    pub(super) is_written: bool,
    pub(super) stamp: Stamp,
}

#[derive(Debug, Default)]
pub(super) struct Guards(Vec<Guard>);

impl Guards {
    pub(super) fn add(&mut self, new: &Guard) {
        // A later command of the chain is known to be done no earlier.
        self.0.retain(|known| {
            known.pages != new.pages
                || known.stamp.chain != new.stamp.chain
                || known.is_written && !new.is_written
        });
        self.0.push(new.clone());
        let mut own = self.of(&new.pages);
        let is_written = own.any(|known| known.is_written);
        drop(own);
        if !guard::close(&new.pages, !is_written) {
            self.open_all();
        }
    }

    fn of(&self, pages: &Range<u64>) -> impl Iterator<Item = &Guard> {
        let meets = |known: &&Guard| known.pages.start < pages.end && pages.start < known.pages.end;
        self.0.iter().filter(meets)
    }

    /// Where guards cannot be, there are none.
    pub(super) fn open_all(&mut self) {
        for known in self.0.drain(..) {
            guard::open(&known.pages);
        }
    }

    /// Closes pages again that were opened.
    pub(super) fn close(&self, pages: &Range<u64>) {
        let mut own: Vec<&Guard> = self.of(pages).collect();
        // Where they meet, nothing may be accessed.
        own.sort_by_key(|known| known.is_written);
        for known in own {
            guard::close(&known.pages, !known.is_written);
        }
    }

    /// Opens what is guarded for commands that are done.
    pub(super) fn open_done(&mut self, is_done: impl Fn(Stamp) -> bool) {
        if !self.0.iter().any(|guard| is_done(guard.stamp)) {
            return;
        }
        let all = self.0.drain(..);
        let (done, left): (Vec<Guard>, _) = all.partition(|guard| is_done(guard.stamp));
        self.0 = left;
        for known in &done {
            guard::open(&known.pages);
        }
        for known in &done {
            self.close(&known.pages);
        }
    }

    /// Ends those of memory that begins at an address.
    pub(super) fn forget(&mut self, range: &Range<u64>) {
        self.0.retain(|known| !range.contains(&known.pages.start));
    }
}
