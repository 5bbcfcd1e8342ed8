//! One output, expected beside got, cell by cell.

use device::check::{Tolerance, Value, find, for_each_wrong};
use device::{Element, HostBuffer, NamedBuffers};

use super::finding::{Axis, Cell, FieldDamage, WrongCell};

/// One output, compared in full.
#[derive(Debug)]
pub struct Field<'b> {
    pub name: &'b str,
    /// The fastest-varying axis first.
    pub axes: Vec<Axis>,
    pub expected: &'b HostBuffer,
    pub got: &'b HostBuffer,
    /// Its content before the run, where that is known.
    pub before: Option<&'b HostBuffer>,
    /// For every cell whether it is wrong.
    pub is_wrong: Vec<bool>,
    pub wrong: usize,
}

impl<'b> Field<'b> {
    /// Compares; `None` if the two are not of the same type and size.
    ///
    /// Axes whose extents do not multiply to the number of cells are those of another field: the
    /// cells are then a line.
    pub fn compare(
        name: &'b str,
        axes: Vec<Axis>,
        expected: &'b HostBuffer,
        got: &'b HostBuffer,
        tolerance: Option<Tolerance>,
    ) -> Option<Field<'b>> {
        if (expected.element(), expected.len()) != (got.element(), got.len()) {
            return None;
        }
        let len = expected.len();
        let cells: u128 = axes.iter().map(|axis| u128::from(axis.extent)).product();
        let axes = if (1..=3).contains(&axes.len()) && cells == len as u128 {
            axes
        } else {
            vec![Axis {
                name: "index".to_owned(),
                extent: len as u64,
            }]
        };
        let (mut is_wrong, mut wrong) = (vec![false; len], 0);
        for_each_wrong(expected, got, tolerance, |index| {
            is_wrong[index] = true;
            wrong += 1;
        });
        Some(Field {
            name,
            axes,
            expected,
            got,
            before: None,
            is_wrong,
            wrong,
        })
    }

    /// With its content before the run.
    pub fn with_before(mut self, before: Option<&'b HostBuffer>) -> Field<'b> {
        let is_like = |buffer: &&HostBuffer| {
            (buffer.element(), buffer.len()) == (self.got.element(), self.got.len())
        };
        self.before = before.filter(is_like);
        self
    }

    pub fn len(&self) -> usize {
        self.is_wrong.len()
    }

    /// The right value of a cell.
    pub fn expected_at(&self, index: usize) -> Value {
        Value::at(self.expected, index)
    }

    /// The value of a cell.
    pub fn got_at(&self, index: usize) -> Value {
        Value::at(self.got, index)
    }

    /// How far a cell is from what it should hold; NaN or infinite if it holds such a value.
    pub fn error(&self, index: usize) -> f64 {
        (self.got_at(index).to_f64() - self.expected_at(index).to_f64()).abs()
    }

    /// The positions of the wrong cells, ascending.
    pub fn wrong_cells(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&index| self.is_wrong[index])
    }

    /// Whether a cell holds the bits from before the run.
    pub fn is_unwritten(&self, index: usize) -> bool {
        let before = self.before.map(|before| Value::at(before, index).bits());
        before == Some(self.got_at(index).bits())
    }

    /// How many of the cells that were written are NaN or infinite.
    pub fn non_finite(&self) -> usize {
        let counts = |index: &usize| !self.got_at(*index).is_finite() && !self.is_unwritten(*index);
        self.wrong_cells().filter(counts).count()
    }

    /// The greatest difference of wrong cells that are finite.
    pub fn max_error(&self) -> Option<f64> {
        let errors = self.wrong_cells().map(|index| self.error(index));
        errors.filter(|error| error.is_finite()).reduce(f64::max)
    }

    /// The greatest distance of wrong cells in units in the last place; `None` for integers.
    pub fn max_ulp(&self) -> Option<u64> {
        let distance = |index| self.expected_at(index).ulp_distance(self.got_at(index));
        self.wrong_cells().filter_map(distance).max()
    }

    /// The greatest magnitude that is expected and finite.
    pub fn scale(&self) -> f64 {
        let magnitudes = (0..self.len()).map(|index| self.expected_at(index).to_f64().abs());
        magnitudes
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max)
    }

    /// Bits of the type's mantissa, the leading one included; `None` for integers.
    pub fn mantissa_bits(&self) -> Option<u32> {
        match self.got.element() {
            Element::F32 => Some(f32::MANTISSA_DIGITS),
            Element::F64 => Some(f64::MANTISSA_DIGITS),
            _ => None,
        }
    }

    /// Extents, the fastest-varying first; axes that the field does not have are 1 long.
    pub fn extents(&self) -> [usize; 3] {
        let mut extents = [1; 3];
        for (extent, axis) in extents.iter_mut().zip(&self.axes) {
            *extent = axis.extent as usize;
        }
        extents
    }

    /// The coordinates of a cell.
    pub fn place(&self, index: usize) -> [usize; 3] {
        let [n_x, n_y, _] = self.extents();
        [index % n_x, index / n_x % n_y, index / n_x / n_y]
    }

    /// The coordinates of every wrong cell.
    pub fn wrong_places(&self) -> impl Iterator<Item = [usize; 3]> {
        self.wrong_cells().map(|index| self.place(index))
    }

    /// Wrong cells among all, as data.
    pub fn damage(&self) -> FieldDamage {
        FieldDamage {
            name: self.name.to_owned(),
            wrong: self.wrong as u64,
            non_finite: self.non_finite() as u64,
            cells: self.len() as u64,
        }
    }

    /// Its first wrong cell.
    pub fn first_wrong(&self) -> Option<WrongCell> {
        let index = self.wrong_cells().next()?;
        let coordinates = self.axes.iter().zip(self.place(index));
        let mut place: Vec<String> = coordinates
            .map(|(axis, at)| format!("{} = {at}", axis.name))
            .collect();
        // x before y and i before j, in either storage order.
        place.sort_unstable();
        let digits = 2 * self.got.element().size();
        let describe = |value: Value| Cell {
            decimal: value.decimal(),
            bits: format!("0x{:0digits$x}", value.bits()),
        };
        Some(WrongCell {
            index: index as u64,
            place: place.join(", "),
            expected: describe(self.expected_at(index)),
            got: describe(self.got_at(index)),
        })
    }
}

/// The share of all outputs' cells that are wrong; `None` if the outputs cannot be compared.
pub fn wrong_share(
    expected: &NamedBuffers,
    got: &NamedBuffers,
    tolerance: &dyn Fn(&str) -> Option<Tolerance>,
) -> Option<f64> {
    let (mut wrong, mut cells) = (0, 0);
    for (name, right) in expected {
        let field = Field::compare(name, vec![], right, find(got, name)?, tolerance(name))?;
        wrong += field.wrong;
        cells += field.len();
    }
    Some(wrong as f64 / cells.max(1) as f64)
}
