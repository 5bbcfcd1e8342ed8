//! Plans over several devices: on emulated ones, and on all GPUs of a machine that has two.

#[cfg(target_os = "linux")]
mod gpu;

use std::sync::Arc;

use device::run::{outputs, reset};
use device::validate::ValidationError;
use device::{Capture, Device, Element, Error, HostBuffer, Launching, Module};
use device::{DeviceError, EmulatedDevice, Options, Session, Share};
use exit::ErrorKind;
use plan::{BufferId, LaunchConfig, Plan, args};
use plan::{Part, Rect};
use ranks::{Link, thread_links};

static SEAM: Module = Module::from_static("seam", include_str!("seam.ptx"));

/// Two fields of `len` elements in slabs on the devices, each with one element of halo.
struct Slabs {
    wholes: [BufferId; 2],
    parts: [Vec<BufferId>; 2],
    /// The elements that each device computes.
    shares: Vec<std::ops::Range<u64>>,
}

fn slabs(plan: &mut Plan, devices: u64, len: u64) -> Slabs {
    let inside = len - 2;
    let start = |device: u64| 1 + device * inside / devices;
    let shares: Vec<_> = (0..devices)
        .map(|device| start(device)..start(device + 1))
        .collect();
    let rect = |rows| Rect {
        rows,
        columns: 0..1,
    };
    let parts: Vec<Part> = { (0..).zip(&shares) }
        .map(|(device, share)| Part {
            device,
            holds: rect(share.start - 1..share.end + 1),
            owns: rect(match u64::from(device) {
                _ if devices == 1 => 0..len,
                0 => 0..share.end,
                last if last + 1 == devices => share.start..len,
                _ => share.clone(),
            }),
        })
        .collect();
    let wholes = [
        plan.buffer("u", Element::U32, len as usize),
        plan.buffer("v", Element::U32, len as usize),
    ];
    let parts = wholes.map(|whole| plan.scatter(whole, 1, &parts).unwrap());
    Slabs {
        wholes,
        parts,
        shares,
    }
}

/// The launch that computes elements `first..end` of a device's part, which begins one element
/// before its share.
fn sums(plan: &mut Plan, from: BufferId, to: BufferId, first: u64, end: u64) {
    if first >= end {
        return;
    }
    let n = (end - first) as u32;
    let config = LaunchConfig::covering(n, 64).unwrap();
    let args = args![
        from.slice_at(first - 1, u64::from(n) + 2),
        to.range(first, n.into()),
        n
    ];
    plan.launch("neighbours", config, args).unwrap();
}

/// `steps` timesteps on `devices` devices: seams first, exchanged while the rest is computed.
fn exchanging(devices: u64, len: u64, steps: u32) -> Plan {
    let mut plan = Plan::new(format!("{devices} slabs of {len}"));
    let Slabs {
        wholes,
        parts: [mut from, mut to],
        shares,
    } = slabs(&mut plan, devices, len);
    for _ in 0..steps {
        let lens: Vec<u64> = shares.iter().map(|share| share.end - share.start).collect();
        for (device, &len) in lens.iter().enumerate() {
            sums(&mut plan, from[device], to[device], 1, 2);
            sums(&mut plan, from[device], to[device], len.max(2), len + 1);
        }
        for device in 1..devices as usize {
            let (low, high) = (to[device - 1], to[device]);
            let low_len = lens[device - 1];
            plan.copy_range(low, low_len, high, 0, 1).unwrap();
            plan.copy_range(high, 1, low, low_len + 1, 1).unwrap();
        }
        for (device, &len) in lens.iter().enumerate() {
            sums(&mut plan, from[device], to[device], 2, len);
        }
        (from, to) = (to, from);
    }
    plan.output("out", wholes[steps as usize % 2]);
    plan
}

fn start(len: u64) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(i) + 7).collect()
}

fn expected(len: u64, steps: u32) -> Vec<u32> {
    let mut field = start(len);
    for _ in 0..steps {
        let next = field.windows(3).map(|w| w[0].wrapping_add(w[2]));
        let inside: Vec<u32> = next.collect();
        field[1..len as usize - 1].copy_from_slice(&inside);
    }
    field
}

fn prepared<'d>(device: &'d dyn Device, plan: &Plan, len: u64) -> Box<dyn Session + 'd> {
    let mut session = device.prepare(&SEAM, plan).unwrap();
    let both = ["u", "v"].map(|name| (name.to_owned(), HostBuffer::from(start(len))));
    reset(session.as_mut(), plan, &both.into()).unwrap();
    session
}

fn out(session: &mut dyn Session, plan: &Plan) -> Vec<u32> {
    let outputs = outputs(session, plan).unwrap();
    outputs[0].1.as_slice::<u32>().unwrap().to_vec()
}

/// On a device that is `devices` of them.
fn slabs_have_the_results_of_one(device: &dyn Device, devices: u64) {
    // Thin slabs are all seam; long ones run on several streams at once.
    for (len, steps) in [
        (devices + 2, 5),
        (2 * devices + 3, 4),
        (1001, 7),
        (1 << 17, 3),
    ] {
        let plan = exchanging(devices, len, steps);
        assert_eq!(plan.devices(), devices as u32);
        let mut session = prepared(device, &plan, len);
        session.run().unwrap();
        let got = out(session.as_mut(), &plan);
        assert!(
            got == expected(len, steps),
            "{devices} devices, {len} elements"
        );
    }
}

fn graphs_have_the_results_of_streams(device: &dyn Device, devices: u64) {
    let (len, steps) = (501, 40);
    let plan = exchanging(devices, len, steps);
    let mut session = prepared(device, &plan, len);
    let captured = session.capture().unwrap();
    if let Capture::Graph { nodes, .. } = captured {
        assert_eq!(nodes as usize, plan.commands().len());
    }
    // An even number of timesteps: the next run starts from where the last ended.
    session.run_times(3, Launching::Graph).unwrap();
    session.run_times(2, Launching::Stream).unwrap();
    let got = out(session.as_mut(), &plan);
    assert!(got == expected(len, 5 * steps));
    let mut session = prepared(device, &plan, len);
    if let Some(segments) = session.run_segments(5).unwrap() {
        assert_eq!(segments.parts.len(), 5);
        assert!(out(session.as_mut(), &plan) == expected(len, steps));
    }
}

/// Kernels of one device read what another has written.
fn peers_are_read(device: &dyn Device) {
    let mut plan = Plan::new("peers");
    let u = plan.buffer("u", Element::U32, 102);
    let there = plan.scratch_on(1, "there", Element::U32, 100);
    let here = plan.scratch("here", Element::U32, 98);
    sums_of(&mut plan, u, there, 100);
    sums_of(&mut plan, there, here, 98);
    plan.output("out", here);
    let mut session = device.prepare(&SEAM, &plan).unwrap();
    let input: Vec<u32> = start(102);
    let inputs = vec![("u".to_owned(), HostBuffer::from(input.clone()))];
    reset(session.as_mut(), &plan, &inputs).unwrap();
    for _ in 0..3 {
        session.run().unwrap();
    }
    let sums = |of: &[u32]| -> Vec<u32> { of.windows(3).map(|w| w[0] + w[2]).collect() };
    assert_eq!(out(session.as_mut(), &plan), sums(&sums(&input)));
}

fn sums_of(plan: &mut Plan, from: BufferId, to: BufferId, n: u32) {
    let config = LaunchConfig::covering(n, 64).unwrap();
    plan.launch("neighbours", config, args![from.slice(), to, n])
        .unwrap();
}

/// Rows and columns of a buffer go to their parts and come back, halos left out.
fn blocks_go_and_come_back(device: &dyn Device) {
    let mut plan = Plan::new("blocks");
    let u = plan.buffer("u", Element::U32, 60);
    let rect = |rows, columns| Rect { rows, columns };
    let blocks = [
        (rect(0..4, 0..6), rect(0..3, 0..5)),
        (rect(0..4, 4..10), rect(0..3, 5..10)),
        (rect(2..6, 0..10), rect(3..6, 0..10)),
    ];
    let parts = blocks.map(|(holds, owns)| Part {
        device: u32::from(owns.rows.start > 0),
        holds,
        owns,
    });
    let ids = plan.scatter(u, 10, &parts).unwrap();
    plan.output("out", u);
    for (number, id) in ids.iter().enumerate() {
        plan.output(format!("part {number}"), *id);
    }
    let mut session = device.prepare(&SEAM, &plan).unwrap();
    let inputs = vec![("u".to_owned(), HostBuffer::from(start(60)))];
    reset(session.as_mut(), &plan, &inputs).unwrap();
    session.run().unwrap();
    let got = outputs(session.as_mut(), &plan).unwrap();
    let values = |number: usize| got[number].1.as_slice::<u32>().unwrap();
    assert_eq!(values(0), start(60));
    assert_eq!(values(2)[..6], start(60)[4..10]);
    assert_eq!(values(2)[18..24], start(60)[34..40]);
    assert_eq!(values(3), &start(60)[20..60]);
    // A halo does not count.
    session.fill(ids[1], 0).unwrap();
    let whole = out(session.as_mut(), &plan);
    assert_eq!(
        (whole[4], whole[5], whole[30]),
        (start(60)[4], 0, start(60)[30])
    );
}

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

#[cfg(target_os = "linux")]
#[test]
fn gpus_do_what_emulated_devices_do() {
    let Some(group) = gpu::group() else { return };
    peers_are_read(group);
    blocks_go_and_come_back(group);
    for devices in 1..=u64::from(group.count()) {
        slabs_have_the_results_of_one(group, devices);
        graphs_have_the_results_of_streams(group, devices);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_group_on_the_emulated_driver() {
    test_support::on_emulated_driver(&["gpus_do_what_emulated_devices_do"], 3);
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
    let error = faulty(|plan, [from, to]| {
        let args = args![from[0].slice_at(0, 11), to[0].range(1, 10), 10u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    insta::assert_snapshot!(error, @"plan `faulty`, command 0 (launch of `neighbours`): it reads element 11 of buffer `u.0`, which its arguments do not state (slice of 0..11); another device may use that element at the same time. Pass a range that has all elements which the kernel accesses");
    // It writes what it only reads by its arguments, beside a range that it may write.
    let error = faulty(|plan, [_, to]| {
        let args = args![to[0].slice_at(0, 12), to[0].range(3, 4), 5u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    assert!(matches!(
        error,
        Error::Device(DeviceError::Emulated { .. } | DeviceError::Unstated { writes: true, .. })
    ));
    // A halo that is read before it came was never written.
    let error = faulty(|plan, [_, to]| {
        let args = args![to[0].slice_at(0, 3), to[1].range(1, 1), 1u32];
        plan.launch("neighbours", one, args).unwrap();
    });
    insta::assert_snapshot!(error, @r#"
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
                let links = links[own.clone()].iter().cloned();
                let links = links.map(|link| Arc::new(link) as Arc<dyn Link>).collect();
                let share = Share {
                    own: own.start as u32..own.end as u32,
                    all: devices as u32,
                };
                let device = EmulatedDevice::default().with_share(share, links);
                let plan = &plan;
                scope.spawn(move || {
                    let mut session = prepared(&device, plan, len);
                    session.run().unwrap();
                    out(session.as_mut(), plan)
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
        for (at, expected) in expected.into_iter().enumerate() {
            let theirs = results
                .iter()
                .map(|result| result[at])
                .filter(|&value| value != 0);
            assert_eq!(theirs.collect::<Vec<_>>(), [expected], "element {at}");
        }
    }
}
