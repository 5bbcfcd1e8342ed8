//! What follows from the inputs of the book's figures to play with, by the code that they show:
//! `tests/figures.py` compares the pages' scripts with it.
//!
//! Prints a line of JSON per figure: its name, and pairs of inputs and of what follows.

use kernels_gpu::solutions::wave2d::shmem::kernels as shmem;
use lab::occupancy::{BlockNeeds, Gpu, occupancy};
use ptx_emu::{Executable, LaunchConfig, Machine, args};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gpus = Gpu::known().iter().map(|gpu| [gpu.name, gpu.products]);
    let figures = [
        json!({ "figure": "gpus", "cases": gpus.collect::<Vec<_>>() }),
        json!({ "figure": "occupancy", "cases": occupancies() }),
        json!({ "figure": "coalescing", "cases": loads()? }),
        json!({ "figure": "tile", "cases": tiles() }),
    ];
    for figure in figures {
        println!("{figure}");
    }
    Ok(())
}

/// Blocks of many kinds on each GPU.
fn occupancies() -> Vec<Value> {
    let mut cases = Vec::new();
    for gpu in Gpu::known() {
        for threads in [
            1, 31, 32, 33, 64, 96, 128, 160, 192, 256, 300, 512, 768, 1024,
        ] {
            for registers in [1, 16, 31, 32, 33, 40, 64, 72, 100, 128, 168, 255] {
                for shared in [
                    0, 1, 1000, 4096, 16_384, 33_000, 49_152, 66_560, 101_376, 232_448,
                ] {
                    let needs = BlockNeeds {
                        registers,
                        threads,
                        shared_mem_bytes: shared,
                    };
                    let follows = occupancy(gpu, needs).ok().map(|held| {
                        let limiters = held.limiters().map(|limiter| limiter.name());
                        json!({
                            "blocks": held.blocks,
                            "warps": held.warps,
                            "share": held.share,
                            "binding": limiters.collect::<Vec<_>>(),
                        })
                    });
                    let inputs = json!({
                        "gpu": gpu.name, "threads": threads, "registers": registers, "shared": shared,
                    });
                    cases.push(json!([inputs, follows]));
                }
            }
        }
    }
    cases
}

/// A warp's load, as PTX that the emulated device runs and counts.
fn loads() -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let mut cases = Vec::new();
    for (size, load, registers) in [
        (1, "u8", "%r4"),
        (2, "u16", "%h1"),
        (4, "u32", "%r4"),
        (8, "u64", "%rd4"),
        (16, "v4.u32", "{%r4, %r5, %r6, %r7}"),
    ] {
        let mut machine = Machine::default();
        let kernel = machine.load(Executable::parse(&format!(
            "
.version 7.8
.target sm_80
.address_size 64
.visible .entry load(.param .u64 data, .param .u32 stride, .param .u32 offset)
{{
    .reg .b16 %h<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [stride];
    ld.param.u32 %r2, [offset];
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r3, %r3, %r1, %r2;
    mul.wide.u32 %rd2, %r3, {size};
    add.s64 %rd3, %rd1, %rd2;
    ld.global.{load} {registers}, [%rd3];
    ret;
}}"
        ))?)?;
        let data = machine.buffer(&[0u8; 16 * (64 + 31 * 64 + 1)])?;
        for stride in 0..=64u32 {
            for offset in [0u32, 1, 3, 4, 7, 8, 15, 16, 31, 33, 64] {
                let config = LaunchConfig::new([1], [32]);
                let report =
                    machine.launch(&kernel, "load", &config, args![&data, stride, offset])?;
                let counted = report.counts.global_loads;
                cases.push(json!([
                    { "size": size.to_string(), "stride": stride, "offset": offset },
                    {
                        "sectors": counted.sectors,
                        "ideal": counted.ideal_sectors,
                        "efficiency": counted.efficiency(),
                    },
                ]));
            }
        }
    }
    Ok(cases)
}

/// Tiles whose points are followed one by one: a point is right if all that it reads were.
fn tiles() -> Vec<Value> {
    let mut cases = Vec::new();
    for (extents, radius) in [
        ([128, 64, 1], 1),
        ([33, 20, 1], 1),
        ([40, 40, 1], 2),
        ([40, 28, 1], 4),
        ([20, 16, 12], 1),
        ([24, 18, 18], 2),
    ] {
        for steps in 1..=12 {
            let counts = right_after(extents, radius, steps);
            let written = counts[steps as usize];
            let [x, y, z] = extents;
            if (extents, radius) == ([shmem::TILE_X, shmem::TILE_Y, 1], 1) {
                // What the lab's own kernel writes of such a tile.
                assert_eq!(written, shmem::written(steps).iter().product::<u32>());
            }
            let follows = (written > 0).then(|| {
                let computed: u32 = counts[1..].iter().sum();
                json!({ "loaded": counts[0], "written": written, "computed": computed })
            });
            let inputs = json!({
                "x": x, "y": y, "z": z, "radius": radius, "steps": steps, "arrays": "2", "bytes": "4",
            });
            cases.push(json!([inputs, follows]));
        }
    }
    cases
}

/// The number of points of a tile that are right before the first timestep, after it, and so on.
/// Along z there are neighbours only if the tile has several planes.
fn right_after(extents: [u32; 3], radius: u32, steps: u32) -> Vec<u32> {
    let extents = extents.map(|extent| extent as i64);
    let [width, height, planes] = extents;
    let axes: &[[i64; 3]] = match planes {
        1 => &[[1, 0, 0], [0, 1, 0]],
        _ => &[[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    };
    let at = |[x, y, z]: [i64; 3]| ((z * height + y) * width + x) as usize;
    let is_inside = |point: [i64; 3]| (0..3).all(|axis| (0..extents[axis]).contains(&point[axis]));
    let mut right = vec![true; extents.iter().product::<i64>() as usize];
    let count = |points: &[bool]| points.iter().filter(|it| **it).count() as u32;
    let mut counts = vec![count(&right)];
    for _ in 0..steps {
        let before = right.clone();
        for z in 0..planes {
            for y in 0..height {
                for x in 0..width {
                    let reads = |axis: &[i64; 3]| {
                        (-i64::from(radius)..=i64::from(radius)).all(|far| {
                            let read = [x + far * axis[0], y + far * axis[1], z + far * axis[2]];
                            is_inside(read) && before[at(read)]
                        })
                    };
                    right[at([x, y, z])] = axes.iter().all(reads);
                }
            }
        }
        counts.push(count(&right));
    }
    counts
}
