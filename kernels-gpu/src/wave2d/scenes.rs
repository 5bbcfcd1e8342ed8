//! The scenes of the course, and [`AnyScene`] to choose among them.
//!
//! A new scene is a type here and a variant of [`AnyScene`].

use super::scene::{Domain, Region, Scene};
use crate::real::sine;

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

/// One oscillating cell in the middle of an open domain: circular waves.
#[derive(Clone, Copy, Debug)]
pub struct PointSource {
    domain: Domain,
}

impl PointSource {
    /// The scene in `domain`.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    #[inline(always)]
    fn source(&self) -> (u32, u32) {
        (self.domain.n_x / 2, self.domain.n_y / 2)
    }
}

impl Scene for PointSource {
    #[inline(always)]
    fn is_wall(&self, _: u32, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn is_source(&self, x: u32, y: u32) -> bool {
        (x, y) == self.source()
    }

    #[inline(always)]
    fn source_value(&self, t: u32) -> f32 {
        oscillation(t)
    }

    #[inline(always)]
    fn damping(&self, x: u32, y: u32) -> f32 {
        self.domain.sponge(x, y)
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        self.domain.is_undamped(region) && !region.meets(Region::cell(self.source()))
    }
}

/// A plane wave from the left meets a wall with two slits: interference fringes behind it.
#[derive(Clone, Copy, Debug)]
pub struct DoubleSlit {
    domain: Domain,
}

impl DoubleSlit {
    /// The scene in `domain`.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The column of source cells: just inside the damping layer.
    #[inline(always)]
    fn source_x(&self) -> u32 {
        self.domain.sponge_width() + 1
    }

    /// The wall's first and end column: three eighths in, so that the fringes have room behind it.
    #[inline(always)]
    fn wall(&self) -> (u32, u32) {
        let first = self.domain.n_x / 4;
        (first, first + 1 + self.domain.n_x / 128)
    }

    /// Whether a slit is at `y`: each of the two has n_y / 24 cells, and they are n_y / 6 apart
    /// from centre to centre.
    #[inline(always)]
    fn is_open(&self, y: u32) -> bool {
        let from_middle = y.abs_diff(self.domain.n_y / 2);
        let (centre, half_width) = (self.domain.n_y / 12, self.domain.n_y / 48);
        from_middle.abs_diff(centre) <= half_width
    }
}

impl Scene for DoubleSlit {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        let (first, end) = self.wall();
        first <= x && x < end && !self.is_open(y)
    }

    #[inline(always)]
    fn is_source(&self, x: u32, _: u32) -> bool {
        x == self.source_x()
    }

    #[inline(always)]
    fn source_value(&self, t: u32) -> f32 {
        oscillation(t)
    }

    #[inline(always)]
    fn damping(&self, x: u32, y: u32) -> f32 {
        self.domain.sponge(x, y)
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        let column = |x_first, x_end| Region {
            x_first,
            x_end,
            ..region
        };
        let (first, end) = self.wall();
        let source_x = self.source_x();
        self.domain.is_undamped(region)
            && !region.meets(column(first, end))
            && !region.meets(column(source_x, source_x + 1))
    }
}

/// An elliptic room with hard walls and a source in one focus: waves gather in the other.
#[derive(Clone, Copy, Debug)]
pub struct EllipticRoom {
    domain: Domain,
}

impl EllipticRoom {
    /// The semi-axes are 31/64 of the domain's sides. For sides in the ratio a : b the foci lie at
    /// sqrt(a^2 - b^2) from the centre; the source is placed as for a : b = 5 : 4, at 3/5 a. A
    /// domain of other proportions shows a source off focus.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    #[inline(always)]
    fn source(&self) -> (u32, u32) {
        let middle = self.domain.n_x / 2;
        // 3/5 * 31/64 = 93/320; in two steps, so that no size overflows.
        let offset = self.domain.n_x / 320 * 93 + self.domain.n_x % 320 * 93 / 320;
        (middle - offset, self.domain.n_y / 2)
    }

    /// ((x - x_middle) / a)^2 + ((y - y_middle) / b)^2, 1 on the wall.
    #[inline(always)]
    fn radius_squared(&self, x: u32, y: u32) -> f32 {
        let along = |position: u32, n: u32| {
            let from_middle = position.abs_diff(n / 2) as f32;
            from_middle / (n as f32 * (31.0 / 64.0))
        };
        let (a, b) = (along(x, self.domain.n_x), along(y, self.domain.n_y));
        a * a + b * b
    }
}

impl Scene for EllipticRoom {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        self.radius_squared(x, y) >= 1.0
    }

    #[inline(always)]
    fn is_source(&self, x: u32, y: u32) -> bool {
        (x, y) == self.source()
    }

    #[inline(always)]
    fn source_value(&self, t: u32) -> f32 {
        oscillation(t)
    }

    #[inline(always)]
    fn damping(&self, _: u32, _: u32) -> f32 {
        0.0
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        // An ellipse is convex: a rectangle is inside if its corners are. 0.999 leaves room for the
        // rounding of `radius_squared`, which need not be monotonic to the last bit.
        let inside = |x, y| self.radius_squared(x, y) < 0.999;
        let Region {
            x_first,
            x_end,
            y_first,
            y_end,
        } = region;
        let within =
            x_first >= 1 && y_first >= 1 && x_end < self.domain.n_x && y_end < self.domain.n_y;
        within
            && inside(x_first, y_first)
            && inside(x_first, y_end - 1)
            && inside(x_end - 1, y_first)
            && inside(x_end - 1, y_end - 1)
            && !region.meets(Region::cell(self.source()))
    }
}

/// A parabolic mirror with a source in its focus: circular waves go in, plane waves come out.
#[derive(Clone, Copy, Debug)]
pub struct ParabolicMirror {
    domain: Domain,
}

impl ParabolicMirror {
    /// The scene in `domain`; the mirror opens to the right.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The vertex's x and the focal length, in cells.
    #[inline(always)]
    fn shape(&self) -> (u32, u32) {
        (self.domain.n_x / 8, self.domain.n_y / 8)
    }

    /// The mirror's half height.
    #[inline(always)]
    fn half_height(&self) -> u32 {
        self.domain.n_y / 3
    }
}

impl Scene for ParabolicMirror {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        let from_axis = y.abs_diff(self.domain.n_y / 2);
        let (vertex, focal_length) = self.shape();
        if from_axis > self.half_height() || focal_length == 0 || x < vertex {
            return false;
        }
        // Two cells thick along x plus the slope, so that no wave slips between two rows.
        // x - vertex = from_axis^2 / (4 focal length), in f32: a square may exceed 32 bits.
        let from_axis = from_axis as f32;
        let four_focal = 4.0 * focal_length as f32;
        let surface = from_axis * from_axis / four_focal;
        let slope = 2.0 * from_axis / four_focal;
        let behind = surface - (x - vertex) as f32;
        0.0 <= behind && behind <= 2.0 + slope
    }

    #[inline(always)]
    fn is_source(&self, x: u32, y: u32) -> bool {
        let (vertex, focal_length) = self.shape();
        (x, y) == (vertex + focal_length, self.domain.n_y / 2)
    }

    #[inline(always)]
    fn source_value(&self, t: u32) -> f32 {
        oscillation(t)
    }

    #[inline(always)]
    fn damping(&self, x: u32, y: u32) -> f32 {
        self.domain.sponge(x, y)
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        // The domain right of the mirror's rim is empty, and the source is left of it.
        let (vertex, focal_length) = self.shape();
        let half_height = self.half_height() as f32;
        let rim = half_height * half_height / (4.0 * focal_length as f32);
        let rim = (vertex as f32 + rim) as u32;
        let right = rim.max(vertex + focal_length).saturating_add(2);
        self.domain.is_undamped(region) && focal_length > 0 && region.x_first > right
    }
}

/// Only the border: a closed, lossless box, in which standing waves never decay.
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

// The oscillation of sources. The wavelength is about 20 cells at k = 1/4, where c = 1/2 cell per
// step and the period is 40 steps. The amplitude rises over the first two periods: a sharp front
// would excite the grid's shortest waves.

/// The phase per step for a period of 40 steps, as a fraction of 2^32.
const PHASE_PER_STEP: u32 = (1_u64 << 32).div_euclid(40) as u32;
/// Two periods.
const RISE_STEPS: u32 = 80;

/// The value of a source at timestep `t`.
#[inline(always)]
fn oscillation(t: u32) -> f32 {
    let value = sine(t.wrapping_mul(PHASE_PER_STEP));
    if t < RISE_STEPS {
        value * (t as f32 * (1.0 / RISE_STEPS as f32))
    } else {
        value
    }
}
