//! Launches of `std-kernels`, and of the documentation's examples, on every device there is.

use cuda::CudaDevice;
use device::run::{outputs, reset};
use device::{
    Device, DeviceError, Element, EmulatedDevice, Error, HostBuffer, Module, NamedBuffers, Order,
    Preparation, Session,
};
use plan::{Arg, BufferId, LaunchConfig, Plan};
use test_support::{Need, skip};

/// The kernels.
pub static KERNELS: Module =
    Module::from_static("std_kernels", include_str!(env!("STD_KERNELS_PTX")));

/// The examples of the documentation.
pub static EXAMPLES: Module =
    Module::from_static("std_examples", include_str!(env!("STD_EXAMPLES_PTX")));

/// The kernels without `llc`'s optimisations.
pub static UNOPTIMISED: Module =
    Module::from_static("std_kernels", include_str!(env!("STD_KERNELS_UNOPTIMISED")));

/// The kernels of the level that the variable `STD_KERNELS_LEVEL` names: 0, or 3, which is the
/// default.
fn kernels() -> &'static Module {
    match std::env::var("STD_KERNELS_LEVEL").as_deref() {
        Ok("0") => &UNOPTIMISED,
        Ok("3") | Err(_) => &KERNELS,
        Ok(other) => panic!("STD_KERNELS_LEVEL is 0 or 3, and not {other}"),
    }
}

/// One launch: its buffers and the kernel's other arguments.
pub struct Launch {
    module: &'static Module,
    plan: Plan,
    inputs: NamedBuffers,
}

impl Launch {
    /// A launch of one of the kernels of the level that is tested, without buffers.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::of(kernels())
    }

    /// A launch of a kernel of this module, without buffers.
    pub fn of(module: &'static Module) -> Self {
        Self {
            module,
            plan: Plan::new("cuda-std"),
            inputs: Vec::new(),
        }
    }

    /// A buffer with these values.
    pub fn input(&mut self, name: &str, values: impl Into<HostBuffer>) -> BufferId {
        let values = values.into();
        let buffer = self.plan.buffer(name, values.element(), values.len());
        self.inputs.push((name.to_owned(), values));
        buffer
    }

    /// A buffer that the kernel writes, and that [`Launch::run`] reads.
    pub fn output(&mut self, name: &str, element: Element, len: usize) -> BufferId {
        let buffer = self.plan.buffer(name, element, len);
        self.plan.output(name, buffer);
        buffer
    }

    /// A buffer with these values, which [`Launch::run`] reads afterwards.
    pub fn updated(&mut self, name: &str, values: impl Into<HostBuffer>) -> BufferId {
        let buffer = self.input(name, values);
        self.plan.output(name, buffer);
        buffer
    }

    /// Launches `kernel`.
    ///
    /// # Panics
    /// If the arguments are not the kernel's.
    pub fn launch(
        &mut self,
        kernel: &str,
        config: LaunchConfig,
        args: impl IntoIterator<Item = Arg>,
    ) {
        let recorded = self.plan.launch(kernel, config, args);
        recorded.unwrap_or_else(|error| panic!("{error}"));
    }

    /// The outputs on this device.
    ///
    /// # Errors
    /// The device's.
    pub fn try_run(&self, device: &dyn Device) -> Result<Vec<HostBuffer>, Error> {
        self.try_run_of(self.module, device)
    }

    /// The outputs on this device, with threads in this order.
    ///
    /// # Errors
    /// The device's.
    pub fn try_run_in(&self, device: &dyn Device, order: Order) -> Result<Vec<HostBuffer>, Error> {
        let how = Preparation::default().in_order(order);
        self.outputs_of(device.prepare_as(self.module, &self.plan, &how)?)
    }

    /// The outputs of the kernels in `module` on this device.
    ///
    /// # Errors
    /// The device's.
    pub fn try_run_of(
        &self,
        module: &Module,
        device: &dyn Device,
    ) -> Result<Vec<HostBuffer>, Error> {
        self.outputs_of(device.prepare(module, &self.plan)?)
    }

    fn outputs_of(&self, mut session: Box<dyn Session + '_>) -> Result<Vec<HostBuffer>, Error> {
        reset(session.as_mut(), &self.plan, &self.inputs)?;
        session.run()?;
        let outputs = outputs(session.as_mut(), &self.plan)?;
        Ok(outputs.into_iter().map(|(_, buffer)| buffer).collect())
    }

    /// The outputs on this device.
    ///
    /// # Panics
    /// If the launch fails.
    pub fn run(&self, device: &dyn Device) -> Vec<HostBuffer> {
        let outputs = self.try_run(device);
        outputs.unwrap_or_else(|error| panic!("{}: {error}", device.info().name))
    }
}

/// The emulated device, and the first GPU if there is one.
///
/// # Panics
/// If a GPU cannot be opened, or `REQUIRE_GPU` is set and there is none.
pub fn devices() -> Vec<Box<dyn Device>> {
    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(EmulatedDevice::default())];
    match CudaDevice::open(0) {
        Ok(device) => devices.push(Box::new(device)),
        Err(DeviceError::NoDevice { .. }) => skip(Need::Gpu, "no CUDA device"),
        Err(error) => panic!("{error}"),
    }
    devices
}
