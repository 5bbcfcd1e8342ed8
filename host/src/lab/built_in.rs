//! The built-in solutions of a lab, behind feature `solutions`.

use std::fmt::Display;

use plan::{Plan, Solves};

use super::Variant;
use crate::error::Error;
use crate::registry::find_variant;

/// The built-in solutions of lab `L`, whose cases are `C`.
pub struct BuiltIn<C, L> {
    /// What users see.
    pub variants: &'static [Variant],
    /// The solution of a variant's name, as the case wants it.
    pub solution: fn(&C, &'static str) -> Box<dyn Solves<L>>,
    /// Fewest bytes that a variant must move for a case: see [`super::Work::bytes`].
    pub bytes: fn(&C, &'static str) -> u64,
}

impl<C: Display, L: plan::Lab> BuiltIn<C, L> {
    /// What there is without feature `solutions`.
    #[cfg(not(feature = "solutions"))]
    pub const NONE: BuiltIn<C, L> = BuiltIn {
        variants: &[],
        solution: |_, _| unreachable!("there is no variant"),
        bytes: |_, _| unreachable!("there is no variant"),
    };

    /// A plan with the lab's buffers for a problem, and nothing else.
    pub fn declared(problem: &L::Problem) -> Plan {
        let mut plan = Plan::new("declared");
        L::declare(problem, &mut plan);
        plan
    }

    /// The variant's plan for the case, which is `problem`.
    pub fn record(&self, case: &C, problem: &L::Problem, variant: &str) -> Result<Plan, Error> {
        let name = find_variant(self.variants, variant)?.name;
        let solution = (self.solution)(case, name);
        let name = format!("{} {name}, {case}", L::NAME);
        Ok(L::record(name, problem, solution.as_ref())?)
    }

    /// Fewest bytes that the variant must move for the case; `None` if there is no such variant.
    pub fn bytes(&self, case: &C, variant: &str) -> Option<u64> {
        let variant = find_variant(self.variants, variant).ok()?;
        Some((self.bytes)(case, variant.name))
    }
}
