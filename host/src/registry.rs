//! The list of labs. A new lab adds its line here.

use crate::lab::{CaseError, Lab, Variant};

static LABS: &[&dyn Lab] = &[
    &crate::wave2d::LAB,
    &crate::wave3d::LAB,
    &crate::poisson::LAB,
    &crate::matadd::LAB,
    &crate::membench::LAB,
];

/// Every lab.
pub fn labs() -> &'static [&'static dyn Lab] {
    LABS
}

/// The lab of this name.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
pub fn find_lab(name: &str) -> Result<&'static dyn Lab, CaseError> {
    labs()
        .iter()
        .copied()
        .find(|lab| lab.name() == name)
        .ok_or_else(|| CaseError::unknown("lab", name, labs().iter().map(|lab| lab.name())))
}

/// The variant of this name among a lab's.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
pub fn find_variant(variants: &[Variant], name: &str) -> Result<Variant, CaseError> {
    variants
        .iter()
        .find(|variant| variant.name == name)
        .copied()
        .ok_or_else(|| {
            CaseError::unknown("variant", name, variants.iter().map(|variant| variant.name))
        })
}
