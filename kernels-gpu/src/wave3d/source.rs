//! The point source.

/// The point source at one timestep.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its site's position in a field, or [`Source::NOWHERE`].
    pub index: u32,
    /// Its value w.
    pub value: f64,
}

impl Source {
    /// The index that no site has.
    pub const NOWHERE: u32 = u32::MAX;

    /// A source of this `value` at position `index`.
    #[inline(always)]
    pub fn new(index: u32, value: f64) -> Self {
        Self { index, value }
    }
}

/// The number of the source's values that a launch stores: parameters have 4 KB.
pub const VALUES: usize = 256;

/// The source's values at [`VALUES`] timesteps.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Values(pub [f64; VALUES]);
