//! Waits of the blocks of launches on several devices for those beside them, between passes over
//! fields that neighbouring devices exchange.
//!
//! The numbers of a device are a table of rows, each with a number for every block of a plane of
//! the grid: the passes that a block has ended. Row z + 1 has the device's own blocks in plane z.
//! The first row has the last plane of blocks of the neighbour below, and the last row the first
//! plane of blocks of the neighbour above. These tell them.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::{async_copy, thread};

/// Waits until the up to 26 blocks around this one have ended this number of passes, 1 or more.
/// Their stores until then can be read afterwards.
///
/// `own` has this device's numbers, 0 before the launch: (z blocks + 2) rows. `tell` is where this
/// device tells its neighbours: the last row of the one below, and the first row of the one above.
/// `is_beside` is whether there is a neighbour below, and above.
///
/// # Safety
/// - All threads of all blocks call with the same arguments, and the blocks run at once. Blocks
///   have 32 threads along x, and no extent along z. Grids of all devices have the same x and y.
/// - The numbers may be accessed, and nothing else accesses them but such calls.
#[inline(always)]
pub unsafe fn meet(own: *mut u32, tell: [*mut u32; 2], is_beside: [bool; 2], passes: u32) {
    // Copies that are under way could come to places that are used afterwards.
    async_copy::wait::<0>();
    thread::sync_threads();
    if thread::thread_idx_y() == 0 {
        let [x, y, z] = [
            thread::block_idx_x(),
            thread::block_idx_y(),
            thread::block_idx_z(),
        ];
        let [width, height, planes] = [
            thread::grid_dim_x(),
            thread::grid_dim_y(),
            thread::grid_dim_z(),
        ];
        let block = |x: u32, y: u32| y * width + x;
        let own_row = |row: u32| own.wrapping_add((row * width * height) as usize);
        // SAFETY: the caller promises that only such calls access the numbers.
        let number = |row: *mut u32, block: u32| unsafe {
            AtomicU32::from_ptr(row.wrapping_add(block as usize))
        };
        let lane = thread::thread_idx_x();
        if lane == 0 {
            let here = block(x, y);
            number(own_row(z + 1), here).store(passes, Ordering::Release);
            if is_beside[0] && z == 0 {
                number(tell[0], here).store(passes, Ordering::Release);
            }
            if is_beside[1] && z + 1 == planes {
                number(tell[1], here).store(passes, Ordering::Release);
            }
        }
        // A lane waits for a block. Coordinates that begin with 1 wrap at neither end.
        let [x, y, row] = [x + lane % 3, y + lane / 3 % 3, z + lane / 9];
        let is_in_grid = lane < 27 && x.wrapping_sub(1) < width && y.wrapping_sub(1) < height;
        let is_on_device = row.wrapping_sub(1) < planes;
        if is_in_grid && (is_on_device || is_beside[usize::from(row != 0)]) {
            let ended = number(own_row(row), block(x - 1, y - 1));
            while ended.load(Ordering::Acquire) < passes {}
        }
    }
    thread::sync_threads();
}
