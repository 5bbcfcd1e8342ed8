//! The series of a plot, and the colours and marks that tell them apart.
//!
//! A plot is drawn in fixed colours, each a stand-in for one of the page's. In the end the name of
//! the style sheet's variable replaces it: one drawing thus serves the light and the dark page.
//! Each series also has its own mark, so that colours are not needed to distinguish them.

use std::iter::{Once, once};

use plotters::element::{Drawable, PointCollection};
use plotters::style::{Color, RGBColor};
use plotters_backend::{BackendCoord, DrawingBackend, DrawingErrorKind};

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A line through its points, which are marked.
    Line,
    /// A line without marks, for many points or limits.
    Curve,
    /// A dashed line without marks.
    Dashes,
    /// A dotted line without marks.
    Dots,
    /// Marks alone.
    Marks,
    /// Bars of width 1 around whole numbers.
    Bars,
}

/// A series of points.
#[derive(Debug, Clone)]
pub struct Series {
    /// For the legend; no entry if empty.
    pub name: String,
    /// Horizontal and vertical.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub shape: Shape,
    /// The number of one of the page's colours and marks; `None` for the colour of secondary text.
    pub colour: Option<usize>,
}

impl Series {
    /// The colour that it is drawn in.
    pub(super) fn colour(&self) -> RGBColor {
        self.colour.map_or(MUTED, of_series)
    }
}

impl Shape {
    /// Lengths of a dash and of the gap after it, for a dashed or dotted line.
    pub(super) fn dashes(self) -> [i32; 2] {
        match self {
            Shape::Dots => [2, 5],
            _ => [4, 4],
        }
    }
}

/// The colour of text.
pub(super) const FOREGROUND: RGBColor = RGBColor(0x01, 0x00, 0x01);
/// The colour of the lines behind the plot.
pub(super) const GRID: RGBColor = RGBColor(0xdf, 0xe3, 0x01);
/// The colour of axes, limits and secondary text.
pub(super) const MUTED: RGBColor = RGBColor(0x5d, 0x66, 0x01);

/// The number of colours for series.
const SERIES: u8 = 8;

/// The colour of a series: the stand-in for the style sheet's variable `--sN`.
const fn of_series(index: usize) -> RGBColor {
    RGBColor(0x12, 0x34, (index % SERIES as usize) as u8)
}

/// Replaces the stand-ins.
pub(super) fn in_page(svg: &str) -> String {
    let named = [(FOREGROUND, "--fg"), (GRID, "--grid"), (MUTED, "--muted")]
        .map(|(colour, variable)| (colour, variable.to_owned()));
    let series = (0..SERIES).map(|index| (of_series(index.into()), format!("--s{index}")));
    let mut text = svg.to_owned();
    for (RGBColor(r, g, b), variable) in named.into_iter().chain(series) {
        text = text.replace(
            &format!("#{r:02X}{g:02X}{b:02X}"),
            &format!("var({variable})"),
        );
    }
    text
}

/// The mark of a point.
pub(super) struct Mark<C> {
    /// Where it is.
    pub at: C,
    /// The number of its series: each of eight has its own shape.
    pub series: usize,
    /// The series' colour.
    pub colour: RGBColor,
}

impl<'m, C> PointCollection<'m, C> for &'m Mark<C> {
    type Point = &'m C;
    type IntoIter = Once<&'m C>;

    fn point_iter(self) -> Once<&'m C> {
        once(&self.at)
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Mark<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut at: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let Some((x, y)) = at.next() else {
            return Ok(());
        };
        let (filled, stroke) = (self.colour.filled(), self.colour.stroke_width(2));
        let polygon = |on: &mut DB, corners: &[(i32, i32)]| {
            let corners = corners.iter().map(|(dx, dy)| (x + dx, y + dy));
            on.fill_polygon(corners, &filled)
        };
        let lines = |on: &mut DB, ends: [(i32, i32); 2]| {
            ends.into_iter()
                .try_for_each(|(dx, dy)| on.draw_line((x - dx, y - dy), (x + dx, y + dy), &stroke))
        };
        match self.series % 8 {
            0 => backend.draw_circle((x, y), 4, &filled, true),
            1 => polygon(backend, &[(0, -6), (5, 4), (-5, 4)]),
            2 => lines(backend, [(4, 4), (4, -4)]),
            3 => polygon(backend, &[(-4, -4), (4, -4), (4, 4), (-4, 4)]),
            4 => polygon(backend, &[(0, -6), (6, 0), (0, 6), (-6, 0)]),
            5 => lines(backend, [(5, 0), (0, 5)]),
            6 => polygon(backend, &[(0, 6), (5, -4), (-5, -4)]),
            _ => backend.draw_circle((x, y), 4, &stroke, false),
        }
    }
}
