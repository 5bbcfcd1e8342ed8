//! The variants of the solutions.

use super::fast;
use super::seven_launches::launch::Inner;
use super::smem_dsm::launch::Clusters;
use super::two_steps;
use super::two_steps::launch::Shape as TwoSteps;
use crate::kernels::variant;
use crate::stencil25::Stencil25;
use kernels_gpu::stencil25::four::POINTS;
use lab::{Demand, InterfaceCase, Precision, Variant};
use plan::Target;

/// Whether `fast` is faster than `two_steps`, which streams 16 planes more than it writes per pass,
/// and 48 in a slab between two others: in slabs of 128 planes, and where few tiles fill the GPU.
fn wins_in_one_step(case: &Stencil25, target: Target) -> bool {
    let problem = case.problem();
    let planes = problem.n_x / target.devices;
    let of_plane = u64::from(problem.n_y) * u64::from(problem.n_z);
    planes <= 128 || u64::from(planes) * of_plane <= 1 << 24
}

/// Variants whose blocks are in clusters, by the number of blocks along the grid's x, y and z,
/// which are the points' z, y and x.
macro_rules! in_clusters {
    ($($name:literal, $solution:expr, $summary:literal;)*) => {
        [$(variant::<Stencil25>($name, $summary, |_| Box::new($solution)).on_request()),*]
    };
}

pub fn variants() -> Vec<Variant> {
    let mut variants = vec![
        variant::<Stencil25>("gmem", "3D blocks, everything from global memory", |_| {
            Box::new(Inner::GMEM)
        })
        .with_cuda("stencil25.cu", "gmem"),
        variant::<Stencil25>(
            "gmem_at_once",
            "gmem, whose launches of a timestep, inside and shell, may run at once",
            |_| Box::new(Inner::GMEM_AT_ONCE),
        )
        .on_request(),
        variant::<Stencil25>(
            "smem",
            "3D blocks, a block's points and their halo in shared memory",
            |_| Box::new(Inner::SMEM),
        ),
        variant::<Stencil25>(
            "st_reg_fixed",
            "blocks stream along x: columns in fixed registers, the plane in shared memory",
            |_| Box::new(Inner::ST_REG_FIXED),
        )
        .with_cuda("stencil25.cu", "st_reg_fixed"),
        variant::<Stencil25>(
            "st_semi",
            "blocks stream along x: columns of partial sums, the plane in shared memory",
            |_| Box::new(Inner::ST_SEMI),
        )
        .reordered(),
        variant::<Stencil25>(
            "fast",
            "one launch: tiles stream along x, fed by asynchronous copies, four points per thread",
            |_| Box::new(fast::launch::Submission),
        )
        .winning(wins_in_one_step),
        variant::<Stencil25>(
            "two_steps",
            "two timesteps per pass: tiles stream along x, both timesteps' columns in registers",
            |_| Box::new(two_steps::launch::Submission),
        )
        .with_cuda("stencil25.cu", "two_steps_y20_z64_a2")
        .usual_on_several()
        .winning(|case: &Stencil25, target| target.devices == 1 && !wins_in_one_step(case, target))
        .tuned(
            TwoSteps::DEFAULT,
            TwoSteps::SPACE,
            TwoSteps::label,
            Some(of_two_steps),
        )
        .modelled(TwoSteps::DEFAULT, TwoSteps::SPACE, demand),
    ];
    variants.extend(in_clusters! {
        "gmem_cluster_1x3x1", Inner::GMEM.in_clusters([1, 3, 1]), "gmem, in clusters of 3 blocks along y";
        "gmem_cluster_1x1x3", Inner::GMEM.in_clusters([1, 1, 3]), "gmem, in clusters of 3 blocks along x";
        "smem_cluster_1x3x1", Inner::SMEM.in_clusters([1, 3, 1]), "smem, in clusters of 3 blocks along y";
        "smem_cluster_1x1x3", Inner::SMEM.in_clusters([1, 1, 3]), "smem, in clusters of 3 blocks along x";
        "st_reg_fixed_cluster_1x2", Inner::ST_REG_FIXED.in_clusters([1, 2, 1]), "st_reg_fixed, in clusters of 2 blocks along y";
        "st_reg_fixed_cluster_1x4", Inner::ST_REG_FIXED.in_clusters([1, 4, 1]), "st_reg_fixed, in clusters of 4 blocks along y";
        "st_reg_fixed_cluster_2x1", Inner::ST_REG_FIXED.in_clusters([2, 1, 1]), "st_reg_fixed, in clusters of 2 blocks along z";
        "st_reg_fixed_cluster_4x1", Inner::ST_REG_FIXED.in_clusters([4, 1, 1]), "st_reg_fixed, in clusters of 4 blocks along z";
    });
    let reordered = in_clusters! {
        "st_semi_cluster_1x2", Inner::ST_SEMI.in_clusters([1, 2, 1]), "st_semi, in clusters of 2 blocks along y";
        "st_semi_cluster_1x4", Inner::ST_SEMI.in_clusters([1, 4, 1]), "st_semi, in clusters of 4 blocks along y";
        "st_semi_cluster_2x1", Inner::ST_SEMI.in_clusters([2, 1, 1]), "st_semi, in clusters of 2 blocks along z";
        "st_semi_cluster_4x1", Inner::ST_SEMI.in_clusters([4, 1, 1]), "st_semi, in clusters of 4 blocks along z";
    };
    variants.extend(reordered.map(Variant::reordered));
    variants.extend(in_clusters! {
        "smem_dsm_1x1x1", Clusters([1, 1, 1]), "one launch, 3D blocks, a cluster of one block: all halos from global memory";
        "smem_dsm_1x4x1", Clusters([1, 4, 1]), "one launch, 3D blocks, halos within clusters of 4 blocks along y from their shared memory";
        "smem_dsm_1x1x4", Clusters([1, 1, 4]), "one launch, 3D blocks, halos within clusters of 4 blocks along x from their shared memory";
        "smem_dsm_1x2x2", Clusters([1, 2, 2]), "one launch, 3D blocks, halos within clusters of 2 blocks along y and 2 along x from their shared memory";
    });
    variants
}

/// A pass reads u, v and vp and writes two fields. In the shell it reads eta and phi, and writes
/// phi. Up to three timesteps have a launch each.
fn of_two_steps(case: &Stencil25, _: &TwoSteps) -> u64 {
    let singles = u64::from(case.steps() % 4);
    let passes = u64::from(case.steps() / 4 * 2);
    let [inner, shell] = case.parts();
    (16 * inner + 28 * shell) * singles + (20 * inner + 32 * shell) * passes
}

/// A pass, whose launches run side by side: its tiles' planes, spread over the multiprocessors.
fn demand(case: &Stencil25, shape: &TwoSteps, target: Target) -> Demand {
    let (mut planes, mut updates, mut bytes) = (0, 0, 0);
    for (instance, streamed) in shape.streamed(&case.problem(), target.multiprocessors) {
        let [y, z] = instance.tile.map(u64::from);
        let first = POINTS as u64 * u64::from(instance.threads);
        planes += streamed / u64::from(instance.blocks);
        updates += streamed * (first + y * z);
        // u around the points of the first timestep, v and vp for it, and the two results. Device
        // memory moves 64 bytes at a time, and rows begin anywhere.
        let row = |points: u64| (4 * points).next_multiple_of(64);
        bytes += streamed * ((y + 16) * row(z + 16) + 8 * first + 2 * y * row(z));
    }
    Demand {
        steps: 2,
        blocks: target.multiprocessors.into(),
        rounds: planes.div_ceil(target.multiprocessors.into()),
        updates: updates / planes.max(1),
        // Between the two cards: an H100 was timed with launches that were cut one by one.
        lane_cycles: 134.0,
        precision: Precision::F32,
        bytes: bytes / planes.max(1),
    }
}
