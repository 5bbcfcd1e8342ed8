//! Plans over several devices, on emulated ones.

#[path = "../several/mod.rs"]
mod several;

use std::sync::Arc;

use device::run::reset;
use device::validate::ValidationError;
use device::{Device, DeviceError, Element, EmulatedDevice, Error, HostBuffer, Options, Share};
use exit::ErrorKind;
use plan::{BufferId, Command, LaunchConfig, Plan, args};
use ranks::{Link, thread_links};
use several::{SEAM, Slabs, exchanging, expected, out, prepared, slabs, start, sums_of};
use several::{
    blocks_go_and_come_back, graphs_have_the_results_of_streams, peers_are_read,
    slabs_have_the_results_of_one,
};

fn emulated(devices: u64) -> EmulatedDevice {
    EmulatedDevice::default().with_devices(devices as u32)
}

#[test]
fn emulated_slabs_have_the_results_of_one() {
    for devices in 1..=5 {
        slabs_have_the_results_of_one(&emulated(devices), devices);
        graphs_have_the_results_of_streams(&emulated(devices), devices);
    }
    // A group may be larger than the plan.
    slabs_have_the_results_of_one(&emulated(4), 3);
}

#[test]
fn emulated_peers_are_read() {
    peers_are_read(&emulated(2));
}

#[test]
fn emulated_blocks_go_and_come_back() {
    blocks_go_and_come_back(&emulated(2));
}

/// The stores of all parts are told, although seams are copied as well.
#[test]
fn elements_of_slabs_have_the_threads_that_stored_them() {
    let plan = exchanging(3, 100, 2);
    let both = ["u", "v"].map(|name| (name.to_owned(), HostBuffer::from(start(100))));
    let stored_on =
        |device: EmulatedDevice| device.stores(&SEAM, &plan, &both.clone().into(), "out");
    let stores = stored_on(emulated(3)).unwrap();
    let (walls, inside): (Vec<usize>, _) = (0..100).partition(|&at| at == 0 || at == 99);
    assert!(walls.iter().all(|&at| stores[at].is_none()));
    let launches = plan
        .commands()
        .filter(|command| matches!(command, Command::Launch(_)));
    let last_step = launches.count() / 2;
    let is_of_last = |at: &usize| stores[*at].is_some_and(|stored| stored.launch >= last_step);
    assert!(inside.iter().all(is_of_last), "{stores:?}");
    let error = stored_on(emulated(1)).unwrap_err();
    insta::assert_snapshot!(error, @"plan `3 slabs of 100` needs 3 devices, and there is 1");
}

#[test]
fn too_few_devices() {
    let plan = exchanging(3, 100, 1);
    let device = emulated(2);
    let error = device.prepare(&SEAM, &plan).err().unwrap();
    insta::assert_snapshot!(error, @"plan `3 slabs of 100` needs 3 devices, and there are 2");
    assert_eq!(error.kind(), ErrorKind::Environment);
}

#[test]
fn without_peer_access_kernels_read_their_own_device_and_copies_go_on() {
    let device = emulated(3).without_peer_access();
    slabs_have_the_results_of_one(&device, 3);
    let mut plan = Plan::new("peers");
    let there = plan.scratch_on(1, "there", Element::U32, 102);
    let here = plan.buffer("here", Element::U32, 100);
    sums_of(&mut plan, there, here, 100);
    let error = device.prepare(&SEAM, &plan).err().unwrap();
    insta::assert_snapshot!(error, @"plan `peers`, command 0 (launch of `neighbours`): it runs on device 0 and uses `there`, which is on device 1; these two have no peer access. Use a solution that copies between devices");
    assert!(matches!(
        error,
        Error::Validation(ValidationError::NoPeerAccess { .. })
    ));
}

/// Runs a timestep of two slabs whose commands `change` has changed.
fn faulty(change: impl Fn(&mut Plan, [Vec<BufferId>; 2])) -> Error {
    let mut plan = Plan::new("faulty");
    let Slabs { parts, wholes, .. } = slabs(&mut plan, 2, 22);
    plan.output("out", wholes[1]);
    change(&mut plan, parts);
    let device = emulated(2);
    let mut session = device.prepare(&SEAM, &plan).unwrap();
    let inputs = vec![("u".to_owned(), HostBuffer::from(start(22)))];
    reset(session.as_mut(), &plan, &inputs).unwrap();
    session.run().unwrap_err()
}

#[test]
fn what_a_launch_does_not_state_is_found() {
    let one = LaunchConfig::new(1, 64);
    // It says that it leaves the seam alone, which is being sent meanwhile, and writes it.
    let error = faulty(|plan, [from, to]| {
        let args = args![from[0].slice(), to[0].range(1, 9), 10u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    insta::assert_snapshot!(error, @"plan `faulty`, command 0 (launch of `neighbours`): it writes element 10 of buffer `v.0`, which its arguments do not state (pointer to 1..10); another device may use that element at the same time. Pass a range that has all elements which the kernel accesses");
    assert!(matches!(
        error,
        Error::Device(DeviceError::Unstated { writes: true, .. })
    ));
    assert_eq!(error.kind(), ErrorKind::Submission);
    // It says that it does not read the halo, which is on its way, and reads it.
    let unstated_read = faulty(|plan, [from, to]| {
        let args = args![from[0].slice_at(0, 11), to[0].range(1, 10), 10u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    insta::assert_snapshot!(unstated_read, @"plan `faulty`, command 0 (launch of `neighbours`): it reads element 11 of buffer `u.0`, which its arguments do not state (slice of 0..11); another device may use that element at the same time. Pass a range that has all elements which the kernel accesses");
    // It writes what it only reads by its arguments, beside a range that it may write.
    let unstated_write = faulty(|plan, [_, to]| {
        let args = args![to[0].slice_at(0, 12), to[0].range(3, 4), 5u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    assert!(matches!(
        unstated_write,
        Error::Device(DeviceError::Emulated { .. } | DeviceError::Unstated { writes: true, .. })
    ));
    // A halo that is read before it came was never written.
    let unwritten = faulty(|plan, [_, to]| {
        let args = args![to[0].slice_at(0, 3), to[1].range(1, 1), 1u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    insta::assert_snapshot!(unwritten, @r#"
plan `faulty`, command 0 (launch of `neighbours`)
uninitialized read: load of 4 bytes from byte 0 of buffer `v.0`, which nothing has written before
  in kernel `neighbours` at PTX line 30, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 33, a store to global memory of it
"#);
}

#[test]
fn a_group_states_nothing_where_it_has_one_device() {
    let mut plan = Plan::new("one");
    let u = plan.buffer("u", Element::U32, 12);
    let v = plan.buffer("v", Element::U32, 12);
    let args = args![u.slice_at(0, 3), v.range(0, 1), 10u32];
    plan.launch("neighbours", LaunchConfig::new(1, 64), args)
        .unwrap();
    plan.output("out", v);
    let device = EmulatedDevice::new(Options::default());
    let mut session = device.prepare(&SEAM, &plan).unwrap();
    let both = ["u", "v"].map(|name| (name.to_owned(), HostBuffer::from(start(12))));
    reset(session.as_mut(), &plan, &both.into()).unwrap();
    session.run().unwrap();
}

/// Processes are threads here: each has some of the devices, and links to the others'.
#[test]
fn processes_that_share_the_devices_have_the_results_of_one() {
    let longest = std::time::Duration::from_secs(20);
    for (ranks, each) in [(2, 1), (3, 1), (2, 2)] {
        let devices = (ranks * each) as u64;
        let (len, steps) = (101, 6);
        let plan = exchanging(devices, len, steps);
        let links = thread_links(ranks, each, longest);
        let results: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let rank = |rank: usize| {
                let own = rank * each..(rank + 1) * each;
                let links = links[own.clone()]
                    .iter()
                    .cloned()
                    .map(|link| Arc::new(link) as Arc<dyn Link>)
                    .collect();
                let share = Share {
                    own: own.start as u32..own.end as u32,
                    all: devices as u32,
                };
                let device = EmulatedDevice::default().with_share(share, links);
                let shared = &plan;
                scope.spawn(move || {
                    let mut session = prepared(&device, shared, len);
                    session.run().unwrap();
                    out(session.as_mut(), shared)
                })
            };
            let threads: Vec<_> = (0..ranks).map(rank).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        // Each has its own part, and zeros elsewhere.
        let expected = expected(len, steps);
        for (at, right) in expected.into_iter().enumerate() {
            let theirs = results
                .iter()
                .map(|result| result[at])
                .filter(|&value| value != 0);
            assert_eq!(theirs.collect::<Vec<_>>(), [right], "element {at}");
        }
    }
}
