//! `wmma`: loads and stores of matrices by the lanes of a warp, and `wmma.mma`.
//!
//! Each lane accesses the elements that it holds, one after the other; requests and sectors are
//! counted by that, which is not a GPU's way.

use ptx::{RegClass, ScalarType, Space};

use super::super::party::{Party, Together};
use super::super::together::together;
use super::element::Element;
use super::fragment::{Fragment, Role, Shape};
use super::multiply::{has_shape, is_wmma_shape, shape, wmma_product};
use super::{all_lanes, read, written};
use crate::access::{Action, MemoryAccess, Region};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, Stop};
use crate::memory::byte_mask;
use crate::read::{Read, Reader};
use crate::registers::{Address, Registers, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Op};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

/// `wmma`.
pub(in super::super) fn wmma(r: &mut Reader) -> Read<Op> {
    let verb = r.need("operation", &[("load", 0), ("store", 1), ("mma", 2)])?;
    let role = match verb {
        2 => None,
        _ => {
            let roles = [
                ("a", Role::A),
                ("b", Role::B),
                ("c", Role::Accumulator),
                ("d", Role::Accumulator),
            ];
            Some(r.need("matrix", &roles)?)
        }
    };
    if !(r.has("sync") && r.has("aligned")) {
        return Err(r.missing("`.sync.aligned`"));
    }
    let shape = shape(r)?;
    match role {
        None => wmma_product(r, shape),
        Some(role) => transfer(r, verb == 0, role, shape),
    }
}

/// `wmma.load`, `wmma.store`.
fn transfer(r: &mut Reader, is_load: bool, role: Role, shape: Shape) -> Read<Op> {
    let is_by_rows = r.need("layout", &[("row", true), ("col", false)])?;
    let space = r.space().unwrap_or(Space::Generic);
    let element = r.need("type", &Element::NAMES)?;
    let is_sum = role == Role::Accumulator;
    let has_type = if is_sum {
        let sums = [Element::F16, Element::F32, Element::F64, Element::S32];
        sums.contains(&element) && is_wmma_shape(shape)
    } else {
        has_shape(element, shape, true)
    };
    if !has_type || element.bits() < 8 {
        return Err(r.unsupported("this shape with this type"));
    }
    let fragment = Fragment {
        role,
        element,
        shape,
        is_wmma: true,
    };
    let (kind, class, name) = if is_load {
        (AccessKind::Load, InstructionClass::Load, "wmma.load.sync")
    } else {
        (
            AccessKind::Store,
            InstructionClass::Store,
            "wmma.store.sync",
        )
    };
    (r.class, r.rule) = (class, Rule::Strict);
    let count = r.operands_between(2, 3)?;
    let (ty, number) = (element.register(), fragment.registers());
    let (registers, (address, space)) = if is_load {
        (written(r, ty, number)?, r.address_in(space)?)
    } else {
        let address = r.address_in(space)?;
        (read(r, ty, number)?, address)
    };
    let stride = match count {
        3 => Some(r.src(ScalarType::B32)?),
        _ => None,
    };
    let bytes = element.bits() / 8;
    r.function.note_access(space, bytes);
    // Where the addresses of one element of each lane are put for the access.
    let scratch = Slot {
        class: RegClass::B64,
        row: r.function.frame.next_row(RegClass::B64),
    };
    let access = MemoryAccess {
        kind,
        space,
        address: Address {
            base: scratch,
            offset: 0,
        },
        width: bytes,
        strong: false,
        non_coherent: false,
        tally: r.function.tally(),
    };
    let mask = all_lanes(r);
    let transfer = Transfer {
        access,
        address,
        stride,
        fragment,
        is_by_rows,
        registers,
    };
    together(name, mask, transfer)
}

#[derive(Debug)]
struct Transfer {
    /// Of one element of each lane.
    access: MemoryAccess,
    /// The address of the matrix.
    address: Address,
    /// Elements from one row, or column, to the next.
    stride: Option<Slot>,
    fragment: Fragment,
    is_by_rows: bool,
    registers: Box<[Slot]>,
}

impl Together for Transfer {
    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        let at = At {
            group: 0,
            pc: party.pc,
            active: party.active,
        };
        let starts = warp.registers.addresses(&self.address);
        let (rows, columns) = self.fragment.extents();
        let in_register = self.fragment.element.in_register();
        let dense = if self.is_by_rows { columns } else { rows };
        if self.access.kind == AccessKind::Load {
            for &slot in &self.registers {
                lanes(at.active).for_each(|lane| warp.registers.set_lane(slot, lane, 0));
            }
        }
        for index in 0..self.registers.len() * in_register {
            let is_again = index >= self.fragment.per_lane();
            if is_again && self.access.kind == AccessKind::Store {
                break;
            }
            for lane in lanes(at.active) {
                let (row, column) = self.fragment.place(lane, index);
                let stride = match self.stride {
                    Some(slot) => warp.registers.lane(slot, lane) as u32 as usize,
                    None => dense,
                };
                let element = if self.is_by_rows {
                    row * stride + column
                } else {
                    column * stride + row
                };
                let offset = element as u64 * u64::from(self.access.width);
                let address = starts[lane].wrapping_add(offset);
                let scratch = self.access.address.base;
                warp.registers.set_lane(scratch, lane, address);
            }
            let element = OneElement {
                is_load: self.access.kind == AccessKind::Load,
                slot: self.registers[index / in_register],
                shift: self.fragment.element.bits() * (index % in_register) as u32,
            };
            runner.access(warp, at, &self.access, &element)?;
        }
        Ok(())
    }
}

/// An element of each lane, in a part of a register.
struct OneElement {
    is_load: bool,
    slot: Slot,
    shift: u32,
}

impl Action for OneElement {
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let (base, bytes) = (region.base(), request.width);
        let offset = |lane: usize| request.addresses[lane] - base;
        if self.is_load {
            runner.check_written(request, region, span)?;
            if runner.launch.sanitize.races {
                runner.check_load(request, region, span)?;
            }
            for lane in lanes(request.mask) {
                let value = region.load(lane, offset(lane), bytes) << self.shift;
                let others = registers.lane(self.slot, lane) & !(byte_mask(bytes) << self.shift);
                registers.set_lane(self.slot, lane, others | value);
            }
            return Ok(());
        }
        let value = |lane: usize| registers.lane(self.slot, lane) >> self.shift & byte_mask(bytes);
        let store = |to: &mut R, mask: u32| {
            lanes(mask).for_each(|lane| to.store(lane, offset(lane), bytes, value(lane)));
        };
        if runner.launch.sanitize.races {
            let changes =
                |held: &R, lane: usize| held.load(lane, offset(lane), bytes) != value(lane);
            runner.check_stores(request, region, span, changes, store)?;
        } else {
            store(region, request.mask);
        }
        runner.mark_written(request, region, span);
        Ok(())
    }
}
