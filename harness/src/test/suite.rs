//! The tests of one lab, a case at a time, with a line for each.

use host::device::DeviceError;
use host::run::run_from;
use host::{
    Case, CheckError, Cpu, Device, Error, ErrorKind, Lab, NamedBuffers, NoProgress, Variant, check,
};

use super::report::{Status, TestResult};
use crate::devices::{Chosen, Wanted};
use crate::failure::Failure;
use crate::memory_advice;
use crate::progress::Bar;
use crate::stdout::Out;
use crate::terminal::Look;
use units::indented;

/// A column of the report: a variant on a device, or the parallel CPU reference, which must equal the serial one.
pub struct Column<'m> {
    name: Wanted,
    variant: &'static str,
    /// None for the CPU reference.
    device: Option<&'m dyn Device>,
}

/// The columns for these devices and variants, device by device.
pub fn columns<'m>(chosen: &Chosen<'m>, variants: &[Variant]) -> Vec<Column<'m>> {
    let cpu = chosen.cpu.then_some(Column {
        name: Wanted::Cpu,
        variant: Cpu::Parallel.name(),
        device: None,
    });
    let devices = chosen.devices.iter().flat_map(|named| {
        variants.iter().map(move |variant| Column {
            name: named.name,
            variant: variant.name,
            device: Some(named.device),
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
        let lacking = |error| {
            let first = lab.variants()[0].name;
            memory_advice::failure(error, case.as_ref(), first).context(&label)
        };
        let inputs = case.inputs().map_err(lacking)?;
        let bar = Bar::new(format!("reference of {label}"));
        let expected = case.reference_from(&inputs, Cpu::Serial, &bar);
        let expected = expected.map_err(lacking)?;
        drop(bar);
        let mut row = Vec::new();
        for column in columns {
            let (status, message) = test(lab, case.as_ref(), column, &inputs, &expected)
                .map_err(|failure| failure.context(&label))?;
            row.push(TestResult {
                case: label.clone(),
                device: column.name.to_string(),
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
        let device = match last.replace(column.name) {
            Some(last) if last == column.name => String::new(),
            _ => column.name.to_string(),
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
            let device = column.name.to_string();
            device.len().max(column.variant.len()).max("lacking".len()) + 2
        })
        .collect()
}

/// One test. Fails only for bugs of ours and cases that cannot be recorded.
fn test(
    lab: &dyn Lab,
    case: &dyn Case,
    column: &Column<'_>,
    inputs: &NamedBuffers,
    expected: &NamedBuffers,
) -> Result<(Status, Option<String>), Failure> {
    let tested = match column.device {
        None => case
            .reference_from(inputs, Cpu::Parallel, &NoProgress)
            .map(|got| check::exact(expected, &got)),
        Some(device) => run_from(device, lab.module(), case, column.variant, inputs)
            .and_then(|outcome| case.check(column.variant, inputs, expected, &outcome.outputs)),
    };
    match tested {
        Ok(Ok(())) => Ok((Status::Ok, None)),
        Ok(Err(error)) => Ok((Status::Failed, Some(explain(case, &error)))),
        // The earlier fault has been reported.
        Err(Error::Device(DeviceError::Lost { .. })) => Ok((Status::NotRun, None)),
        Err(error) => match error.kind() {
            ErrorKind::Submission => Ok((Status::Failed, Some(error.to_string()))),
            ErrorKind::Environment => {
                let message = memory_advice::explained(&error, case, column.variant);
                Ok((Status::Lacking, Some(message)))
            }
            ErrorKind::Input | ErrorKind::Bug => Err(error.into()),
        },
    }
}

/// What is wrong, and where, in the problem's own coordinates.
pub fn explain(case: &dyn Case, error: &CheckError) -> String {
    error.located(|buffer, index| case.locate(buffer, index))
}
