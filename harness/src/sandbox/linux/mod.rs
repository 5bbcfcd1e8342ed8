//! The sandbox on Linux.

mod calls;
mod enter;
mod files;
mod run;
