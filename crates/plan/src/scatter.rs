//! Buffers that are scattered over devices: parts of them, which may overlap in halos, have the
//! memory.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Buffer, BufferId, Plan, PlanError, Role};

/// The most parts of a buffer.
const MAX_PARTS: usize = 1 << 12;
/// The most scattered buffers of a plan.
const MAX_SCATTERED: usize = 1 << 10;

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
        let contains = |range: &Range<u64>, other: &Range<u64>| {
            range.start <= other.start && other.end <= range.end
        };
        contains(&self.rows, &other.rows) && contains(&self.columns, &other.columns)
    }

    fn meets(&self, other: &Rect) -> bool {
        let meets = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        meets(&self.rows, &other.rows) && meets(&self.columns, &other.columns)
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
        let pieces = match is_whole {
            true => u64::from(of.rows.start < of.rows.end),
            false => of.rows.end - of.rows.start,
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

impl Plan {
    /// Scatters a buffer over devices: it has no memory of its own from now on, and its parts have.
    /// `pitch` elements are a row of it. Each element is owned by exactly one part; a part may hold
    /// more than it owns.
    ///
    /// The parts are scratch buffers `NAME.0`, `NAME.1` and so on, whose contents are those of the
    /// whole when a run begins if the whole is written then. Commands name the parts; outputs may
    /// name the whole.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: another plan's buffer; one that a command names, or that is scattered; rows
    /// or parts that do not fit it.
    pub fn scatter(
        &mut self,
        whole: BufferId,
        pitch: u64,
        parts: &[Part],
    ) -> Result<Vec<BufferId>, PlanError> {
        let place = || format!("plan `{}`", self.name);
        let buffer = self
            .own(whole, place, || "what is scattered".to_owned())?
            .clone();
        let first = self.buffers.len() as u32;
        let ids = (first..).map(|index| BufferId {
            plan: self.tag,
            index,
        });
        let scattered = Scattered {
            whole,
            pitch,
            parts: ids.zip(parts.iter().cloned()).collect(),
        };
        self.check_scattered(&scattered)?;
        for (number, part) in parts.iter().enumerate() {
            self.declare(Buffer {
                name: format!("{}.{number}", buffer.name),
                element: buffer.element,
                len: part.holds.len(),
                role: Role::Scratch,
                device: part.device,
            });
        }
        let ids = scattered.parts.iter().map(|&(id, _)| id).collect();
        self.scattered.push(scattered);
        Ok(ids)
    }

    /// Adds a saved one, whose parts are declared.
    pub(crate) fn add_scattered(&mut self, scattered: Scattered) -> Result<(), PlanError> {
        self.own(
            scattered.whole,
            || format!("plan `{}`", self.name),
            || "what is scattered".to_owned(),
        )?;
        self.check_scattered(&scattered)?;
        let whole = self.buffers[scattered.whole.index()].clone();
        for (id, part) in &scattered.parts {
            let place = || format!("plan `{}`", self.name);
            let buffer = self.own(*id, place, || format!("a part of `{}`", whole.name))?;
            let expected = Buffer {
                name: buffer.name.clone(),
                len: part.holds.len(),
                role: Role::Scratch,
                device: part.device,
                ..whole.clone()
            };
            let is_part = self
                .scattered
                .iter()
                .flat_map(|other| &other.parts)
                .any(|other| other.0 == *id);
            if *buffer != expected || is_part || *id == scattered.whole {
                return Err(self.cannot_scatter(
                    scattered.whole,
                    format!("`{}` cannot be a part of it", buffer.name),
                ));
            }
        }
        self.scattered.push(scattered);
        Ok(())
    }

    /// The buffers without memory of their own, in the order of [`Plan::scatter`].
    pub fn all_scattered(&self) -> &[Scattered] {
        &self.scattered
    }

    /// The parts of a buffer, if it is scattered.
    pub fn scattered(&self, whole: BufferId) -> Option<&Scattered> {
        self.scattered
            .iter()
            .find(|scattered| scattered.whole == whole)
    }

    /// The buffers whose memory a buffer is in: its parts if it is scattered, else itself.
    pub fn memory_of(&self, id: BufferId) -> Vec<BufferId> {
        match self.scattered(id) {
            Some(scattered) => scattered.parts.iter().map(|&(id, _)| id).collect(),
            None => vec![id],
        }
    }

    fn cannot_scatter(&self, whole: BufferId, reason: String) -> PlanError {
        PlanError::Scatter {
            plan: self.name.clone(),
            buffer: self.buffers[whole.index()].name.clone(),
            reason,
        }
    }

    /// Checks all but the parts' memory.
    fn check_scattered(&self, scattered: &Scattered) -> Result<(), PlanError> {
        let Scattered {
            whole,
            pitch,
            parts,
        } = scattered;
        let len = self.buffers[whole.index()].len;
        let refused = |reason: String| Err(self.cannot_scatter(*whole, reason));
        if parts.len() > MAX_PARTS || self.scattered.len() >= MAX_SCATTERED {
            return refused(format!(
                "a plan has at most {MAX_SCATTERED} scattered buffers, of at most {MAX_PARTS} parts each"
            ));
        }
        if self.scattered(*whole).is_some() {
            return refused("it is scattered already".to_owned());
        }
        let mut is_named = self
            .commands()
            .flat_map(|command| command.accesses().collect::<Vec<_>>());
        if is_named.any(|(id, _)| id == *whole) {
            return refused("a command before names it".to_owned());
        }
        if *pitch == 0 || !len.is_multiple_of(*pitch) {
            return refused(format!(
                "its {len} elements do not divide into rows of {pitch}"
            ));
        }
        let all = Rect {
            rows: 0..len / pitch,
            columns: 0..*pitch,
        };
        let mut owned = 0_u64;
        for (number, (_, part)) in parts.iter().enumerate() {
            if part.owns.is_empty() {
                return refused(format!("part {number} owns no element of it"));
            }
            if !all.contains(&part.holds) || !part.holds.contains(&part.owns) {
                return refused(format!(
                    "part {number} holds {} and owns {}, of {} rows of {pitch}",
                    part.holds, part.owns, all.rows.end
                ));
            }
            owned = owned.saturating_add(part.owns.len());
        }
        for (number, (_, part)) in parts.iter().enumerate() {
            let mut before = parts[..number].iter();
            if let Some(other) = before.position(|(_, other)| other.owns.meets(&part.owns)) {
                return refused(format!("parts {other} and {number} own the same element"));
            }
        }
        match owned == len {
            true => Ok(()),
            false => refused(format!("its parts own {owned} of its {len} elements")),
        }
    }
}

impl std::fmt::Display for Rect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rows {:?} columns {:?}", self.rows, self.columns)
    }
}
