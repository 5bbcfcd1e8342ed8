//! The parts of a buffer that is scattered over devices: rectangles of it, which may overlap in
//! halos.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::BufferId;

/// A rectangle of a buffer that is seen as rows of equal length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rect {
    /// Rows.
    pub rows: Range<u64>,
    /// Elements of each.
    pub columns: Range<u64>,
}

impl Rect {
    /// Number of elements; 0 for ranges that end before they start.
    pub fn len(&self) -> u64 {
        let len = |range: &Range<u64>| range.end.saturating_sub(range.start);
        len(&self.rows).saturating_mul(len(&self.columns))
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the other lies in it.
    pub fn contains(&self, other: &Rect) -> bool {
        let contains = |outer: &Range<u64>, inner: &Range<u64>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        contains(&self.rows, &other.rows) && contains(&self.columns, &other.columns)
    }

    pub(crate) fn meets(&self, other: &Rect) -> bool {
        let meets = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        meets(&self.rows, &other.rows) && meets(&self.columns, &other.columns)
    }
}

impl std::fmt::Display for Rect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rows {:?} columns {:?}", self.rows, self.columns)
    }
}

/// One device's part of a scattered buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The device.
    pub device: u32,
    /// The rectangle that it holds, row after row: written when the whole is.
    pub holds: Rect,
    /// The rectangle of it that counts when the whole is read; the rest is halo.
    pub owns: Rect,
}

/// A buffer without memory of its own, and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scattered {
    /// The buffer.
    pub whole: BufferId,
    /// Elements of a row.
    pub pitch: u64,
    /// Its parts, and the buffers that are their memory.
    pub parts: Vec<(BufferId, Part)>,
}

impl Part {
    /// The pieces of a rectangle of the whole that lie in one piece both there and here: ranges of
    /// elements of the whole, and where each begins in the part. The part holds the rectangle; rows
    /// of the whole have `pitch` elements.
    ///
    /// # Panics
    ///
    /// If the part does not hold the rectangle.
    pub fn pieces(&self, of: &Rect, pitch: u64) -> impl Iterator<Item = (Range<u64>, u64)> + use<> {
        assert!(self.holds.contains(of), "the part holds the rectangle");
        let Rect { rows, columns } = self.holds.clone();
        let (width, of) = (columns.end - columns.start, of.clone());
        let is_whole = columns == (0..pitch) && of.columns == columns;
        let pieces = if is_whole {
            u64::from(of.rows.start < of.rows.end)
        } else {
            of.rows.end - of.rows.start
        };
        (0..pieces).map(move |piece| {
            let row = of.rows.start + piece;
            let end = if is_whole { of.rows.end - 1 } else { row };
            let range = row * pitch + of.columns.start..end * pitch + of.columns.end;
            (
                range,
                (row - rows.start) * width + of.columns.start - columns.start,
            )
        })
    }
}
