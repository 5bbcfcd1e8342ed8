//! Text that kernels print.

use device::run::reset;
use device::{Device, EmulatedDevice, HostBuffer};
use insta::assert_snapshot;
use plan::{LaunchConfig, Plan, args};

use crate::scene::KERNELS;

#[test]
fn threads_print_in_their_order() {
    let x = HostBuffer::from(vec![0.1f32, 1.0, 2.5, -1e10, f32::NAN, 16_777_217.0]);
    let mut plan = Plan::new("demo");
    let [input, out] = ["x", "out"].map(|name| plan.buffer(name, x.element(), x.len()));
    let launched = plan.launch("double", LaunchConfig::new(2, 4), args![input.slice(), out]);
    launched.unwrap();
    let device = EmulatedDevice::default().keeping_printed();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    reset(session.as_mut(), &plan, &vec![("x".to_owned(), x)]).unwrap();
    session.run().unwrap();
    let printed = device.take_printed();
    assert!(!printed.is_cut);
    assert_snapshot!(printed.text, @"");
    assert_eq!(device.take_printed().text, "");
}
