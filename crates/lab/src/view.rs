//! The parts of a case that are drawn and saved: `harness run`.

/// A case's field as files and pictures have it.
pub struct View {
    /// The points that files hold.
    pub lattice: Lattice,
    /// From one timestep to the next, in the problem's unit of time.
    pub timestep: f64,
    /// The slice that a film shows, if there is one.
    pub slice: Option<Slice>,
    /// The line that receivers record, if there is one.
    pub line: Option<Line>,
}

/// A regular grid of up to three dimensions, on which a buffer holds values.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// The buffer's name.
    pub name: &'static str,
    /// The element of the first point.
    pub first: usize,
    /// Points along x, y, z, and how many elements of the buffer lie from one to the next.
    pub axes: [(u32, usize); 3],
    /// Where the first point is.
    pub origin: [f64; 3],
    /// From point to point.
    pub spacing: [f64; 3],
}

impl Lattice {
    /// The grid of the buffer `name`, with points as a case's `axes` has them: named in
    /// alphabetical order along x, y, z.
    pub fn new(
        name: &'static str,
        points: Vec<(&'static str, u64)>,
        origin: f64,
        spacing: f64,
    ) -> Lattice {
        let mut stride = 1;
        let mut named = Vec::new();
        for (axis, count) in points {
            named.push((axis, (count as u32, stride)));
            stride *= count as usize;
        }
        named.sort_unstable();
        let mut axes = [(1, stride); 3];
        for (axis, (_, count)) in axes.iter_mut().zip(named) {
            *axis = count;
        }
        Lattice {
            name,
            first: 0,
            axes,
            origin: [origin; 3],
            spacing: [spacing; 3],
        }
    }
}

/// A plane of points of the lattice's buffer, of `f32`.
pub struct Slice {
    /// The element of its first point.
    pub first: usize,
    /// Points from left to right, and elements from one to the next.
    pub across: (u32, usize),
    /// Points from top to bottom, and elements from one to the next.
    pub down: (u32, usize),
    /// Whether the point in this column and row is a wall, which is drawn as one.
    pub is_wall: Box<dyn Fn(u32, u32) -> bool + Send + Sync>,
}

/// A line of points of the lattice's buffer, of `f32`, at one of several depths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The element of its first point, at depth 0.
    pub first: u32,
    /// Elements from one to the next.
    pub stride: u32,
    /// How many there are, at least 1.
    pub len: u32,
    /// The kernel that gathers such a line: its arguments are the buffer, `first`, `stride`, where
    /// the values go, and `len`; it has a thread for each of them.
    pub gather: &'static str,
    /// Depths, and elements from one to the next.
    pub depths: (u32, u32),
    /// The depth if none is given.
    pub depth: u32,
}
