//! Duties of a device that is several of them: `all/groups.rs` of this crate tries them on emulated
//! devices, `devices.rs` of the crate `cuda` on GPUs.
#![allow(dead_code)] // Each test program uses a part of it.

use device::run::{outputs, reset};
use device::{Capture, Device, Element, HostBuffer, Launching, Module, Session, TimedSession};
use plan::{BufferId, LaunchConfig, Part, Plan, Rect, args};

pub static SEAM: Module = Module::from_static("seam", include_str!("../seam.ptx"));

/// Two fields of `len` elements in slabs on the devices, each with one element of halo.
pub struct Slabs {
    pub wholes: [BufferId; 2],
    pub parts: [Vec<BufferId>; 2],
    /// The elements that each device computes.
    pub shares: Vec<std::ops::Range<u64>>,
}

pub fn slabs(plan: &mut Plan, devices: u64, len: u64) -> Slabs {
    let inside = len - 2;
    let start = |device: u64| 1 + device * inside / devices;
    let shares: Vec<_> = (0..devices)
        .map(|device| start(device)..start(device + 1))
        .collect();
    let rect = |rows| Rect {
        rows,
        columns: 0..1,
    };
    let parts: Vec<Part> = (0..)
        .zip(&shares)
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
pub fn sums(plan: &mut Plan, from: BufferId, to: BufferId, first: u64, end: u64) {
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
pub fn exchanging(devices: u64, len: u64, steps: u32) -> Plan {
    let mut plan = Plan::new(format!("{devices} slabs of {len}"));
    let Slabs {
        wholes,
        parts: [mut from, mut to],
        shares,
    } = slabs(&mut plan, devices, len);
    for _ in 0..steps {
        let lens: Vec<u64> = shares.iter().map(|share| share.end - share.start).collect();
        for (device, &cells) in lens.iter().enumerate() {
            sums(&mut plan, from[device], to[device], 1, 2);
            sums(&mut plan, from[device], to[device], cells.max(2), cells + 1);
        }
        for device in 1..devices as usize {
            let (low, high) = (to[device - 1], to[device]);
            let low_len = lens[device - 1];
            plan.copy_range(low, low_len, high, 0, 1).unwrap();
            plan.copy_range(high, 1, low, low_len + 1, 1).unwrap();
        }
        for (device, &cells) in lens.iter().enumerate() {
            sums(&mut plan, from[device], to[device], 2, cells);
        }
        (from, to) = (to, from);
    }
    plan.output("out", wholes[steps as usize % 2]);
    plan
}

pub fn start(len: u64) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(i) + 7).collect()
}

pub fn expected(len: u64, steps: u32) -> Vec<u32> {
    let mut field = start(len);
    for _ in 0..steps {
        let next = field.windows(3).map(|w| w[0].wrapping_add(w[2]));
        let inside: Vec<u32> = next.collect();
        field[1..len as usize - 1].copy_from_slice(&inside);
    }
    field
}

pub fn prepared<'d>(device: &'d dyn Device, plan: &Plan, len: u64) -> Box<dyn TimedSession + 'd> {
    let mut session = device.prepare(&SEAM, plan).unwrap();
    let both = ["u", "v"].map(|name| (name.to_owned(), HostBuffer::from(start(len))));
    reset(session.as_mut(), plan, &both.into()).unwrap();
    session
}

pub fn out(session: &mut dyn Session, plan: &Plan) -> Vec<u32> {
    let outputs = outputs(session, plan).unwrap();
    outputs[0].1.as_slice::<u32>().unwrap().to_vec()
}

/// On a device that is `devices` of them.
pub fn slabs_have_the_results_of_one(device: &dyn Device, devices: u64) {
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

pub fn graphs_have_the_results_of_streams(device: &dyn Device, devices: u64) {
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
    let mut again = prepared(device, &plan, len);
    if let Some(segments) = again.run_segments(5).unwrap() {
        assert_eq!(segments.parts.len(), 5);
        assert!(out(again.as_mut(), &plan) == expected(len, steps));
    }
}

/// Kernels of one device read what another has written.
pub fn peers_are_read(device: &dyn Device) {
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

pub fn sums_of(plan: &mut Plan, from: BufferId, to: BufferId, n: u32) {
    let config = LaunchConfig::covering(n, 64).unwrap();
    plan.launch("neighbours", config, args![from.slice(), to, n])
        .unwrap();
}

/// Rows and columns of a buffer go to their parts and come back, halos left out.
pub fn blocks_go_and_come_back(device: &dyn Device) {
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
