//! Recording, refusing, saving and loading plans.

use device::{Element, Error};
use exit::ErrorKind;
use plan::{Arg, BufferId, LaunchConfig, Plan, args};
use plan::{Command, PlanError};
use proptest::prelude::*;

fn plan_with_buffers() -> (Plan, BufferId, BufferId, BufferId) {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::F32, 10);
    let v = plan.scratch("v", Element::F32, 10);
    let w = plan.buffer("w", Element::U32, 4);
    (plan, u, v, w)
}

#[test]
fn commands_come_back_as_recorded() {
    let (mut plan, u, v, _) = plan_with_buffers();
    let config = LaunchConfig::new((2, 3), 32).with_shared_mem_bytes(64);
    plan.launch("step", config, args![u, v.at(2), 7u32])
        .unwrap();
    plan.copy(u, v).unwrap();
    plan.copy_range(u, 1, v, 2, 3).unwrap();
    plan.fill(v, 0xab).unwrap();
    plan.launch("step", config, args![]).unwrap();
    plan.launch("edge", config, args![-1i32]).unwrap();
    assert_eq!(plan.kernels(), ["step", "edge"]);

    let commands: Vec<Command> = plan.commands().collect();
    let Command::Launch(first) = commands[0] else {
        panic!("{:?}", commands[0])
    };
    assert_eq!(
        (first.kernel, first.kernel_index, first.config),
        ("step", 0, config)
    );
    assert_eq!(first.args, [Arg::Buffer(u), v.at(2), Arg::U32(7)]);
    let Command::Copy(whole) = commands[1] else {
        panic!("{:?}", commands[1])
    };
    assert_eq!((whole.src, whole.dst, whole.len), (u, v, 10));
    assert!(matches!(commands[3], Command::Fill(fill) if fill.byte == 0xab && fill.dst == v));
    assert!(matches!(commands[4], Command::Launch(launch) if launch.args.is_empty()));
    assert!(matches!(commands[5], Command::Launch(launch) if launch.kernel_index == 1));
    assert_eq!(commands.len(), 6);
}

/// For each buffer, whether some command may write it.
fn may_write(plan: &Plan) -> Vec<bool> {
    let mut may_write = vec![false; plan.buffers().len()];
    for command in plan.commands() {
        for (id, writes) in command.accesses() {
            may_write[id.index()] |= writes;
        }
    }
    may_write
}

#[test]
fn what_a_plan_can_write_follows_from_its_commands() {
    let (mut plan, u, v, w) = plan_with_buffers();
    let config = LaunchConfig::new(1, 32);
    assert_eq!(may_write(&plan), [false; 3]);
    plan.launch("reads", config, args![u.slice(), v.slice(), 1u32])
        .unwrap();
    assert_eq!(may_write(&plan), [false; 3]);
    plan.copy(u, v).unwrap();
    assert_eq!(may_write(&plan), [false, true, false]);
    plan.fill(w, 0).unwrap();
    assert_eq!(may_write(&plan), [false, true, true]);
    for pointer in [Arg::Buffer(u), u.at(3)] {
        let mut plan = plan.clone();
        plan.launch("writes", config, [u.slice(), pointer]).unwrap();
        assert_eq!(may_write(&plan), [true; 3]);
    }
}

#[test]
fn what_makes_no_sense_is_refused_where_it_is_recorded() {
    let (mut plan, u, v, w) = plan_with_buffers();
    let (_, foreign, _, _) = plan_with_buffers();
    let one = LaunchConfig::new(1, 1);
    let refused = |result: Result<(), PlanError>| {
        let error = Error::from(result.unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Submission);
        error.to_string()
    };
    insta::assert_snapshot!(refused(plan.launch("k", LaunchConfig::new((4, 0), 1), args![])), @"plan `p`, command 0 (launch of `k`): grid [4, 0, 1] is empty; every extent must be at least 1");
    insta::assert_snapshot!(refused(plan.launch("k", LaunchConfig::new(1, (4, 4, 0)), args![])), @"plan `p`, command 0 (launch of `k`): block [4, 4, 0] is empty; every extent must be at least 1");
    insta::assert_snapshot!(refused(plan.launch("k", one, args![1u32, foreign])), @"plan `p`, command 0 (launch of `k`): argument 1 is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned");
    insta::assert_snapshot!(refused(plan.launch("k", one, args![u.at(11)])), @"plan `p`, command 0 (launch of `k`): argument 0 starts at element 11 of buffer `u`, which has 10");
    insta::assert_snapshot!(refused(plan.launch("k", one, args![v, u.slice_at(4, 7)])), @"plan `p`, command 0 (launch of `k`): argument 1 is elements 4..11 of buffer `u`, which has 10");
    insta::assert_snapshot!(refused(plan.launch("k", one, args![u.slice_at(2, u64::MAX)])), @"plan `p`, command 0 (launch of `k`): argument 0 is elements 2..18446744073709551617 of buffer `u`, which has 10");
    insta::assert_snapshot!(refused(plan.copy(u, foreign)), @"plan `p`, command 0 (copy): the destination is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned");
    insta::assert_snapshot!(refused(plan.copy(u, w)), @"plan `p`, command 0 (copy): source `u` holds f32, destination `w` holds u32; a copy needs the same type");
    insta::assert_snapshot!(refused(plan.copy(u, u)), @"plan `p`, command 0 (copy): source elements 0.. and destination elements 0.. (10 each) of buffer `u` overlap; copy through a scratch buffer");
    let longer = plan.scratch("longer", Element::F32, 11);
    insta::assert_snapshot!(refused(plan.copy(u, longer)), @"plan `p`, command 0 (copy): source `u` has 10 elements, destination `longer` has 11; copy a range with `copy_range`");
    insta::assert_snapshot!(refused(plan.copy_range(u, 8, v, 0, 3)), @"plan `p`, command 0 (copy): elements 8..11 of buffer `u` are out of bounds: it has 10");
    insta::assert_snapshot!(refused(plan.copy_range(u, u64::MAX, v, 0, 3)), @"plan `p`, command 0 (copy): elements 18446744073709551615..18446744073709551618 of buffer `u` are out of bounds: it has 10");
    insta::assert_snapshot!(refused(plan.copy_range(u, 0, u, 2, 3)), @"plan `p`, command 0 (copy): source elements 0.. and destination elements 2.. (3 each) of buffer `u` overlap; copy through a scratch buffer");
    insta::assert_snapshot!(refused(plan.fill(foreign, 0)), @"plan `p`, command 0 (fill): the destination is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned");
    // Nothing of it was recorded.
    assert_eq!(plan.commands().len(), 0);
    // An empty range at the end is right, and adds no command.
    plan.copy_range(u, 10, v, 10, 0).unwrap();
    plan.launch("k", one, args![u.at(10), u.slice_at(10, 0)])
        .unwrap();
    assert_eq!(plan.commands().len(), 1);
}

#[test]
fn what_shows_only_at_the_end_is_refused_by_the_check() {
    let refused = |plan: &Plan| plan.check().unwrap_err().to_string();
    let (mut plan, u, ..) = plan_with_buffers();
    plan.check().unwrap();
    assert_eq!(plan.memory_bytes().unwrap(), 40 + 40 + 16);

    plan.output("u", u);
    plan.output("u", u);
    insta::assert_snapshot!(refused(&plan), @"plan `p` has two outputs named `u`; give each its own name");
    let mut two_buffers = Plan::new("p");
    two_buffers.buffer("u", Element::F32, 1);
    two_buffers.scratch("u", Element::F32, 1);
    insta::assert_snapshot!(refused(&two_buffers), @"plan `p` has two buffers named `u`; give each its own name");
    let mut empty = Plan::new("p");
    empty.buffer("u", Element::F32, 0);
    insta::assert_snapshot!(refused(&empty), @"plan `p`: buffer `u` has 0 elements; every buffer needs at least 1");
    let mut large = Plan::new("p");
    large.buffer("u", Element::F64, usize::MAX / 4);
    insta::assert_snapshot!(refused(&large), @"plan `p`: buffer `u` of 4611686018427387903 f64 elements is too large: 36893488147419103224 bytes; use a smaller case");
    let mut foreign = Plan::new("p");
    foreign.output("u", u);
    insta::assert_snapshot!(refused(&foreign), @"plan `p`: output `u` is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned");
    // Each fits, all together do not.
    let mut together = Plan::new("p");
    for name in ["a", "b", "c"] {
        together.buffer(name, Element::U8, isize::MAX as usize);
    }
    assert!(
        matches!(together.check(), Err(PlanError::BufferTooLarge { buffer, .. }) if buffer == "c")
    );
}

#[test]
fn a_mapped_plan_has_the_same_buffers_under_the_same_ids() {
    let (mut plan, u, v, _) = plan_with_buffers();
    let config = LaunchConfig::new(3, 4);
    let values = args![u, v.slice(), v.at(3), u.slice_at(1, 2), 7u32];
    plan.launch("k", config, values.clone()).unwrap();
    plan.copy_range(u, 1, v, 2, 3).unwrap();
    plan.fill(v, 9).unwrap();
    plan.output("out", v);
    let text = |one: &Plan| serde_json::to_string(one).unwrap();
    let same = plan.map(|new, command| new.push(command)).unwrap();
    assert_eq!(text(&same), text(&plan));

    // Other commands, another buffer, another name, another output.
    let mut other = plan
        .map(|new, command| match command {
            Command::Launch(launch) => {
                assert_eq!(launch.args, values);
                let work = new.scratch("work", Element::F32, 10);
                new.launch(
                    "l",
                    LaunchConfig::new(1, 32),
                    args![work, launch.args[0].clone()],
                )
            }
            Command::Copy(copy) => {
                new.push(command)?;
                new.copy_range(copy.dst, 0, copy.src, 0, 1)
            }
            Command::Fill(_) => Ok(()),
        })
        .unwrap();
    other.rename("q");
    other.set_outputs(vec![("u".to_owned(), u)]);
    other.check().unwrap();
    assert_eq!(
        (other.name(), other.kernels()),
        ("q", &["l".to_owned()][..])
    );
    assert_eq!((other.commands().len(), other.buffers().len()), (3, 4));
    assert_eq!(other.find_output("u").unwrap(), u);
    // The additional buffer is not the first plan's.
    let work = other.find_buffer("work").unwrap();
    assert!(plan.buffer_info(work).is_err());

    let error = plan.map(|new, _| new.launch("l", LaunchConfig::new(1, 0), args![]));
    insta::assert_snapshot!(error.unwrap_err(), @"plan `p`, command 0 (launch of `l`): block [0, 1, 1] is empty; every extent must be at least 1");
}

#[test]
fn independent_commands_are_a_group() {
    let (mut plan, u, v, w) = plan_with_buffers();
    let one = LaunchConfig::new(1, 1);
    plan.independent(|_| Ok(())).unwrap();
    plan.independent(|plan| plan.fill(w, 0)).unwrap();
    assert_eq!(plan.groups(), [], "nothing that could run at once");
    let group = |part: &mut Plan| {
        part.launch("inner", one, args![u])?;
        part.copy_range(u, 0, v, 0, 5)?;
        part.independent(|inner| {
            inner.copy_range(u, 5, v, 5, 5)?;
            inner.launch("outer", one, args![u])
        })
    };
    plan.independent(group).unwrap();
    plan.launch("next", one, args![]).unwrap();
    plan.independent(group).unwrap();
    assert_eq!(plan.groups(), [1..5, 6..10]);
    let stages: Vec<_> = plan.stages().collect();
    assert_eq!(stages, [0..1, 1..5, 5..6, 6..10]);
    let none = Plan::new("none");
    let alone = plan.map(|new, _| new.launch("k", one, args![])).unwrap();
    assert_eq!(none.stages().count(), 0);
    assert_eq!(alone.stages().collect::<Vec<_>>(), stages);

    let text = serde_json::to_string(&plan).unwrap();
    let loaded: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(loaded.groups(), plan.groups());

    // Commands kept, replaced by one or left out stay independent; several that replace one may
    // not be.
    let mut left_out = 0;
    let fewer = plan
        .map(|new, command| match command {
            Command::Copy(_) => {
                left_out += 1;
                Ok(())
            }
            Command::Launch(launch) if launch.kernel == "next" => {
                new.push(command)?;
                new.push(command)
            }
            _ => new.push(command),
        })
        .unwrap();
    assert_eq!((left_out, fewer.groups()), (4, &[1..3, 5..7][..]));
    let more = plan.map(|new, command| match command {
        Command::Launch(launch) if launch.kernel == "inner" => {
            new.push(command)?;
            new.push(command)
        }
        _ => new.push(command),
    });
    assert_eq!(more.unwrap().groups(), []);
}

#[test]
fn copies_and_fills_that_depend_on_each_other_are_no_group() {
    let (plan, u, v, _) = plan_with_buffers();
    let refused = |record: &dyn Fn(&mut Plan) -> Result<(), PlanError>| {
        let mut plan = plan.clone();
        plan.fill(u, 1).unwrap();
        let error = Error::from(plan.independent(record).unwrap_err());
        assert_eq!(
            (error.kind(), plan.groups()),
            (ErrorKind::Submission, &[][..])
        );
        error.to_string()
    };
    insta::assert_snapshot!(refused(&|part| {
        part.copy_range(u, 0, v, 3, 4)?;
        part.fill(u, 7)
    }), @"plan `p`: command 1 (copy) and command 2 (fill) are recorded as independent, but the first reads element 0 of buffer `u`, which the second writes; record them one after the other");
    insta::assert_snapshot!(refused(&|part| {
        part.copy_range(u, 0, v, 3, 4)?;
        part.copy_range(u, 0, v, 9, 1)?;
        part.copy_range(u, 5, v, 6, 2)
    }), @"plan `p`: command 1 (copy) and command 3 (copy) are recorded as independent, but both write element 6 of buffer `v`; record them one after the other");
    insta::assert_snapshot!(refused(&|part| {
        part.copy_range(u, 0, v, 0, 2)?;
        part.copy_range(v, 1, u, 8, 2)
    }), @"plan `p`: command 1 (copy) and command 2 (copy) are recorded as independent, but the first writes element 1 of buffer `v`, which the second reads; record them one after the other");
    // The commands are still there, one after another.
    let mut plan = plan.clone();
    plan.independent(|plan| {
        plan.copy(u, v)?;
        plan.copy(v, u)
    })
    .unwrap_err();
    assert_eq!((plan.commands().len(), plan.groups()), (2, &[][..]));
}

proptest! {
    /// The check of copies agrees with that of every pair of elements.
    #[test]
    fn copies_are_independent_if_no_element_is_written_and_accessed(
        copies in prop::collection::vec((0..2usize, 0..8u64, 0..2usize, 0..8u64, 1..5u64), 1..6)
    ) {
        let mut plan = Plan::new("p");
        let buffers = [plan.buffer("a", Element::F32, 12), plan.buffer("b", Element::F32, 12)];
        let overlaps_itself = |&(src, s, dst, d, len): &(usize, u64, usize, u64, u64)| src == dst && s.abs_diff(d) < len;
        let copies: Vec<_> = copies.into_iter().filter(|copy| !overlaps_itself(copy)).collect();
        let result = plan.independent(|plan| {
            copies.iter().try_for_each(|&(src, s, dst, d, len)| plan.copy_range(buffers[src], s, buffers[dst], d, len))
        });
        let depends = copies.iter().enumerate().any(|(i, &(src, s, dst, d, len))| {
            let others = copies.iter().enumerate().filter(|&(j, _)| i != j);
            let meets = |a: usize, x: u64, b: usize, y: u64, len2: u64| a == b && x < y + len2 && y < x + len;
            { others }.any(|(_, &(src2, s2, dst2, d2, len2))| {
                meets(dst, d, src2, s2, len2) || meets(dst, d, dst2, d2, len2) || meets(src, s, dst2, d2, len2)
            })
        });
        prop_assert_eq!(result.is_err(), depends);
    }
}

#[test]
fn names_are_found_or_the_nearest_is_offered() {
    let (mut plan, u, v, _) = plan_with_buffers();
    plan.output("last", v);
    assert_eq!(plan.find_buffer("u").unwrap(), u);
    assert_eq!(plan.find_output("last").unwrap(), v);
    insta::assert_snapshot!(plan.find_buffer("u0").unwrap_err(), @"plan `p` has no buffer named `u0`; did you mean `u`?");
    insta::assert_snapshot!(plan.find_output("lats").unwrap_err(), @"plan `p` has no output named `lats`; did you mean `last`?");
}

#[test]
fn empty_extents_cannot_be_covered() {
    insta::assert_snapshot!(LaunchConfig::covering((8, 0), 32).unwrap_err(), @"cannot cover [8, 0, 1] threads with blocks of [32, 1, 1]: every extent must be at least 1");
    insta::assert_snapshot!(LaunchConfig::covering(8, (32, 0)).unwrap_err(), @"cannot cover [8, 1, 1] threads with blocks of [32, 0, 1]: every extent must be at least 1");
}

#[test]
fn thousands_of_launches_are_cheap_to_record() {
    let (mut plan, u, v, _) = plan_with_buffers();
    let start = std::time::Instant::now();
    for step in 0..12_800u32 {
        plan.launch(
            "step",
            LaunchConfig::new((101, 401), (32, 8)),
            args![u, v, 3201u32, 3201u32, step],
        )
        .unwrap();
    }
    // Some milliseconds; the bound only keeps it from becoming a fraction of a run.
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
    assert_eq!(plan.kernels().len(), 1);
}

#[test]
fn a_broken_file_is_refused() {
    let (mut plan, u, v, _) = plan_with_buffers();
    plan.launch("step", LaunchConfig::new(1, 32), args![u])
        .unwrap();
    plan.copy(u, v).unwrap();
    plan.fill(v, 1).unwrap();
    let good = serde_json::to_value(&plan).unwrap();
    let refused = |path: &str, value: serde_json::Value| {
        let mut saved = good.clone();
        *saved.pointer_mut(path).unwrap() = value;
        serde_json::from_value::<Plan>(saved)
            .unwrap_err()
            .to_string()
    };
    let launch = |field: &str| format!("/commands/0/launch/{field}");
    insta::assert_snapshot!(refused("/commands/0", serde_json::json!({ "jump": {} })), @"unknown variant `jump`, expected one of `launch`, `copy`, `fill`");
    insta::assert_snapshot!(refused(&launch("kernel"), 3.into()), @"invalid type: integer `3`, expected a string");
    insta::assert_snapshot!(refused(&launch("args/0/buffer"), 3.into()), @"plan `p`, command 0 (launch of `step`): argument 0 is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned");
    insta::assert_snapshot!(refused(&launch("args/0/buffer"), (1u64 << 32).into()), @"invalid value: integer `4294967296`, expected u32");
    insta::assert_snapshot!(refused(&launch("config/block/1"), 0.into()), @"plan `p`, command 0 (launch of `step`): block [32, 0, 1] is empty; every extent must be at least 1");
    insta::assert_snapshot!(refused("/commands/1/copy/src", 3.into()), @"plan `p`, command 1 (copy): the source is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned");
    insta::assert_snapshot!(refused("/commands/1/copy/len", 11.into()), @"plan `p`, command 1 (copy): elements 0..11 of buffer `u` are out of bounds: it has 10");
    insta::assert_snapshot!(refused("/commands/1/copy/src_start", u64::MAX.into()), @"plan `p`, command 1 (copy): elements 18446744073709551615..18446744073709551625 of buffer `u` are out of bounds: it has 10");
    insta::assert_snapshot!(refused("/commands/2/fill/byte", 256.into()), @"invalid value: integer `256`, expected u8");
    let mut grouped = good.clone();
    grouped["independent"] = serde_json::json!([[1, 4]]);
    let grouped = serde_json::from_value::<Plan>(grouped).unwrap_err();
    insta::assert_snapshot!(grouped, @"saved plan `p` is broken: commands 1..4 of 3 cannot be a group of independent commands: it needs two, and is apart from others");
    insta::assert_snapshot!(refused("/buffers/0/len", 0.into()), @"plan `p`, command 1 (copy): elements 0..10 of buffer `u` are out of bounds: it has 0");
}

/// Any argument, of a plan whose buffers are `ids`.
fn any_arg(ids: [BufferId; 2]) -> impl Strategy<Value = Arg> {
    prop_oneof![
        prop::sample::select(ids.to_vec()).prop_map(Arg::Buffer),
        prop::sample::select(ids.to_vec()).prop_map(Arg::Slice),
        (prop::sample::select(ids.to_vec()), 0u64..=10).prop_map(|(id, offset)| id.at(offset)),
        (prop::sample::select(ids.to_vec()), 0u64..=10)
            .prop_map(|(id, offset)| id.slice_at(offset, 10 - offset)),
        any::<u8>().prop_map(Arg::U8),
        any::<u32>().prop_map(Arg::U32),
        any::<i32>().prop_map(Arg::I32),
        any::<u64>().prop_map(Arg::U64),
        any::<i64>().prop_map(Arg::I64),
        any::<u32>().prop_map(|bits| Arg::F32(f32::from_bits(bits))),
        any::<u64>().prop_map(|bits| Arg::F64(f64::from_bits(bits))),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Arg::Bytes),
    ]
}

#[test]
fn clusters_are_saved_where_there_are_any() {
    let saved = |config: LaunchConfig| {
        let mut plan = Plan::new("p");
        plan.launch("k", config, args![]).unwrap();
        let saved = serde_json::to_value(&plan).unwrap();
        let loaded: Plan = serde_json::from_value(saved.clone()).unwrap();
        let Command::Launch(launch) = loaded.commands().next().unwrap() else {
            panic!("a launch")
        };
        assert_eq!(launch.config, config);
        saved["commands"][0]["launch"]["config"].to_string()
    };
    let config = LaunchConfig::new(4, 32);
    // As programs without clusters read and write it.
    insta::assert_snapshot!(saved(config), @r#"{"block":[32,1,1],"grid":[4,1,1],"shared_mem_bytes":0}"#);
    insta::assert_snapshot!(saved(config.with_cluster((2, 1))), @r#"{"block":[32,1,1],"cluster":[2,1,1],"grid":[4,1,1],"shared_mem_bytes":0}"#);
    insta::assert_snapshot!(saved(config.with_non_portable_cluster(16)), @r#"{"block":[32,1,1],"cluster":[16,1,1],"grid":[4,1,1],"non_portable_cluster":true,"shared_mem_bytes":0}"#);
    let empty = Plan::new("p").launch("k", config.with_cluster(0), args![]);
    insta::assert_snapshot!(empty.unwrap_err(), @"plan `p`, command 0 (launch of `k`): cluster [0, 1, 1] is empty; every extent must be at least 1");
}

proptest! {
    #[test]
    fn saved_plans_load_as_they_were(
        // No control characters and no separators of lines and paragraphs: a plan refuses them.
        name in "[^\\p{C}\\p{Zl}\\p{Zp}]{0,10}",
        extents in prop::collection::vec((1u32.., 1u32.., any::<u32>()), 1..5),
        seed_args in {
            let (_, u, v, _) = plan_with_buffers();
            prop::collection::vec(any_arg([u, v]), 0..8)
        },
    ) {
        let (mut plan, u, v, _) = plan_with_buffers();
        // The strategy's ids are of another plan: the first two buffers, in the same order.
        let own = |id: BufferId| if id.index() == 0 { u } else { v };
        let args: Vec<Arg> = seed_args
            .into_iter()
            .map(|arg| arg.with_buffer(own))
            .collect();
        for (grid, block, shared_mem_bytes) in extents {
            let config = LaunchConfig::new((grid, block), block).with_shared_mem_bytes(shared_mem_bytes).with_cluster((block, 1 + block % 3));
            plan.launch(&format!("k{name}"), config, args.clone()).unwrap();
        }
        plan.copy_range(u, 3, u, 0, 3).unwrap();
        plan.output(name, v);
        let saved = serde_json::to_string(&plan).unwrap();
        let loaded: Plan = serde_json::from_str(&saved).unwrap();
        prop_assert_eq!(&serde_json::to_string(&loaded).unwrap(), &saved);
        let positions = |one: &Plan| -> Vec<Vec<Arg>> {
            let of_command = |command| match command {
                Command::Launch(launch) => launch.args.to_vec(),
                _ => Vec::new(),
            };
            // Ids differ between plans; positions do not.
            let strip = |arg: Arg| arg.with_buffer(|id| BufferId::from(u32::from(id)));
            one.commands().map(|c| of_command(c).into_iter().map(strip).collect()).collect()
        };
        prop_assert_eq!(format!("{:?}", positions(&loaded)), format!("{:?}", positions(&plan)));
        // It is a plan of its own: the old ids are not its ids.
        prop_assert!(loaded.buffer_info(u).is_err());
        prop_assert_eq!(loaded.buffers(), plan.buffers());
    }

    #[test]
    fn covering_grids_cover_and_no_more(
        threads in (1u32.., 1u32.., 1u32..),
        block in (1u32..=1024, 1u32..=1024, 1u32..=64),
    ) {
        let config = LaunchConfig::covering(threads, block).unwrap();
        let threads = <[u32; 3]>::from(threads);
        for (axis, &wanted) in threads.iter().enumerate() {
            let covered = u64::from(config.grid[axis]) * u64::from(config.block[axis]);
            prop_assert!(covered >= wanted.into());
            prop_assert!(covered - u64::from(wanted) < config.block[axis].into());
        }
    }

    #[test]
    fn whole_clusters_are_the_fewest(
        grid in (1u32.., 1u32.., 1u32..),
        cluster in (0u32..10, 0u32..10, 0u32..10),
    ) {
        let config = LaunchConfig::new(grid, 1).in_whole_clusters(cluster);
        prop_assert_eq!(config.with_cluster(1), LaunchConfig::new(config.grid, 1));
        for (axis, &wanted) in <[u32; 3]>::from(grid).iter().enumerate() {
            let (blocks, of_cluster) = (config.grid[axis], config.cluster[axis]);
            match wanted.checked_next_multiple_of(of_cluster) {
                Some(_) => prop_assert!(blocks % of_cluster == 0 && blocks - wanted < of_cluster),
                None => prop_assert_eq!(blocks, wanted),
            }
        }
    }

    #[test]
    fn ranges_are_accepted_if_and_only_if_they_fit(
        src_start in 0u64..12,
        dst_start in 0u64..12,
        len in 0u64..12,
        same in any::<bool>(),
    ) {
        let (mut plan, u, v, _) = plan_with_buffers();
        let dst = if same { u } else { v };
        let in_bounds = src_start + len <= 10 && dst_start + len <= 10;
        // Element by element, as the definition says.
        let overlap = same && (0..len).any(|i| (0..len).any(|j| src_start + i == dst_start + j));
        let result = plan.copy_range(u, src_start, dst, dst_start, len);
        prop_assert_eq!(result.is_ok(), in_bounds && !overlap, "{:?}", result);
    }

    #[test]
    fn sizes_never_wrap(len in any::<usize>(), shift in 0u32..64) {
        let len = len >> shift;
        let mut plan = Plan::new("p");
        plan.buffer("u", Element::F64, len);
        let fits = len > 0 && len as u128 * 8 <= isize::MAX as u128;
        prop_assert_eq!(plan.check().is_ok(), fits);
        if fits {
            prop_assert_eq!(u128::from(plan.memory_bytes().unwrap()), len as u128 * 8);
        }
    }
}
