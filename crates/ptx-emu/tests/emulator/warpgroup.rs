//! Products of a warpgroup, against sums over elements that are placed by the figures of the ISA
//! ("Shared Memory Matrix Layout").

use ptx_emu::Schedule;

use crate::common::{Launch, launch};

/// How a factor lies in shared memory.
#[derive(Clone, Copy)]
struct Layout {
    /// Bytes of an element, and of a row of the pattern: 16 without swizzle.
    size: usize,
    row: usize,
    /// Neighbours are in one row of k, else in one column.
    along_k: bool,
    /// Distances of the descriptor.
    leading: usize,
    stride: usize,
}

impl Layout {
    /// The byte of an element.
    fn place(&self, mn: usize, k: usize) -> usize {
        let (x, y) = if self.along_k { (k, mn) } else { (mn, k) };
        let (bytes, row) = (x * self.size, self.row);
        let offset = match (self.along_k, row) {
            (true, 16) => bytes / 16 * self.leading + y / 8 * self.stride,
            (true, _) => y / 8 * self.stride,
            (false, 16) => bytes / 16 * self.stride + y / 8 * self.leading,
            (false, _) => bytes / row * self.leading + y / 8 * self.stride,
        };
        let address = offset + y % 8 * row + bytes % row;
        address ^ ((address / 128 % (row / 16)) * 16)
    }

    fn descriptor(&self, start: usize) -> u64 {
        let swizzle = match self.row {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        let field = |bytes: usize| (bytes / 16) as u64;
        field(start) | field(self.leading) << 16 | field(self.stride) << 32 | swizzle << 62
    }
}

/// Where the second factor starts.
const SECOND: usize = 8192;

/// A kernel of one warpgroup that brings `in` to shared memory and makes a product of it.
fn kernel(product: &str, sums: usize, ty: &str) -> Launch {
    let list: Vec<String> = (0..sums).map(|i| format!("%acc{i}")).collect();
    let zero = if ty == "f32" { "0f00000000" } else { "0" };
    let set: String = list
        .iter()
        .map(|d| format!("mov.{ty} {d}, {zero};\n"))
        .collect();
    let get: String = list
        .iter()
        .enumerate()
        .map(|(i, d)| format!("st.global.{ty} [%rd9+{}], {d};\n", 4 * i))
        .collect();
    let product = product.replace("{D}", &format!("{{{}}}", list.join(", ")));
    let body = format!(
        ".shared .align 1024 .b8 tile[16384];\n.reg .{ty} %acc<{sums}>;\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\nmov.u32 %r6, 0;\n\
         fill:\nld.global.u32 %r7, [%rd4];\nst.shared.u32 [%r5], %r7;\nadd.u64 %rd4, %rd4, 512;\nadd.u32 %r5, %r5, 512;\n\
         add.u32 %r6, %r6, 128;\nsetp.lt.u32 %p1, %r6, 4096;\n@%p1 bra fill;\nfence.proxy.async;\nbar.sync 0;\n{set}\
         .loc 1 10 1\nwgmma.fence.sync.aligned;\n.loc 1 20 1\n{product}\n.loc 1 30 1\nwgmma.commit_group.sync.aligned;\n\
         .loc 1 40 1\nwgmma.wait_group.sync.aligned 0;\n.loc 1 50 1\n\
         mul.wide.u32 %rd9, %r2, {};\nadd.u64 %rd9, %rd1, %rd9;\n{get}",
        4 * sums
    );
    launch(&body).block(128).out_words(128 * sums)
}

/// Small numbers, whose products and sums are exact in every type.
fn small(row: usize, column: usize, seed: usize) -> i32 {
    ((row * 7 + column * 5 + row * column + seed) % 7) as i32 - 3
}

/// The bits of a small number.
fn bits(ty: &str, x: i32) -> u32 {
    let single = (x as f32).to_bits();
    match ty {
        "f16" if x == 0 => 0,
        "f16" => (single >> 16 & 0x8000) | ((single >> 13 & 0x3ffff) - (112 << 10)),
        "bf16" => single >> 16,
        "tf32" => single,
        "e4m3" if x == 0 => 0,
        "e4m3" => (single >> 24 & 0x80) | ((single >> 20 & 0x7ff) - (120 << 3)),
        "e5m2" if x == 0 => 0,
        "e5m2" => (single >> 24 & 0x80) | ((single >> 21 & 0x3ff) - (112 << 2)),
        "u8" => (x + 3) as u32,
        _ => x as u8 as u32,
    }
}

/// Checks `d += a b` of small numbers, where `d` was 0 before: twice, for the sum to be added to.
fn check(types: [&str; 3], n: usize, a: Layout, b: Layout) {
    let [of_d, of_a, of_b] = types;
    let (size, k) = (a.size, 32 / a.size);
    let mut bytes = vec![0u8; 16384];
    let mut put = |at: usize, bits: u32| {
        bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
    };
    for inner in 0..k {
        (0..64).for_each(|m| put(a.place(m, inner), bits(of_a, small(m, inner, 0))));
        (0..n).for_each(|j| put(SECOND + b.place(j, inner), bits(of_b, small(j, inner, 3))));
    }
    let words = bytes.chunks_exact(4);
    let input: Vec<u32> = words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let turns = match size {
        2 => format!(", {}, {}", u8::from(!a.along_k), u8::from(!b.along_k)),
        _ => String::new(),
    };
    let scales = if of_d == "s32" { "" } else { ", 1, 1" };
    let text = format!(
        "mov.u64 %rd10, {:#x};\nmov.u64 %rd11, {:#x};\nsetp.eq.u32 %p2, 0, 0;\n",
        a.descriptor(0),
        b.descriptor(SECOND)
    );
    let one = format!(
        "wgmma.mma_async.sync.aligned.m64n{n}k{k}.{of_d}.{of_a}.{of_b} {{D}}, %rd10, %rd11, %p2{scales}{turns};\n"
    );
    let (sums, ty) = match of_d {
        "f32" => (n / 2, "f32"),
        "s32" => (n / 2, "b32"),
        _ => (n / 4, "b32"),
    };
    let launch = kernel(&format!("{text}{one}{one}"), sums, ty).input(input);
    let out = launch.out();
    let value = |of: &str, x: i32| if of == "u8" { x + 3 } else { x };
    for row in 0..64 {
        for column in 0..n {
            let products = (0..k).map(|inner| {
                value(of_a, small(row, inner, 0)) * value(of_b, small(column, inner, 3))
            });
            let sum = 2 * products.sum::<i32>();
            let thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
            let index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
            let found = match of_d {
                "f16" => {
                    let half = out[thread * sums + index / 2] >> (16 * (index % 2)) & 0xffff;
                    assert_eq!(half, half_bits(sum), "{types:?} {row} {column}");
                    continue;
                }
                "f32" => f32::from_bits(out[thread * sums + index]) as i32,
                _ => out[thread * sums + index] as i32,
            };
            assert_eq!(found, sum, "{types:?} {n} {row} {column}");
        }
    }
}

/// An integer that f16 has.
fn half_bits(x: i32) -> u32 {
    bits("f16", x)
}

fn along_k(size: usize, row: usize) -> Layout {
    Layout {
        size,
        row,
        along_k: true,
        leading: if row == 16 { 128 } else { 0 },
        stride: if row == 16 { 256 } else { 8 * row },
    }
}

#[test]
fn every_type_and_swizzle_along_k() {
    for (types, n, row) in [
        (["f32", "f16", "f16"], 8, 16),
        (["f32", "f16", "f16"], 64, 128),
        (["f16", "f16", "f16"], 16, 64),
        (["f32", "bf16", "bf16"], 24, 32),
        (["f32", "tf32", "tf32"], 32, 128),
        (["f32", "e4m3", "e5m2"], 40, 64),
        (["f16", "e5m2", "e4m3"], 8, 32),
        (["s32", "s8", "s8"], 48, 128),
        (["s32", "u8", "s8"], 8, 16),
    ] {
        let size = match types[1] {
            "f16" | "bf16" => 2,
            "tf32" => 4,
            _ => 1,
        };
        check(types, n, along_k(size, row), along_k(size, row));
    }
}

#[test]
fn halves_along_m_and_n() {
    let along_mn = |row: usize| Layout {
        size: 2,
        row,
        along_k: false,
        leading: if row == 16 { 1024 } else { 16 * row },
        stride: if row == 16 { 128 } else { 8 * row },
    };
    for row in [16, 32, 64, 128] {
        check(["f32", "f16", "f16"], 64, along_mn(row), along_mn(row));
        check(["f32", "bf16", "bf16"], 64, along_k(2, row), along_mn(row));
    }
    check(["f16", "f16", "f16"], 64, along_mn(128), along_k(2, 64));
}

/// The first accumulator of every thread.
fn firsts(launch: &Launch, sums: usize) -> Vec<f32> {
    let out = launch.out();
    out.chunks_exact(sums)
        .map(|all| f32::from_bits(all[0]))
        .collect()
}

#[test]
fn registers_signs_and_scale_d() {
    // Every element is 1 in the first factor, 0.5 in the second.
    let halves = |bits: u32| std::iter::repeat_n(bits, 4096);
    let b = along_k(2, 128).descriptor(SECOND);
    let product = |p: &str, signs: &str| {
        format!(
            "mov.b32 %r10, 0x3c003c00;\nwgmma.fence.sync.aligned;\nmov.u64 %rd11, {b:#x};\nsetp.eq.u32 %p2, {p}, 1;\n\
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{D}}, {{%r10, %r10, %r10, %r10}}, %rd11, %p2, {signs}, 0;\n"
        )
    };
    let run = |text: &str| firsts(&kernel(text, 4, "f32").input(halves(0x3800_3800)), 4);
    assert_eq!(run(&product("1", "1, 1")), [8.0; 128]);
    assert_eq!(run(&product("1", "-1, 1")), [-8.0; 128]);
    assert_eq!(run(&product("1", "-1, -1")), [8.0; 128]);
    let twice = product("1", "1, 1").repeat(2);
    assert_eq!(run(&twice), [16.0; 128]);
    // The accumulator is not read.
    assert_eq!(run(&format!("{twice}{}", product("0", "1, 1"))), [8.0; 128]);
}

#[test]
fn bytes_saturate() {
    let a = along_k(1, 128);
    let run = |modifier: &str| {
        let text = format!(
            "mov.u64 %rd10, {:#x};\nmov.u64 %rd11, {:#x};\nmov.b32 %acc0, 0x7fffffff;\nwgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8{modifier} {{D}}, %rd10, %rd11, 1;\n",
            a.descriptor(0),
            a.descriptor(SECOND)
        );
        let out = kernel(&text, 4, "b32")
            .input(std::iter::repeat_n(0x0101_0101, 4096))
            .out();
        (out[0], out[1])
    };
    assert_eq!(run(""), (0x8000_001f, 32));
    assert_eq!(run(".satfinite"), (0x7fff_ffff, 32));
}

#[test]
fn setmaxnreg_is_of_a_warpgroup() {
    // An exchange of the threads, so that lanes run apart by chance.
    let text = ".shared .align 4 .b8 word[4];\nst.shared.u32 [word], 0;\nbar.sync 0;\natom.shared.add.u32 %r9, [word], 1;\n\
                setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 232;\nst.global.u32 [%rd3], %r2;";
    let launch = |schedule| launch(text).schedule(schedule);
    for seed in 0..8 {
        let run = launch(Schedule::Random { seed }).block(128).out_words(128);
        assert_eq!(run.out()[127], 127);
    }
    let fault = launch(Schedule::InOrder).fault();
    assert!(
        fault.starts_with("invalid product: setmaxnreg.dec by warp 0"),
        "{fault}"
    );
}
