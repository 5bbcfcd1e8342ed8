//! A packed submission: one file that a machine without Rust can grade.
//!
//! # The file
//!
//! One line of text, `harness-bundle VERSION SHA256 BYTES`, and after it BYTES bytes: the [`Bundle`] as JSON, compressed
//! with gzip. The checksum is of those bytes. It finds damage, not forgery: who edits a bundle can compute it anew, so
//! whoever grades one trusts nothing in it. Problems are compared with the lab's own, plans and PTX are checked as
//! those of any stranger.
//!
//! What a file may cost is bounded before it is read: its size, and what it unpacks to.

mod error;
mod file;

pub use error::BundleError;

use host::Plan;
use serde::{Deserialize, Serialize};

use crate::grade::verdict::Protection;

/// The only version of the format so far. Goes up whenever an older program would misread the file.
pub const FORMAT_VERSION: u32 = 1;

/// The largest PTX, in bytes: all built-in variants of all labs together have a quarter of it.
pub const MOST_PTX_BYTES: usize = 8 << 20;

/// A submission, built: kernels as PTX, and a plan for each case of its lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The lab's name.
    pub lab: String,
    /// The kernels.
    pub ptx: String,
    /// In the order of the lab's cases.
    pub cases: Vec<BundledCase>,
    /// What built it.
    pub built_with: BuiltWith,
    /// What kept the submission's code in its place while it was built.
    pub protections: Vec<Protection>,
}

/// What a submission does for one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledCase {
    /// The case's name, as in lab.toml.
    pub name: String,
    /// The problem that the submission was given.
    pub problem: serde_json::Value,
    /// What it recorded.
    pub plan: Plan,
}

/// The programs that built a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltWith {
    /// This program's version.
    pub harness: String,
    /// The compiler of the kernels: the first line of `rustc --version`.
    pub kernels: String,
    /// The LLVM that wrote the PTX.
    pub llvm: u32,
    /// The compiler of the recorder: the first line of `rustc --version`.
    pub host: String,
}

impl Bundle {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&BundledCase> {
        self.cases.iter().find(|case| case.name == name)
    }
}
