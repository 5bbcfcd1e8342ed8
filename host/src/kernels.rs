//! The labs' kernels, compiled from crate `kernels-gpu` by this crate's build script.

use crate::module::Module;

/// Every kernel of `kernels-gpu`.
pub static KERNELS: Module = Module::from_static("kernels-gpu", include_str!(env!("KERNELS_PTX")));
