//! One output, expected beside got, cell by cell.

use host::check::find;
use host::{Element, HostBuffer, NamedBuffers};

use super::evidence::Allowed;
use super::finding::{Axis, FieldDamage, Value, WrongCell};

/// A buffer of any type, read by index.
#[derive(Debug, Clone, Copy)]
pub enum Cells<'b> {
    F32(&'b [f32]),
    F64(&'b [f64]),
    U32(&'b [u32]),
    I32(&'b [i32]),
    U64(&'b [u64]),
    I64(&'b [i64]),
    U8(&'b [u8]),
}

impl<'b> Cells<'b> {
    pub fn of(buffer: &'b HostBuffer) -> Cells<'b> {
        const SAME: &str = "the buffer says that it has this type";
        match buffer.element() {
            Element::F32 => Cells::F32(buffer.as_slice().expect(SAME)),
            Element::F64 => Cells::F64(buffer.as_slice().expect(SAME)),
            Element::U32 => Cells::U32(buffer.as_slice().expect(SAME)),
            Element::I32 => Cells::I32(buffer.as_slice().expect(SAME)),
            Element::U64 => Cells::U64(buffer.as_slice().expect(SAME)),
            Element::I64 => Cells::I64(buffer.as_slice().expect(SAME)),
            Element::U8 => Cells::U8(buffer.as_slice().expect(SAME)),
        }
    }

    /// The value, rounded to `f64` where it has more digits.
    pub fn value(self, index: usize) -> f64 {
        match self {
            Cells::F32(cells) => cells[index].into(),
            Cells::F64(cells) => cells[index],
            Cells::U32(cells) => cells[index].into(),
            Cells::I32(cells) => cells[index].into(),
            Cells::U64(cells) => cells[index] as f64,
            Cells::I64(cells) => cells[index] as f64,
            Cells::U8(cells) => cells[index].into(),
        }
    }

    /// The bits, in the lower part.
    pub fn bits(self, index: usize) -> u64 {
        match self {
            Cells::F32(cells) => cells[index].to_bits().into(),
            Cells::F64(cells) => cells[index].to_bits(),
            Cells::U32(cells) => cells[index].into(),
            Cells::I32(cells) => (cells[index] as u32).into(),
            Cells::U64(cells) => cells[index],
            Cells::I64(cells) => cells[index] as u64,
            Cells::U8(cells) => cells[index].into(),
        }
    }

    /// Decimal and bits.
    pub fn describe(self, index: usize) -> Value {
        let decimal = match self {
            Cells::F32(cells) => format!("{:?}", cells[index]),
            Cells::F64(cells) => format!("{:?}", cells[index]),
            Cells::U32(cells) => cells[index].to_string(),
            Cells::I32(cells) => cells[index].to_string(),
            Cells::U64(cells) => cells[index].to_string(),
            Cells::I64(cells) => cells[index].to_string(),
            Cells::U8(cells) => cells[index].to_string(),
        };
        let bytes = match self {
            Cells::U8(_) => 1,
            Cells::F32(_) | Cells::U32(_) | Cells::I32(_) => 4,
            Cells::F64(_) | Cells::U64(_) | Cells::I64(_) => 8,
        };
        Value {
            decimal,
            bits: format!("0x{:0digits$x}", self.bits(index), digits = 2 * bytes),
        }
    }

    /// Bits of a mantissa without the leading one; `None` for integers.
    pub fn stored_mantissa_bits(self) -> Option<u32> {
        match self {
            Cells::F32(_) => Some(f32::MANTISSA_DIGITS - 1),
            Cells::F64(_) => Some(f64::MANTISSA_DIGITS - 1),
            _ => None,
        }
    }

    /// Steps from one number to the next that lie between two cells; `None` for integers and what is not finite.
    fn ulp_distance(self, index: usize, other: Cells<'_>, other_index: usize) -> Option<u64> {
        let mantissa = self.stored_mantissa_bits()?;
        if !(self.value(index).is_finite() && other.value(other_index).is_finite()) {
            return None;
        }
        let sign_bit = if mantissa == f32::MANTISSA_DIGITS - 1 {
            31
        } else {
            63
        };
        // Bit patterns of floats are ordered as the values are, but for the sign: negative values count down.
        let rank = |bits: u64| {
            let magnitude = i128::from(bits & !(1 << sign_bit));
            if bits >> sign_bit == 1 {
                -1 - magnitude
            } else {
                magnitude
            }
        };
        let (a, b) = (rank(self.bits(index)), rank(other.bits(other_index)));
        u64::try_from(a.abs_diff(b)).ok()
    }
}

/// One output, compared in full.
#[derive(Debug)]
pub struct Field<'b> {
    pub name: &'b str,
    /// The fastest-varying axis first.
    pub axes: Vec<Axis>,
    pub expected: Cells<'b>,
    pub got: Cells<'b>,
    /// For every cell whether it is wrong.
    pub is_wrong: Vec<bool>,
    pub wrong: usize,
    pub non_finite: usize,
    pub max_error: Option<f64>,
    pub max_ulp: Option<u64>,
    /// Greatest magnitude that is expected and finite.
    pub scale: f64,
}

impl<'b> Field<'b> {
    /// Compares; `None` if the two are not of the same type and size.
    ///
    /// Axes whose extents do not multiply to the number of cells are those of another field: the cells are then a line.
    pub fn compare(
        name: &'b str,
        axes: Vec<Axis>,
        expected: &'b HostBuffer,
        got: &'b HostBuffer,
        allowed: Allowed<'_>,
    ) -> Option<Field<'b>> {
        if (expected.element(), expected.len()) != (got.element(), got.len()) {
            return None;
        }
        let len = expected.len();
        let fits = (1..=3).contains(&axes.len())
            && axes
                .iter()
                .map(|axis| axis.extent as u128)
                .product::<u128>()
                == len as u128;
        let line = || {
            vec![Axis {
                name: "index".to_owned(),
                extent: len as u64,
            }]
        };
        let mut field = Field {
            name,
            axes: if fits { axes } else { line() },
            expected: Cells::of(expected),
            got: Cells::of(got),
            is_wrong: vec![false; len],
            wrong: 0,
            non_finite: 0,
            max_error: None,
            max_ulp: None,
            scale: 0.0,
        };
        for index in 0..len {
            field.look_at(index, allowed);
        }
        Some(field)
    }

    fn look_at(&mut self, index: usize, allowed: Allowed<'_>) {
        let (expected, got) = (self.expected.value(index), self.got.value(index));
        if expected.is_finite() {
            self.scale = self.scale.max(expected.abs());
        }
        if !got.is_finite() {
            self.non_finite += 1;
        }
        let error = (got - expected).abs();
        let is_right = error.is_finite()
            && match allowed {
                Allowed::Exact => self.expected.bits(index) == self.got.bits(index),
                Allowed::Within(bound) => error <= bound(self.name, index),
            };
        if is_right {
            return;
        }
        self.is_wrong[index] = true;
        self.wrong += 1;
        if error.is_finite() {
            self.max_error = Some(self.max_error.map_or(error, |most| most.max(error)));
        }
        let ulp = self.expected.ulp_distance(index, self.got, index);
        self.max_ulp = self.max_ulp.max(ulp);
    }

    pub fn len(&self) -> usize {
        self.is_wrong.len()
    }

    /// Extents, the fastest-varying first; axes that the field does not have are 1 long.
    pub fn extents(&self) -> [usize; 3] {
        let mut extents = [1; 3];
        for (extent, axis) in extents.iter_mut().zip(&self.axes) {
            *extent = axis.extent as usize;
        }
        extents
    }

    /// The coordinates of every wrong cell.
    pub fn wrong_places(&self) -> impl Iterator<Item = [usize; 3]> {
        let [n_x, n_y, _] = self.extents();
        let wrong = self
            .is_wrong
            .iter()
            .enumerate()
            .filter(|(_, is_wrong)| **is_wrong);
        wrong.map(move |(index, _)| [index % n_x, index / n_x % n_y, index / n_x / n_y])
    }

    /// Wrong cells among all, as data.
    pub fn damage(&self) -> FieldDamage {
        FieldDamage {
            name: self.name.to_owned(),
            wrong: self.wrong as u64,
            cells: self.len() as u64,
        }
    }

    /// Its first wrong cell.
    pub fn first_wrong(&self) -> Option<WrongCell> {
        let index = self.is_wrong.iter().position(|is_wrong| *is_wrong)?;
        let place = self.wrong_places().next()?;
        let coordinates = self.axes.iter().zip(place);
        let mut place: Vec<String> = coordinates
            .map(|(axis, at)| format!("{} = {at}", axis.name))
            .collect();
        // x before y, i before j, whichever varies faster.
        place.sort_unstable();
        Some(WrongCell {
            index: index as u64,
            place: place.join(", "),
            expected: self.expected.describe(index),
            got: self.got.describe(index),
        })
    }
}

/// The share of all outputs' cells that are wrong; `None` if the outputs cannot be compared.
pub fn wrong_share(
    expected: &NamedBuffers,
    got: &NamedBuffers,
    allowed: Allowed<'_>,
) -> Option<f64> {
    let (mut wrong, mut cells) = (0, 0);
    for (name, expected) in expected {
        let field = Field::compare(name, Vec::new(), expected, find(got, name)?, allowed)?;
        wrong += field.wrong;
        cells += field.len();
    }
    Some(wrong as f64 / cells.max(1) as f64)
}
