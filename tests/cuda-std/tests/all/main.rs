//! The device library on every device: functions, indices, warps, atomics, the heap, the examples
//! of its documentation, random functions.

mod examples;
mod functions;
mod heap;
mod indices;
mod library;
mod page;
mod random;
