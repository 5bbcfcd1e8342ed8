//! Launches that are refused.

use insta::assert_snapshot;
use ptx_emu::{Machine, Undo};

use crate::common::{Launch, launch, one_block};

#[test]
fn impossible_launches() {
    let message = |change: &dyn Fn(&mut Launch)| {
        let mut kernel = launch("");
        change(&mut kernel);
        kernel.fault()
    };
    assert_snapshot!(message(&|k| k.config.block = [1025, 1, 1]), @"launch of `k`: block [1025, 1, 1] exceeds the device's limit [1024, 1024, 64] in x");
    assert_snapshot!(message(&|k| k.config.block = [32, 33, 1]), @"launch of `k`: a block of [32, 33, 1] has 1056 threads; the device allows 1024");
    assert_snapshot!(message(&|k| k.config.block = [1, 1, 65]), @"launch of `k`: block [1, 1, 65] exceeds the device's limit [1024, 1024, 64] in z");
    assert_snapshot!(message(&|k| k.config.grid = [1, 65536, 1]), @"launch of `k`: grid [1, 65536, 1] exceeds the device's limit [2147483647, 65535, 65535] in y");
    assert_snapshot!(message(&|k| k.config.grid = [1, 0, 1]), @"launch of `k`: the grid is [1, 0, 1]: no dimension may be 0");
    assert_snapshot!(message(&|k| k.config.grid = [1 << 20, 1 << 15, 1]), @"a grid of (1048576, 32768, 1) blocks; at most 4294967294 can be run");
    assert_snapshot!(message(&|k| k.config.shared_mem_bytes = 228 << 10), @"launch of `k`: a block needs 233472 bytes of shared memory (0 declared in the kernel, 233472 asked for by the launch); the device allows 232448; use smaller tiles");
    assert_snapshot!(launch(".shared .b8 big[50000];\nst.shared.u8 [big], 0;").fault(), @r"
    launch of `k`: the kernel has 50000 bytes of static shared memory, and may have 49152; take dynamic shared memory (`extern __shared__`) for more
    ");
}

#[test]
fn a_frame_beyond_local_memory() {
    let body = |bytes: u32| format!(".local .align 4 .b8 array[{bytes}];");
    assert_snapshot!(launch(&body(800_000)).fault(), @"kernel `k` needs 800000 bytes of local memory per thread, for arrays and variables that do not fit in registers; the device allows 524288");
    launch(&body(512 << 10)).report();
}

#[test]
fn launches_of_what_does_not_exist() {
    let text = launch("").text();
    let mut machine = Machine::default();
    let module = machine
        .load(ptx_emu::Executable::parse(&text).expect("valid"))
        .expect("it fits");
    let config = one_block(1);
    let fault = machine
        .launch(&module, "wave", &config, [0; 0])
        .expect_err("no such kernel");
    assert_snapshot!(fault.to_string(), @"the module has no kernel `wave`; it has `k`");
    let too_few = machine
        .launch(&module, "k", &config, [0; 16])
        .expect_err("too few bytes");
    assert_snapshot!(too_few.to_string(), @"kernel `k` takes 20 bytes of parameters, 16 were given");
    let foreign = Machine::default()
        .launch(&module, "k", &config, [0; 20])
        .expect_err("foreign");
    assert_snapshot!(foreign.to_string(), @"the module was not loaded by this machine");
    let full = machine.allocate(1 << 40, "huge").expect_err("too large");
    assert_snapshot!(full.to_string(), @"cannot allocate 1099511627776 bytes for `huge`: 0 of 17179869184 bytes are in use");
    let copy = machine.write(0x1000, &[0; 4]).expect_err("no buffer there");
    assert_snapshot!(copy.to_string(), @"a copy of 4 bytes at address 0x1000 does not lie in one buffer");
}

#[test]
fn block_shapes_that_the_kernel_asks_for() {
    let text = |directive: &str| {
        launch("").text().replacen(
            "in, .param .u32 n)",
            &format!("in, .param .u32 n)\n{directive}"),
            1,
        )
    };
    let fault = |directive: &str| {
        let mut machine = Machine::default();
        let program = ptx_emu::Executable::parse(&text(directive)).expect("valid");
        let module = machine.load(program).expect("it fits");
        let config = one_block(64);
        machine
            .launch(&module, "k", &config, [0; 20])
            .map(|_| ())
            .map_err(|f| f.to_string())
    };
    assert_snapshot!(fault(".maxntid 32, 1, 1").expect_err("too many"), @"launch of `k`: a block of [64, 1, 1] has 64 threads, but the kernel was compiled for at most 32; launch smaller blocks, or raise `__launch_bounds__` (`.maxntid` in PTX)");
    assert_snapshot!(fault(".reqntid 32, 2, 1").expect_err("another shape"), @"launch of `k`: the kernel was compiled for blocks of [32, 2, 1] (`.reqntid`) and nothing else, not [64, 1, 1]");
    assert_eq!(fault(".maxntid 64, 1, 1"), Ok(()));
    assert_eq!(fault(".reqntid 64, 1, 1"), Ok(()));
}

/// Each thread stores to a word of its own, and then comes a fault.
#[test]
fn a_fault_leaves_memory_as_it_was_if_asked_to() {
    let racing = ("st.global.u32 [%rd1], %r2;", "race in global memory");
    let trapping = ("bar.sync 0;\ntrap;", "trap: the kernel executed `trap`");
    for (undo, (ending, text), is_undone) in [
        (Undo::Never, racing, false),
        (Undo::Unnoticed, racing, true),
        (Undo::Always, racing, true),
        // A GPU stops there.
        (Undo::Never, trapping, false),
        (Undo::Unnoticed, trapping, false),
        (Undo::Always, trapping, true),
    ] {
        let body = format!("st.global.u32 [%rd3+4], 7;\n{ending}");
        let mut kernel = launch(&body).block(64).out_words(65);
        kernel.options.undo = undo;
        let mut machine = Machine::new(kernel.limits.clone(), kernel.options.clone());
        let outcome = kernel.run_on(&mut machine);
        let fault = outcome.result.expect_err("a fault").to_string();
        assert!(fault.starts_with(text), "{fault}");
        let stored = if is_undone { 0 } else { 7 };
        assert_eq!(
            (outcome.out[1], machine.is_undone()),
            (stored, is_undone),
            "{undo:?}"
        );
    }
}

#[test]
fn a_launch_without_a_fault_is_kept() {
    let mut kernel = launch("st.global.u32 [%rd1], 7;");
    kernel.options.undo = Undo::Always;
    let mut machine = Machine::new(kernel.limits.clone(), kernel.options.clone());
    assert_eq!(kernel.run_on(&mut machine).out[0], 7);
    assert!(!machine.is_undone());
}
