//! The lab and its cases, as the harness sees them.

use kernels_gpu::wave3d::Domain;

use super::medium::{Coefficients, Model};
use super::oracle::oracle;
use super::problem::{Fields, Start, Wave3d};
use super::reference::advance;
use super::settings::{self, PARAMETERS};
use crate::buffer::{NamedBuffers, elements};
use crate::check::{self, CheckError};
use crate::error::Error;
use crate::fill::copied;
use crate::kernels::KERNELS;
use crate::lab::{
    BuiltIn, Case, CaseError, CaseParams, Cpu, Lab, Parameter, Progress, Variant, Work,
};
use crate::module::Module;
use crate::plan::Plan;

#[cfg(feature = "solutions")]
const BUILT_IN: BuiltIn<Wave3d, plan::wave3d::Wave3d> = super::solutions::BUILT_IN;
#[cfg(not(feature = "solutions"))]
const BUILT_IN: BuiltIn<Wave3d, plan::wave3d::Wave3d> = BuiltIn::NONE;

/// The lab `wave3d`.
pub static LAB: Wave3dLab = Wave3dLab;

/// See [`LAB`].
#[derive(Debug)]
pub struct Wave3dLab;

/// The shapes of the large cases.
const LARGE: [[u32; 3]; 17] = [
    [32, 32, 32],
    [64, 64, 64],
    [96, 96, 96],
    [128, 128, 128],
    [160, 160, 160],
    [192, 192, 192],
    [224, 224, 224],
    [256, 256, 256],
    [333, 333, 333],
    [384, 384, 384],
    [256, 96, 256],
    [512, 64, 512],
    [512, 128, 512],
    [640, 64, 640],
    [768, 64, 768],
    [896, 64, 896],
    [1000, 64, 1000],
];

impl Lab for Wave3dLab {
    fn name(&self) -> &'static str {
        "wave3d"
    }

    fn summary(&self) -> &'static str {
        "3D wave equation in f64, damped at the sides, over layered ground; layers together or apart"
    }

    fn module(&self) -> &Module {
        &KERNELS
    }

    fn variants(&self) -> &'static [Variant] {
        BUILT_IN.variants
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn small_cases(&self) -> Vec<Box<dyn Case>> {
        // Widths below, at and beside twice an edge, so that layers meet, touch and leave a middle; depths below, at and
        // beside a block; the steps after which u_prev and u have swapped names or not.
        let defaults = [
            ([3, 3, 3], 1),
            ([3, 4, 5], 7),
            ([10, 11, 33], 4),
            ([9, 10, 32], 3),
            ([11, 10, 31], 3),
            ([11, 12, 64], 0),
            ([12, 11, 65], 1),
            ([21, 17, 40], 6),
            ([14, 30, 3], 5),
        ];
        let mut cases: Vec<Wave3d> = defaults
            .iter()
            .map(|&(shape, steps)| valid(shape, steps))
            .collect();
        let other = |shape, steps, change: &dyn Fn(Wave3d) -> Result<Wave3d, CaseError>| {
            change(valid(shape, steps)).expect("the lab's own cases are valid")
        };
        cases.push(other([13, 14, 15], 9, &|case| {
            case.with_medium(Model::Uniform, 10.0, 0.002)
        }));
        // Near the limit of stability; in the middle of the source's rise.
        cases.push(other([15, 13, 16], 8, &|case| {
            Ok(case
                .with_medium(Model::Layers, 5.0, 0.0012)?
                .with_first_step(80))
        }));
        cases.push(other([13, 15, 17], 5, &|case| case.with_damping(0.0)));
        cases.push(other([12, 13, 14], 5, &|case| case.with_source(None)));
        boxed(cases)
    }

    fn laptop_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(vec![valid([128, 128, 128], 100)])
    }

    fn large_cases(&self) -> Vec<Box<dyn Case>> {
        // Small domains take more steps, so that a run is long beside the resolution of the clock.
        let steps = |[n_x, n_y, n_z]: [u32; 3]| {
            if n_x * n_y * n_z <= 1 << 21 {
                1000
            } else {
                100
            }
        };
        boxed(LARGE.map(|shape| valid(shape, steps(shape))).into())
    }

    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, Error> {
        Ok(Box::new(settings::problem(params)?))
    }

    fn seeded(&self, params: &CaseParams, seed: u64) -> Result<CaseParams, CaseError> {
        let mut params = params.clone();
        match params.get("start") {
            None | Some("random") => params.set("seed", seed),
            Some(other) => {
                let reason = "a seed is only for random fields";
                return Err(CaseError::invalid("start", other, reason));
            }
        };
        Ok(params)
    }
}

fn valid(shape: [u32; 3], steps: u32) -> Wave3d {
    Wave3d::new(shape, steps).expect("the lab's own cases are valid")
}

/// Cases of the lab's own, each with random fields from a seed that is its number.
fn boxed(cases: Vec<Wave3d>) -> Vec<Box<dyn Case>> {
    cases
        .into_iter()
        .enumerate()
        .map(|(number, case)| {
            let seed = number as u64 + 1;
            Box::new(case.with_start(Start::Random { seed })) as Box<dyn Case>
        })
        .collect()
}

impl Case for Wave3d {
    fn label(&self) -> String {
        self.to_string()
    }

    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn record(&self, variant: &str) -> Result<Plan, Error> {
        BUILT_IN.record(self, &self.problem(), variant)
    }

    fn declared(&self) -> Result<Plan, Error> {
        Ok(BuiltIn::<Wave3d, plan::wave3d::Wave3d>::declared(
            &self.problem(),
        ))
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let fields = self.initial()?;
        let coefficients = self.coefficients();
        Ok(vec![
            ("u_prev".to_owned(), fields.u_prev.into()),
            ("u".to_owned(), fields.u.into()),
            ("c2".to_owned(), coefficients.c2.into()),
            ("d".to_owned(), coefficients.d.into()),
        ])
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let mut fields = Fields {
            u_prev: copied(elements(inputs, "u_prev")?)?,
            u: copied(elements(inputs, "u")?)?,
        };
        let coefficients = Coefficients {
            c2: copied(elements(inputs, "c2")?)?,
            d: copied(elements(inputs, "d")?)?,
        };
        advance(self, &coefficients, &mut fields, cpu, progress);
        Ok(vec![
            ("u_prev".to_owned(), fields.u_prev.into()),
            ("u".to_owned(), fields.u.into()),
        ])
    }

    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let fields = Fields {
            u_prev: copied(elements(inputs, "u_prev")?)?,
            u: copied(elements(inputs, "u")?)?,
        };
        let coefficients = Coefficients {
            c2: copied(elements(inputs, "c2")?)?,
            d: copied(elements(inputs, "d")?)?,
        };
        let fields = oracle(self, &coefficients, &fields, progress);
        Ok(Some(vec![
            ("u_prev".to_owned(), fields.u_prev.into()),
            ("u".to_owned(), fields.u.into()),
        ]))
    }

    fn check(
        &self,
        _variant: &str,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<(), CheckError> {
        // Every variant keeps the scheme's order of operations.
        check::exact(expected, got)
    }

    fn timesteps(&self) -> Option<u64> {
        Some(self.steps().into())
    }

    fn locate(&self, buffer: &str, index: usize) -> Option<String> {
        let Domain { n_y, n_z, .. } = self.domain();
        let (n_y, n_z) = (n_y as usize, n_z as usize);
        let (column, k) = (index / n_z, index % n_z);
        match buffer {
            "c2" => Some(format!("k = {index}")),
            "d" => Some(format!("i = {}, j = {}", index / n_y, index % n_y)),
            _ => Some(format!(
                "i = {}, j = {}, k = {k}",
                column / n_y,
                column % n_y
            )),
        }
    }

    fn axes(&self, buffer: &str) -> Vec<(&'static str, u64)> {
        let Domain { n_x, n_y, n_z, .. } = self.domain();
        let (i, j, k) = (("i", n_x.into()), ("j", n_y.into()), ("k", n_z.into()));
        match buffer {
            "c2" => vec![k],
            "d" => vec![j, i],
            _ => vec![k, j, i],
        }
    }

    fn largest_within(&self, _variant: &str, bytes: u64) -> Option<String> {
        let n = Wave3d::largest_cube(bytes)?;
        Some(format!("n_x = n_y = n_z = {n}"))
    }

    fn work(&self, variant: &str) -> Work {
        let updates = self.sites() as u64 * u64::from(self.steps());
        Work {
            updates,
            unit: "site updates",
            bytes: BUILT_IN
                .bytes(self, variant)
                .unwrap_or_else(|| self.bytes()),
            // An undamped site: seven for the Laplacian, two for its factor, three for the rest.
            flops: 12 * updates,
        }
    }
}
