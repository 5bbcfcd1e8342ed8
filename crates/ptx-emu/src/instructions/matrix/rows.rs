//! Matrices of 8 x 8 halves, a row of 16 bytes from each of 8 lanes: `ldmatrix`, `stmatrix`,
//! `movmatrix`.
//!
//! Lanes 0 to 7 give the addresses of the rows of the first matrix, 8 to 15 those of the second,
//! and on. Lane `l` holds elements `2 (l mod 4)` and the next of row `l / 4`, or, with `.trans`, of
//! that column.

use std::cell::RefCell;

use ptx::{ScalarType, Space};

use super::super::party::{Party, Together};
use super::super::together::together;
use super::{all_lanes, read, written};
use crate::access::{Action, MemoryAccess, Region};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, Stop};
use crate::memory::byte_mask;
use crate::read::{Read, Reader};
use crate::registers::{LANES, Registers, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Op};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

const B32: ScalarType = ScalarType::B32;
/// Bytes of a row.
const ROW: u32 = 16;

/// The number of matrices, and whether they are transposed.
fn modifiers(r: &mut Reader) -> Read<(usize, bool)> {
    if !(r.has("sync") && r.has("aligned")) {
        return Err(r.missing("`.sync.aligned`"));
    }
    if !r.has("m8n8") {
        return Err(r.unsupported("this shape"));
    }
    let count = r.need("number of matrices", &[("x1", 1), ("x2", 2), ("x4", 4)])?;
    Ok((count, r.has("trans")))
}

/// `ldmatrix`.
pub(in super::super) fn load(r: &mut Reader) -> Read<Op> {
    let (count, is_transposed) = modifiers(r)?;
    let space = r.space().unwrap_or(Space::Generic);
    r.only_type(ScalarType::B16)?;
    (r.class, r.rule) = (InstructionClass::Load, Rule::Strict);
    r.operands(2)?;
    let registers = written(r, B32, count)?;
    let (address, space) = r.address_in(space)?;
    rows(
        r,
        (AccessKind::Load, space, address),
        registers,
        is_transposed,
    )
}

/// `stmatrix`.
pub(in super::super) fn store(r: &mut Reader) -> Read<Op> {
    let (count, is_transposed) = modifiers(r)?;
    let space = r.space().unwrap_or(Space::Generic);
    r.only_type(ScalarType::B16)?;
    (r.class, r.rule) = (InstructionClass::Store, Rule::Strict);
    r.operands(2)?;
    let (address, space) = r.address_in(space)?;
    let registers = read(r, B32, count)?;
    rows(
        r,
        (AccessKind::Store, space, address),
        registers,
        is_transposed,
    )
}

fn rows(
    r: &mut Reader,
    (kind, space, address): (AccessKind, Space, crate::registers::Address),
    registers: Box<[Slot]>,
    is_transposed: bool,
) -> Read<Op> {
    if !matches!(space, Space::Shared | Space::Generic) {
        return Err(r.unsupported("this space"));
    }
    r.function.note_access(space, 4);
    let access = MemoryAccess {
        kind,
        space,
        address,
        width: ROW,
        strong: false,
        non_coherent: false,
        tally: r.function.tally(),
    };
    let name = match kind {
        AccessKind::Load => "ldmatrix.sync",
        _ => "stmatrix.sync",
    };
    let mask = all_lanes(r);
    let rows = Rows {
        access,
        registers,
        is_transposed,
    };
    together(name, mask, rows)
}

#[derive(Debug)]
struct Rows {
    access: MemoryAccess,
    /// One for each matrix.
    registers: Box<[Slot]>,
    is_transposed: bool,
}

/// Row and column of the lower element that a lane holds; the upper one is the next in its row.
fn place(lane: usize) -> (usize, usize) {
    (lane / 4, 2 * (lane % 4))
}

/// A matrix by rows.
type Matrix = [[u16; 8]; 8];

/// The matrix that the lanes hold in a register.
fn held(registers: &Registers, slot: Slot, mask: u32) -> Matrix {
    let mut matrix = Matrix::default();
    for lane in lanes(mask) {
        let (row, column) = place(lane);
        let value = registers.lane(slot, lane) as u32;
        matrix[row][column] = value as u16;
        matrix[row][column + 1] = (value >> 16) as u16;
    }
    matrix
}

/// Gives the lanes a matrix to hold.
fn hold(registers: &mut Registers, slot: Slot, mask: u32, matrix: &Matrix) {
    for lane in lanes(mask) {
        let (row, column) = place(lane);
        let [low, high] = [matrix[row][column], matrix[row][column + 1]].map(u64::from);
        registers.set_lane(slot, lane, low | high << 16);
    }
}

fn transposed(matrix: &Matrix) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

impl Together for Rows {
    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        let turned = |matrix: Matrix| {
            if self.is_transposed {
                transposed(&matrix)
            } else {
                matrix
            }
        };
        let mut all = [[0u16; 8]; LANES];
        let is_load = self.access.kind == AccessKind::Load;
        if !is_load {
            for (rows, &slot) in all.chunks_exact_mut(8).zip(&self.registers) {
                let matrix = turned(held(&warp.registers, slot, party.active));
                rows.copy_from_slice(&matrix);
            }
        }
        // The lanes whose addresses count.
        let named = u32::MAX >> (LANES - 8 * self.registers.len());
        let at = At {
            group: 0,
            pc: party.pc,
            active: party.active & named,
        };
        let move_rows = MoveRows {
            is_load,
            rows: RefCell::new(all),
        };
        if at.active != 0 {
            runner.access(warp, at, &self.access, &move_rows)?;
        }
        if is_load {
            let moved = move_rows.rows.into_inner();
            for (rows, &slot) in moved.chunks_exact(8).zip(&self.registers) {
                let matrix = std::array::from_fn(|row| rows[row]);
                hold(&mut warp.registers, slot, party.active, &turned(matrix));
            }
        }
        Ok(())
    }
}

/// Moves the row of each lane.
struct MoveRows {
    is_load: bool,
    rows: RefCell<[[u16; 8]; LANES]>,
}

impl Action for MoveRows {
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        _: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let base = region.base();
        let parts = || (0..8).map(|part| (part, 2 * part as u64));
        let mut rows = self.rows.borrow_mut();
        if self.is_load {
            runner.check_written(request, region, span)?;
            if runner.launch.sanitize.races {
                runner.check_load(request, region, span)?;
            }
            for lane in lanes(request.mask) {
                for (part, offset) in parts() {
                    let offset = request.addresses[lane] - base + offset;
                    rows[lane][part] = region.load(lane, offset, 2) as u16;
                }
            }
            return Ok(());
        }
        let store = |to: &mut R, mask: u32| {
            for lane in lanes(mask) {
                for (part, offset) in parts() {
                    let offset = request.addresses[lane] - base + offset;
                    to.store(lane, offset, 2, rows[lane][part].into());
                }
            }
        };
        if runner.launch.sanitize.races {
            let changes = |held: &R, lane: usize| {
                parts().any(|(part, offset)| {
                    let old = held.load(lane, request.addresses[lane] - base + offset, 2);
                    (old ^ u64::from(rows[lane][part])) & byte_mask(2) != 0
                })
            };
            runner.check_stores(request, region, span, changes, store)?;
        } else {
            store(region, request.mask);
        }
        runner.mark_written(request, region, span);
        Ok(())
    }
}

/// `movmatrix`: a matrix in registers, transposed.
pub(in super::super) fn move_matrix(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Warp, Rule::Strict);
    if !(r.has("sync") && r.has("aligned") && r.has("m8n8") && r.has("trans")) {
        return Err(r.missing("`.sync.aligned.m8n8.trans`"));
    }
    r.only_type(ScalarType::B16)?;
    r.operands(2)?;
    let (dst, src) = (r.dst(B32)?, r.src(B32)?);
    let mask = all_lanes(r);
    together("movmatrix.sync", mask, MoveMatrix { dst, src })
}

#[derive(Debug)]
struct MoveMatrix {
    dst: Slot,
    src: Slot,
}

impl Together for MoveMatrix {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        let matrix = held(&warp.registers, self.src, party.active);
        hold(
            &mut warp.registers,
            self.dst,
            party.active,
            &transposed(&matrix),
        );
        Ok(())
    }
}
