//! The names of the series, each behind a sample of it, in as many rows as they need.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::series::{FOREGROUND, Mark, Series, Shape};
use crate::escape;

/// Height of a row.
const ROW: i32 = 22;

/// A legend above a plot.
pub struct Legend<'p> {
    entries: Vec<Entry<'p>>,
}

struct Entry<'p> {
    series: &'p Series,
    name: String,
    row: i32,
    left: i32,
}

impl<'p> Legend<'p> {
    /// The names of the series that have one, from `start` to `end`.
    pub fn new(series: &'p [Series], start: i32, end: i32) -> Legend<'p> {
        let (mut row, mut left) = (0, start);
        let mut entries = Vec::new();
        for one in series.iter().filter(|one| !one.name.is_empty()) {
            let name = escape::line(&one.name);
            // No letter is wider than 8 pixels on average.
            let width = 56 + 8 * name.chars().count() as i32;
            if left > start && left + width > end {
                (row, left) = (row + 1, start);
            }
            entries.push(Entry {
                series: one,
                name,
                row,
                left,
            });
            left += width;
        }
        Legend { entries }
    }

    /// Its height.
    pub fn height(&self) -> i32 {
        match self.entries.last() {
            None => 0,
            Some(last) => ROW * (last.row + 1) + 8,
        }
    }

    /// Draws it.
    pub fn draw(
        self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        for entry in self.entries {
            entry.draw(area)?;
        }
        Ok(())
    }
}

impl Entry<'_> {
    fn draw(
        self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let Entry {
            series, row, left, ..
        } = self;
        let colour = series.colour();
        let y = 8 + ROW / 2 + ROW * row;
        let line = |from: i32, to: i32| {
            PathElement::new([(left + from, y), (left + to, y)], colour.stroke_width(2))
        };
        match series.shape {
            Shape::Line | Shape::Curve => area.draw(&line(0, 28))?,
            Shape::Dashes | Shape::Dots => {
                let [dash, gap] = series.shape.dashes();
                for from in (0..28).step_by((dash + gap) as usize) {
                    area.draw(&line(from, from + dash))?;
                }
            }
            Shape::Bars => {
                let corners = [(left + 8, y - 6), (left + 20, y + 6)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
            Shape::Marks => {}
        }
        if matches!(series.shape, Shape::Line | Shape::Marks) {
            area.draw(&Mark {
                at: (left + 14, y),
                series: series.colour.unwrap_or(0),
                colour,
            })?;
        }
        let style = ("sans-serif", 14)
            .into_font()
            .color(&FOREGROUND)
            .pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(self.name, (left + 36, y), style))?;
        Ok(())
    }
}
