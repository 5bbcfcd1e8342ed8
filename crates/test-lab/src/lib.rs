//! A lab and a device for unit tests. Each step of the lab doubles every number and adds one.

pub mod ptx;

use std::fmt::{Display, Formatter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use device::{
    CheckError, Device, DeviceInfo, DeviceKind, Element, Error, HostBuffer, KernelInfo, Launching,
    Module, NamedBuffers, Session, Timing, check,
};
use device::{DeviceError, DriverError, Preparation, Segments, Spills, TimedSession};
use lab::{
    Cpu, Lab, LabCase, Lattice, Parameter, Running, Series, Variant, View, Work, boxed, downcast,
};
use plan::{BufferId, LaunchConfig, Plan, args};
use plan::{Command, PlanError};
use select::devices::Machine;
use terminal::progress::{NoProgress, Progress};

/// The only lab.
pub fn labs() -> Vec<&'static Lab> {
    vec![&DOUBLING]
}

/// A machine with one GPU.
pub fn machine() -> Machine {
    Machine::new(vec![(DeviceKind::Cuda, Ok(vec![device()]))])
}

/// A machine with these GPUs: names and compute capabilities.
pub fn machine_with(gpus: &[(&str, (u32, u32))]) -> Machine {
    Machine::new(vec![(DeviceKind::Cuda, Ok(self::gpus(gpus)))])
}

/// These GPUs: names and compute capabilities.
pub fn gpus(gpus: &[(&str, (u32, u32))]) -> Vec<Box<dyn Device>> {
    let gpu = |(ordinal, (name, capability)): (usize, &(&str, (u32, u32)))| {
        let mut gpu = Adder::new();
        gpu.info.name = (*name).to_owned();
        gpu.info.compute_capability = Some(*capability);
        gpu.info.ordinal = ordinal as u32;
        Box::new(gpu) as Box<dyn Device>
    };
    gpus.iter().enumerate().map(gpu).collect()
}

/// The GPU of [`machine`].
pub fn device() -> Box<dyn Device> {
    Box::new(Adder::new())
}

/// A machine with none.
pub fn machine_without_gpu() -> Machine {
    Machine::new(vec![(DeviceKind::Cuda, Err(no_device()))])
}

/// Why it has none.
pub fn no_device() -> DeviceError {
    DeviceError::NoDevice {
        reason: "libcuda.so.1 not found".to_owned(),
    }
}

/// The lab.
pub static DOUBLING: LazyLock<Lab> = LazyLock::new(|| doubling(variants()));

/// The lab in a copy of the course without solutions.
pub static BARE: LazyLock<Lab> = LazyLock::new(|| doubling(Vec::new()));

static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| {
    Arc::new(Module::new(
        "doubling",
        ".version 6.0\n.target sm_50\n.address_size 64\n",
    ))
});

const PARAMETERS: [Parameter; 2] = [
    Parameter::new("n", "numbers, 1 or more", "8"),
    Parameter::steps("steps", "steps, 0 or more", "3"),
];

fn doubling(variants: Vec<Variant>) -> Lab {
    Lab {
        name: "doubling",
        summary: "doubles numbers",
        parameters: &PARAMETERS,
        outputs: &["x"],
        rounds: true,
        seed_bits: 64,
        module: Arc::clone(&MODULE),
        variants,
        extents: &["n"],
        least_extent: 1,
        series: Series::USUAL,
        of_extent: |n| Ok(Box::new(numbers(n as usize, 1))),
        from_values: |values| Ok(Box::new(numbers(values.get("n")?, values.get("steps")?))),
        check_seedable: |_| Ok(()),
        running: Some(Running::in_chunks(
            "doubles numbers",
            "lengths in numbers and times in steps",
        )),
        small: || boxed([numbers(1, 0), numbers(8, 3)]),
        laptop: || boxed([numbers(100, 10)]),
        large: || boxed([numbers(1000, 20)]),
    }
}

fn variants() -> Vec<Variant> {
    // Up to four steps per launch, three wrong or bad ways, and one that takes long.
    let shapes = ["x2", "x1", "wrong", "small", "trap", "slow", "x4"]
        .map(|label| twofold(&format!("twofold@{label}"), ""));
    let mut tuned = twofold("twofold", "two steps a launch");
    tuned.shapes = shapes.into();
    vec![
        variant("naive", "one launch a step"),
        tuned,
        variant("off-by-one", "wrong in its last element"),
        variant("late", "wrong in its 590th step alone"),
        variant("close", "another highest bit, which is allowed").reordered(),
        variant("not-close", "another second-highest bit, which is not").reordered(),
        variant("trapping", "traps"),
        variant("fused", "adds three, which fused arithmetic does")
            .fused()
            .on_request(),
        variant("late-fused", "the same, wrong in its 590th step alone")
            .fused()
            .on_request(),
        variant("whole", "has no plans of parts")
            .without_parts()
            .on_request(),
        variant("late-whole", "the same, wrong in its 590th step alone")
            .without_parts()
            .on_request(),
        variant("hungry", "needs more memory than there is").on_request(),
        variant("newer", "needs a newer device").on_request(),
    ]
}

fn variant(name: &str, summary: &'static str) -> Variant {
    let own = name.to_owned();
    Variant::recorded(name, summary, Arc::clone(&MODULE), move |case, _| {
        downcast::<Numbers>(&own, case).record(&own)
    })
}

fn twofold(name: &str, summary: &'static str) -> Variant {
    let bytes = |case: &Numbers| case.work().bytes / 2;
    variant(name, summary).moving(bytes)
}

/// A case.
#[derive(Debug, Clone)]
pub struct Numbers {
    n: usize,
    steps: u64,
}

fn numbers(n: usize, steps: u64) -> Numbers {
    Numbers { n, steps }
}

impl Numbers {
    /// Records the plan of a variant, in a shape or as it is.
    fn record(&self, name: &str) -> Result<Plan, Error> {
        let (variant, shape) = match name.split_once(lab::SHAPE) {
            Some((variant, shape)) => (variant, Some(shape)),
            None => (name, None),
        };
        let mut plan = Plan::new(variant);
        let x = plan.buffer("x", Element::U32, self.n);
        plan.output("x", x);
        let (kernel, of_launch) = match (variant, shape) {
            ("twofold", None | Some("x2")) => ("twofold", 2),
            (_, Some("x4")) => ("fourfold", 4),
            (_, Some("wrong")) => ("off-by-one", self.steps.max(1)),
            (_, Some("trap")) => ("trapping", 1),
            (variant, None) => (variant, 1),
            _ => ("naive", 1),
        };
        if shape == Some("small") && self.n > 50 {
            return Err(PlanError::unsupported("it takes at most 50 numbers").into());
        }
        let mut launch = |entry: &str, times: u64| -> Result<(), Error> {
            for _ in 0..times {
                if shape == Some("slow") {
                    for _ in 0..9 {
                        plan.fill(x, 0)?;
                    }
                }
                plan.launch(entry, LaunchConfig::new(1, 1), args![x])?;
            }
            Ok(())
        };
        launch(kernel, self.steps / of_launch)?;
        launch("naive", self.steps % of_launch)?;
        Ok(plan)
    }
}

impl Display for Numbers {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} numbers, {} steps", self.n, self.steps)
    }
}

impl LabCase for Numbers {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::json!({ "n": self.n, "steps": self.steps })
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let x: Vec<u32> = (0..self.n as u32).collect();
        Ok(vec![("x".to_owned(), x.into())])
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        _: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let mut x = inputs.clone();
        for step in 0..self.steps {
            double(x[0].1.as_mut_slice()?);
            progress.update(step + 1, self.steps);
        }
        Ok(x)
    }

    fn work(&self) -> Work {
        let updates = self.n as u64 * self.steps;
        Work {
            updates,
            unit: "doublings",
            bytes: 8 * updates,
            flops: 2 * updates,
        }
    }

    /// In 10 ms a step.
    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        *buffers = self.reference_from(buffers, cpu, progress)?;
        Ok(Duration::from_millis(10 * self.steps))
    }

    fn view(&self) -> Option<View> {
        Some(View {
            lattice: Lattice::new("x", vec![("x", self.n as u64)], 0.0, 1.0),
            timestep: 1.0,
            slice: None,
            line: None,
        })
    }

    fn timesteps(&self) -> Option<u64> {
        Some(self.steps)
    }

    fn part(&self, _first: u32, steps: u32) -> Option<Box<dyn LabCase>> {
        Some(Box::new(numbers(self.n, steps.into())))
    }

    /// The highest bits may be others. As for an oracle, that takes inputs from which the expected
    /// outputs follow.
    fn check_reordered(
        &self,
        inputs: &NamedBuffers,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<Result<(), CheckError>, Error> {
        let oracle = self.reference_from(inputs, Cpu::Serial, &NoProgress)?;
        assert_eq!(&oracle, expected, "inputs of another part");
        let mut nearest = oracle;
        let near = nearest[0].1.as_mut_slice::<u32>()?;
        for (value, right) in near.iter_mut().zip(got[0].1.as_slice::<u32>()?) {
            *value ^= (*value ^ right) & HIGHEST_BIT;
        }
        Ok(check::exact(&nearest, got))
    }

    /// Doubles, and adds three.
    fn fused_reference(&self, inputs: &NamedBuffers) -> Result<Option<NamedBuffers>, Error> {
        let mut x = inputs.clone();
        for _ in 0..self.steps {
            double(x[0].1.as_mut_slice()?);
            fuse(x[0].1.as_mut_slice()?);
        }
        Ok(Some(x))
    }

    fn locate(&self, _: &str, index: usize) -> Option<String> {
        Some(format!("number {index}"))
    }
}

const HIGHEST_BIT: u32 = 1 << 31;

fn double(x: &mut [u32]) {
    for value in x {
        *value = value.wrapping_mul(2).wrapping_add(1);
    }
}

fn fuse(x: &mut [u32]) {
    for value in x {
        *value = value.wrapping_add(2);
    }
}

/// A device that knows the lab's kernels, and takes 1 ms for each.
pub struct Adder {
    info: DeviceInfo,
    is_lost: AtomicBool,
}

impl Adder {
    fn new() -> Adder {
        Adder {
            info: DeviceInfo {
                compute_capability: Some((9, 0)),
                multiprocessors: Some(132),
                memory_bytes: Some(80 << 30),
                l2_bytes: Some(50 << 20),
                clock_khz: Some(1_980_000),
                memory_clock_khz: Some(2_619_000),
                memory_bus_bits: Some(5120),
                driver_cuda: Some((13, 0)),
                ..DeviceInfo::new(DeviceKind::Cuda, "Adder 9000")
            },
            is_lost: AtomicBool::new(false),
        }
    }
}

impl Device for Adder {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare_as<'d>(
        &'d self,
        _: &Module,
        plan: &Plan,
        _: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        plan.check()?;
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(DeviceError::Lost {
                cause: "a kernel trapped".to_owned(),
            }
            .into());
        }
        if plan.name() == "hungry" {
            return Err(DeviceError::OutOfMemory {
                plan: plan.name().to_owned(),
                needed_bytes: 100 << 30,
                device: self.info.name.clone(),
                free_bytes: 79 << 30,
                total_bytes: 80 << 30,
            }
            .into());
        }
        if plan.name() == "newer" {
            return Err(Error::Needs {
                what: "kernel `newer`".to_owned(),
                needed: (9, 0),
                forms: String::new(),
                has: (8, 6),
            });
        }
        let buffers = plan
            .buffers()
            .iter()
            .map(|buffer| HostBuffer::zeroed(buffer.element, (buffer.len as usize).min(1 << 20)))
            .collect::<Result<_, _>>()?;
        Ok(Box::new(AdderSession {
            device: self,
            plan: plan.clone(),
            buffers,
        }))
    }
}

struct AdderSession<'d> {
    device: &'d Adder,
    plan: Plan,
    buffers: Vec<HostBuffer>,
}

impl Session for AdderSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        self.buffers[id.index()] = from.clone();
        Ok(())
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.buffers[id.index()].bytes_mut().fill(byte);
        Ok(())
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        Ok(self.buffers[id.index()].clone())
    }

    fn run(&mut self) -> Result<Timing, Error> {
        let mut time = Duration::ZERO;
        for (step, command) in self.plan.commands().enumerate() {
            time += Duration::from_millis(1);
            let Command::Launch(launch) = command else {
                continue;
            };
            if launch.kernel == "trapping" {
                self.device.is_lost.store(true, Ordering::Relaxed);
                return Err(DeviceError::KernelFault {
                    place: "plan `trapping`, kernel `trapping`".to_owned(),
                    code: DriverError::LAUNCH_FAILED,
                    what: "the kernel trapped".to_owned(),
                }
                .into());
            }
            let x = self.buffers[0].as_mut_slice::<u32>()?;
            let steps = match launch.kernel {
                "twofold" => 2,
                "fourfold" => 4,
                _ => 1,
            };
            for _ in 0..steps {
                double(x);
            }
            if launch.kernel.ends_with("fused") {
                fuse(x);
            }
            // A step later, the highest bit is gone.
            let flipped = match launch.kernel {
                "close" => HIGHEST_BIT,
                "not-close" => HIGHEST_BIT >> 1,
                _ => 0,
            };
            x.iter_mut().for_each(|x| *x ^= flipped);
            let is_late = launch.kernel.starts_with("late") && step == 589;
            if launch.kernel == "off-by-one" || is_late {
                let last = x.len() - 1;
                x[last] = x[last].wrapping_add(1);
            }
        }
        Ok(Timing {
            device: Some(time),
            host: time,
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        Ok(KernelInfo {
            name: kernel.to_owned(),
            registers: Some(16),
            local_bytes: if kernel == "twofold" { 24 } else { 0 },
            spills: (kernel == "twofold").then_some(Spills {
                store_bytes: 16,
                load_bytes: 40,
            }),
            static_shared_bytes: 0,
            max_threads_per_block: 1024,
            blocks_per_multiprocessor: Some(2),
            occupancy: Some(1.0),
        })
    }
}

impl TimedSession for AdderSession<'_> {
    fn run_segments(&mut self, segments: u32) -> Result<Option<Segments>, Error> {
        let whole = self.run()?;
        let commands = self.plan.commands().count() as u64 / u64::from(segments);
        let part = (commands, Duration::from_millis(commands));
        let parts = vec![part; segments as usize];
        Ok(Some(Segments {
            parts,
            whole,
            by: Launching::Stream,
        }))
    }
}
