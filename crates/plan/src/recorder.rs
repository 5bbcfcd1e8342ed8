//! The program that records a solution's plans, except its `main`.

use std::io::{self, BufReader, BufWriter, Read, Write};

use serde::{Deserialize, Serialize};

use crate::{Interface, Plan, PlanError, Solution};

/// A problem to record a plan for: one JSON value of the recorder's input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name, and the plan's.
    pub name: String,
    /// The lab's `Problem`.
    pub problem: serde_json::Value,
    /// The number of devices that it is for.
    #[serde(default = "one_device")]
    pub devices: u32,
    /// The number of the launch shape, of those that the solution declares; none of them where a
    /// submission is graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<usize>,
}

fn one_device() -> u32 {
    1
}

/// The result of a [`Task`]: one line of the recorder's output, with either a plan or an error.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The task's.
    pub name: String,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the error is that the plan is [too large](crate::PlanError::TooLarge).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_large: bool,
    /// The labels of all launch shapes that the solution declares, where the task names one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<String>,
}

/// Records the solution's plan for each [`Task`] of `input` (JSON values, one after the other), and
/// writes its [`Recording`] to `output`, on a line of its own, before it reads the next. It stops
/// after a plan that is too large, since the others would take as long.
///
/// # Errors
///
/// Input that is not a task or cannot be read, output that cannot be written. A solution's error is
/// a recording.
pub fn record_all<L: Interface>(
    solution: &(impl Solution<L> + ?Sized),
    mut input: impl Read,
    mut output: impl Write,
) -> io::Result<()> {
    record_each(&mut input, &mut output, &|task| {
        let Task { name, shape, .. } = task;
        let refused = |error: serde_json::Error| {
            let lab = L::NAME;
            io::Error::other(format!(
                "problem `{name}` is not a problem of {lab}: {error}"
            ))
        };
        let problem = L::Problem::deserialize(&task.problem).map_err(refused)?;
        let labels = shape.map_or_else(Vec::new, |_| solution.shape_labels());
        let plan = L::record_shape(*shape, task.devices, name, &problem, solution);
        Ok((labels, plan))
    })
}

/// The labels of shapes that a task asks for, and its plan, or why there is none. The outer error
/// is that the problem is none of the lab.
type Record<'s> = dyn Fn(&Task) -> io::Result<(Vec<String>, Result<Plan, PlanError>)> + 's;

/// [`record_all`] without types of a lab or a solution, so that it is compiled with this crate and
/// not again with each submission.
fn record_each(
    input: &mut dyn Read,
    output: &mut dyn Write,
    record: &Record<'_>,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    for task in serde_json::Deserializer::from_reader(BufReader::new(input)).into_iter() {
        let task: Task = task?;
        let (shapes, recorded) = record(&task)?;
        let recording = Recording {
            name: task.name,
            too_large: matches!(recorded, Err(PlanError::TooLarge { .. })),
            error: recorded.as_ref().err().map(ToString::to_string),
            plan: recorded.ok(),
            shapes,
        };
        serde_json::to_writer(&mut output, &recording)?;
        output.write_all(b"\n")?;
        output.flush()?;
        if recording.too_large {
            break;
        }
    }
    Ok(())
}
