//! The labs' kernels, compiled from crate `kernels-gpu` by this crate's build script: a module per
//! lab, which is parsed when it is first used.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use device::module::Module;
use lab::{InterfaceCase, Variant};
use plan::Solution;

/// Each lab's name, and its kernels. The text says which of them older devices have.
static TEXTS: &[(&str, &str)] = include!(env!("MODULES"));

static MODULES: LazyLock<BTreeMap<&str, Arc<Module>>> = LazyLock::new(|| {
    let modules = TEXTS
        .iter()
        .map(|&(lab, text)| (lab, Arc::new(Module::from_static(lab, text))));
    modules.collect()
});

/// PTX without kernels.
pub const NO_KERNELS: &str = ".version 7.0\n.target sm_75\n.address_size 64\n";

/// The kernels whose names begin with a lab's name and `_`. A module without
/// kernels for a lab that has none, as in a student's copy of the course.
pub fn kernels_of(lab: &'static str) -> Arc<Module> {
    match MODULES.get(lab) {
        Some(module) => Arc::clone(module),
        None => Arc::new(Module::from_static(lab, NO_KERNELS)),
    }
}

/// The modules of all labs and instruments.
pub fn modules() -> impl Iterator<Item = &'static Module> {
    MODULES.values().map(Arc::as_ref)
}

/// A built-in solution whose kernels are those of its lab: see [`Variant::new`].
pub fn variant<C: InterfaceCase>(
    name: &str,
    summary: &'static str,
    solution: fn(&C) -> Box<dyn Solution<C::Interface>>,
) -> Variant {
    let kernels = kernels_of(<C::Interface as plan::Interface>::NAME);
    Variant::new(name, summary, kernels, solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lab_has_the_kernels_of_its_name_and_no_others() {
        for lab in crate::labs() {
            let module = kernels_of(lab.name);
            for kernel in module.program().unwrap().kernels() {
                let own = kernel.name.split('_').next().unwrap();
                assert_eq!(own, lab.name, "{}", kernel.name);
            }
        }
        let none = kernels_of("frobnicate");
        assert_eq!(none.program().unwrap().kernels().count(), 0);
    }
}
