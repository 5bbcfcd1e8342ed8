//! The variants of the coalescing lab.

use super::problem::MemBench;
use crate::args;
use crate::buffer::Element;
use crate::error::Error;
use crate::lab::Variant;
use crate::plan::{LaunchConfig, Plan};
use crate::registry::find_variant;

const COALESCED: &str = "coalesced_load";
const NON_COALESCED: &str = "non_coalesced_load";
const VECTOR: &str = "vector_load";

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: COALESCED,
        summary: "a thread's loads are a block apart: neighbouring lanes load neighbours",
        exact: true,
    },
    Variant {
        name: NON_COALESCED,
        summary: "a thread's loads are neighbours: neighbouring lanes are x elements apart",
        exact: true,
    },
    Variant {
        name: VECTOR,
        summary: "as coalesced_load, 16 bytes a load",
        exact: true,
    },
    Variant {
        name: "stride_2",
        summary: "two passes, neighbouring lanes 2 elements apart",
        exact: true,
    },
    Variant {
        name: "stride_4",
        summary: "four passes, neighbouring lanes 4 elements apart",
        exact: true,
    },
    Variant {
        name: "stride_8",
        summary: "eight passes, neighbouring lanes 8 elements apart: a sector each",
        exact: true,
    },
    Variant {
        name: "stride_16",
        summary: "16 passes, neighbouring lanes 16 elements apart",
        exact: true,
    },
    Variant {
        name: "stride_32",
        summary: "32 passes, neighbouring lanes 32 elements apart: a line each",
        exact: true,
    },
];

/// The variant's plan: inputs `src` and `sum` (0), output `sum`.
pub(super) fn record(problem: &MemBench, variant: &str) -> Result<Plan, Error> {
    let variant = find_variant(VARIANTS, variant)?.name;
    let (n, x, block) = (problem.n(), problem.x(), problem.block());
    let mut plan = Plan::new(format!("membench {variant}, {problem}"));
    let src = plan.buffer("src", Element::U32, n as usize);
    let sum = plan.buffer("sum", Element::U32, 1);
    let tile = block * x;
    let kernel = match variant {
        COALESCED => "membench_coalesced_load",
        NON_COALESCED => "membench_non_coalesced_load",
        VECTOR => "membench_vector_load",
        strided => {
            let stride = strided.trim_start_matches("stride_");
            let stride: u32 = stride.parse().expect("the lab's own names");
            let grid = (n.div_ceil(stride).div_ceil(tile), stride);
            plan.launch(
                "membench_strided_load",
                LaunchConfig::new(grid, block),
                args![src.slice(), sum, x, stride],
            )?;
            plan.output("sum", sum);
            return Ok(plan);
        }
    };
    let config = LaunchConfig::new(n.div_ceil(tile), block);
    plan.launch(kernel, config, args![src.slice(), sum, x])?;
    plan.output("sum", sum);
    Ok(plan)
}
