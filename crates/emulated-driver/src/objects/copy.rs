//! Copies and fills, as rows of bytes.

/// One side of a copy, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) address: u64,
    /// From a row to the next.
    pub(crate) pitch: u64,
    /// From a layer to the next.
    pub(crate) layer: u64,
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
    pub(crate) fn of(to: u64, from: u64, bytes: usize) -> Copy {
        let side = |address| Side {
            address,
            pitch: 0,
            layer: 0,
        };
        Copy {
            from: side(from),
            to: side(to),
            width: bytes as u64,
            height: 1,
            depth: 1,
        }
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
