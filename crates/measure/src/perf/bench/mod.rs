//! All rows of one case: every variant and peer on every device, or a variant on more and more
//! devices. And the CPU references, which a lab has once.

mod check;
mod computed;
mod contenders;
mod cpu;
mod fewer;
mod groups;
mod meanwhile;
mod rows;
mod speedups;

use std::thread;

use device::buffer::free;
use device::{DeviceKind, Error, NamedBuffers};
use lab::{Lab, LabCase, Variant};

use super::counters;
use super::own_limit::{self, Launched};
use super::reporters::{Event, Reporters};
use super::settings::Settings;
use super::stopwatch::Stopwatch;
use super::timed_run::Peer;
use super::watch::Watch;
use crate::register_cap::RegisterCap;
use exit::CommandError;
use results::counted::Counted;
use results::spent::Phase;
use results::{CaseResults, DeviceRecord, DeviceTrace, Outcome, Row};
use select::devices::{Chosen, Named};
use select::memory_advice;
use select::tuned::Table;
use speedups::compare_with_cpu;
pub(crate) use speedups::times_as_long;

pub use computed::CheckArg;
use computed::Computed;
pub use contenders::OnGpus;
pub use cpu::References;

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
    pub progress: String,
}

/// The devices that the cases of a lab are timed on, and what they are compared with.
#[derive(Clone, Copy)]
pub struct On<'d> {
    pub chosen: &'d Chosen<'d>,
    /// Of each chosen device, its limits and what reports on it.
    pub devices: &'d [(DeviceRecord, Watch)],
    /// The CPU, if it was timed.
    pub references: Option<&'d References>,
    pub stopwatch: &'d Stopwatch,
}

/// Where rows are made: a device, or several as one.
#[derive(Clone, Copy)]
pub struct Place<'d> {
    pub named: Named<'d>,
    pub record: &'d DeviceRecord,
    /// The reports of all its devices.
    pub watch: &'d Watch,
    pub stopwatch: &'d Stopwatch,
}

impl Place<'_> {
    /// Whether times mean anything.
    fn has_times(&self) -> bool {
        self.named.device.info().kind != DeviceKind::Emulated
    }

    /// How many processes compute on the devices, where that is known.
    fn compute_processes(&self) -> Option<u32> {
        self.watch.read()?.compute_processes
    }
}

impl<'d> On<'d> {
    fn places(self) -> impl Iterator<Item = Place<'d>> {
        let devices = self.chosen.devices.iter().zip(self.devices);
        devices.map(move |(&named, (record, watch))| Place {
            named,
            record,
            watch,
            stopwatch: self.stopwatch,
        })
    }
}

impl Bench<'_> {
    /// Times everything on the devices, and compares it with the CPU. Tells what is finished after
    /// each device, and in the end. `is_first` of its lab's.
    ///
    /// # Errors
    ///
    /// Where the reference cannot be computed, and bugs of ours. What fails on a device is in its
    /// row.
    pub fn run(
        &self,
        on: On<'_>,
        is_first: bool,
        reporters: &mut Reporters<'_, '_>,
    ) -> Result<(), CommandError> {
        let (case, chosen) = (self.case.as_ref(), on.chosen);
        let mut results = self.empty();
        if !chosen.devices.is_empty() {
            results.counted = self.on_devices(on, &mut results, reporters)?;
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

    /// Adds the rows of every device to the results, and tells them. The emulated device's counts,
    /// which are made meanwhile.
    fn on_devices(
        &self,
        on: On<'_>,
        results: &mut CaseResults,
        reporters: &mut Reporters<'_, '_>,
    ) -> Result<Option<Counted>, CommandError> {
        let stopwatch = on.stopwatch;
        // Made once for all variants: they can be gigabytes. On several devices, they are made for
        // each case, and dropped once they are written.
        let made = stopwatch.time(Phase::Inputs, || {
            let of_variants = self.gpus.is_empty().then(|| self.inputs());
            of_variants.transpose()
        })?;
        let inputs = made.as_ref();
        let of_cpu = on.references.map_or(&[][..], |known| &known.rows);
        let known = on.references.filter(|known| known.case == results.case);
        let outputs = known.map(|known| known.outputs.clone());
        let timed = on.places().filter(Place::has_times);
        let launched: Vec<Launched> = match inputs {
            Some(_) => timed
                .flat_map(|place| self.launched(place.named, place.record))
                .collect(),
            None => Vec::new(),
        };
        let counted = thread::scope(|scope| {
            let meanwhile = self.meanwhile(scope, launched, inputs, outputs);
            for place in on.places() {
                // The counters of several devices are slow to read.
                let recorder = inputs.and_then(|_| place.watch.record());
                let began_s = reporters.elapsed_s();
                let mut rows = match inputs {
                    Some(inputs) => self.rows_of_variants(place, inputs, &meanwhile)?,
                    None => self.rows_of_gpus(place)?,
                };
                compare_with_cpu(&mut rows, of_cpu);
                results.rows.extend(rows);
                results.traces.extend(recorder.map(|recorder| DeviceTrace {
                    device: place.named.name.to_string(),
                    began_s,
                    samples: recorder.stop().samples,
                }));
                reporters.tell(Event::Measured(results.clone()))?;
            }
            let (counts, computed) = stopwatch.time(Phase::Waiting, || meanwhile.end());
            stopwatch.time(Phase::Freeing, || computed.map(Computed::free));
            for row in &mut results.rows {
                own_limit::add(row, &counts.busy);
            }
            Ok::<_, CommandError>(counts.counted)
        })?;
        stopwatch.time(Phase::Freeing, || made.map(free));
        Ok(counted)
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
