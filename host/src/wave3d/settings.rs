//! A problem from `key=value` parameters.

use super::medium::Model;
use super::problem::{Start, Wave3d};
use super::source::Ricker;
use crate::lab::{CaseError, CaseParams, Parameter};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "n_x",
        summary: "sites along x, at least 3",
        default: "128",
    },
    Parameter {
        name: "n_y",
        summary: "sites along y, at least 3",
        default: "128",
    },
    Parameter {
        name: "n_z",
        summary: "sites along z (depth), at least 3",
        default: "128",
    },
    Parameter {
        name: "steps",
        summary: "timesteps, at least 1",
        default: "200",
    },
    Parameter {
        name: "dx",
        summary: "grid spacing in metres",
        default: "10",
    },
    Parameter {
        name: "dt",
        summary: "timestep in seconds, at most dx / (c sqrt(3))",
        default: "0.002",
    },
    Parameter {
        name: "model",
        summary: "layers (c from 1500 m/s at the top to 2400 m/s at the bottom) or uniform (2000 m/s)",
        default: "layers",
    },
    Parameter {
        name: "damping",
        summary: "damping d beside the border in 1/s, 0 or more",
        default: "150",
    },
    Parameter {
        name: "source",
        summary: "ricker or none",
        default: "ricker",
    },
    Parameter {
        name: "frequency",
        summary: "the source's peak frequency in Hz, above 0",
        default: "15",
    },
    Parameter {
        name: "start",
        summary: "initial fields: random, pulse or rest",
        default: "random",
    },
    Parameter {
        name: "seed",
        summary: "seed of random initial fields, 0 to 2^64 - 1",
        default: "1",
    },
];

/// A problem from the lab's parameters.
pub(super) fn problem(params: &CaseParams) -> Result<Wave3d, CaseError> {
    params.check_known(PARAMETERS)?;
    let steps: u32 = params.value(PARAMETERS, "steps")?;
    if steps == 0 {
        return Err(CaseError::invalid(
            "steps",
            0,
            "there is nothing to compute; at least 1",
        ));
    }
    let model: String = params.value(PARAMETERS, "model")?;
    let model = Model::from_name(&model)
        .ok_or_else(|| CaseError::unknown("model", &model, Model::NAMES))?;
    let source: String = params.value(PARAMETERS, "source")?;
    let frequency_hz = params.value(PARAMETERS, "frequency")?;
    let source = match source.as_str() {
        "ricker" => Some(Ricker { frequency_hz }),
        "none" => None,
        other => return Err(CaseError::unknown("source", other, ["ricker", "none"])),
    };
    let seed = params.value(PARAMETERS, "seed")?;
    let start: String = params.value(PARAMETERS, "start")?;
    let start = match start.as_str() {
        "random" => Start::Random { seed },
        "pulse" => Start::Pulse,
        "rest" => Start::Rest,
        other => {
            return Err(CaseError::unknown(
                "start",
                other,
                ["random", "pulse", "rest"],
            ));
        }
    };
    let shape = [
        params.value(PARAMETERS, "n_x")?,
        params.value(PARAMETERS, "n_y")?,
        params.value(PARAMETERS, "n_z")?,
    ];
    Ok(Wave3d::new(shape, steps)?
        .with_medium(
            model,
            params.value(PARAMETERS, "dx")?,
            params.value(PARAMETERS, "dt")?,
        )?
        .with_damping(params.value(PARAMETERS, "damping")?)?
        .with_source(source)?
        .with_start(start))
}
