//! Tests of the project as a whole, in one program, which is linked once.

mod container;
mod facts;
mod figures;
mod links;
mod prebuilt_ptx;
mod release;
mod wave2d;
