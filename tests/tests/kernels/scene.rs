//! Launches on the emulated device, with every check on.

use device::run::reset;
use device::{Device, Element, Error, HostBuffer, Module, NamedBuffers, Scalar};
use device::{EmulatedDevice, KernelReport, Options, Schedule};
use plan::{Arg, BufferId, LaunchConfig, Plan};

use crate::message::kind;

/// The kernels, compiled by the build script.
pub static KERNELS: Module =
    Module::from_static("bad_kernels", include_str!(env!("BAD_KERNELS_PTX")));

/// The kernels, compiled so that a panic says which it is.
pub static WITH_MESSAGES: Module = Module::from_static(
    "bad_kernels",
    include_str!(env!("BAD_KERNELS_WITH_MESSAGES_PTX")),
);

/// Warp instructions of a block: more than any of these kernels needs.
const FUEL: u64 = 200_000;

/// Buffers with their contents, and launches.
pub struct Scene {
    module: &'static Module,
    plan: Plan,
    inputs: NamedBuffers,
}

impl Scene {
    /// A scene for the kernels of `bad-kernels`.
    pub fn new() -> Scene {
        Scene::of(&KERNELS)
    }

    pub fn of(module: &'static Module) -> Scene {
        Scene {
            module,
            plan: Plan::new("demo"),
            inputs: Vec::new(),
        }
    }

    /// A buffer with these values.
    pub fn input<T: Scalar>(&mut self, name: &str, values: &[T]) -> BufferId
    where
        HostBuffer: From<Vec<T>>,
    {
        let buffer = HostBuffer::from(values.to_vec());
        let id = self.plan.buffer(name, buffer.element(), buffer.len());
        self.inputs.push((name.to_owned(), buffer));
        id
    }

    /// A buffer that kernels must write before they read it.
    pub fn scratch(&mut self, name: &str, element: Element, len: usize) -> BufferId {
        self.plan.scratch(name, element, len)
    }

    pub fn launch(
        &mut self,
        kernel: &str,
        config: LaunchConfig,
        args: impl IntoIterator<Item = Arg>,
    ) {
        self.plan
            .launch(kernel, config, args)
            .expect("a launch that can be recorded");
    }

    /// Runs the launches and reads `result`, which must not depend on the order of blocks and
    /// warps.
    pub fn run<T: Scalar + PartialEq>(&self, result: BufferId) -> Result<Vec<T>, Error> {
        let mut results = self.run_in_any_order(result)?;
        let first = results.swap_remove(0);
        assert!(results.iter().all(|other| *other == first));
        Ok(first)
    }

    /// Runs with blocks and warps in order of their index, then in some random orders, then with
    /// two blocks at a time. It reads `result` each time. Whether there is a fault must not depend
    /// on the order. With one block at a time, its kind must not depend on the order either.
    pub fn run_in_any_order<T: Scalar>(&self, result: BufferId) -> Result<Vec<Vec<T>>, Error> {
        let in_order = self.run_in(Schedule::InOrder, 1);
        let fault = in_order.as_ref().err().map(kind);
        let mut others = Vec::new();
        for seed in 1..4 {
            let run = self.run_in(Schedule::Random { seed }, 1);
            assert_eq!(run.as_ref().err().map(kind), fault, "seed {seed}");
            others.extend(run.ok());
        }
        let parallel = self.run_in(Schedule::InOrder, 2);
        assert_eq!(parallel.is_err(), fault.is_some());
        others.extend(parallel.ok());
        let values = |(buffers, _): (Vec<HostBuffer>, KernelReport)| {
            let buffer = buffers[result.index()].as_slice();
            buffer.expect("the buffer's type").to_vec()
        };
        Ok([in_order?].into_iter().chain(others).map(values).collect())
    }

    /// The counts of the launches of the only kernel.
    pub fn report(&self) -> KernelReport {
        match self.run_in(Schedule::InOrder, 1) {
            Ok((_, report)) => report,
            Err(error) => panic!("{error}"),
        }
    }

    fn run_in(
        &self,
        schedule: Schedule,
        threads: usize,
    ) -> Result<(Vec<HostBuffer>, KernelReport), Error> {
        let device = EmulatedDevice::new(Options {
            schedule,
            fuel: FUEL,
            threads,
            ..Options::default()
        });
        let mut session = device.prepare(self.module, &self.plan)?;
        reset(session.as_mut(), &self.plan, &self.inputs)?;
        session.run()?;
        let buffers = self
            .plan
            .buffer_ids()
            .map(|id| session.read(id))
            .collect::<Result<_, _>>()?;
        Ok((buffers, session.reports()[0].clone()))
    }
}

/// 0, 1, 2, ...
pub fn ramp(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32).collect()
}

/// 0, 1, 4, 9, ...
pub fn squares(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i * i) as f32).collect()
}
