//! Tensor maps that a kernel changes: `tensormap.replace`, and `tensormap.cp_fenceproxy`, which
//! brings one from shared to global memory (PTX ISA, "tensormap.replace",
//! "tensormap.cp_fenceproxy").
//!
//! A kernel may make a map of 128 zero bytes, field by field, as Triton does: each change puts the
//! mark of our maps there too.

use ptx::{ScalarType, Space};

use super::fence::Fence;
use super::images::{LoadElements, StoreElements};
use super::matrix::all_lanes;
use super::party::{Party, Together};
use super::together::together;
use crate::access::MemoryAccess;
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, Stop};
use crate::image::element::Bytes;
use crate::read::{Read, Reader, other};
use crate::registers::{Address, LANES, Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::tensor_map::{Field, MAP_BYTES, MARK, MAX_RANK};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

/// `tensormap`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    if r.has("cp_fenceproxy") {
        return copy(r);
    }
    if !r.has("replace") {
        return Err(r.missing("`.replace`"));
    }
    if !r.has("tile") {
        return Err(r.unsupported("a mode that is not `.tile`"));
    }
    replace(r)
}

/// `tensormap.replace.tile`, behind that.
fn replace(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Store, Rule::Strict);
    let field = r.need(
        "a field",
        &[
            ("global_address", Field::Address),
            ("rank", Field::Rank),
            ("box_dim", Field::Tile(0)),
            ("global_dim", Field::Extent(0)),
            ("global_stride", Field::Stride(0)),
            ("element_stride", Field::Step(0)),
            ("elemtype", Field::Element),
            ("interleave_layout", Field::Interleave),
            ("swizzle_mode", Field::Swizzle),
            ("fill_mode", Field::Fill),
        ],
    )?;
    let space = r
        .choice(&[("shared::cta", Space::Shared), ("global", Space::Global)])
        .unwrap_or(Space::Generic);
    r.need("`.b1024`", &[("b1024", ())])?;
    let is_wide = matches!(field, Field::Address | Field::Stride(_));
    let ty = if is_wide {
        ScalarType::B64
    } else {
        ScalarType::B32
    };
    r.only_type(ty)?;
    r.operands(if field.is_of_dimension() { 3 } else { 2 })?;
    let (address, space) = r.address_in(space)?;
    let field = if field.is_of_dimension() {
        let dimension = r.constant()? as usize;
        let most = if is_wide { MAX_RANK - 1 } else { MAX_RANK };
        if dimension >= most {
            return Err(r.unsupported("a dimension that a map does not have"));
        }
        field.of(dimension)
    } else {
        field
    };
    let value = if field.is_constant() {
        let number = r.constant()?;
        let Some(known) = field.known(number) else {
            return Err(r.unsupported("this value of the field"));
        };
        Value::Known(known)
    } else {
        Value::Slot(r.src(ty)?)
    };
    r.function.note_access(space, 1);
    r.exchange.note(space);
    let tally = r.function.tally();
    let access = |start: u64, width: u32| MemoryAccess {
        kind: AccessKind::Store,
        space,
        address: Address {
            offset: address.offset + start as i64,
            ..address
        },
        width,
        strong: false,
        non_coherent: false,
        tally,
    };
    let (start, bytes) = field.place();
    other(Replace {
        mark: access(0, size_of_val(&MARK) as u32),
        field: access(start, bytes),
        value,
    })
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Slot(Slot),
    Known(u64),
}

#[derive(Debug)]
struct Replace {
    mark: MemoryAccess,
    field: MemoryAccess,
    value: Value,
}

fn bytes_of(value: u64) -> Bytes {
    let mut bytes = Bytes::default();
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    bytes
}

impl Execute for Replace {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        runner.turn.changes += 1;
        runner.turn.stored_at = runner.turn.executed;
        let marks = StoreElements {
            values: [bytes_of(MARK); LANES],
        };
        runner.access(warp, at, &self.mark, &marks)?;
        let mut values = [Bytes::default(); LANES];
        for lane in lanes(at.active) {
            values[lane] = bytes_of(match self.value {
                Value::Known(value) => value,
                Value::Slot(slot) => warp.registers.lane(slot, lane),
            });
        }
        runner.access(warp, at, &self.field, &StoreElements { values })?;
        Ok(Next::Step)
    }
}

/// `tensormap.cp_fenceproxy`, behind that.
fn copy(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Store, Rule::Strict);
    r.need("`.global`", &[("global", ())])?;
    r.need("`.shared::cta`", &[("shared::cta", ())])?;
    r.need("`.tensormap::generic`", &[("tensormap::generic", ())])?;
    r.need("`.release`", &[("release", ())])?;
    let device = r.scope().ok_or_else(|| r.missing("scope"))?;
    r.need("`.sync`", &[("sync", ())])?;
    r.need("`.aligned`", &[("aligned", ())])?;
    r.operands(3)?;
    let to = r.address(Space::Global)?;
    let from = r.address(Space::Shared)?;
    if u64::from(r.constant()?) != MAP_BYTES {
        return Err(r.no_such_form());
    }
    for space in [Space::Global, Space::Shared] {
        r.function.note_access(space, WIDTH);
        r.exchange.note(space);
    }
    r.function.orders_blocks |= device;
    r.exchange.orders = true;
    let access = |kind, space, address, tally| MemoryAccess {
        kind,
        space,
        address,
        width: WIDTH,
        strong: false,
        non_coherent: false,
        tally,
    };
    let load = access(AccessKind::Load, Space::Shared, from, r.function.tally());
    let store = access(AccessKind::Store, Space::Global, to, r.function.tally());
    let name = "tensormap.cp_fenceproxy.sync.aligned";
    let mask = all_lanes(r);
    together(
        name,
        mask,
        Copy {
            load,
            store,
            fence: Fence::releasing(device),
        },
    )
}

/// Bytes that are copied at once.
const WIDTH: u32 = 16;

#[derive(Debug)]
struct Copy {
    load: MemoryAccess,
    store: MemoryAccess,
    fence: Fence,
}

impl Together for Copy {
    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        runner.turn.changes += 1;
        runner.turn.stored_at = runner.turn.executed;
        let at = At {
            group: 0,
            pc: party.pc,
            active: party.active,
        };
        // All lanes name the same copy.
        let one = At {
            active: at.active & at.active.wrapping_neg(),
            ..at
        };
        // Bytes of a map that belong to no field are never set, and mean nothing.
        let was_late = warp.registers.late;
        for part in 0..MAP_BYTES as i64 / i64::from(WIDTH) {
            let moved = |access: &MemoryAccess| {
                let mut moved = access.clone();
                moved.address.offset += part * i64::from(WIDTH);
                moved
            };
            let loads = LoadElements::default();
            runner.access(warp, one, &moved(&self.load), &loads)?;
            warp.registers.late = was_late;
            let values = loads.loaded.into_inner();
            runner.access(warp, one, &moved(&self.store), &StoreElements { values })?;
        }
        self.fence.execute(runner, warp, at)?;
        Ok(())
    }
}
