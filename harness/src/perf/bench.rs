//! All rows of one case, in order: the CPU references, then every variant and peer on every device.

mod cpu;
mod device;
mod ratios;

use host::{Case, Cpu, Error, Lab, NamedBuffers, Variant, Work};

use super::contender::Peer;
use super::counted::Counted;
use super::results::{CaseResults, Clock, DeviceRecord, DeviceTrace, Figures, Outcome, Row};
use super::settings::Settings;
use super::watch::Watch;
use crate::catalogue::first_variant;
use crate::devices::{Chosen, Wanted};
use crate::failure::Failure;
use crate::memory_advice;
use crate::progress::Bar;
use crate::stats::Summary;
use ratios::{compare_with_cpu, mark_fastest};

/// What to time.
pub struct Bench<'b> {
    /// The lab.
    pub lab: &'b dyn Lab,
    /// Its variants that are timed.
    pub variants: Vec<Variant>,
    /// Peers of these variants.
    pub peers: Vec<&'b dyn Peer>,
    /// The case.
    pub case: Box<dyn Case>,
    /// What the CPU is timed on, if not the same case.
    pub cpu_case: Option<Box<dyn Case>>,
    /// How long and how well.
    pub settings: Settings,
    /// Whether results are compared with the reference.
    pub is_checked: bool,
}

impl Bench<'_> {
    /// Times everything on the chosen devices, whose limits were measured. `began` is when the program was started;
    /// `tell` gets what is finished so far, after the CPU and after each device.
    ///
    /// # Errors
    ///
    /// Where the reference cannot be computed, and bugs of ours. What fails on a device is in its row.
    pub fn run(
        &self,
        chosen: &Chosen<'_>,
        devices: &[(DeviceRecord, Watch)],
        began: std::time::Instant,
        tell: &dyn Fn(&CaseResults),
    ) -> Result<CaseResults, Failure> {
        // Made once, for the CPU and for every variant: they can be gigabytes.
        let mut inputs = None;
        let (cpu_rows, mut expected) = if chosen.cpu {
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
        let mut results = CaseResults {
            lab: self.lab.name().to_owned(),
            first_variant: first_variant(self.lab).to_owned(),
            case: self.case.label(),
            rows: cpu_rows,
            counted: None,
            traces: Vec::new(),
        };
        compare_with_cpu(&mut results.rows);
        tell(&results);
        let inputs = match inputs {
            Some(inputs) => inputs,
            None if chosen.devices.is_empty() => NamedBuffers::new(),
            None => self.inputs(self.case.as_ref())?,
        };
        if !self.is_checked {
            expected = None;
        } else if expected.is_none() && !chosen.devices.is_empty() {
            let bar = Bar::new(format!("reference of {}", self.case.label()));
            let result = self.case.reference_from(&inputs, Cpu::Parallel, &bar);
            expected = Some(result.map_err(|error| self.lacking(error, self.case.as_ref()))?);
        }
        for (&named, (record, watch)) in chosen.devices.iter().zip(devices) {
            let recorder = watch.record();
            let began_s = began.elapsed().as_secs_f64();
            let mut rows = self.device_rows(named, record, watch, &inputs, expected.as_ref())?;
            if let Some(recorder) = recorder {
                results.traces.push(DeviceTrace {
                    device: named.name.to_string(),
                    began_s,
                    samples: recorder.stop().samples,
                });
            }
            results.rows.append(&mut rows);
            compare_with_cpu(&mut results.rows);
            mark_fastest(&mut results.rows);
            tell(&results);
        }
        for absent in &chosen.absent {
            results.rows.extend(self.variants.iter().map(|variant| Row {
                outcome: Outcome::Skipped {
                    message: absent.reason.clone(),
                },
                ..self.row(absent.name, variant.name)
            }));
        }
        let nothing_timed = chosen.devices.is_empty() && !chosen.absent.is_empty();
        results.counted = Counted::count(self.lab, &self.variants, &*self.case, nothing_timed);
        Ok(results)
    }

    fn inputs(&self, case: &dyn Case) -> Result<NamedBuffers, Failure> {
        case.inputs().map_err(|error| self.lacking(error, case))
    }

    /// The error, with what fits where memory is short.
    fn lacking(&self, error: Error, case: &dyn Case) -> Failure {
        memory_advice::failure(error, case, first_variant(self.lab))
    }

    /// A row that nothing is known of yet.
    fn row(&self, device: Wanted, variant: &str) -> Row {
        Row {
            device: device.to_string(),
            variant: variant.to_owned(),
            language: None,
            built_by: None,
            case: self.case.label(),
            outcome: Outcome::Skipped {
                message: String::new(),
            },
        }
    }
}

/// What a run took and did; the rest is for the devices' rows.
fn figures(run: Summary, clock: Clock, host_median_s: f64, work: Work, case: &dyn Case) -> Figures {
    Figures {
        timesteps: case.timesteps(),
        unit: work.unit.to_owned(),
        updates: work.updates,
        bytes: work.bytes,
        flops: work.flops,
        updates_per_s: work.updates as f64 / run.median_s.max(1e-12),
        ..Figures::new(run, clock, host_median_s)
    }
}
