//! Runs one kernel on the emulated device and on each GPU, and checks the result.
//!
//! `cargo run -p axpy` prints a line for each device.

use device::run::{outputs, reset};
use device::{Device, EmulatedDevice, Error, Module, discover};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

const N: u32 = 1000;

/// Records one launch: buffers, the kernel's name, the launch shape, the arguments.
fn axpy() -> Result<Plan, PlanError> {
    let mut plan = Plan::new("axpy");
    let x = plan.buffer("x", Element::F32, N as usize);
    let y = plan.buffer("y", Element::F32, N as usize);
    let config = LaunchConfig::covering(N, 256)?;
    plan.launch("axpy", config, args![2.0f32, x.slice(), y])?;
    plan.output("y", y);
    Ok(plan)
}

/// Runs the plan with x = 0, 1, 2, ... and y = 1; the result is 1, 3, 5, ...
fn check(device: &dyn Device) -> Result<(), Error> {
    let module = Module::new("axpy", include_str!(env!("AXPY_PTX")));
    let plan = axpy()?;
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let expected: Vec<f32> = x.iter().map(|x| 2.0 * x + 1.0).collect();
    let inputs = vec![
        ("x".to_owned(), x.into()),
        ("y".to_owned(), vec![1.0f32; N as usize].into()),
    ];

    let mut session = device.prepare(&module, &plan)?;
    reset(session.as_mut(), &plan, &inputs)?;
    session.run()?;
    assert_eq!(outputs(session.as_mut(), &plan)?[0].1, expected.into());
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(EmulatedDevice::default())];
    devices.extend(discover().unwrap_or_default());
    for device in devices {
        check(device.as_ref())?;
        println!("{N} elements are right on {}", device.info().name);
    }
    Ok(())
}

#[test]
fn the_result_is_right_on_the_emulated_device() {
    check(&EmulatedDevice::default()).unwrap();
}
