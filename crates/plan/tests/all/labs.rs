//! Recording through a lab's trait, and the recorder program.

use plan::wave2d::{Buffers, Outputs, Problem, Solution, Wave2d};
use plan::{Command, Interface, LaunchConfig, Plan, PlanError, Recording, Role, args, record_all};

struct Naive;

impl Solution for Naive {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        if problem.scene == 4 {
            return Err(PlanError::unsupported("no scene 4"));
        }
        let Buffers { mut u0, mut u1 } = buffers;
        let config = LaunchConfig::covering((problem.n_x, problem.n_y), (128, 1))?;
        for step in 0..problem.steps {
            let t = problem.first_step.wrapping_add(step);
            let (n_x, n_y) = (problem.n_x, problem.n_y);
            let args = args![u0, u1.slice(), n_x, n_y, problem.scene, problem.k, t];
            plan.launch("wave2d_naive", config, args)?;
            (u0, u1) = (u1, u0);
        }
        Ok(Outputs { u0, u1 })
    }
}

fn problem(steps: u32) -> Problem {
    Problem {
        n_x: 3201,
        n_y: 3201,
        steps,
        first_step: u32::MAX,
        scene: 1,
        k: 0.1,
    }
}

#[test]
fn a_solution_is_recorded_between_the_labs_buffers_and_outputs() {
    let plan = Wave2d::record("odd", &problem(3), &Naive).unwrap();
    let buffers: Vec<_> = plan
        .buffers()
        .iter()
        .map(|b| (b.name.as_str(), b.len, b.role))
        .collect();
    assert_eq!(
        buffers,
        [("u0", 3201 * 3201, Role::Io), ("u1", 3201 * 3201, Role::Io)]
    );
    let [u0, u1] = ["u0", "u1"].map(|name| plan.find_buffer(name).unwrap());
    // An odd number of steps swaps them.
    assert_eq!(
        plan.outputs(),
        [("u0".to_owned(), u1), ("u1".to_owned(), u0)]
    );
    assert_eq!(plan.commands().len(), 3);
}

#[test]
fn thousands_of_launches_are_quick() {
    let start = std::time::Instant::now();
    let plan = Wave2d::record("long", &problem(12_800), &Naive).unwrap();
    let saved = serde_json::to_string(&plan).unwrap();
    let loaded: Plan = serde_json::from_str(&saved).unwrap();
    // Milliseconds, if optimised; the bound only keeps it from becoming a fraction of a run.
    assert!(start.elapsed().as_millis() < 1000, "{:?}", start.elapsed());
    assert!(saved.len() < 220 * 12_800, "{} bytes", saved.len());
    assert_eq!(loaded.commands().len(), 12_800);
    let numbers = loaded.commands().map(|command| match command {
        Command::Launch(launch) => launch.args.last().cloned(),
        other => panic!("{other:?}"),
    });
    let expected = (0..12_800).map(|step: u32| Some(u32::MAX.wrapping_add(step).into()));
    assert!(numbers.eq(expected));
}

#[test]
fn the_recorder_answers_each_task() {
    let mut input = String::new();
    for (name, problem) in [
        ("one", problem(1)),
        (
            "empty",
            Problem {
                n_x: 0,
                ..problem(1)
            },
        ),
        (
            "refused",
            Problem {
                scene: 4,
                ..problem(1)
            },
        ),
        ("none", problem(0)),
    ] {
        let problem = serde_json::to_value(&problem).unwrap();
        input += &serde_json::json!({ "name": name, "problem": problem }).to_string();
    }
    let mut output = Vec::new();
    record_all::<Wave2d>(&Naive, input.as_bytes(), &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    let recordings: Vec<Recording> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said: Vec<String> = recordings
        .iter()
        .map(|recording| match (&recording.plan, &recording.error) {
            (Some(plan), None) => format!("{}: {} commands", plan.name(), plan.commands().len()),
            (None, Some(error)) => format!("{}: {error}", recording.name),
            other => panic!("{other:?}"),
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    one: 1 commands
    empty: cannot cover [0, 3201, 1] threads with blocks of [128, 1, 1]: every extent must be at least 1
    refused: the solution refuses this problem: no scene 4
    none: 0 commands
    ");
}

/// A solution in another launch shape: blocks of this number of threads.
struct Threads(u32);

impl Solution for Threads {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let config = LaunchConfig::covering(problem.n_x * problem.n_y, self.0)?;
        plan.launch("step", config, args![buffers.u0, buffers.u1])?;
        let Buffers { u0, u1 } = buffers;
        Ok(Outputs { u0, u1 })
    }

    fn shapes(&self) -> Vec<(String, Box<dyn Solution>)> {
        [64, 256]
            .map(|threads| {
                let shape: Box<dyn Solution> = Box::new(Threads(threads));
                (format!("b{threads}"), shape)
            })
            .into()
    }
}

#[test]
fn a_task_may_name_a_launch_shape() {
    let problem = serde_json::to_value(problem(1)).unwrap();
    let recorded = |shape: Option<usize>| {
        let task = plan::Task {
            name: "one".to_owned(),
            problem: problem.clone(),
            devices: 1,
            shape,
        };
        let mut output = Vec::new();
        let input = serde_json::to_string(&task).unwrap();
        record_all::<Wave2d>(&Threads(128), input.as_bytes(), &mut output).unwrap();
        let recording: Recording = serde_json::from_slice(&output).unwrap();
        let block = recording.plan.map(|plan| match plan.commands().next() {
            Some(Command::Launch(launch)) => launch.config.block[0],
            other => panic!("{other:?}"),
        });
        (block, recording.error, recording.shapes.join(" "))
    };
    let labels = || "b64 b256".to_owned();
    assert_eq!(recorded(None), (Some(128), None, String::new()));
    assert_eq!(recorded(Some(0)), (Some(64), None, labels()));
    assert_eq!(recorded(Some(1)), (Some(256), None, labels()));
    let error = Some("the solution refuses this problem: no such shape".to_owned());
    assert_eq!(recorded(Some(2)), (None, error, labels()));
}

#[test]
fn what_is_no_task_ends_the_recorder() {
    let refused = |input: &str| {
        record_all::<Wave2d>(&Naive, input.as_bytes(), std::io::sink())
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(refused(r#"{"name": "a"}"#), @"missing field `problem` at line 1 column 13");
    insta::assert_snapshot!(refused(r#"{"name": "a", "problem": {"n_x": 3}}"#), @"problem `a` is not a problem of wave2d: missing field `n_y`");
}

#[test]
fn problems_come_back_to_the_last_bit() {
    let problem = plan::wave3d::Problem {
        n_x: 3,
        n_y: 4,
        n_z: 5,
        steps: 3,
        dt: 0.1 + 0.2,
        ratio: 1e-300,
        source: u32::MAX,
        source_values: vec![-0.0, 5e-324, 1.0 / 3.0],
    };
    let value = serde_json::to_value(&problem).unwrap();
    let text = value.to_string();
    let back: plan::wave3d::Problem = serde_json::from_str(&text).unwrap();
    assert_eq!(back, problem);
    assert!(back.source_values[0].is_sign_negative());
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        value
    );
}
