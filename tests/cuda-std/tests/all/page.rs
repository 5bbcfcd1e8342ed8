//! The kernels of the book's page on the kernel API, and its plan.

use cuda_std_tests::{EXAMPLES, Launch};
use device::run::{outputs, reset};
use device::{Device, Element, EmulatedDevice};
use plan::{LaunchConfig, Plan, args};

use crate::examples::{Example, float, values};

/// The page.
const PAGE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/kernel-api.md"
));

/// The launches of its kernels, and what they give.
pub fn examples() -> Vec<Example> {
    let new = || Launch::of(&EXAMPLES);
    let mut all = Vec::new();
    // From the elements of `x` to those of `y`, by a launch of a thread each.
    let mut maps = |kernel, config, count, value: &dyn Fn(u32) -> f32| {
        let mut launch = new();
        let x = launch.input("x", values(count, float));
        let y = launch.output("y", Element::F32, count as usize);
        let expected = [values(count, value).into()];
        all.push(Example::new(
            kernel,
            config,
            launch,
            args![x.slice(), y],
            expected,
        ));
    };
    maps("doubled", LaunchConfig::new(3, 64), 150, &|i| {
        2.0 * float(i)
    });
    maps("backwards", LaunchConfig::new(2, 128), 256, &|i| {
        float(i / 128 * 128 + 127 - i % 128)
    });
    maps(
        "with_the_next",
        LaunchConfig::new(2, 48).with_shared_mem_bytes(4 * 48),
        96,
        &|i| float(i) + float(i / 48 * 48 + (i % 48 + 1) % 48),
    );
    maps("copied", LaunchConfig::new(2, 32), 252, &float);
    maps("roots", LaunchConfig::new(1, 64), 50, &|i| {
        (float(i) * float(i) + 1.0).sqrt()
    });
    // What is beyond the elements counts as zero.
    maps("backwards_later", LaunchConfig::new(2, 64), 100, &|i| {
        let from = i / 64 * 64 + 63 - i % 64;
        if from < 100 { float(from) } else { 0.0 }
    });

    {
        let mut launch = new();
        let a = launch.input("a", values(35, float));
        let b = launch.output("b", Element::F32, 35);
        all.push(Example::new(
            "transposed",
            LaunchConfig::new((2, 3), (4, 2)),
            launch,
            args![a.slice(), b, 7u32, 5u32],
            [values(35, |i| float(i % 5 * 7 + i / 5)).into()],
        ));
    }
    {
        let mut launch = new();
        let x = launch.updated("x", values(100, float));
        all.push(Example::new(
            "clamped",
            LaunchConfig::new(2, 32),
            launch,
            args![x, 100u64, 60.0f32],
            [values(100, |i| float(i.min(60))).into()],
        ));
    }
    {
        let mut launch = new();
        let x = launch.input("x", values(128, float));
        let sums = launch.output("sums", Element::F32, 4);
        all.push(Example::new(
            "warp_sums",
            LaunchConfig::new(2, 64),
            launch,
            args![x.slice(), sums],
            [values(4, |warp| float(32 * 32 * warp + 496)).into()],
        ));
    }
    {
        let mut launch = new();
        let x = launch.input("x", values(100, |i| 5 * i));
        let counts = launch.updated("counts", vec![0u32; 16]);
        let of = |rest| (0..100).filter(|i| 5 * i % 16 == rest).count() as u32;
        all.push(Example::new(
            "histogram",
            LaunchConfig::new(4, 32),
            launch,
            args![x.slice(), counts],
            [values(16, of).into()],
        ));
    }
    {
        let mut launch = new();
        let x = launch.input("x", values(4, |i| float(i) / 2.0));
        all.push(Example {
            text: "x[2] is 1\n",
            ..Example::new(
                "told",
                LaunchConfig::new(1, 32),
                launch,
                args![x.slice()],
                [],
            )
        });
    }
    {
        let mut launch = new();
        let from = launch.input("from", values(40, |i| float(i * i)));
        let to = launch.updated("to", vec![7.0f32; 40]);
        let mean = |i| (float((i - 1) * (i - 1)) + float((i + 1) * (i + 1))) / 2.0;
        all.push(Example::new(
            "smoothed",
            LaunchConfig::new(2, 32),
            launch,
            args![from, to, 40u32],
            [values(40, |i| if i % 39 == 0 { 7.0 } else { mean(i) }).into()],
        ));
    }
    all
}

/// The plan as the page has it.
fn smoothing(n: u32, steps: u32) -> Result<Plan, plan::PlanError> {
    let mut plan = Plan::new("smoothing");
    let field = plan.buffer("field", Element::F32, n as usize);
    let next = plan.scratch("next", Element::F32, n as usize);
    // The kernel writes neither the first element nor the last one.
    plan.copy(field, next)?;
    // A thread per element, in as many blocks of 256 as that takes.
    let config = LaunchConfig::covering(n, 256)?;
    let (mut from, mut to) = (field, next);
    for _ in 0..steps {
        plan.launch("smoothed", config, args![from, to, n])?;
        (from, to) = (to, from);
    }
    plan.output("field", from);
    Ok(plan)
}

#[test]
fn the_plan_of_the_page_runs() -> Result<(), device::Error> {
    let (n, steps) = (300, 5);
    let mut expected = values(n, |i| float(i * i));
    let inputs = vec![("field".to_owned(), expected.clone().into())];
    for _ in 0..steps {
        let before = expected.clone();
        for i in 1..before.len() - 1 {
            expected[i] = (before[i - 1] + before[i + 1]) / 2.0;
        }
    }
    let plan = smoothing(n, steps)?;
    let device = EmulatedDevice::default();
    let mut session = device.prepare(&EXAMPLES, &plan)?;
    reset(session.as_mut(), &plan, &inputs)?;
    session.run()?;
    assert_eq!(outputs(session.as_mut(), &plan)?[0].1, expected.into());
    Ok(())
}

#[test]
fn the_plan_of_the_page_is_this_one() {
    let mut others = PAGE.split("```rust\n").skip(1);
    let host = others.find(|block| !block.contains("#[kernel")).unwrap();
    let host = host.split("```").next().unwrap();
    assert!(include_str!("page.rs").contains(host), "{host}");
    assert!(others.all(|block| block.contains("#[kernel")), "one plan");
}
