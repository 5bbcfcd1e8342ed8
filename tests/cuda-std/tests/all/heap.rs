//! Collections on the device's heap, on the emulated device and a GPU.

use cuda_std_tests::{Launch, devices};
use device::Element;
use plan::{LaunchConfig, args};

#[test]
fn the_heap_serves_every_thread() {
    let mut launch = Launch::new();
    let out = launch.output("out", Element::U32, 64);
    launch.launch("heap", LaunchConfig::new(2, 32), args![out]);
    let expected: Vec<u32> = (0..64u32)
        .map(|i| i * (i + 1) / 2 * 1000 + format!("thread {i}").len() as u32)
        .collect();
    for device in devices() {
        let outputs = launch.run(device.as_ref());
        assert_eq!(outputs[0], expected.clone().into());
    }
}
