//! Loads and stores in every state space, address conversion, asynchronous copies, fences.

mod access;
mod copies;
mod place;
mod variables;

use crate::differential::Form;

use place::PLACES;
pub(super) use place::{GENERIC_GLOBAL, GENERIC_SHARED, GLOBAL, Place, SHARED};

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for place in PLACES {
        all.extend(access::extensions(place));
        all.extend(access::stores(place));
        all.extend(access::vectors(place));
    }
    all.extend(access::modifiers());
    all.extend(variables::variables());
    all.extend(variables::addresses());
    all.extend(copies::copies());
    all.extend(copies::hints());
    all
}
