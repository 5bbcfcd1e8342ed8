//! Runs a kernel on the first GPU. The tests run the kernels without one.

use cuda_driver as _; // Opens the driver when the program runs. So it is built without one.
use cust::prelude::*;

/// The kernels, as `build.rs` has compiled them.
const KERNELS: &str = include_str!(env!("KERNELS_PTX"));

fn main() -> anyhow::Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Module::from_ptx(KERNELS, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let n = 1000;
    let x = DeviceBuffer::from_slice(&vec![1.5f32; n])?;
    let y = DeviceBuffer::from_slice(&vec![4.0f32; n])?;
    let (blocks, threads) = (n.div_ceil(256) as u32, 256);
    // SAFETY: the arguments are the kernel's parameters; a slice is a pointer and its length.
    unsafe {
        launch!(kernels.axpy<<<blocks, threads, 0, stream>>>(
            2.0f32,
            x.as_device_ptr(),
            x.len(),
            y.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;

    assert_eq!(y.as_host_vec()?, vec![7.0; n]);
    println!(
        "{n} elements are right on {}",
        Device::get_device(0)?.name()?
    );
    Ok(())
}
