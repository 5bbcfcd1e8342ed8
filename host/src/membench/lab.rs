//! The coalescing lab and its cases, as the harness sees them.

use super::problem::{MemBench, PARAMETERS, sum};
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
const BUILT_IN: BuiltIn<MemBench, plan::membench::MemBench> = super::solutions::BUILT_IN;
#[cfg(not(feature = "solutions"))]
const BUILT_IN: BuiltIn<MemBench, plan::membench::MemBench> = BuiltIn::NONE;

/// The lab `membench`.
pub static LAB: MemBenchLab = MemBenchLab;

/// See [`LAB`].
#[derive(Debug)]
pub struct MemBenchLab;

impl Lab for MemBenchLab {
    fn name(&self) -> &'static str {
        "membench"
    }

    fn summary(&self) -> &'static str {
        "memory: coalesced and strided loads; latency and bandwidth of each level"
    }

    fn module(&self) -> &Module {
        &KERNELS
    }

    fn variants(&self) -> &'static [Variant] {
        BUILT_IN.variants
    }

    /// Sums of integers are exact.
    fn rounds(&self) -> bool {
        false
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn small_cases(&self) -> Vec<Box<dyn Case>> {
        // Every x; less than a warp, than a vector, than a stride; whole tiles, and sizes that leave parts of one.
        boxed(&[
            (1, 1, 32),
            (3, 4, 32),
            (31, 32, 64),
            (1024, 1, 1024),
            (1000, 2, 64),
            (4097, 4, 128),
            (8192, 8, 256),
            (12_345, 16, 96),
            (40_001, 32, 256),
        ])
    }

    fn laptop_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(&[(1 << 24, 8, 256)])
    }

    fn large_cases(&self) -> Vec<Box<dyn Case>> {
        // 1 GiB: far more than any L2.
        boxed(&[(1 << 28, 1, 256), (1 << 28, 8, 256), (1 << 28, 32, 256)])
    }

    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, Error> {
        Ok(Box::new(MemBench::from_params(params)?))
    }

    fn seeded(&self, params: &CaseParams, seed: u64) -> Result<CaseParams, CaseError> {
        let mut params = params.clone();
        // This lab's seeds have 32 bits.
        params.set("seed", (seed >> 32) as u32);
        Ok(params)
    }
}

/// Cases of the lab's own, each with a seed that is its number.
fn boxed(cases: &[(u32, u32, u32)]) -> Vec<Box<dyn Case>> {
    let cases = cases.iter().zip(1..).map(|(&(n, x, block), seed)| {
        let problem = MemBench::new(n, x, block, seed).expect("the lab's own cases are valid");
        Box::new(problem) as Box<dyn Case>
    });
    cases.collect()
}

impl Case for MemBench {
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
        Ok(BuiltIn::<MemBench, plan::membench::MemBench>::declared(
            &self.problem(),
        ))
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        Ok(vec![
            ("src".to_owned(), self.elements()?.into()),
            ("sum".to_owned(), vec![0_u32].into()),
        ])
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        _progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let sum = sum(elements(inputs, "src")?, cpu);
        Ok(vec![("sum".to_owned(), vec![sum].into())])
    }

    fn check(
        &self,
        _variant: &str,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<(), CheckError> {
        check::exact(expected, got)
    }

    fn reduced(&self) -> Option<Box<dyn Case>> {
        // The largest tile is 32 elements for each of 1024 threads.
        let n = self.n().min(32_768 + self.n() % 32_768);
        let problem =
            MemBench::new(n, self.x(), self.block(), 1).expect("smaller than a valid one");
        Some(Box::new(problem))
    }

    fn largest_within(&self, _variant: &str, bytes: u64) -> Option<String> {
        let n = largest(1, i32::MAX as u32, |n| 4 * u64::from(n) + 4 <= bytes)?;
        Some(format!("n = {n}"))
    }

    fn work(&self, variant: &str) -> Work {
        let n = u64::from(self.n());
        Work {
            updates: n,
            unit: "loads",
            bytes: BUILT_IN
                .bytes(self, variant)
                .unwrap_or_else(|| self.bytes()),
            flops: 0,
        }
    }
}
