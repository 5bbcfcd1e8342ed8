//! Launches.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use crate::call::get;
use crate::code::Outcome;
use crate::driver::{queue, with};
use crate::objects::Handle;
use crate::objects::launch::Shape;
use crate::objects::work::Work;

/// `CUlaunchConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    pub(crate) stream: Handle,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Attribute {
    id: c_int,
    pad: c_int,
    value: [c_uint; 16],
}

impl Config {
    /// The shape that it asks for. Attributes that only make a launch faster are left out.
    ///
    /// # Safety
    ///
    /// There are as many attributes as it says.
    pub(crate) unsafe fn shape(&self) -> Outcome<Shape> {
        const COOPERATIVE: c_int = 2;
        const CLUSTER: c_int = 4;
        let mut shape = Shape::new(self.grid, self.block, self.shared_bytes);
        for index in 0..self.attribute_count as usize {
            // SAFETY: the caller promises it.
            let attribute = unsafe { get(self.attributes.add(index)) }?;
            let [x, y, z, ..] = attribute.value;
            match attribute.id {
                COOPERATIVE => shape.is_cooperative = x != 0,
                CLUSTER => shape.config.cluster = [x.max(1), y.max(1), z.max(1)],
                _ => {}
            }
        }
        Ok(shape)
    }
}

/// Enqueues a launch.
///
/// # Safety
///
/// As [`Driver::prepare`](crate::driver::Driver::prepare).
pub(crate) unsafe fn launch(
    function: Handle,
    shape: Shape,
    stream: Handle,
    parameters: *const *const c_void,
    extra: *const *const c_void,
) -> Outcome {
    let launch = with(|driver| {
        let key = driver.stream(stream)?;
        if let Some(code) = driver.context(key.context)?.fault {
            return Err(code);
        }
        driver.check_context_of(function, key)?;
        // SAFETY: the caller promises it.
        unsafe { driver.prepare(function, shape, key.context, parameters, extra) }
    })?;
    queue::submit(stream, Work::Launch(Arc::new(launch)))
}

driver_api! {
    fn cuLaunchKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *const *const c_void, extra: *const *const c_void) {
        launch(function, Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes), stream, parameters, extra)
    }
    fn cuLaunchCooperativeKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *const *const c_void) {
        let shape = Shape { is_cooperative: true, ..Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes) };
        launch(function, shape, stream, parameters, std::ptr::null())
    }
    fn cuLaunchKernelEx(config: *const Config, function: Handle, parameters: *const *const c_void, extra: *const *const c_void) {
        let config = get(config)?;
        let shape = config.shape()?;
        launch(function, shape, config.stream, parameters, extra)
    }
}
