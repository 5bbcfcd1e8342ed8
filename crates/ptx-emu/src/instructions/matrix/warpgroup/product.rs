//! `wgmma.mma_async`.
//!
//! It is computed where it is started: what it reads must not change before the wait for it, and
//! nothing may look at its results. Shared memory is read by the asynchronous proxy.

use ptx::{Literal, OperandKind, ScalarType, Space};

use super::super::super::bulk::check_proxy;
use super::super::super::party::{Party, Together};
use super::super::super::together::together;
use super::super::element::Element;
use super::super::fragment::{Fragment, Role, Shape};
use super::super::multiply::shape;
use super::super::{all_lanes, written};
use super::descriptor::{Descriptor, Major, UNIT};
use super::sums::{Factor, sum};
use super::{aligned, check_whole, invalid};
use crate::fault::{AccessKind, FaultKind, ProductProblem, Stop};
use crate::memory::Words;
use crate::memory::shared::SharedMemory;
use crate::read::{Read, Reader, Width};
use crate::registers::{ALL, Flag, LANES, Row64, Slot};
use crate::request::{Request, Span};
use crate::runner::{BlockRunner, Op};
use crate::unset_values::facts::{RegisterUse, Rule};
use crate::warp::Warp;

const NAME: &str = "wgmma.mma_async";
/// Its name in a sentence.
const BY: &str = "`wgmma.mma_async`";

/// Bytes of a row of a factor.
const ROW: usize = 32;
/// Rows of the product that a warp computes, of 64.
const ROWS: usize = 16;

/// `.mma_async` is taken already.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    if r.has("sp") {
        return Err(r.unsupported("modifier `.sp`"));
    }
    aligned(r)?;
    let shape = shape(r)?;
    let mut next = || r.need("type", &Element::NAMES);
    let [of_d, of_a, of_b] = [next()?, next()?, next()?];
    let saturates = r.has("satfinite");
    if !has_types([of_d, of_a, of_b], shape) || saturates && of_d != Element::S32 {
        return Err(r.unsupported("this shape with these types"));
    }
    let of = |role, element| Fragment {
        role,
        element,
        shape: Shape { m: ROWS, ..shape },
        is_wmma: false,
    };
    let (sums, factor) = (of(Role::Accumulator, of_d), of(Role::A, of_a));
    let count = r.operands_between(4, 8)?;
    r.rule = Rule::Strict;
    r.facts.registers = RegisterUse::Product;
    let register = match of_d {
        Element::F32 => ScalarType::F32,
        _ => ScalarType::B32,
    };
    let d = written(r, register, sums.registers())?;
    let operand = r.operand()?;
    let a = match r.vector(operand)? {
        Some(elements) if elements.len() == factor.registers() => {
            let slots = elements.iter();
            let slots = slots.map(|e| r.value(e, ScalarType::B32, Width::Exact));
            Source::Registers(slots.collect::<Read<_>>()?)
        }
        Some(_) => return Err(r.unexpected(operand, "as many registers as the shape has")),
        None => Source::Memory(r.value(operand, ScalarType::B64, Width::Exact)?),
    };
    let b = r.src(ScalarType::B64)?;
    let accumulates = r.flag()?;
    let has_scales = !of_a.is_integer();
    let turns = match &a {
        _ if of_a.bits() != 16 => 0,
        Source::Registers(_) => 1,
        Source::Memory(_) => 2,
    };
    let expected = 4 + 2 * usize::from(has_scales) + turns;
    if count != expected {
        return Err(r.unexpected(operand, "as many operands as these types have"));
    }
    let mut negates = [false; 2];
    if has_scales {
        for each in &mut negates {
            *each = number(r, &[(1, false), (-1, true)], "1 or -1")?;
        }
    }
    let mut major = [Major::K; 2];
    for each in &mut major[2 - turns..] {
        *each = number(r, &[(0, Major::K), (1, Major::Mn)], "0 or 1")?;
    }
    r.function.note_access(Space::Shared, of_a.bits() / 8);
    r.exchange.bulk = true;
    let mask = all_lanes(r);
    let product = Product {
        sums,
        factor,
        of_b,
        d,
        a,
        b,
        accumulates,
        negates,
        major,
        saturates,
    };
    together(NAME, mask, product)
}

/// The next operand as one of these numbers.
fn number<T: Copy>(r: &mut Reader, values: &[(i64, T)], expected: &'static str) -> Read<T> {
    let operand = r.operand()?;
    let found = match operand.kind {
        OperandKind::Literal(Literal::Int(value)) => {
            values.iter().find(|(each, _)| *each as u64 == value)
        }
        _ => None,
    };
    let found = found.map(|(_, meaning)| *meaning);
    found.ok_or_else(|| r.unexpected(operand, expected))
}

/// Whether there is such a product (PTX ISA, "wgmma.mma_async").
fn has_types([of_d, of_a, of_b]: [Element; 3], Shape { m, n, k }: Shape) -> bool {
    use Element::*;
    let has_n = n.is_multiple_of(8) && (8..=256).contains(&n);
    let has_types = match (of_a, of_b) {
        (F16, F16) => matches!(of_d, F16 | F32),
        (Bf16, Bf16) | (Tf32, Tf32) => of_d == F32,
        (E4m3 | E5m2, E4m3 | E5m2) => matches!(of_d, F16 | F32),
        (S8 | U8, S8 | U8) => of_d == S32 && (n < 32 || n.is_multiple_of(16)),
        _ => false,
    };
    m == 64 && has_n && k * of_a.bits() as usize == 8 * ROW && has_types
}

/// Where the first factor is.
#[derive(Debug)]
enum Source {
    Registers(Box<[Slot]>),
    /// The row of its descriptor.
    Memory(Slot),
}

#[derive(Debug)]
struct Product {
    /// The part of a warp of the accumulator, and of the first factor.
    sums: Fragment,
    factor: Fragment,
    of_b: Element,
    d: Box<[Slot]>,
    a: Source,
    b: Slot,
    /// The accumulator is added to; else it is not read.
    accumulates: Flag,
    /// Of the factors.
    negates: [bool; 2],
    major: [Major; 2],
    saturates: bool,
}

impl Together for Product {
    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        check_whole(runner, warp, party, NAME)?;
        let accumulates = match warp.registers.flag(self.accumulates) {
            0 => false,
            ALL => true,
            _ => {
                let reason = format!("{NAME}: `scale-d` is not the same in all threads");
                return Err(invalid(runner, warp, party, reason));
            }
        };
        self.check_registers(runner, warp, party, accumulates)?;
        let k = self.factor.shape.k;
        let b_rows = 0..self.sums.shape.n;
        let (b, mut units) =
            self.read_shared(runner, warp, party, (self.b, self.major[1]), b_rows)?;
        let a = match &self.a {
            Source::Registers(slots) => self.factor.gather(&warp.registers, slots, ALL),
            Source::Memory(slot) => {
                let first = warp.index % super::WARPS * ROWS;
                let rows = first..first + ROWS;
                let (a, more) =
                    self.read_shared(runner, warp, party, (*slot, self.major[0]), rows)?;
                units.extend(more);
                a
            }
        };
        let c = if accumulates {
            self.sums.gather(&warp.registers, &self.d, ALL)
        } else {
            vec![0; ROWS * self.sums.shape.n]
        };
        let sums = self.sums_of(&a, &b, &c, k);
        self.sums.scatter(&mut warp.registers, &self.d, ALL, &sums);
        let base = warp.registers.bases.r32;
        let rows = |slots: &[Slot]| -> Vec<u32> { slots.iter().map(|s| base + s.row).collect() };
        let factors = match &self.a {
            Source::Registers(slots) => rows(slots),
            Source::Memory(_) => Vec::new(),
        };
        let products = warp.products.get_or_insert_default();
        let number = products.start(party.pc, &rows(&self.d), &factors);
        if runner.launch.sanitize.races {
            let claims = runner.claims();
            claims.claim_factors((warp.index, number, party.pc), units);
        }
        Ok(())
    }
}

impl Product {
    /// Checks what the ISA asks of the registers ("wgmma.fence"): a fence before the first product,
    /// and between an access to them and the product.
    fn check_registers(
        &self,
        runner: &BlockRunner,
        warp: &mut Warp,
        party: &Party,
        accumulates: bool,
    ) -> Result<(), Stop> {
        let products = warp.products.get_or_insert_default();
        let base = warp.registers.bases.r32;
        let factors: &[Slot] = match &self.a {
            Source::Registers(slots) => slots,
            Source::Memory(_) => &[],
        };
        let results: &[Slot] = if accumulates { &self.d } else { &[] };
        let is_fresh = |slot: &Slot| products.is_fresh(base + slot.row);
        let mut problem = None;
        if products.lacks_first_fence() {
            problem = Some("no `wgmma.fence` stands before the warp's first product".to_owned());
        } else if factors.iter().chain(results).any(is_fresh) {
            let what = if factors.iter().any(is_fresh) {
                "matrix A"
            } else {
                "the accumulator"
            };
            problem = Some(format!(
                "registers of {what} were written since the product before, and no `wgmma.fence` stands between"
            ));
        }
        if let Some(problem) = problem {
            let kind = FaultKind::Product {
                problem: ProductProblem::NotFenced,
                reason: format!("{BY}: {problem}"),
            };
            return Err(runner.fault(warp.first_thread(party.active), party.pc, kind));
        }
        let under_way = |slot: &Slot| products.under_way(base + slot.row, false);
        if factors.iter().any(|slot| under_way(slot).is_some()) {
            let kind = FaultKind::Product {
                problem: ProductProblem::UnderWay,
                reason: format!(
                    "{NAME}: matrix A is in registers that an earlier product is still computing: execute `wgmma.wait_group` before"
                ),
            };
            return Err(runner.fault(warp.first_thread(party.active), party.pc, kind));
        }
        Ok(())
    }

    /// The bits of a factor's rows in shared memory, and the addresses of its units.
    fn read_shared(
        &self,
        runner: &mut BlockRunner,
        warp: &Warp,
        party: &Party,
        (slot, major): (Slot, Major),
        rows: std::ops::Range<usize>,
    ) -> Result<(Vec<u64>, Vec<u64>), Stop> {
        let bits = warp.registers.lane(slot, 0);
        if let Some(lane) = (0..LANES).find(|&lane| warp.registers.lane(slot, lane) != bits) {
            let reason = format!(
                "{NAME}: the matrix descriptor of lane {lane} is {:#x}, and that of lane 0 {bits:#x}: it must be the same in the whole warpgroup",
                warp.registers.lane(slot, lane)
            );
            return Err(invalid(runner, warp, party, reason));
        }
        let descriptor = Descriptor::new(bits);
        let k = self.factor.shape.k;
        let (in_unit, size) = (
            (8 * UNIT / self.factor.element.bits()) as usize,
            self.factor.element.bits() / 8,
        );
        // A unit is a part of a row, or of a column of rows.
        let (outer, inner) = match major {
            Major::K => (rows.clone(), ROW / UNIT as usize),
            Major::Mn => (rows.start / in_unit..rows.end / in_unit, k),
        };
        let units: Vec<u64> = outer
            .flat_map(|mn| (0..inner).map(move |part| (mn, part)))
            .map(|(mn, part)| descriptor.unit(major, mn, part))
            .collect();
        check_units(runner, warp, party, &units)?;
        let shared = &runner.block.shared;
        let mut all = vec![0; rows.len() * k];
        for (number, &unit) in units.iter().enumerate() {
            let (mn, part) = (number / inner, number % inner);
            for index in 0..in_unit {
                let at = match major {
                    Major::K => mn * k + part * in_unit + index,
                    Major::Mn => (mn * in_unit + index) * k + part,
                };
                all[at] = shared.load(0, unit + u64::from(size) * index as u64, size);
            }
        }
        Ok((all, units))
    }

    /// The bits of the sums, row by row. `b` is by its columns.
    fn sums_of(&self, a: &[u64], b: &[u64], c: &[u64], k: usize) -> Vec<u64> {
        let (of_d, of_a) = (self.sums.element, self.factor.element);
        let n = self.sums.shape.n;
        let places = (0..ROWS).flat_map(|row| (0..n).map(move |column| (row, column)));
        if of_a.is_integer() {
            let whole = |element: Element, bits: &[u64]| -> Vec<i32> {
                bits.iter()
                    .map(|&bits| element.integer(bits) as i32)
                    .collect()
            };
            let (a, b) = (whole(of_a, a), whole(self.of_b, b));
            let sum = |(row, column): (usize, usize)| {
                let (a, b) = (&a[row * k..][..k], &b[column * k..][..k]);
                let products: i32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
                let mut sum = i64::from(products) + Element::S32.integer(c[row * n + column]);
                if self.saturates {
                    sum = sum.clamp(i32::MIN.into(), i32::MAX.into());
                }
                u64::from(sum as u32)
            };
            return places.map(sum).collect();
        }
        let a = Factor::new(of_a, a, k, self.negates[0]);
        let b = Factor::new(self.of_b, b, k, self.negates[1]);
        let of_8 = of_a.bits() == 8;
        let sum = |(row, column): (usize, usize)| {
            let c = of_d.real(c[row * n + column]);
            sum((&a, row), (&b, column), c, of_d, of_8)
        };
        places.map(sum).collect()
    }
}

/// Checks the reads of units of shared memory as those of the asynchronous proxy.
fn check_units(
    runner: &mut BlockRunner,
    warp: &Warp,
    party: &Party,
    units: &[u64],
) -> Result<(), Stop> {
    for part in units.chunks(LANES) {
        let addresses: Row64 = std::array::from_fn(|lane| part[lane.min(part.len() - 1)]);
        let mask = ALL >> (LANES - part.len());
        let request = Request::weak(
            AccessKind::Load,
            &addresses,
            mask,
            UNIT,
            party.pc,
            warp.index,
        );
        let span = Span::of(&addresses, mask, UNIT);
        runner.check_shared(&request, &span)?;
        check_proxy(runner, &request, BY)?;
        let mut shared = std::mem::take(&mut runner.block.shared);
        let checked = check_read(runner, warp, &mut shared, &request, &span);
        runner.block.shared = shared;
        checked?;
    }
    Ok(())
}

/// Checks the reads for copies under way, unset bytes and races.
fn check_read(
    runner: &mut BlockRunner,
    warp: &Warp,
    shared: &mut SharedMemory,
    request: &Request,
    span: &Span,
) -> Result<(), Stop> {
    if let Some(claims) = &shared.claims {
        runner.check_claims(warp, shared, claims, request, span)?;
    }
    runner.check_written(request, shared, span)?;
    if runner.launch.sanitize.races {
        runner.check_load(request, shared, span)?;
    }
    Ok(())
}
