//! Instructions and sectors of kernels, which the emulated device counts exactly on a small case.

use device::run;
use device::{
    EmulatedDevice, GlobalTraffic, InstructionClass, InstructionCounts, Options, Sanitize,
};
use lab::{Lab, LabCase, Variant};
use serde::{Deserialize, Serialize};

use inspect::profile::figures::SECTOR_BYTES;
use terminal::progress::Bar;

/// The counts of each variant's kernels on a small case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The small case.
    pub case: String,
    /// The unit of `updates`.
    pub unit: String,
    /// The counts, variant by variant.
    pub kernels: Vec<KernelCounts>,
    /// Variants that could not be counted, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The variant's name.
    pub variant: String,
    /// The kernel's name.
    pub kernel: String,
    /// Launches of it in a run.
    pub launches: u64,
    /// Useful work of the whole run.
    pub updates: u64,
    /// PTX instructions that threads executed.
    pub instructions: u64,
    /// PTX instructions that warps executed.
    pub warp_instructions: u64,
    /// Pieces of 32 bytes that warps touched.
    pub sectors: u64,
    /// Sectors that the same bytes would take at best.
    pub ideal_sectors: u64,
    /// `ideal_sectors / sectors`; none without traffic.
    pub efficiency: Option<f64>,
    /// Bytes that multiprocessors take from and give to L1 and shared memory: all sectors, and what
    /// threads move from and to shared memory. 0 in documents that do not say, as the next.
    #[serde(default)]
    pub l1_bytes: u64,
    /// Bytes that pass between L1 and L2, if a block's L1 keeps what the block has loaded.
    #[serde(default)]
    pub l2_bytes: u64,
}

/// Bytes of an update, of all kernels of a variant together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelBytes {
    /// Of L1 and shared memory.
    pub l1: f64,
    /// Of L2.
    pub l2: f64,
}

impl Counted {
    /// Counts beside times, if the case has a small one like it, whose accesses are alike.
    pub fn count(variants: &[&Variant], case: &dyn LabCase) -> Option<Counted> {
        Some(Counted::on(variants, case.reduced()?.as_ref(), true))
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
        Some(Counted::on(
            variants,
            other.as_deref().unwrap_or(case),
            false,
        ))
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

    /// All kernels of each variant together, in order.
    pub fn totals(&self) -> Vec<KernelCounts> {
        let of_variant = self.kernels.chunk_by(|a, b| a.variant == b.variant);
        let totals = of_variant.map(|kernels| {
            let sum = |of: fn(&KernelCounts) -> u64| kernels.iter().map(of).sum::<u64>();
            let (sectors, ideal_sectors) = (sum(|one| one.sectors), sum(|one| one.ideal_sectors));
            KernelCounts {
                kernel: String::new(),
                launches: sum(|one| one.launches),
                instructions: sum(|one| one.instructions),
                warp_instructions: sum(|one| one.warp_instructions),
                sectors,
                ideal_sectors,
                efficiency: (sectors > 0).then(|| ideal_sectors as f64 / sectors as f64),
                l1_bytes: sum(|one| one.l1_bytes),
                l2_bytes: sum(|one| one.l2_bytes),
                ..kernels[0].clone()
            }
        });
        totals.collect()
    }

    pub fn of(&self, variant: &str, kernel: &str) -> Option<&KernelCounts> {
        let same = |counts: &&KernelCounts| counts.variant == variant && counts.kernel == kernel;
        self.kernels.iter().find(same)
    }

    /// The bytes that an update of a variant moves at each level of the caches; none if they were
    /// not counted.
    pub fn level_bytes(&self, variant: &str) -> Option<LevelBytes> {
        let own = || self.kernels.iter().filter(|own| own.variant == variant);
        let updates = own().next()?.updates as f64;
        let per_update = |bytes: fn(&KernelCounts) -> u64| {
            let bytes = own().map(bytes).sum::<u64>();
            (bytes > 0 && updates > 0.0).then(|| bytes as f64 / updates)
        };
        Some(LevelBytes {
            l1: per_update(|kernel| kernel.l1_bytes)?,
            l2: per_update(|kernel| kernel.l2_bytes)?,
        })
    }
}

impl KernelCounts {
    /// The share of warps' lanes that took part in their instructions.
    pub fn active_lanes(&self) -> Option<f64> {
        let lanes = 32 * self.warp_instructions;
        (lanes > 0).then(|| self.instructions as f64 / lanes as f64)
    }
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
    use test_lab::ptx::TRIPLING;

    fn level_bytes(variant: &str) -> LevelBytes {
        let variants: Vec<&Variant> = TRIPLING.variants.iter().collect();
        let case = TRIPLING.small_cases().remove(0);
        let counted = Counted::count(&variants, case.as_ref()).unwrap();
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
        let short = instead("n=32 iterations=200");
        assert_eq!(short.as_deref(), Some("32^3, 16 iterations"));
        assert_eq!(instead("n=32 iterations=10"), None);
        // It says itself which steps tell of all.
        let of_laptop = |lab: &Lab| {
            let laptop = lab.laptop_cases().remove(0);
            (lab::counted_instead(lab, laptop.as_ref()), laptop)
        };
        let (short, laptop) = of_laptop(&host::stencil25::LAB);
        let (short, steps) = (short.unwrap(), laptop.timesteps().unwrap());
        assert_eq!(short.timesteps(), Some(1));
        assert_eq!(short.work().updates, laptop.work().updates / steps);
        // A reduced form that is small would not be true.
        assert!(of_laptop(&host::matadd::LAB).0.is_none());
        // Too large: a laptop's case is counted.
        let (short, _) = of_laptop(&host::poisson::LAB);
        assert_eq!(instead("n=512 iterations=10"), Some(short.unwrap().label()));
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
