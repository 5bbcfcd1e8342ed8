//! The examples of `cuda_std`'s documentation and of a page of the book, word for word, in every
//! order of threads on the emulated device, and on a GPU.

use std::collections::BTreeSet;

use cuda_std_tests::{EXAMPLES, Launch, devices};
use device::{Device, Element, EmulatedDevice, HostBuffer, Order};
use plan::{Arg, LaunchConfig, args};

/// As many as a grade tries where the order matters: by index, and a random one of each kind
/// (docs/reference/ordering.md, "The order of threads").
const ORDERS: u32 = 9;

/// An example's launch, and what it gives.
pub struct Example {
    pub kernel: &'static str,
    pub launch: Launch,
    pub outputs: Vec<HostBuffer>,
    /// The text that it prints.
    pub text: &'static str,
}

impl Example {
    /// `launch` with the arguments of its kernel, which gives `outputs`, as they were declared.
    pub fn new(
        kernel: &'static str,
        config: LaunchConfig,
        mut launch: Launch,
        arguments: impl IntoIterator<Item = Arg>,
        outputs: impl Into<Vec<HostBuffer>>,
    ) -> Self {
        launch.launch(kernel, config, arguments);
        Self {
            kernel,
            launch,
            outputs: outputs.into(),
            text: "",
        }
    }

    fn check(&self, device: &dyn Device, order: Order) {
        let at = format!("{} in {order:?} on {}", self.kernel, device.info().name);
        let outputs = self
            .launch
            .try_run_in(device, order)
            .unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(outputs, self.outputs, "{at}");
    }
}

/// The values of a function of 0, 1, and so on.
pub fn values<T>(count: u32, value: impl Fn(u32) -> T) -> Vec<T> {
    (0..count).map(value).collect()
}

pub fn float(i: u32) -> f32 {
    i as f32
}

fn examples() -> Vec<Example> {
    let new = || Launch::of(&EXAMPLES);
    let mut all = crate::page::examples();

    {
        let mut launch = new();
        let x = launch.input("x", values(512, float));
        let y = launch.updated("y", vec![1.0f32; 512]);
        all.push(Example::new(
            "scale",
            LaunchConfig::new(3, 256),
            launch,
            args![2.0f32, x.slice(), y],
            [values(512, |i| 2.0 * float(i)).into()],
        ));
    }

    {
        let mut launch = new();
        let x = launch.input("x", values(256, float));
        let y = launch.output("y", Element::F32, 256);
        all.push(Example::new(
            "reversed",
            LaunchConfig::new(1, 256),
            launch,
            args![x.slice(), y],
            [values(256, |i| float(255 - i)).into()],
        ));
    }

    {
        let mut launch = new();
        let x = launch.input("x", values(1024, float));
        let y = launch.output("y", Element::F32, 1024);
        all.push(Example::new(
            "peers",
            LaunchConfig::new(4, 256).with_cluster(2),
            launch,
            args![x.slice(), y],
            [values(1024, |i| float(i ^ 256)).into()],
        ));
    }

    {
        let mut launch = new();
        let from = launch.updated("from", values(40, float));
        let to = launch.updated("to", vec![0.0f32; 40]);
        let counter = launch.updated("counter", vec![0u32]);
        let mut steps = vec![values(40, float)];
        for step in 0..3 {
            let last: &Vec<f32> = &steps[step];
            steps.push(values(40, |i| {
                last[i as usize] + last[(i as usize + 1) % 40]
            }));
        }
        all.push(Example::new(
            "steps",
            LaunchConfig::new(2, 8),
            launch,
            args![from, to, 40u32, 3u32, counter],
            // An odd number of barriers leaves the counter's highest bit set.
            [
                steps[2].clone().into(),
                steps[3].clone().into(),
                vec![1u32 << 31].into(),
            ],
        ));
    }

    all.push(Example {
        text: "thread 0: x is 2, 0.667 of 3\n",
        ..Example::new(
            "show",
            LaunchConfig::new(1, 1),
            new(),
            args![2.0f32, 3u32],
            [],
        )
    });

    {
        let mut launch = new();
        let progress = launch.updated("progress", vec![1u32, 0, 0, 0]);
        let x = launch.updated("x", values(64, |i| i));
        all.push(Example::new(
            "in_a_row",
            LaunchConfig::new(3, 64),
            launch,
            args![progress, x],
            [vec![1u32; 4].into(), values(64, |i| 8 * i + 4).into()],
        ));
    }

    {
        let mut launch = new();
        let x = launch.input("x", values(100, float));
        let y = launch.updated("y", vec![1.0f32; 100]);
        all.push(Example::new(
            "axpy",
            LaunchConfig::new(2, 32),
            launch,
            args![2.0f32, x.slice(), y],
            [values(100, |i| 1.0 + 2.0 * float(i)).into()],
        ));
    }

    {
        let mut launch = new();
        let a = launch.input("a", values(35, float));
        let b = launch.input("b", values(35, |i| 100.0 * float(i)));
        let c = launch.updated("c", vec![0.0f32; 35]);
        all.push(Example::new(
            "sum",
            LaunchConfig::new((2, 3), (4, 2)),
            launch,
            args![a.slice(), b.slice(), c, 7u32, 5u32],
            [values(35, |i| 101.0 * float(i)).into()],
        ));
    }

    {
        let mut launch = new();
        let field = launch.input("field", values(5 * 1024, float));
        let sums = launch.output("sums", Element::F32, 256);
        all.push(Example::new(
            "tiles",
            LaunchConfig::new(1, 256),
            launch,
            args![field, 5u64, sums],
            [values(256, |i| 5.0 * float(i) + 10.0 * 1024.0).into()],
        ));
    }

    {
        let mut launch = new();
        let blocks = launch.input("values", values(4, |block| u64::from(block + 1) << 40));
        let received = launch.output("received", Element::U64, 128);
        all.push(Example::new(
            "ring",
            LaunchConfig::new(4, 32).with_cluster(4),
            launch,
            args![blocks.slice(), received],
            [values(128, |i| {
                let before = (i / 32 + 3) % 4;
                (u64::from(before + 1) << 40) + u64::from(i % 32)
            })
            .into()],
        ));
    }

    {
        let mut launch = new();
        let x = launch.input("x", values(24, float));
        let out = launch.output("out", Element::F32, 4);
        all.push(Example::new(
            "rows",
            LaunchConfig::new(1, 1),
            launch,
            args![x.slice(), out, 3u32, 8u32],
            [values(4, |row| float(8 + 16 + 3 * 2 * row)).into()],
        ));
    }

    {
        let mut launch = new();
        let field = launch.input("field", values(50, |i| float(i + 1)));
        let out = launch.updated("out", vec![0.0f32; 50]);
        let at = |i: u32| if i < 50 { float(i + 1) } else { 0.0 };
        all.push(Example::new(
            "halo",
            LaunchConfig::new(2, 32),
            launch,
            args![field, 50u64, out],
            [values(50, |i| at(i.wrapping_sub(1)) + at(i + 1)).into()],
        ));
    }

    {
        let mut launch = new();
        let row = launch.input("row", values(256, float));
        let out = launch.output("out", Element::F32, 64);
        all.push(Example::new(
            "totals",
            LaunchConfig::new(1, 64).with_shared_mem_bytes(1024),
            launch,
            args![row.slice(), out],
            [values(64, |i| float(16 * i + 6)).into()],
        ));
    }

    {
        let mut launch = new();
        let x = launch.input("x", values(2048, float));
        let out = launch.output("out", Element::F32, 2048);
        all.push(Example::new(
            "through_a_tile",
            LaunchConfig::new(2, 1024),
            launch,
            args![x.slice(), out],
            [values(2048, |i| 2.0 * float(i)).into()],
        ));
    }

    {
        let mut launch = new();
        let row = launch.updated("row", vec![0.0f32; 128]);
        let out = launch.output("out", Element::F32, 128);
        let counter = launch.input("counter", vec![0u32]);
        let cells = values(128, |i| [float(i / 4), 1.0, 2.0, 3.0][i as usize % 4]);
        all.push(Example::new(
            "handed_on",
            LaunchConfig::new(2, 32),
            launch,
            args![row, out, counter],
            [cells.clone().into(), cells.into()],
        ));
    }
    all
}

#[test]
fn every_example_gives_its_values_in_every_order() {
    for example in examples() {
        let device = EmulatedDevice::default().keeping_printed();
        let in_order = |number| Order {
            number,
            seed: 0x5eed,
        };
        for order in (0..ORDERS).map(in_order) {
            example.check(&device, order);
            assert_eq!(
                device.take_printed().text,
                example.text,
                "{}",
                example.kernel
            );
        }
        for gpu in devices().iter().skip(1) {
            example.check(gpu.as_ref(), in_order(0));
        }
    }
}

#[test]
fn no_example_is_forgotten() {
    let tested: BTreeSet<&str> = examples().iter().map(|example| example.kernel).collect();
    for (kernel, place) in std_examples::EXAMPLES {
        assert!(
            tested.contains(kernel),
            "{place}: nothing launches the example `{kernel}`: add its launch, and what it gives, to \
             `examples` in tests/cuda-std/tests/all/examples.rs"
        );
    }
    assert_eq!(tested.len(), std_examples::EXAMPLES.len());
}
