//! Copies of tiles of tensors, against the elements that the map names.

use ptx_emu::{TensorElement, TensorMap};

use crate::common::{Launch, launch};

/// A map of a tensor of 32-bit elements in `in`, which lies at the first address.
fn map(element: TensorElement, extents: &[u64], tile: &[u32]) -> TensorMap {
    let mut map = TensorMap {
        address: 0,
        element,
        rank: extents.len(),
        extents: [0; 5],
        strides: [element.bytes().into(); 5],
        tile: [0; 5],
        steps: [1; 5],
        swizzle: 0,
        fills_nan: false,
    };
    map.extents[..extents.len()].copy_from_slice(extents);
    map.tile[..tile.len()].copy_from_slice(tile);
    for index in 1..extents.len() {
        map.strides[index] = map.strides[index - 1] * extents[index - 1];
    }
    map
}

/// The text that makes a map in the first 128 bytes behind `%rd20`, with the tensor at `%rd2`.
fn made(map: &TensorMap) -> String {
    let words = map.encode();
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let value = if index == 1 {
            "%rd2".to_owned()
        } else {
            format!("{:#x}", *word as i64)
        };
        text += &format!(
            "mov.u64 %rd21, {value};\nst.global.u64 [%rd20+{}], %rd21;\n",
            8 * index
        );
    }
    text
}

/// The text that makes a map there by `tensormap.replace`, of zeros in shared memory, as Triton
/// does.
fn replaced(map: &TensorMap) -> String {
    let mut text = "mov.u32 %r5, replaced;\nmad.lo.u32 %r6, %r2, 4, %r5;\nmov.u32 %r7, 0;\n\
        st.shared.u32 [%r6], %r7;\nbar.warp.sync -1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra changed;\n"
        .to_owned();
    let change = |field: &str, ty: &str, operands: &str| {
        format!("tensormap.replace.tile.{field}.shared::cta.b1024.{ty} [%r5], {operands};\n")
    };
    text += &change("global_address", "b64", "%rd2");
    text += &change("rank", "b32", &(map.rank - 1).to_string());
    for k in 0..map.rank {
        text += &change("box_dim", "b32", &format!("{k}, {}", map.tile[k]));
        text += &change("global_dim", "b32", &format!("{k}, {}", map.extents[k]));
        text += &change("element_stride", "b32", &format!("{k}, {}", map.steps[k]));
    }
    for k in 1..map.rank {
        text += &format!("mov.u64 %rd21, {};\n", map.strides[k]);
        text += &change("global_stride", "b64", &format!("{}, %rd21", k - 1));
    }
    // The PTX ISA's number of f32.
    text += &change("elemtype", "b32", "7");
    for (field, value) in [
        ("interleave_layout", 0),
        ("swizzle_mode", map.swizzle),
        ("fill_mode", map.fills_nan.into()),
    ] {
        text += &change(field, "b32", &value.to_string());
    }
    text + "changed:\nbar.warp.sync -1;\n\
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd20], [%r5], 128;\n\
        fence.proxy.tensormap::generic.acquire.gpu [%rd20], 128;\n"
}

/// The first thread fetches a tile; all store its words to `out`.
fn load(map: &TensorMap, at: &[i32], words: u32) -> Launch {
    load_by("", &made(map), at, words)
}

/// As [`load`], by the map that the text of all threads makes, or that of the first.
fn load_by(all: &str, first: &str, at: &[i32], words: u32) -> Launch {
    let coordinates: Vec<String> = at.iter().map(i32::to_string).collect();
    let rank = at.len();
    launch(&format!(
        ".shared .align 1024 .b8 tile[4096];\n.shared .align 128 .b8 replaced[128];\n\
         .shared .align 8 .b8 bar[8];\nmov.u64 %rd20, map;\n{all}\
         setp.ne.u32 %p1, %r2, 0;\n@%p1 bra fetched;\n{first}\
         mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};\n.loc 1 20 1\n\
         cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd20, {{{}}}], [bar];\n\
         fetched:\nbar.sync 0;\nwait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n\
         mov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\nmov.u32 %r6, 0;\n.loc 1 40 1\n\
         get:\nld.shared.u32 %r7, [%r5];\nst.global.u32 [%rd3], %r7;\nadd.u64 %rd3, %rd3, 128;\nadd.u32 %r5, %r5, 128;\n\
         add.u32 %r6, %r6, 32;\nsetp.lt.u32 %p1, %r6, {words};\n@%p1 bra get;\n",
        4 * words,
        coordinates.join(", ")
    ))
    .module_scope(".global .align 128 .b8 map[128];")
    .input(0..4096)
    .out_words(words as usize)
}

#[test]
fn a_kernel_makes_a_map_of_zeros() {
    let map = TensorMap {
        fills_nan: true,
        swizzle: 1,
        ..map(TensorElement::F32, &[16, 8, 4], &[8, 4, 2])
    };
    for at in [[0, 0, 0], [4, 2, 1], [12, -2, 3]] {
        let expected = load(&map, &at, 64).out();
        let found = load_by(&replaced(&map), "", &at, 64).out();
        assert_eq!(found, expected, "{at:?}");
    }
}

#[test]
fn tiles_inside_and_at_the_edges() {
    let map = map(TensorElement::U32, &[16, 8], &[8, 4]);
    for (x, y) in [(0, 0), (4, 2), (-4, 6), (12, -2), (16, 0)] {
        let out = load(&map, &[x, y], 32).out();
        for row in 0..4 {
            for column in 0..8 {
                let (i, j) = (x + column, y + row);
                let inside = (0..16).contains(&i) && (0..8).contains(&j);
                let expected = if inside { 16 * j + i } else { 0 };
                assert_eq!(out[(8 * row + column) as usize], expected as u32, "{x} {y}");
            }
        }
    }
}

#[test]
fn five_dimensions_and_steps() {
    let mut map = map(TensorElement::S32, &[8, 3, 4, 5, 2], &[4, 2, 4, 2, 2]);
    map.steps = [1, 1, 2, 1, 1];
    let out = load(&map, &[4, 1, 0, 3, 0], 64).out();
    let mut index = 0;
    for e in 0..2 {
        for d in 3..5 {
            for c in [0, 2] {
                for b in 1..3 {
                    for a in 4..8 {
                        assert_eq!(out[index], a + 8 * (b + 3 * (c + 4 * (d + 5 * e))));
                        index += 1;
                    }
                }
            }
        }
    }
}

#[test]
fn swizzles_and_nan() {
    for swizzle in 1..=3 {
        let mut map = map(TensorElement::F32, &[64, 8], &[4 << swizzle, 8]);
        (map.swizzle, map.fills_nan) = (swizzle, true);
        let width = 4 << swizzle;
        let out = load(&map, &[0, 2], 8 * width).out();
        for row in 0..8 {
            for column in 0..width {
                let line = row * width / 32;
                let unit = (column / 4) ^ (line & ((1 << swizzle) - 1));
                let at = (row * width + unit * 4 + column % 4) as usize;
                let inside = row + 2 < 8;
                let expected = if inside {
                    64 * (row + 2) + column
                } else {
                    0x7ff7_7ff7
                };
                assert_eq!(out[at], expected, "{swizzle} {row} {column}");
            }
        }
    }
}

/// All threads write two words of a tile of 8 by 8; the first sends it to `out`.
fn store(map: &TensorMap, instruction: &str, first: [i32; 2]) -> Launch {
    let map = made(map)
        .replace("%rd2;", "%rd1;")
        .replace(", %rd2\n", ", %rd1\n");
    launch(&format!(
        ".shared .align 1024 .b8 tile[256];\nmov.u64 %rd20, map;\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 8, %r5;\n\
         shl.b32 %r6, %r2, 1;\nadd.u32 %r7, %r6, 1;\nst.shared.v2.u32 [%r5], {{%r6, %r7}};\nfence.proxy.async.shared::cta;\nbar.sync 0;\n\
         setp.ne.u32 %p1, %r2, 0;\n@%p1 bra done;\n{}.loc 1 20 1\n{instruction} [%rd20, {{{}, {}}}], [tile];\n\
         cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\ndone:\n",
        map, first[0], first[1]
    ))
    .module_scope(".global .align 128 .b8 map[128];")
    .out_words(64)
}

#[test]
fn stores_leave_out_what_is_outside() {
    let map = map(TensorElement::U32, &[8, 8], &[8, 8]);
    let text = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";
    let out = store(&map, text, [4, 5]).out();
    for row in 0..8 {
        for column in 0..8 {
            let expected = if row >= 5 && column >= 4 {
                8 * (row - 5) + column - 4
            } else {
                0
            };
            assert_eq!(out[8 * row + column], expected as u32, "{row} {column}");
        }
    }
    // An H200 stops there with an illegal instruction, though it loads such tiles.
    for first in [[-4, 5], [0, -1]] {
        let told = store(&map, text, first).fault();
        assert!(
            told.contains("only loads may begin before the tensor"),
            "{told}"
        );
    }
}

#[test]
fn reductions() {
    let map = map(TensorElement::U32, &[8, 8], &[8, 8]);
    for (op, at_least) in [
        ("add", 1),
        ("max", 1),
        ("or", 1),
        ("xor", 1),
        ("min", 0),
        ("and", 0),
    ] {
        let text =
            format!("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group");
        assert_eq!(store(&map, &text, [4, 5]).out()[45], at_least, "{op}");
    }
    let floats = TensorMap {
        element: TensorElement::F32,
        ..map
    };
    let text = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group";
    assert!(
        store(&floats, text, [4, 5])
            .fault()
            .contains("a reduction of a tensor of F32")
    );
}

#[test]
fn a_consumer_that_waits_before_its_producer_starts() {
    let body = ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b8 bar[8];\nsetp.ne.u32 %p1, %r2, 32;\n@%p1 bra made;\n\
        mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nmade:\nbar.sync 0;\nsetp.lt.u32 %p3, %r2, 32;\n@%p3 bra wait;\n\
        @%p1 bra done;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n\
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 128, [bar];\nbra done;\n\
        wait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n\
        mov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\nld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;\ndone:\n";
    let launch = launch(body).block(64);
    assert_eq!(launch.out()[..32], launch.input[..32]);
}

#[test]
fn hints_and_fences() {
    let map = map(TensorElement::U32, &[8, 8], &[8, 8]);
    let text = format!(
        "mov.u64 %rd20, map;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra done;\n{}prefetch.tensormap [%rd20];\n\
         cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd20, {{0, 0}}];\ncp.async.bulk.prefetch.L2.global [%rd2], 128;\n\
         fence.proxy.tensormap::generic.release.gpu;\nfence.proxy.tensormap::generic.acquire.gpu [%rd20], 128;\ndone:\n",
        made(&map)
    );
    launch(&text)
        .module_scope(".global .align 128 .b8 map[128];")
        .out();
}

#[test]
fn blocks_of_a_cluster_that_get_the_same_tile() {
    // Block 1 fetches for both. Each waits for its own object, and tells block 0 by an arrival.
    let map = map(TensorElement::U32, &[32, 8], &[32, 2]);
    let body = format!(
        ".shared .align 1024 .b8 tile[256];\n.shared .align 8 .b8 bar[16];\nmov.u64 %rd20, map;\nmov.u32 %r9, %cluster_ctarank;\n\
         setp.ne.u32 %p1, %r2, 0;\n@%p1 bra made;\nmbarrier.init.shared.b64 [bar], 1;\nmbarrier.init.shared.b64 [bar+8], 2;\nfence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\nmade:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
         setp.ne.u32 %p3, %r9, 1;\nor.pred %p3, %p3, %p1;\n@%p3 bra wait;\n{}mov.u16 %h1, 3;\n\
         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd20, {{0, 1}}], [bar], %h1;\n\
         wait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n\
         mov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\nld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;\n\
         @%p1 bra last;\nmov.u32 %r10, bar;\nadd.u32 %r10, %r10, 8;\nmapa.shared::cluster.u32 %r11, %r10, 0;\n\
         mbarrier.arrive.shared::cluster.b64 _, [%r11];\nlast:\nsetp.ne.u32 %p4, %r9, 0;\n@%p4 bra done;\n\
         again:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0;\n@!%p2 bra again;\ndone:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
        made(&map)
    );
    let out = launch(&body)
        .module_scope(".global .align 128 .b8 map[128];")
        .input(0..256)
        .grid(2)
        .cluster(2)
        .out();
    let row: Vec<u32> = (32..64).collect();
    assert_eq!(out, [&row[..], &row[..]].concat());
}

/// The fault of a launch whose text is changed.
fn changed(mut launch: Launch, from: &str, to: &str) -> String {
    assert!(launch.body.contains(from), "{}", launch.body);
    launch.body = launch.body.replace(from, to);
    launch.fault()
}

/// A kernel may make any numbers a map. Some would reach behind the tile's place in shared memory.
#[test]
fn rules_of_maps_that_kernels_make() {
    let right = map(TensorElement::F32, &[64, 8, 4], &[8, 4, 2]);
    type Change<'c> = &'c dyn Fn(&mut TensorMap);
    let wrong: [(&str, Change); 7] = [
        ("with this swizzle 32 are the most", &|map| {
            (map.swizzle, map.tile[0]) = (1, 64);
        }),
        ("`boxDim[1]` is 65535", &|map| map.tile[1] = 65_535),
        ("`boxDim[2]` is 0", &|map| map.tile[2] = 0),
        ("`elementStrides[1]` is 0", &|map| map.steps[1] = 0),
        ("`globalDim[2]` is 0", &|map| map.extents[2] = 0),
        ("`globalStrides[0]` is 264", &|map| map.strides[1] = 264),
        ("a tile of 67108864 bytes", &|map| map.tile = [256; 5]),
    ];
    for (rule, change) in wrong {
        let mut map = right;
        change(&mut map);
        let told = load_by(&replaced(&map), "", &[0, 0, 0], 64).fault();
        assert!(
            told.starts_with("invalid copy: ") && told.contains(rule),
            "{rule}: {told}"
        );
    }
}

#[test]
fn rules_of_tiles() {
    let square = map(TensorElement::U32, &[8, 8], &[8, 8]);
    let map = map(TensorElement::U32, &[16, 300], &[8, 4]);
    let right = || load(&map, &[4, 2], 32);
    let starts = |fault: String, name: &str| assert!(fault.starts_with(name), "{fault}");
    starts(
        load(&map, &[3, 2], 32).fault(),
        "illegal instruction: a copy of a tile whose first coordinate is 3: with elements of 4 bytes it must be a multiple of 4",
    );
    // The tensor says more rows than the buffer has.
    starts(
        load(&map, &[0, 296], 32).fault(),
        "out of bounds: load of 32 bytes",
    );
    starts(
        changed(right(), "[tile], [%rd20", "[tile+16], [%rd20"),
        "misaligned access",
    );
    starts(
        changed(right(), "[%rd20, {", "[%rd2, {"),
        "invalid copy: a copy by something else",
    );
    starts(changed(right(), "[%rd20, {", "[%rd3, {"), "invalid copy");
    let one = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd20, {4, 2}], [bar];";
    let three = one.replace("2d", "3d").replace("{4, 2}", "{4, 2, 0}");
    starts(
        changed(right(), one, &three),
        "invalid copy: a copy with 3 coordinates",
    );
    starts(
        changed(right(), "[bar], 128;", "[bar], 64;"),
        "invalid barrier: copies of 128 bytes",
    );
    let stored = format!("{one}\nst.shared.u32 [tile+64], 1;");
    starts(
        changed(right(), one, &stored),
        "copy under way: store of 4 bytes",
    );
    let unseen = format!("st.shared.u32 [tile], 1;\n{one}");
    starts(
        changed(right(), one, &unseen),
        "missing proxy fence: a bulk copy's store",
    );
    let sent = store(
        &square,
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
        [4, 5],
    );
    starts(
        changed(sent, "fence.proxy.async.shared::cta;\n", ""),
        "missing proxy fence: a bulk copy's load",
    );
    let unwaited = store(
        &square,
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
        [4, 5],
    );
    let waits = "cp.async.bulk.wait_group 0;\n";
    starts(changed(unwaited, waits, ""), "copy under way at the end");
}
