//! Whether each device of a case with several takes part in its work.
//!
//! A buffer that lies on a device is a declaration, a launch may do nothing, and a kernel may hand
//! on what another device has computed. What counts is what a device has
//! [computed](device::Device::computed): values of the results that its kernels store and have not
//! read. So it makes no difference how results are spread, exchanged and gathered.

use lab::LabCase;
use plan::{Command, Plan};
use units::count;

use crate::outcome::{Failure, Kind};

/// The devices that a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Devices {
    /// How many there are.
    pub number: u32,
    /// Whether the case has anything to compute: without it, none needs to launch anything.
    pub has_work: bool,
}

impl Devices {
    /// This number of them, for a case.
    pub fn of(case: &dyn LabCase, number: u32) -> Devices {
        Devices {
            number,
            has_work: case.work().updates > 0,
        }
    }
}

/// Whether the plan uses this number of devices, and each of them launches something.
pub(super) fn are_used(plan: &Plan, devices: Devices) -> Result<(), Failure> {
    let (used, number) = (plan.devices(), devices.number);
    if used > number || (devices.has_work && used < number) {
        return Err(Failure::new(
            Kind::PlanInvalid,
            format!(
                "the plan uses {}; this case has {number} (`Plan::available_devices`)",
                count(used as usize, "device")
            ),
        ));
    }
    if number == 1 || !devices.has_work {
        return Ok(());
    }
    let mut launches = vec![false; number as usize];
    for command in plan.commands() {
        if let Command::Launch(_) = command {
            launches[command.device(plan.buffers()) as usize] = true;
        }
    }
    match launches.iter().position(|launches| !launches) {
        None => Ok(()),
        Some(idle) => Err(Failure::new(
            Kind::PlanInvalid,
            format!(
                "device {idle} of {number} launches no kernel; each device computes its share: a launch runs where the buffers \
                 are that it writes (`Plan::scratch_on`, `Slabs::share`)"
            ),
        )),
    }
}

/// Whether each device computes as much as `part` of an equal share. `computed` is how much each of
/// them computes, of `all`.
///
/// # Errors
///
/// [`Kind::PlanInvalid`]: the device that computes least, with the numbers.
pub fn each_works(computed: &[u64], all: u64, part: f64) -> Result<(), Failure> {
    let share = all as f64 / computed.len() as f64;
    let least = (0..).zip(computed).min_by_key(|(_, computed)| **computed);
    let Some((device, &fewest)) = least.filter(|(_, fewest)| (**fewest as f64) < part * share)
    else {
        return Ok(());
    };
    Err(Failure::new(
        Kind::PlanInvalid,
        format!(
            "device {device} of {} computes {fewest} of the {all} values that the results follow from; this lab asks each device \
             for {part} of an equal share, {}: let it compute its share",
            computed.len(),
            (part * share).ceil()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers that each device computes of a cube, by a rule.
    fn layers(all: u64, devices: u64, rounded_up: bool) -> Vec<u64> {
        let up = all.div_ceil(devices);
        let end = |device: u64| {
            if rounded_up {
                all.min(device * up)
            } else {
                device * all / devices
            }
        };
        let of = |device: u64| end(device + 1) - end(device);
        (0..devices).map(of).collect()
    }

    #[test]
    fn slabs_of_whole_layers_are_shares() {
        for devices in 2..=4 {
            for all in devices..40 {
                for rounded_up in [false, true] {
                    let layers = layers(all, devices, rounded_up);
                    // Rounded up, the last device may be left without any.
                    if layers.contains(&0) {
                        continue;
                    }
                    assert_eq!(each_works(&layers, all, 0.3), Ok(()), "{layers:?}");
                }
            }
        }
    }

    #[test]
    fn the_least_is_named() {
        let error = each_works(&[900, 40, 60], 1000, 0.4).unwrap_err();
        assert_eq!(error.kind, Kind::PlanInvalid);
        insta::assert_snapshot!(error.message, @"device 1 of 3 computes 40 of the 1000 values that the results follow from; this lab asks each device for 0.4 of an equal share, 134: let it compute its share");
        assert_eq!(each_works(&[0, 0], 0, 0.4), Ok(()));
    }
}
