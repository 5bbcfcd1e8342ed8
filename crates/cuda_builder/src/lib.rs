//! Build-script helper: compiles a kernel crate to PTX.
