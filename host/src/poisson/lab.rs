//! The lab and its cases, as the harness sees them.

use kernels_gpu::poisson::Grid;

use super::oracle::oracle;
use super::problem::{PARAMETERS, Poisson, Start};
use super::reference::{Box3, Jacobi};
use crate::buffer::{HostBuffer, NamedBuffers, elements};
use crate::check::{self, CheckError};
use crate::error::Error;
use crate::fill::copied;
use crate::kernels::KERNELS;
use crate::lab::{BuiltIn, Case, CaseParams, Cpu, Lab, Parameter, Progress, Variant, Work};
use crate::module::Module;
use crate::plan::Plan;

#[cfg(feature = "solutions")]
const BUILT_IN: BuiltIn<Poisson, plan::poisson::Poisson> = super::solutions::BUILT_IN;
#[cfg(not(feature = "solutions"))]
const BUILT_IN: BuiltIn<Poisson, plan::poisson::Poisson> = BuiltIn::NONE;

/// The lab `poisson`.
pub static LAB: PoissonLab = PoissonLab;

/// See [`LAB`].
#[derive(Debug)]
pub struct PoissonLab;

impl Lab for PoissonLab {
    fn name(&self) -> &'static str {
        "poisson"
    }

    fn summary(&self) -> &'static str {
        "Poisson's equation in a cube by Jacobi's iteration: what one kernel costs, written five ways"
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
        // One point inside; sizes below, at and beside a tile, a batch of layers, a warp and a thread's layers.
        let random = [
            (3, 1),
            (3, 2),
            (4, 3),
            (7, 0),
            (8, 4),
            (9, 5),
            (10, 2),
            (11, 7),
            (17, 3),
            (33, 1),
            (35, 2),
        ];
        let uniform = [(16, 5, 0.0), (13, 8, 20.0), (6, 9, -3.5)];
        let random = (1..).zip(random).map(|(seed, (n, iterations))| {
            Poisson::new(n, iterations).and_then(|p| p.with_start(Start::Random { seed }))
        });
        let uniform = uniform.into_iter().map(|(n, iterations, t0)| {
            Poisson::new(n, iterations).and_then(|p| p.with_start(Start::Uniform(t0)))
        });
        random.chain(uniform).map(boxed).collect()
    }

    fn laptop_cases(&self) -> Vec<Box<dyn Case>> {
        vec![boxed(Poisson::new(128, 200))]
    }

    fn large_cases(&self) -> Vec<Box<dyn Case>> {
        [128, 256, 512, 640]
            .map(|n| boxed(Poisson::new(n, 1000)))
            .into()
    }

    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, Error> {
        Ok(Box::new(Poisson::from_params(params)?))
    }
}

fn boxed(problem: Result<Poisson, crate::lab::CaseError>) -> Box<dyn Case> {
    Box::new(problem.expect("the lab's own cases are valid"))
}

fn named(u: Vec<f64>) -> NamedBuffers {
    vec![("u".to_owned(), HostBuffer::from(u))]
}

impl Case for Poisson {
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
        Ok(BuiltIn::<Poisson, plan::poisson::Poisson>::declared(
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
        let source = Box3::new(self.grid());
        let u = copied(elements(inputs, "u")?)?;
        let mut jacobi = Jacobi::new(self.grid(), u, &source, cpu)?;
        for iteration in 1..=self.iterations() {
            jacobi.step();
            progress.update(iteration.into(), self.iterations().into());
        }
        Ok(named(jacobi.into_u()))
    }

    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let u = elements(inputs, "u")?;
        Ok(Some(named(oracle(self, u, progress))))
    }

    fn check(
        &self,
        _variant: &str,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<(), CheckError> {
        // Every variant keeps the iteration's order of operations.
        check::exact(expected, got)
    }

    fn timesteps(&self) -> Option<u64> {
        Some(self.iterations().into())
    }

    fn locate(&self, _buffer: &str, index: usize) -> Option<String> {
        let n = self.n() as usize;
        let (x, y, z) = (index % n, index / n % n, index / (n * n));
        Some(format!("x = {x}, y = {y}, z = {z}"))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        ["x", "y", "z"].map(|axis| (axis, self.n().into())).to_vec()
    }

    fn largest_within(&self, variant: &str, bytes: u64) -> Option<String> {
        let n = super::largest_n(variant, bytes).ok()??;
        Some(format!("n = {n}"))
    }

    fn work(&self, variant: &str) -> Work {
        let updates = self.points_inside() * u64::from(self.iterations());
        Work {
            updates,
            unit: "point updates",
            bytes: BUILT_IN
                .bytes(self, variant)
                .unwrap_or_else(|| self.bytes()),
            // Five additions of neighbours, h^2 f and its addition, the product with 1/6.
            flops: 8 * updates,
        }
    }
}

/// The largest N whose fields fit this much device memory with this variant; `None` if not even the smallest does.
///
/// # Errors
///
/// [`Error::Case`] for an unknown variant.
pub fn largest_n(variant: &str, memory_bytes: u64) -> Result<Option<u32>, Error> {
    // Every buffer is a field.
    let smallest = Poisson::new(3, 1)?;
    let fields = smallest.record(variant)?.buffers().len() as u64;
    let fits = |n: &u32| fields * 8 * u64::from(*n).pow(3) <= memory_bytes;
    Ok((3..=Grid::MAX_N).rev().find(fits))
}
