//! The tests of one lab, a case at a time, with a line for each.

use host::device::DeviceError;
use host::{
    Case, CheckError, Cpu, Error, ErrorKind, Lab, NamedBuffers, NoProgress, Variant, check,
    run_case,
};

use super::report::{Status, TestResult};
use crate::devices::{Chosen, Named, Wanted};
use crate::failure::Failure;
use crate::memory_advice;
use crate::progress::Bar;
use crate::stdout::Out;
use crate::terminal::Look;
use units::indented;

/// What is tested.
#[derive(Clone, Copy)]
enum Subject<'m> {
    /// The parallel CPU reference, which must equal the serial one.
    Parallel,
    /// A variant on a device.
    Variant(Named<'m>, Variant),
}

/// A column of the report.
pub struct Column<'m> {
    /// The device's name.
    device: Wanted,
    /// The variant's name.
    variant: &'static str,
    subject: Subject<'m>,
}

/// The columns for these devices and variants, device by device.
pub fn columns<'m>(chosen: &Chosen<'m>, variants: &[Variant]) -> Vec<Column<'m>> {
    let cpu = chosen.cpu.then_some(Column {
        device: Wanted::Cpu,
        variant: "parallel",
        subject: Subject::Parallel,
    });
    let devices = chosen.devices.iter().flat_map(|&named| {
        variants.iter().map(move |&variant| Column {
            device: named.name,
            variant: variant.name,
            subject: Subject::Variant(named, variant),
        })
    });
    cpu.into_iter().chain(devices).collect()
}

/// Tests each column on each case. `show` gets a line for each case as soon as it is done.
///
/// # Errors
///
/// If the reference cannot be computed, and for bugs of ours.
pub fn run(
    lab: &dyn Lab,
    cases: &[Box<dyn Case>],
    columns: &[Column<'_>],
    mut show: Option<&mut Out<'_>>,
) -> Result<Vec<TestResult>, Failure> {
    let labels: Vec<String> = cases.iter().map(|case| case.label()).collect();
    let first_width = labels.iter().map(|label| label.len()).max().unwrap_or(0) + 2;
    let widths = widths(columns);
    if let Some(out) = show.as_deref_mut() {
        let header = header(lab.name(), first_width, columns, &widths, out.look());
        out.line(header)?;
    }
    let mut results = Vec::new();
    for (case, label) in cases.iter().zip(labels) {
        let expected = case
            .reference(Cpu::Serial, &Bar::new(format!("reference of {label}")))
            .map_err(|error| {
                let first = lab.variants()[0].name;
                memory_advice::failure(error, case.as_ref(), first).context(&label)
            })?;
        let mut row = Vec::new();
        for column in columns {
            let (status, message) = test(lab, case.as_ref(), column, &expected)
                .map_err(|failure| failure.context(&label))?;
            row.push(TestResult {
                case: label.clone(),
                device: column.device.to_string(),
                variant: column.variant,
                status,
                message,
            });
        }
        if let Some(out) = show.as_deref_mut() {
            let cells = row.iter().zip(&widths);
            let line: String = cells
                .map(|(result, width)| result.status.render(out.look(), *width))
                .collect();
            out.line(format!("{label:first_width$}{}", line.trim_end()))?;
            for result in &row {
                if let Some(message) = &result.message {
                    let subject = format!("{} {}", result.device, result.variant);
                    out.line(format!("  {subject}: {}", indented(message)))?;
                }
            }
        }
        results.append(&mut row);
    }
    if let Some(out) = show {
        out.line("")?;
    }
    Ok(results)
}

/// Two lines: devices, variants.
fn header(
    lab: &str,
    first_width: usize,
    columns: &[Column<'_>],
    widths: &[usize],
    look: Look,
) -> String {
    let mut devices = format!("{lab:first_width$}");
    let mut variants = " ".repeat(first_width);
    let mut last = None;
    for (column, width) in columns.iter().zip(widths) {
        let device = match last.replace(column.device) {
            Some(last) if last == column.device => String::new(),
            _ => column.device.to_string(),
        };
        devices += &format!("{device:width$}");
        variants += &format!("{:width$}", column.variant);
    }
    let title = |text: &str| look.title(text.trim_end());
    format!("{}\n{}", title(&devices), title(&variants))
}

/// Room for the device's name, the variant's, and the longest status.
fn widths(columns: &[Column<'_>]) -> Vec<usize> {
    columns
        .iter()
        .map(|column| {
            let device = column.device.to_string();
            device.len().max(column.variant.len()).max("lacking".len()) + 2
        })
        .collect()
}

/// One test. Fails only for bugs of ours and cases that cannot be recorded.
fn test(
    lab: &dyn Lab,
    case: &dyn Case,
    column: &Column<'_>,
    expected: &NamedBuffers,
) -> Result<(Status, Option<String>), Failure> {
    let tested = match column.subject {
        Subject::Parallel => case
            .reference(Cpu::Parallel, &NoProgress)
            .map(|got| check::exact(expected, &got)),
        Subject::Variant(named, variant) => {
            run_case(named.device, lab.module(), case, variant.name)
                .map(|outcome| case.check(variant.name, expected, &outcome.outputs))
        }
    };
    match tested {
        Ok(Ok(())) => Ok((Status::Ok, None)),
        Ok(Err(error)) => Ok((Status::Failed, Some(explain(case, &error)))),
        // The earlier fault has been reported.
        Err(Error::Device(DeviceError::Lost { .. })) => Ok((Status::NotRun, None)),
        Err(error) => match error.kind() {
            ErrorKind::Submission => Ok((Status::Failed, Some(error.to_string()))),
            ErrorKind::Environment => {
                let name = match column.subject {
                    Subject::Parallel => Cpu::Parallel.name(),
                    Subject::Variant(_, variant) => variant.name,
                };
                Ok((
                    Status::Lacking,
                    Some(memory_advice::explained(&error, case, name)),
                ))
            }
            ErrorKind::Input | ErrorKind::Bug => Err(error.into()),
        },
    }
}

/// What is wrong, and where, in the problem's own coordinates.
pub fn explain(case: &dyn Case, error: &CheckError) -> String {
    error.located(|buffer, index| case.locate(buffer, index))
}
