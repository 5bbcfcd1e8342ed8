//! One form on the devices.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use device::Device;
use device::{Element, HostBuffer, Module};
use plan::{LaunchConfig, Plan, args};

use super::operands::rows;
use super::tolerance::Nearness;
use super::{Amount, Class, Expect, Form, Row, Target, module_text};

/// The number of differences of one form that are kept with their operands.
const SHOWN: usize = 24;

const RESULTS: [&str; 4] = ["x", "y", "z", "w"];

/// One result that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The sources.
    pub operands: String,
    /// The result and the expected one, in bits.
    pub bits: String,
}

/// The outcome of a form on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceOutcome {
    /// The reason why it did not run.
    pub refused: Option<String>,
    /// The number of results that are not as expected.
    pub differences: usize,
    /// Some of these differences, spread over all, each of other sources.
    pub some: Vec<Difference>,
    /// For an approximation, the largest error as a part of the allowed one.
    pub worst: Option<f64>,
}

impl DeviceOutcome {
    /// Whether it ran, and every result is as expected.
    pub fn holds(&self) -> bool {
        self.refused.is_none() && self.differences == 0
    }

    fn refused(reason: String) -> DeviceOutcome {
        DeviceOutcome {
            refused: Some(reason),
            ..DeviceOutcome::default()
        }
    }
}

/// At most [`SHOWN`] of these, at even distances.
fn spread<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let count = all.len();
    let shown = count.min(SHOWN);
    // Takes those of `count` items in order at which `i * shown / count` grows.
    let grows = move |i: usize| i == 0 || i * shown / count > (i - 1) * shown / count;
    all.into_iter()
        .enumerate()
        .filter(move |(i, _)| grows(*i))
        .map(|(_, item)| item)
}

/// The outcome of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// [`Form::group`].
    pub group: &'static str,
    /// [`Form::opcode`].
    pub opcode: String,
    /// [`Form::name`].
    pub name: String,
    /// Threads that executed it.
    pub cases: usize,
    /// The emulated device against the evaluation in Rust.
    pub emulated: DeviceOutcome,
    /// CUDA against the emulated device, or for an approximation against the evaluation in Rust;
    /// `None` without a device.
    pub cuda: Option<DeviceOutcome>,
}

/// Runs a form and compares its results. One form at a time uses `cuda`.
pub fn run_form(
    form: &Form,
    emulated: &dyn Device,
    cuda: Option<&Mutex<&dyn Device>>,
    amount: Amount,
) -> Outcome {
    let rows = rows(form, amount);
    let module = Module::new(form.name.clone(), module_text(form));
    let expected = expected(form, &rows);
    let ours = execute(form, &module, &rows, emulated);
    let emulated_outcome = match &ours {
        Err(reason) => DeviceOutcome::refused(reason.clone()),
        Ok(ours) => compare(form, &rows, ours, &expected, "emulated", "expected"),
    };
    let cuda_outcome = cuda.map(|device| {
        let theirs = {
            let device = device.lock().unwrap_or_else(PoisonError::into_inner);
            execute(form, &module, &rows, *device)
        };
        match (theirs, &ours) {
            (Err(reason), _) => DeviceOutcome::refused(reason),
            (Ok(theirs), Ok(ours)) => compare(form, &rows, &theirs, ours, "cuda", "emulated"),
            (Ok(theirs), Err(_)) => compare(form, &rows, &theirs, &expected, "cuda", "expected"),
        }
    });
    Outcome {
        group: form.group,
        opcode: form.opcode().to_owned(),
        name: form.name.clone(),
        cases: rows.len(),
        emulated: emulated_outcome,
        cuda: cuda_outcome,
    }
}

/// The results evaluated in Rust: for each thread those of the form. Results of approximations are
/// checked one by one instead.
fn expected(form: &Form, rows: &[Row]) -> Vec<u64> {
    let all: Vec<Row> = match &form.expect {
        Expect::Each(f) => rows.iter().map(|&row| f(row)).collect(),
        Expect::Together(threads, f) => {
            let threads = if *threads == 0 { rows.len() } else { *threads };
            rows.chunks(threads).flat_map(f).collect()
        }
        Expect::Within(_) => vec![[0; 4]; rows.len()],
    };
    assert_eq!(
        all.len(),
        rows.len(),
        "{}: results of every thread",
        form.name
    );
    let cut = |&row: &Row| {
        form.results
            .iter()
            .zip(row)
            .map(|(class, value)| value & class.mask())
            .collect::<Vec<_>>()
    };
    all.iter().flat_map(cut).collect()
}

/// Runs a form's kernels; the results of each thread in turn.
fn execute(
    form: &Form,
    module: &Module,
    rows: &[Row],
    device: &dyn Device,
) -> Result<Vec<u64>, String> {
    let run = || -> Result<Vec<u64>, device::Error> {
        let mut plan = Plan::new("differential");
        let sources = form.sources.len();
        let operands = plan.buffer("operands", Element::U64, rows.len() * sources.max(1));
        let results = plan.buffer("results", Element::U64, rows.len() * form.results.len());
        let pool_bytes = if form.uses_scratch() {
            rows.len() * Form::SCRATCH_BYTES
        } else {
            8
        };
        let scratch = plan.scratch("scratch", Element::U8, pool_bytes);
        let config = LaunchConfig::new((rows.len() / Form::BLOCK) as u32, Form::BLOCK as u32)
            .with_shared_mem_bytes(form.dynamic_shared_bytes());
        plan.fill(scratch, 0)?;
        plan.launch("apply", config, args![operands, results, scratch])?;
        if form.collect.is_some() {
            plan.launch("collect", config, args![operands, results, scratch])?;
        }
        let mut session = device.prepare(module, &plan)?;
        let mut values: Vec<u64> = rows
            .iter()
            .flat_map(|row| &row[..sources])
            .copied()
            .collect();
        values.resize(rows.len() * sources.max(1), 0);
        session.write(operands, &HostBuffer::from(values))?;
        session.poison(results)?;
        session.run()?;
        let read = session.read(results)?;
        Ok(read.as_slice::<u64>().expect("a buffer of u64").to_vec())
    };
    run().map_err(|error| error.to_string())
}

/// Compares one device's results with the expected ones.
fn compare(
    form: &Form,
    rows: &[Row],
    got: &[u64],
    wanted: &[u64],
    device: &str,
    other: &str,
) -> DeviceOutcome {
    let mut outcome = DeviceOutcome::default();
    // Whether the place of a thread in its block is one of its sources.
    let by_thread = !matches!(form.expect, Expect::Each(_) | Expect::Within(_));
    let (mut seen, mut distinct) = (HashSet::new(), Vec::new());
    let width = form.results.len();
    for (thread, row) in rows.iter().enumerate() {
        let start = thread * width;
        for (i, class) in form.results.iter().enumerate() {
            let (got, wanted) = (got[start + i], wanted[start + i]);
            let target = match &form.expect {
                Expect::Within(f) => Some(f(*row)),
                _ => None,
            };
            let holds = match target {
                None => got == wanted,
                Some(target) => {
                    let Nearness { holds, error } = target.check(got, *class == Class::B64);
                    if let Some(error) = error {
                        outcome.worst = Some(outcome.worst.map_or(error, |worst| worst.max(error)));
                    }
                    holds
                }
            };
            if !holds {
                outcome.differences += 1;
                if seen.insert((*row, by_thread.then_some(thread % Form::BLOCK), i)) {
                    distinct.push((thread, i, target));
                }
            }
        }
    }
    let difference = |(thread, i, target): (usize, usize, Option<Target>)| {
        let class = form.results[i];
        let [got, wanted] = [got, wanted].map(|all| shown(all[thread * width + i], class));
        let wanted = match target {
            None => format!("{other} {wanted}"),
            Some(target) => format!("wanted {target:?}"),
        };
        Difference {
            operands: operands(form, thread, &rows[thread]),
            bits: format!("{}: {device} {got}, {wanted}", RESULTS[i]),
        }
    };
    outcome.some = spread(distinct).map(difference).collect();
    outcome
}

fn shown(bits: u64, class: Class) -> String {
    let digits = (class.bits() as usize).div_ceil(4);
    format!("0x{bits:0digits$x}")
}

fn operands(form: &Form, thread: usize, row: &Row) -> String {
    let names = ["a", "b", "c", "e"];
    let sources = form.sources.iter().zip(names).zip(row);
    let mut all: Vec<String> = sources
        .map(|((source, name), &value)| format!("{name}={}", source.show(value)))
        .collect();
    if !matches!(form.expect, Expect::Each(_) | Expect::Within(_)) || all.is_empty() {
        all.insert(0, format!("thread {}", thread % Form::BLOCK));
    }
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::{Bound, Operand};
    use device::EmulatedDevice;

    fn tried(form: &Form) -> DeviceOutcome {
        run_form(form, &EmulatedDevice::default(), None, Amount::QUICK).emulated
    }

    #[test]
    fn a_wrong_result_is_found_with_its_operands() {
        let wrong = |[a, b]: [u64; 2]| {
            if (a, b) == (3, 7) {
                11
            } else {
                a.wrapping_add(b)
            }
        };
        let outcome = tried(&Form::simple(
            "add.u32",
            [Operand::I32, Operand::I32],
            wrong,
        ));
        assert!(!outcome.holds());
        let [difference] = &outcome.some[..] else {
            panic!("{outcome:?}")
        };
        assert_eq!(difference.operands, "a=0x3 b=0x7");
        assert_eq!(
            difference.bits,
            "x: emulated 0x0000000a, expected 0x0000000b"
        );
    }

    #[test]
    fn differences_that_are_kept_are_distinct_and_spread() {
        assert_eq!(spread(vec![5, 6]).collect::<Vec<_>>(), [5, 6]);
        let kept: Vec<usize> = spread((0..1000).collect()).collect();
        assert_eq!(kept.len(), SHOWN);
        assert!(
            kept.windows(2).all(|w| (41..=42).contains(&(w[1] - w[0]))),
            "{kept:?}"
        );

        let sources = [Operand::Of(Class::B32, (0..4).collect())];
        let outcome = tried(&Form::simple("not.b32", sources, |[a]| a));
        assert!(outcome.differences > 4);
        let operands: Vec<_> = outcome.some.iter().map(|d| d.operands.as_str()).collect();
        assert_eq!(operands, ["a=0x0", "a=0x1", "a=0x2", "a=0x3"]);
    }

    #[test]
    fn a_form_that_does_not_run_is_refused_with_the_reason() {
        let form = Form::simple("frob.u32", [Operand::I32], |[a]| a);
        let outcome = tried(&form);
        assert!(!outcome.holds());
        assert!(
            outcome
                .refused
                .is_some_and(|reason| reason.contains("frob"))
        );
    }

    #[test]
    fn an_approximation_beyond_its_bound_is_found() {
        let near = |scale: f64| {
            let root = move |[a]: [u64; 1]| match f64::from(f32::from_bits(a as u32)) {
                a if a.is_normal() && a > 0.0 => Target::Near {
                    value: a.sqrt() * scale,
                    bound: Bound::Relative(2f64.powi(-23)),
                    flushed: false,
                },
                _ => Target::Unspecified,
            };
            tried(&Form::approximate("sqrt.approx.f32", [Operand::F32], root))
        };
        assert!(near(1.0).holds());
        assert!(!near(1.0 + 2f64.powi(-21)).holds());
    }
}
