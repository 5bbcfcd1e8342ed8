//! Surfaces: `suld.b`, `sust.b`; `sust.p` is in `formatted_store`.
//!
//! The first coordinate counts bytes, and values are not converted. Outside of the surface, `.trap`
//! is a fault, `.clamp` goes to the edge, and `.zero` reads zeros and stores nothing (PTX ISA,
//! "Surface Instructions").

use ptx::ScalarType;

use super::elements::Elements;
use super::formatted_store;
use super::images::{LoadElements, Name, Named, StoreElements, Unset, memory_problem, shape};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, FaultKind, ImageProblem, Stop};
use crate::image::Image;
use crate::image::element::Bytes;
use crate::image::sampling::Shape;
use crate::read::{Read, Reader, Width, other};
use crate::registers::{LANES, Registers, Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::{LoadsOwn, Rule};
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

/// The meaning of coordinates outside of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    Trap,
    Clamp,
    Zero,
}

/// The place of an access, and what it moves.
#[derive(Debug)]
struct Place {
    name: Name,
    /// The layer's number first.
    coordinates: Box<[Slot]>,
    shape: Shape,
    outside: Outside,
    elements: Elements,
    tally: u32,
}

/// `suld`.
pub(super) fn load(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Load;
    let place = place(r, true)?;
    r.rule = Rule::Memory(LoadsOwn::Never);
    other(Load(place))
}

/// `sust`.
pub(super) fn store(r: &mut Reader) -> Read<Op> {
    if r.has("p") {
        return formatted_store::store(r);
    }
    (r.class, r.rule) = (InstructionClass::Store, Rule::Strict);
    other(Store(place(r, false)?))
}

fn place(r: &mut Reader, is_load: bool) -> Read<Place> {
    if !r.has("b") {
        return Err(r.missing("`.b`"));
    }
    let shape = shape(r)?;
    if shape.is_cube {
        return Err(r.no_such_form());
    }
    skip_caching(r);
    let count = r.choice(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let ty = r.ty()?;
    let is_known = matches!(
        ty,
        ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64
    ) && ty.bytes() as usize * count <= 16;
    if !is_known {
        return Err(r.unsupported_type(ty));
    }
    let outside = outside(r)?;
    r.operands(2)?;
    let mut registers = None;
    if is_load {
        registers = Some(values(r, Some(count), ty, true)?);
    }
    let named = Named::read(r)?;
    let mut types = vec![ScalarType::S32; shape.dimensions];
    if shape.is_layered {
        types.insert(0, ScalarType::U32);
    }
    let coordinates = named.rows(r, &types)?;
    let registers = match registers {
        Some(registers) => registers,
        None => values(r, Some(count), ty, false)?,
    };
    r.function.note_access(ptx::Space::Global, ty.bytes());
    Ok(Place {
        name: Name::new(r, named),
        coordinates,
        shape,
        outside,
        elements: Elements {
            registers,
            bytes: ty.bytes(),
            is_signed: false,
            unset: None,
            late: None,
        },
        tally: r.function.tally(),
    })
}

/// Takes what an access says of caches, which are coherent here.
pub(super) fn skip_caching(r: &mut Reader) {
    r.choice(&[
        ("ca", ()),
        ("cg", ()),
        ("cs", ()),
        ("cv", ()),
        ("wb", ()),
        ("wt", ()),
    ]);
}

/// Takes the meaning of coordinates outside of the surface.
pub(super) fn outside(r: &mut Reader) -> Read<Outside> {
    r.need(
        "`.trap`, `.clamp` or `.zero`",
        &[
            ("trap", Outside::Trap),
            ("clamp", Outside::Clamp),
            ("zero", Outside::Zero),
        ],
    )
}

/// The registers of the next operand, a vector or the only one: of this number, or without one as
/// many as a vector has.
pub(super) fn values(
    r: &mut Reader,
    count: Option<usize>,
    ty: ScalarType,
    is_load: bool,
) -> Read<Box<[Option<Slot>]>> {
    let operand = r.operand()?;
    let all = r.vector(operand)?.unwrap_or_else(|| vec![operand.clone()]);
    if count.map_or(!matches!(all.len(), 1 | 2 | 4), |count| all.len() != count) {
        return Err(r.unexpected(operand, "as many registers as the instruction moves"));
    }
    let one = |one| {
        if is_load {
            r.register_or_sink(one, ty, Width::AtLeast)
        } else {
            r.value(one, ty, Width::AtLeast).map(Some)
        }
    };
    all.iter().map(one).collect()
}

impl Place {
    /// The coordinates of a lane: first the layer's number, if there is one.
    fn coordinates(&self, registers: &Registers, lane: usize) -> Vec<i64> {
        let value = |&slot: &Slot| i64::from(registers.lane(slot, lane) as i32);
        self.coordinates.iter().map(value).collect()
    }

    /// The address of a lane's access; none where `.zero` makes none.
    fn address(
        &self,
        runner: &BlockRunner,
        image: &Image,
        all: &[i64],
    ) -> Result<Option<u64>, ImageProblem> {
        let (layer, rest) = match all {
            [layer, rest @ ..] if self.shape.is_layered => (*layer, rest),
            _ => (0, all),
        };
        let bytes = self.elements.width();
        let x = rest.first().copied().unwrap_or(0);
        let y = rest.get(1).copied().unwrap_or(0);
        let z = rest.get(2).copied().unwrap_or(layer);
        let extent = [
            u64::from(image.extent[0]) * u64::from(image.element_bytes()),
            image.extent[1].into(),
            image.extent[2].into(),
        ];
        let most = [
            extent[0] as i64 - i64::from(bytes),
            extent[1] as i64 - 1,
            extent[2] as i64 - 1,
        ];
        let mut at = [x, y, z];
        let is_inside = (0..3).all(|k| (0..=most[k]).contains(&at[k]));
        match self.outside {
            _ if is_inside => {}
            Outside::Trap => return Err(ImageProblem::Outside { extent, bytes }),
            Outside::Zero => return Ok(None),
            Outside::Clamp => {
                for (one, last) in at.iter_mut().zip(most) {
                    *one = (*one).clamp(0, last.max(0));
                }
            }
        }
        let [column, row, plane] = at.map(|one| one as u64);
        if !column.is_multiple_of(bytes.into()) {
            return Err(ImageProblem::Misaligned { bytes });
        }
        let address = image.address + plane * image.layer + row * image.pitch + column;
        match memory_problem(runner, address, bytes) {
            Some(problem) => Err(problem),
            None => Ok(Some(address)),
        }
    }

    /// The address of each lane that accesses one.
    fn addresses(
        &self,
        runner: &BlockRunner,
        warp: &Warp,
        at: At,
    ) -> Result<Vec<(usize, u64)>, Stop> {
        let mut found = Vec::with_capacity(at.active.count_ones() as usize);
        for lane in lanes(at.active) {
            let coordinates = self.coordinates(&warp.registers, lane);
            let problem = match self.name.object(runner, &warp.registers, lane, false) {
                Ok(object) => match self.address(runner, object.image(), &coordinates) {
                    Ok(Some(address)) => {
                        found.push((lane, address));
                        continue;
                    }
                    Ok(None) => continue,
                    Err(problem) => problem,
                },
                // It has no defined result.
                Err(_) if !runner.launch.sanitize.uninitialized => continue,
                Err(problem) => problem,
            };
            let coordinates = coordinates.iter().map(|&one| one as f64).collect();
            let access = self.name.access(&warp.registers, lane, coordinates);
            let thread = (warp.index * LANES + lane) as u32;
            return Err(runner.fault(thread, at.pc, FaultKind::Image { access, problem }));
        }
        Ok(found)
    }

    /// The bytes that a lane stores.
    fn stored(&self, registers: &Registers, lane: usize) -> Bytes {
        let mut bytes = Bytes::default();
        let values = self.elements.registers.iter().flatten();
        let width = self.elements.bytes as usize;
        for (to, &slot) in bytes.chunks_exact_mut(width).zip(values) {
            to.copy_from_slice(&registers.lane(slot, lane).to_le_bytes()[..width]);
        }
        bytes
    }
}

#[derive(Debug)]
struct Load(Place);

impl Execute for Load {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let Place {
            elements, tally, ..
        } = &self.0;
        let found = self.0.addresses(runner, warp, at)?;
        let (mut addresses, mut active) = ([0; LANES], 0);
        for (lane, address) in found {
            addresses[lane] = address;
            active |= 1 << lane;
        }
        let was_late = warp.registers.late;
        let loads = LoadElements::default();
        if active != 0 {
            let request = (AccessKind::Load, &addresses, elements.width());
            runner.access_global(warp, At { active, ..at }, request, *tally, &loads)?;
        }
        let loaded = loads.loaded.into_inner();
        let width = elements.bytes as usize;
        elements.gather(&mut warp.registers, at.active, |lane, k| {
            let mut value = [0; 8];
            value[..width].copy_from_slice(&loaded[lane][k as usize..][..width]);
            u64::from_le_bytes(value)
        });
        let unset: Unset = loads.unset.into_inner();
        unset.follow(elements, runner, warp, at, was_late);
        Ok(Next::Step)
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.0.elements.track(shadow, is_late);
    }
}

#[derive(Debug)]
struct Store(Place);

impl Execute for Store {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let found = self.0.addresses(runner, warp, at)?;
        runner.turn.changes += 1;
        runner.turn.stored_at = runner.turn.executed;
        let (mut addresses, mut active) = ([0; LANES], 0);
        let mut values = [Bytes::default(); LANES];
        for (lane, address) in found {
            addresses[lane] = address;
            active |= 1 << lane;
            values[lane] = self.0.stored(&warp.registers, lane);
        }
        if active != 0 {
            let request = (AccessKind::Store, &addresses, self.0.elements.width());
            let stores = StoreElements { values };
            runner.access_global(warp, At { active, ..at }, request, self.0.tally, &stores)?;
        }
        Ok(Next::Step)
    }
}
