//! Standing waves.

use super::super::scene::{Domain, Region, Scene};

/// Nothing but the border: a closed, lossless box, in which standing waves last for ever.
#[derive(Clone, Copy, Debug)]
pub struct EmptyBox {
    domain: Domain,
}

impl EmptyBox {
    /// The scene in `domain`.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }
}

impl Scene for EmptyBox {
    #[inline(always)]
    fn is_wall(&self, _: u32, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn is_source(&self, _: u32, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn source_value(&self, _: u32) -> f32 {
        0.0
    }

    #[inline(always)]
    fn damping(&self, _: u32, _: u32) -> f32 {
        0.0
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        self.domain.is_inside(region)
    }
}
