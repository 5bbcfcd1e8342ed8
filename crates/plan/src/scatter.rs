//! Buffers that are scattered over devices: parts of them, which may overlap in halos, have the
//! memory.

use crate::limits::{MAX_PARTS, MAX_SCATTERED};
use crate::{Buffer, BufferId, Part, Plan, PlanError, Rect, Role, Scattered};

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
        let declared = scattered.parts.iter().map(|&(id, _)| id).collect();
        self.scattered.push(scattered);
        Ok(declared)
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
            Some(scattered) => scattered.parts.iter().map(|&(part, _)| part).collect(),
            None => vec![id],
        }
    }

    /// The scattered buffer of which a buffer is a part, else itself.
    pub fn whole_of(&self, id: BufferId) -> BufferId {
        self.scattered
            .iter()
            .find(|scattered| scattered.parts.iter().any(|&(part, _)| part == id))
            .map_or(id, |scattered| scattered.whole)
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
        if owned == len {
            Ok(())
        } else {
            refused(format!("its parts own {owned} of its {len} elements"))
        }
    }
}
