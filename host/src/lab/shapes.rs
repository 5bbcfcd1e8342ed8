//! The shapes in which a built-in solution may be launched: tile, timesteps per launch, threads per
//! block.

use plan::Solves;

use super::{CaseError, Declaration, Lab, Variant};
use crate::registry::find_variant;

/// The character between a variant's name and a shape's label.
pub const SHAPE: char = '@';

/// How many bytes a solution must move.
type Bytes<D> = Box<dyn Fn(&D) -> u64 + Send + Sync>;

/// A solution in one shape.
pub struct Shaped<D: Declaration> {
    pub(super) label: String,
    pub(super) solution: Box<dyn Solves<D::Plan> + Send + Sync>,
    pub(super) bytes: Option<Bytes<D>>,
}

/// The shapes of a declared space, the default first, for
/// [`BuiltIn::tuned`](super::BuiltIn::tuned). `bytes` says how many a solution of a shape must
/// move, if that depends on the shape.
///
/// Labels are unique, without spaces and commas.
pub fn shapes<D, S>(
    default: S,
    space: &[S],
    label: fn(&S) -> String,
    bytes: Option<fn(&D, &S) -> u64>,
) -> Vec<Shaped<D>>
where
    D: Declaration,
    S: Solves<D::Plan> + Copy + PartialEq + Send + Sync + 'static,
{
    let others = space.iter().copied().filter(|shape| *shape != default);
    let all = std::iter::once(default).chain(others);
    all.map(|shape| Shaped {
        label: label(&shape),
        solution: Box::new(shape),
        bytes: bytes.map(|bytes| Box::new(move |case: &D| bytes(case, &shape)) as _),
    })
    .collect()
}

/// The variant of this name, or of `NAME@LABEL`, which is the variant in one of [`Lab::shapes`].
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name or label.
pub fn find_shaped(lab: &dyn Lab, name: &str) -> Result<Variant, CaseError> {
    let Some((variant, label)) = name.split_once(SHAPE) else {
        return find_variant(lab.variants(), name);
    };
    let variant = find_variant(lab.variants(), variant)?;
    let shapes = lab.shapes(variant.name);
    let mut found = shapes.iter().filter(|shape| shape.name == name);
    found.next().copied().ok_or_else(|| {
        let labels = shapes.iter().filter_map(|shape| shape.label());
        CaseError::unknown("shape", label, labels)
    })
}

impl Variant {
    /// Of a variant in a shape, the shape's label: what follows [`SHAPE`] in its name.
    pub fn label(&self) -> Option<&'static str> {
        Some(self.name.split_once(SHAPE)?.1)
    }

    /// Its name without a shape's label.
    pub fn base(&self) -> &'static str {
        self.name
            .split_once(SHAPE)
            .map_or(self.name, |(base, _)| base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{find_lab, labs};

    #[test]
    fn labels_are_unique_and_easy_to_type() {
        let mut tuned = 0;
        for lab in labs() {
            for variant in lab.variants() {
                let shapes = lab.shapes(variant.name);
                let mut names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
                for (name, shape) in names.iter().zip(&shapes) {
                    assert!(!name.contains([' ', ',', '\'', '"']), "{name}");
                    assert_eq!(find_shaped(*lab, name), Ok(*shape));
                    assert_eq!((shape.base(), shape.exact), (variant.name, variant.exact));
                }
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), shapes.len(), "{}", variant.name);
                assert_ne!(shapes.len(), 1, "{}: no choice", variant.name);
                tuned += usize::from(!shapes.is_empty());
            }
        }
        // A course without solutions has none.
        assert!(tuned > 0 || labs().iter().all(|lab| lab.variants().is_empty()));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let wave2d = find_lab("wave2d").unwrap();
        let error = |name| find_shaped(wave2d, name).unwrap_err();
        insta::assert_snapshot!(error("shmen@t10"), @"unknown variant `shmen`; did you mean `shmem`?");
        insta::assert_snapshot!(error("naive@t10"), @"unknown shape `t10`; there are none");
        insta::assert_snapshot!(error("shmem@t9x"), @"unknown shape `t9x`; there are: t10, t4, t6, t8, t12, t14, t16, t18");
        assert_eq!(find_shaped(wave2d, "shmem").unwrap().label(), None);
    }
}
