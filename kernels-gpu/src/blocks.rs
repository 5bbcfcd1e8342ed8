//! The list of a launch's blocks, for kernels that take tiles through chunks of planes.
//!
//! Tiles differ in what a plane costs them: one with walls or damped rows takes longer than one
//! inside. With chunks of one length the quick tiles' multiprocessors wait for the slow ones', so
//! that a list gives each [`Group`] of like tiles its own number of chunks, and the groups whose
//! blocks take longest come first. `plan::balance` finds the numbers.
//!
//! A kernel gets the list by value ([`BlockList::to_bytes`]) and asks it for its block's tile and
//! planes ([`BlockList::find`]). The grid has [`BlockList::blocks`] blocks along x.
//!
//! ```
//! use kernels_gpu::blocks::{Along, BlockList, Group, Place};
//!
//! // Three tiles by one: the two at the ends take four chunks of 100 planes, the middle one two.
//! let [ends, middle] = Along::ends_and_middle(3);
//! let mut list = BlockList::EMPTY;
//! for (tiles, chunks) in [(ends, 4), (middle, 2)] {
//!     list.push(Group { tiles: [tiles, Along::ONE], planes: [0, 100], chunks });
//! }
//! assert_eq!(list.blocks(), 2 * 4 + 2);
//! assert_eq!(list.mean_planes(), 30);
//! assert_eq!(list.find(1), Place { tile: [2, 0], planes: [0, 25] });
//! assert_eq!(list.find(9), Place { tile: [1, 0], planes: [50, 100] });
//! ```

/// The largest number of groups of a list.
pub const MAX_GROUPS: usize = 8;

/// Some of the tiles along an axis: `count` of them, from `first` on, each `step` after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Along {
    /// The first one's number.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// From one to the next.
    pub step: u32,
}

impl Along {
    /// The first tile alone.
    pub const ONE: Along = Along::from(0, 1);

    /// `count` neighbouring tiles.
    pub const fn from(first: u32, count: u32) -> Along {
        Along {
            first,
            count,
            step: 1,
        }
    }

    /// The first and the last of `tiles` tiles, which may be one, and those between, which may be
    /// none.
    pub const fn ends_and_middle(tiles: u32) -> [Along; 2] {
        let ends = Along {
            first: 0,
            count: if tiles < 2 { tiles } else { 2 },
            step: if tiles < 2 { 1 } else { tiles - 1 },
        };
        [ends, Along::from(1, tiles.saturating_sub(2))]
    }

    #[inline(always)]
    fn nth(self, number: u32) -> u32 {
        self.first + number * self.step
    }
}

/// Tiles that take the same time for a plane, and the planes that each of them computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Group {
    /// The tiles' numbers along both axes.
    pub tiles: [Along; 2],
    /// The first plane, and the one after the last.
    pub planes: [u32; 2],
    /// The chunks of each tile, as even as possible: at least 1.
    pub chunks: u32,
}

impl Group {
    /// How many tiles it has.
    #[inline(always)]
    pub const fn tiles(&self) -> u32 {
        self.tiles[0].count * self.tiles[1].count
    }

    /// How many planes each tile has.
    #[inline(always)]
    pub const fn len(&self) -> u32 {
        self.planes[1] - self.planes[0]
    }

    /// Whether it has no blocks.
    pub const fn is_empty(&self) -> bool {
        self.tiles() == 0 || self.len() == 0
    }
}

/// A group, and the number of blocks before its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Listed {
    before: u32,
    group: Group,
}

impl Listed {
    /// `other` if that is to be taken, or else itself.
    #[inline(always)]
    fn or(self, other: Listed, takes_other: bool) -> Listed {
        let select = |own: u32, other: u32| if takes_other { other } else { own };
        let along = |axis: usize| {
            let (own, other) = (self.group.tiles[axis], other.group.tiles[axis]);
            Along {
                first: select(own.first, other.first),
                count: select(own.count, other.count),
                step: select(own.step, other.step),
            }
        };
        let [own, of_other] = [self.group, other.group];
        Listed {
            before: select(self.before, other.before),
            group: Group {
                tiles: [along(0), along(1)],
                planes: [
                    select(own.planes[0], of_other.planes[0]),
                    select(own.planes[1], of_other.planes[1]),
                ],
                chunks: select(own.chunks, of_other.chunks),
            },
        }
    }
}

/// The blocks of a launch: those of one group after those of another. See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockList {
    groups: [Listed; MAX_GROUPS],
    blocks: u32,
}

/// The work of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The tile's number along both axes.
    pub tile: [u32; 2],
    /// The first plane, and the one after the last.
    pub planes: [u32; 2],
}

impl BlockList {
    /// A list without blocks.
    pub const EMPTY: BlockList = BlockList {
        groups: [Listed {
            before: u32::MAX,
            group: Group {
                tiles: [Along::ONE; 2],
                planes: [0; 2],
                chunks: 1,
            },
        }; MAX_GROUPS],
        blocks: 0,
    };

    /// Adds a group's blocks after those that are there. Chunks come one after another, each for
    /// all tiles, so that tiles which read each other's edges run at the same time. A group without
    /// planes or tiles adds nothing.
    ///
    /// # Panics
    ///
    /// If there are [`MAX_GROUPS`] already.
    pub fn push(&mut self, group: Group) {
        if group.is_empty() {
            return;
        }
        let free = self
            .groups
            .iter_mut()
            .find(|listed| listed.before == u32::MAX);
        *free.expect("a list has at most 8 groups") = Listed {
            before: self.blocks,
            group,
        };
        self.blocks += group.tiles() * group.chunks;
    }

    /// How many blocks there are.
    pub const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The planes of a block, on average, rounded up; 0 without blocks.
    pub fn mean_planes(&self) -> u32 {
        let listed = self
            .groups
            .iter()
            .filter(|listed| listed.before != u32::MAX);
        let planes: u32 = listed
            .map(|listed| listed.group.tiles() * listed.group.len())
            .sum();
        planes.div_ceil(self.blocks.max(1))
    }

    /// The work of a block, by its number along x.
    #[inline(always)]
    pub fn find(&self, block: u32) -> Place {
        let [mut listed, ..] = self.groups;
        // Unrolled and value by value: an index that changes would copy the list to local memory.
        macro_rules! later {
            ($($number:literal)*) => {$(
                let later = self.groups[$number];
                listed = listed.or(later, block >= later.before);
            )*};
        }
        later!(1 2 3 4 5 6 7);
        let Listed { before, group } = listed;
        let within = block - before;
        // No number is 0, and `max` says so to the compiler.
        let [tiles, along, chunks] =
            [group.tiles(), group.tiles[0].count, group.chunks].map(|number| number.max(1));
        let (chunk, tile) = (within / tiles, within % tiles);
        let plane = |chunk: u32| group.planes[0] + group.len() * chunk / chunks;
        Place {
            tile: [
                group.tiles[0].nth(tile % along),
                group.tiles[1].nth(tile / along),
            ],
            planes: [plane(chunk), plane(chunk + 1)],
        }
    }

    /// The bytes of the list, as in a launch's argument.
    pub fn to_bytes(self) -> [u8; size_of::<BlockList>()] {
        let words = self
            .groups
            .into_iter()
            .flat_map(|Listed { before, group }| {
                let [a, b] = group.tiles;
                let [start, end] = group.planes;
                let tiles = [a.first, a.count, a.step, b.first, b.count, b.step];
                let rest = [start, end, group.chunks];
                [before].into_iter().chain(tiles).chain(rest)
            });
        let mut bytes = [0; size_of::<BlockList>()];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words.chain([self.blocks])) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    fn list(tiles: [u32; 2], planes: [u32; 2], chunks: &[u32]) -> BlockList {
        let [x, y] = tiles.map(Along::ends_and_middle);
        let mut list = BlockList::EMPTY;
        let groups = x.iter().flat_map(|&x| y.iter().map(move |&y| [x, y]));
        for (tiles, &chunks) in groups.zip(chunks) {
            list.push(Group {
                tiles,
                planes,
                chunks,
            });
        }
        list
    }

    #[test]
    fn each_tile_has_each_plane_once() {
        for tiles in [[1, 1], [1, 4], [2, 3], [5, 1], [5, 7]] {
            for planes in [[0, 1], [3, 100], [1, 13]] {
                let list = list(tiles, planes, &[3, 1, 7, 2]);
                let mut seen: HashMap<[u32; 2], Vec<u32>> = HashMap::new();
                for block in 0..list.blocks() {
                    let Place { tile, planes } = list.find(block);
                    seen.entry(tile).or_default().extend(planes[0]..planes[1]);
                }
                assert_eq!(seen.len() as u32, tiles[0] * tiles[1], "{tiles:?}");
                for (tile, mut own) in seen {
                    assert!(
                        tile[0] < tiles[0] && tile[1] < tiles[1],
                        "{tile:?} of {tiles:?}"
                    );
                    own.sort_unstable();
                    assert_eq!(own, (planes[0]..planes[1]).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn its_bytes_are_the_structures() {
        let list = list([5, 7], [3, 100], &[3, 1, 7, 2]);
        let words: Vec<u32> = list
            .to_bytes()
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(words.len(), 10 * MAX_GROUPS + 1);
        assert_eq!(words[0..10], [0, 0, 2, 4, 0, 2, 6, 3, 100, 3]);
        assert_eq!(words[10], 4 * 3);
        assert_eq!(words[40], u32::MAX);
        assert_eq!(words[80], list.blocks());
    }
}
