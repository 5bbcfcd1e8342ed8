//! A plan cut off after fewer steps.

use plan::Command;
use plan::Plan;
use units::count;

/// The first `keep` of the plan's `steps` steps.
///
/// Only a plan whose commands repeat in every step, with other arguments, can be cut:
/// any number of them belongs to a step, others may come before the first, and the buffers that
/// hold the results after an earlier step are those in the places that the result's buffers have in
/// the last.
///
/// # Errors
///
/// Why the plan cannot be cut.
pub fn shorten(plan: &Plan, steps: u64, keep: u64) -> Result<Plan, String> {
    let commands: Vec<Command<'_>> = plan.commands().collect();
    match repetition(&commands, steps) {
        Some((before, in_step)) if (1..=steps).contains(&keep) => {
            cut(plan, &commands, in_step, before + in_step * keep as usize)
        }
        _ if !commands.is_empty() && (commands.len() as u64).is_multiple_of(steps) => {
            Err("the plan's commands are not the same in every step".to_owned())
        }
        _ => Err(format!(
            "the plan has {} for {}, not the same number for each",
            count(commands.len(), "command"),
            count(steps as usize, "step")
        )),
    }
}

/// How many commands come before the first step, as few as possible, and how many a step has; if
/// all steps have the same. What a step launches is not launched before the first: a launch that is
/// there would be one too many.
fn repetition(commands: &[Command<'_>], steps: u64) -> Option<(usize, usize)> {
    let steps = usize::try_from(steps).ok().filter(|&steps| steps > 0)?;
    (0..commands.len()).find_map(|before| {
        let (first, rest) = commands.split_at(before);
        if !rest.len().is_multiple_of(steps) {
            return None;
        }
        let in_step = rest.len() / steps;
        let mut all_steps = rest.chunks(in_step);
        if !all_steps.all(|step| step.iter().zip(rest).all(|(a, b)| is_alike(a, b))) {
            return None;
        }
        let of_step: Vec<usize> = rest[..in_step].iter().filter_map(launched).collect();
        let is_of_step = |kernel| of_step.contains(&kernel);
        let is_beginning =
            !of_step.is_empty() && !first.iter().filter_map(launched).any(is_of_step);
        (before == 0 || is_beginning).then_some((before, in_step))
    })
}

/// The number of the kernel that a command launches.
fn launched(command: &Command<'_>) -> Option<usize> {
    match command {
        Command::Launch(launch) => Some(launch.kernel_index),
        Command::Copy(_) | Command::Fill(_) => None,
    }
}

/// How many launches the plan has, if it consists of nothing else, all of one kernel.
pub fn launches_of_one_kernel(plan: &Plan) -> Option<u64> {
    let mut kernels = plan.commands().map(|command| launched(&command));
    let first = kernels.next()??;
    kernels
        .all(|kernel| kernel == Some(first))
        .then(|| plan.commands().len() as u64)
}

/// The first `keep` launches of a plan of launches of one kernel.
///
/// # Errors
///
/// Why the plan cannot be cut.
pub fn first_launches(plan: &Plan, keep: u64) -> Result<Plan, String> {
    let launches = launches_of_one_kernel(plan).unwrap_or(0);
    if keep == 0 || keep > launches {
        return Err(format!(
            "the plan has {launches} launches of one kernel, not {keep}"
        ));
    }
    let commands: Vec<Command<'_>> = plan.commands().collect();
    cut(plan, &commands, 1, keep as usize)
}

/// The first `keep` of these, which are all of the plan's commands and repeat after `in_step`
/// commands. The last kept commands name the buffers that hold the results.
fn cut(plan: &Plan, commands: &[Command<'_>], in_step: usize, keep: usize) -> Result<Plan, String> {
    let last = &commands[commands.len() - in_step..];
    let last_kept = &commands[keep - in_step..keep];
    let mut left = keep;
    let mut shorter = plan
        .map(|shorter, command| {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            shorter.push(command)
        })
        .map_err(|error| error.to_string())?;
    let mut outputs = Vec::new();
    for (name, id) in plan.outputs() {
        let mut there = last
            .iter()
            .zip(last_kept)
            .flat_map(|(last, kept)| last.accesses().zip(kept.accesses()))
            .filter(|&((in_last, _), _)| plan.whole_of(in_last) == *id)
            .map(|(_, (in_kept, _))| plan.whole_of(in_kept));
        let known = there.next();
        let Some(known) = known.filter(|known| there.all(|other| other == *known)) else {
            return Err(format!(
                "which buffer holds `{name}` after fewer steps does not follow from the plan"
            ));
        };
        outputs.push((name.clone(), known));
    }
    shorter.set_outputs(outputs);
    Ok(shorter)
}

/// Whether two commands do the same with other numbers and buffers.
fn is_alike(a: &Command<'_>, b: &Command<'_>) -> bool {
    match (a, b) {
        (Command::Launch(a), Command::Launch(b)) => {
            a.kernel_index == b.kernel_index
                && a.config == b.config
                && a.args.len() == b.args.len()
                && a.args
                    .iter()
                    .zip(b.args)
                    .all(|(a, b)| std::mem::discriminant(a) == std::mem::discriminant(b))
        }
        (Command::Copy(_), Command::Copy(_)) | (Command::Fill(_), Command::Fill(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use device::Element;
    use plan::slabs::Slabs;
    use plan::{LaunchConfig, args};

    use super::*;

    fn config() -> LaunchConfig {
        LaunchConfig::covering(8, 8).unwrap()
    }

    /// Steps that turn two buffers, as the wave labs do.
    fn turning(steps: u64) -> Plan {
        let mut plan = Plan::new("turning");
        let mut last = plan.buffer("u0", Element::F32, 8);
        let mut next = plan.buffer("u1", Element::F32, 8);
        for step in 0..steps {
            plan.launch("step", config(), args![last, next, step as u32])
                .unwrap();
            (last, next) = (next, last);
        }
        plan.output("u0", last);
        plan.output("u1", next);
        plan
    }

    fn as_json(plan: &Plan) -> String {
        serde_json::to_string(plan).unwrap()
    }

    #[test]
    fn a_shortened_plan_is_the_plan_of_fewer_steps() {
        for keep in 1..=7 {
            let shorter = shorten(&turning(7), 7, keep).unwrap();
            assert_eq!(as_json(&shorter), as_json(&turning(keep)), "{keep}");
        }
    }

    #[test]
    fn the_first_launches_of_a_plan_that_does_several_steps_with_each() {
        let record = |launches: &[u32]| {
            let mut plan = Plan::new("several");
            let mut last = plan.buffer("u0", Element::F32, 8);
            let mut next = plan.scratch("u1", Element::F32, 8);
            for &steps in launches {
                // A shorter launch may need fewer blocks.
                let config = LaunchConfig::new(steps, 8);
                plan.launch("steps", config, args![last, next, steps])
                    .unwrap();
                (last, next) = (next, last);
            }
            plan.output("u0", last);
            plan
        };
        let plan = record(&[4, 4, 4, 2]);
        assert_eq!(launches_of_one_kernel(&plan), Some(4));
        for keep in 1..=3 {
            let shorter = first_launches(&plan, keep).unwrap();
            assert_eq!(
                as_json(&shorter),
                as_json(&record(&[4; 3][..keep as usize]))
            );
        }
        let mut mixed = record(&[4]);
        let u = mixed.find_buffer("u0").unwrap();
        mixed.fill(u, 0).unwrap();
        assert_eq!(launches_of_one_kernel(&mixed), None);
        insta::assert_snapshot!(first_launches(&mixed, 1).unwrap_err(), @"the plan has 0 launches of one kernel, not 1");
    }

    #[test]
    fn several_commands_a_step() {
        let record = |steps: u64| {
            let mut plan = Plan::new("several");
            let u = plan.buffer("u", Element::F32, 8);
            let work = plan.scratch("work", Element::F32, 8);
            for _ in 0..steps {
                plan.launch("half", config(), args![u, work]).unwrap();
                plan.copy(work, u).unwrap();
            }
            plan.output("u", u);
            plan
        };
        let shorter = shorten(&record(6), 6, 4).unwrap();
        assert_eq!(as_json(&shorter), as_json(&record(4)));
    }

    /// Two fields on two devices, of which each device computes a half: as in lab several-gpus, the
    /// second one begins with the walls of the first.
    fn in_halves(steps: u64) -> Plan {
        let mut plan = Plan::new("halves").with_available_devices(2);
        let slabs = Slabs::new(2, 8, 1..7, 1, "between the walls").unwrap();
        let whole = ["u", "u_next"].map(|name| plan.buffer(name, Element::F32, 32));
        let mut fields = whole.map(|whole| slabs.scatter(&mut plan, whole).unwrap());
        for device in slabs.devices() {
            let [u, u_next] = fields.each_ref().map(|field| field.part(device));
            plan.copy(u, u_next).unwrap();
        }
        for _ in 0..steps {
            for device in slabs.devices() {
                let [u, u_next] = fields.each_ref().map(|field| field.part(device));
                plan.launch("half", config(), args![u, u_next]).unwrap();
            }
            let [low, high] = [0, 1].map(|device| fields[1].part(device));
            plan.copy_range(low, 12, high, 0, 4).unwrap();
            fields.reverse();
        }
        plan.output("u", fields[0].whole());
        plan
    }

    #[test]
    fn commands_before_the_first_step_stay() {
        for keep in 1..=5 {
            let shorter = shorten(&in_halves(5), 5, keep).unwrap();
            assert_eq!(as_json(&shorter), as_json(&in_halves(keep)), "{keep}");
        }
        // One launch too many is not a beginning.
        assert!(shorten(&turning(8), 7, 1).is_err());
    }

    #[test]
    fn what_cannot_be_cut_says_why() {
        insta::assert_snapshot!(shorten(&turning(7), 2, 1).unwrap_err(), @"the plan has 7 commands for 2 steps, not the same number for each");
        let mut mixed = turning(3);
        let u = mixed.find_buffer("u0").unwrap();
        mixed.fill(u, 0).unwrap();
        insta::assert_snapshot!(shorten(&mixed, 4, 1).unwrap_err(), @"the plan's commands are not the same in every step");
        let mut stray = turning(2);
        let aside = stray.scratch("aside", Element::F32, 8);
        stray.output("aside", aside);
        insta::assert_snapshot!(shorten(&stray, 2, 1).unwrap_err(), @"which buffer holds `aside` after fewer steps does not follow from the plan");
    }
}
