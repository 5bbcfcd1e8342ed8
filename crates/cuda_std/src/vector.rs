//! Index vectors, with the field names of glam's.

// With the feature `glam`, these are the crate's own.
#[cfg(feature = "glam")]
pub use glam::{UVec2, UVec3};

#[cfg(not(feature = "glam"))]
pub use own::{UVec2, UVec3};

#[cfg(not(feature = "glam"))]
mod own {
    /// Two unsigned components.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct UVec2 {
        /// First component.
        pub x: u32,
        /// Second component.
        pub y: u32,
    }

    /// Three unsigned components.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct UVec3 {
        /// First component.
        pub x: u32,
        /// Second component.
        pub y: u32,
        /// Third component.
        pub z: u32,
    }

    impl UVec2 {
        /// The vector (x, y).
        #[inline(always)]
        pub const fn new(x: u32, y: u32) -> Self {
            Self { x, y }
        }
    }

    impl UVec3 {
        /// The vector (x, y, z).
        #[inline(always)]
        pub const fn new(x: u32, y: u32, z: u32) -> Self {
            Self { x, y, z }
        }
    }
}
