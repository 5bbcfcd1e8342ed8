//! The tests of one lab, a case at a time, with a line for each.

use device::DeviceError;
use device::{Device, Error, NamedBuffers, check};
use exit::ErrorKind;
use lab::run::{explain, run_from};
use lab::{Cpu, Lab, LabCase, Variant};
use terminal::progress::NoProgress;

use super::report::{Status, TestResult};
use exit::CommandError;
use lab::devices::{Chosen, Wanted};
use lab::memory_advice;
use measure::tuned::Table;
use terminal::look::Look;
use terminal::progress::Bar;
use terminal::stdout::Out;
use units::indented;

/// A column of the report: a variant on a device, or the parallel CPU reference, which must equal
/// the serial one.
pub struct Column<'m> {
    name: Wanted,
    /// None for the CPU reference.
    variant: Option<(&'static Variant, &'m dyn Device)>,
    /// Whether it is shown together with others like it.
    is_one_of_many: bool,
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
            name: on.name,
            variant: Some((variant, on.device)),
            is_one_of_many: variant.on_request && !named,
        })
    });
    cpu.into_iter().chain(devices).collect()
}

impl Column<'_> {
    /// The variant's name, or that of the CPU reference.
    fn variant_name(&self) -> &'static str {
        self.variant
            .map_or(Cpu::Parallel.name(), |(variant, _)| &variant.name)
    }
}

/// Columns that are shown as one.
fn groups<'c, 'm>(columns: &'c [Column<'m>]) -> impl Iterator<Item = &'c [Column<'m>]> {
    columns.chunk_by(|a, b| a.is_one_of_many && b.is_one_of_many && a.name == b.name)
}

/// The heading above a group of columns.
fn heading(group: &[Column<'_>]) -> String {
    match group {
        [column] => column.variant_name().to_owned(),
        _ => format!("{} on request", group.len()),
    }
}

/// Tests each column on each case. `show` gets a line for each case as soon as it is done.
///
/// # Errors
///
/// If the reference cannot be computed, and for bugs of ours.
pub fn run(
    lab: &Lab,
    cases: &[Box<dyn LabCase>],
    columns: &[Column<'_>],
    tuned: &Table,
    mut show: Option<&mut Out<'_>>,
) -> Result<Vec<TestResult>, CommandError> {
    let labels: Vec<String> = cases.iter().map(|case| case.label()).collect();
    let first_width = labels.iter().map(|label| label.len()).max().unwrap_or(0) + 2;
    let widths = widths(columns);
    if let Some(out) = show.as_deref_mut() {
        let header = header(lab.name, first_width, columns, &widths, out.look());
        out.line(header)?;
    }
    let mut results = Vec::new();
    for (case, label) in cases.iter().zip(labels) {
        let lacking =
            |error| memory_advice::failure(error, lab, lab.variants.first()).context(&label);
        let inputs = case.inputs().map_err(lacking)?;
        let bar = Bar::new(format!("reference of {label}"));
        let expected = case.reference_from(&inputs, Cpu::Serial, &bar);
        let expected = expected.map_err(lacking)?;
        drop(bar);
        let mut row = Vec::new();
        for column in columns {
            let (status, message) = test(lab, case.as_ref(), column, tuned, &inputs, &expected)
                .map_err(|failure| failure.context(&label))?;
            row.push(TestResult {
                case: label.clone(),
                device: column.name.to_string(),
                variant: column.variant_name(),
                status,
                message,
            });
        }
        if let Some(out) = show.as_deref_mut() {
            let (mut line, mut messages) = (String::new(), Vec::new());
            let mut results_left = &row[..];
            for (group, width) in groups(columns).zip(&widths) {
                let (results, left) = results_left.split_at(group.len());
                results_left = left;
                let worst = results.iter().map(|result| result.status).max();
                line += &worst.unwrap_or(Status::Ok).render(out.look(), *width);
                // One reason why the device is too old is enough.
                let mut was_skipped = false;
                messages.extend(results.iter().filter(|result| {
                    let is_skipped = result.status == Status::Skipped;
                    !is_skipped || !std::mem::replace(&mut was_skipped, true)
                }));
            }
            out.line(format!("{label:first_width$}{}", line.trim_end()))?;
            for result in messages {
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
    for (group, width) in groups(columns).zip(widths) {
        let name = group[0].name;
        let device = match last.replace(name) {
            Some(last) if last == name => String::new(),
            _ => name.to_string(),
        };
        devices += &format!("{device:width$}");
        variants += &format!("{:width$}", heading(group));
    }
    let title = |text: &str| look.title(text.trim_end());
    format!("{}\n{}", title(&devices), title(&variants))
}

/// Room for the device's name, the variant's, and the longest status.
fn widths(columns: &[Column<'_>]) -> Vec<usize> {
    groups(columns)
        .map(|group| {
            let device = group[0].name.to_string();
            device.len().max(heading(group).len()).max("lacking".len()) + 2
        })
        .collect()
}

/// One test. Fails only for bugs of ours and cases that cannot be recorded.
fn test(
    lab: &Lab,
    case: &dyn LabCase,
    column: &Column<'_>,
    tuned: &Table,
    inputs: &NamedBuffers,
    expected: &NamedBuffers,
) -> Result<(Status, Option<String>), CommandError> {
    let tested = match column.variant {
        None => case
            .reference_from(inputs, Cpu::Parallel, &NoProgress)
            .map(|got| check::exact(expected, &got)),
        Some((variant, device)) => {
            let variant = tuned.choose(lab, variant, case, device);
            run_from(device, case, variant, inputs)
                .and_then(|outcome| variant.check(case, inputs, expected, &outcome.outputs))
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
                let variant = column.variant.map(|(variant, _)| variant);
                let message = memory_advice::explained(&error, lab, variant);
                Ok((Status::Lacking, Some(message)))
            }
            ErrorKind::Needs => Ok((Status::Skipped, Some(error.to_string()))),
            ErrorKind::Input | ErrorKind::Bug => Err(error.into()),
        },
    }
}
