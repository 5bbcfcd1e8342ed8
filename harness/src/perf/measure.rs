//! Timing a CPU reference.

use std::time::Instant;

use host::{Case, Cpu, Error, NamedBuffers};

use super::settings::Settings;
use crate::progress::Bar;
use crate::stats::Summary;

/// Times and results.
pub struct Measured {
    /// The times.
    pub run: Summary,
    /// What the last timed run gave.
    pub outputs: NamedBuffers,
}

/// Times a CPU reference, without the making of its inputs. A first run that takes long enough is itself warm, and counts.
pub fn cpu(
    case: &dyn Case,
    inputs: &NamedBuffers,
    cpu: Cpu,
    settings: &Settings,
) -> Result<Measured, Error> {
    let first = Instant::now();
    let run = || {
        let bar = Bar::since(format!("timing {} on cpu", cpu.name()), first);
        let began = Instant::now();
        let outputs = case.reference_from(inputs, cpu, &bar)?;
        Ok::<_, Error>((began.elapsed(), outputs))
    };
    let (first_time, mut outputs) = run()?;
    let run = settings.cpu.collect(|index| {
        if index == 0 && first_time >= settings.cpu_warm_up {
            return Ok(first_time);
        }
        let time;
        (time, outputs) = run()?;
        Ok::<_, Error>(time)
    })?;
    Ok(Measured { run, outputs })
}
