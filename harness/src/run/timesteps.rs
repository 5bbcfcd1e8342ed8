//! What `harness run` does for any lab with timesteps: chunk by chunk, with files, rates, and a comparison with the CPU.

use host::lab::Declaration;
use host::{Case, Lab};

use super::field_files::VtiSeries;
use super::processor::Processor;
use super::stepper::{Chunk, Comparison, Stepper, part};
use crate::failure::{Ending, Failure};
use crate::stdout::Out;
use crate::table::Table;
use units::{count, grouped, three};

/// Computes the problem in chunks of `period` timesteps, adds the fields after each to the series of files, compares them with the
/// CPU's if that is wanted and they are not the CPU's own, and reports.
///
/// # Errors
///
/// The device's error, or a file that cannot be written. A wrong result is not an error: the report has it.
pub fn run<P: Declaration>(
    problem: &P,
    processor: &Processor,
    period: u32,
    is_compared: bool,
    mut series: Option<VtiSeries>,
    out: &mut Out<'_>,
) -> Result<Ending, Failure> {
    let lab = P::lab().name();
    let title = format!("{lab}  {}, {}", problem.label(), processor.describe());
    out.line(out.look().title(&title))?;
    let mut stepper = Stepper::new(problem.clone(), processor, None)?;
    stepper.warm_up()?;
    let mut chunks = Vec::new();
    let mut comparison = Comparison::default();
    while let Some(chunk) = stepper.advance(period, None)? {
        chunks.push(chunk);
        if let Some(series) = &mut series {
            series.record(stepper.steps_done, &stepper.fields)?;
        }
        if is_compared && processor.device().is_some() {
            stepper.compare(&mut comparison)?;
        }
    }
    out.line(rates(problem, &chunks, processor, out))?;
    let ending = report_comparison(&comparison, out)?;
    if let Some(series) = series {
        out.line(format!("  wrote {}", series.finish()?))?;
    }
    Ok(ending)
}

/// Prints how much of the result differs from the CPU's, if any of it was compared.
pub fn report_comparison(comparison: &Comparison, out: &mut Out<'_>) -> Result<Ending, Failure> {
    if comparison.values == 0 {
        return Ok(Ending::Fine);
    }
    let [different, values] = [comparison.different, comparison.values].map(grouped);
    let line = format!("  {different} of {values} values differ from the CPU's");
    let Some(first) = &comparison.first else {
        out.line(line)?;
        return Ok(Ending::Fine);
    };
    out.line(out.look().bad(&line))?;
    out.line(format!("    the first: {first}"))?;
    Ok(Ending::Wrong)
}

/// The chunks' rates, their mean and their spread.
fn rates(
    problem: &impl Declaration,
    chunks: &[Chunk],
    processor: &Processor,
    out: &Out<'_>,
) -> String {
    if !processor.has_speed() {
        let chunks = count(chunks.len(), "chunk");
        return format!("  {chunks}; the speed of the emulated device says nothing of a GPU");
    }
    let unit = problem.work(processor.variant).unit;
    let rate = |chunk: &Chunk| {
        let work = part(problem, 0, chunk.steps).work(processor.variant);
        work.updates as f64 / chunk.times.median_s.max(1e-12)
    };
    let mut done = 0;
    let ends = chunks.iter().map(|chunk| {
        done += chunk.steps;
        (done, chunk)
    });
    let rows: Vec<(u32, &Chunk)> = ends.collect();
    let table = Table::new(&rows)
        .right("steps", |(done, _)| Some(format!("to {done}")))
        .right("time\nms", |(_, chunk)| {
            Some(three(1e3 * chunk.times.median_s))
        })
        .right(&format!("{unit}\nG/s"), |(_, chunk)| {
            Some(three(rate(chunk) / 1e9))
        });
    let rates: Vec<f64> = chunks.iter().map(rate).collect();
    let (mean, deviation) = mean_and_deviation(&rates);
    let spread = deviation.map_or("one chunk, so no spread".to_owned(), |deviation| {
        format!("standard deviation {} %", three(100.0 * deviation / mean))
    });
    format!(
        "{}\n\n  mean: {mean:.3e} {unit}/s, {spread}, without copies and output",
        table.render(out.look(), 2)
    )
}

/// The mean, and the standard deviation of the sample if it has two or more.
fn mean_and_deviation(rates: &[f64]) -> (f64, Option<f64>) {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
    let deviation = (rates.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
    (mean, deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread() {
        assert_eq!(mean_and_deviation(&[2.0]), (2.0, None));
        assert_eq!(mean_and_deviation(&[1.0, 2.0, 3.0]), (2.0, Some(1.0)));
    }
}
