//! The order of a plan's commands on several devices, by the engine that compares the commands of
//! any CUDA program: those that nothing orders may not conflict.

use command_order::{Commands, Manners, Moment};
use plan::Plan;

/// The commands that conflict though the plan lets neither wait for the other: earlier, later.
/// A command waits for those that `waits` has for it, as streams do by events. Commands that are
/// recorded as independent are not compared with each other: what they access is more exact than
/// what they state, and the emulated device looks at that.
pub fn conflicts(plan: &Plan, waits: &[Vec<u32>]) -> Vec<(u32, u32)> {
    // Buffers far apart, as addresses are.
    const APART: u64 = 1 << 40;
    let mut commands = Commands::default();
    let mut done: Vec<Moment> = Vec::new();
    let mut found = Vec::new();
    let stages: Vec<_> = plan.stages().collect();
    let stage_of = |position: u32| stages.partition_point(|stage| stage.end <= position as usize);
    for (position, (command, own_waits)) in plan.commands().zip(waits).enumerate() {
        let position = position as u32;
        let (chain, sent) = (commands.chain(), commands.host());
        for &early in own_waits {
            commands.wait(chain, &done[early as usize]);
        }
        let stamp = commands.begin(chain, &sent, position);
        for (id, elements, writes) in command.bounds(plan.buffers()) {
            let (start, manners) = (
                id.index() as u64 * APART,
                if writes {
                    Manners::READS | Manners::WRITES
                } else {
                    Manners::READS
                },
            );
            commands.access(stamp, manners, start + elements.start..start + elements.end);
        }
        for conflict in commands.end().conflicts {
            let early = *commands.label(conflict.earlier).expect("all are kept");
            if stage_of(early) != stage_of(position) && !found.contains(&(early, position)) {
                found.push((early, position));
            }
        }
        done.push(commands.moment(chain));
    }
    found
}

/// Each wait of a plan that no other one implies is needed.
#[test]
fn a_wait_that_is_left_out_is_a_conflict() {
    use crate::several::{poisson, record};

    let plan = record("poisson", &poisson(9, 4), "fast", 3);
    let waits = plan.dependencies();
    assert_eq!(conflicts(&plan, &waits), []);
    let mut needed = 0;
    for (late, early_ones) in waits.iter().enumerate() {
        for at in 0..early_ones.len() {
            let mut fewer = waits.clone();
            let early = fewer[late].remove(at);
            let found = conflicts(&plan, &fewer);
            needed += usize::from(found.contains(&(early, late as u32)));
        }
    }
    let all: usize = waits.iter().map(Vec::len).sum();
    assert!(needed > all / 2, "{needed} of {all}");
}
