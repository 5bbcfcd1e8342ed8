//! The lab and its cases, as the harness sees them.

use kernels_gpu::wave2d::AnyScene;

use super::problem::{Fields, PARAMETERS, Start, Wave2d};
use super::reference::advance;
use crate::buffer::{NamedBuffers, elements};
use crate::check::{self, CheckError};
use crate::error::Error;
use crate::fill::copied;
use crate::kernels::KERNELS;
use crate::lab::{BuiltIn, Case, CaseParams, Cpu, Lab, Parameter, Progress, Variant, Work};
use crate::memory::largest;
use crate::module::Module;
use crate::plan::Plan;

#[cfg(feature = "solutions")]
const BUILT_IN: BuiltIn<Wave2d, plan::wave2d::Wave2d> = super::solutions::BUILT_IN;
#[cfg(not(feature = "solutions"))]
const BUILT_IN: BuiltIn<Wave2d, plan::wave2d::Wave2d> = BuiltIn::NONE;

/// The lab `wave2d`.
pub static LAB: Wave2dLab = Wave2dLab;

/// See [`LAB`].
#[derive(Debug)]
pub struct Wave2dLab;

impl Lab for Wave2dLab {
    fn name(&self) -> &'static str {
        "wave2d"
    }

    fn summary(&self) -> &'static str {
        "2D wave equation with walls, sources and damping; several timesteps a launch"
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
        // Sizes below, at and beside a block and a tile; steps below, at and beside a launch of the shmem variant.
        let mut cases = Vec::new();
        for (n_x, n_y, steps) in [
            (2, 2, 1),
            (3, 3, 7),
            (37, 53, 10),
            (33, 9, 11),
            (129, 65, 7),
        ] {
            cases.push((n_x, n_y, steps, "point-source", 0.25));
        }
        for scene in AnyScene::NAMES {
            for (n_x, n_y, steps) in [
                (3, 3, 100),
                (37, 53, 100),
                (200, 201, 0),
                (200, 201, 1),
                (201, 201, 17),
            ] {
                cases.push((n_x, n_y, steps, scene, 0.25));
            }
        }
        // The limit of stability, and a step count in the middle of a source's rise.
        cases.push((201, 200, 100, "double-slit", 0.5));
        boxed(cases)
    }

    fn laptop_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(vec![(1001, 1001, 200, "point-source", 0.25)])
    }

    fn large_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(vec![(3201, 3201, 12_800, "point-source", 0.25)])
    }

    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, Error> {
        Ok(Box::new(Wave2d::from_params(params)?))
    }
}

/// Cases of the lab's own, each with random fields from a seed that is its number.
fn boxed(cases: Vec<(u32, u32, u32, &str, f32)>) -> Vec<Box<dyn Case>> {
    cases
        .into_iter()
        .enumerate()
        .map(|(number, (n_x, n_y, steps, scene, k))| {
            let seed = number as u64 + 1;
            let problem = Wave2d::new(n_x, n_y, steps, scene)
                .and_then(|problem| problem.with_k(k))
                .expect("the lab's own cases are valid")
                .with_start(Start::Random { seed });
            Box::new(problem) as Box<dyn Case>
        })
        .collect()
}

fn named(fields: Fields<f32>) -> NamedBuffers {
    vec![
        ("u0".to_owned(), fields.u0.into()),
        ("u1".to_owned(), fields.u1.into()),
    ]
}

impl Case for Wave2d {
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
        Ok(BuiltIn::<Wave2d, plan::wave2d::Wave2d>::declared(
            &self.problem(),
        ))
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        Ok(named(self.initial()?))
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let mut fields = Fields {
            u0: copied(elements(inputs, "u0")?)?,
            u1: copied(elements(inputs, "u1")?)?,
        };
        advance(self, &mut fields, cpu, progress);
        Ok(named(fields))
    }

    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let wide = |name| -> Result<Vec<f64>, Error> {
            let values: &[f32] = elements(inputs, name)?;
            Ok(values.iter().map(|&value| value.into()).collect())
        };
        let mut fields = Fields {
            u0: wide("u0")?,
            u1: wide("u1")?,
        };
        advance(self, &mut fields, Cpu::Parallel, progress);
        Ok(Some(vec![
            ("u0".to_owned(), fields.u0.into()),
            ("u1".to_owned(), fields.u1.into()),
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

    fn locate(&self, _buffer: &str, index: usize) -> Option<String> {
        let n_x = self.domain().n_x as usize;
        Some(format!("x = {}, y = {}", index % n_x, index / n_x))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        let domain = self.domain();
        vec![("x", domain.n_x.into()), ("y", domain.n_y.into())]
    }

    fn largest_within(&self, variant: &str, bytes: u64) -> Option<String> {
        let fits = |n: u32| {
            let square = Wave2d::new(n, n, 1, self.scene_name()).ok()?;
            let plan = square.record(variant).ok()?;
            Some(plan.memory_bytes().ok()? <= bytes)
        };
        let n = largest(2, 46_340, |n| fits(n) == Some(true))?;
        Some(format!("n_x = n_y = {n}"))
    }

    fn work(&self, variant: &str) -> Work {
        let updates = self.cells() as u64 * u64::from(self.steps());
        Work {
            updates,
            unit: "cell updates",
            bytes: BUILT_IN
                .bytes(self, variant)
                .unwrap_or_else(|| self.bytes()),
            // An undamped cell: three additions of neighbours, two products, two sums.
            flops: 7 * updates,
        }
    }
}
