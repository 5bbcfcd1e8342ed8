//! What `tex`, `suld` and `sust` share: the operand that names an object, and the loads of its
//! elements.

use std::cell::RefCell;

use ptx::{Operand, OperandKind, ScalarType};

use super::elements::Elements;
use crate::access::{Action, Region};
use crate::fault::{ImageAccess, ImageProblem, Stop};
use crate::image::Object;
use crate::image::element::Bytes;
use crate::image::sampling::Shape;
use crate::read::{Read, Reader};
use crate::registers::{LANES, Registers, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner};
use crate::unset_origin::Origin;
use crate::warp::Warp;

/// The value that names an object, and the operands that are coordinates.
#[derive(Debug)]
pub(super) struct Named<'a> {
    /// The object's number, or the address of a reference: of a variable of type `.texref` or
    /// `.surfref`, which the driver binds (PTX ISA, "Texture Sampler and Surface Types").
    pub(super) object: Slot,
    /// The reference's name, where the instruction has it.
    pub(super) name: Option<Box<str>>,
    coordinates: Vec<Operand<'a>>,
}

impl<'a> Named<'a> {
    /// The next operand: `[object, {coordinates}]`, or `[object]`.
    pub(super) fn read(r: &mut Reader<'_, '_, 'a>) -> Read<Self> {
        let operand = r.operand()?;
        let (name, coordinates) = match &operand.kind {
            OperandKind::Image(name, coordinates) => (*name, coordinates.clone()),
            OperandKind::Address(ptx::AddressBase::Name(name), 0) => (*name, Vec::new()),
            _ => return Err(r.unexpected(operand, "a texture or surface in `[ ]`")),
        };
        if let Some(object) = r.variable(name)? {
            return Ok(Self {
                object,
                name: Some(name.into()),
                coordinates,
            });
        }
        let register = Operand {
            kind: OperandKind::Name(name, None),
            pos: operand.pos,
        };
        Ok(Self {
            object: r.address_value(&register, ScalarType::B64)?,
            name: None,
            coordinates,
        })
    }

    /// The rows of coordinates, of these types. There may be more, which are padding.
    pub(super) fn rows(
        &self,
        r: &mut Reader<'_, '_, 'a>,
        types: &[ScalarType],
    ) -> Read<Box<[Slot]>> {
        if self.coordinates.len() < types.len() {
            return Err(r.unsupported("this number of coordinates"));
        }
        let pairs = self.coordinates.iter().zip(types);
        pairs.map(|(one, &ty)| r.address_value(one, ty)).collect()
    }
}

/// Takes the dimensions.
pub(super) fn shape(r: &mut Reader) -> Read<Shape> {
    let shape = |dimensions, is_layered, is_cube| Shape {
        dimensions,
        is_layered,
        is_cube,
    };
    r.need(
        "dimensions",
        &[
            ("1d", shape(1, false, false)),
            ("2d", shape(2, false, false)),
            ("3d", shape(3, false, false)),
            ("a1d", shape(1, true, false)),
            ("a2d", shape(2, true, false)),
            ("cube", shape(3, false, true)),
            ("acube", shape(3, true, true)),
        ],
    )
}

/// What names an object in an instruction that is executed.
#[derive(Debug)]
pub(super) struct Name {
    /// The instruction as it is written, for messages.
    written: Box<str>,
    object: Slot,
    reference: Option<Box<str>>,
}

impl Name {
    pub(super) fn new(r: &Reader, named: Named) -> Self {
        Self {
            written: r.written().into(),
            object: named.object,
            reference: named.name,
        }
    }

    /// The access of a lane, for messages.
    pub(super) fn access(
        &self,
        registers: &Registers,
        lane: usize,
        coordinates: Vec<f64>,
    ) -> ImageAccess {
        ImageAccess {
            instruction: self.written.to_string(),
            object: registers.lane(self.object, lane),
            reference: self.reference.as_deref().map(str::to_owned),
            coordinates,
        }
    }

    /// The object of a lane, if it is of this kind.
    pub(super) fn object<'l>(
        &self,
        runner: &BlockRunner<'l>,
        registers: &Registers,
        lane: usize,
        is_texture: bool,
    ) -> Result<&'l Object, ImageProblem> {
        let images = runner.launch.images;
        let number = registers.lane(self.object, lane);
        match images.get(number) {
            Some(object) if object.sampler.is_some() == is_texture => Ok(object),
            Some(_) => Err(ImageProblem::OtherKind),
            None if self.reference.is_some() => Err(ImageProblem::Unbound),
            None if images.was_destroyed(number) => Err(ImageProblem::Destroyed),
            None => Err(ImageProblem::NeverMade),
        }
    }
}

/// The problem of an element's memory, if it is not there.
pub(super) fn memory_problem(
    runner: &BlockRunner,
    address: u64,
    bytes: u32,
) -> Option<ImageProblem> {
    if runner.launch.memory.find(address, bytes.into()).is_some() {
        return None;
    }
    let stray = runner.beside_buffers(address, bytes);
    Some(ImageProblem::Memory { stray, bytes })
}

/// Lanes that have read bytes that nothing has written, and where their values come from.
#[derive(Debug, Default)]
pub(super) struct Unset {
    pub(super) lanes: u32,
    pub(super) origins: [Origin; LANES],
}

impl Unset {
    pub(super) fn add(&mut self, other: &Unset) {
        for lane in lanes(other.lanes & !self.lanes) {
            self.origins[lane] = other.origins[lane];
        }
        self.lanes |= other.lanes;
    }

    /// Notes that the registers of these lanes are unset, and that those of the others are set.
    pub(super) fn follow(
        &self,
        elements: &Elements,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        at: At,
        was_late: bool,
    ) {
        if warp.registers.late && !was_late {
            let loaded: Vec<_> = elements.tracked(true).map(|(_, row)| row.bits).collect();
            runner.follow_loaded(warp, at, &loaded);
        }
        let registers = &mut warp.registers;
        for (_, shadow) in elements.tracked(registers.late) {
            registers.fill(shadow.bits, at.active, 0);
            for lane in lanes(self.lanes & at.active) {
                registers.set_lane(shadow.bits, lane, u64::MAX);
                registers.r32_mut(shadow.origin)[lane] = self.origins[lane].to_bits();
            }
        }
    }
}

/// Loads an element of each lane.
#[derive(Debug, Default)]
pub(super) struct LoadElements {
    pub(super) loaded: RefCell<[Bytes; LANES]>,
    pub(super) unset: RefCell<Unset>,
}

impl Action for LoadElements {
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let unwritten = runner.check_loaded(request, region, span);
        registers.late |= unwritten.is_some();
        if runner.launch.sanitize.races {
            runner.check_load(request, region, span)?;
        }
        let (mut loaded, mut unset) = (self.loaded.borrow_mut(), self.unset.borrow_mut());
        for lane in lanes(request.mask) {
            let offset = request.addresses[lane] - region.base();
            for (byte, to) in (0..).zip(&mut loaded[lane][..request.width as usize]) {
                *to = region.load(lane, offset + byte, 1) as u8;
            }
        }
        if let Some(unwritten) = unwritten {
            unset.lanes |= unwritten.lanes;
            for lane in lanes(unwritten.lanes) {
                let offset = request.addresses[lane] - region.base();
                let stored = region.origin(lane, offset);
                unset.origins[lane] = unwritten.origin(lane, stored);
            }
        }
        Ok(())
    }
}

/// Stores the bytes of each lane.
#[derive(Debug)]
pub(super) struct StoreElements {
    pub(super) values: [Bytes; LANES],
}

impl Action for StoreElements {
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        _: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let bytes = |lane: usize| self.values[lane][..request.width as usize].iter().zip(0..);
        let store_lanes = |to: &mut R, some: u32| {
            for lane in lanes(some) {
                let start = request.addresses[lane] - to.base();
                bytes(lane).for_each(|(&byte, k)| to.store(lane, start + k, 1, byte.into()));
            }
        };
        if runner.launch.sanitize.races {
            let changes = |held: &R, lane: usize| {
                let start = request.addresses[lane] - held.base();
                bytes(lane).any(|(&byte, k)| held.load(lane, start + k, 1) as u8 != byte)
            };
            runner.check_stores(request, region, span, changes, store_lanes)?;
        } else {
            store_lanes(region, request.mask);
        }
        runner.mark_written(request, region, span);
        Ok(())
    }
}
