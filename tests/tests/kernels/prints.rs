//! Text that kernels print.

use device::run::reset;
use device::{Device, EmulatedDevice, HostBuffer};
use insta::assert_snapshot;
use plan::{LaunchConfig, Plan, args};

use crate::scene::KERNELS;

/// The threads of a warp print together: first all of them the one text, then all the other.
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
    assert_snapshot!(printed.text, @r"
    thread 0: thread 1: thread 2: thread 3: 0.1 0.100000001   0.100|1.000000e-01,    0 0 false %
    1 1   1.000|1.000000e+00,   -1 ffffffff false %
    2.5 2.5   2.500|2.500000e+00,   -2 fffffffe true %
    -1e+10 -1e+10 -10000000000.000|-1.000000e+10,   -3 fffffffd false %
    thread 4: thread 5: nan nan     nan|nan,   -4 fffffffc false %
    1.67772e+07 16777216 16777216.000|1.677722e+07,   -5 fffffffb true %
    ");
    assert_eq!(device.take_printed().text, "");
}
