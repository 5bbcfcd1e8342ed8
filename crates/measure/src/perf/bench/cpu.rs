//! The rows of the references, which the CPU computes.

use std::time::Instant;

use device::buffer::copies;
use device::{Error, NamedBuffers, check};
use lab::{Cpu, LabCase};
use stats::Summary;

use super::Bench;
use super::check::{CheckArg, keep_outputs};
use super::speedups::compare_with_cpu;
use crate::perf::results::{Clock, Correctness, Figures, Outcome, Row};
use exit::CommandError;
use lab::devices::Wanted;
use lab::run::explain;
use terminal::progress::Bar;

/// The references of a lab, timed, and what they gave.
pub struct References {
    /// Serial first.
    pub rows: Vec<Row>,
    /// The case's label.
    pub case: String,
    pub outputs: NamedBuffers,
}

impl Bench<'_> {
    /// Times the references on this case of the lab.
    ///
    /// # Errors
    ///
    /// Where memory is short.
    pub fn references(&self, case: &dyn LabCase) -> Result<References, CommandError> {
        let inputs = case.inputs().map_err(|error| self.lacking(error))?;
        let time = |cpu| time(case, &inputs, cpu, self).map_err(|error| self.lacking(error));
        let (serial, mut outputs) = time(Cpu::Serial)?;
        let (parallel, parallel_outputs) = time(Cpu::Parallel)?;
        let (result, mismatch) = match check::exact(&outputs, &parallel_outputs) {
            _ if self.check == CheckArg::None => (Correctness::Unchecked, None),
            Ok(()) => (Correctness::Equal, None),
            Err(error) => (Correctness::Wrong, Some(explain(case, &error))),
        };
        let row = |cpu: Cpu, run: Summary, result, mismatch| {
            let host_median_s = run.median_s;
            let figures = Figures {
                result,
                mismatch,
                ..Figures::new(run, Clock::Host, host_median_s)
            };
            // The amount of useful work is the same for every variant.
            let figures = figures.with_work(case.work(), case.timesteps());
            let outcome = Outcome::Timed(Box::new(figures));
            Row::new(Wanted::Cpu, cpu.name(), case.label(), outcome)
        };
        let mut rows = vec![
            row(Cpu::Serial, serial, Correctness::Reference, None),
            row(Cpu::Parallel, parallel, result, mismatch),
        ];
        keep_outputs(self.lab, &mut outputs);
        let known = rows.clone();
        compare_with_cpu(&mut rows, &known);
        Ok(References {
            rows,
            case: case.label(),
            outputs,
        })
    }
}

/// Times a reference, without setup; the buffers as the last timed run left them. A first run that
/// takes long enough is itself warm, and counts.
fn time(
    case: &dyn LabCase,
    inputs: &NamedBuffers,
    cpu: Cpu,
    bench: &Bench<'_>,
) -> Result<(Summary, NamedBuffers), Error> {
    let (first, settings) = (Instant::now(), &bench.settings);
    let run = || {
        let bar = Bar::since(format!("{} on the CPU, {}", bench.place, cpu.name()), first);
        let mut buffers = copies(inputs, |_| true)?;
        let time = case.advance(&mut buffers, cpu, &bar)?;
        Ok::<_, Error>((time, buffers))
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
