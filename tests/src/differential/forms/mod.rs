//! All forms, by family.

mod approximate;
mod atomic;
mod barrier;
mod bits;
mod carry;
mod compare;
mod control;
mod convert;
mod float;
mod integer;
mod memory;
mod special;
mod warp;

use super::Form;

/// Every form.
pub fn all() -> Vec<Form> {
    let families = [
        integer::forms,
        carry::forms,
        bits::forms,
        float::forms,
        approximate::forms,
        compare::forms,
        convert::forms,
        memory::forms,
        atomic::forms,
        warp::forms,
        barrier::forms,
        control::forms,
        special::forms,
    ];
    families.into_iter().flat_map(|family| family()).collect()
}
