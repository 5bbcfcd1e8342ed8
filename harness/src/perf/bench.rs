//! All rows of one case, in order: the CPU references, then every variant on every device.

use host::device::DeviceError;
use host::{Case, CheckError, Cpu, Error, ErrorKind, Lab, NamedBuffers, Variant, check};

use super::kernels::Coalescing;
use super::limits::Limits;
use super::measure::{self, Measured};
use super::report::CaseReport;
use super::row::{Outcome, Row, Verdict};
use crate::catalogue::first_variant;
use crate::devices::{Chosen, Named, Wanted};
use crate::failure::Failure;
use crate::fits;
use crate::progress::Bar;
use crate::test::explain;

/// What to time.
pub struct Bench<'b> {
    /// The lab.
    pub lab: &'b dyn Lab,
    /// Its variants that are timed.
    pub variants: Vec<Variant>,
    /// The case.
    pub case: Box<dyn Case>,
    /// What the CPU is timed on, if not the same case.
    pub cpu_case: Option<Box<dyn Case>>,
    /// Exactly so many samples, or as many as it takes.
    pub samples: Option<usize>,
    /// Whether results are compared with the reference.
    pub is_checked: bool,
}

impl Bench<'_> {
    /// Times everything on the chosen devices, whose limits were measured.
    ///
    /// # Errors
    ///
    /// Where the reference cannot be computed, and bugs of ours. What fails on a device is in its row.
    pub fn run(&self, chosen: &Chosen<'_>, limits: &Limits) -> Result<CaseReport, Failure> {
        // Made once, for the CPU and for every variant: they can be gigabytes.
        let mut inputs = None;
        let (mut rows, mut expected) = if chosen.cpu {
            match &self.cpu_case {
                Some(case) => {
                    let inputs = self.inputs(case.as_ref())?;
                    (self.cpu_rows(case.as_ref(), &inputs)?.0, None)
                }
                None => {
                    let inputs = inputs.insert(self.inputs(self.case.as_ref())?);
                    let (rows, expected) = self.cpu_rows(self.case.as_ref(), inputs)?;
                    (rows, Some(expected))
                }
            }
        } else {
            (Vec::new(), None)
        };
        let inputs = match inputs {
            Some(inputs) => inputs,
            None if chosen.devices.is_empty() => NamedBuffers::new(),
            None => self.inputs(self.case.as_ref())?,
        };
        let cpu_rate = rows
            .last()
            .and_then(Row::figures)
            .map(|figures| figures.updates_per_s);
        if !self.is_checked {
            expected = None;
        } else if expected.is_none() && !chosen.devices.is_empty() {
            let bar = Bar::new(format!("reference of {}", self.case.label()));
            let result = self.case.reference_from(&inputs, Cpu::Parallel, &bar);
            expected = Some(result.map_err(|error| self.lacking(error, self.case.as_ref()))?);
        }
        for &named in &chosen.devices {
            rows.append(&mut self.device_rows(named, limits, &inputs, expected.as_ref())?);
        }
        for absent in &chosen.absent {
            rows.extend(self.variants.iter().map(|variant| Row {
                device: absent.name.to_string(),
                variant: variant.name,
                case: self.case.label(),
                outcome: Outcome::Skipped {
                    message: absent.reason.clone(),
                },
            }));
        }
        for row in &mut rows {
            if let Outcome::Timed(figures) = &mut row.outcome {
                figures.vs_cpu = cpu_rate.map(|rate| figures.updates_per_s / rate);
            }
        }
        mark_fastest(&mut rows);
        let coalescing = Coalescing::count(self.lab, &self.variants, self.case.as_ref());
        let label = self.case.label();
        Ok(CaseReport::new(self.lab, label, rows, coalescing))
    }

    fn inputs(&self, case: &dyn Case) -> Result<NamedBuffers, Failure> {
        case.inputs().map_err(|error| self.lacking(error, case))
    }

    /// The error, with what fits where memory is short.
    fn lacking(&self, error: Error, case: &dyn Case) -> Failure {
        fits::failure(error, case, self.lab.variants()[0].name)
    }

    /// The rows of the references, serial first, and their result.
    fn cpu_rows(
        &self,
        case: &dyn Case,
        inputs: &NamedBuffers,
    ) -> Result<(Vec<Row>, NamedBuffers), Failure> {
        let time = |cpu| {
            measure::cpu(self.lab, case, inputs, cpu, self.samples)
                .map_err(|error| self.lacking(error, case))
        };
        let mut serial = time(Cpu::Serial)?;
        let mut parallel = time(Cpu::Parallel)?;
        serial.figures.result = Verdict::Reference;
        if self.is_checked {
            let checked = check::exact(&serial.outputs, &parallel.outputs);
            judge(&mut parallel, case, true, checked);
        }
        let rows = [
            (Cpu::Serial, serial.figures),
            (Cpu::Parallel, parallel.figures),
        ];
        let rows = rows.map(|(cpu, figures)| Row {
            device: Wanted::Cpu.to_string(),
            variant: cpu.name(),
            case: case.label(),
            outcome: Outcome::Timed(Box::new(figures)),
        });
        Ok((rows.into(), serial.outputs))
    }

    fn device_rows(
        &self,
        named: Named<'_>,
        limits: &Limits,
        inputs: &NamedBuffers,
        expected: Option<&NamedBuffers>,
    ) -> Result<Vec<Row>, Failure> {
        let copy = limits.copy_bytes_per_s(named.name);
        let mut rows = Vec::new();
        let mut first_s = None;
        for (index, variant) in self.variants.iter().enumerate() {
            let label = format!("{} on {}", variant.name, named.name);
            let bar = Bar::spinner(format!("timing {label}"));
            let measured = measure::device(
                named.device,
                self.lab,
                self.case.as_ref(),
                inputs,
                variant.name,
                self.samples,
            );
            drop(bar);
            let outcome = match measured {
                Ok(mut measured) => {
                    if let Some(expected) = expected {
                        let checked = self.case.check(variant.name, expected, &measured.outputs);
                        judge(&mut measured, self.case.as_ref(), variant.exact, checked);
                    }
                    let mut figures = measured.figures;
                    if index == 0 && variant.name == first_variant(self.lab) {
                        first_s = Some(figures.run.median_s);
                    }
                    figures.vs_first = first_s.map(|first_s| first_s / figures.run.median_s);
                    figures.of_copy = figures
                        .bytes_per_s
                        .zip(copy)
                        .map(|(rate, copy)| rate / copy);
                    Outcome::Timed(Box::new(figures))
                }
                Err(error) => failed(error, self.case.as_ref(), variant.name)?,
            };
            rows.push(Row {
                device: named.name.to_string(),
                variant: variant.name,
                case: self.case.label(),
                outcome,
            });
        }
        Ok(rows)
    }
}

/// Marks the best of several right rows of each device.
fn mark_fastest(rows: &mut [Row]) {
    let is_right = |row: &Row| {
        let figures = row.figures();
        figures
            .is_some_and(|figures| !matches!(figures.result, Verdict::Wrong | Verdict::Reference))
    };
    let mut devices: Vec<String> = rows.iter().map(|row| row.device.clone()).collect();
    devices.dedup();
    devices.retain(|device| *device != Wanted::Cpu.to_string());
    for device in devices {
        let mut right: Vec<&mut Row> = rows
            .iter_mut()
            .filter(|row| row.device == device && is_right(row))
            .collect();
        if right.len() < 2 {
            continue;
        }
        let time = |row: &Row| {
            row.figures()
                .map_or(f64::INFINITY, |figures| figures.run.median_s)
        };
        right.sort_by(|a, b| time(a).total_cmp(&time(b)));
        if let Outcome::Timed(figures) = &mut right[0].outcome {
            figures.is_fastest = true;
        }
    }
}

/// Notes whether the result is right.
fn judge(
    measured: &mut Measured,
    case: &dyn Case,
    is_exact: bool,
    checked: Result<(), CheckError>,
) {
    let figures = &mut measured.figures;
    match checked {
        Ok(()) if is_exact => figures.result = Verdict::Equal,
        Ok(()) => figures.result = Verdict::Close,
        Err(error) => {
            figures.result = Verdict::Wrong;
            figures.mismatch = Some(explain(case, &error));
        }
    }
}

/// What a row says of an error; bugs of ours are not for rows.
fn failed(error: Error, case: &dyn Case, variant: &str) -> Result<Outcome, Failure> {
    let message = fits::explained(&error, case, variant);
    match error.kind() {
        ErrorKind::Submission => Ok(Outcome::Failed { message }),
        ErrorKind::Environment => Ok(match error {
            Error::Device(DeviceError::Lost { .. }) => Outcome::Skipped {
                message: "device lost: an earlier kernel failed on it".to_owned(),
            },
            _ => Outcome::Lacking { message },
        }),
        ErrorKind::Input | ErrorKind::Bug => Err(error.into()),
    }
}
