//! The duties of every device, on a GPU: a real one, and one of the emulated driver. On a machine
//! with two, those of several devices.
#![cfg(target_os = "linux")]

mod gpu;
#[path = "../../device/tests/several/mod.rs"]
mod several;
#[macro_use]
#[path = "../../device/tests/suite/mod.rs"]
mod suite;

use device::Device;
use several::{
    blocks_go_and_come_back, graphs_have_the_results_of_streams, peers_are_read,
    slabs_have_the_results_of_one,
};
use test_support::on_emulated_driver;

mod on_cuda {
    duties!(super::gpu::device());
}

#[test]
fn a_gpu_of_the_emulated_driver() {
    // That one launches 33,000 kernels of 100,000 elements.
    let chosen = [
        "on_cuda::",
        "--skip=a_long_plan_with_independent_commands_repeats",
    ];
    on_emulated_driver(&chosen, 1);
}

#[test]
fn gpus_do_what_emulated_devices_do() {
    let Some(group) = gpu::group() else { return };
    peers_are_read(group);
    blocks_go_and_come_back(group);
    for devices in 1..=u64::from(group.count()) {
        slabs_have_the_results_of_one(group, devices);
        graphs_have_the_results_of_streams(group, devices);
    }
}

#[test]
fn a_group_on_the_emulated_driver() {
    on_emulated_driver(&["gpus_do_what_emulated_devices_do"], 3);
}
