//! The variants of the solutions.

use super::fast::kernels::{MARGIN, WIDTH};
use super::fast::launch::Shape as Fast;
use super::kernels::{BLOCK, PLANES};
use super::resident::launch::Shape as Resident;
use super::resident_grid;
use super::{fast, resident, single, split2, split3};
use crate::kernels::variant;
use crate::wave3d::{MAX_SITES, Wave3d};
use lab::{Demand, Precision, Variant};
use plan::Target;

// A grid has at most 65535 blocks along y and z.
const _: () =
    assert!(MAX_SITES[0] < 65_535 * PLANES * BLOCK[2] && MAX_SITES[1] < 65_535 * BLOCK[1]);

pub fn variants() -> Vec<Variant> {
    vec![
        variant::<Wave3d>(
            "single",
            "one launch per timestep, a thread for two sites, a branch for the damping",
            |_| Box::new(single::launch::Submission),
        )
        .with_cuda("wave3d.cu", "single"),
        variant::<Wave3d>(
            "split2",
            "two launches per timestep: the damped layers in x apart",
            |_| Box::new(split2::launch::Submission),
        ),
        variant::<Wave3d>(
            "split3",
            "three launches per timestep: the damped layers in x and in y apart, no branch",
            |_| Box::new(split3::launch::Submission),
        ),
        variant::<Wave3d>(
            "fast",
            "several timesteps per launch: tiles stream along x, all timesteps' planes in registers and shared memory",
            |_| Box::new(fast::launch::Submission),
        )
        .with_cuda("wave3d.cu", "fast_t4_r4_y8")
        .usual_on_several()
        .winning(fast_wins)
        .tuned(Fast::DEFAULT, Fast::SPACE, Fast::label, Some(of_fast))
        .modelled(Fast::DEFAULT, Fast::SPACE, demand),
        variant::<Wave3d>(
            "resident",
            "many timesteps in each launch of one cluster, fields in its shared memory and registers; one launch per timestep where the domain does not fit",
            |_| Box::new(resident::launch::Submission),
        )
        .on_request()
        .winning(|case: &Wave3d, target| {
            let kernels_gpu::wave3d::Domain { n_x, n_y, n_z } = case.domain();
            target.devices == 1 && Resident::DEFAULT.fits([n_x, n_y, n_z])
        })
        .tuned::<Wave3d, _>(Resident::DEFAULT, Resident::SPACE, Resident::label, None),
        variant::<Wave3d>(
            "resident_grid",
            "all timesteps in one launch of the whole GPU, fields in its registers and shared memory, for domains up to about 128^3",
            |_| Box::new(resident_grid::launch::Submission),
        )
        .on_request()
        .winning(|case: &Wave3d, target| {
            let kernels_gpu::wave3d::Domain { n_x, n_y, n_z } = case.domain();
            target.devices == 1 && resident_grid::launch::wins([n_x, n_y, n_z], target.multiprocessors)
        }),
    ]
}

/// Whether `fast` is the fastest on one GPU of those that are measured without being named: from
/// 160^3 on, where it takes 22.2 us on an H100 and 23.1 on an H200, and `single` 30.0 and 24.5. At
/// 128^3 `single` is.
fn fast_wins(case: &Wave3d, target: Target) -> bool {
    target.devices == 1 && case.sites() >= 160 * 160 * 160
}

/// Each launch reads two fields and writes two.
fn of_fast(case: &Wave3d, shape: &Fast) -> u64 {
    let launches = case.steps().div_ceil(shape.depth);
    32 * case.sites() as u64 * u64::from(launches)
}

/// Tiles in chunks of planes: a round is a plane of a tile.
fn demand(case: &Wave3d, shape: &Fast, target: Target) -> Demand {
    let kernels_gpu::wave3d::Domain { n_x, n_y, n_z } = case.domain();
    let Fast { depth, .. } = *shape;
    let tile_rows = shape.rows * shape.threads;
    let tiles = Fast::tiles([n_x, n_y, n_z], depth, tile_rows);
    let list = shape.blocks(tiles, depth, 0..n_x, target.multiprocessors);
    let chunk = list.mean_planes();
    let rounds = u64::from(chunk + 2 * depth);
    let read = u64::from(WIDTH * tile_rows);
    let written = u64::from((WIDTH - 2 * MARGIN) * (tile_rows - 2 * depth) * chunk) / rounds;
    Demand {
        steps: depth,
        blocks: list.blocks().into(),
        rounds,
        updates: u64::from(depth) * read,
        lane_cycles: 41.0,
        precision: Precision::F64,
        bytes: 16 * (read + written),
    }
}
