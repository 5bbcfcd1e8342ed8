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
    /// The text. What is not UTF-8 is replaced.
    pub text: String,
    /// True if it was longer, and the end is left out.
    pub is_cut: bool,
}

impl Printed {
    /// Adds what was printed later.
    pub fn add(&mut self, later: Printed) {
        if self.text.len() + later.text.len() > MAX_BYTES {
            self.is_cut = true;
        }
        if !self.is_cut {
            self.text += &later.text;
            self.is_cut = later.is_cut;
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
    pub(crate) fn push(&mut self, text: &[u8]) {
        let room = MAX_BYTES - self.bytes.len();
        self.is_cut |= text.len() > room;
        self.bytes.extend_from_slice(&text[..text.len().min(room)]);
    }
}

/// The text of a launch: of each cluster that printed, by its place in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct LaunchText(Mutex<(BTreeMap<u64, ClusterText>, bool)>);

impl LaunchText {
    /// Takes the text of the cluster at that place.
    pub(crate) fn take(&self, place: u64, text: &mut ClusterText) {
        if text.bytes.is_empty() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (texts, is_cut) = &mut *kept;
        texts.insert(place, std::mem::take(text));
        // Those that no text before them can make room for.
        let mut bytes: usize = texts.values().map(|text| text.bytes.len()).sum();
        while let Some(last) = texts.last_entry()
            && bytes - last.get().bytes.len() >= MAX_BYTES
        {
            bytes -= last.remove().bytes.len();
            *is_cut = true;
        }
    }

    /// The text of the clusters up to that place.
    pub(crate) fn until(self, last: Option<u64>) -> Printed {
        let (texts, mut is_cut) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
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
