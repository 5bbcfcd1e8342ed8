//! Every check: a kernel that trips it with the exact message, and one that does the same
//! correctly.

mod barriers;
mod bounds;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod control;
mod copies;
mod idioms;
mod launches;
mod races;
mod unwritten;
mod unwritten_global;
