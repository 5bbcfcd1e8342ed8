//! Kernels written by hand. Thread t of block b adds element i = 64 b + t, if there is one.

use device::Element;
use lab::LabCase;
use plan::{LaunchConfig, Plan, args};

/// A kernel `sum(a, b, c, n)`: %f1 and %f2 are the elements, `body` sets %f3, what is stored. %r1
/// is i.
pub fn elementwise(body: &str) -> String {
    format!(
        "
.version 7.8
.target sm_80
.address_size 64
.global .align 4 .u32 seen = 0;
.visible .entry sum(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<10>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r2, %r2, 6;
    add.u32 %r1, %r2, %r1;
    ld.param.u32 %r3, [n];
    setp.ge.u32 %p1, %r1, %r3;
    @%p1 bra DONE;
    mul.wide.u32 %rd4, %r1, 4;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    {body}
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}}
"
    )
}

pub const SUM: &str = "add.f32 %f3, %f1, %f2;";

/// The lab's buffers, and one launch of `sum`.
pub fn record_sum(case: &dyn LabCase) -> Plan {
    let own = super::matadd_plan(case);
    let len = own.buffers()[0].len as usize;
    let mut plan = Plan::new("sum");
    let [a, b, c] = ["a", "b", "c"].map(|name| plan.buffer(name, Element::F32, len));
    let n = len as u32;
    let config = LaunchConfig::covering(n, 64).unwrap();
    plan.launch("sum", config, args![a, b, c, n]).unwrap();
    plan.output("c", c);
    plan
}
