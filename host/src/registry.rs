//! Every lab of [`plan::labs!`].

use std::sync::LazyLock;

use lab::{CaseError, Lab};

macro_rules! registered {
    ($($module:ident::$lab:ident,)*) => {
        vec![$(&*crate::$module::LAB),*]
    };
}

static LABS: LazyLock<Vec<&Lab>> = LazyLock::new(|| plan::labs!(registered));

/// Every lab.
pub fn labs() -> &'static [&'static Lab] {
    &LABS
}

/// The lab of this name.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
pub fn find_lab(name: &str) -> Result<&'static Lab, CaseError> {
    lab::find_lab(labs(), name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{LabCase, Shown, Variant};

    #[test]
    fn axes_and_places_of_every_buffer_agree() {
        for lab in labs() {
            for case in lab.small_cases() {
                let plan = match lab.variants.first() {
                    None => lab.declared(case.as_ref()).unwrap(),
                    Some(first) => first.record(case.as_ref()).unwrap(),
                };
                for buffer in plan.buffers() {
                    let axes = case.axes(&buffer.name);
                    if axes.is_empty() {
                        continue;
                    }
                    let cells: u64 = axes.iter().map(|(_, extent)| extent).product();
                    let what = format!("{}, {case}: {}", lab.name, buffer.name);
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

    #[test]
    fn labels_are_unique_and_easy_to_type() {
        let mut tuned = 0;
        for lab in labs() {
            for variant in &lab.variants {
                let shapes = &variant.shapes;
                let mut names: Vec<&str> = shapes.iter().map(|shape| &*shape.name).collect();
                for (name, shape) in names.iter().zip(shapes) {
                    assert!(!name.contains([' ', ',', '\'', '"']), "{name}");
                    assert_eq!(lab.find(name), Ok(shape));
                    assert_eq!(shape.base(), variant.name);
                    assert_eq!(shape.arithmetic, variant.arithmetic, "{name}");
                    assert_eq!(shape.on_request, variant.on_request, "{name}");
                }
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), shapes.len(), "{}", variant.name);
                assert_ne!(shapes.len(), 1, "{}: no choice", variant.name);
                tuned += usize::from(!shapes.is_empty());
            }
        }
        // A course without solutions has none.
        assert!(tuned > 0 || labs().iter().all(|lab| lab.variants.is_empty()));
    }

    #[test]
    fn a_variant_is_taken_where_none_is_named() {
        let mut used = String::new();
        for lab in labs() {
            let marked = |is_marked: fn(&Variant) -> bool| {
                let variants = lab.variants.iter();
                variants.filter(|variant| is_marked(variant)).count()
            };
            assert!(marked(|variant| variant.is_usual) <= 1, "{}", lab.name);
            assert!(marked(|variant| variant.is_usual_on_several) <= 1);
            // A course without solutions has none.
            let Some(usual) = lab.usual() else { continue };
            assert!(!usual.on_request, "{}", usual.name);
            let several = lab.usual_on_several();
            if let Some(several) = several {
                let uses_two = |case: &dyn LabCase| {
                    let plan = several.record_for(case, 2);
                    plan.is_ok_and(|plan| plan.devices() == 2)
                };
                let cases = lab.small_cases();
                let is_used = cases.iter().any(|case| uses_two(case.as_ref()));
                assert!(is_used, "{}", several.name);
            }
            let several = several.map_or("none", |variant| &variant.name);
            used += &format!("{}: {}, on several {several}\n", lab.name, usual.name);
        }
        if used.is_empty() {
            return;
        }
        insta::assert_snapshot!(used, @r"
        wave2d: naive, on several fast
        wave3d: single, on several fast
        stencil25: gmem, on several two_steps
        poisson: computes_source, on several fast
        matadd: grid2d_block2d_32x32, on several none
        membench: coalesced_load, on several none
        ");
    }

    #[test]
    fn a_run_shows_what_a_case_has() {
        for lab in labs() {
            let Some(running) = &lab.running else {
                continue;
            };
            let case = lab.small_cases().remove(0);
            let view = case.view().expect("a lab that is run has a field to see");
            assert!(lab.outputs.contains(&view.lattice.name), "{}", lab.name);
            assert!(case.timesteps().is_some() && lab.steps_parameter().is_some());
            let (slice, line) = (view.slice.is_some(), view.line.is_some());
            match running.shown {
                Shown::Chunks(chunks) => {
                    assert_eq!(chunks.film.is_some(), slice, "{}: film", lab.name);
                    assert_eq!(chunks.receivers.is_some(), line, "{}: receivers", lab.name);
                }
                Shown::Last(last) => {
                    let quoted = case.quoted_bytes();
                    assert_eq!(last.quoted.is_some(), quoted.is_some(), "{}", lab.name);
                }
            }
            let together = running.together.map_or(&[][..], |flag| flag.parameters);
            let file = running.file.map(|file| file.name);
            let defaults = running.defaults.iter().map(|(name, _)| *name);
            for name in defaults.chain(together.iter().copied()).chain(file) {
                let mut known = lab.parameters.iter();
                assert!(
                    known.any(|known| known.name == name),
                    "{}: {name}",
                    lab.name
                );
            }
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let wave2d = find_lab("wave2d").unwrap();
        let error = |name| wave2d.find(name).unwrap_err();
        insta::assert_snapshot!(error("shmen@t10"), @"unknown variant `shmen`; did you mean `shmem`?");
        insta::assert_snapshot!(error("naive@t10"), @"unknown shape `t10`; there are none");
        insta::assert_snapshot!(error("shmem@t9x"), @"unknown shape `t9x`; there are: t10, t4, t6, t8, t12, t14, t16, t18");
        assert_eq!(wave2d.find("shmem").unwrap().label(), None);
    }

    #[test]
    #[should_panic(expected = "variant `naive` takes cases of")]
    fn a_case_of_another_lab_is_a_bug() {
        let naive = find_lab("wave2d").unwrap().find("naive").unwrap();
        let case = find_lab("matadd").unwrap().small_cases().remove(0);
        let _ = naive.record(case.as_ref());
    }
}
