//! Boxes of whole rows of a field, one per block, for launches that take all timesteps and keep the
//! field on the chip.
//!
//! The launch has as many blocks as run at once. They divide the field into boxes along y and z,
//! and the warps of a block divide its box: a warp has R rows in each of L layers. A lane has P
//! pairs of neighbouring points of each row.
//!
//! - [`Division`]: the number of boxes and warps for a field.
//! - [`Tile`]: a block's box in shared memory, with a ring of rows around it, as one of its warps
//!   sees it.
//! - `exchange`: a warp sends rows to the warps of other blocks that read them, and receives
//!   theirs.
//!
//! A field is x contiguous, then y, then z. A row has up to 64 P points.

mod division;
mod exchange;
mod tile;

pub use division::{Division, Instance};
pub use tile::{Tile, beyond, is_uniformly, shared_mem_bytes};

/// Points of a row for which each lane has a pair.
pub const COLUMNS: u32 = 64;

/// A lane's values of a row: P pairs of neighbouring points. Pair j is [`COLUMNS`] j points after
/// the first one.
pub type Row<const P: usize> = [[f64; 2]; P];

/// Writes the body out for each number below the end, which is at most 8. LLVM would not unroll a
/// long loop, and the values of its arrays would be in local memory.
///
/// `unrolled!(i in N => { .. })`
#[macro_export]
macro_rules! unrolled {
    ($i:ident in $end:expr => $body:block) => {
        $crate::unrolled!(@ $i $end, $body, 0 1 2 3 4 5 6 7)
    };
    (@ $i:ident $end:expr, $body:block, $($number:literal)*) => {$(
        if $number < $end {
            #[allow(unused_variables)]
            let $i: usize = $number;
            $body
        }
    )*};
}
