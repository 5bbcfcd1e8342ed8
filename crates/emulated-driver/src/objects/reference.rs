//! Texture and surface references: variables of a module that the program binds.
//!
//! PTX of toolkits before CUDA 12 has them (`.texref`, `.surfref`), and `cuda.h` still does
//! ("Texture Reference Management").

use std::ffi::c_uint;

use ptx_emu::Image;

use super::Handle;
use super::texture::{Resource, TextureDescriptor};

/// A texture reference as the program has set it.
#[derive(Clone, Debug)]
pub(crate) struct TextureReference {
    pub(crate) module: Handle,
    /// The address of its variable.
    pub(crate) variable: u64,
    /// What it is bound to.
    pub(crate) resource: Option<Resource>,
    /// The elements of that, as they were when it was bound.
    pub(crate) levels: Box<[Image]>,
    /// `CUarray_format` and channels, of memory outside of arrays.
    pub(crate) format: (c_uint, c_uint),
    pub(crate) sampling: TextureDescriptor,
}

impl TextureReference {
    /// One that nothing is bound to: elements of one `f32`, by points, clamped.
    pub(crate) fn new(module: Handle, variable: u64) -> Self {
        const FLOAT: c_uint = 0x20;
        Self {
            module,
            variable,
            resource: None,
            levels: Box::default(),
            format: (FLOAT, 1),
            sampling: TextureDescriptor::default(),
        }
    }

    /// The dimension of a coordinate, from 0 to 2, for its address mode.
    pub(crate) fn mode(&mut self, dimension: usize) -> Option<&mut c_uint> {
        self.sampling.modes.get_mut(dimension)
    }
}

/// A surface reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SurfaceReference {
    pub(crate) module: Handle,
    pub(crate) variable: u64,
    pub(crate) array: Option<Handle>,
}
