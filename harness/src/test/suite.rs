//! The tests of one lab, a case at a time, with a line for each.

use device::DeviceError;
use device::{CheckError, Device, Error, NamedBuffers, ProgramFault, check};
use exit::ErrorKind;
use grading::places;
use lab::run::{explain, run_from};
use lab::{Cpu, Lab, LabCase, Variant};
use terminal::progress::NoProgress;

use super::grid::Grid;
use super::replayed::Replayed;
use super::report::{Status, TestResult};
use exit::CommandError;
use select::devices::{Chosen, Wanted};
use select::memory_advice;
use select::tuned::Table;
use terminal::look::Look;
use terminal::progress::{Bar, Progress};
use terminal::stdout::Out;

/// A column of the report: a variant on a device, or the parallel CPU reference, which must equal
/// the serial one.
pub struct Column<'m> {
    /// The device's name.
    pub name: Wanted,
    /// None for the CPU reference.
    variant: Option<(&'static Variant, &'m dyn Device)>,
    /// Whether it is shown together with others like it.
    pub is_one_of_many: bool,
}

/// The columns for these devices and variants, device by device. Unless they were `named`, the
/// variants that are measured on request are shown as one.
pub fn columns<'m>(
    chosen: &Chosen<'m>,
    variants: &[&'static Variant],
    named: bool,
) -> Vec<Column<'m>> {
    let cpu = chosen.cpu.then_some(Column {
        name: Wanted::Cpu,
        variant: None,
        is_one_of_many: false,
    });
    let devices = chosen.devices.iter().flat_map(|on| {
        variants.iter().map(move |variant| Column {
            name: on.name.into(),
            variant: Some((variant, on.device)),
            is_one_of_many: variant.on_request && !named,
        })
    });
    cpu.into_iter().chain(devices).collect()
}

impl Column<'_> {
    /// The variant's name, or that of the CPU reference.
    pub fn variant_name(&self) -> &'static str {
        self.variant
            .map_or(Cpu::Parallel.name(), |(variant, _)| &variant.name)
    }
}

/// The tests of one lab.
pub struct Suite<'m> {
    /// The lab.
    pub lab: &'static Lab,
    /// The rows of the report.
    pub cases: Vec<Box<dyn LabCase>>,
    /// The columns of the report.
    pub columns: Vec<Column<'m>>,
}

/// How far all tests together are. A step is the work of a site update or the like.
pub struct Pace {
    bar: Bar,
    done: u64,
    all: u64,
}

/// The steps that a test takes beside those of its case.
const STEPS_OF_A_TEST: u64 = 2000;

impl Pace {
    /// None of these tests is done.
    pub fn new(suites: &[Suite<'_>]) -> Pace {
        let cases = |suite: &Suite<'_>| -> u64 {
            let steps = suite.cases.iter().map(|case| steps(case.as_ref()));
            steps.sum::<u64>() * suite.columns.len() as u64
        };
        Pace {
            bar: Bar::at_once("testing"),
            done: 0,
            all: suites.iter().map(cases).sum(),
        }
    }

    /// Another test of this case is done.
    fn add(&mut self, case: &dyn LabCase) {
        self.done += steps(case);
        self.bar.update(self.done, self.all);
    }
}

fn steps(case: &dyn LabCase) -> u64 {
    STEPS_OF_A_TEST + case.work().updates
}

/// Tests each column on each case. `show` gets a line for each case as soon as it is done.
///
/// # Errors
///
/// If the reference cannot be computed, and for bugs of ours.
pub fn run(
    suite: &Suite<'_>,
    tuned: &Table,
    pace: &mut Pace,
    mut replayed: Option<&mut Replayed>,
    mut show: Option<&mut Out<'_>>,
) -> Result<Vec<TestResult>, CommandError> {
    let Suite {
        lab,
        cases,
        columns,
    } = suite;
    pace.bar.label(&format!("testing {}", lab.name));
    let labels: Vec<String> = cases.iter().map(|case| case.label()).collect();
    let look = show.as_deref().map_or(Look::PLAIN, Out::look);
    let grid = Grid::new(lab.name, &labels, columns, look);
    if let Some(out) = show.as_deref_mut() {
        out.line(grid.header())?;
    }
    let mut results = Vec::new();
    for (case, label) in cases.iter().zip(labels) {
        let lacking =
            |error| memory_advice::failure(error, lab, lab.variants.first()).context(&label);
        let inputs = case.inputs().map_err(lacking)?;
        let expected = case
            .reference_from(&inputs, Cpu::Serial, &NoProgress)
            .map_err(lacking)?;
        let mut row = Vec::new();
        for column in columns {
            let End {
                status,
                message,
                fault,
            } = Test {
                lab,
                case: case.as_ref(),
                column,
                tuned,
                inputs: &inputs,
                expected: &expected,
            }
            .run(replayed.as_deref_mut())
            .map_err(|failure| failure.context(&label))?;
            pace.add(case.as_ref());
            row.push(TestResult {
                case: label.clone(),
                device: column.name.to_string(),
                variant: column.variant_name(),
                status,
                message,
                rule: fault.as_ref().map(|fault| fault.kind.name()),
                places: fault.map_or_else(Vec::new, |fault| places(&fault)),
            });
        }
        if let Some(out) = show.as_deref_mut() {
            out.line(grid.row(&label, &row))?;
            for message in grid.messages(&row) {
                out.line(look.wrapped(&message, 2))?;
            }
        }
        results.append(&mut row);
    }
    if let Some(out) = show {
        out.line("")?;
    }
    Ok(results)
}

/// How a test ended.
struct End {
    status: Status,
    message: Option<String>,
    /// The rule that a kernel broke on the emulated device.
    fault: Option<ProgramFault>,
}

impl End {
    fn new(status: Status, message: Option<String>) -> Self {
        Self {
            status,
            message,
            fault: None,
        }
    }
}

/// One test.
struct Test<'t> {
    lab: &'t Lab,
    case: &'t dyn LabCase,
    column: &'t Column<'t>,
    tuned: &'t Table,
    inputs: &'t NamedBuffers,
    expected: &'t NamedBuffers,
}

impl Test<'_> {
    /// Runs it. Fails only for bugs of ours and cases that cannot be recorded.
    fn run(&self, replayed: Option<&mut Replayed>) -> Result<End, CommandError> {
        let &Test {
            lab,
            case,
            column,
            tuned,
            inputs,
            expected,
        } = self;
        let tested = match column.variant {
            None => case
                .reference_from(inputs, Cpu::Parallel, &NoProgress)
                .map(|got| check::exact(expected, &got)),
            Some((variant, device)) => {
                let (info, count) = (device.info(), device.count());
                let variant = tuned.shape(lab, variant, case, info, count).launched;
                if let Some(replayed) = &replayed {
                    replayed.begin(device);
                }
                let tested = run_from(device, case, variant, inputs)
                    .and_then(|outcome| variant.check(case, inputs, expected, &outcome.outputs));
                if let Some(replayed) = replayed {
                    let wrong = tested
                        .as_ref()
                        .ok()
                        .and_then(|checked| checked.as_ref().err());
                    replayed.end(device, variant, case, inputs, wrong);
                }
                tested
            }
        };
        ended(lab, case, column, tested)
    }
}

/// How a test ended.
fn ended(
    lab: &Lab,
    case: &dyn LabCase,
    column: &Column<'_>,
    tested: Result<Result<(), CheckError>, Error>,
) -> Result<End, CommandError> {
    match tested {
        Ok(Ok(())) => Ok(End::new(Status::Ok, None)),
        Ok(Err(error)) => Ok(End::new(Status::Failed, Some(explain(case, &error)))),
        // The earlier fault has been reported.
        Err(Error::Device(DeviceError::Lost { .. })) => Ok(End::new(Status::NotRun, None)),
        Err(error) => match error.kind() {
            ErrorKind::Submission => Ok(End {
                fault: error.program_fault().cloned(),
                ..End::new(Status::Failed, Some(error.to_string()))
            }),
            ErrorKind::Environment => {
                let variant = column.variant.map(|(variant, _)| variant);
                let message = memory_advice::explained(&error, lab, variant);
                Ok(End::new(Status::Lacking, Some(message)))
            }
            ErrorKind::Needs => Ok(End::new(Status::Skipped, Some(error.to_string()))),
            ErrorKind::Input | ErrorKind::Bug => Err(error.into()),
        },
    }
}
