//! `harness run` for any lab with timesteps: chunk by chunk, with files, rates, and a comparison
//! with the CPU.

use lab::LabCase;

use super::processor::Processor;
use super::receivers::{part, timesteps_of};
use super::recordings::Seismogram;
use super::records::{Keeper, Records};
use super::stepper::{Chunk, Comparison, Stepper};
use exit::{CommandError, Ending};
use terminal::stdout::Out;
use terminal::table::Table;
use units::{count, grouped, three};

/// Computes the problem in chunks of these timesteps, until all are done, and records it. Compares
/// the fields after each chunk with the CPU's if that is wanted and they are not the CPU's own, and
/// reports. The files are complete before the report begins, and after an error or a signal.
///
/// # Errors
///
/// The device's error, or a file that cannot be written, with what is kept. A wrong result is not
/// an error: the report has it.
pub fn run(
    problem: &dyn LabCase,
    processor: &Processor,
    chunk_steps: impl IntoIterator<Item = u32>,
    is_compared: bool,
    records: Records,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let lab = processor.lab.name;
    let title = format!("{lab}  {}, {}", problem.label(), processor.describe());
    out.line(out.look().title(&out.look().wrapped(&title, 0)))?;
    let mut stepper = Stepper::new(problem, processor, None)?;
    stepper.receivers = records.seismogram.as_ref().map(Seismogram::receivers);
    let keeper = Keeper::new(records, timesteps_of(problem));
    let is_compared = is_compared && processor.is_first() && processor.device().is_some();
    let (chunks, comparison) = match compute(&mut stepper, chunk_steps, is_compared, &keeper) {
        Ok(computed) => computed,
        Err(failure) => return Err(keeper.keep_after(failure)),
    };
    let written = keeper.finish();
    out.line(rates(problem, &chunks, processor, out))?;
    if let Some(energy) = energy(&chunks) {
        out.line(out.look().wrapped(&energy, 0))?;
    }
    let ending = report_comparison(&comparison, out)?;
    let mut failed = None;
    for file in written {
        match file {
            Ok(file) => out.line(format!("  wrote {file}"))?,
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    failed.map_or(Ok(ending), Err)
}

/// Computes all chunks, and adds what there is after each of them.
fn compute(
    stepper: &mut Stepper<'_>,
    chunk_steps: impl IntoIterator<Item = u32>,
    is_compared: bool,
    keeper: &Keeper,
) -> Result<(Vec<Chunk>, Comparison), CommandError> {
    stepper.warm_up()?;
    let mut chunks = Vec::new();
    let mut comparison = Comparison::default();
    for steps in chunk_steps {
        let Some(chunk) = stepper.advance(steps, None)? else {
            break;
        };
        chunks.push(chunk);
        let receivers = stepper.receivers.as_mut();
        keeper.add(stepper.steps_done, &stepper.fields, receivers)?;
        if is_compared {
            stepper.compare(&mut comparison)?;
        }
    }
    Ok((chunks, comparison))
}

/// Prints how much of the result differs from the CPU's, if any of it was compared.
pub fn report_comparison(
    comparison: &Comparison,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
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

/// More chunks, as a film has, get no row each.
const MAX_ROWS: usize = 20;

/// The chunks' rates, if they are few, and the mean and spread of the rates.
fn rates(problem: &dyn LabCase, chunks: &[Chunk], processor: &Processor, out: &Out<'_>) -> String {
    if !processor.has_speed() {
        let chunks = count(chunks.len(), "chunk");
        return format!("  {chunks}; the speed of the emulated device says nothing of a GPU");
    }
    let unit = problem.work().unit;
    let rate = |chunk: &Chunk| {
        let work = part(problem, 0, chunk.steps).work();
        work.updates as f64 / chunk.times.median_s.max(1e-12)
    };
    let mut done = 0;
    let ends = chunks.iter().map(|chunk| {
        done += chunk.steps;
        (done, chunk)
    });
    let rows: Vec<(u32, &Chunk)> = ends.collect();
    let table = Table::new(&rows)
        .right("steps", |(end, _)| Some(format!("to {end}")))
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
    let mean = format!("{mean:.3e} {unit}/s, {spread}, without copies and output");
    let look = out.look();
    if rows.len() <= MAX_ROWS {
        format!(
            "{}\n\n{}",
            table.render(look, 2),
            look.wrapped(&format!("mean: {mean}"), 2)
        )
    } else {
        let count = grouped(rows.len() as u64);
        look.wrapped(&format!("mean of {count} chunks: {mean}"), 2)
    }
}

/// NVML's energy counter moves in steps of up to a tenth of a second: of less than a second it says
/// little.
const LEAST_S: f64 = 1.0;

/// The energy of all chunks together, and the mean power, if they are known.
fn energy(chunks: &[Chunk]) -> Option<String> {
    let energies: Option<Vec<f64>> = chunks.iter().map(|chunk| chunk.energy_j).collect();
    let energy_j: f64 = energies.filter(|all| !all.is_empty())?.iter().sum();
    let time_s: f64 = chunks.iter().map(|chunk| chunk.times.median_s).sum();
    Some(if time_s < LEAST_S {
        format!(
            "  energy: not known of {} s: NVML counts in steps of up to 0.1 s; do more timesteps",
            three(time_s)
        )
    } else {
        format!(
            "  energy: {} kJ in {} s, of the whole GPU by NVML: {} W on average",
            three(energy_j / 1e3),
            three(time_s),
            three(energy_j / time_s)
        )
    })
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
    fn energy_is_told_of_long_runs() {
        let chunk = |time_s: f64, energy_j| Chunk {
            steps: 1,
            times: stats::Summary::new(vec![time_s]),
            whole: std::time::Duration::ZERO,
            energy_j,
        };
        assert_eq!(energy(&[]), None);
        assert_eq!(energy(&[chunk(2.0, Some(1.0)), chunk(2.0, None)]), None);
        let long = [chunk(60.0, Some(30e3)), chunk(40.0, Some(21e3))];
        insta::assert_snapshot!(energy(&long).unwrap(), @"  energy: 51.0 kJ in 100 s, of the whole GPU by NVML: 510 W on average");
        insta::assert_snapshot!(energy(&[chunk(0.5, Some(30.0))]).unwrap(), @"  energy: not known of 0.500 s: NVML counts in steps of up to 0.1 s; do more timesteps");
    }

    #[test]
    fn mean_and_spread() {
        assert_eq!(mean_and_deviation(&[2.0]), (2.0, None));
        assert_eq!(mean_and_deviation(&[1.0, 2.0, 3.0]), (2.0, Some(1.0)));
    }
}
