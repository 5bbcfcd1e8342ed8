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

/// The coordinates of an access: first the layer's number, if there is one.
#[derive(Debug)]
pub(super) struct Coordinates {
    slots: Box<[Slot]>,
    is_layered: bool,
    outside: Outside,
}

impl Coordinates {
    pub(super) fn read<'a>(
        r: &mut Reader<'_, '_, 'a>,
        named: &Named<'a>,
        shape: &Shape,
        outside: Outside,
    ) -> Read<Self> {
        let mut types = vec![ScalarType::S32; shape.dimensions];
        if shape.is_layered {
            types.insert(0, ScalarType::U32);
        }
        Ok(Self {
            slots: named.rows(r, &types)?,
            is_layered: shape.is_layered,
            outside,
        })
    }

    /// Those of a lane. A layer's number has no sign.
    pub(super) fn of_lane(&self, registers: &Registers, lane: usize) -> Vec<i64> {
        let values = self.slots.iter().map(|&slot| registers.lane(slot, lane));
        let signed = |(k, value): (usize, u64)| match k {
            0 if self.is_layered => (value as u32).into(),
            _ => (value as i32).into(),
        };
        values.enumerate().map(signed).collect()
    }

    /// Where in a surface a lane accesses it, if along each axis places up to `last` are inside;
    /// none where `.zero` makes no access.
    ///
    /// # Errors
    ///
    /// `problem`, where `.trap` tells an access outside.
    pub(super) fn place(
        &self,
        all: &[i64],
        last: [i64; 3],
        problem: ImageProblem,
    ) -> Result<Option<[u32; 3]>, ImageProblem> {
        let (layer, rest) = match all {
            [layer, rest @ ..] if self.is_layered => (*layer, rest),
            _ => (0, all),
        };
        let part = |k: usize, other: i64| rest.get(k).copied().unwrap_or(other);
        let at = [part(0, 0), part(1, 0), part(2, layer)];
        let is_inside = (0..3).all(|k| (0..=last[k]).contains(&at[k]));
        match self.outside {
            Outside::Trap if !is_inside => Err(problem),
            Outside::Zero if !is_inside => Ok(None),
            _ => Ok(Some(std::array::from_fn(|k| {
                at[k].clamp(0, last[k].max(0)) as u32
            }))),
        }
    }

    /// The lanes that access a surface, each with the `address` that it accesses and the surface.
    ///
    /// # Errors
    ///
    /// The fault of the first lane that accesses what is not there.
    pub(super) fn accesses<'l>(
        &self,
        name: &Name,
        runner: &BlockRunner<'l>,
        warp: &Warp,
        at: At,
        address: impl Fn(&Image, &[i64]) -> Result<Option<u64>, ImageProblem>,
    ) -> Result<Vec<(usize, u64, &'l Image)>, Stop> {
        let registers = &warp.registers;
        let mut found = Vec::with_capacity(at.active.count_ones() as usize);
        for lane in lanes(at.active) {
            let coordinates = self.of_lane(registers, lane);
            let problem = match name.object(runner, registers, lane, false) {
                Ok(object) => match address(object.image(), &coordinates) {
                    Ok(Some(place)) => {
                        found.push((lane, place, object.image()));
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
            let access = name.access(registers, lane, coordinates);
            let kind = FaultKind::Image { access, problem };
            return Err(runner.fault(warp.thread(lane), at.pc, kind));
        }
        Ok(found)
    }
}

/// The place of an access, and what it moves.
#[derive(Debug)]
struct Place {
    name: Name,
    coordinates: Coordinates,
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
    let coordinates = Coordinates::read(r, &named, &shape, outside)?;
    let registers = match registers {
        Some(registers) => registers,
        None => values(r, Some(count), ty, false)?,
    };
    r.function.note_access(ptx::Space::Global, ty.bytes());
    Ok(Place {
        name: Name::new(r, named),
        coordinates,
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
    /// The address of a lane's access; none where `.zero` makes none.
    fn address(
        &self,
        runner: &BlockRunner,
        image: &Image,
        all: &[i64],
    ) -> Result<Option<u64>, ImageProblem> {
        let bytes = self.elements.width();
        let extent = [
            u64::from(image.extent[0]) * u64::from(image.element_bytes()),
            image.extent[1].into(),
            image.extent[2].into(),
        ];
        let last = [
            extent[0] as i64 - i64::from(bytes),
            extent[1] as i64 - 1,
            extent[2] as i64 - 1,
        ];
        let beyond = ImageProblem::Outside { extent, bytes };
        let Some(at) = self.coordinates.place(all, last, beyond)? else {
            return Ok(None);
        };
        let [column, row, plane] = at.map(u64::from);
        if !column.is_multiple_of(bytes.into()) {
            return Err(ImageProblem::Misaligned { bytes });
        }
        let address = image.address + plane * image.layer + row * image.pitch + column;
        match memory_problem(runner, address, bytes) {
            Some(problem) => Err(problem),
            None => Ok(Some(address)),
        }
    }

    /// The lanes that access a surface, with their addresses.
    fn accesses<'l>(
        &self,
        runner: &BlockRunner<'l>,
        warp: &Warp,
        at: At,
    ) -> Result<Vec<(usize, u64, &'l Image)>, Stop> {
        let address = |image: &Image, all: &[i64]| self.address(runner, image, all);
        let coordinates = &self.coordinates;
        coordinates.accesses(&self.name, runner, warp, at, address)
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
        let found = self.0.accesses(runner, warp, at)?;
        let (mut addresses, mut active) = ([0; LANES], 0);
        for (lane, address, _) in found {
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
        let found = self.0.accesses(runner, warp, at)?;
        runner.turn.changes += 1;
        runner.turn.stored_at = runner.turn.executed;
        let (mut addresses, mut active) = ([0; LANES], 0);
        let mut values = [Bytes::default(); LANES];
        for (lane, address, _) in found {
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
