//! The rows of the references, which the CPU computes.

use std::time::Instant;

use host::{Case, Cpu, Error, NamedBuffers, check};
use stats::Summary;

use super::Bench;
use crate::catalogue::first_variant;
use crate::devices::Wanted;
use crate::failure::Failure;
use crate::perf::results::{Clock, Correctness, Figures, Outcome, Row};
use crate::perf::settings::Settings;
use crate::progress::Bar;
use crate::test::explain;

impl Bench<'_> {
    /// The rows of the references, serial first, and their result.
    pub(super) fn cpu_rows(
        &self,
        case: &dyn Case,
        inputs: &NamedBuffers,
    ) -> Result<(Vec<Row>, NamedBuffers), Failure> {
        let time = |cpu| {
            time(case, inputs, cpu, &self.settings).map_err(|error| self.lacking(error, case))
        };
        let (serial, serial_outputs) = time(Cpu::Serial)?;
        let (parallel, parallel_outputs) = time(Cpu::Parallel)?;
        let (result, mismatch) = if self.is_checked {
            match check::exact(&serial_outputs, &parallel_outputs) {
                Ok(()) => (Correctness::Equal, None),
                Err(error) => (Correctness::Wrong, Some(explain(case, &error))),
            }
        } else {
            (Correctness::Unchecked, None)
        };
        let row = |cpu: Cpu, run: Summary, result, mismatch| {
            let host_median_s = run.median_s;
            let figures = Figures {
                result,
                mismatch,
                ..Figures::new(run, Clock::Host, host_median_s)
            };
            // The amount of useful work is the same for every variant.
            let figures = figures.with_work(case.work(first_variant(self.lab)), case.timesteps());
            Row {
                outcome: Outcome::Timed(Box::new(figures)),
                case: case.label(),
                ..self.row(Wanted::Cpu, cpu.name())
            }
        };
        let rows = vec![
            row(Cpu::Serial, serial, Correctness::Reference, None),
            row(Cpu::Parallel, parallel, result, mismatch),
        ];
        Ok((rows, serial_outputs))
    }
}

/// Times a reference, without the making of its inputs; what the last timed run gave. A first run that takes long enough
/// is itself warm, and counts.
fn time(
    case: &dyn Case,
    inputs: &NamedBuffers,
    cpu: Cpu,
    settings: &Settings,
) -> Result<(Summary, NamedBuffers), Error> {
    let first = Instant::now();
    let run = || {
        let bar = Bar::since(format!("timing {} on cpu", cpu.name()), first);
        let began = Instant::now();
        let outputs = case.reference_from(inputs, cpu, &bar)?;
        Ok::<_, Error>((began.elapsed(), outputs))
    };
    let (first_time, mut outputs) = run()?;
    let summary = settings.cpu.collect(|index| {
        if index == 0 && first_time >= settings.cpu_warm_up {
            return Ok(first_time);
        }
        let time;
        (time, outputs) = run()?;
        Ok::<_, Error>(time)
    })?;
    Ok((summary, outputs))
}
