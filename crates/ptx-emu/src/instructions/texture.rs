//! Textures: `tex`, `tld4`.
//!
//! A fetch reads the elements that `image::sampling` names, one after the other for all lanes, with
//! the checks of a load: their memory, races, bytes that nothing has written. Elements without
//! weight are not read.

use ptx::{Operand, OperandKind, ScalarType};

use super::elements::Elements;
use super::images::{LoadElements, Name, Named, Unset, memory_problem, shape};
use crate::counts::InstructionClass;
use crate::exact::{F16, F32, Rounding, convert};
use crate::fault::{AccessKind, FaultKind, ImageAccess, Stop};
use crate::image::element::{self, Bytes};
use crate::image::sampling::{Coordinates, Footprint, Shape, Tap, face_changes};
use crate::image::{Image, Sampler, levels};
use crate::read::{Read, Reader, Width, other};
use crate::registers::{LANES, Registers, Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::{LoadsOwn, Rule};
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

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
    let count = r.need("`.v4`", &[("v4", 4), ("v2", 2)])?;
    let ty = r.ty()?;
    match (count, ty) {
        (4, ScalarType::F32 | ScalarType::U32 | ScalarType::S32) => {}
        // A gather of halves has no form (PTX ISA, "tld4").
        (4, ScalarType::F16) | (2, ScalarType::F16x2) if channel.is_none() => {}
        (2, _) => return Err(r.no_such_form()),
        _ => return Err(r.unsupported_type(ty)),
    }
    let of_coordinates = r.ty()?;
    if !matches!(of_coordinates, ScalarType::F32 | ScalarType::S32) {
        return Err(r.unsupported_type(of_coordinates));
    }
    if r.operands_between(2 + details, 4 + details)? > 2 + details {
        return Err(r.unsupported("an offset, or a depth to compare with,"));
    }
    let (registers, resident) = results(r, count, ty)?;
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
        name: Name::new(r, named),
        coordinates,
        shape,
        is_integer: of_coordinates == ScalarType::S32,
        channel,
        detail,
        elements: Elements {
            registers,
            bytes: ty.bytes(),
            is_signed: false,
            unset: None,
            late: None,
        },
        resident,
        halves: match ty {
            ScalarType::F16 => Halves::Apart,
            ScalarType::F16x2 => Halves::Pairs,
            _ => Halves::None,
        },
        tally: r.function.tally(),
    })
}

/// The registers of a fetch, and the predicate behind their `|`.
type Results = (Box<[Option<Slot>]>, Option<Elements>);

/// The next operand, a vector.
fn results(r: &mut Reader, count: usize, ty: ScalarType) -> Read<Results> {
    let operand = r.operand()?;
    let (all, predicate) = match &operand.kind {
        OperandKind::Resident(all, predicate) => (Some(all.clone()), Some(*predicate)),
        _ => (r.vector(operand)?, None),
    };
    let Some(all) = all.filter(|all| all.len() == count) else {
        let expected = if count == 4 {
            "a vector of 4"
        } else {
            "a vector of 2"
        };
        return Err(r.unexpected(operand, expected));
    };
    let registers = { all.iter() }
        .map(|one| r.register_or_sink(one, ty, Width::Exact))
        .collect::<Read<_>>()?;
    let mut resident = None;
    if let Some(name) = predicate {
        let register = Operand {
            kind: OperandKind::Name(name, None),
            pos: operand.pos,
        };
        resident = Some(Elements {
            registers: [Some(r.register(
                &register,
                ScalarType::Pred,
                Width::Exact,
            )?)]
            .into(),
            bytes: 1,
            is_signed: false,
            unset: None,
            late: None,
        });
    }
    Ok((registers, resident))
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
    name: Name,
    /// The layer's number first.
    coordinates: Box<[Slot]>,
    shape: Shape,
    /// Coordinates are integers.
    is_integer: bool,
    /// The channel of `tld4`, which gives that of four elements.
    channel: Option<usize>,
    detail: Detail,
    elements: Elements,
    /// The predicate for whether the elements are in memory (PTX ISA, "tex"). All are: arrays
    /// with parts that are not, sparse ones, cannot be made here.
    resident: Option<Elements>,
    halves: Halves,
    tally: u32,
}

/// Whether results are floats of 16 bits.
#[derive(Clone, Copy, Debug)]
enum Halves {
    None,
    Apart,
    /// Two in each register: red and green, blue and alpha.
    Pairs,
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
    fn detail(
        &self,
        registers: &Registers,
        lane: usize,
        image: &Image,
        point: &Coordinates,
    ) -> Option<f32> {
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
                if self.shape.is_cube {
                    changes = changes.map(|change| face_changes(point.at, change));
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
        let coordinates = self.coordinates.iter().enumerate().map(value).collect();
        self.name.access(registers, lane, coordinates)
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
            let object = match self.name.object(runner, registers, lane, true) {
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
            let detail = self.detail(registers, lane, object.image(), &point);
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
            None => self.rounded(one.filtered()),
        }
    }

    /// Results of 32 bits as those of the instruction's type.
    fn rounded(&self, all: [u32; 4]) -> [u32; 4] {
        let half = |bits: u32| convert(bits.into(), &F32, &F16, Rounding::Nearest) as u32;
        match self.halves {
            Halves::None => all,
            Halves::Apart => all.map(half),
            Halves::Pairs => {
                let [red, green, blue, alpha] = all.map(half);
                [red | green << 16, blue | alpha << 16, 0, 0]
            }
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
                results[lane][k as usize / self.elements.bytes as usize].into()
            });
        if let Some(resident) = &self.resident {
            resident.gather(&mut warp.registers, at.active, |_, _| 1);
            Unset::default().follow(resident, runner, warp, at, is_late);
        }
        unset.follow(&self.elements, runner, warp, at, is_late);
        Ok(Next::Step)
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.elements.track(shadow, is_late);
        if let Some(resident) = &mut self.resident {
            resident.track(shadow, is_late);
        }
    }
}
