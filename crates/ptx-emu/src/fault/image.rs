//! Accesses by texture and surface objects, and the rules that they break.

use std::fmt;

use super::quantity::Bytes;
use super::stray::Stray;

/// An access of a thread by a texture or surface object.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageAccess {
    /// The instruction as it is written.
    pub instruction: String,
    /// The object's number; of a reference, its variable's address.
    pub object: u64,
    /// The name of a reference, where the instruction has one.
    pub reference: Option<String>,
    /// The coordinates as the instruction has them, the layer's number first.
    pub coordinates: Vec<f64>,
}

// Coordinates may be NaN, and equal themselves all the same where faults are compared.
impl Eq for ImageAccess {}

impl fmt::Display for ImageAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = if self.instruction.starts_with("su") {
            "surface"
        } else {
            "texture"
        };
        write!(f, "`{}` of {object} ", self.instruction)?;
        match &self.reference {
            Some(name) => write!(f, "reference `{name}`")?,
            None => write!(f, "object {:#x}", self.object)?,
        }
        let mut separator = " at (";
        for coordinate in &self.coordinates {
            write!(f, "{separator}{coordinate}")?;
            separator = ", ";
        }
        f.write_str(if self.coordinates.is_empty() { "" } else { ")" })
    }
}

/// The rule that an access by an object breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageProblem {
    /// There is not such an object, and has not been.
    NeverMade,
    /// The object was destroyed.
    Destroyed,
    /// The reference is bound to nothing.
    Unbound,
    /// The object is of the other kind: a texture instead of a surface, or the reverse.
    OtherKind,
    /// Outside of a surface, with `.trap`.
    Outside {
        /// Bytes of a row, rows, and layers or faces.
        extent: [u64; 3],
        /// Bytes that the instruction accesses.
        bytes: u32,
    },
    /// Outside of a surface, with `.trap`, of an access that counts elements.
    OutsideElements {
        /// Elements of a row, rows, and layers or faces.
        extent: [u64; 3],
    },
    /// A surface's first coordinate, which counts bytes, that is not a multiple of the size.
    Misaligned {
        /// Bytes that the instruction accesses.
        bytes: u32,
    },
    /// The memory behind the object does not reach as far, or has been freed.
    Memory {
        /// Where the access goes.
        stray: Stray,
        /// How many bytes.
        bytes: u32,
    },
}

impl ImageProblem {
    /// A number that is not an object's has no defined result, and no GPU is known to report it.
    pub(super) fn is_unnoticed_by_a_gpu(&self) -> bool {
        matches!(
            self,
            Self::NeverMade | Self::Destroyed | Self::Unbound | Self::OtherKind
        )
    }

    /// A short name of the kind of fault.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::NeverMade | Self::Destroyed | Self::Unbound | Self::OtherKind => {
                "invalid texture or surface"
            }
            Self::Outside { .. } | Self::OutsideElements { .. } | Self::Memory { .. } => {
                "out of bounds"
            }
            Self::Misaligned { .. } => "misaligned access",
        }
    }
}

impl fmt::Display for ImageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverMade => f.write_str("no object of this number was ever made"),
            Self::Destroyed => f.write_str("the object has been destroyed"),
            Self::Unbound => f.write_str(
                "the program has bound neither memory nor an array to the reference: `cuTexRefSetAddress`, `cuTexRefSetArray` or `cuSurfRefSetArray` does",
            ),
            Self::OtherKind => {
                f.write_str("the object is of the other kind: textures are read by `tex`, surfaces by `suld` and `sust`")
            }
            Self::Outside { extent: [width, height, depth], bytes } => write!(
                f,
                "{} there are outside of the surface, which has {} per row, {height} rows and {depth} layers; the first coordinate counts bytes",
                Bytes((*bytes).into()), Bytes(*width)
            ),
            Self::OutsideElements { extent: [width, height, depth] } => write!(
                f,
                "the element there is outside of the surface, which has {width} elements per row, {height} rows and {depth} layers"
            ),
            Self::Misaligned { bytes } => write!(
                f,
                "the first coordinate, which counts bytes, is not a multiple of the {} that are accessed",
                Bytes((*bytes).into())
            ),
            Self::Memory { stray, bytes } => {
                write!(f, "{} {}", Bytes((*bytes).into()), stray.as_target(*bytes))
            }
        }
    }
}
