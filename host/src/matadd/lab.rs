//! The lab and its cases, as the harness sees them.

use super::problem::{MatAdd, PARAMETERS, sum};
use crate::buffer::{NamedBuffers, elements};
use crate::check::{self, CheckError};
use crate::error::Error;
use crate::kernels::KERNELS;
use crate::lab::{
    BuiltIn, Case, CaseError, CaseParams, Cpu, Lab, Parameter, Progress, Variant, Work,
};
use crate::memory::largest;
use crate::module::Module;
use crate::plan::Plan;

#[cfg(feature = "solutions")]
const BUILT_IN: BuiltIn<MatAdd, plan::matadd::MatAdd> = super::solutions::BUILT_IN;
#[cfg(not(feature = "solutions"))]
const BUILT_IN: BuiltIn<MatAdd, plan::matadd::MatAdd> = BuiltIn::NONE;

/// The lab `matadd`.
pub static LAB: MatAddLab = MatAddLab;

/// See [`LAB`].
#[derive(Debug)]
pub struct MatAddLab;

impl Lab for MatAddLab {
    fn name(&self) -> &'static str {
        "matadd"
    }

    fn summary(&self) -> &'static str {
        "matrix addition: shapes of grids and blocks"
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
        // A single element; less than a warp, a block, a vector; sizes that no block divides; a long row, a long column.
        boxed(&[
            (1, 1),
            (3, 1),
            (1, 5),
            (31, 33),
            (64, 64),
            (97, 61),
            (257, 3),
            (1025, 2),
            (2, 300),
        ])
    }

    fn laptop_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(&[(4096, 4096)])
    }

    fn large_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(&[(16_384, 16_384), (32_768, 32_768)])
    }

    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, Error> {
        Ok(Box::new(MatAdd::from_params(params)?))
    }

    fn seeded(&self, params: &CaseParams, seed: u64) -> Result<CaseParams, CaseError> {
        let mut params = params.clone();
        // This lab's seeds have 32 bits.
        params.set("seed", (seed >> 32) as u32);
        Ok(params)
    }
}

/// Cases of the lab's own, each with a seed that is its number.
fn boxed(cases: &[(u32, u32)]) -> Vec<Box<dyn Case>> {
    let cases = cases.iter().zip(1..).map(|(&(n_x, n_y), seed)| {
        let problem = MatAdd::new(n_x, n_y, seed).expect("the lab's own cases are valid");
        Box::new(problem) as Box<dyn Case>
    });
    cases.collect()
}

impl Case for MatAdd {
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
        Ok(BuiltIn::<MatAdd, plan::matadd::MatAdd>::declared(
            &self.problem(),
        ))
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let (a, b) = self.matrices()?;
        Ok(vec![("a".to_owned(), a.into()), ("b".to_owned(), b.into())])
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        _progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let c = sum(elements(inputs, "a")?, elements(inputs, "b")?, cpu)?;
        Ok(vec![("c".to_owned(), c.into())])
    }

    /// The exact sums. Elements are multiples of 2^-23 below 1, so that `f32` holds most sums too.
    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        _progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let (a, b): (&[f32], &[f32]) = (elements(inputs, "a")?, elements(inputs, "b")?);
        let wide = |(a, b): (&f32, &f32)| f64::from(*a) + f64::from(*b);
        let c: Vec<f64> = a.iter().zip(b).map(wide).collect();
        Ok(Some(vec![("c".to_owned(), c.into())]))
    }

    fn check(
        &self,
        _variant: &str,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<(), CheckError> {
        check::exact(expected, got)
    }

    fn locate(&self, _buffer: &str, index: usize) -> Option<String> {
        let n_x = self.n_x() as usize;
        Some(format!("x = {}, y = {}", index % n_x, index / n_x))
    }

    fn reduced(&self) -> Option<Box<dyn Case>> {
        // Rows start at the same places of a sector and a line, and end as they do.
        let n_x = self.n_x().min(256 + self.n_x() % 256);
        let problem = MatAdd::new(n_x, self.n_y().min(64), 1).expect("smaller than a valid one");
        Some(Box::new(problem))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        vec![("x", self.n_x().into()), ("y", self.n_y().into())]
    }

    fn largest_within(&self, _variant: &str, bytes: u64) -> Option<String> {
        let n = largest(1, 46_340, |n| 12 * u64::from(n).pow(2) <= bytes)?;
        Some(format!("n_x = n_y = {n}"))
    }

    fn work(&self, variant: &str) -> Work {
        let elements = self.elements() as u64;
        Work {
            updates: elements,
            unit: "additions",
            bytes: BUILT_IN
                .bytes(self, variant)
                .unwrap_or_else(|| self.bytes()),
            flops: elements,
        }
    }
}
