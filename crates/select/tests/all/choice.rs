//! The variant and the shape for a case, and what is said of them.

use std::sync::{Arc, LazyLock};

use device::{DeviceInfo, DeviceKind, LaunchLimits, Module};
use lab::{Lab, LabCase, Variant};
use plan::{Element, LaunchConfig, Plan, PlanError, Target, args};
use select::choice::{
    Choice, On, Why, choose, explain, is_tuned_for, of_processes, winners_on_request,
};
use select::tuned::Table;
use test_lab::{BARE, DOUBLING, Numbers};

/// The lab with a plain variant, a shaped one for several devices, and one that wins up to 10
/// numbers and takes no more than 50.
static LAB: LazyLock<Lab> = LazyLock::new(|| {
    let variant = |name: &'static str| {
        Variant::recorded(
            name,
            "",
            Arc::clone(&DOUBLING.module),
            move |case, target| {
                if name == "resident" && case.work().updates > 50 {
                    Err(PlanError::unsupported("more than 50 numbers do not fit").into())
                } else {
                    Ok(plan(name, target))
                }
            },
        )
    };
    let mut fast = variant("fast").usual_on_several();
    fast.shapes = vec![variant("fast@x2"), variant("fast@x4")];
    let wins = |case: &Numbers, _: Target| case.work().updates <= 10;
    let resident = variant("resident").on_request().winning(wins);
    Lab {
        module: Arc::clone(&DOUBLING.module),
        variants: vec![variant("first"), variant("plain").usual(), fast, resident],
        ..*DOUBLING
    }
});

/// A plan that launches nothing. Only that of `fast` uses all devices.
fn plan(name: &str, target: Target) -> Plan {
    let mut plan = Plan::new(name).with_available_devices(target.devices);
    if name.starts_with("fast") {
        plan.scratch_on(target.devices - 1, "share", Element::U32, 8);
    }
    plan
}

fn case(n: u32) -> Box<dyn LabCase> {
    (LAB.of_extent)(n).unwrap()
}

fn gpu() -> DeviceInfo {
    DeviceInfo::new(DeviceKind::Cuda, "Adder 9000")
}

fn on(info: &DeviceInfo) -> On<'_> {
    On {
        info,
        target: 1.into(),
        is_several: false,
        is_one_of_many: false,
    }
}

fn chosen(n: u32, on: On<'_>) -> (&'static str, Why) {
    let Choice { variant, why, .. } =
        choose(&LAB, case(n).as_ref(), on, None, &Table::default()).unwrap();
    (&variant.name, why)
}

#[test]
fn a_winner_is_taken_where_times_count() {
    let (gpu, emulated) = (gpu(), DeviceInfo::new(DeviceKind::Emulated, "emulated"));
    assert_eq!(chosen(8, on(&gpu)), ("resident", Why::Wins));
    assert_eq!(chosen(20, on(&gpu)), ("plain", Why::Usual));
    assert_eq!(chosen(8, on(&emulated)), ("plain", Why::Usual));
}

#[test]
fn several_devices_have_a_variant_of_their_own() {
    let gpu = gpu();
    let several = On::several(&gpu, 2.into());
    assert_eq!(chosen(8, several), ("resident", Why::Wins));
    assert_eq!(chosen(20, several), ("fast", Why::UsualOnSeveral));
    // One GPU, asked for as several.
    let one = On::several(&gpu, 1.into());
    assert_eq!(chosen(20, one), ("fast", Why::UsualOnSeveral));
    let of_many = On {
        is_one_of_many: true,
        ..several
    };
    assert_eq!(chosen(8, of_many), ("fast", Why::UsualOnSeveral));
    assert_eq!(of_processes(&LAB, None).unwrap().name, "fast");
    let first = &LAB.variants[0];
    assert_eq!(of_processes(&LAB, Some(first)).unwrap(), first);
}

/// Clusters came with 9.0.
#[test]
fn where_the_usual_one_cannot_run_the_first_that_can_is_taken() {
    static CLUSTERED: LazyLock<Lab> = LazyLock::new(|| {
        let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
        let module = Arc::new(Module::new("k", text));
        let in_clusters = |cluster: u32| {
            move |_: &dyn LabCase, _: Target| {
                let mut plan = Plan::new("k");
                plan.launch("k", LaunchConfig::new(4, 32).with_cluster(cluster), args![])?;
                Ok(plan)
            }
        };
        let of =
            |name, cluster| Variant::recorded(name, "", Arc::clone(&module), in_clusters(cluster));
        Lab {
            module: Arc::clone(&module),
            variants: vec![of("two", 2).usual(), of("four", 4), of("plain", 1)],
            ..*DOUBLING
        }
    });
    let chosen = |capability| {
        let of_device = DeviceInfo {
            limits: LaunchLimits::of(capability),
            ..gpu()
        };
        let case = case(8);
        let choice = choose(
            &CLUSTERED,
            case.as_ref(),
            on(&of_device),
            None,
            &Table::default(),
        );
        let choice = choice.unwrap();
        let lines = explain(&CLUSTERED, case.as_ref(), on(&of_device), &choice);
        (choice.why, lines.join("\n"))
    };
    assert_eq!(chosen((9, 0)).0, Why::Usual);
    let (why, text) = chosen((8, 6));
    assert_eq!(why, Why::FirstAble);
    insta::assert_snapshot!(text, @"
    plain runs: where no variant is named doubling takes another, which Adder 9000 cannot run, and this is the first that it can
    launch shape: it has one
    two cannot run this: kernel `k` in clusters of [2, 1, 1] blocks needs compute capability 9.0 or newer; this device has 8.6
    four cannot run this: kernel `k` in clusters of [4, 1, 1] blocks needs compute capability 9.0 or newer; this device has 8.6
    ");
}

#[test]
fn a_name_goes_before_all() {
    let gpu = gpu();
    let named = choose(
        &LAB,
        case(8).as_ref(),
        on(&gpu),
        Some(&LAB.variants[0]),
        &Table::default(),
    );
    assert_eq!(named.unwrap().variant.name, "first");
}

#[test]
fn a_copy_without_solutions_has_no_choice() {
    let gpu = gpu();
    let none = choose(&BARE, case(8).as_ref(), on(&gpu), None, &Table::default());
    assert_eq!(none, None);
    assert_eq!(of_processes(&BARE, None), None);
}

#[test]
fn those_on_request_are_measured_and_tuned_where_they_win() {
    let names = |n| {
        let case = case(n);
        let names = winners_on_request(&LAB, case.as_ref()).map(|variant| variant.name.as_str());
        names.collect::<Vec<_>>()
    };
    assert_eq!((names(8), names(20)), (vec!["resident"], vec![]));
    let [first, .., resident] = &LAB.variants[..] else {
        unreachable!("the lab has four variants")
    };
    assert!(is_tuned_for(first, case(20).as_ref()));
    assert!(is_tuned_for(resident, case(8).as_ref()));
    assert!(!is_tuned_for(resident, case(20).as_ref()));
}

/// The text that explains the choice for `n` numbers.
fn explained(n: u32, on: On<'_>, table: &str, named: Option<&'static Variant>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    std::fs::write(&file, table).unwrap();
    let case = case(n);
    let choice = choose(&LAB, case.as_ref(), on, named, &Table::read(&file).unwrap());
    explain(&LAB, case.as_ref(), on, &choice.unwrap()).join("\n")
}

#[test]
fn a_choice_is_explained() {
    let (gpu, emulated) = (gpu(), DeviceInfo::new(DeviceKind::Emulated, "emulated"));
    insta::assert_snapshot!(explained(8, on(&gpu), "", None), @r"
    resident runs: doubling says that it is the fastest for this size on Adder 9000
    launch shape: it has one
    first, plain, fast can run this, too: `--variant NAME` takes one, and `harness list doubling` says what each does
    ");
    insta::assert_snapshot!(explained(99, on(&gpu), "", None), @r"
    plain runs: doubling takes it where no variant is named, and says of none that it is faster for this size on Adder 9000
    launch shape: it has one
    first, fast can run this, too: `--variant NAME` takes one, and `harness list doubling` says what each does
    resident cannot run this: the solution refuses this problem: more than 50 numbers do not fit
    ");
    insta::assert_snapshot!(explained(99, on(&emulated), "", None), @r"
    plain runs: doubling takes it where no variant is named
    launch shape: it has one
    first, fast can run this, too: `--variant NAME` takes one, and `harness list doubling` says what each does
    resident cannot run this: the solution refuses this problem: more than 50 numbers do not fit
    ");
    insta::assert_snapshot!(explained(99, On::several(&gpu, 2.into()), "", None), @r"
    fast runs: several devices were asked for, and it is the variant of doubling that uses them
    launch shape: the default one; none was timed on GPUs like this one, and `harness tune` does that
    first, plain cannot run this: the plan uses 1 of 2 devices
    resident cannot run this: the solution refuses this problem: more than 50 numbers do not fit
    ");
    let shape = &LAB.variants[2].shapes[1];
    insta::assert_snapshot!(explained(8, on(&emulated), "", Some(shape)), @r"
    fast@x4 runs: the command line names it
    launch shape x4: the command line names it
    first, plain, fast, resident can run this, too: `--variant NAME` takes one, and `harness list doubling` says what each does
    ");
}

#[test]
fn a_shape_is_explained() {
    let gpu = gpu();
    let entry = |card: &str, cells: u32, shape: &str| {
        format!(
            "[[tuned]]\ngpu = \"{card}\"\nlab = \"doubling\"\nvariant = \"fast\"\ncase = \"{cells} numbers, 1 steps\"\n\
             shape = \"{shape}\"\nunit = \"us\"\ndate = \"2026-11-22\"\ndriver = \"580\"\ncells = {cells}\n\
             tried = [{{ shape = \"{shape}\", step = 1.0, default_step = 2.0, vs_default = 2.0 }}]\n"
        )
    };
    let fast = Some(&LAB.variants[2]);
    let shape = |n, table: &str| {
        let text = explained(n, on(&gpu), table, fast);
        text.lines().nth(1).unwrap().to_owned()
    };
    let table = [entry(&gpu.name, 16, "x4"), entry(&gpu.name, 64, "x4")].concat();
    insta::assert_snapshot!(shape(16, &table), @"launch shape x4: tuned.toml has it as the fastest of this case, timed on Adder 9000");
    insta::assert_snapshot!(shape(20, &table), @"launch shape x4: by the times in tuned.toml it loses least between 16 numbers, 1 steps on Adder 9000 and 64 numbers, 1 steps on Adder 9000");
    insta::assert_snapshot!(shape(99, &table), @"launch shape x4: tuned.toml has it as the fastest of the nearest size, 64 numbers, 1 steps on Adder 9000");
    insta::assert_snapshot!(shape(99, &entry("Other", 16, "x2")), @"launch shape x2: tuned.toml has it as the fastest of the nearest size, 16 numbers, 1 steps on Other");
    insta::assert_snapshot!(shape(99, ""), @"launch shape: the default one; none was timed on GPUs like this one, and `harness tune` does that");
}

/// An entry of a variant: its time for a case of this number of numbers.
fn timed(card: &str, variant: &str, cells: u32, step: f64) -> String {
    let shape = match variant {
        "fast" => "shape = \"x2\"\n",
        _ => "",
    };
    format!(
        "[[tuned]]\ngpu = \"{card}\"\nlab = \"doubling\"\nvariant = \"{variant}\"\ncase = \"{cells} numbers, 1 steps\"\n\
         {shape}unit = \"us/step\"\ndate = \"2026-11-22\"\ndriver = \"580\"\ncells = {cells}\nstep = {step:?}\n"
    )
}

#[test]
fn on_a_gpu_that_the_table_knows_the_fastest_is_taken() {
    let (gpu, emulated) = (gpu(), DeviceInfo::new(DeviceKind::Emulated, "Adder 9000"));
    let card = gpu.name.as_str();
    let first = |n: u32, on: On<'_>, entries: &[String]| {
        let text = explained(n, on, &entries.concat(), None);
        text.lines().next().unwrap().to_owned()
    };
    let both = [
        timed(card, "plain", 20, 3.0),
        timed(card, "first", 20, 2.0),
        timed(card, "plain", 80, 4.0),
        timed(card, "first", 80, 32.0),
    ];
    insta::assert_snapshot!(first(20, on(&gpu), &both), @"first runs: by tuned.toml it takes the least time on Adder 9000: first 2.00, plain 3.00 us/step, measured");
    insta::assert_snapshot!(first(40, on(&gpu), &both), @"plain runs: by tuned.toml it takes the least time on Adder 9000: plain 3.46, first 8.00 us/step, estimated from 20 numbers, 1 steps and 80 numbers, 1 steps");
    insta::assert_snapshot!(first(160, on(&gpu), &both), @"plain runs: by tuned.toml it takes the least time on Adder 9000: plain 8.00, first 64.0 us/step, estimated from 80 numbers, 1 steps");
    // Too far from what was timed; of another GPU; no GPU; the lab's choice was not timed.
    let usual = "plain runs: doubling takes it where no variant is named";
    assert!(first(161, on(&gpu), &both).starts_with(usual));
    let elsewhere = [
        timed("Adder 1", "plain", 20, 3.0),
        timed("Adder 1", "first", 20, 2.0),
    ];
    assert!(first(20, on(&gpu), &elsewhere).starts_with(usual));
    assert_eq!(first(20, on(&emulated), &both), usual);
    assert!(first(20, on(&gpu), &both[1..2]).starts_with(usual));
    // Two sizes far apart say nothing of those between.
    let apart = [
        timed(card, "plain", 20, 3.0),
        timed(card, "first", 20, 2.0),
        timed(card, "plain", 330, 4.0),
        timed(card, "first", 330, 2.0),
    ];
    assert!(first(80, on(&gpu), &apart).starts_with(usual));
    assert!(first(40, on(&gpu), &apart).starts_with("first runs"));
    assert!(first(165, on(&gpu), &apart).starts_with("first runs"));
    // One on request is taken where it wins alone.
    let small = [
        timed(card, "plain", 8, 2.0),
        timed(card, "resident", 8, 1.0),
    ];
    insta::assert_snapshot!(first(8, on(&gpu), &small), @"resident runs: by tuned.toml it takes the least time on Adder 9000: resident 1.00, plain 2.00 us/step, measured");
    assert!(first(16, on(&gpu), &small).starts_with(usual));
}

#[test]
fn several_gpus_take_what_is_fastest_for_a_share() {
    let gpu = gpu();
    let card = gpu.name.as_str();
    static BOTH_SPLIT: LazyLock<Lab> = LazyLock::new(|| {
        let of = |name: &'static str| {
            let record = move |_: &dyn LabCase, target| Ok(plan(name, target));
            Variant::recorded(name, "", Arc::clone(&DOUBLING.module), record)
        };
        Lab {
            module: Arc::clone(&DOUBLING.module),
            variants: vec![
                of("plain"),
                of("fast_twice").usual_on_several(),
                of("fast_once"),
            ],
            ..*DOUBLING
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let entries = [
        timed(card, "plain", 40, 1.0),
        timed(card, "fast_twice", 40, 5.0),
        timed(card, "fast_once", 40, 4.0),
        timed(card, "fast_twice", 160, 12.0),
        timed(card, "fast_once", 160, 16.0),
    ];
    std::fs::write(&file, entries.concat()).unwrap();
    let table = Table::read(&file).unwrap();
    let of = |n: u32, on: On<'_>| {
        let case = case(n);
        let choice = choose(&BOTH_SPLIT, case.as_ref(), on, None, &table).unwrap();
        explain(&BOTH_SPLIT, case.as_ref(), on, &choice).swap_remove(0)
    };
    let two = On::several(&gpu, 2.into());
    insta::assert_snapshot!(of(80, two), @"fast_once runs: by tuned.toml it takes the least time on Adder 9000: fast_once 4.00, fast_twice 5.00 us/step, estimated for the share of one, from 40 numbers, 1 steps");
    insta::assert_snapshot!(of(320, two), @"fast_twice runs: by tuned.toml it takes the least time on Adder 9000: fast_twice 12.0, fast_once 16.0 us/step, estimated for the share of one, from 160 numbers, 1 steps");
    let of_many = On {
        is_one_of_many: true,
        ..two
    };
    assert!(of(80, of_many).starts_with("fast_twice runs: several devices were asked for"));
}
