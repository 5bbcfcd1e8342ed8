//! The sums of a product as Hopper's tensor cores make them.
//!
//! NVIDIA does not say how. By experiments (Xie and others, "MMA-Sim"; Khattak and Mikaitis,
//! "Accurate Models of NVIDIA Tensor Cores") it is so: all products of one row and column
//! and the accumulator are aligned to the largest exponent among them and cut off below a last
//! place, then added exactly; the sum is cut off to the result's precision, or rounded to nearest
//! for f16. Factors of 8 bits keep 13 places behind the point, others 25.

use super::super::element::Element;

/// Places behind the point of the largest term.
const PLACES: i32 = 25;
/// Those of sums of factors of 8 bits, whose f32 results have no more.
const PLACES_OF_8: i32 = 13;

/// The exponent of a zero, below all others.
const NONE: i32 = -(1 << 20);

/// A number as `significand * 2^(exponent - places)`, where the places are those of its type.
#[derive(Clone, Copy, Debug)]
struct Term {
    significand: i64,
    exponent: i32,
}

/// A matrix of factors, by rows of k.
pub(super) struct Factor {
    terms: Vec<Term>,
    values: Vec<f64>,
    /// The rows in which some element is not finite.
    is_special: Vec<bool>,
    places: i32,
    k: usize,
}

impl Factor {
    /// From the bits of its elements; `negates`: of the opposite sign.
    pub(super) fn new(element: Element, bits: &[u64], k: usize, negates: bool) -> Self {
        let sign = if negates { -1.0 } else { 1.0 };
        let values: Vec<f64> = bits.iter().map(|&bits| sign * element.real(bits)).collect();
        let (places, least) = format(element);
        let terms = values.iter().map(|&x| term(x, places, least)).collect();
        let rows = values.chunks_exact(k);
        Self {
            terms,
            is_special: rows.map(|row| row.iter().any(|x| !x.is_finite())).collect(),
            values,
            places,
            k,
        }
    }
}

/// The places behind the point of a type's significands, and its least exponent.
fn format(element: Element) -> (i32, i32) {
    match element {
        Element::F16 => (10, -14),
        Element::Bf16 => (7, -126),
        Element::Tf32 => (10, -126),
        Element::E4m3 => (3, -6),
        Element::E5m2 => (2, -14),
        _ => (23, -126),
    }
}

fn term(x: f64, places: i32, least: i32) -> Term {
    if x == 0.0 || !x.is_finite() {
        return Term {
            significand: 0,
            exponent: NONE,
        };
    }
    // All of these types are normal numbers of f64.
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    Term {
        significand: (x * power(places - exponent)) as i64,
        exponent,
    }
}

/// 2 to a power that f64 has as a normal number.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `c + a * b` in the type `of_d`, for row `row` of `a` and column `column` of `b`.
pub(super) fn sum(
    (a, row): (&Factor, usize),
    (b, column): (&Factor, usize),
    c: f64,
    of_d: Element,
    of_8: bool,
) -> u64 {
    let k = a.k;
    let (of_a, of_b) = (row * k..(row + 1) * k, column * k..(column + 1) * k);
    if a.is_special[row] || b.is_special[column] || !c.is_finite() {
        let pairs = a.values[of_a].iter().zip(&b.values[of_b]);
        return finish(pairs.fold(c, |sum, (x, y)| sum + x * y), of_d, of_8);
    }
    let places = if of_8 { PLACES_OF_8 } else { PLACES };
    let (of_c, least) = format(of_d);
    let c = term(c, of_c, least);
    let (a_terms, b_terms) = (&a.terms[of_a], &b.terms[of_b]);
    let pairs = || a_terms.iter().zip(b_terms);
    let largest = pairs().fold(c.exponent, |most, (x, y)| most.max(x.exponent + y.exponent));
    if largest <= NONE / 2 {
        return 0;
    }
    let aligned = |significand: i64, exponent: i32, from: i32| {
        let shift = places - from - (largest - exponent);
        match shift {
            0.. => significand << shift.min(62),
            // Towards zero.
            _ => significand / (1 << (-shift).min(62)),
        }
    };
    let mut sum = aligned(c.significand, c.exponent, of_c);
    let from = a.places + b.places;
    for (x, y) in pairs() {
        sum += aligned(x.significand * y.significand, x.exponent + y.exponent, from);
    }
    finish(sum as f64 * power(largest - places), of_d, of_8)
}

/// The bits of a sum in the type of the result.
fn finish(sum: f64, of_d: Element, of_8: bool) -> u64 {
    if of_d != Element::F32 || !sum.is_finite() {
        return of_d.bits_of(sum);
    }
    let mut bits = (sum as f32).to_bits();
    if f64::from(f32::from_bits(bits)).abs() > sum.abs() && sum.abs() < power(128) {
        bits -= 1;
    }
    let cut = if of_8 {
        (1 << (23 - PLACES_OF_8)) - 1
    } else {
        0
    };
    u64::from(bits & !cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(element: Element, a: &[f32], b: &[f32], c: f32) -> f32 {
        let bits = |x: &f32| match element {
            Element::F16 => Element::F16.bits_of(f64::from(*x)),
            Element::E4m3 => match *x {
                1.0 => 0x38,
                0.0 => 0,
                _ => 0x01,
            },
            _ => u64::from(x.to_bits()),
        };
        let factor = |x: &[f32]| {
            let bits: Vec<u64> = x.iter().map(bits).collect();
            Factor::new(element, &bits, x.len(), false)
        };
        let of_8 = element.bits() == 8;
        let found = sum(
            (&factor(a), 0),
            (&factor(b), 0),
            c.into(),
            Element::F32,
            of_8,
        );
        f32::from_bits(found as u32)
    }

    #[test]
    fn sums_are_cut_off_and_not_rounded() {
        let (big, small) = (16_777_216.0, 1.0);
        assert_eq!(one(Element::F16, &[3.0, 5.0], &[7.0, -2.0], 0.5), 11.5);
        // Half a place, and three quarters of one.
        assert_eq!(one(Element::F16, &[small], &[small], big), big);
        assert_eq!(one(Element::F16, &[1.5], &[small], big), big);
        assert_eq!(one(Element::F16, &[1.0, 1.0], &[1.0, 1.0], big), big + 2.0);
        assert_eq!(one(Element::F16, &[-0.25], &[1.0], big), big);
        assert_eq!(one(Element::F16, &[-0.5], &[1.0], big), big - 1.0);
        // A quarter of a place of the largest is the last that counts.
        assert_eq!(one(Element::F16, &[0.25; 8], &[1.0; 8], big), big);
        assert_eq!(one(Element::F16, &[0.5; 4], &[1.0; 4], big), big + 2.0);
    }

    #[test]
    fn factors_of_8_bits_keep_13_places() {
        assert_eq!(one(Element::E4m3, &[1.0], &[1.0], 8192.0), 8193.0);
        assert_eq!(one(Element::E4m3, &[1.0], &[1.0], 16384.0), 16384.0);
        // The least number, 2 to the -9.
        assert_eq!(
            one(Element::E4m3, &[1.0, 0.1], &[1.0, 1.0], 0.0),
            1.0 + 1.0 / 512.0
        );
    }

    #[test]
    fn infinities_and_nothing() {
        let inf = f32::INFINITY;
        assert_eq!(one(Element::F16, &[inf, 1.0], &[1.0, 1.0], 0.0), inf);
        assert!(one(Element::F16, &[inf, 1.0], &[0.0, 1.0], 0.0).is_nan());
        assert_eq!(one(Element::F16, &[0.0], &[1.0], 0.0).to_bits(), 0);
        assert_eq!(one(Element::Tf32, &[1e-30], &[1e-30], 0.0), 0.0);
        assert_eq!(one(Element::Tf32, &[3e38], &[3e38], 0.0), inf);
    }
}
