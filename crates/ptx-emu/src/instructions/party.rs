//! An operation that lanes of a warp execute together, and those lanes. How they come together:
//! `together`.

use std::fmt;

use crate::fault::Stop;
use crate::registers::{LANES, Registers, Row32, Slot, lanes};
use crate::runner::BlockRunner;
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

/// Lanes that execute an operation together: those of one place, and what all put in.
#[derive(Clone)]
pub(crate) struct Party {
    pub(super) pc: u32,
    /// All lanes that execute the instruction at this place now.
    pub(super) active: u32,
    /// The lanes that each lane executes it with, at all places.
    pub(super) partners: [u32; LANES],
    pub(super) offers: Offers,
}

/// The values that the lanes put in. Of lanes that take no part they mean nothing.
#[derive(Clone, Default)]
pub(crate) struct Offers {
    /// The value, or its lower half.
    pub(super) low: Row32,
    /// The upper half of a value of 64 bits.
    pub(super) high: Row32,
    /// The unset bits of the value.
    pub(super) unset: Row32,
    /// Where those come from, in the lanes that have some: `unset_origin::Origin`.
    pub(super) origins: Row32,
    /// A bit for each lane whose condition is true.
    pub(super) flags: u32,
}

impl Offers {
    /// Takes what lanes put in at another place.
    pub(super) fn add(&mut self, mask: u32, theirs: &Self) {
        for lane in lanes(mask) {
            self.low[lane] = theirs.low[lane];
            self.high[lane] = theirs.high[lane];
            self.unset[lane] = theirs.unset[lane];
            self.origins[lane] = theirs.origins[lane];
        }
        self.flags = self.flags & !mask | theirs.flags & mask;
    }
}

/// An operation that the lanes of a mask execute together.
pub(crate) trait Together: fmt::Debug + Send + Sync {
    /// Lanes may execute it by different instructions.
    fn is_at_any_place(&self) -> bool {
        false
    }

    /// It changes registers alone: see [`Execute::is_quiet`](crate::runner::Execute::is_quiet).
    fn is_quiet(&self) -> bool {
        false
    }

    /// The values that the lanes put in at this place, if it may have several.
    fn offers(&self, _registers: &Registers) -> Offers {
        Offers::default()
    }

    /// Executes it for the lanes of one place, whose partners are all there.
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, party: &Party)
    -> Result<(), Stop>;

    /// See [`Execute::track`](crate::runner::Execute::track).
    fn track(&mut self, _shadow: &dyn Fn(Slot) -> Option<Shadow>, _is_late: bool) {}
}
