//! The list of labs, the interface that each has, and the macro that writes it.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Plan, PlanError, Target};

/// The interface of a lab: the problem that a solution gets, and the buffers of its plans. Each
/// lab's module has a type that implements it.
pub trait Interface: Sized {
    /// The lab's name, as users type it.
    const NAME: &'static str;
    /// The problem to solve.
    type Problem: Serialize + DeserializeOwned + Clone + PartialEq + Debug;
    /// The buffers that the caller writes before a run.
    type Buffers: Copy + Debug;
    /// The buffers that hold the results after it.
    type Outputs: Copy + Debug;

    /// The outputs' names, in the order of [`Interface::finish`].
    const OUTPUTS: &'static [&'static str];

    /// Declares the lab's buffers: the first of the plan, in a fixed order, under fixed names.
    fn declare(problem: &Self::Problem, plan: &mut Plan) -> Self::Buffers;

    /// Declares the outputs, under fixed names.
    fn finish(outputs: Self::Outputs, plan: &mut Plan);

    /// A plan with the lab's buffers for a problem, and nothing else.
    fn declared(problem: &Self::Problem) -> Plan {
        let mut plan = Plan::new("declared");
        Self::declare(problem, &mut plan);
        plan
    }

    /// The plan of a solution for a problem, on one device.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: the solution's own, or what [`Plan::check`] finds.
    fn record(
        name: impl Into<String>,
        problem: &Self::Problem,
        solution: &(impl Solution<Self> + ?Sized),
    ) -> Result<Plan, PlanError> {
        Self::record_for(1, name, problem, solution)
    }

    /// The plan of a solution for a problem on a number of devices, or a [`Target`]; the solution
    /// may use fewer devices.
    ///
    /// # Errors
    ///
    /// As [`Interface::record`].
    fn record_for(
        target: impl Into<Target>,
        name: impl Into<String>,
        problem: &Self::Problem,
        solution: &(impl Solution<Self> + ?Sized),
    ) -> Result<Plan, PlanError> {
        Self::record_shape(None, target, name, problem, solution)
    }

    /// The plan of a solution in one of its launch shapes: that of this number, as
    /// [`Solution::shape_labels`] counts them.
    ///
    /// # Errors
    ///
    /// As [`Interface::record`]; [`PlanError::Unsupported`] for a number that it does not have.
    fn record_shape(
        shape: Option<usize>,
        target: impl Into<Target>,
        name: impl Into<String>,
        problem: &Self::Problem,
        solution: &(impl Solution<Self> + ?Sized),
    ) -> Result<Plan, PlanError> {
        let mut plan = Plan::new(name).for_target(target.into());
        let buffers = Self::declare(problem, &mut plan);
        let outputs = solution.record_into(shape, problem, buffers, &mut plan)?;
        Self::finish(outputs, &mut plan);
        plan.check()?;
        Ok(plan)
    }
}

/// A solution of lab `L`: whatever implements `Solution` of the lab's module.
pub trait Solution<L: Interface> {
    /// As the lab's `Solution::record`, or as that of the solution of this number in its
    /// `Solution::shapes`.
    ///
    /// # Errors
    ///
    /// The solution's; [`PlanError::Unsupported`] for a number that it does not have.
    fn record_into(
        &self,
        shape: Option<usize>,
        problem: &L::Problem,
        buffers: L::Buffers,
        plan: &mut Plan,
    ) -> Result<L::Outputs, PlanError>;

    /// The labels of the lab's `Solution::shapes`.
    fn shape_labels(&self) -> Vec<String>;
}

/// Calls the macro `$callback` with every lab: its module, in this crate and in `host`, and its
/// type there.
///
/// The one list of labs. A new lab adds its line here.
#[macro_export]
macro_rules! labs {
    ($callback:ident) => {
        $callback! {
            wave2d::Wave2d,
            wave3d::Wave3d,
            stencil25::Stencil25,
            poisson::Poisson,
            matadd::MatAdd,
            membench::MemBench,
        }
    };
}

/// Calls the macro `$callback` with every sequel: the name of a folder of `labs` that goes on with
/// another lab's problem, by a handout, a starter and a `lab.toml` of its own.
///
/// The one list of them.
#[macro_export]
macro_rules! sequels {
    ($callback:ident) => {
        $callback! {
            "several-gpus",
            "stencil25-advanced",
        }
    };
}

/// An interface, whatever its types are.
#[derive(Debug, Clone, Copy)]
pub struct InterfaceInfo {
    /// The lab's name, as users type it.
    pub name: &'static str,
    /// Its type, as source text names it: `plan::wave2d::Wave2d`.
    pub type_path: &'static str,
    /// The names of its outputs, in order.
    pub outputs: &'static [&'static str],
    declared: fn(&serde_json::Value) -> serde_json::Result<Plan>,
}

impl InterfaceInfo {
    /// The interface of the lab of this name.
    pub fn find(name: &str) -> Option<&'static InterfaceInfo> {
        INTERFACES.iter().find(|lab| lab.name == name)
    }

    /// A plan with the buffers that the lab declares for a problem, and nothing else.
    ///
    /// # Errors
    ///
    /// JSON that is none of the lab's problems.
    pub fn declared(&self, problem: &serde_json::Value) -> serde_json::Result<Plan> {
        (self.declared)(problem)
    }
}

macro_rules! interfaces {
    ($($module:ident::$lab:ident,)*) => {
        &[$({
            type L = crate::$module::$lab;
            InterfaceInfo {
                name: L::NAME,
                type_path: concat!("plan::", stringify!($module), "::", stringify!($lab)),
                outputs: L::OUTPUTS,
                declared: |problem| Ok(L::declared(&Deserialize::deserialize(problem)?)),
            }
        }),*]
    };
}

static INTERFACES: &[InterfaceInfo] = labs!(interfaces);

/// Writes what follows from a lab's `Problem`, `Buffers` and `Outputs`: its `Solution` and its
/// [`Interface`].
macro_rules! interface {
    (
        $(#[$doc:meta])*
        $lab:ident = $name:literal;
        declare($problem:ident, $plan:ident) $declare:block
        outputs { $($output:ident),* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $lab;

        /// The trait that a solution's host code implements.
        pub trait Solution {
            /// Records the launches that solve `problem` from what `buffers` hold, and says which
            /// buffers hold the results then. Scratch buffers are declared with
            /// [`Plan::scratch`](crate::Plan::scratch).
            ///
            /// # Errors
            ///
            /// [`PlanError`](crate::PlanError), from recording or through
            /// [`PlanError::unsupported`](crate::PlanError::unsupported).
            fn record(
                &self,
                problem: &Problem,
                buffers: Buffers,
                plan: &mut $crate::Plan,
            ) -> Result<Outputs, $crate::PlanError>;

            /// Other launch shapes: labels, without blanks and commas, and the solution in each.
            /// `harness tune --submission DIR` compares them with what [`Solution::record`] does.
            /// Grades take that alone.
            fn shapes(&self) -> Vec<(String, Box<dyn Solution>)> {
                Vec::new()
            }
        }

        impl $crate::Interface for $lab {
            const NAME: &'static str = $name;
            type Problem = Problem;
            type Buffers = Buffers;
            type Outputs = Outputs;

            const OUTPUTS: &'static [&'static str] = &[$(stringify!($output)),*];

            fn declare($problem: &Problem, $plan: &mut $crate::Plan) -> Buffers $declare

            fn finish(outputs: Outputs, plan: &mut $crate::Plan) {
                $(plan.output(stringify!($output), outputs.$output);)*
            }
        }

        impl<S: Solution + ?Sized> $crate::Solution<$lab> for S {
            fn record_into(
                &self,
                shape: Option<usize>,
                problem: &Problem,
                buffers: Buffers,
                plan: &mut $crate::Plan,
            ) -> Result<Outputs, $crate::PlanError> {
                match shape.map(|number| self.shapes().into_iter().nth(number)) {
                    None => self.record(problem, buffers, plan),
                    Some(Some((_, shape))) => shape.record(problem, buffers, plan),
                    Some(None) => Err($crate::PlanError::unsupported("no such shape")),
                }
            }

            fn shape_labels(&self) -> Vec<String> {
                self.shapes().into_iter().map(|(label, _)| label).collect()
            }
        }
    };
}

pub(crate) use interface;
