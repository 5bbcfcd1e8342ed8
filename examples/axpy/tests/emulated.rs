//! The kernels on the emulated device, with every check and without a GPU.

use ptx_emu::{Executable, LaunchConfig, Machine, args};

/// The kernels, as `build.rs` has compiled them.
const KERNELS: &str = include_str!(env!("KERNELS_PTX"));

#[test]
fn axpy_adds() -> anyhow::Result<()> {
    let mut machine = Machine::default();
    let kernels = machine.load(Executable::parse(KERNELS)?)?;
    let x = machine.buffer(&[1.0f32, 2.0, 3.0])?;
    let y = machine.buffer(&[0.5f32; 3])?;
    let config = LaunchConfig::new([1], [256]);
    machine.launch(&kernels, "axpy", &config, args![2.0f32, x.slice(), &y])?;
    assert_eq!(y.to_vec(&machine)?, [2.5, 4.5, 6.5]);
    Ok(())
}

#[test]
fn block_sums_adds_the_elements_of_each_block() -> anyhow::Result<()> {
    let mut machine = Machine::default();
    let kernels = machine.load(Executable::parse(KERNELS)?)?;
    let x = machine.buffer(&[1.0f32; 1000])?;
    let sums = machine.uninitialized::<f32>(4)?;
    let config = LaunchConfig::new([4], [256]);
    machine.launch(&kernels, "block_sums", &config, args![x.slice(), &sums])?;
    assert_eq!(sums.to_vec(&machine)?, [256.0, 256.0, 256.0, 232.0]);
    Ok(())
}
