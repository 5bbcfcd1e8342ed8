//! The labs' kernels, compiled from crate `kernels-gpu` by this crate's build script.

use std::sync::{Arc, LazyLock};

use device::module::Module;
use lab::{InterfaceCase, Variant};
use plan::Solution;

/// Every kernel of `kernels-gpu`: for devices of compute capability 8.0, and for those of 9.0 and
/// newer, which have some kernels more.
pub static KERNELS: LazyLock<Arc<Module>> = LazyLock::new(|| {
    let ptx = include_str!(env!("KERNELS_PTX"));
    Arc::new(Module::from_static_with_newer("kernels-gpu", ptx, &NEWER))
});

static NEWER: Module = Module::from_static("kernels-gpu", include_str!(env!("NEWER_KERNELS_PTX")));

/// A built-in solution whose kernels are [`KERNELS`]: see [`Variant::new`].
#[allow(dead_code, reason = "a student's copy of the course has no variants")]
pub fn variant<C: InterfaceCase>(
    name: &str,
    summary: &'static str,
    solution: fn(&C) -> Box<dyn Solution<C::Interface>>,
) -> Variant {
    Variant::new(name, summary, Arc::clone(&KERNELS), solution)
}
