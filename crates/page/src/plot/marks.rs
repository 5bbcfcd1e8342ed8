//! The marks of points: a shape for each series, so that nobody needs colours to tell them apart.

use std::iter::{Once, once};

use plotters::element::{Drawable, PointCollection};
use plotters::style::{Color, RGBColor};
use plotters_backend::{BackendCoord, DrawingBackend, DrawingErrorKind};

/// The mark of a point.
pub struct Mark<C> {
    /// Where it is.
    pub at: C,
    /// Of which series: each of eight has its own shape.
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
        let polygon = |backend: &mut DB, corners: &[(i32, i32)]| {
            let corners = corners.iter().map(|(dx, dy)| (x + dx, y + dy));
            backend.fill_polygon(corners, &filled)
        };
        let lines = |backend: &mut DB, ends: [(i32, i32); 2]| {
            ends.into_iter().try_for_each(|(dx, dy)| {
                backend.draw_line((x - dx, y - dy), (x + dx, y + dy), &stroke)
            })
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
