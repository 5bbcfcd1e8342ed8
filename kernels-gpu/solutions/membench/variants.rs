//! The built-in solutions: two submissions, with several kernels and strides.

// `Submission` is for whoever copies the files.
#[allow(dead_code)]
mod loads {
    pub mod launch;
}
#[allow(dead_code)]
mod strided {
    pub mod launch;
}

use plan::Solves;

use loads::launch::Loads;
use strided::launch::Strided;

use super::problem::MemBench;
use crate::lab::{BuiltIn, Variant};

const COALESCED: &str = "coalesced_load";
const NON_COALESCED: &str = "non_coalesced_load";
const VECTOR: &str = "vector_load";

pub const BUILT_IN: BuiltIn<MemBench, plan::membench::MemBench> = BuiltIn {
    variants: VARIANTS,
    solution,
    bytes: |problem, _| problem.bytes(),
};

const VARIANTS: &[Variant] = &[
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

fn solution(
    problem: &MemBench,
    variant: &'static str,
) -> Box<dyn Solves<plan::membench::MemBench>> {
    let block = problem.block();
    let kernel = match variant {
        COALESCED => "membench_coalesced_load",
        NON_COALESCED => "membench_non_coalesced_load",
        VECTOR => "membench_vector_load",
        strided => {
            let stride = strided.trim_start_matches("stride_");
            let stride = stride.parse().expect("the lab's own names");
            return Box::new(Strided { stride, block });
        }
    };
    Box::new(Loads { kernel, block })
}
