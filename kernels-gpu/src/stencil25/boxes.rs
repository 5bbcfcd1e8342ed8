//! The boxes of points that launches take: those deep inside, which need no code for the shell, the
//! source and the grid's ends; and those around them.

use super::{Grid, RADIUS, Region, Task};

/// Values of a sector of 32 bytes: device memory is read and written by sectors.
const SECTOR: u32 = 8;

/// The number of tiles along y and z in a box.
pub const fn tiles(area: Region, [y, z]: [u32; 2]) -> [u32; 2] {
    let [_, n_y, n_z] = area.shape();
    [n_y.div_ceil(y), n_z.div_ceil(z)]
}

/// The points that kernels without a shell may advance, except those near the source: eight points
/// around each exist, and four around each are not in a shell of this width. Along z, the box
/// begins and ends with a sector. None if the grid has none.
pub fn deep(grid: Grid, shell: u32) -> Option<Region> {
    let margin = shell.max(RADIUS) + RADIUS;
    let low = [margin, margin, margin.next_multiple_of(SECTOR)];
    let [n_x, n_y, n_z] = grid.shape().map(|n| n.saturating_sub(margin));
    let high = [n_x, n_y, n_z / SECTOR * SECTOR];
    let has_points = (0..3).all(|axis| low[axis] < high[axis]);
    has_points.then_some(Region { low, high })
}

/// Whether the source is in a tile that begins at (y, z) = `tile`, or at most four points beside
/// it.
pub const fn reaches(task: &Task, tile: [u32; 2], [y, z]: [u32; 2]) -> bool {
    let Task { grid, source, .. } = *task;
    // Rows count from the halo's first.
    let row = source / grid.pitch % (grid.n_y + 2 * RADIUS);
    let column = source % grid.pitch + RADIUS;
    source != u32::MAX
        && row.wrapping_sub(tile[0]) < y + 2 * RADIUS
        && column.wrapping_sub(tile[1]) < z + 2 * RADIUS
}

/// The points of `all` outside `inner`, in boxes: those along z with all of their points, those
/// along y between these, those along x between both.
pub fn around(all: Region, inner: Region) -> [Region; 6] {
    let [low, high] = [inner.low, inner.high];
    let mut left = all;
    let mut boxes = [all; 6];
    for (axis, pair) in [2, 1, 0].into_iter().zip(boxes.chunks_exact_mut(2)) {
        pair.fill(left);
        pair[0].high[axis] = low[axis];
        pair[1].low[axis] = high[axis];
        (left.low[axis], left.high[axis]) = (low[axis], high[axis]);
    }
    boxes
}

/// The tiles that the source reaches, as a box.
pub fn near_source(task: &Task, area: Region, tile: [u32; 2]) -> Option<Region> {
    let [along_y, along_z] = tiles(area, tile);
    let begins = |number: u32| {
        let [y, z] = [number / along_z, number % along_z];
        [area.low[1] + y * tile[0], area.low[2] + z * tile[1]]
    };
    let mut near = (0..along_y * along_z)
        .map(begins)
        .filter(|&at| reaches(task, at, tile));
    let first = near.next()?;
    let last = near.next_back().unwrap_or(first);
    let end = |axis: usize| (last[axis] + tile[axis]).min(area.high[axis + 1]);
    Some(Region {
        low: [area.low[0], first[0], first[1]],
        high: [area.high[0], end(0), end(1)],
    })
}
