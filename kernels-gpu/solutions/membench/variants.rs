//! The variants of the solutions: two submissions, with several kernels and strides.

use super::loads::launch::Loads;
use super::strided::launch::Strided;
use crate::kernels::variant;
use crate::membench::MemBench;
use lab::Variant;

macro_rules! loads {
    ($name:literal, $kernel:literal, $summary:literal) => {
        variant::<MemBench>($name, $summary, |case: &MemBench| {
            Box::new(Loads {
                kernel: $kernel,
                block: case.block(),
            })
        })
    };
}

macro_rules! strided {
    ($name:literal, $stride:literal, $summary:literal) => {
        variant::<MemBench>($name, $summary, |case: &MemBench| {
            Box::new(Strided {
                stride: $stride,
                block: case.block(),
            })
        })
    };
}

pub fn variants() -> Vec<Variant> {
    vec![
        loads!(
            "coalesced_load",
            "membench_coalesced_load",
            "a thread's loads are a block apart: neighbouring lanes load neighbours"
        ),
        loads!(
            "non_coalesced_load",
            "membench_non_coalesced_load",
            "a thread's loads are neighbours: neighbouring lanes are x elements apart"
        ),
        loads!(
            "vector_load",
            "membench_vector_load",
            "as coalesced_load, 16 bytes a load"
        ),
        strided!(
            "stride_2",
            2,
            "two passes, neighbouring lanes 2 elements apart"
        ),
        strided!(
            "stride_4",
            4,
            "four passes, neighbouring lanes 4 elements apart"
        ),
        strided!(
            "stride_8",
            8,
            "eight passes, neighbouring lanes 8 elements apart: a sector each"
        ),
        strided!(
            "stride_16",
            16,
            "16 passes, neighbouring lanes 16 elements apart"
        ),
        strided!(
            "stride_32",
            32,
            "32 passes, neighbouring lanes 32 elements apart: a line each"
        ),
    ]
}
