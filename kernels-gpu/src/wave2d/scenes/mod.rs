//! The scenes of the course, one a file, and [`AnyScene`] to choose among them.
//!
//! A new scene is a file here and a variant of [`AnyScene`].

mod any;
mod double_slit;
mod elliptic_room;
mod empty_box;
mod oscillation;
mod parabolic_mirror;
mod point_source;

pub use any::AnyScene;
pub use double_slit::DoubleSlit;
pub use elliptic_room::EllipticRoom;
pub use empty_box::EmptyBox;
pub use parabolic_mirror::ParabolicMirror;
pub use point_source::PointSource;
