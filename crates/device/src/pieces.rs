//! Where the bytes of a buffer are: in its own memory or, if it is scattered, in that of its parts.

use std::ops::Range;

use super::share::Share;
use plan::{BufferId, Plan};

/// Bytes of a buffer that lie together in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The buffer that has the memory.
    pub part: BufferId,
    /// Where they begin in it, in bytes.
    pub offset: u64,
    /// Which bytes of the buffer they are.
    pub whole: Range<usize>,
}

/// Which bytes of a part are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    /// All, halos included.
    Held,
    /// Those that count.
    Owned,
}

/// The pieces of a buffer of the plan that are in this process's memory, part by part.
pub fn own_pieces(plan: &Plan, share: &Share, id: BufferId, which: Pieces) -> Vec<Piece> {
    let mut pieces = pieces(plan, id, which);
    pieces.retain(|piece| share.holds(plan, piece.part));
    pieces
}

/// The pieces of a buffer of the plan, part by part.
pub fn pieces(plan: &Plan, id: BufferId, which: Pieces) -> Vec<Piece> {
    let buffer = &plan.buffers()[id.index()];
    let Some(scattered) = plan.scattered(id) else {
        return vec![Piece {
            part: id,
            offset: 0,
            whole: 0..buffer.bytes() as usize,
        }];
    };
    let size = buffer.element.size() as u64;
    let of_part = |(piece, part): &(BufferId, plan::Part)| {
        let (own, rect) = match which {
            Pieces::Held => (*piece, &part.holds),
            Pieces::Owned => (*piece, &part.owns),
        };
        let pieces = part.pieces(rect, scattered.pitch);
        pieces.map(move |(whole, offset)| Piece {
            part: own,
            offset: offset * size,
            whole: (whole.start * size) as usize..(whole.end * size) as usize,
        })
    };
    scattered.parts.iter().flat_map(of_part).collect()
}
