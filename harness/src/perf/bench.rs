//! All rows of one case, in order: the CPU references, then every variant and peer on every device.

mod cpu;
mod device;
mod ratios;

use std::time::Instant;

use host::{Case, Cpu, Error, Lab, NamedBuffers, Variant};

use super::contender::Peer;
use super::counted::Counted;
use super::results::{CaseResults, DeviceRecord, DeviceTrace, Outcome, Row};
use super::settings::Settings;
use super::watch::Watch;
use crate::catalogue::first_variant;
use crate::devices::{Chosen, Wanted};
use crate::failure::Failure;
use crate::memory_advice;
use crate::progress::Bar;
use ratios::{compare_with_cpu, mark_fastest};

pub struct Bench<'b> {
    pub lab: &'b dyn Lab,
    pub variants: Vec<Variant>,
    pub peers: Vec<&'b dyn Peer>,
    pub case: Box<dyn Case>,
    /// What the CPU is timed on, if not the same case.
    pub cpu_case: Option<Box<dyn Case>>,
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
        began: Instant,
        tell: &dyn Fn(&CaseResults),
    ) -> Result<CaseResults, Failure> {
        let case = self.case.as_ref();
        let mut results = CaseResults {
            lab: self.lab.name().to_owned(),
            first_variant: first_variant(self.lab).to_owned(),
            case: case.label(),
            rows: Vec::new(),
            counted: None,
            traces: Vec::new(),
        };
        let has_devices = !chosen.devices.is_empty();
        let mut expected = None;
        if let Some(other) = self.cpu_case.as_deref().filter(|_| chosen.cpu) {
            (results.rows, _) = self.cpu_rows(other, &self.inputs(other)?)?;
            compare_with_cpu(&mut results.rows);
            tell(&results);
        }
        let is_cpu_case = chosen.cpu && self.cpu_case.is_none();
        // Made once, for the CPU and for every variant: they can be gigabytes.
        let inputs = match is_cpu_case || has_devices {
            true => self.inputs(case)?,
            false => NamedBuffers::new(),
        };
        if is_cpu_case {
            let (rows, outputs) = self.cpu_rows(case, &inputs)?;
            (results.rows, expected) = (rows, self.is_checked.then_some(outputs));
            compare_with_cpu(&mut results.rows);
            tell(&results);
        } else if self.is_checked && has_devices {
            let bar = Bar::new(format!("reference of {}", case.label()));
            let outputs = case.reference_from(&inputs, Cpu::Parallel, &bar);
            expected = Some(outputs.map_err(|error| self.lacking(error, case))?);
        }
        for (&named, (record, watch)) in chosen.devices.iter().zip(devices) {
            let recorder = watch.record();
            let began_s = began.elapsed().as_secs_f64();
            let rows = self.device_rows(named, record, watch, &inputs, expected.as_ref())?;
            results.rows.extend(rows);
            results.traces.extend(recorder.map(|recorder| DeviceTrace {
                device: named.name.to_string(),
                began_s,
                samples: recorder.stop().samples,
            }));
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
        let nothing_timed = !has_devices && !chosen.absent.is_empty();
        results.counted = Counted::count(self.lab, &self.variants, case, nothing_timed);
        Ok(results)
    }

    fn inputs(&self, case: &dyn Case) -> Result<NamedBuffers, Failure> {
        case.inputs().map_err(|error| self.lacking(error, case))
    }

    /// The error, with what fits where memory is short.
    fn lacking(&self, error: Error, case: &dyn Case) -> Failure {
        memory_advice::failure(error, case, first_variant(self.lab))
    }

    /// A row of which nothing is known yet.
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
