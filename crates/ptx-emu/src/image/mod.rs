//! Textures and surfaces: the elements behind an object, and how it is sampled.
//!
//! A kernel has an object as a number of 64 bits. [`Images`] knows which objects there are and
//! which there were, `sampling` says which elements a fetch reads, `element` what their bytes mean.

pub(crate) mod element;
pub(crate) mod levels;
pub(crate) mod sampling;

use std::collections::{BTreeMap, BTreeSet};

/// The type of a channel of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 8 bits.
    S8,
    /// Signed, 16 bits.
    S16,
    /// Signed, 32 bits.
    S32,
    /// Floating-point, 16 bits.
    F16,
    /// Floating-point, 32 bits.
    F32,
}

impl Channel {
    /// Its size.
    ///
    /// ```
    /// assert_eq!(ptx_emu::Channel::F16.bytes(), 2);
    /// ```
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32)
    }
}

/// How the elements of a texture or surface are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// Linear memory: a fetch outside gives zeros.
    Linear,
    /// Up to three dimensions.
    Plain,
    /// Layers, which are chosen by number and not filtered between.
    Layered,
    /// Six faces, or six for each layer.
    Cube,
}

/// The elements behind a texture or a surface, in memory of the machine.
///
/// ```
/// use ptx_emu::{Channel, Image, ImageKind};
/// // 16 x 8 elements of one `f32`, row by row.
/// let image = Image {
///     address: 0x2000_0000_0000,
///     kind: ImageKind::Plain,
///     channel: Channel::F32,
///     channels: 1,
///     extent: [16, 8, 1],
///     pitch: 64,
///     layer: 512,
/// };
/// assert_eq!(image.element_bytes(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The address of the first element.
    pub address: u64,
    /// Whether it has layers or faces.
    pub kind: ImageKind,
    /// The type of a channel.
    pub channel: Channel,
    /// Channels of an element: 1, 2 or 4.
    pub channels: u32,
    /// Width, height, and depth, layers or faces; 1 for a dimension that there is not.
    pub extent: [u32; 3],
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// Bytes from a layer to the next.
    pub layer: u64,
}

impl Image {
    /// The size of an element.
    pub fn element_bytes(&self) -> u32 {
        self.channel.bytes() * self.channels
    }

    /// The address of an element, which there is.
    pub(crate) fn element(&self, [x, y, z]: [u32; 3]) -> u64 {
        let x = u64::from(x) * u64::from(self.element_bytes());
        self.address + u64::from(z) * self.layer + u64::from(y) * self.pitch + x
    }
}

/// The element that a coordinate outside the extent means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// As if the elements were repeated. Of normalised coordinates only.
    Wrap,
    /// The one at the edge.
    #[default]
    Clamp,
    /// As if every second repetition were reversed. Of normalised coordinates only.
    Mirror,
    /// The border's colour.
    Border,
}

/// How a texture is sampled.
///
/// ```
/// use ptx_emu::{AddressMode, Sampler};
/// let smooth = Sampler { is_linear: true, is_normalized: true, ..Sampler::default() };
/// assert_eq!(smooth.modes, [AddressMode::Clamp; 3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// For each dimension, the elements outside.
    pub modes: [AddressMode; 3],
    /// Fetches interpolate between the nearest elements, with weights of 8 bits.
    pub is_linear: bool,
    /// Coordinates go from 0 to 1.
    pub is_normalized: bool,
    /// Integers of 8 and 16 bits stay such; otherwise they are read as parts of their greatest.
    pub keeps_integers: bool,
    /// Red, green and blue of elements of 8 bits are converted from sRGB.
    pub is_srgb: bool,
    /// The colour outside, for [`AddressMode::Border`].
    pub border: [f32; 4],
    /// Of mipmaps: fetches interpolate between two levels.
    pub is_linear_between_levels: bool,
    /// Of mipmaps: it is added to the level that a fetch names.
    pub level_bias: f32,
    /// Of mipmaps: the least and the greatest level of a fetch.
    pub levels: [f32; 2],
}

/// A texture or a surface: a kernel names it by a number of 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// The levels of a mipmap; without one, a single level.
    pub(crate) levels: Box<[Image]>,
    /// None of a surface.
    pub(crate) sampler: Option<Sampler>,
}

impl Object {
    /// The first level.
    pub(crate) fn image(&self) -> &Image {
        &self.levels[0]
    }
}

/// All objects.
#[derive(Debug, Default)]
pub(crate) struct Images {
    objects: BTreeMap<u64, Object>,
    /// What references are bound to, by the address of their variable.
    bound: BTreeMap<u64, Object>,
    destroyed: BTreeSet<u64>,
    made: u64,
}

impl Images {
    /// The numbers of objects begin above it: numbers that are small by mistake are none.
    const BASE: u64 = 0x1000;

    pub(crate) fn add(&mut self, object: Object) -> u64 {
        self.made += 1;
        let number = Self::BASE + self.made;
        self.objects.insert(number, object);
        number
    }

    /// False if there is no such object.
    pub(crate) fn remove(&mut self, number: u64, is_texture: bool) -> bool {
        match self.objects.get(&number) {
            Some(object) if object.sampler.is_some() == is_texture => {}
            _ => return false,
        }
        self.objects.remove(&number);
        self.destroyed.insert(number)
    }

    /// The object of a number, or of the reference at this address.
    pub(crate) fn get(&self, number: u64) -> Option<&Object> {
        let object = self.objects.get(&number);
        object.or_else(|| self.bound.get(&number))
    }

    /// Binds the reference at this address to an object, or to none.
    pub(crate) fn bind(&mut self, reference: u64, object: Option<Object>) {
        match object {
            Some(object) => self.bound.insert(reference, object),
            None => self.bound.remove(&reference),
        };
    }

    pub(crate) fn was_destroyed(&self, number: u64) -> bool {
        self.destroyed.contains(&number)
    }
}
