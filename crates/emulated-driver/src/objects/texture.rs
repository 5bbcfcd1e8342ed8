//! Textures and surfaces, as `cuda.h` describes them.

use std::ffi::{c_float, c_int, c_uint};

use ptx_emu::{AddressMode, Channel, Image, ImageKind, Sampler};

use super::Handle;
use super::memory::{Array, CUBEMAP, Descriptor, LAYERED};
use crate::code::{Code, Outcome};

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Resource {
    kind: c_uint,
    /// A union: an array; or address, format and channels, bytes; or these, with width, height and
    /// pitch for the bytes.
    words: [u64; 16],
    flags: c_uint,
}

const _: () = assert!(size_of::<Resource>() == 144);

/// The kinds of `CUresourcetype`.
const ARRAY: c_uint = 0;
const MIPMAP: c_uint = 1;
const LINEAR: c_uint = 2;
const PITCHED: c_uint = 3;

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct TextureDescriptor {
    pub(super) modes: [c_uint; 3],
    pub(crate) filter: c_uint,
    pub(crate) flags: c_uint,
    pub(crate) max_anisotropy: c_uint,
    pub(crate) mipmap_filter: c_uint,
    pub(crate) mipmap_bias: c_float,
    pub(crate) mipmap_levels: [c_float; 2],
    pub(crate) border: [c_float; 4],
    reserved: [c_int; 12],
}

impl Default for TextureDescriptor {
    /// By points, clamped.
    fn default() -> Self {
        const CLAMP: c_uint = 1;
        Self {
            modes: [CLAMP; 3],
            filter: 0,
            flags: 0,
            max_anisotropy: 0,
            mipmap_filter: 0,
            mipmap_bias: 0.0,
            mipmap_levels: [0.0; 2],
            border: [0.0; 4],
            reserved: [0; 12],
        }
    }
}

const _: () = assert!(size_of::<TextureDescriptor>() == 104);

/// A texture or a surface as it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) resource: Resource,
    /// None of a surface.
    pub(crate) sampling: Option<TextureDescriptor>,
    pub(crate) view: Option<View>,
}

/// `CUDA_RESOURCE_VIEW_DESC`: a part of an array, perhaps with elements of another format.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct View {
    /// `CUresourceViewFormat`.
    format: c_uint,
    extent: [usize; 3],
    levels: [c_uint; 2],
    layers: [c_uint; 2],
    reserved: [c_uint; 16],
}

const _: () = assert!(size_of::<View>() == 112);

impl View {
    /// The channel and their number; none where the array's stay.
    fn elements(&self) -> Outcome<Option<(Channel, u32)>> {
        const CHANNELS: [Channel; 8] = [
            Channel::U8,
            Channel::S8,
            Channel::U16,
            Channel::S16,
            Channel::U32,
            Channel::S32,
            Channel::F16,
            Channel::F32,
        ];
        // Three formats of each: with 1, 2 and 4 channels.
        let Some(number) = self.format.checked_sub(1) else {
            return Ok(None);
        };
        let channel = CHANNELS.get(number as usize / 3);
        // Behind them are blocks of compressed elements.
        let channel = channel.ok_or(Code::NOT_SUPPORTED)?;
        Ok(Some((*channel, 1 << (number % 3))))
    }

    /// The levels of a texture that are seen, each with what is seen of it.
    ///
    /// # Errors
    ///
    /// Of a part that is not there, of an extent that is not the first level's, and of elements
    /// that have another size (CUDA driver API, "Texture Object Management").
    pub(crate) fn of(&self, all: &[Image]) -> Outcome<Box<[Image]>> {
        let [first, last] = self.levels.map(|level| level as usize);
        let seen = all.get(first..=last).ok_or(Code::INVALID_VALUE)?;
        let whole = seen.first().ok_or(Code::INVALID_VALUE)?;
        let is_flat = matches!(whole.kind, ImageKind::Layered | ImageKind::Cube);
        let dimensions = if is_flat { 2 } else { 3 };
        let named = extent(self.extent)?;
        if named[..dimensions] != whole.extent[..dimensions] {
            return Err(Code::INVALID_VALUE);
        }
        let elements = self.elements()?;
        let [from, to] = self.layers;
        let is_part = from <= to && (to < whole.extent[2] || to == 0);
        if !is_part || (!is_flat && (from, to) != (0, 0)) {
            return Err(Code::INVALID_VALUE);
        }
        let view = |image: &Image| {
            let mut part = *image;
            if let Some((channel, channels)) = elements {
                (part.channel, part.channels) = (channel, channels);
            }
            if part.element_bytes() != image.element_bytes() {
                return Err(Code::INVALID_VALUE);
            }
            if is_flat {
                part.address += u64::from(from) * image.layer;
                part.extent[2] = to - from + 1;
            }
            Ok(part)
        };
        seen.iter().map(view).collect()
    }
}

/// A channel by `CUarray_format`.
fn channel(format: c_uint) -> Outcome<Channel> {
    Ok(match format {
        0x01 => Channel::U8,
        0x02 => Channel::U16,
        0x03 => Channel::U32,
        0x08 => Channel::S8,
        0x09 => Channel::S16,
        0x0a => Channel::S32,
        0x10 => Channel::F16,
        0x20 => Channel::F32,
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// Extents have 32 bits.
fn extent(of: [usize; 3]) -> Outcome<[u32; 3]> {
    let [x, y, z] = of.map(|one| u32::try_from(one.max(1)).map_err(|_| Code::INVALID_VALUE));
    Ok([x?, y?, z?])
}

impl Array {
    /// Its elements.
    pub(crate) fn image(&self) -> Outcome<Image> {
        let Descriptor {
            width,
            height,
            depth,
            format,
            channels,
            flags,
        } = self.descriptor;
        Ok(Image {
            address: self.address,
            kind: if flags & CUBEMAP != 0 {
                ImageKind::Cube
            } else if flags & LAYERED != 0 {
                ImageKind::Layered
            } else {
                ImageKind::Plain
            },
            channel: channel(format)?,
            channels,
            extent: extent([width, height, depth])?,
            pitch: self.pitch as u64,
            layer: (self.pitch * self.rows) as u64,
        })
    }
}

impl Resource {
    fn new(kind: c_uint, first: &[u64]) -> Self {
        let mut words = [0; 16];
        words[..first.len()].copy_from_slice(first);
        let flags = 0;
        Self { kind, words, flags }
    }

    pub(crate) fn of_array(array: Handle) -> Self {
        Self::new(ARRAY, &[array as u64])
    }

    pub(crate) fn of_mipmap(mipmap: Handle) -> Self {
        Self::new(MIPMAP, &[mipmap as u64])
    }

    /// A row of elements, whose format has its channels behind it.
    pub(crate) fn linear(address: u64, format: (c_uint, c_uint), bytes: usize) -> Self {
        Self::new(LINEAR, &[address, 0, bytes as u64]).of_format(format)
    }

    /// Rows of elements: width, height, and bytes from a row to the next.
    pub(crate) fn pitched(address: u64, format: (c_uint, c_uint), of: [usize; 3]) -> Self {
        let [width, height, pitch] = of.map(|one| one as u64);
        Self::new(PITCHED, &[address, 0, width, height, pitch]).of_format(format)
    }

    /// The same memory with elements of another format; an array's stay as they are.
    pub(crate) fn of_format(mut self, (format, channels): (c_uint, c_uint)) -> Self {
        if self.address().is_some() {
            self.words[1] = u64::from(channels) << 32 | u64::from(format);
        }
        self
    }

    /// The address of memory outside of arrays.
    pub(crate) fn address(&self) -> Option<u64> {
        matches!(self.kind, LINEAR | PITCHED).then_some(self.words[0])
    }

    /// The array that it names, if it names one.
    pub(crate) fn array(&self) -> Option<Handle> {
        (self.kind == ARRAY).then_some(self.words[0] as Handle)
    }

    /// The mipmapped array that it names, if it names one.
    pub(crate) fn mipmap(&self) -> Option<Handle> {
        (self.kind == MIPMAP).then_some(self.words[0] as Handle)
    }

    /// The elements that it names. `array` is that of its handle.
    pub(crate) fn image(&self, array: Option<Array>) -> Outcome<Image> {
        if self.kind == ARRAY {
            return array.ok_or(Code::INVALID_HANDLE)?.image();
        }
        let [address, format, ..] = self.words;
        let (channel, channels) = (channel(format as c_uint)?, (format >> 32) as u32);
        if !matches!(channels, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        let element = u64::from(channel.bytes() * channels);
        let (kind, of, pitch) = match self.kind {
            LINEAR => {
                let bytes = self.words[2];
                (ImageKind::Linear, [bytes / element, 1, 1], bytes)
            }
            PITCHED => {
                let [width, height, pitch] = [self.words[2], self.words[3], self.words[4]];
                let is_apart = width.checked_mul(element).is_some_and(|row| row <= pitch);
                if !is_apart || !pitch.is_multiple_of(element) {
                    return Err(Code::INVALID_VALUE);
                }
                (ImageKind::Plain, [width, height, 1], pitch)
            }
            _ => return Err(Code::NOT_SUPPORTED),
        };
        // A GPU wants multiples of `CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`, and its driver says so.
        if !address.is_multiple_of(element) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(Image {
            address,
            kind,
            channel,
            channels,
            extent: extent(of.map(|one| one as usize))?,
            pitch,
            layer: pitch.saturating_mul(of[1]),
        })
    }
}

impl TextureDescriptor {
    /// `CU_TRSF_READ_AS_INTEGER`, `CU_TRSF_NORMALIZED_COORDINATES`, `CU_TRSF_SRGB`.
    const READ_AS_INTEGER: c_uint = 1;
    const NORMALIZED: c_uint = 2;
    const SRGB: c_uint = 0x10;

    pub(crate) fn sampler(&self) -> Outcome<Sampler> {
        let mode = |mode| match mode {
            0 => Ok(AddressMode::Wrap),
            1 => Ok(AddressMode::Clamp),
            2 => Ok(AddressMode::Mirror),
            3 => Ok(AddressMode::Border),
            _ => Err(Code::INVALID_VALUE),
        };
        let [x, y, z] = self.modes.map(mode);
        if self.filter > 1 || self.mipmap_filter > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let has = |flag| self.flags & flag != 0;
        Ok(Sampler {
            modes: [x?, y?, z?],
            is_linear: self.filter == 1,
            is_normalized: has(Self::NORMALIZED),
            keeps_integers: has(Self::READ_AS_INTEGER),
            is_srgb: has(Self::SRGB),
            border: self.border,
            is_linear_between_levels: self.mipmap_filter == 1,
            level_bias: self.mipmap_bias,
            levels: self.mipmap_levels,
        })
    }
}
