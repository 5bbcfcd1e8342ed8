//! Products of matrices: `mma`, `wmma.mma`.

use super::super::party::{Party, Together};
use super::super::together::together;
use super::element::Element;
use super::fragment::{Fragment, Role, Shape};
use super::{all_lanes, read, written};
use crate::counts::InstructionClass;
use crate::fault::Stop;
use crate::read::{Read, Reader};
use crate::registers::Slot;
use crate::runner::{BlockRunner, Op};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

/// Reads the shape that a modifier names.
pub(super) fn shape(r: &mut Reader) -> Read<Shape> {
    r.take(Shape::named).ok_or_else(|| r.missing("shape"))
}

/// `mma`.
pub(in super::super) fn mma(r: &mut Reader) -> Read<Op> {
    let shape = shape(r)?;
    if !(r.has("sync") && r.has("aligned")) {
        return Err(r.missing("`.sync.aligned`"));
    }
    // `a` is row by row and `b` column by column, in registers that say nothing of it.
    if !(r.has("row") && r.has("col")) {
        return Err(r.unsupported("layout"));
    }
    let operation = r.choice(&[("xor", Bitwise::Xor), ("and", Bitwise::And)]);
    if operation.is_some() && !r.has("popc") {
        return Err(r.missing("`.popc`"));
    }
    let [d, a, b, c] = types(r)?;
    let product = Product::new(r, shape, [d, a, b, c], operation, false)?;
    product.read(r, "mma.sync")
}

/// The four types of a product in the order of the operands.
fn types(r: &mut Reader) -> Read<[Element; 4]> {
    let mut next = || r.need("type", &Element::NAMES);
    Ok([next()?, next()?, next()?, next()?])
}

/// `wmma.mma`; `.mma`, `.sync`, `.aligned` and the shape are taken already. Where only the types of
/// `d` and `c` are written, `a` and `b` are f16.
pub(super) fn wmma_product(r: &mut Reader, shape: Shape) -> Read<Op> {
    // Layouts were looked at by the loads.
    for _ in 0..2 {
        r.need("layout", &[("row", ()), ("col", ())])?;
    }
    let operation = r.choice(&[("xor", Bitwise::Xor), ("and", Bitwise::And)]);
    if operation.is_some() && !r.has("popc") {
        return Err(r.missing("`.popc`"));
    }
    r.rounding();
    let first = r.need("type", &Element::NAMES)?;
    let second = r.need("type", &Element::NAMES)?;
    let elements = match r.choice(&Element::NAMES) {
        None => [first, Element::F16, Element::F16, second],
        Some(third) => [first, second, third, r.need("type", &Element::NAMES)?],
    };
    let product = Product::new(r, shape, elements, operation, true)?;
    product.read(r, "wmma.mma.sync")
}

/// How single bits are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bitwise {
    Xor,
    And,
}

/// Types of factors, and the shapes of their products: m, n, k.
type Shapes = (&'static [Element], &'static [(usize, usize, usize)]);

/// Of each type of factors, the shapes of `mma`.
const SHAPES: [Shapes; 6] = [
    (&[Element::F16, Element::Bf16], &[(16, 8, 8), (16, 8, 16)]),
    (&[Element::Tf32], &[(16, 8, 4), (16, 8, 8)]),
    (
        &[Element::F64],
        &[(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)],
    ),
    (
        &[Element::S8, Element::U8, Element::E4m3, Element::E5m2],
        &[(8, 8, 16), (16, 8, 16), (16, 8, 32)],
    ),
    (
        &[Element::S4, Element::U4],
        &[(8, 8, 32), (16, 8, 32), (16, 8, 64)],
    ),
    (&[Element::B1], &[(8, 8, 128), (16, 8, 128), (16, 8, 256)]),
];

/// Of each type of factors, the shapes of `wmma`.
const WMMA_SHAPES: [Shapes; 5] = [
    (
        &[Element::F16, Element::Bf16, Element::S8, Element::U8],
        &[(16, 16, 16), (32, 8, 16), (8, 32, 16)],
    ),
    (&[Element::Tf32], &[(16, 16, 8)]),
    (&[Element::F64], &[(8, 8, 4)]),
    (&[Element::S4, Element::U4], &[(8, 8, 32)]),
    (&[Element::B1], &[(8, 8, 128)]),
];

/// Whether factors of a type have a shape.
pub(super) fn has_shape(element: Element, Shape { m, n, k }: Shape, is_wmma: bool) -> bool {
    let table = if is_wmma {
        &WMMA_SHAPES[..]
    } else {
        &SHAPES[..]
    };
    let mut rows = table.iter();
    rows.any(|(elements, shapes)| elements.contains(&element) && shapes.contains(&(m, n, k)))
}

/// Whether some factors of `wmma` have a shape.
pub(super) fn is_wmma_shape(Shape { m, n, k }: Shape) -> bool {
    let mut rows = WMMA_SHAPES.iter();
    rows.any(|(_, shapes)| shapes.contains(&(m, n, k)))
}

#[derive(Debug)]
struct Product {
    /// `d`, `a`, `b`, `c`.
    fragments: [Fragment; 4],
    registers: [Box<[Slot]>; 4],
    operation: Option<Bitwise>,
    /// Sums are cut off at the limits of 32 bits.
    saturates: bool,
}

impl Product {
    fn new(
        r: &mut Reader,
        shape: Shape,
        elements: [Element; 4],
        operation: Option<Bitwise>,
        is_wmma: bool,
    ) -> Read<Product> {
        let [d, a, b, c] = elements;
        let saturates = r.has("satfinite");
        let sums = match a {
            Element::F64 => &[Element::F64][..],
            _ if a.is_integer() => &[Element::S32],
            Element::F16 | Element::E4m3 | Element::E5m2 => &[Element::F16, Element::F32],
            _ => &[Element::F32],
        };
        let fits = a.is_integer() == b.is_integer() && a.bits() == b.bits();
        let has_sums = sums.contains(&d) && sums.contains(&c);
        let is_bitwise = (a == Element::B1) == operation.is_some();
        if !(has_shape(a, shape, is_wmma) && fits && has_sums && is_bitwise) {
            return Err(r.unsupported("this shape with these types"));
        }
        let of = |role, element| Fragment {
            role,
            element,
            shape,
            is_wmma,
        };
        let sum = Role::Accumulator;
        Ok(Product {
            fragments: [of(sum, d), of(Role::A, a), of(Role::B, b), of(sum, c)],
            registers: Default::default(),
            operation,
            saturates,
        })
    }

    /// Reads the operands.
    fn read(mut self, r: &mut Reader, name: &'static str) -> Read<Op> {
        (r.class, r.rule) = (InstructionClass::Warp, Rule::Strict);
        r.operands(4)?;
        for (index, fragment) in self.fragments.iter().enumerate() {
            let (ty, count) = (fragment.element.register(), fragment.registers());
            self.registers[index] = match index {
                0 => written(r, ty, count)?,
                _ => read(r, ty, count)?,
            };
        }
        let mask = all_lanes(r);
        together(name, mask, self)
    }

    /// The bits of the sums, row by row, from those of the operands.
    fn sums(&self, a: &[u64], b: &[u64], c: &[u64]) -> Vec<u64> {
        let [of_d, of_a, of_b, of_c] = self.fragments.map(|fragment| fragment.element);
        let Shape { m, n, k } = self.fragments[0].shape;
        let places = (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
        if of_a.is_integer() {
            let a: Vec<i64> = a.iter().map(|&bits| of_a.integer(bits)).collect();
            let b: Vec<i64> = b.iter().map(|&bits| of_b.integer(bits)).collect();
            let sum = |(row, column): (usize, usize)| {
                let mut sum = of_c.integer(c[row * n + column]);
                for inner in 0..k {
                    let (x, y) = (a[row * k + inner], b[inner * n + column]);
                    sum += match self.operation {
                        None => x * y,
                        Some(Bitwise::And) => x & y,
                        Some(Bitwise::Xor) => x ^ y,
                    };
                }
                if self.saturates {
                    sum = sum.clamp(i32::MIN.into(), i32::MAX.into());
                }
                sum as u64 & 0xffff_ffff
            };
            return places.map(sum).collect();
        }
        let a: Vec<f64> = a.iter().map(|&bits| of_a.real(bits)).collect();
        let b: Vec<f64> = b.iter().map(|&bits| of_b.real(bits)).collect();
        let sum = |(row, column): (usize, usize)| {
            let mut sum: f64 = of_c.real(c[row * n + column]);
            for inner in 0..k {
                sum = a[row * k + inner].mul_add(b[inner * n + column], sum);
            }
            of_d.bits_of(sum)
        };
        places.map(sum).collect()
    }
}

impl Together for Product {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        let registers = &mut warp.registers;
        let of = |index: usize| {
            self.fragments[index].gather(registers, &self.registers[index], party.active)
        };
        let sums = self.sums(&of(1), &of(2), &of(3));
        self.fragments[0].scatter(registers, &self.registers[0], party.active, &sums);
        Ok(())
    }
}
