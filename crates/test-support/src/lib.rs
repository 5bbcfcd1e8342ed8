//! Support for tests on a machine that lacks a means they need. They print "skipped" with the
//! reason and pass, unless an environment variable says that this machine must have the means.
//!
//! `REQUIRE_GPU=1 cargo test` fails where a test finds no GPU: a run that should test a GPU cannot
//! pass without one. The other variables are those of [`Need`].

#[cfg(target_os = "linux")]
mod emulated_driver;
#[cfg(target_os = "linux")]
mod lacking;
#[cfg(unix)]
mod signals;
#[cfg(target_os = "linux")]
mod terminal;

use std::ffi::OsStr;
use std::fmt::Display;

#[cfg(target_os = "linux")]
pub use emulated_driver::on_emulated_driver;
#[cfg(target_os = "linux")]
pub use lacking::{Means, lacking, passed_lacking};
#[cfg(unix)]
pub use signals::heeding_signals;
#[cfg(target_os = "linux")]
pub use terminal::Terminal;

/// The names of all fields of a JSON value, at any depth, without those `left_out` and what is in
/// them.
pub fn field_names<'v>(value: &'v serde_json::Value, left_out: &[&str]) -> Vec<&'v str> {
    match value {
        serde_json::Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !left_out.contains(&name.as_str()))
            .flat_map(|(name, below)| [vec![name.as_str()], field_names(below, left_out)].concat())
            .collect(),
        serde_json::Value::Array(values) => values
            .iter()
            .flat_map(|below| field_names(below, left_out))
            .collect(),
        _ => Vec::new(),
    }
}

/// A means that a test needs and not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// An NVIDIA GPU with its driver: `REQUIRE_GPU=1`.
    Gpu,
    /// The kernel's means of confinement (Landlock, seccomp, namespaces): `REQUIRE_SANDBOX=1`.
    Sandbox,
    /// The compilers of kernels in other languages (nvcc, Python with numba): `REQUIRE_PEERS=1`.
    Peers,
}

impl Need {
    /// The environment variable that requires this machine to have it.
    pub const fn variable(self) -> &'static str {
        match self {
            Need::Gpu => "REQUIRE_GPU",
            Need::Sandbox => "REQUIRE_SANDBOX",
            Need::Peers => "REQUIRE_PEERS",
        }
    }
}

/// Prints that a test, or a part of it, is skipped, with the reason.
///
/// # Panics
///
/// If an environment variable requires the means.
#[track_caller]
pub fn skip(need: Need, reason: impl Display) {
    let variable = need.variable();
    skip_unless(
        is_set(std::env::var_os(variable).as_deref()),
        variable,
        reason,
    );
}

#[track_caller]
fn skip_unless(required: bool, variable: &str, reason: impl Display) {
    assert!(!required, "{variable} is set, but {reason}");
    println!("skipped: {reason}");
}

/// Any value but the empty one and 0.
fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_variable_a_test_passes() {
        skip_unless(false, "REQUIRE_GPU", "no CUDA device");
    }

    #[test]
    #[should_panic = "REQUIRE_GPU is set, but no CUDA device"]
    fn with_the_variable_a_test_fails() {
        skip_unless(true, "REQUIRE_GPU", "no CUDA device");
    }

    #[test]
    fn empty_and_0_are_as_unset() {
        let set = [None, Some(""), Some("0"), Some("1"), Some("yes")];
        assert_eq!(
            set.map(|value| is_set(value.map(OsStr::new))),
            [false, false, false, true, true]
        );
    }
}
