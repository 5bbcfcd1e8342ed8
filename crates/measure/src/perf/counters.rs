//! Instructions and sectors of kernels, which the emulated device counts exactly on a small case.

use device::run;
use device::{
    EmulatedDevice, GlobalTraffic, InstructionClass, InstructionCounts, Options, Sanitize,
};
use lab::{Lab, LabCase, Variant};
use results::counted::{Counted, KernelCounts};

use inspect::profile::figures::SECTOR_BYTES;
use terminal::progress::Bar;

/// Counts beside times, if the case has a small one like it, whose accesses are alike.
pub fn count(variants: &[&Variant], case: &dyn LabCase) -> Option<Counted> {
    Some(on(variants, case.reduced()?.as_ref(), true))
}

/// Counts where nothing was timed: see [`lab::counted_instead`].
pub fn count_instead_of_times(
    lab: &Lab,
    variants: &[&Variant],
    case: &dyn LabCase,
) -> Option<Counted> {
    if variants.is_empty() {
        return None;
    }
    let other = lab::counted_instead(lab, case);
    Some(on(variants, other.as_deref().unwrap_or(case), false))
}

fn on(variants: &[&Variant], case: &dyn LabCase, count_l2: bool) -> Counted {
    let device = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        count_l2,
        ..Options::default()
    });
    let _bar = Bar::spinner(format!("counting on {}", case.label()));
    let mut counted = Counted {
        case: case.label(),
        unit: case.work().unit.to_owned(),
        kernels: Vec::new(),
        failures: Vec::new(),
    };
    for variant in variants {
        match counts(&device, case, variant) {
            Ok(mut kernels) => counted.kernels.append(&mut kernels),
            Err(error) => counted.failures.push(format!("{}: {error}", variant.name)),
        }
    }
    counted
}

/// Bytes of L1 and shared memory. An asynchronous copy passes once: what it loads is what it
/// stores.
fn l1_bytes(instructions: &[InstructionCounts]) -> u64 {
    let of = |instruction: &InstructionCounts| {
        let counts = &instruction.counts;
        let copied = counts.shared_stores.bytes;
        if instruction.class == InstructionClass::Load && copied > 0 {
            return copied;
        }
        let sectors = counts.global_loads.sectors
            + counts.global_stores.sectors
            + counts.global_atomics.sectors;
        let shared = counts.shared_loads.bytes + copied + counts.shared_atomics.bytes;
        let of_others = counts.distributed_loads.bytes
            + counts.distributed_stores.bytes
            + counts.distributed_atomics.bytes;
        SECTOR_BYTES * sectors + shared + of_others
    };
    instructions.iter().map(of).sum()
}

fn counts(
    device: &EmulatedDevice,
    case: &dyn LabCase,
    variant: &Variant,
) -> Result<Vec<KernelCounts>, device::Error> {
    let plan = variant.record(case)?;
    let mut session = device::Device::prepare(device, &variant.module, &plan)?;
    run::reset(session.as_mut(), &plan, &case.inputs()?)?;
    session.run()?;
    let reports = session.reports().iter();
    Ok(reports
        .map(|report| {
            let counts = &report.total.counts;
            let mut all = GlobalTraffic::default();
            all += counts.global_loads;
            all += counts.global_stores;
            all += counts.global_atomics;
            KernelCounts {
                variant: variant.name.clone(),
                kernel: report.total.kernel.clone(),
                launches: report.launches,
                updates: case.work().updates,
                instructions: counts.instructions.thread,
                warp_instructions: counts.instructions.warp,
                sectors: all.sectors,
                ideal_sectors: all.ideal_sectors,
                efficiency: (all.sectors != 0).then(|| all.efficiency()),
                l1_bytes: l1_bytes(&report.total.instructions),
                l2_bytes: SECTOR_BYTES * all.l2_sectors,
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::counted::LevelBytes;
    use test_lab::ptx::TRIPLING;

    fn level_bytes(variant: &str) -> LevelBytes {
        let variants: Vec<&Variant> = TRIPLING.variants.iter().collect();
        let case = TRIPLING.small_cases().remove(0);
        let counted = count(&variants, case.as_ref()).unwrap();
        assert_eq!(counted.level_bytes("none"), None);
        counted.level_bytes(variant).unwrap()
    }

    #[test]
    fn what_is_counted_instead_of_times_is_large() {
        let case = |text: &str| {
            let pairs: Vec<&str> = text.split(' ').collect();
            let params = lab::CaseParams::parse(pairs).unwrap();
            host::poisson::LAB.case(&params).unwrap()
        };
        let instead = |text: &str| {
            let instead = lab::counted_instead(&host::poisson::LAB, case(text).as_ref());
            instead.map(|instead| instead.label())
        };
        let short = instead("n=128 iterations=200");
        assert_eq!(short.as_deref(), Some("128^3, 8 iterations"));
        let of_few_points = instead("n=32 iterations=200");
        assert_eq!(of_few_points.as_deref(), Some("32^3, 16 iterations"));
        assert_eq!(instead("n=32 iterations=10"), None);
        // It says itself which steps tell of all.
        let of_laptop = |lab: &Lab| {
            let laptop = lab.laptop_cases().remove(0);
            (lab::counted_instead(lab, laptop.as_ref()), laptop)
        };
        let (reduced, laptop) = of_laptop(&host::stencil25::LAB);
        let (one_step, steps) = (reduced.unwrap(), laptop.timesteps().unwrap());
        assert_eq!(one_step.timesteps(), Some(1));
        assert_eq!(one_step.work().updates, laptop.work().updates / steps);
        // A reduced form that is small would not be true.
        assert!(of_laptop(&host::matadd::LAB).0.is_none());
        // Too large: a laptop's case is counted.
        let (of_a_laptop, _) = of_laptop(&host::poisson::LAB);
        assert_eq!(
            instead("n=512 iterations=10"),
            Some(of_a_laptop.unwrap().label())
        );
    }

    #[test]
    fn levels_are_told_apart() {
        // A word is loaded, and one stored.
        assert_eq!(level_bytes("coalesced"), LevelBytes { l1: 8.0, l2: 8.0 });
        // A warp loads and stores half of each sector, the block's other warp the rest: L1 has it
        // then, but stores go on to L2.
        assert_eq!(level_bytes("scattered"), LevelBytes { l1: 16.0, l2: 12.0 });
        // A word more is stored to shared memory and loaded again.
        assert_eq!(level_bytes("banked"), LevelBytes { l1: 16.0, l2: 8.0 });
    }
}
