//! A launch on several devices, which wait for each other by flags.

use ptx_emu::{Executable, LaunchConfig, LoadedModule, Machine, Options, Schedule};

/// Each block sends a number to the mailbox of the block after it, and takes the one that it is
/// sent. A mailbox has a flag, the number, and room for what is taken. `shift` is a variable, of
/// which each device has its own.
const SEND: &str = "
.version 7.8
.target sm_80
.address_size 64
.global .u32 shift = 7;
.visible .entry send(.param .u64 own, .param .u64 next, .param .u32 number)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [own];
    ld.param.u64 %rd2, [next];
    ld.param.u32 %r1, [number];
    mov.u32 %r5, %ctaid.x;
    mul.wide.u32 %rd3, %r5, 12;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    atom.global.add.u32 %r6, [shift], 1;
    st.global.u32 [%rd2+4], %r1;
    st.release.sys.global.u32 [%rd2], 1;
$wait:
    ld.acquire.sys.global.u32 %r2, [%rd1];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra $wait;
    ld.global.u32 %r3, [%rd1+4];
    st.global.u32 [%rd1+8], %r3;
    ret;
}";

const BLOCKS: u32 = 3;

/// The numbers that the mailboxes of three devices in a circle have in the end, and each device's
/// `shift`.
fn sent(ptx: &str, devices: usize, schedule: Schedule) -> Result<(Vec<u32>, Vec<u32>), String> {
    let mut machine = Machine::default();
    machine.set_options(Options {
        schedule,
        ..Options::default()
    });
    let executable = std::sync::Arc::new(Executable::parse(ptx).unwrap());
    let load = |_| machine.load(executable.clone()).unwrap();
    let modules: Vec<LoadedModule> = (0..3).map(load).collect();
    let bytes = 12 * u64::from(BLOCKS);
    let place = |device| machine.allocate(bytes, &format!("mail.{device}")).unwrap();
    let mail: Vec<u64> = (0..3).map(place).collect();
    for &box_of_one in &mail {
        machine.write(box_of_one, &vec![0; bytes as usize]).unwrap();
    }
    let launches: Vec<_> = (0..devices)
        .map(|device| {
            let params = [
                mail[device].to_le_bytes(),
                mail[(device + 1) % 3].to_le_bytes(),
            ];
            let number = (10 + device as u32).to_le_bytes();
            (
                modules[device].clone(),
                [&params.concat(), &number[..]].concat(),
            )
        })
        .collect();
    let config = LaunchConfig {
        grid: [BLOCKS, 1, 1],
        block: [1; 3],
        shared_mem_bytes: 0,
        cluster: [1; 3],
    };
    let report = machine
        .launch_together(&launches, "send", &config)
        .map_err(|fault| fault.to_string())?;
    assert_eq!(report.blocks, devices as u64 * u64::from(BLOCKS));
    let word = |address: u64| {
        let mut word = [0; 4];
        machine.read(address, &mut word).unwrap();
        u32::from_le_bytes(word)
    };
    let taken = mail
        .iter()
        .flat_map(|&mail| (0..u64::from(BLOCKS)).map(move |block| mail + 12 * block + 8));
    let shifts = modules
        .iter()
        .map(|module| word(module.global("shift").unwrap().0));
    Ok((taken.map(word).collect(), shifts.collect()))
}

fn schedules() -> impl Iterator<Item = Schedule> {
    let random = (40..48).map(|seed| Schedule::Random { seed });
    random.chain([Schedule::InOrder])
}

#[test]
fn each_device_waits_for_another() {
    for schedule in schedules() {
        let (taken, shifts) = sent(SEND, 3, schedule).unwrap();
        assert_eq!(taken, [12, 12, 12, 10, 10, 10, 11, 11, 11], "{schedule:?}");
        assert_eq!(shifts, [10; 3], "each device has its own variable");
    }
}

#[test]
fn what_is_missing_between_devices_is_found() {
    for schedule in schedules() {
        let error = |from: &str, to: &str, devices| {
            assert!(SEND.contains(from));
            sent(&SEND.replace(from, to), devices, schedule).unwrap_err()
        };
        let found = [
            // The one before is not there.
            (error("ret", "ret", 2), "wait"),
            (error("st.release.sys.global.u32 [%rd2], 1;", "", 3), "wait"),
            (
                error("st.release.sys", "st.relaxed.sys", 3),
                "lacks a fence",
            ),
            (
                error("ld.acquire.sys", "ld.relaxed.sys", 3),
                "a fence is missing on this side",
            ),
            (
                error("st.release.sys", "st.release.gpu", 3),
                "`.gpu` for those of one device",
            ),
            (
                error("ld.acquire.sys", "ld.acquire.gpu", 3),
                "`.gpu` for those of one device",
            ),
        ];
        for (message, part) in found {
            assert!(message.contains(part), "{schedule:?}: {message}");
        }
    }
}
