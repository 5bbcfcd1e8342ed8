//! Records a plan, and runs it on the first GPU, or without one on the emulated device.

use device::run::{outputs, reset};
use device::{Device, Element, EmulatedDevice, Module};
use plan::{LaunchConfig, Plan, args};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = 1000;
    let mut plan = Plan::new("axpy");
    let x = plan.buffer("x", Element::F32, n);
    let y = plan.buffer("y", Element::F32, n);
    let config = LaunchConfig::covering(n as u32, 256)?;
    plan.launch("axpy", config, args![2.0f32, x.slice(), y])?;
    plan.output("y", y);

    let device: Box<dyn Device> = match device::discover() {
        Ok(gpus) if !gpus.is_empty() => gpus.into_iter().next().unwrap(),
        _ => Box::new(EmulatedDevice::default()),
    };
    let module = Module::new("kernels", include_str!(env!("KERNELS_PTX")));
    let mut session = device.prepare(&module, &plan)?;
    let inputs = vec![
        ("x".to_owned(), vec![1.5f32; n].into()),
        ("y".to_owned(), vec![4.0f32; n].into()),
    ];
    reset(session.as_mut(), &plan, &inputs)?;
    session.run()?;
    assert_eq!(
        outputs(session.as_mut(), &plan)?[0].1,
        vec![7.0f32; n].into()
    );
    println!("{}: right", device.info().name);
    Ok(())
}
