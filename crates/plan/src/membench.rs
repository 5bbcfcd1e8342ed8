//! The coalescing lab: the sum of all elements, modulo 2^32.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, interface::interface};

/// The problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// How many elements there are: 1 to 2^31 - 1.
    pub n: u32,
    /// How many of them each thread loads: 1, 2, 4, 8, 16 or 32.
    pub x: u32,
}

/// The buffers of elements and sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// n values of `u32`. Must be left as it is.
    pub src: BufferId,
    /// One `u32`, which is 0 before.
    pub sum: BufferId,
}

/// The buffer that holds the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// One `u32`: the sum of all elements, modulo 2^32.
    pub sum: BufferId,
}

interface! {
    /// The lab `membench`.
    MemBench = "membench";
    declare(problem, plan) {
        Buffers {
            src: plan.buffer("src", Element::U32, problem.n as usize),
            sum: plan.buffer("sum", Element::U32, 1),
        }
    }
    outputs { sum }
}
