//! Memory of another device, with access to it and without, as two H200 with driver 580 answer.
//! Each program has a process of its own, with two devices.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint};
use std::process::Command;

use common::{Handle, KERNELS, allocate, arg, function, launch, module, stream};

const INSIDE: &str = "PEERS_TEST_INSIDE";

/// A context of a device, which is current then.
fn context_on(device: c_int) -> Handle {
    let mut context = 0;
    let made = cu!(cuCtxCreate_v2(&mut context => *mut Handle, 0 => u32, device => c_int));
    assert_eq!(made, 0);
    context
}

/// Memory of the first device in a pool, which the second may access or not.
fn pooled(is_allowed: bool) -> u64 {
    let (mut pool, mut address, stream) = (0, 0u64, stream(0));
    assert_eq!(
        cu!(cuDeviceGetDefaultMemPool(&mut pool => *mut Handle, 0 => c_int)),
        0
    );
    if is_allowed {
        let access: [c_int; 3] = [1, 1, 3];
        assert_eq!(
            cu!(cuMemPoolSetAccess(pool => Handle, &access => *const [c_int; 3], 1 => usize)),
            0
        );
    }
    assert_eq!(
        cu!(cuMemAllocAsync(&mut address => *mut u64, 128 => usize, stream => Handle)),
        0
    );
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    address
}

fn add_to(data: u64) -> c_int {
    let add = function(module(KERNELS), "add");
    assert_eq!(launch(add, 32, 0, &[arg(&data), arg(&1u32)]), 0);
    cu!(cuCtxSynchronize())
}

#[test]
fn inside() {
    let Ok(program) = std::env::var(INSIDE) else {
        return;
    };
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let first = context_on(0);
    let data = match program.as_str() {
        "a pool" => pooled(false),
        "a pool with access" => pooled(true),
        _ => allocate(128),
    };
    assert_eq!(
        cu!(cuMemsetD32_v2(data => u64, 1 => c_uint, 32 => usize)),
        0
    );
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    let (of_first, add) = (stream(0), function(module(KERNELS), "add"));
    match program.as_str() {
        "a kernel" | "a pool" => {
            context_on(1);
            let adds = function(module(KERNELS), "add");
            let launched = launch(adds, 32, stream(0), &[arg(&data), arg(&1u32)]);
            assert_eq!((launched, cu!(cuCtxSynchronize())), (700, 700));
            return;
        }
        "with access" => {
            context_on(1);
            assert_eq!(cu!(cuCtxEnablePeerAccess(first => Handle, 0 => c_uint)), 0);
            assert_eq!(
                cu!(cuMemsetD32_v2(data => u64, 1 => c_uint, 32 => usize)),
                0
            );
            assert_eq!(add_to(data), 0);
        }
        "a pool with access" => {
            context_on(1);
            assert_eq!(add_to(data), 0);
        }
        "the same device" => {
            context_on(0);
            assert_eq!(
                cu!(cuMemsetD32_v2(data => u64, 1 => c_uint, 32 => usize)),
                0
            );
            assert_eq!(add_to(data), 0);
        }
        "copies and fills" => {
            context_on(1);
            let (own, of_second) = (allocate(128), stream(0));
            let fill = |stream: Handle| cu!(cuMemsetD32Async(data => u64, 1 => c_uint, 32 => usize, stream => Handle));
            assert_eq!([fill(0), fill(of_second), fill(of_first)], [1, 1, 0]);
            assert_eq!(cu!(cuStreamSynchronize(of_first => Handle)), 0);
            assert_eq!(
                cu!(cuMemcpyDtoD_v2(own => u64, data => u64, 128 => usize)),
                0
            );
            assert_eq!(
                cu!(cuMemcpyDtoD_v2(data => u64, own => u64, 128 => usize)),
                0
            );
            assert_eq!(cu!(cuCtxSynchronize()), 0);
        }
        "a stream of another context" => {
            context_on(1);
            let other = function(module(KERNELS), "add");
            assert_eq!(launch(other, 32, of_first, &[arg(&data), arg(&1u32)]), 400);
            // The function of the stream's context may be launched from here.
            assert_eq!(launch(add, 32, of_first, &[arg(&data), arg(&1u32)]), 0);
            assert_eq!(cu!(cuStreamSynchronize(of_first => Handle)), 0);
        }
        other => panic!("no program {other}"),
    }
    let mut word = 0u32;
    assert_eq!(
        cu!(cuMemcpyDtoH_v2(&mut word => *mut u32, data => u64, 4 => usize)),
        0
    );
    assert_eq!(word, if program == "copies and fills" { 1 } else { 2 });
}

/// Runs a program; gives its message of that kind.
fn told(program: &str) -> String {
    let report = tempfile::NamedTempFile::new().unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "inside"])
        .env(INSIDE, program)
        .env("EMULATED_DRIVER_DEVICES", "2")
        .env("EMULATED_DRIVER_REPORT", report.path())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{program}: {ended:?}");
    let records = std::fs::read_to_string(report.path()).unwrap();
    let faults = records.lines().filter_map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        Some(record.get("kind")?.as_str()?.to_owned() + ": " + record["text"].as_str()?)
    });
    faults.collect()
}

#[test]
fn a_kernel_needs_access() {
    let message = told("a kernel");
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(
        lines[0],
        "memory of another device: memory of another device: kernel `add` on device 1 reads memory of device 0, to which it has no access"
    );
    assert!(
        lines[1].starts_with("  byte 0 of allocation 1, 128 bytes at 0x"),
        "{message}"
    );
    assert!(
        message.contains("call cudaDeviceEnablePeerAccess(0, 0) while device 1 is current"),
        "{message}"
    );
    assert!(told("a pool").contains("cudaMemPoolSetAccess"));
    for right in [
        "with access",
        "a pool with access",
        "the same device",
        "copies and fills",
        "a stream of another context",
    ] {
        assert_eq!(told(right), "", "{right}");
    }
}
