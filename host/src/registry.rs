//! Every lab of [`plan::labs!`].

use crate::lab::{CaseError, Lab, Variant};

macro_rules! registered {
    ($($module:ident::$lab:ident,)*) => {
        &[$(&crate::$module::LAB),*]
    };
}

static LABS: &[&dyn Lab] = plan::labs!(registered);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_and_places_of_every_buffer_agree() {
        for lab in labs() {
            for case in lab.small_cases() {
                let plan = match lab.variants() {
                    [] => case.declared(),
                    [first, ..] => case.record(first.name),
                };
                let plan = plan.unwrap();
                for buffer in plan.buffers() {
                    let axes = case.axes(&buffer.name);
                    if axes.is_empty() {
                        continue;
                    }
                    let cells: u64 = axes.iter().map(|(_, extent)| extent).product();
                    let what = format!("{}, {}: {}", lab.name(), case.label(), buffer.name);
                    assert_eq!(cells, buffer.len, "{what}");
                    for index in [0, buffer.len / 3, buffer.len / 2, buffer.len - 1] {
                        let mut rest = index;
                        let mut place: Vec<String> = Vec::new();
                        for (name, extent) in &axes {
                            place.push(format!("{name} = {}", rest % extent));
                            rest /= extent;
                        }
                        place.sort_unstable();
                        let located = case.locate(&buffer.name, index as usize);
                        assert_eq!(located, Some(place.join(", ")), "{what}");
                    }
                }
            }
        }
    }
}
