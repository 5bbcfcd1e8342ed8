//! A plan's launches with other kernels, in blocks of another shape.

use host::plan::{Command, Launch, LaunchConfig, Plan, PlanError};

/// The plan with each launch as `change` has it: another kernel's name, another shape; the same buffers and arguments, in
/// the same order.
pub fn relaunched(
    plan: &Plan,
    name: String,
    change: impl Fn(&Launch<'_>) -> Result<(String, LaunchConfig), PlanError>,
) -> Result<Plan, PlanError> {
    let mut new = plan.map(|new, command| match command {
        Command::Launch(launch) => {
            let (kernel, config) = change(&launch)?;
            new.launch(&kernel, config, launch.args.iter().cloned())
        }
        other => new.push(other),
    })?;
    new.rename(name);
    Ok(new)
}

#[cfg(test)]
mod tests {
    use host::plan::Arg;
    use host::{Element, args};

    use super::*;

    #[test]
    fn only_kernels_and_shapes_change() {
        let mut plan = Plan::new("p");
        let u = plan.buffer("u", Element::F32, 10);
        let v = plan.scratch("v", Element::F32, 10);
        plan.launch(
            "k",
            LaunchConfig::new(3, 4),
            args![u, v.slice(), v.at(3), u.slice_at(1, 2), 7u32],
        )
        .unwrap();
        plan.copy_range(u, 1, v, 2, 3).unwrap();
        plan.fill(v, 9).unwrap();
        plan.output("out", v);
        let same = relaunched(&plan, "p".to_owned(), |launch| {
            Ok((launch.kernel.to_owned(), launch.config))
        });
        let text = |plan: &Plan| serde_json::to_string(plan).unwrap();
        assert_eq!(text(&same.unwrap()), text(&plan));
        let other = relaunched(&plan, "q".to_owned(), |launch| {
            assert_eq!(launch.args[4], Arg::U32(7));
            Ok(("l".to_owned(), LaunchConfig::new(1, 32)))
        });
        let other = other.unwrap();
        assert_eq!(
            (other.name(), other.kernels()),
            ("q", &["l".to_owned()][..])
        );
        assert!(!text(&other).contains("\"k\""));
    }
}
