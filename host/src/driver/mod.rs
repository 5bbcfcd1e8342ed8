//! The CUDA driver, opened when first needed.
//!
//! `cust` wants `libcuda` when the program is linked, which would tie the program to machines that have a driver.
//! `.cargo/config.toml` points its build scripts at `host/driver-link`, where `libcuda.so` is a linker script that links
//! nothing; [`forward`] defines the functions instead, and passes each call on to the driver that [`library`] opens.
//! Without a driver every function returns `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED`.

mod forward;
mod library;
mod result;

pub(crate) use library::open;
pub(crate) use result::{check, check_cust};
