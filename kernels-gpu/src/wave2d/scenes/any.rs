//! The choice among scenes at run time.

use super::super::scene::{Domain, Region, Scene};
use super::{DoubleSlit, EllipticRoom, EmptyBox, ParabolicMirror, PointSource};

/// A scene chosen at run time, for kernels and programs that take its number or name.
#[derive(Clone, Copy, Debug)]
pub enum AnyScene {
    /// Scene 0.
    PointSource(PointSource),
    /// Scene 1.
    DoubleSlit(DoubleSlit),
    /// Scene 2.
    EllipticRoom(EllipticRoom),
    /// Scene 3.
    ParabolicMirror(ParabolicMirror),
    /// Scene 4.
    EmptyBox(EmptyBox),
}

impl AnyScene {
    /// The scenes' names, by number.
    pub const NAMES: [&'static str; 5] = [
        "point-source",
        "double-slit",
        "elliptic-room",
        "parabolic-mirror",
        "empty-box",
    ];

    /// Scene `number` of [`NAMES`](Self::NAMES) in `domain`; numbers beyond it give the last.
    #[inline(always)]
    pub fn new(number: u32, domain: Domain) -> Self {
        match number {
            0 => Self::PointSource(PointSource::new(domain)),
            1 => Self::DoubleSlit(DoubleSlit::new(domain)),
            2 => Self::EllipticRoom(EllipticRoom::new(domain)),
            3 => Self::ParabolicMirror(ParabolicMirror::new(domain)),
            _ => Self::EmptyBox(EmptyBox::new(domain)),
        }
    }
}

macro_rules! dispatch {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            Self::PointSource(scene) => scene.$method($($argument),*),
            Self::DoubleSlit(scene) => scene.$method($($argument),*),
            Self::EllipticRoom(scene) => scene.$method($($argument),*),
            Self::ParabolicMirror(scene) => scene.$method($($argument),*),
            Self::EmptyBox(scene) => scene.$method($($argument),*),
        }
    };
}

impl Scene for AnyScene {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        dispatch!(self.is_wall(x, y))
    }

    #[inline(always)]
    fn is_source(&self, x: u32, y: u32) -> bool {
        dispatch!(self.is_source(x, y))
    }

    #[inline(always)]
    fn source_value(&self, t: u32) -> f32 {
        dispatch!(self.source_value(t))
    }

    #[inline(always)]
    fn damping(&self, x: u32, y: u32) -> f32 {
        dispatch!(self.damping(x, y))
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        dispatch!(self.is_plain(region))
    }
}
