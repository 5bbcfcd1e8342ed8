//! The text that kernels print.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The most text that is kept of a launch, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The text that kernels have printed, by `vprintf`.
///
/// The text of each block is together, and blocks follow one another in the order in which they
/// start; so it depends on the options alone, not on the number of host threads. After a fault it
/// is the text of the blocks up to the one at fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// True if it was longer, and the end is left out.
    pub is_cut: bool,
}

impl Printed {
    /// Adds what was printed later.
    pub fn add(&mut self, later: Printed) {
        if !self.is_cut {
            let room = MAX_BYTES.saturating_sub(self.text.len());
            let end = later.text.floor_char_boundary(room);
            self.text += &later.text[..end];
            self.is_cut = later.is_cut || end < later.text.len();
        }
    }
}

/// The text of the blocks of a cluster, in the order in which they printed it.
#[derive(Debug, Default)]
pub(crate) struct ClusterText {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl ClusterText {
    /// Whether no more is kept, where a launch keeps `most_bytes`: the rest need not be made. It
    /// depends on what the cluster itself has printed, so not on the number of host threads.
    pub(crate) fn is_full(&mut self, most_bytes: usize) -> bool {
        let is_full = self.bytes.len() >= most_bytes;
        self.is_cut |= is_full;
        is_full
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        let room = MAX_BYTES.saturating_sub(self.bytes.len());
        self.is_cut |= text.len() > room;
        self.bytes.extend_from_slice(&text[..text.len().min(room)]);
    }
}

/// The text of a launch: of each cluster that printed, by its place in the order of their starts.
#[derive(Debug)]
pub(crate) struct LaunchText {
    texts: Mutex<(BTreeMap<u64, ClusterText>, bool)>,
    /// The most that is kept, in bytes.
    pub(crate) most_bytes: usize,
}

impl LaunchText {
    /// That of a launch after which `earlier` was printed.
    pub(crate) fn after(earlier: &Printed) -> LaunchText {
        LaunchText {
            texts: Mutex::default(),
            most_bytes: if earlier.is_cut {
                0
            } else {
                MAX_BYTES - earlier.text.len().min(MAX_BYTES)
            },
        }
    }

    /// Takes the text of the cluster at that place.
    pub(crate) fn take(&self, place: u64, text: &mut ClusterText) {
        if text.bytes.is_empty() && !text.is_cut {
            return;
        }
        let mut kept = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let (texts, is_cut) = &mut *kept;
        texts.insert(place, std::mem::take(text));
        // Those that no text before them can make room for.
        let mut bytes: usize = texts.values().map(|kept_text| kept_text.bytes.len()).sum();
        while let Some(last) = texts.last_entry()
            && bytes - last.get().bytes.len() >= self.most_bytes.max(1)
        {
            bytes -= last.remove().bytes.len();
            *is_cut = true;
        }
    }

    /// The text of the clusters up to that place.
    pub(crate) fn until(self, last: Option<u64>) -> Printed {
        let (texts, mut is_cut) = self
            .texts
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut all = ClusterText::default();
        for (place, text) in texts {
            if last.is_some_and(|last| place > last) {
                break;
            }
            all.push(&text.bytes);
            is_cut |= text.is_cut;
        }
        Printed {
            text: String::from_utf8_lossy(&all.bytes).into_owned(),
            is_cut: is_cut || all.is_cut,
        }
    }
}
