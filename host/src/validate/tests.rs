//! What is said of launches that do not fit. Every fault has a case in `tests/validation.rs`.

use super::*;
use crate::{Element, args};

/// `takes` takes a slice and a number; `large` declares shared memory.
const PTX: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry takes(.param .u64 p, .param .u64 len, .param .u8 n) { ret; }
.visible .entry takes_nothing() { ret; }
.visible .entry large(.param .u64 p)
{
    .shared .align 4 .b8 tile[40000];
    .shared .align 4 .b8 other[9153];
    .reg .b32 %r<2>;
    st.shared.b32 [tile], 0;
    st.shared.b32 [other], 0;
    ret;
}
";

fn said(
    kernel: &str,
    shared_mem_bytes: u32,
    args: impl FnOnce(crate::BufferId) -> Vec<Arg>,
) -> String {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::U32, 8);
    let config = LaunchConfig::new(1, 1).with_shared_mem_bytes(shared_mem_bytes);
    plan.launch(kernel, config, args(u)).unwrap();
    let module = Module::new("kernels", PTX);
    match validate(&module, &plan, &LaunchLimits::COMMON).unwrap_err() {
        Error::Validation(ValidationError::Launch { fault, .. }) => fault.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn arguments_are_counted_as_they_are_written() {
    let takes = |args: fn(crate::BufferId) -> Vec<Arg>| said("takes", 0, args);
    insta::assert_snapshot!(takes(|_| vec![]), @"`args!` is empty, but the kernel has 3 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u.slice()].to_vec()), @"`args!` has 1 argument, which fills 2 of the kernel's 3 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u, 1u8].to_vec()), @"`args!` has 2 arguments, which fill 2 of the kernel's 3 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u.slice(), u.slice()].to_vec()), @"`args!` has 2 arguments, which fill 4, but the kernel has 3 parameters (a slice fills two)");
    insta::assert_snapshot!(said("takes_nothing", 0, |u| args![u].to_vec()), @"`args!` has 1 argument, which fills 1, but the kernel has 0 parameters (a slice fills two)");
    insta::assert_snapshot!(takes(|u| args![u.slice(), 1.0f32].to_vec()), @"argument 2 of `args!`, counted from 1, is f32, but the kernel takes an 8-bit integer there");
    insta::assert_snapshot!(takes(|u| args![1u64, u.slice()].to_vec()), @"argument 2 of `args!`, counted from 1, is a slice, whose length (u64) comes second, but the kernel takes an 8-bit integer there");
}

#[test]
fn static_shared_memory_has_a_limit_of_its_own() {
    for dynamic_bytes in [0, 1 << 10] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(said("large", dynamic_bytes, |u| args![u].to_vec()), @"the kernel's `shared_array!`s have 49153 bytes in all, and may have 49152; take `shared::dynamic_shared_mem` and `with_shared_mem_bytes` for more");
        }
    }
}
