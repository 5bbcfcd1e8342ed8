//! Checks that a file of `tests/ui` cannot state: several launches, limits and answers of the API,
//! programs made from parts, values of many threads. All others are there, each a kernel that trips
//! the check and one that does it correctly; `cargo test -p emulate --test ui` runs them.

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
mod warpgroup;
