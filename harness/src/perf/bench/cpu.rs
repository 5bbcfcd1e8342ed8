//! The rows of the references, which the CPU computes.

use host::{Case, Cpu, NamedBuffers, check};

use super::{Bench, figures};
use crate::catalogue::first_variant;
use crate::devices::Wanted;
use crate::failure::Failure;
use crate::perf::measure;
use crate::perf::results::{Clock, Outcome, Row, Verdict};
use crate::stats::Summary;
use crate::test::explain;

impl Bench<'_> {
    /// The rows of the references, serial first, and their result.
    pub(super) fn cpu_rows(
        &self,
        case: &dyn Case,
        inputs: &NamedBuffers,
    ) -> Result<(Vec<Row>, NamedBuffers), Failure> {
        let time = |cpu| {
            measure::cpu(case, inputs, cpu, &self.settings)
                .map_err(|error| self.lacking(error, case))
        };
        let (serial, parallel) = (time(Cpu::Serial)?, time(Cpu::Parallel)?);
        let parallel_is = if self.is_checked {
            match check::exact(&serial.outputs, &parallel.outputs) {
                Ok(()) => (Verdict::Equal, None),
                Err(error) => (Verdict::Wrong, Some(explain(case, &error))),
            }
        } else {
            (Verdict::Unchecked, None)
        };
        // The amount of useful work is the same for every variant.
        let work = case.work(first_variant(self.lab));
        let row = |cpu: Cpu, run: Summary, (result, mismatch)| {
            let host_median_s = run.median_s;
            let mut figures = figures(run, Clock::Host, host_median_s, work, case);
            figures.result = result;
            figures.mismatch = mismatch;
            Row {
                outcome: Outcome::Timed(Box::new(figures)),
                case: case.label(),
                ..self.row(Wanted::Cpu, cpu.name())
            }
        };
        let rows = vec![
            row(Cpu::Serial, serial.run, (Verdict::Reference, None)),
            row(Cpu::Parallel, parallel.run, parallel_is),
        ];
        Ok((rows, serial.outputs))
    }
}
