//! Real kernel crates through the whole pipeline.

#[path = "build/hints.rs"]
mod hints;

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, DebugInfo, Error, NvvmArch, Panics, Prebuilt};

/// A kernel crate named `name` whose library is `source`.
fn krate(name: &str, source: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\ncuda_std = {{ path = {:?} }}\n",
        repository.join("crates/cuda_std").canonicalize().unwrap()
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The versions that the repository uses are already downloaded.
    std::fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    std::fs::write(folder.join("src/lib.rs"), source).unwrap();
    folder
}

fn build(folder: &Path) -> Result<PathBuf, Error> {
    build_for(folder, NvvmArch::Compute80)
}

fn build_for(folder: &Path, arch: NvvmArch) -> Result<PathBuf, Error> {
    build_with(folder, arch, Panics::Trap)
}

fn build_with(folder: &Path, arch: NvvmArch, panics: Panics) -> Result<PathBuf, Error> {
    // The folder for the workspace's own kernels. It already holds a compiled `core`.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    CudaBuilder::new(folder)
        .arch(arch)
        .panics(panics)
        .target_dir(target.join("cuda-builder"))
        .copy_to(folder.join("out.ptx"))
        .build()
}

fn ptx(name: &str, source: &str) -> String {
    let file = build(&krate(name, source)).unwrap_or_else(|error| panic!("{error}"));
    std::fs::read_to_string(file).unwrap()
}

/// The lines of `ptx` whose first word (after a guard) starts with `prefix`.
fn instructions<'a>(ptx: &'a str, prefix: &str) -> Vec<&'a str> {
    ptx.lines()
        .map(str::trim)
        .map(|line| match line.strip_prefix('@') {
            Some(guarded) => guarded
                .split_once(char::is_whitespace)
                .map_or("", |(_, rest)| rest.trim()),
            None => line,
        })
        .filter(|line| line.starts_with(prefix))
        .collect()
}

/// Loads and stores without a known state space. They are slower, and a sign that a pointer's
/// origin was lost.
fn generic_accesses(ptx: &str) -> Vec<&str> {
    const SPACES: [&str; 6] = [
        "global",
        "shared",
        "shared::cluster",
        "local",
        "param",
        "const",
    ];
    ["ld.", "st."]
        .into_iter()
        .flat_map(|prefix| instructions(ptx, prefix))
        .filter(|line| {
            let opcode = line.split_whitespace().next().unwrap_or("");
            !opcode.split('.').any(|part| SPACES.contains(&part))
        })
        .collect()
}

const PRELUDE: &str = "#![no_std]\nuse cuda_std::prelude::*;\n";

#[test]
fn slices_are_pointer_and_length_and_read_only() {
    let ptx = ptx(
        "fixture_slices",
        &format!(
            "{PRELUDE}
            #[kernel(max_threads = 256, min_blocks = 2)]
            pub unsafe fn scale(a: f32, x: &[f32], y: *mut f32) {{
                let i = thread::index_1d() as usize;
                if i < x.len() {{
                    unsafe {{ *y.add(i) = a * x[i] }}
                }}
            }}"
        ),
    );
    let parameters: Vec<_> = instructions(&ptx, ".param")
        .into_iter()
        .filter(|l| l.contains("scale_param"))
        .collect();
    assert_eq!(parameters.len(), 4, "{parameters:?}");
    assert_eq!(instructions(&ptx, "ld.global.nc.b32").len(), 1);
    assert_eq!(instructions(&ptx, "st.global.b32").len(), 1);
    assert_eq!(generic_accesses(&ptx), [""; 0]);
    assert_eq!(instructions(&ptx, ".maxntid"), [".maxntid 256"]);
    assert_eq!(instructions(&ptx, ".minnctapersm"), [".minnctapersm 2"]);
    assert!(
        instructions(&ptx, "trap").is_empty(),
        "the bounds check repeats the kernel's own"
    );
    assert!(
        !ptx.contains(env!("CARGO_MANIFEST_DIR")),
        "file names are relative"
    );
    let comment = "\n// cuda_std.parameters scale~a: f32~x: &[f32]~y: *mut f32\n";
    assert!(ptx.ends_with(comment), "{ptx}");
}

#[test]
fn shared_memory_is_shared_through_slices_too() {
    let ptx = ptx(
        "fixture_shared",
        &format!(
            "{PRELUDE}
            const N: usize = 64;
            #[kernel]
            pub unsafe fn reverse(x: *mut f32) {{
                let i = thread::thread_idx_x() as usize;
                unsafe {{
                    let fixed = core::slice::from_raw_parts_mut(shared_array![f32; N], N);
                    let other = shared_array![u64; 2 * N];
                    let dynamic = core::slice::from_raw_parts_mut(shared::dynamic_shared_mem::<f32>(), N);
                    fixed[i] = *x.add(i);
                    dynamic[i] = *x.add(i) + 1.0;
                    *other.add(i) = i as u64;
                    thread::sync_threads();
                    let v: [f32; 4] = mem::load_vector(fixed.as_ptr().add(4 * (i % 16)));
                    *x.add(i) = v[0] + v[3] + dynamic[N - 1 - i] + *other.add(N - i) as f32;
                }}
            }}"
        ),
    );
    assert_eq!(generic_accesses(&ptx), [""; 0]);
    assert_eq!(instructions(&ptx, "st.shared").len(), 3);
    assert_eq!(instructions(&ptx, "ld.shared.v4.b32").len(), 1);
    let variables: Vec<_> = ptx
        .lines()
        .filter(|line| line.contains(".shared .align"))
        .collect();
    assert_eq!(variables.len(), 3, "{variables:?}");
    assert!(
        variables.iter().all(|line| line.contains(".align 16")),
        "{variables:?}"
    );
    for size in ["[256]", "[1024]"] {
        assert!(
            variables.iter().any(|line| line.contains(size)),
            "{variables:?}"
        );
    }
    assert_eq!(instructions(&ptx, ".extern .func"), [""; 0]);
}

#[test]
fn an_address_in_shared_memory_is_computed_once_for_all_that_use_it() {
    let ptx = ptx(
        "fixture_address",
        &format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn copy(x: *const f32, out: *mut f32) {{
                let i = 4 * thread::thread_idx_x() as usize;
                unsafe {{
                    let place = shared::dynamic_shared_mem::<f32>().add(i);
                    async_copy::copy_16_to(shared::address(place) + 512, x.add(i));
                    async_copy::commit();
                    async_copy::wait::<0>();
                    mem::store_vector(out.add(i), mem::load_vector::<f32, 4>(place.add(128)));
                }}
            }}"
        ),
    );
    // A generic pointer to shared memory would be a second value: the code has none.
    assert_eq!(instructions(&ptx, "cvta.shared"), [""; 0]);
    assert_eq!(instructions(&ptx, "cvta.to.shared"), [""; 0]);
    assert_eq!(generic_accesses(&ptx), [""; 0]);
}

#[test]
fn copies_and_their_barriers_become_the_instructions_they_name() {
    let folder = krate(
        "fixture_copies",
        &format!(
            "{PRELUDE}
            #[kernel(capability = \"9.0\")]
            pub unsafe fn all(x: *const f32, out: *mut f32, n: u32, counter: *mut u32) {{
                let tile = shared_array![f32; 256];
                let bar = shared_array![u64; 1];
                let i = thread::thread_idx_x() as usize;
                unsafe {{
                    async_copy::copy_4(tile.add(i), x.add(i), i < n as usize);
                    async_copy::copy_8(tile.add(2 * i), x.add(2 * i), true);
                    async_copy::commit();
                    async_copy::wait::<0>();
                    if i == 0 {{
                        mbarrier::init(bar, n);
                        mbarrier::fence_init();
                        mbarrier::expect_tx(bar, 512);
                        mbarrier::arrive_expect_tx(bar, 512);
                        bulk_copy::to_shared(tile, x, 1024, bar);
                        mbarrier::arrive(bar);
                    }}
                    while !mbarrier::test(bar, n) {{}}
                    mbarrier::wait(bar, n + 1);
                    mbarrier::wait(bar, 2);
                    mbarrier::store_async(cluster::map_shared(tile, n), 1.0, cluster::map_shared(bar, n));
                    *tile.add(i) += 1.0;
                    bulk_copy::fence_shared();
                    bulk_copy::fence_global();
                    thread::sync_threads();
                    if i == 0 {{
                        bulk_copy::to_global(out, tile, 1024);
                        bulk_copy::commit();
                        bulk_copy::wait_read::<1>();
                        bulk_copy::wait::<0>();
                        mbarrier::invalidate(bar);
                    }}
                    grid::sync(counter);
                    *out.add(i) = *tile.add(i);
                }}
            }}"
        ),
    );
    let file = build_for(&folder, NvvmArch::Compute90).unwrap_or_else(|error| panic!("{error}"));
    let ptx = std::fs::read_to_string(file).unwrap();
    assert_eq!(generic_accesses(&ptx), [""; 0]);
    let expected = [
        ("cp.async.ca.shared.global [to], [from], 4, %r", 1),
        ("cp.async.ca.shared.global [to], [from], 8, %r", 1),
        ("mbarrier.init.shared::cta.b64 [at], %r", 1),
        ("fence.mbarrier_init.release.cluster;", 1),
        ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [at], %r", 1),
        (
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [at], %r",
            1,
        ),
        ("mbarrier.arrive.release.cta.shared::cta.b64 _, [at];", 1),
        ("mbarrier.test_wait.parity.acquire.cta.shared::cta.b64", 1),
        ("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64", 2),
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %r",
            1,
        ),
        ("mbarrier.inval.shared::cta.b64 [at];", 1),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], %r",
            1,
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [to], [from], %r",
            1,
        ),
        ("cp.async.bulk.commit_group;", 1),
        ("cp.async.bulk.wait_group 0;", 1),
        ("cp.async.bulk.wait_group.read 1;", 1),
        ("fence.proxy.async.shared::cta;", 1),
        ("fence.proxy.async.global;", 1),
        ("atom.release.gpu.global.add.u32", 1),
        // Before the loop, and in it.
        ("ld.acquire.gpu.global.u32", 2),
    ];
    for (text, count) in expected {
        assert_eq!(ptx.matches(text).count(), count, "{text} in\n{ptx}");
    }
}

#[test]
fn clusters_reach_each_others_shared_memory() {
    let folder = krate(
        "fixture_clusters",
        &format!(
            "{PRELUDE}
            use cuda_std::atomic::{{AtomicU32, Ordering}};
            #[kernel(capability = \"9.0\", max_threads = 64, max_registers = 32)]
            pub unsafe fn ring(x: *mut f32, n: *mut u32) {{
                let tile = shared_array![f32; 64];
                let counter = shared_array![u32; 1];
                let i = thread::thread_idx_x() as usize;
                unsafe {{
                    *tile.add(i) = *x.add(i);
                    let arrival = cluster::arrive();
                    let next = (cluster::block_rank() + 1) % cluster::blocks();
                    let (theirs, theirs_counter) = (cluster::map_shared(tile, next), cluster::map_shared(counter, 0));
                    arrival.wait();
                    let v: [f32; 4] = mem::load_vector(theirs.add(4 * (i % 16)));
                    AtomicU32::from_ptr(theirs_counter).fetch_add(1, Ordering::Relaxed);
                    cluster::arrive_relaxed().wait();
                    *theirs.add(i) = v[0] + v[3];
                    cluster::sync();
                    *x.add(i) = *tile.add(i);
                    *n = cluster::block_idx().x + cluster::dim().y + cluster::cluster_idx().z + cluster::grid_dim().x;
                }}
            }}
            // To itself, with no barrier: the load must see the store through the mapped address.
            #[kernel(capability = \"9.0\", cluster = (2, 1))]
            pub unsafe fn alias(x: *mut f32) {{
                let tile = shared_array![f32; 64];
                unsafe {{
                    *tile = 1.0;
                    *cluster::map_shared(tile, cluster::block_rank()) = 2.0;
                    *x = *tile;
                    cluster::sync();
                }}
            }}
            #[kernel]
            pub unsafe fn anywhere(x: *mut f32) {{
                unsafe {{ *x = if cfg!(target_feature = \"sm_90\") {{ 9.0 }} else {{ 8.0 }} }}
            }}"
        ),
    );
    let read = |arch| std::fs::read_to_string(build_for(&folder, arch).unwrap()).unwrap();
    let ptx = read(NvvmArch::Compute90);
    assert_eq!(instructions(&ptx, ".target"), [".target sm_90"]);
    assert_eq!(generic_accesses(&ptx), [""; 0]);
    let expected = [
        ("ld.shared::cluster.v4.b32", 1),
        ("st.shared::cluster.b32", 2),
        ("mapa.shared::cluster.u64", 3),
        ("barrier.cluster.arrive.aligned", 3),
        ("barrier.cluster.arrive.relaxed.aligned", 1),
        ("barrier.cluster.wait.aligned", 4),
        (".maxnreg 32", 1),
        (".maxntid 64", 1),
        (".reqnctapercluster 2, 1, 1", 1),
        // The tile's, before the second barrier of `alias`.
        ("ld.shared.b32", 2),
    ];
    for (text, count) in expected {
        assert_eq!(instructions(&ptx, text).len(), count, "{text} in\n{ptx}");
    }
    for register in [
        "cluster_ctaid.x",
        "cluster_nctaid.y",
        "clusterid.z",
        "nclusterid.x",
    ] {
        assert!(
            ptx.contains(&format!("%{register}")),
            "{register} in\n{ptx}"
        );
    }
    assert!(
        instructions(&ptx, "st.global.b32")
            .iter()
            .any(|line| line.contains("1091567616"))
    );

    let older = read(NvvmArch::Compute80);
    let entries: Vec<_> = older
        .lines()
        .filter(|line| line.contains(".entry"))
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert!(
        instructions(&older, "st.global.b32")
            .iter()
            .any(|line| line.contains("1090519040"))
    );
}

#[test]
fn clusters_of_old_architectures_are_refused() {
    let folder = krate(
        "fixture_no_clusters",
        &format!("{PRELUDE}\n#[kernel]\npub unsafe fn early() {{ cluster::sync() }}\n"),
    );
    let error = build(&folder).unwrap_err().to_string();
    assert_eq!(
        error,
        "`early` uses thread block clusters, which sm_80 does not have: mark the kernel \
         `#[kernel(capability = \"9.0\")]`"
    );
}

/// rustc's jump threading copies a barrier into both arms of a condition that is tested before and
/// after it. Threads of one warp then wait at two barriers.
#[test]
fn a_barrier_stays_one_barrier() {
    let ptx = ptx(
        "fixture_barrier",
        &format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn shift(x: *mut f32, n: u32) {{
                let shared = shared_array![f32; 256];
                let i = thread::thread_idx_x();
                unsafe {{
                    if i < n {{
                        *shared.add(i as usize) = *x.add(i as usize);
                    }}
                    thread::sync_threads();
                    if i < n {{
                        *x.add(i as usize) = *shared.add((i ^ 1) as usize);
                    }}
                }}
            }}"
        ),
    );
    assert_eq!(instructions(&ptx, "bar.sync").len(), 1, "{ptx}");
}

#[test]
fn the_device_library_becomes_the_instructions_it_names() {
    let ptx = ptx(
        "fixture_library",
        &format!(
            "{PRELUDE}
            use cuda_std::atomic::{{AtomicF32, AtomicF64, AtomicU32, Ordering}};
            use cuda_std::float;
            use cuda_std::warp::FULL_MASK;
            #[kernel]
            pub unsafe fn all(x: *mut f32, n: *mut u32, p: *const u64) {{
                let start = clock::clock64();
                unsafe {{
                    let v = mem::load_cg(x) + mem::load_ca(x.add(1)) + mem::load_cv(x.add(2));
                    let early: [f32; 4] = mem::load_early(x.add(16).cast());
                    let v = v + early[0] + early[3];
                    let (v, _) = warp::warp_shuffle_down(FULL_MASK, v, 1, 32);
                    let (v, _) = warp::warp_shuffle_xor(FULL_MASK, v, 2, 32);
                    let b = warp::warp_vote_ballot(FULL_MASK, v > 0.0);
                    if warp::warp_vote_all(FULL_MASK, b == 7) || warp::warp_vote_any(FULL_MASK, b == 3) {{
                        let sum = warp::warp_reduce_add(FULL_MASK, b);
                        AtomicU32::from_ptr(n).fetch_add(sum, Ordering::Relaxed);
                    }}
                    AtomicF32::from_ptr(x).fetch_add(v, Ordering::Relaxed);
                    let q: [u64; 2] = mem::load_vector(p);
                    *x.add(3) = GpuFloat::mul_add(v, v, 1.0).sqrt() + thread::sync_threads_count(v > 1.0) as f32;
                    mem::store_vector(x.add(4), [v, v, v, v]);
                    let (w, _) = warp::warp_shuffle_up(FULL_MASK, q[0], 1, 16);
                    let (w, _) = warp::warp_shuffle_idx(FULL_MASK, w, 3, 32);
                    let same = warp::warp_match_any_32(FULL_MASK, w as u32);
                    *x.add(9) = float::sin_approx(v) + float::cos_approx(v) + float::exp2_approx(v)
                        + float::log2_approx(v) + float::rsqrt_approx(v) + float::recip_approx(v);
                    *n.add(1) = same + warp::activemask() + warp::lane_id();
                    thread::device_fence();
                    thread::block_fence();
                    thread::system_fence();
                    thread::nanosleep(20);
                    warp::sync_warp(FULL_MASK);
                    AtomicF64::from_ptr(x.add(10).cast()).fetch_add(1.0, Ordering::Relaxed);
                    *x.add(12) = (clock::globaltimer_ns() + u64::from(clock::clock())) as f32;
                    *x.add(8) = (clock::clock64() - start + q[0] + q[1]) as f32;
                }}
            }}"
        ),
    );
    for expected in [
        "ld.global.cg.b32",
        "ld.global.ca.b32",
        "ld.global.cv.b32",
        "ld.global.v4.b32",
        "shfl.sync.down.b32",
        "shfl.sync.bfly.b32",
        "vote.sync.ballot.b32",
        "vote.sync.all.pred",
        "vote.sync.any.pred",
        "redux.sync.add",
        "atom.relaxed.gpu.add.f32",
        "ld.global.v2.b64",
        "st.global.v4.b32",
        "fma.rn.f32",
        "sqrt.rn.f32",
        "bar.red.popc",
        "shfl.sync.up.b32",
        "shfl.sync.idx.b32",
        "match.any.sync.b32",
        "sin.approx.f32",
        "cos.approx.f32",
        "ex2.approx.f32",
        "lg2.approx.f32",
        "rsqrt.approx.f32",
        "rcp.approx.ftz.f32",
        "activemask.b32",
        "membar.gl",
        "membar.cta",
        "membar.sys",
        "nanosleep.u32",
        "bar.warp.sync",
        "atom.relaxed.gpu.add.f64",
        "mov.u64",
    ] {
        assert!(
            !instructions(&ptx, expected).is_empty(),
            "no {expected} in\n{ptx}"
        );
    }
    assert!(ptx.contains("%clock64"));
    let atomic = instructions(&ptx, "atom")
        .into_iter()
        .filter(|l| l.contains(".u32") || l.contains(".s32"))
        .count()
        + instructions(&ptx, "red")
            .into_iter()
            .filter(|l| l.contains(".add."))
            .count();
    assert!(atomic >= 1, "{ptx}");
    assert_eq!(generic_accesses(&ptx), [""; 0]);
}

/// LLVM's back end drops the orderings of read-modify-write atomics.
#[test]
fn atomics_keep_their_orderings() {
    let ptx = ptx(
        "fixture_orderings",
        &format!(
            "{PRELUDE}
            use cuda_std::atomic::{{AtomicU32, Ordering}};
            #[kernel]
            pub unsafe fn relaxed(x: *mut u32) {{
                unsafe {{ *x.add(1) = AtomicU32::from_ptr(x).fetch_add(1, Ordering::Relaxed) }}
            }}
            #[kernel]
            pub unsafe fn acquire(x: *mut u32) {{
                unsafe {{ *x.add(1) = AtomicU32::from_ptr(x).fetch_max(1, Ordering::Acquire) }}
            }}
            #[kernel]
            pub unsafe fn release(x: *mut u32) {{
                unsafe {{ *x.add(1) = AtomicU32::from_ptr(x).fetch_and(1, Ordering::Release) }}
            }}
            #[kernel]
            pub unsafe fn both(x: *mut u32) {{
                unsafe {{ *x.add(1) = AtomicU32::from_ptr(x).swap(1, Ordering::AcqRel) }}
            }}
            #[kernel]
            pub unsafe fn unused(x: *mut u32) {{
                unsafe {{ AtomicU32::from_ptr(x).fetch_add(1, Ordering::Release); }}
            }}
            #[kernel]
            pub unsafe fn strongest(x: *mut u32) {{
                unsafe {{ *x.add(1) = AtomicU32::from_ptr(x).fetch_sub(1, Ordering::SeqCst) }}
            }}
            #[kernel]
            pub unsafe fn seq_cst(x: *mut u32) {{
                unsafe {{
                    let x = AtomicU32::from_ptr(x);
                    x.store(x.load(Ordering::SeqCst), Ordering::SeqCst);
                    let _ = x.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed);
                    core::sync::atomic::fence(Ordering::SeqCst);
                }}
            }}
            #[kernel]
            pub unsafe fn exchange(x: *mut u32) {{
                unsafe {{
                    let done = AtomicU32::from_ptr(x).compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed);
                    *x.add(1) = u32::from(done.is_ok());
                }}
            }}
            #[kernel]
            pub unsafe fn flag(x: *mut u32) {{
                unsafe {{
                    while AtomicU32::from_ptr(x).load(Ordering::Acquire) == 0 {{}}
                    AtomicU32::from_ptr(x.add(1)).store(1, Ordering::Release);
                    core::sync::atomic::fence(Ordering::AcqRel);
                    AtomicU32::from_ptr(x.add(2)).store(1, Ordering::Relaxed);
                }}
            }}"
        ),
    );
    let ordered = ["atom", "fence", "ld.acquire", "st.re"];
    let kernels = [
        ("relaxed", vec!["atom.global.add.u32"]),
        ("acquire", vec!["atom.global.max.u32", "fence.acq_rel.gpu"]),
        ("release", vec!["fence.acq_rel.gpu", "atom.global.and.b32"]),
        (
            "both",
            vec![
                "fence.acq_rel.gpu",
                "atom.global.exch.b32",
                "fence.acq_rel.gpu",
            ],
        ),
        ("unused", vec!["fence.acq_rel.gpu", "atom.global.add.u32"]),
        (
            "strongest",
            vec!["fence.sc.gpu", "atom.global.add.u32", "fence.acq_rel.gpu"],
        ),
        // The back end does these itself.
        ("exchange", vec!["atom.acq_rel.sys.global.cas.b32"]),
        (
            "flag",
            vec![
                "ld.acquire.sys.global.b32",
                "st.release.sys.global.b32",
                "fence.acq_rel.sys",
                "st.relaxed.sys.global.b32",
            ],
        ),
        (
            "seq_cst",
            vec![
                "fence.sc.sys",
                "ld.acquire.sys.global.b32",
                "fence.sc.sys",
                "st.release.sys.global.b32",
                "fence.sc.sys",
                "atom.acquire.sys.global.cas.b32",
                "fence.sc.sys",
            ],
        ),
    ];
    for (kernel, expected) in kernels {
        let (_, body) = ptx.split_once(&format!(".entry {kernel}(")).unwrap();
        let (body, _) = body.split_once("End function").unwrap();
        let found: Vec<_> = body
            .lines()
            .filter_map(|line| line.trim().split([' ', '\t', ';']).next())
            .filter(|opcode| ordered.iter().any(|prefix| opcode.starts_with(prefix)))
            .collect();
        assert_eq!(found, expected, "{kernel} in\n{ptx}");
    }
}

#[test]
fn what_the_language_itself_calls_is_there() {
    let ptx = ptx(
        "fixture_mem",
        &format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn compare(x: &[u8], y: &[u8], z: *mut [u32; 100], equal: *mut u32) {{
                unsafe {{
                    *equal = u32::from(x == y);
                    *z = [7; 100];
                    *z.add(1) = *z;
                }}
            }}"
        ),
    );
    assert_eq!(instructions(&ptx, ".extern .func"), [""; 0]);
}

#[test]
fn a_panic_is_a_trap() {
    let ptx = ptx(
        "fixture_panic",
        &format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn checked(x: &[f32], y: *mut f32) {{
                unsafe {{ *y = x[thread::thread_idx_x() as usize] }}
            }}"
        ),
    );
    assert_eq!(instructions(&ptx, "trap").len(), 1, "{ptx}");
    assert_eq!(
        instructions(&ptx, "call"),
        [""; 0],
        "no message is formatted"
    );
}

#[test]
fn a_kernel_that_does_not_compile_shows_rustcs_message() {
    let folder = krate(
        "fixture_broken",
        &format!(
            "{PRELUDE}\n#[kernel]\npub unsafe fn broken(x: *mut f32) {{\n    let i: u32 = 1.5;\n}}\n"
        ),
    );
    let error = build(&folder).unwrap_err();
    assert!(matches!(error, Error::KernelCompile { .. }));
    let text = error.to_string();
    assert!(text.contains("mismatched types"), "{text}");
    assert!(text.contains("src/lib.rs:6:18"), "{text}");
}

#[test]
fn functions_that_nothing_defines_are_named() {
    let folder = krate(
        "fixture_unresolved",
        &format!(
            "{PRELUDE}
            unsafe extern \"C\" {{ fn powf(x: f32, y: f32) -> f32; }}
            #[kernel]
            pub unsafe fn power(x: *mut f32) {{
                unsafe {{ *x = powf(*x, 3.5) }}
            }}"
        ),
    );
    let error = build(&folder).unwrap_err().to_string();
    assert_eq!(
        error,
        "the kernels call `powf`, which nothing defines: PTX is not linked, so every function must be in the kernel \
         crate or its Rust dependencies. `powf` of C is `GpuFloat::powf` of cuda_std"
    );
}

#[test]
fn a_crate_without_kernels_is_refused() {
    let folder = krate(
        "fixture_empty",
        "#![no_std]\npub fn f() {}\nuse cuda_std as _;\n",
    );
    let error = build(&folder).unwrap_err();
    assert!(matches!(error, Error::NoKernels { .. }), "{error}");
}

#[test]
fn folders_without_a_library_are_named() {
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-such-crate");
    let error = build(&missing).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read ") && error.contains("no-such-crate/Cargo.toml"),
        "{error}"
    );

    let folder = krate("fixture_malformed", "");
    std::fs::write(folder.join("Cargo.toml"), "[package\n").unwrap();
    let malformed = build(&folder).unwrap_err();
    assert!(matches!(malformed, Error::Manifest { .. }), "{malformed}");
    assert!(
        malformed
            .to_string()
            .contains("fixture_malformed/Cargo.toml"),
        "{malformed}"
    );
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let kernel = |factor: &str| {
        format!(
            "{PRELUDE}\n#[kernel]\npub unsafe fn k(x: *mut f32) {{\n    unsafe {{ *x *= {factor} }}\n}}\n"
        )
    };
    let folder = krate("fixture_unchanged", &kernel("2.0"));
    let out = build(&folder).unwrap();
    let written = || std::fs::metadata(&out).unwrap().modified().unwrap();
    let first = (written(), std::fs::read_to_string(&out).unwrap());
    build(&folder).unwrap();
    assert_eq!(written(), first.0);
    std::fs::write(folder.join("src/lib.rs"), kernel("3.0")).unwrap();
    build(&folder).unwrap();
    assert_ne!(std::fs::read_to_string(&out).unwrap(), first.1);
}

/// Kernels whose dependencies are compiled already become the PTX that they become with cargo.
#[test]
fn prebuilt_dependencies_give_the_same_ptx() {
    let kernel = |body: &str| {
        format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn sum(x: *mut f32, y: &[f32]) {{
                {body}
                let i = thread::index_1d() as usize;
                unsafe {{
                    let all = shared_array![f32; 32];
                    *all.add(i % 32) = y[i].mul_add(2.0, 1.0);
                    thread::sync_threads();
                    *x.add(i) = warp::warp_shuffle_xor(warp::FULL_MASK, *all.add(i % 32), 1, 32).0;
                }}
            }}"
        )
    };
    let folder = krate("fixture_prebuilt", &kernel(""));
    let expected = std::fs::read_to_string(build(&folder).unwrap()).unwrap();

    let tools = cuda_builder::toolchain::find().unwrap();
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let prebuilt = Prebuilt::build(
        &folder,
        &["cuda_std"],
        (NvvmArch::Compute80, Panics::Trap),
        &root.parent().unwrap().join("cuda-builder"),
        tools,
    )
    .unwrap();
    let kernels = root.join("prebuilt-kernels");
    std::fs::create_dir_all(&kernels).unwrap();
    let compile = |text: &str| {
        std::fs::write(kernels.join("lib.rs"), text).unwrap();
        let mut programs = 0;
        let ptx = prebuilt.compile(&kernels, &mut |command| {
            programs += 1;
            command.output()
        });
        (ptx, programs)
    };
    let (ptx, programs) = compile(&kernel(""));
    // rustc, opt, llc.
    assert_eq!(programs, 3);
    // File names, and names mangled with the crate's name, differ.
    let code = |text: &str| {
        text.lines()
            .filter(|line| !line.contains(".file") && !line.contains(".loc"))
            .map(|line| match line.split_once("_RNv") {
                Some((before, _)) => before.to_owned(),
                None => line.to_owned(),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(code(&ptx.unwrap()), code(&expected));

    // The sine is a function of a library, which only a second run of rustc takes in.
    let (with_sine, twice) = compile(&kernel("unsafe { *x = GpuFloat::sin(*x) };"));
    assert_eq!(instructions(&with_sine.unwrap(), ".extern .func"), [""; 0]);
    assert_eq!(twice, 6);

    let (broken, rustc_alone) = compile(&kernel("let i: u32 = 1.5;"));
    assert_eq!(rustc_alone, 1);
    let message = broken.unwrap_err().to_string();
    assert!(message.contains("--> lib.rs:6:30"), "{message}");
}

/// The second build finds everything as the first has left it.
#[test]
fn unchanged_dependencies_are_not_compiled_again() {
    let folder = krate("fixture_dependencies", &format!("{PRELUDE}\n"));
    let tools = cuda_builder::toolchain::find().unwrap();
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = root.parent().unwrap().join("cuda-builder");
    let built = || {
        let code = (NvvmArch::Compute80, Panics::Trap);
        Prebuilt::build(&folder, &["cuda_std"], code, &target, tools.clone()).unwrap()
    };
    let first = built();
    let module = target.join("sm_80/nvptx64-nvidia-cuda/release/deps/fixture_dependencies.ll");
    let compiled = || module.metadata().unwrap().modified().unwrap();
    let at_first = compiled();
    assert_eq!(first, built());
    assert_eq!(compiled(), at_first);
}

/// By cargo, and with dependencies that are already compiled: then no linker runs.
#[test]
fn a_panic_with_a_message_calls_the_driver() {
    let kernel = format!(
        "{PRELUDE}
        #[kernel]
        pub unsafe fn pick(x: &[u32], out: *mut u32) {{
            let i = thread::index_1d() as usize;
            unsafe {{ *out.add(i) = x[x[i] as usize] }}
        }}"
    );
    let folder = krate("fixture_message", &kernel);
    let built = build_with(&folder, NvvmArch::Compute80, Panics::Message).unwrap();
    let by_cargo = std::fs::read_to_string(built).unwrap();

    let tools = cuda_builder::toolchain::find().unwrap();
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = root.parent().unwrap().join("cuda-builder");
    let code = (NvvmArch::Compute80, Panics::Message);
    let prebuilt = Prebuilt::build(&folder, &["cuda_std"], code, &target, tools).unwrap();
    let kernels = root.join("prebuilt-kernels-with-messages");
    std::fs::create_dir_all(&kernels).unwrap();
    std::fs::write(kernels.join("lib.rs"), &kernel).unwrap();
    let mut programs = Vec::new();
    let prebuilt = prebuilt.compile(&kernels, &mut |command| {
        programs.push(command.get_program().to_owned());
        command.output()
    });
    assert_eq!(programs.len(), 3, "{programs:?}");
    for ptx in [by_cargo, prebuilt.unwrap()] {
        assert!(!instructions(&ptx, "call.uni __assertfail").is_empty());
        assert!(ptx.contains(".extern .func __assertfail"));
    }
}

#[test]
fn the_same_ir_is_not_compiled_again() {
    const SOURCE: &str = "#![no_std]\nuse cuda_std::prelude::*;\n\
        #[kernel]\npub unsafe fn again(p: *mut u32) { unsafe { *p = 1 } }\n";
    let folder = krate("built_twice", SOURCE);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("cuda-builder");
    let build = || {
        let built = CudaBuilder::new(&folder)
            .target_dir(&target)
            .copy_to(folder.join("out.ptx"))
            .build();
        std::fs::read_to_string(built.unwrap()).unwrap()
    };
    let beside = |extension: &str| {
        target
            .join("sm_80/nvptx64-nvidia-cuda/release/deps/built_twice")
            .with_extension(extension)
    };
    let written = |extension: &str| beside(extension).metadata().unwrap().modified().unwrap();

    let first = build();
    let when = written("optimised.ll");
    assert_eq!(build(), first);
    assert_eq!(written("optimised.ll"), when);

    // Files of an interrupted build are not taken for those of a whole one.
    std::fs::remove_file(beside("done")).unwrap();
    std::fs::write(beside("ptx"), "half").unwrap();
    assert_eq!(build(), first);

    krate("built_twice", &SOURCE.replace("= 1", "= 2"));
    let second = build();
    assert!(second != first && second.contains("2;"), "{second}");
}

/// LLVM takes the remainder out of the loop, where it is of no line.
#[test]
fn a_module_with_a_moved_remainder_keeps_its_lines() {
    let source = format!(
        "{PRELUDE}
        #[kernel]
        pub unsafe fn remainders(x: *mut f32, y: f32, z: f32, n: u32) {{
            for i in 0..n as usize {{ unsafe {{ *x.add(i) += y % z }}; }}
        }}"
    );
    let folder = krate("fixture_remainders", &source);
    let ptx = std::fs::read_to_string(build(&folder).unwrap()).unwrap();
    assert!(ptx.contains("\t.loc\t"), "{ptx}");
}

/// LLVM names a block after the functions that were inlined into it, one in the other. `opt` writes
/// names that are longer than those that it and `llc` read by default.
#[test]
fn a_long_chain_of_iterators_is_compiled() {
    let source = format!(
        "{PRELUDE}
        #[inline(never)]
        fn chained(words: &[u32; 12], n: u32) -> u32 {{
            let words = words.iter().copied().flat_map(|x| [x, x >> 7]);
            let words = words.map(|x| x.wrapping_mul(3) ^ n.wrapping_add(n));
            let words = words.skip_while(|x| x % 5 == 3).filter_map(|x| x.checked_sub(3));
            words.max().unwrap_or(1)
        }}
        #[kernel]
        pub unsafe fn chain(x: *const [u32; 12], y: *mut u32, n: u32) {{
            unsafe {{ *y = chained(&*x, n) }};
        }}"
    );
    let name = "fixture_with_iterators_whose_names_in_ir_are_very_long";
    let ptx = ptx(name, &source);
    assert_eq!(instructions(&ptx, ".visible .entry").len(), 1);
}

/// cargo looks at the file that a linker would write: whether it is there, and its age.
#[test]
fn a_crate_whose_kernels_are_grouped_is_not_compiled_again() {
    let kernel = "#[kernel]\npub unsafe fn grouped(x: *mut f32) { unsafe { *x = 1.0 } }";
    let folder = krate("fixture_grouped_twice", &format!("{PRELUDE}\n{kernel}"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("cuda-builder");
    let module = target.join("sm_80/nvptx64-nvidia-cuda/release/deps/fixture_grouped_twice.ll");
    let when_compiled = || {
        let builder = CudaBuilder::new(&folder).target_dir(&target);
        let group = |_: &str| "all".to_owned();
        let built = builder.build_groups(folder.join("out"), group);
        built.unwrap();
        module.metadata().unwrap().modified().unwrap()
    };
    let first = when_compiled();
    assert_eq!(when_compiled(), first);

    // Older than `cuda_std`, as after an edit of that.
    let linked = std::fs::File::options()
        .append(true)
        .open(module.with_extension("ptx"));
    linked.unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let second = when_compiled();
    assert_ne!(second, first);
    assert_eq!(when_compiled(), second);
}

/// A module per group of kernels has the code that a module of all has, and an edit of one group
/// leaves the others' files as they are.
#[test]
fn groups_of_kernels_are_modules_of_their_own() {
    let source = |factor: &str| {
        format!(
            "{PRELUDE}
            #[inline(never)]
            fn scaled(x: f32) -> f32 {{ x * 3.0 }}
            #[kernel]
            pub unsafe fn left_one(x: *mut f32) {{ unsafe {{ *x = scaled(*x) + {factor} }} }}
            #[kernel]
            pub unsafe fn right_one(x: *mut f32) {{ unsafe {{ *x = scaled(*x) - 1.0 }} }}
            #[kernel]
            pub unsafe fn right_two(x: *mut f32) {{ unsafe {{ *x = 5.0 }} }}"
        )
    };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let build_groups = |folder: &Path| {
        let builder = CudaBuilder::new(folder).target_dir(target.join("cuda-builder"));
        let group = |kernel: &str| kernel.split('_').next().unwrap().to_owned();
        builder
            .final_module_path(folder.join("ir"))
            .build_groups(folder.join("out"), group)
            .unwrap()
    };
    let folder = krate("fixture_groups", &source("1.0"));
    let groups = build_groups(&folder);
    let names: Vec<&str> = groups.keys().map(String::as_str).collect();
    assert_eq!(names, ["left", "right"]);
    let text = |group: &str| std::fs::read_to_string(&groups[group]).unwrap();
    let entries = |ptx: &str| -> Vec<String> {
        let lines = instructions(ptx, ".visible .entry");
        lines.into_iter().map(str::to_owned).collect()
    };
    let (left, right) = (text("left"), text("right"));
    assert_eq!((entries(&left).len(), entries(&right).len()), (1, 2));

    let ir = std::fs::read_to_string(folder.join("ir/left.ll")).unwrap();
    let defined = |kernel: &str| ir.contains(&format!("define ptx_kernel void @{kernel}("));
    assert!(defined("left_one") && !defined("right_one"), "{ir}");

    let all = std::fs::read_to_string(build(&folder).unwrap()).unwrap();
    let body = |ptx: &str, kernel: &str| -> Vec<String> {
        let (_, rest) = ptx.split_once(&format!(".entry {kernel}(")).unwrap();
        let lines = rest.lines().take_while(|line| !line.starts_with('}'));
        lines
            .filter(|line| line.contains(';') && !line.contains(".loc"))
            .map(|line| line.trim().to_owned())
            .collect()
    };
    assert_eq!(body(&left, "left_one"), body(&all, "left_one"));
    assert_eq!(body(&right, "right_two"), body(&all, "right_two"));

    let written = |group: &str| groups[group].metadata().unwrap().modified().unwrap();
    let (old_left, old_right) = (written("left"), written("right"));
    krate("fixture_groups", &source("2.0"));
    build_groups(&folder);
    assert_ne!(written("left"), old_left);
    assert_eq!(written("right"), old_right);
}

#[test]
fn one_compile_serves_several_architectures() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let build_groups = |folder: &Path| {
        let builder = CudaBuilder::new(folder)
            .arch(NvvmArch::Compute90)
            .oldest(NvvmArch::Compute75);
        let builder = builder.target_dir(target.join("cuda-builder"));
        builder.build_groups(folder.join("out"), |_| "all".to_owned())
    };
    let source = format!(
        "{PRELUDE}
        use cuda_std::async_copy;
        #[kernel]
        pub unsafe fn old(x: *mut f32) {{ unsafe {{ *x = 1.0 }} }}
        #[kernel]
        pub unsafe fn sums(x: *mut u32) {{ unsafe {{ *x = warp::warp_reduce_add(!0, *x) }} }}
        #[kernel(capability = \"8.0\")]
        pub unsafe fn copies() {{ unsafe {{ async_copy::wait::<0>() }} }}
        #[kernel]
        pub unsafe fn new(x: *mut u32) {{ unsafe {{ *x = cuda_std::cluster::block_rank() }} }}"
    );
    let folder = krate("fixture_archs", &source);
    let built = build_groups(&folder).unwrap();
    let ptx = std::fs::read_to_string(&built["all"]).unwrap();
    assert_eq!(instructions(&ptx, ".target"), [".target sm_90"]);
    assert_eq!(ptx.matches("// cuda_std.before sm_80 ").count(), 1, "{ptx}");
    let marks = ptx.lines().filter(|line| line.starts_with("// cuda_std."));
    let marks: Vec<&str> = marks
        .filter(|line| !line.contains(".parameters "))
        .collect();
    assert_eq!(
        marks,
        [
            "// cuda_std.generation sm_75 7.4",
            "// cuda_std.generation sm_80 7.4",
            "// cuda_std.needs copies sm_80 cp.async",
            "// cuda_std.needs new sm_90 clusters",
        ]
    );

    for name in ["sm_90", "compute_90"] {
        let by_arch = format!("#[cfg(target_feature = \"{name}\")]\npub fn g() {{}}");
        let by_name = krate("fixture_archs", &format!("{source}\n{by_arch}"));
        let refused = build_groups(&by_name).unwrap_err().to_string();
        let line = source.lines().count() + 1;
        assert!(
            refused.contains(&format!("fixture_archs/src/lib.rs:{line}: `cfg(")),
            "{name}: {refused}"
        );
    }
}

/// One line of upstream's builder: no crate of kernels has to say `#![no_std]`.
/// The folder that the script watches is not read as a source; the file that it writes is.
#[test]
fn a_kernel_crate_may_have_a_build_script() {
    let folder = krate(
        "fixture_scripted",
        &format!("{PRELUDE}include!(concat!(env!(\"OUT_DIR\"), \"/kernels.rs\"));"),
    );
    std::fs::create_dir_all(folder.join("parts")).unwrap();
    std::fs::write(
        folder.join("build.rs"),
        r##"fn main() {
            println!("cargo::rerun-if-changed=parts");
            let file = std::path::Path::new(&std::env::var_os("OUT_DIR").unwrap()).join("kernels.rs");
            let kernel = "#[kernel] pub unsafe fn a_made(x: *mut f32) { unsafe { *x = 1.0 } }";
            std::fs::write(file, kernel).unwrap();
        }"##,
    )
    .unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let built = CudaBuilder::new(&folder)
        .target_dir(target.join("cuda-builder"))
        .build_groups(folder.join("out"), |_| "all".to_owned())
        .unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(&built["all"]).unwrap();
    assert!(text.contains(".entry a_made("), "{text}");
}

#[test]
fn kernels_need_not_say_that_they_have_no_std() {
    let ptx = ptx(
        "fixture_no_line",
        "use cuda_std::prelude::*;
        #[kernel]
        pub unsafe fn one(x: *mut f32) {
            unsafe { *x = 1.0 }
        }",
    );
    assert_eq!(instructions(&ptx, "st.global.b32").len(), 1);
}

#[test]
fn options_change_the_instructions() {
    let folder = krate(
        "fixture_options",
        &format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn all(x: *mut f32, a: f32, b: f32) {{
                unsafe {{ *x = GpuFloat::sqrt(a) / b + a * b }}
            }}"
        ),
    );
    let built = |change: fn(CudaBuilder) -> CudaBuilder| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let builder = CudaBuilder::new(&folder)
            .target_dir(target.join("cuda-builder"))
            .copy_to(folder.join("out.ptx"));
        let file = change(builder)
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        std::fs::read_to_string(file).unwrap()
    };
    let plain = built(|builder| builder);
    for exact in [
        "sqrt.rn.f32",
        "div.rn.f32",
        "mul.rn.f32",
        "add.rn.f32",
        ".loc",
    ] {
        assert!(plain.contains(exact), "{exact}\n{plain}");
    }
    let (ll, module) = (folder.join("out.ll"), folder.join("final.ll"));
    let _ = (std::fs::remove_file(&ll), std::fs::remove_file(&module));
    let fast = built(|builder| {
        let options = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixture_options");
        builder
            .debug(DebugInfo::None)
            .ftz(true)
            .fast_sqrt(true)
            .fast_div(true)
            .fma_contraction(true)
            .emit_llvm_ir(true)
            .final_module_path(options.join("final.ll"))
            .build_args(&["--offline"])
    });
    for approximate in [
        "sqrt.approx.ftz.f32",
        "div.approx.ftz.f32",
        "fma.rn.ftz.f32",
    ] {
        assert!(fast.contains(approximate), "{approximate}\n{fast}");
    }
    assert!(!fast.contains(".loc"), "{fast}");
    for file in [ll, module] {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("define"), "{}", file.display());
    }
}

#[test]
fn a_kernel_that_must_not_panic_names_the_line_where_it_may() {
    let krate = |access: &str| {
        krate(
            "fixture_no_panic",
            &format!(
                "{PRELUDE}
                #[kernel(no_panic, max_threads = 128)]
                pub unsafe fn read(x: &[f32], y: *mut f32) {{
                    let i = thread::index_1d() as usize;
                    {access}
                }}"
            ),
        )
    };
    let message = match build(&krate("unsafe { *y.add(i) = x[i] }")) {
        Err(error @ Error::MayPanic { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(
        message.contains("kernel `read` is marked `no_panic`, and may panic:\n  src/lib.rs:7:42\n"),
        "{message}"
    );
    let checked = krate("if i < x.len() { unsafe { *y.add(i) = x[i] } }");
    let ptx = std::fs::read_to_string(build(&checked).unwrap()).unwrap();
    assert_eq!(instructions(&ptx, ".maxntid"), [".maxntid 128"]);
}

/// The remainder of floats is exact, as on the CPU, and not the back end's formula.
#[test]
fn the_remainder_of_floats_is_a_call() {
    let ptx = ptx(
        "fixture_remainder",
        &format!(
            "{PRELUDE}
            #[kernel]
            pub unsafe fn rest(x: *mut f32, y: f32) {{
                unsafe {{ *x = *x % y }}
            }}"
        ),
    );
    assert_eq!(instructions(&ptx, "div.rn.f32"), [""; 0]);
    assert!(!instructions(&ptx, "rem.u64").is_empty(), "{ptx}");
}
