//! All tests of the crate in one program, which is linked once.

mod devices;
mod labs;
mod limits;
mod slabs;
