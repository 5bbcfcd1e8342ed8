//! Plans that do not fit their kernels or the device, and the messages about them.

use device::LaunchLimits;
use device::validate::validate;
use device::{Element, Error, Module};
use exit::ErrorKind;
use plan::{Arg, LaunchConfig, Plan, args};

static KERNELS: Module = Module::from_static("kernels", include_str!("../kernels.ptx"));

/// The message about a plan with one launch; `u` is a buffer of 8 u32.
fn refusal(
    kernel: &str,
    config: LaunchConfig,
    args: impl FnOnce(plan::BufferId) -> Vec<Arg>,
) -> String {
    refusal_in(&KERNELS, kernel, config, args)
}

/// The message about a launch of a kernel of `module`, which has a kernel `nothing` too.
fn refusal_in(
    module: &Module,
    kernel: &str,
    config: LaunchConfig,
    args: impl FnOnce(plan::BufferId) -> Vec<Arg>,
) -> String {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::U32, 8);
    plan.launch("nothing", LaunchConfig::new(1, 1), args![])
        .unwrap();
    plan.launch(kernel, config, args(u)).unwrap();
    let error = validate(module, &plan, &LaunchLimits::SM_90).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    error.to_string()
}

fn one() -> LaunchConfig {
    LaunchConfig::new(1, 1)
}

#[test]
fn kernels_must_exist() {
    insta::assert_snapshot!(refusal("axpi", one(), |_| vec![]), @"module `kernels` has no kernel `axpi`; did you mean `axpy`?");
    insta::assert_snapshot!(refusal("wave2d_naive", one(), |_| vec![]), @"module `kernels` has no kernel `wave2d_naive`; there are: axpy, every_type, reverse, bounded, exactly, fails, writes_at, nothing");
}

#[test]
fn every_parameter_must_be_filled() {
    insta::assert_snapshot!(refusal("axpy", one(), |u| args![1.0f32, u, u].to_vec()), @"plan `p`, command 1 (launch of `axpy`): `args!` has 3 arguments, which fill 3 of the kernel's 5 parameters (a slice fills two)");
    insta::assert_snapshot!(refusal("nothing", one(), |u| args![u].to_vec()), @"plan `p`, command 1 (launch of `nothing`): `args!` has 1 argument, which fills 1, but the kernel has 0 parameters (a slice fills two)");
}

#[test]
fn types_must_agree() {
    insta::assert_snapshot!(refusal("axpy", one(), |u| vec![1.0f64.into(), u.slice(), u.slice()]), @"plan `p`, command 1 (launch of `axpy`): argument 1 of `args!`, counted from 1, is f64, but the kernel takes f32 there");
    insta::assert_snapshot!(refusal("axpy", one(), |u| vec![1u32.into(), u.slice(), u.slice()]), @"plan `p`, command 1 (launch of `axpy`): argument 1 of `args!`, counted from 1, is u32, but the kernel takes f32 there");
    insta::assert_snapshot!(refusal("axpy", one(), |u| vec![1.0f32.into(), 8usize.into(), 8usize.into(), u.slice()]), @"plan `p`, command 1 (launch of `axpy`): argument 2 of `args!`, counted from 1, is u64, but the kernel takes a pointer there");
    insta::assert_snapshot!(refusal("axpy", one(), |u| vec![1.0f32.into(), u.into(), 8u32.into(), u.slice()]), @"plan `p`, command 1 (launch of `axpy`): argument 3 of `args!`, counted from 1, is u32, but the kernel takes a 64-bit integer or a pointer there");
    let mut plan = Plan::new("p");
    let wide = plan.buffer("wide", Element::F64, 8);
    let all = args![1.0f32, wide.slice(), wide.slice()];
    plan.launch("axpy", one(), all).unwrap();
    let error = validate(&KERNELS, &plan, &LaunchLimits::SM_90).unwrap_err();
    insta::assert_snapshot!(error, @"plan `p`, command 0 (launch of `axpy`): argument 2 of `args!`, counted from 1, is a slice of f64, aligned to 8 bytes, but the kernel takes elements aligned to 4 bytes, such as f32, there");
    insta::assert_snapshot!(refusal("reverse", one(), |u| vec![u.slice()]), @"plan `p`, command 1 (launch of `reverse`): argument 1 of `args!`, counted from 1, is a slice, whose length (u64) comes second, but the kernel takes a 32-bit integer there");
    insta::assert_snapshot!(refusal("reverse", one(), |u| args![u, 1.0f32].to_vec()), @"plan `p`, command 1 (launch of `reverse`): argument 2 of `args!`, counted from 1, is f32, but the kernel takes a 32-bit integer there");
    insta::assert_snapshot!(refusal("fails", one(), |u| args![u].to_vec()), @"plan `p`, command 1 (launch of `fails`): argument 1 of `args!`, counted from 1, is a buffer, but the kernel takes a 32-bit integer there");
    let structure = |u: plan::BufferId, bytes: usize| {
        args![
            u,
            1u8,
            2u32,
            3i32,
            4u64,
            5i64,
            6.0f32,
            7.0f64,
            vec![0u8; bytes]
        ]
        .to_vec()
    };
    insta::assert_snapshot!(refusal("every_type", one(), |u| structure(u, 12)), @"plan `p`, command 1 (launch of `every_type`): argument 9 of `args!`, counted from 1, is a structure of 12 bytes, but the kernel takes a structure of 16 bytes there");
}

#[test]
fn blocks_and_grids_have_limits() {
    let fails = |config| refusal("fails", config, |_| args![0u32].to_vec());
    insta::assert_snapshot!(fails(LaunchConfig::new(1, (32, 33))), @"plan `p`, command 1 (launch of `fails`): a block of [32, 33, 1] has 1056 threads; the device allows 1024");
    insta::assert_snapshot!(fails(LaunchConfig::new(1, (1, 1, 65))), @"plan `p`, command 1 (launch of `fails`): block [1, 1, 65] exceeds the device's limit [1024, 1024, 64] in z");
    insta::assert_snapshot!(fails(LaunchConfig::new((1, 65_536), 1)), @"plan `p`, command 1 (launch of `fails`): grid [1, 65536, 1] exceeds the device's limit [2147483647, 65535, 65535] in y");
    insta::assert_snapshot!(fails(LaunchConfig::new(1, [u32::MAX; 3])), @"plan `p`, command 1 (launch of `fails`): block [4294967295, 4294967295, 4294967295] exceeds the device's limit [1024, 1024, 64] in x");
}

#[test]
fn kernels_have_bounds_of_their_own() {
    insta::assert_snapshot!(refusal("bounded", LaunchConfig::new(1, (13, 5)), |u| args![u].to_vec()), @"plan `p`, command 1 (launch of `bounded`): a block of [13, 5, 1] has 65 threads, but the kernel was compiled for at most 64; launch smaller blocks, or raise `max_threads` in its `#[kernel]`");
    insta::assert_snapshot!(refusal("exactly", LaunchConfig::new(1, (2, 4)), |u| args![u].to_vec()), @"plan `p`, command 1 (launch of `exactly`): the kernel was compiled for blocks of [4, 2, 1] (`.reqntid`) and nothing else, not [2, 4, 1]");
}

#[test]
fn shared_memory_has_a_limit() {
    let most = LaunchLimits::SM_90.shared_mem_per_block_bytes;
    insta::assert_snapshot!(refusal("reverse", one().with_shared_mem_bytes(most + 1), |u| args![u, 0u32].to_vec()), @"plan `p`, command 1 (launch of `reverse`): a block needs 232449 bytes of shared memory (0 declared in the kernel, 232449 asked for by the launch); the device allows 232448; use smaller tiles");
    // Static and dynamic memory count together.
    insta::assert_snapshot!(refusal("bounded", one().with_shared_mem_bytes(most), |u| args![u].to_vec()), @"plan `p`, command 1 (launch of `bounded`): a block needs 248832 bytes of shared memory (16384 declared in the kernel, 232448 asked for by the launch); the device allows 232448; use smaller tiles");
    insta::assert_snapshot!(refusal("bounded", one().with_shared_mem_bytes(u32::MAX), |u| args![u].to_vec()), @"plan `p`, command 1 (launch of `bounded`): a block needs 4294983679 bytes of shared memory (16384 declared in the kernel, 4294967295 asked for by the launch); the device allows 232448; use smaller tiles");
}

/// `k` takes nothing; `fixed` is for clusters of two blocks; `newer` is only for newer devices.
fn clusters() -> Module {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n\
                .visible .entry fixed() .reqnctapercluster 2 { ret; }\n\
                .visible .entry few() .maxclusterrank 4 { ret; }\n.visible .entry newer() { ret; }\n\
                // cuda_std.generation sm_75 7.4\n// cuda_std.generation sm_80 7.4\n\
                // cuda_std.needs fixed sm_90 clusters\n// cuda_std.needs few sm_90 clusters\n\
                // cuda_std.needs newer sm_90\n";
    Module::new("clusters", text)
}

fn of_cluster(kernel: &str, config: LaunchConfig, capability: (u32, u32)) -> Result<(), Error> {
    let mut plan = Plan::new("p");
    plan.launch(kernel, config, args![]).unwrap();
    let limits = LaunchLimits {
        compute_capability: capability,
        ..LaunchLimits::SM_90
    };
    validate(&clusters(), &plan, &limits).map(|_| ())
}

#[test]
fn clusters_must_fit_grid_and_kernel() {
    let fault = |kernel: &str, config: LaunchConfig| {
        let error = of_cluster(kernel, config, (9, 0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Submission);
        error.to_string()
    };
    let grid = LaunchConfig::new((16, 6), 32);
    insta::assert_snapshot!(fault("k", grid.with_cluster((2, 4))), @"plan `p`, command 0 (launch of `k`): grid [16, 6, 1] is not a multiple of cluster [2, 4, 1]; round it up to a multiple of 4 blocks in y, and return early in the extra blocks");
    insta::assert_snapshot!(fault("k", grid.with_cluster((8, 2))), @"plan `p`, command 0 (launch of `k`): a cluster of [8, 2, 1] has 16 blocks; every device with clusters runs 8; ask for more with `with_non_portable_cluster`");
    insta::assert_snapshot!(fault("k", grid.with_non_portable_cluster((16, 2))), @"plan `p`, command 0 (launch of `k`): a cluster of [16, 2, 1] has 32 blocks; 16 is the most");
    insta::assert_snapshot!(fault("k", grid.with_cluster((u32::MAX, u32::MAX, u32::MAX))), @"plan `p`, command 0 (launch of `k`): a cluster of [4294967295, 4294967295, 4294967295] has 79228162458924105385300197375 blocks; every device with clusters runs 8; ask for more with `with_non_portable_cluster`");
    insta::assert_snapshot!(fault("fixed", grid.with_cluster(4)), @"plan `p`, command 0 (launch of `fixed`): the kernel was compiled for clusters of [2, 1, 1] blocks (`.reqnctapercluster`) and nothing else, not [4, 1, 1]");
    insta::assert_snapshot!(fault("few", grid.with_cluster(8)), @"plan `p`, command 0 (launch of `few`): a cluster of [8, 1, 1] has 8 blocks, but the kernel was compiled for at most 4 (`.maxclusterrank`)");
    for (kernel, config) in [
        ("k", grid.with_cluster((2, 3))),
        ("k", grid.with_cluster(8)),
        ("k", grid.with_non_portable_cluster(16)),
        ("fixed", grid),
        ("fixed", grid.with_cluster(2)),
        ("few", grid.with_cluster((2, 2))),
    ] {
        of_cluster(kernel, config, (9, 0)).unwrap();
        of_cluster(kernel, config, (12, 0)).unwrap();
    }
}

#[test]
fn an_old_device_lacks_clusters_and_newer_kernels() {
    let needs = |kernel: &str, config: LaunchConfig, capability| {
        let error = of_cluster(kernel, config, capability).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Needs);
        error.to_string()
    };
    let grid = LaunchConfig::new(4, 32);
    insta::assert_snapshot!(needs("newer", grid, (8, 6)), @"kernel `newer` needs compute capability 9.0 or newer; this device has 8.6");
    insta::assert_snapshot!(needs("k", grid.with_cluster(2), (8, 9)), @"kernel `k` in clusters of [2, 1, 1] blocks needs compute capability 9.0 or newer; this device has 8.9");
    insta::assert_snapshot!(needs("fixed", grid, (8, 0)), @"kernel `fixed` needs compute capability 9.0 or newer (clusters); this device has 8.0");
    of_cluster("k", grid, (8, 0)).unwrap();
    of_cluster("newer", grid, (9, 0)).unwrap();
    // A mistake on every device is a mistake here too.
    let wrong = of_cluster("newer", grid.with_cluster(3), (8, 6)).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Submission);
    insta::assert_snapshot!(of_cluster("knew", grid, (8, 6)).unwrap_err(), @"module `clusters` has no kernel `knew`; there are: k");
}

#[test]
fn a_device_runs_the_newest_module_that_it_can() {
    let module = clusters();
    let target = |capability| module.for_device(capability).target();
    assert_eq!(target((7, 0)), Some("sm_75"));
    assert_eq!(target((7, 5)), Some("sm_75"));
    assert_eq!(target((8, 9)), Some("sm_80"));
    assert_eq!(target((9, 0)), Some("sm_90"));
    assert_eq!(target((12, 0)), Some("sm_90"));
    let of = |name: &str| {
        let text = format!(".version 8.0\n.target {name}, debug\n.address_size 64\n");
        Module::new("m", text).capability()
    };
    assert_eq!(of("sm_90a"), Some((9, 0)));
    assert_eq!(of("sm_103f"), Some((10, 3)));
    assert_eq!(of("texmode_unified"), None);
}

#[test]
fn broken_ptx_is_a_submissions_fault() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(\n  .param .u32 n,\n)\n{ ret; }\n";
    let module = Module::new("broken", text);
    let mut plan = Plan::new("p");
    plan.launch("k", one(), args![1u32]).unwrap();
    let error = validate(&module, &plan, &LaunchLimits::SM_90).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    insta::assert_snapshot!(error, @"
    module `broken` is not PTX that can be run: 6:1: expected `.param` or `.reg`, found `)`
    6 | )
      | ^
    ");
}

#[test]
fn a_plan_without_launches_needs_no_kernels() {
    let empty = Module::new("empty", ".version 7.0\n.target sm_70\n.address_size 64\n");
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::U8, 1);
    plan.fill(u, 1).unwrap();
    validate(&empty, &plan, &LaunchLimits::SM_90).unwrap();
}

/// `takes` takes a slice and a number; `large` declares shared memory.
static TAKING: Module = Module::from_static(
    "taking",
    "
.version 7.8
.target sm_80
.address_size 64
.visible .entry takes(.param .u64 p, .param .u64 len, .param .u8 n) { ret; }
.visible .entry nothing() { ret; }
.visible .entry large(.param .u64 p)
{
    .shared .align 4 .b8 tile[40000];
    .shared .align 4 .b8 other[9153];
    .reg .b32 %r<2>;
    st.shared.b32 [tile], 0;
    st.shared.b32 [other], 0;
    ret;
}
",
);

/// The message about a launch of these, without its place.
fn said(
    kernel: &str,
    shared_mem_bytes: u32,
    args: impl FnOnce(plan::BufferId) -> Vec<Arg>,
) -> String {
    let config = one().with_shared_mem_bytes(shared_mem_bytes);
    let refusal = refusal_in(&TAKING, kernel, config, args);
    let (_, fault) = refusal.split_once("): ").unwrap();
    fault.to_owned()
}

#[test]
fn arguments_are_counted_as_they_are_written() {
    let takes = |args: fn(plan::BufferId) -> Vec<Arg>| said("takes", 0, args);
    insta::assert_snapshot!(takes(|_| vec![]), @"`args!` is empty, but the kernel has 3 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u.slice()].to_vec()), @"`args!` has 1 argument, which fills 2 of the kernel's 3 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u, 1u8].to_vec()), @"`args!` has 2 arguments, which fill 2 of the kernel's 3 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u.slice(), u.slice()].to_vec()), @"`args!` has 2 arguments, which fill 4, but the kernel has 3 parameters (a slice fills two)");
    insta::assert_snapshot!(said("nothing", 0, |u| args![u].to_vec()), @"`args!` has 1 argument, which fills 1, but the kernel has 0 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u.slice(), 1.0f32].to_vec()), @"argument 2 of `args!`, counted from 1, is f32, but the kernel takes an 8-bit integer there");
    insta::assert_snapshot!(takes(|u| args![1u64, u.slice()].to_vec()), @"argument 2 of `args!`, counted from 1, is a slice, whose length (u64) comes second, but the kernel takes an 8-bit integer there");
}

#[test]
fn static_shared_memory_has_a_limit_of_its_own() {
    for dynamic_bytes in [0, 1 << 10] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(said("large", dynamic_bytes, |u| args![u].to_vec()), @"the kernel has 49153 bytes of static shared memory, and may have 49152; take `shared::dynamic_shared_mem` and `with_shared_mem_bytes` for more than `shared_array!`s may have");
        }
    }
}
