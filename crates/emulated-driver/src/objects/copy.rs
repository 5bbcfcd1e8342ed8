//! Copies and fills, as rows of bytes.

use crate::code::{Code, Outcome};

/// Which memory a call takes an address for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Memory that kernels may access.
    Device,
    /// Memory that kernels may access, or the program's own: the address tells.
    Any,
}

/// One side of a copy, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) place: Place,
    pub(crate) address: u64,
    /// From a row to the next.
    pub(crate) pitch: u64,
    /// From a layer to the next.
    pub(crate) layer: u64,
}

impl Side {
    /// Bytes that lie together in memory of the device.
    pub(crate) fn device(address: u64) -> Side {
        Side {
            place: Place::Device,
            address,
            pitch: 0,
            layer: 0,
        }
    }

    /// Bytes that lie together in any memory.
    pub(crate) fn any(address: u64) -> Side {
        Side {
            place: Place::Any,
            ..Side::device(address)
        }
    }

    /// This side of the copy, moved on by `x` bytes, `y` rows and `z` layers.
    ///
    /// # Errors
    ///
    /// If the address is none.
    pub(crate) fn at(self, x: usize, y: usize, z: usize) -> Outcome<Side> {
        let row = (y as u64).checked_mul(self.pitch);
        let layer = (z as u64).checked_mul(self.layer);
        let start = row.zip(layer).and_then(|(row, layer)| {
            let rows = self.address.checked_add(row)?.checked_add(layer)?;
            rows.checked_add(x as u64)
        });
        let address = start.ok_or(Code::INVALID_VALUE)?;
        Ok(Side { address, ..self })
    }
}

/// A copy of `depth` layers of `height` rows of `width` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) from: Side,
    pub(crate) to: Side,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl Copy {
    /// A copy of bytes that lie together.
    pub(crate) fn of(to: Side, from: Side, bytes: usize) -> Copy {
        Copy {
            from,
            to,
            width: bytes as u64,
            height: 1,
            depth: 1,
        }
    }

    /// Whether it copies nothing.
    pub(crate) fn is_empty(&self) -> bool {
        [self.width, self.height, self.depth].contains(&0)
    }

    /// Whether both sides' last bytes have addresses, and rows do not overlap. Only then are there
    /// [`Copy::rows`].
    pub(crate) fn is_possible(&self) -> bool {
        let has_end = |side: Side| {
            let rows = side.pitch.checked_mul(self.height - 1)?;
            let layers = side.layer.checked_mul(self.depth - 1)?;
            let start = side.address.checked_add(rows)?.checked_add(layers)?;
            start.checked_add(self.width)
        };
        let is_apart = |side: Side| self.height == 1 || side.pitch >= self.width;
        self.is_empty()
            || [self.from, self.to]
                .into_iter()
                .all(|side| has_end(side).is_some() && is_apart(side))
    }

    /// The addresses of each row's two sides.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let Copy {
            from,
            to,
            height,
            depth,
            ..
        } = *self;
        (0..depth).flat_map(move |layer| {
            (0..height).map(move |row| {
                let of = |side: Side| side.address + layer * side.layer + row * side.pitch;
                (of(from), of(to))
            })
        })
    }
}

/// A fill of `height` rows of `width` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    /// Bytes from a row to the next.
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}
