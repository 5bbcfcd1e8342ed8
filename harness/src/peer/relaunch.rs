//! A plan's launches with other kernels, in blocks of another shape.

use host::plan::{Arg, Command, Launch, LaunchConfig, Plan, PlanError, Role};

/// The plan with each launch as `change` has it: another kernel's name, another shape; the same buffers and arguments, in
/// the same order.
pub fn relaunched(
    plan: &Plan,
    name: String,
    change: impl Fn(&Launch<'_>) -> Result<(String, LaunchConfig), PlanError>,
) -> Result<Plan, PlanError> {
    let mut new = Plan::new(name);
    let ids: Vec<_> = plan
        .buffers()
        .iter()
        .map(|buffer| {
            let (name, len) = (buffer.name.clone(), buffer.len as usize);
            match buffer.role {
                Role::Io => new.buffer(name, buffer.element, len),
                Role::Scratch => new.scratch(name, buffer.element, len),
            }
        })
        .collect();
    for command in plan.commands() {
        match command {
            Command::Launch(launch) => {
                let (kernel, config) = change(&launch)?;
                let args = launch.args.iter().map(|arg| match *arg {
                    Arg::Buffer(id) => Arg::Buffer(ids[id.index()]),
                    Arg::Slice(id) => Arg::Slice(ids[id.index()]),
                    Arg::SliceAt { id, offset, len } => Arg::SliceAt {
                        id: ids[id.index()],
                        offset,
                        len,
                    },
                    Arg::BufferAt { id, offset } => Arg::BufferAt {
                        id: ids[id.index()],
                        offset,
                    },
                    ref value => value.clone(),
                });
                new.launch(&kernel, config, args)?;
            }
            Command::Copy(copy) => new.copy_range(
                ids[copy.src.index()],
                copy.src_start,
                ids[copy.dst.index()],
                copy.dst_start,
                copy.len,
            )?,
            Command::Fill(fill) => new.fill(ids[fill.dst.index()], fill.byte)?,
        }
    }
    for (output, id) in plan.outputs() {
        new.output(output.clone(), ids[id.index()]);
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
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
