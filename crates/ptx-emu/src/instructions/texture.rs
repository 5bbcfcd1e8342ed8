//! Textures: `tex`, `tld4`, `txq`.
//!
//! A fetch reads the elements that `image::sampling` names, one after the other for all lanes, with
//! the checks of a load: their memory, races, bytes that nothing has written. Elements without
//! weight are not read.

use std::cell::RefCell;

use ptx::{Operand, OperandKind, RegClass, ScalarType};

use super::elements::Elements;
use crate::access::{Action, Region};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, FaultKind, ImageAccess, ImageProblem, Stop};
use crate::image::element::{self, Bytes};
use crate::image::sampling::{Coordinates, Footprint, Shape, Tap};
use crate::image::{Image, Object, Sampler, levels};
use crate::read::{Read, Reader, Width, other};
use crate::registers::{LANES, Registers, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_origin::Origin;
use crate::unset_values::facts::{LoadsOwn, Rule};
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

/// The register that names an object, and the operands that are coordinates.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub(super) object: Slot,
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
        if !name.starts_with('%') && r.is_symbol(name) {
            return Err(r.unsupported("a texture or surface by its name"));
        }
        let register = Operand {
            kind: OperandKind::Name(name, None),
            pos: operand.pos,
        };
        let object = r.address_value(&register, ScalarType::B64)?;
        Ok(Self {
            object,
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

/// `tex`, `tld4`.
pub(super) fn fetch(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Load;
    let channel = match r.opcode {
        "tld4" => Some(r.need("component", &[("r", 0), ("g", 1), ("b", 2), ("a", 3)])?),
        _ => None,
    };
    let details = match channel {
        None => r
            .choice(&[("level", 1), ("grad", 2), ("base", 0)])
            .unwrap_or(0),
        Some(_) => 0,
    };
    let shape = shape(r)?;
    if channel.is_some() && (shape.dimensions, shape.is_cube) != (2, false) {
        return Err(r.unsupported("these dimensions"));
    }
    if details == 2 && shape.is_cube {
        return Err(r.unsupported("the changes of directions"));
    }
    if !r.has("v4") {
        return Err(r.missing("`.v4`"));
    }
    let ty = r.ty()?;
    if !matches!(ty, ScalarType::F32 | ScalarType::U32 | ScalarType::S32) {
        return Err(r.unsupported_type(ty));
    }
    let of_coordinates = r.ty()?;
    if !matches!(of_coordinates, ScalarType::F32 | ScalarType::S32) {
        return Err(r.unsupported_type(of_coordinates));
    }
    r.operands(2 + details)?;
    let operand = r.operand()?;
    let registers = match r.vector(operand)? {
        Some(all) if all.len() == 4 => all,
        _ => return Err(r.unexpected(operand, "a vector of 4")),
    };
    let registers = { registers.iter() }
        .map(|one| r.register_or_sink(one, ty, Width::Exact))
        .collect::<Read<_>>()?;
    let named = Named::read(r)?;
    let mut types = vec![of_coordinates; shape.dimensions];
    if shape.is_layered {
        types.insert(0, ScalarType::U32);
    }
    let coordinates = named.rows(r, &types)?;
    let detail = match details {
        0 => Detail::Base,
        1 => Detail::Level(r.src(of_coordinates)?),
        _ => Detail::Gradients([gradient(r, shape)?, gradient(r, shape)?]),
    };
    r.rule = Rule::Memory(LoadsOwn::Never);
    other(Fetch {
        written: r.written().into(),
        object: named.object,
        coordinates,
        shape,
        is_integer: of_coordinates == ScalarType::S32,
        channel,
        detail,
        elements: Elements {
            registers,
            bytes: 4,
            is_signed: false,
            unset: None,
            late: None,
        },
        tally: r.function.tally(),
    })
}

/// The change of each coordinate: `tex.grad` has two, from a pixel to those beside and below it.
fn gradient(r: &mut Reader, shape: Shape) -> Read<Box<[Slot]>> {
    let operand = r.operand()?;
    let all = r.vector(operand)?.unwrap_or_else(|| vec![operand.clone()]);
    if all.len() < shape.dimensions {
        return Err(r.unexpected(operand, "a change of each coordinate"));
    }
    let own = all[..shape.dimensions].iter();
    own.map(|one| r.address_value(one, ScalarType::F32))
        .collect()
}

/// What says how small a level of a mipmap a fetch reads.
#[derive(Debug)]
enum Detail {
    /// The first one.
    Base,
    Level(Slot),
    Gradients([Box<[Slot]>; 2]),
}

#[derive(Debug)]
struct Fetch {
    /// As it is written, for messages.
    written: Box<str>,
    object: Slot,
    /// The layer's number first.
    coordinates: Box<[Slot]>,
    shape: Shape,
    /// Coordinates are integers.
    is_integer: bool,
    /// The channel of `tld4`, which gives that of four elements.
    channel: Option<usize>,
    detail: Detail,
    elements: Elements,
    tally: u32,
}

/// The fetch of a lane.
#[derive(Debug)]
struct Sampled<'l> {
    image: &'l Image,
    sampler: &'l Sampler,
    /// Its elements, each with its level.
    taps: Vec<(&'l Image, Tap)>,
    /// The bytes of each.
    read: Vec<Bytes>,
}

impl Fetch {
    fn coordinates(&self, registers: &Registers, lane: usize) -> Coordinates {
        let bits = |k: usize| {
            let slot = self.coordinates.get(k + usize::from(self.shape.is_layered));
            slot.map_or(0, |&slot| registers.lane(slot, lane) as u32)
        };
        let all = [bits(0), bits(1), bits(2)];
        Coordinates {
            layer: if self.shape.is_layered {
                registers.lane(self.coordinates[0], lane) as u32
            } else {
                0
            },
            at: all.map(f32::from_bits),
            integers: self.is_integer.then(|| all.map(|one| one as i32)),
        }
    }

    /// The level that the fetch of a lane names, if it names one.
    fn detail(&self, registers: &Registers, lane: usize, image: &Image) -> Option<f32> {
        let value = |slot: Slot| registers.lane(slot, lane) as u32;
        match &self.detail {
            Detail::Base => None,
            Detail::Level(slot) if self.is_integer => Some(value(*slot) as i32 as f32),
            Detail::Level(slot) => Some(f32::from_bits(value(*slot))),
            Detail::Gradients(both) => {
                let mut changes = [[0.0; 3]; 2];
                for (change, slots) in changes.iter_mut().zip(both) {
                    for (to, slot) in change.iter_mut().zip(slots) {
                        *to = f32::from_bits(value(*slot));
                    }
                }
                Some(levels::of_changes(image.extent, changes))
            }
        }
    }

    /// The access of a lane, for messages.
    fn access(&self, registers: &Registers, lane: usize) -> ImageAccess {
        let value = |(k, &slot): (usize, &Slot)| {
            let bits = registers.lane(slot, lane) as u32;
            match (k, self.is_integer) {
                (0, _) if self.shape.is_layered => f64::from(bits),
                (_, true) => f64::from(bits as i32),
                (_, false) => f64::from(f32::from_bits(bits)),
            }
        };
        ImageAccess {
            instruction: self.written.to_string(),
            object: registers.lane(self.object, lane),
            coordinates: self.coordinates.iter().enumerate().map(value).collect(),
        }
    }

    /// The lanes whose object is a texture, with the elements that they read.
    fn sampled<'l>(
        &self,
        runner: &BlockRunner<'l>,
        registers: &Registers,
        at: At,
        warp: usize,
    ) -> Result<Vec<(usize, Sampled<'l>)>, Stop> {
        let mut all = Vec::with_capacity(at.active.count_ones() as usize);
        for lane in lanes(at.active) {
            let number = registers.lane(self.object, lane);
            let object = match object(runner, number, true) {
                Ok(object) => object,
                // It has no defined result.
                Err(_) if !runner.launch.sanitize.uninitialized => continue,
                Err(problem) => {
                    let access = self.access(registers, lane);
                    let thread = (warp * LANES + lane) as u32;
                    return Err(runner.fault(thread, at.pc, FaultKind::Image { access, problem }));
                }
            };
            let Some(sampler) = &object.sampler else {
                continue;
            };
            let point = self.coordinates(registers, lane);
            let gathers = self.channel.is_some();
            let detail = self.detail(registers, lane, object.image());
            let mut taps = Vec::new();
            for (level, part) in levels::chosen(object.levels.len(), sampler, detail) {
                let image = &object.levels[level];
                let footprint = Footprint::of(image, sampler, self.shape, &point, gathers, part);
                taps.extend(footprint.taps.into_iter().map(|tap| (image, tap)));
            }
            let sampled = Sampled {
                image: object.image(),
                sampler,
                read: vec![Bytes::default(); taps.len()],
                taps,
            };
            all.push((lane, sampled));
        }
        Ok(all)
    }

    /// The four results of a lane.
    fn results(&self, one: &Sampled) -> [u32; 4] {
        match self.channel {
            // The PTX ISA's order of `tld4` goes around: below left, below right, above right,
            // above left.
            Some(channel) => [2, 3, 1, 0].map(|tap| one.channels(tap)[channel]),
            None => one.filtered(),
        }
    }
}

impl Sampled<'_> {
    /// The channels of one of its elements, as bits.
    fn channels(&self, tap: usize) -> [u32; 4] {
        match self.taps[tap].1.at {
            Some(_) if element::gives_integers(self.image, self.sampler) => {
                element::integers(self.image, &self.read[tap])
            }
            _ => self.floats(tap).map(f32::to_bits),
        }
    }

    fn floats(&self, tap: usize) -> [f32; 4] {
        match self.taps[tap].1.at {
            Some(_) => element::floats(self.image, self.sampler, &self.read[tap]),
            None if self.image.kind == crate::image::ImageKind::Linear => [0.0; 4],
            None => self.sampler.border,
        }
    }

    /// The sum of its elements by their weights; of integers, the first.
    fn filtered(&self) -> [u32; 4] {
        let taps = &self.taps;
        if taps.len() == 1 || element::gives_integers(self.image, self.sampler) {
            return self.channels(0);
        }
        let mut sums = [0.0; 4];
        for (k, (_, tap)) in taps.iter().enumerate() {
            for (sum, value) in sums.iter_mut().zip(self.floats(k)) {
                *sum += tap.weight * f64::from(value);
            }
        }
        sums.map(|sum| (sum as f32).to_bits())
    }
}

/// The object of a number, if it is of this kind.
pub(super) fn object<'l>(
    runner: &BlockRunner<'l>,
    number: u64,
    is_texture: bool,
) -> Result<&'l Object, ImageProblem> {
    let images = runner.launch.images;
    match images.get(number) {
        Some(object) if object.sampler.is_some() == is_texture => Ok(object),
        Some(_) => Err(ImageProblem::OtherKind),
        None if images.was_destroyed(number) => Err(ImageProblem::Destroyed),
        None => Err(ImageProblem::NeverMade),
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

impl Execute for Fetch {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let mut all = self.sampled(runner, &warp.registers, at, warp.index)?;
        let is_late = warp.registers.late;
        let mut unset = Unset::default();
        let most = all.iter().map(|(_, one)| one.read.len()).max();
        for tap in 0..most.unwrap_or(0) {
            // The elements that lanes read, by their size.
            for bytes in [1, 2, 4, 8, 16] {
                let mut addresses = [0; LANES];
                let mut active = 0;
                for (lane, one) in &all {
                    let place = { one.taps.get(tap) }
                        .and_then(|(image, tap)| Some((image, tap.at?)))
                        .filter(|(image, _)| image.element_bytes() == bytes);
                    let Some((image, place)) = place else {
                        continue;
                    };
                    addresses[*lane] = image.element(place);
                    active |= 1 << lane;
                    if let Some(problem) = memory_problem(runner, addresses[*lane], bytes) {
                        let access = self.access(&warp.registers, *lane);
                        let thread = (warp.index * LANES + lane) as u32;
                        let kind = FaultKind::Image { access, problem };
                        return Err(runner.fault(thread, at.pc, kind));
                    }
                }
                if active == 0 {
                    continue;
                }
                let loads = LoadElements::default();
                let request = (AccessKind::Load, &addresses, bytes);
                runner.access_global(warp, At { active, ..at }, request, self.tally, &loads)?;
                unset.add(&loads.unset.into_inner());
                let loaded = loads.loaded.into_inner();
                for (lane, one) in all.iter_mut().filter(|(lane, _)| active >> lane & 1 == 1) {
                    one.read[tap] = loaded[*lane];
                }
            }
        }
        let mut results = [[0; 4]; LANES];
        for (lane, one) in &all {
            results[*lane] = self.results(one);
            // A filter computes; other fetches move what is there, as a copy does.
            if one.read.len() > 1 && self.channel.is_none() {
                unset.origins[*lane] = unset.origins[*lane].computed();
            }
        }
        self.elements
            .gather(&mut warp.registers, at.active, |lane, k| {
                results[lane][(k / 4) as usize].into()
            });
        unset.follow(&self.elements, runner, warp, at, is_late);
        Ok(Next::Step)
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.elements.track(shadow, is_late);
    }
}

/// Lanes that have read bytes that nothing has written, and where their values come from.
#[derive(Debug, Default)]
pub(super) struct Unset {
    lanes: u32,
    origins: [Origin; LANES],
}

impl Unset {
    fn add(&mut self, other: &Unset) {
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

/// The questions of `txq` and `suq`.
#[derive(Clone, Copy, Debug)]
enum Question {
    Extent(usize),
    Layers,
    IsNormalized,
    Levels,
}

/// `txq`, `suq`.
pub(super) fn query(r: &mut Reader) -> Read<Op> {
    let is_texture = r.opcode == "txq";
    let question = r.choice(&[
        ("width", Question::Extent(0)),
        ("height", Question::Extent(1)),
        ("depth", Question::Extent(2)),
        ("array_size", Question::Layers),
        ("normalized_coords", Question::IsNormalized),
        ("num_mipmap_levels", Question::Levels),
    ]);
    let Some(question) = question else {
        return Err(r.unsupported("this query"));
    };
    r.only_type(ScalarType::B32)?;
    r.operands(2)?;
    let to = r.dst(ScalarType::B32)?;
    let object = Named::read(r)?.object;
    debug_assert_eq!(to.class, RegClass::B32);
    other(Query {
        written: r.written().into(),
        is_texture,
        question,
        to,
        object,
    })
}

#[derive(Debug)]
struct Query {
    written: Box<str>,
    is_texture: bool,
    question: Question,
    to: Slot,
    object: Slot,
}

impl Execute for Query {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let number = warp.registers.lane(self.object, lane);
            let answer = match object(runner, number, self.is_texture) {
                Ok(object) => self.question.answer(object),
                Err(_) if !runner.launch.sanitize.uninitialized => 0,
                Err(problem) => {
                    let access = ImageAccess {
                        instruction: self.written.to_string(),
                        object: number,
                        coordinates: Vec::new(),
                    };
                    let thread = (warp.index * LANES + lane) as u32;
                    return Err(runner.fault(thread, at.pc, FaultKind::Image { access, problem }));
                }
            };
            warp.registers.set_lane(self.to, lane, answer.into());
        }
        Ok(Next::Step)
    }
}

impl Question {
    fn answer(self, object: &Object) -> u32 {
        use crate::image::ImageKind;
        let Image { kind, extent, .. } = *object.image();
        let is_flat = matches!(kind, ImageKind::Layered | ImageKind::Cube);
        match self {
            Question::Extent(2) if is_flat => 1,
            Question::Extent(k) => extent[k],
            Question::Layers if kind == ImageKind::Cube => extent[2] / 6,
            Question::Layers if is_flat => extent[2],
            Question::Layers => 1,
            Question::Levels => object.levels.len() as u32,
            Question::IsNormalized => object
                .sampler
                .is_some_and(|sampler| sampler.is_normalized)
                .into(),
        }
    }
}
