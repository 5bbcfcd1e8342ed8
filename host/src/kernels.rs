//! The labs' kernels, compiled from crate `kernels-gpu` by this crate's build script.

use device::module::Module;

/// Every kernel of `kernels-gpu`: for devices of compute capability 8.0, and for those of 9.0 and
/// newer, which have some kernels more.
pub static KERNELS: Module =
    Module::from_static_with_newer("kernels-gpu", include_str!(env!("KERNELS_PTX")), &NEWER);

static NEWER: Module = Module::from_static("kernels-gpu", include_str!(env!("NEWER_KERNELS_PTX")));
