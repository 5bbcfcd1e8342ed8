//! The registers that a kernel needs at least, in whatever way it is compiled.
//!
//! PTX has as many registers as its author likes, and a GPU has 65,536 for a block. A launch that
//! takes more is refused, and fewer blocks run at once the more each takes. How many a kernel takes
//! is for the compiler to say (`ptxas`), which a machine without a GPU need not have. So this is a
//! bound from below: launches that it forbids, every GPU refuses.
//!
//! # Why it is a bound
//!
//! A compiler may do anything again instead of keeping it, and move what it does. Some things it
//! cannot do again or elsewhere: an atomic, a shuffle, a load from memory that may be different
//! later, the rounds of a sum. So take a *point* where time passes for sure, a barrier or the start
//! of a loop's round (`values`). What is made before it, cannot be made after it, and is needed
//! after it, has to get across in registers: itself, or something that it follows from, or all that
//! is to be computed of it. The fewest registers for that are a smallest cut of the graph that
//! values make (`cut`). The bound is the most of all points.
//!
//! These count for nothing, since compilers make them again or do without:
//!
//! - constants, parameters, special registers such as `%tid`, and what follows from these alone;
//! - counters and addresses that loops step by what does not change (`uses`);
//! - loads that may be made after the point: those by `ld.global.nc`, and others if nothing between
//!   changes memory. But what each round of a loop uses is not loaded again in each;
//! - sums of what is the same in all threads of the grid: newer GPUs have registers for these, one
//!   for a warp;
//! - predicates; the upper half of what integer arithmetic makes;
//! - local memory, and results and arguments of calls: a compiler may do away with both.
//!
//! Of 16-bit registers, two count as one.
//!
//! # Measured
//!
//! By `ptxas` 13.5 for sm_90 and without launch bounds: of 1,900 kernels of HeCBench, the 128 of
//! the course and 453 made to be hard, none takes fewer registers than this says. Of those that
//! take more than 40, the middle one takes three times as many: most of what a kernel holds at once
//! it holds between two points, where the order is the compiler's. Sums and tiles in registers,
//! which are what makes kernels large, come to 70 to 90 %.

mod cut;
mod steps;
mod uses;
mod values;

use crate::counts::InstructionClass;
use crate::liveness::Liveness;
use crate::registers::Slot;
use crate::unset_values::Spaces;
use crate::unset_values::facts::Facts;
use crate::unset_values::shadows::Numbers;

/// A kernel with no more registers than this fits any launch, and fills no multiprocessor.
const FEW: u32 = 32;
/// A compiler gives a thread 255 registers at most, and may keep some for itself; all else goes to
/// local memory.
const MOST: u32 = 240;

/// The 32-bit registers that a thread needs at least to run a function with these instructions, of
/// these classes, if nothing bounds them. `lane_rows` are constants that differ from lane to lane.
pub(crate) fn registers(
    facts: &[Facts],
    classes: impl Iterator<Item = InstructionClass>,
    (numbers, lane_rows): (Numbers, impl Iterator<Item = Slot>),
    liveness: &Liveness,
    spaces: Spaces,
) -> u32 {
    if numbers.rows.r32 + 2 * numbers.rows.r64 <= FEW {
        return 0;
    }
    let steps = steps::Steps::of(facts, classes, (numbers, lane_rows), spaces);
    let Some(values) = values::Values::of(&steps, liveness) else {
        return 0;
    };
    let halves = cut::most_halves(&values, liveness);
    halves.div_ceil(2).min(MOST)
}
