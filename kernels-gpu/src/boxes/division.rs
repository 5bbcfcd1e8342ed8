//! The division of a field into boxes.

use super::COLUMNS;

/// The largest shared memory of a block on compute capability 9.0.
const MAX_SHARED_MEM_BYTES: u32 = 227 << 10;

/// A kernel: name, layers and rows of a warp, pairs of a lane, the largest number of threads of a
/// block.
pub type Instance = (&'static str, u32, u32, u32, u32);

/// Boxes of a field, and warps of a box, along y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Boxes of the field: blocks of the grid.
    pub boxes: [u32; 2],
    /// Warps of a box.
    pub warps: [u32; 2],
    /// Rows of a box along y, and its layers.
    pub extents: [u32; 2],
}

impl Division {
    /// The first of the kernels that a field of these extents along x, y and z fits on this number
    /// of multiprocessors, and its boxes. A box of some layers and rows, of some pairs per lane,
    /// has `shared_mem_bytes`.
    pub fn fitting(
        instances: &[Instance],
        [points, rows, layers]: [u32; 3],
        multiprocessors: u32,
        shared_mem_bytes: impl Fn(u32, u32, u32) -> u32,
    ) -> Option<(&'static str, Division)> {
        let pairs = points.div_ceil(COLUMNS);
        let fits = |[rows, layers]: [u32; 2]| {
            shared_mem_bytes(layers, rows, pairs) <= MAX_SHARED_MEM_BYTES
        };
        let kernels = instances.iter().filter(|&&(_, _, _, p, _)| p == pairs);
        let mut divided = kernels.filter_map(|&(name, l, r, _, threads)| {
            let (field, warps) = ([rows, layers], threads / 32);
            let division = Division::smallest(field, [r, l], warps, multiprocessors, fits)?;
            Some((name, division))
        });
        divided.next()
    }

    /// The division into the smallest boxes, for a field of `rows` rows in each of `layers` layers,
    /// warps of `per_warp` rows and layers, and blocks of at most `warps` warps. There are at most
    /// as many boxes as `blocks`, and `fits` tells which extents a box may have.
    pub fn smallest(
        [rows, layers]: [u32; 2],
        per_warp: [u32; 2],
        warps: u32,
        blocks: u32,
        fits: impl Fn([u32; 2]) -> bool,
    ) -> Option<Division> {
        let shapes = (1..=warps).flat_map(|y| (1..=warps / y).map(move |z| [y, z]));
        let divisions = shapes.map(|warps| {
            let extents = [warps[0] * per_warp[0], warps[1] * per_warp[1]];
            Division {
                boxes: [rows.div_ceil(extents[0]), layers.div_ceil(extents[1])],
                warps,
                extents,
            }
        });
        let fitting = divisions.filter(|division| {
            let [y, z] = division.boxes.map(u64::from);
            y * z <= u64::from(blocks) && fits(division.extents)
        });
        // Of boxes of as many rows, the one that exchanges the fewest.
        fitting.min_by_key(
            |Division {
                 extents: [y, z], ..
             }| (y * z, y + z),
        )
    }

    /// Whether a box has at most an eighth more rows than an even division among the blocks has.
    pub fn is_even(&self, [rows, layers]: [u32; 2], blocks: u32) -> bool {
        let [y, z] = self.extents.map(u64::from);
        8 * y * z * u64::from(blocks) <= 9 * u64::from(rows) * u64::from(layers)
    }

    /// The words of 64 bits of a launch's inbox, 0 before it: two for each value of the rows that
    /// blocks [receive](super::Tile::receive) in even timesteps, of `pairs` pairs per lane, then
    /// those in odd ones. The boxes at the field's ends have some rows without a sender.
    pub fn inbox_words(&self, pairs: u32) -> usize {
        let rows = 2 * self.boxes[0] * self.boxes[1] * (self.extents[0] + self.extents[1]);
        2 * 2 * rows as usize * (COLUMNS * pairs) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Division;

    #[test]
    fn cubes_are_divided_among_132_multiprocessors() {
        let divided = |n: u32, per_warp| {
            let division = Division::smallest([n; 2], per_warp, 16, 132, |_| true).unwrap();
            (
                division.boxes,
                division.extents,
                division.is_even([n; 2], 132),
            )
        };
        assert_eq!(divided(128, [2, 4]), ([16, 8], [8, 16], true));
        assert_eq!(divided(96, [2, 3]), ([12, 11], [8, 9], true));
        // Boxes of 96 rows would be too many.
        assert_eq!(divided(112, [2, 4]), ([8, 14], [14, 8], false));
        assert_eq!(
            Division::smallest([200; 2], [2, 4], 16, 132, |_| true),
            None
        );
    }

    proptest! {
        #[test]
        fn boxes_cover_the_field(
            field in [1_u32..200, 1_u32..200],
            per_warp in [1_u32..5, 1_u32..9],
            warps in 1_u32..33,
            blocks in 1_u32..200,
        ) {
            let fits = |[y, z]: [u32; 2]| y * z < 150;
            if let Some(division) = Division::smallest(field, per_warp, warps, blocks, fits) {
                let Division { boxes, warps: of_box, extents } = division;
                for axis in 0..2 {
                    prop_assert_eq!(extents[axis], of_box[axis] * per_warp[axis]);
                    prop_assert!(boxes[axis] * extents[axis] >= field[axis]);
                    prop_assert!((boxes[axis] - 1) * extents[axis] < field[axis]);
                }
                prop_assert!(boxes[0] * boxes[1] <= blocks && of_box[0] * of_box[1] <= warps);
                prop_assert!(fits(extents));
            }
        }
    }
}
