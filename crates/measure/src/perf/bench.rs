//! All rows of one case: every variant and peer on every device, or a variant on more and more
//! devices. And the CPU references, which a lab has once.

mod check;
mod computed;
mod contenders;
mod cpu;
mod fewer;
mod meanwhile;
mod rows;
mod speedups;

use std::thread;

use device::buffer::free;
use device::{Error, NamedBuffers};
use lab::{Lab, LabCase, Variant};

use super::counters;
use super::reporters::{Event, Reporters};
use super::settings::Settings;
use super::stopwatch::Stopwatch;
use super::timed_run::Peer;
use super::watch::Watch;
use crate::register_cap::RegisterCap;
use exit::CommandError;
use results::spent::Phase;
use results::{CaseResults, DeviceRecord, DeviceTrace, Outcome, Row};
use select::devices::Chosen;
use select::memory_advice;
use select::tuned::Table;
use speedups::compare_with_cpu;
pub(crate) use speedups::times_as_long;

pub use computed::CheckArg;
use computed::Computed;
pub use contenders::OnGpus;
pub use cpu::References;
pub use rows::Place;

pub struct Bench<'b> {
    pub lab: &'static Lab,
    pub variants: Vec<&'static Variant>,
    /// Under which caps of registers each variant is timed, beside without one.
    pub caps: Vec<RegisterCap>,
    pub peers: Vec<&'b dyn Peer>,
    /// The shapes in which variants are timed.
    pub tuned: &'b Table,
    pub case: Box<dyn LabCase>,
    /// The axis of devices: each number of them, and the case there. Empty where rows are of one
    /// device, and differ by variant.
    pub gpus: Vec<OnGpus>,
    pub settings: Settings,
    pub check: CheckArg,
    /// The text of progress bars: its place among the others, and its name.
    pub place: String,
}

impl Bench<'_> {
    /// Times everything on the chosen devices, whose limits were measured, and compares it with the
    /// CPU. Tells what is finished after each device, and in the end. `is_first` of its lab's.
    ///
    /// # Errors
    ///
    /// Where the reference cannot be computed, and bugs of ours. What fails on a device is in its
    /// row.
    pub fn run(
        &self,
        chosen: &Chosen<'_>,
        devices: &[(DeviceRecord, Watch)],
        references: Option<&References>,
        is_first: bool,
        reporters: &mut Reporters<'_, '_>,
        stopwatch: &Stopwatch,
    ) -> Result<(), CommandError> {
        let case = self.case.as_ref();
        let mut results = self.empty();
        let references_rows = references.map_or(&[][..], |references| &references.rows);
        if !chosen.devices.is_empty() {
            // Made once for all variants: they can be gigabytes. On several devices, they are made
            // for each case, and dropped once they are written.
            let inputs = self.gpus.is_empty().then(|| self.inputs());
            let inputs = stopwatch.time(Phase::Inputs, || inputs.transpose())?;
            let made = inputs;
            let inputs = made.as_ref();
            let known = references.filter(|known| known.case == results.case);
            let known = known.map(|known| known.outputs.clone());
            results.counted = thread::scope(|scope| {
                let meanwhile = self.meanwhile(scope, inputs, known);
                for (&named, (record, watch)) in chosen.devices.iter().zip(devices) {
                    // The counters of several devices are slow to read.
                    let recorder = inputs.and_then(|_| watch.record());
                    let began_s = reporters.elapsed_s();
                    let place = Place {
                        named,
                        record,
                        watch,
                        stopwatch,
                    };
                    let mut rows = self.rows(place, inputs.map(|inputs| (inputs, &meanwhile)))?;
                    compare_with_cpu(&mut rows, references_rows);
                    results.rows.extend(rows);
                    results.traces.extend(recorder.map(|recorder| DeviceTrace {
                        device: named.name.to_string(),
                        began_s,
                        samples: recorder.stop().samples,
                    }));
                    reporters.tell(Event::Measured(results.clone()))?;
                }
                let (counted, computed) = stopwatch.time(Phase::Waiting, || meanwhile.end());
                stopwatch.time(Phase::Freeing, || computed.map(Computed::free));
                Ok::<_, CommandError>(counted)
            })?;
            stopwatch.time(Phase::Freeing, || made.map(free));
        }
        for absent in &chosen.absent {
            results.rows.extend(self.variants.iter().map(|variant| {
                let message = absent.reason.clone();
                let outcome = Outcome::Skipped { message };
                Row::new(absent.name, &variant.name, case.label(), outcome)
            }));
        }
        // Without a GPU, for the first case of a lab.
        if chosen.devices.is_empty() && is_first && !chosen.absent.is_empty() {
            results.counted = counters::count_instead_of_times(self.lab, &self.variants, case);
        }
        reporters.tell(Event::CaseDone(results))
    }

    /// The case, with nothing timed.
    pub fn empty(&self) -> CaseResults {
        CaseResults {
            lab: self.lab.name.to_owned(),
            first_variant: self.first_variant().to_owned(),
            case: self.case.label().into(),
            timesteps: self.case.timesteps(),
            rows: Vec::new(),
            counted: None,
            traces: Vec::new(),
        }
    }

    /// The name of the variant that others are compared with: the only one on several devices;
    /// empty in a copy without built-in solutions.
    fn first_variant(&self) -> &'static str {
        let first = match &self.gpus[..] {
            [] => self.lab.variants.first(),
            _ => self.variants.first().copied(),
        };
        first.map_or("", |variant| &variant.name)
    }

    fn inputs(&self) -> Result<NamedBuffers, CommandError> {
        self.case.inputs().map_err(|error| self.lacking(error))
    }

    /// The error, with what fits where memory is short.
    fn lacking(&self, error: Error) -> CommandError {
        memory_advice::failure(error, self.lab, self.lab.variants.first())
    }
}
