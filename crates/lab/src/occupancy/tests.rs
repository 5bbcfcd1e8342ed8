//! The results against NVIDIA's calculator, and by hand.

use proptest::prelude::*;

use super::{BlockNeeds, Gpu, Limiter, OccupancyError, occupancy};

/// Results of `cuda_occupancy.h` of CUDA 13 for random blocks: blocks of a multiprocessor, and the
/// number that each limit allows (-1: no limit). Its device properties are those that the driver
/// reports for these GPUs.
const CALCULATOR: &str = include_str!("calculator.csv");

#[test]
fn every_value_of_the_calculator_is_met() {
    let mut rows = 0;
    for line in CALCULATOR.lines().skip(1) {
        let mut cells = line.split(',');
        let gpu = Gpu::named(cells.next().unwrap()).unwrap();
        let numbers: Vec<i64> = cells.map(|cell| cell.parse().unwrap()).collect();
        let [
            registers,
            threads,
            shared,
            blocks,
            by_warps,
            by_blocks,
            by_registers,
            by_shared,
        ] = numbers[..]
        else {
            panic!("{line}");
        };
        let needs = BlockNeeds {
            registers: registers as u32,
            threads: threads as u32,
            shared_mem_bytes: shared as u32,
        };
        let got = occupancy(gpu, needs).unwrap();
        assert_eq!(i64::from(got.blocks), blocks, "{line}");
        let allowed = got.allowed.map(|(_, most)| match most {
            u32::MAX => -1,
            count => i64::from(count),
        });
        assert_eq!(
            allowed,
            [by_warps, by_blocks, by_registers, by_shared],
            "{line}"
        );
        rows += 1;
    }
    assert!(rows > 300, "{rows} rows");
}

fn limiters(gpu: &str, registers: u32, threads: u32, shared_mem_bytes: u32) -> Vec<Limiter> {
    let needs = BlockNeeds {
        registers,
        threads,
        shared_mem_bytes,
    };
    let held = occupancy(Gpu::named(gpu).unwrap(), needs).unwrap();
    held.limiters().collect()
}

#[test]
fn the_limiter_is_named() {
    assert_eq!(limiters("h100", 16, 1024, 0), [Limiter::Warps]);
    assert_eq!(limiters("h100", 16, 32, 0), [Limiter::Blocks]);
    assert_eq!(limiters("h100", 128, 256, 0), [Limiter::Registers]);
    assert_eq!(limiters("h100", 32, 128, 60_000), [Limiter::SharedMemory]);
    // 32 registers per thread exactly fill a multiprocessor of 64 warps.
    let both = [Limiter::Warps, Limiter::Registers];
    assert_eq!(limiters("a100", 32, 256, 0), both);
}

#[test]
fn resources_are_allocated_in_whole_units() {
    let gpu = Gpu::named("a100").unwrap();
    let needs = BlockNeeds {
        registers: 33,
        threads: 33,
        shared_mem_bytes: 1,
    };
    let held = occupancy(gpu, needs).unwrap();
    // 33 * 32 = 1056 registers in units of 256; 1 byte and the driver's 1024 in units of 128.
    assert_eq!(held.registers_per_warp, 1280);
    assert_eq!(held.shared_mem_per_block_bytes, 1152);
    // The last thread needs a second warp.
    assert_eq!(held.warps, 2 * held.blocks);
}

#[test]
fn what_fits_no_block_is_refused() {
    let h100 = Gpu::named("H100").unwrap();
    let fits = BlockNeeds {
        registers: 32,
        threads: 256,
        shared_mem_bytes: 0,
    };
    let refusal = |needs: BlockNeeds| -> OccupancyError { occupancy(h100, needs).unwrap_err() };
    insta::assert_snapshot!(refusal(BlockNeeds { threads: 0, ..fits }), @"a block of 0 threads: it has 1 to 1024");
    insta::assert_snapshot!(refusal(BlockNeeds { threads: 1025, ..fits }), @"a block of 1025 threads: it has 1 to 1024");
    insta::assert_snapshot!(refusal(BlockNeeds { registers: 256, ..fits }), @"256 registers per thread: it has at most 255");
    insta::assert_snapshot!(refusal(BlockNeeds { shared_mem_bytes: 232_449, ..fits }), @"232449 bytes of shared memory: a block of h100 has at most 232448");
    insta::assert_snapshot!(Gpu::named("h1000").unwrap_err(), @"unknown GPU `h1000`; did you mean `h100`?");
}

#[test]
fn a_block_that_needs_all_registers_twice_does_not_fit() {
    let needs = BlockNeeds {
        registers: 128,
        threads: 1024,
        shared_mem_bytes: 0,
    };
    let held = occupancy(Gpu::named("h100").unwrap(), needs).unwrap();
    assert_eq!((held.blocks, held.warps, held.share), (0, 0, 0.0));
    assert_eq!(held.limiters().collect::<Vec<_>>(), [Limiter::Registers]);
}

#[test]
fn capabilities_and_names_are_unique() {
    for (i, gpu) in Gpu::known().iter().enumerate() {
        assert_eq!(Gpu::named(gpu.name), Ok(gpu));
        assert_eq!(Gpu::of_capability(gpu.compute_capability), Some(gpu));
        assert!(gpu.shared_mem_bytes < gpu.l1_and_shared_bytes);
        assert_eq!(
            i,
            Gpu::known().iter().position(|other| other == gpu).unwrap()
        );
    }
    assert_eq!(Gpu::of_capability((3, 5)), None);
    // One that is not in the table is taken for the newest before it: Orin, B300, Thor, Spark.
    for (own, taken) in [
        ((8, 7), "rtx-30"),
        ((9, 0), "h100"),
        ((10, 3), "b200"),
        ((11, 0), "b200"),
        ((12, 1), "rtx-50"),
    ] {
        assert_eq!(Gpu::newest_for(own).map(|gpu| gpu.name), Some(taken));
    }
    assert_eq!(Gpu::newest_for((7, 0)), None);
}

proptest! {
    #[test]
    fn needing_more_never_helps(
        gpu in 0..Gpu::known().len(),
        (registers, threads, shared_mem_bytes) in (0_u32..255, 1_u32..1024, 0_u32..60_000),
    ) {
        let gpu = &Gpu::known()[gpu];
        let needs = BlockNeeds { registers, threads, shared_mem_bytes };
        let held = occupancy(gpu, needs).unwrap();
        prop_assert!(held.share <= 1.0);
        prop_assert!(held.limiters().next().is_some());
        for more in [
            BlockNeeds { registers: registers + 1, ..needs },
            BlockNeeds { threads: threads + 1, ..needs },
            BlockNeeds { shared_mem_bytes: shared_mem_bytes + 1, ..needs },
        ] {
            prop_assert!(occupancy(gpu, more).unwrap().blocks <= held.blocks, "{:?}", more);
        }
    }
}
