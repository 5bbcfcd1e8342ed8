//! The limit of a variant's own instructions: how long the units of the multiprocessors are busy
//! with them at least, however well they overlap.
//!
//! The bytes and operations of [`bound`](super::bound) are the lab's: any variant must do them. A
//! kernel does more. It computes sites of its neighbours again, and takes each value from shared
//! memory several times. The emulated device counts that on the case itself: a few timesteps, and
//! of each launch some blocks, from which it concludes on the rest.

use std::collections::{BTreeMap, BTreeSet};

use device::{
    Device, DeviceInfo, EmulatedDevice, InstructionClass, InstructionCounts, KernelReport,
    NamedBuffers, Options, Sampling, Sanitize,
};
use lab::occupancy::Gpu;
use lab::{LabCase, SHAPE, Variant, target};
use plan::{Command, Plan};
use results::Row;
use results::bound::{OwnLimit, Unit};

use crate::perf::room::host_has;

/// Blocks of a launch that are counted, of its first, its last and others between them. With 16 of
/// 382 the times of wave3d's units differ by 2 % from those with all.
const BLOCKS: u64 = 16;

/// The most timesteps of a launch that is counted as a whole.
const MAX_STEPS: u32 = 48;

/// Timesteps of launches that loop over them.
const FEW_STEPS: u32 = 2;

/// The largest inputs that are written, and copies that are made: of tables and walls, by which
/// kernels decide what to do. Larger ones are fields, whose values decide nothing; of their memory
/// only as much is touched as a sample reads.
const WRITTEN_BYTES: u64 = 64 << 20;

/// Warp instructions of a block, after which its launch is given up. Blocks of the labs have up to
/// four millions.
const FUEL: u64 = 1 << 24;

/// Bytes of the path to L1 and shared memory per cycle, of all generations in the table of [`Gpu`].
const BYTES_PER_CYCLE: u64 = 128;

/// Seconds for which each unit is busy in a run, in the order of [`Unit::ALL`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy(pub [f64; 4]);

impl Busy {
    /// The limit of a run that takes `run_s`.
    pub fn limit(self, run_s: f64) -> Option<OwnLimit> {
        let (by, busy_s) = Unit::ALL
            .into_iter()
            .zip(self.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        (busy_s > 0.0).then(|| OwnLimit {
            by,
            run_s: busy_s,
            share: busy_s / run_s.max(1e-12),
        })
    }
}

/// A variant in the shape in which it is launched, and where.
pub struct Launched {
    /// The device's name in rows.
    pub device: String,
    pub variant: &'static Variant,
    pub info: DeviceInfo,
}

/// For how long each variant keeps a device's units busy: by the device's name, and the variant as
/// it is launched there.
pub type AllBusy = BTreeMap<(String, String), Busy>;

/// Adds the limit by its own instructions to a row of a variant of ours.
pub fn add(row: &mut Row, busy: &AllBusy) {
    let launched = match &row.shape {
        Some(shape) => format!("{}{SHAPE}{shape}", row.variant),
        None => row.variant.clone(),
    };
    let busy = busy.get(&(row.device.clone(), launched)).copied();
    let is_ours = row.language.is_none();
    if let (Some(busy), true, Some(figures)) = (busy, is_ours, row.figures_mut()) {
        figures.on_device.own_limit = busy.limit(figures.run.median_s);
    }
}

/// How long a variant's units are busy in a run of this case on one device like this one. `inputs`
/// are the case's. `None` where the device's units are unknown, and where the blocks of a large
/// case wait for each other, since some of them say nothing of all.
pub fn busy(
    case: &dyn LabCase,
    inputs: &NamedBuffers,
    Launched { variant, info, .. }: &Launched,
) -> Option<Busy> {
    let units = Units::of(info)?;
    let plan_of = |of: &dyn LabCase| variant.record_for(of, target(info, 1)).ok();
    let whole = plan_of(case)?;
    let lacks = |part: &Plan| {
        let of_part = part.kernels();
        let of_whole = whole.kernels().iter();
        of_whole.filter(|kernel| !of_part.contains(kernel)).count()
    };
    let part_of = |steps: u32| Some((steps, plan_of(case.part(0, steps)?.as_ref())?));
    let Some(of) = case.timesteps() else {
        return Some(units.busy(units.count(variant, [&whole; 2], inputs)?));
    };
    let of_launch = of.div_ceil(launches(&whole).max(1));
    if of_launch > MAX_STEPS.into() {
        // Its launches loop over the timesteps, and each adds as much as these few more do.
        let [one, two] = [FEW_STEPS, 2 * FEW_STEPS].map(|steps| {
            let (_, plan) = part_of(steps)?;
            units.count(variant, [&plan; 2], inputs)
        });
        let (one, two) = (one?, two?);
        let rounds = of as f64 / f64::from(FEW_STEPS);
        let cycles = [0, 1, 2, 3].map(|unit| rounds * (two[unit] - one[unit]).max(0.0));
        return Some(units.busy(cycles));
    }
    // The first one that launches all kernels of the whole, or else most of them.
    let mut fewest: Option<(usize, Plan)> = None;
    for (_, plan) in (of_launch as u32..=MAX_STEPS).filter_map(part_of) {
        let lacking = lacks(&plan);
        if fewest.as_ref().is_none_or(|(fewest, _)| lacking < *fewest) {
            fewest = Some((lacking, plan));
        }
        if lacking == 0 {
            break;
        }
    }
    let part = fewest.as_ref().map_or(&whole, |(_, plan)| plan);
    Some(units.busy(units.count(variant, [&whole, part], inputs)?))
}

/// All launches of a plan.
fn launches(plan: &Plan) -> u64 {
    let is_launch = |command: &Command<'_>| matches!(command, Command::Launch(_));
    plan.commands().filter(is_launch).count() as u64
}

/// The work of a device's multiprocessors in a cycle.
struct Units {
    capability: (u32, u32),
    gpu: Gpu,
    multiprocessors: u64,
    clock_hz: f64,
}

impl Units {
    fn of(info: &DeviceInfo) -> Option<Units> {
        let capability = info.compute_capability?;
        Some(Units {
            capability,
            gpu: *Gpu::newest_for(capability)?,
            multiprocessors: info.multiprocessors?.max(1).into(),
            clock_hz: 1e3 * f64::from(info.clock_khz?),
        })
    }

    /// By cycles of each unit.
    fn busy(&self, cycles: [f64; 4]) -> Busy {
        Busy(cycles.map(|cycles| cycles / self.clock_hz))
    }

    /// Cycles for which each unit is busy in a run of the whole plan, by the launches of a part of
    /// it, of [`BLOCKS`] blocks each.
    fn count(
        &self,
        launched: &Variant,
        plans: [&Plan; 2],
        inputs: &NamedBuffers,
    ) -> Option<[f64; 4]> {
        self.count_blocks(launched, plans, inputs, Some(BLOCKS))
    }

    /// Does that with this number of blocks.
    fn count_blocks(
        &self,
        launched: &Variant,
        [whole, part]: [&Plan; 2],
        inputs: &NamedBuffers,
        most_blocks: Option<u64>,
    ) -> Option<[f64; 4]> {
        if part.devices() > 1 || !host_has(part.memory_bytes().ok()?) {
            return None;
        }
        let [all, launches] = [whole, part].map(|plan| Launches::of(plan, self.multiprocessors));
        let device = EmulatedDevice::new(Options {
            sanitize: Sanitize::NONE,
            fuel: FUEL,
            most_blocks,
            ..Options::default()
        });
        let device = device
            .with_capability(self.capability)
            .with_sampling(Sampling {
                whole: all.preparing(),
                copied_bytes: Some(WRITTEN_BYTES),
            })
            .keeping_printed();
        let mut session = device.prepare(&launched.module, part).ok()?;
        for (name, input) in inputs {
            if input.bytes().len() as u64 <= WRITTEN_BYTES {
                session.write(part.find_buffer(name).ok()?, input).ok()?;
            }
        }
        session.run().ok()?;
        let text = launched.module.for_device(self.capability).ptx();
        let lines: Vec<&str> = text.lines().collect();
        let mut cycles = [0.0; 4];
        for report in session.reports() {
            let own = launches.0.get(report.total.kernel.as_str())?;
            // A launch that has run out of fuel is not among them.
            if own.launches != report.launches {
                return None;
            }
            // A kernel that the whole run never launches takes none of its time.
            let filled = all
                .0
                .get(report.total.kernel.as_str())
                .map_or(0.0, |all| all.filled);
            let share = filled / (own.blocks * self.multiprocessors).max(1) as f64;
            for (sum, busy) in cycles.iter_mut().zip(self.cycles(report, &lines)) {
                *sum += busy * share;
            }
        }
        Some(cycles)
    }

    /// Cycles of one multiprocessor for all blocks of a kernel.
    fn cycles(&self, report: &KernelReport, lines: &[&str]) -> [f64; 4] {
        let Gpu {
            partitions,
            f32_lanes,
            f64_lanes,
            ..
        } = self.gpu;
        let mut cycles = [0.0; 4];
        for instruction in &report.total.instructions {
            let opcode = opcode(lines, instruction.place.ptx_line);
            let warps = instruction.counts.instructions.warp as f64;
            let per_cycle = |lanes: u32| 32.0 * warps / f64::from(lanes.max(1));
            let [l1, issue, f32, f64] = &mut cycles;
            *l1 += wavefronts(instruction, opcode) as f64;
            match instruction.class {
                InstructionClass::Float32 if !is_folded(opcode) => *f32 += per_cycle(f32_lanes),
                InstructionClass::Float64 if !is_folded(opcode) => *f64 += per_cycle(f64_lanes),
                InstructionClass::Load
                | InstructionClass::Store
                | InstructionClass::Atomic
                | InstructionClass::Barrier
                | InstructionClass::Warp => {}
                // Addresses, moves and branches: `ptxas` may need fewer, or none.
                _ => continue,
            }
            *issue += warps / f64::from(partitions.max(1));
        }
        cycles
    }
}

/// Whether `ptxas` makes it a part of the instruction that takes its result.
fn is_folded(opcode: &str) -> bool {
    let name = opcode.split('.').next().unwrap_or_default();
    matches!(name, "neg" | "abs" | "copysign")
}

/// The instruction on this line, counted from 1, without its guard.
fn opcode<'t>(lines: &[&'t str], line: u32) -> &'t str {
    let text = (line as usize).checked_sub(1).and_then(|at| lines.get(at));
    let mut words = text.map_or("", |text| text.trim_start()).split_whitespace();
    words.find(|word| !word.starts_with('@')).unwrap_or("")
}

/// Cycles for which an instruction's data pass between threads and L1 or shared memory.
/// Asynchronous copies are left out: they add less than one to Nsight Compute's
/// `l1tex__data_pipe_lsu_wavefronts`, which this counts.
fn wavefronts(instruction: &InstructionCounts, opcode: &str) -> u64 {
    let counts = &instruction.counts;
    if opcode.starts_with("shfl.") {
        return counts.instructions.warp;
    }
    if instruction.class == InstructionClass::Load && counts.shared_stores.bytes > 0 {
        return 0;
    }
    let sectors = counts.global_loads.sectors + counts.global_stores.sectors;
    counts.shared_loads.wavefronts
        + counts.shared_stores.wavefronts
        + counts.shared_atomics.wavefronts
        + sectors / (BYTES_PER_CYCLE / inspect::profile::figures::SECTOR_BYTES)
}

/// The launches of each kernel of a plan.
struct Launches<'p>(BTreeMap<&'p str, Own>);

/// The launches of one kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Own {
    launches: u64,
    blocks: u64,
    /// `blocks`, and of launches with fewer blocks than there are multiprocessors, together with
    /// those that run beside them, as many as multiprocessors.
    filled: f64,
}

impl<'p> Launches<'p> {
    fn of(plan: &'p Plan, multiprocessors: u64) -> Launches<'p> {
        let mut all: BTreeMap<&str, Own> = BTreeMap::new();
        let mut commands = plan.commands();
        for stage in plan.stages() {
            let commands = commands.by_ref().take(stage.len());
            let launches: Vec<(&str, u64)> = commands
                .filter_map(|command| match command {
                    Command::Launch(launch) => Some((launch.kernel, launch.config.blocks() as u64)),
                    _ => None,
                })
                .collect();
            let together = launches
                .iter()
                .map(|(_, blocks)| blocks)
                .sum::<u64>()
                .max(1);
            let filled = multiprocessors.max(together) as f64 / together as f64;
            for (kernel, blocks) in launches {
                let own = all.entry(kernel).or_default();
                own.launches += 1;
                own.blocks += blocks;
                own.filled += blocks as f64 * filled;
            }
        }
        Launches(all)
    }

    /// The kernels that prepare others' work: those of one launch, where others have more. What
    /// they store may decide the others' way, so that all of it has to be there.
    fn preparing(&self) -> BTreeSet<String> {
        let most = self.0.values().map(|own| own.launches).max().unwrap_or(0);
        let once = self.0.iter().filter(|(_, own)| own.launches < most.min(2));
        once.map(|(kernel, _)| (*kernel).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::DeviceKind;
    use test_lab::ptx::TRIPLING;

    fn h200() -> DeviceInfo {
        DeviceInfo {
            compute_capability: Some((9, 0)),
            multiprocessors: Some(132),
            clock_khz: Some(1_980_000),
            ..DeviceInfo::new(DeviceKind::Cuda, "NVIDIA H200")
        }
    }

    #[test]
    fn data_pass_at_128_bytes_per_cycle() {
        let case = TRIPLING.small_cases().remove(0);
        let case = case.as_ref();
        let cycles = |name: &str| {
            let variant = lab::find_variant(&TRIPLING.variants, name).unwrap();
            let inputs = case.inputs().unwrap();
            let launched = Launched {
                device: "cuda".to_owned(),
                variant,
                info: h200(),
            };
            let [l1, ..] = busy(case, &inputs, &launched).unwrap().0;
            (l1 * 1.98e9).round()
        };
        // Two warps, each with a load and a store of 128 bytes.
        assert_eq!(cycles("coalesced"), 4.0);
        // Of half of the sectors each.
        assert_eq!(cycles("scattered"), 8.0);
        // Shared memory between them, where all lanes meet in one bank.
        assert_eq!(cycles("banked"), 4.0 + 2.0 * 64.0);
    }

    #[test]
    fn a_sample_says_what_all_blocks_do() {
        let params = lab::CaseParams::parse("n_x=70 n_y=64 n_z=70 steps=12".split(' ')).unwrap();
        let case = host::wave3d::LAB.case(&params).unwrap();
        let variant = lab::find_variant(&host::wave3d::LAB.variants, "fast").unwrap();
        let info = h200();
        let units = Units::of(&info).unwrap();
        let (inputs, plan) = (
            case.inputs().unwrap(),
            variant.record(case.as_ref()).unwrap(),
        );
        let count = |most| {
            units
                .count_blocks(variant, [&plan; 2], &inputs, most)
                .unwrap()
        };
        for (of_some, of_all) in count(Some(BLOCKS)).into_iter().zip(count(None)) {
            assert!(
                (of_some - of_all).abs() <= 0.05 * of_all,
                "{of_some} {of_all}"
            );
        }
    }

    #[test]
    fn launches_of_few_blocks_leave_multiprocessors_idle() {
        let mut plan = Plan::new("few");
        let mut launch = |kernel: &str, blocks: u32| {
            let config = plan::LaunchConfig::new(blocks, 32);
            plan.launch(kernel, config, []).unwrap();
        };
        launch("prepares", 600);
        launch("few", 33);
        launch("few", 264);
        let launches = Launches::of(&plan, 132);
        let few = launches.0["few"];
        assert_eq!(
            (few.launches, few.blocks, few.filled),
            (2, 297, 132.0 + 264.0)
        );
        assert_eq!(launches.0["prepares"].filled, 600.0);
        assert!(launches.preparing().iter().eq(["prepares"]));
    }

    #[test]
    fn a_changed_sign_is_part_of_another_instruction() {
        let lines = [
            "\t@%p1 neg.f64 \t%fd2, %fd1;",
            "  add.rn.f64 %fd3, %fd2, %fd1;",
        ];
        assert_eq!(opcode(&lines, 1), "neg.f64");
        assert!(is_folded(opcode(&lines, 1)) && !is_folded(opcode(&lines, 2)));
        assert_eq!(opcode(&lines, 3), "");
    }

    #[test]
    fn the_unit_that_is_busy_longest_is_the_limit() {
        let limit = Busy([2e-6, 3e-6, 1e-6, 0.0]).limit(4e-6).unwrap();
        assert_eq!(
            (limit.by, limit.run_s, limit.share),
            (Unit::Issue, 3e-6, 0.75)
        );
        assert_eq!(Busy([0.0; 4]).limit(4e-6), None);
    }
}
