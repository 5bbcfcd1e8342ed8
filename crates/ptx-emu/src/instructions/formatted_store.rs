//! Formatted stores to surfaces: `sust.p`.
//!
//! The first coordinate counts elements, and values of 32 bits become the channels of an element:
//! they are floats where the surface has floats, and integers where it has integers (PTX ISA,
//! "sust"). Compilers of shaders write it, Slang among them.

use ptx::ScalarType;

use super::images::{Name, Named, StoreElements, memory_problem, shape};
use super::surface::{Coordinates, outside, values};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, ImageProblem, Stop};
use crate::image::Image;
use crate::image::element::{self, Bytes};
use crate::read::{Read, Reader, other};
use crate::registers::{LANES, Registers, Slot};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

/// `sust.p`, behind its `.p`.
pub(super) fn store(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Store, Rule::Strict);
    let shape = shape(r)?;
    if shape.is_cube {
        return Err(r.no_such_form());
    }
    super::surface::skip_caching(r);
    let count = r.choice(&[("v2", 2), ("v4", 4)]);
    r.only_type(ScalarType::B32)?;
    let outside = outside(r)?;
    r.operands(2)?;
    let named = Named::read(r)?;
    let coordinates = Coordinates::read(r, &named, &shape, outside)?;
    let values = values(r, count, ScalarType::B32, false)?;
    // Elements may have a byte.
    r.function.note_access(ptx::Space::Global, 1);
    other(FormattedStore {
        name: Name::new(r, named),
        coordinates,
        values,
        tally: r.function.tally(),
    })
}

#[derive(Debug)]
struct FormattedStore {
    name: Name,
    coordinates: Coordinates,
    /// Red, green, blue, alpha, as many as there are.
    values: Box<[Option<Slot>]>,
    tally: u32,
}

impl FormattedStore {
    /// The address of the element that a lane stores; none where `.zero` stores none.
    fn address(
        &self,
        runner: &BlockRunner,
        image: &Image,
        all: &[i64],
    ) -> Result<Option<u64>, ImageProblem> {
        let beyond = ImageProblem::OutsideElements {
            extent: image.extent.map(u64::from),
        };
        let last = image.extent.map(|count| i64::from(count) - 1);
        let Some(at) = self.coordinates.place(all, last, beyond)? else {
            return Ok(None);
        };
        let address = image.element(at);
        match memory_problem(runner, address, image.element_bytes()) {
            Some(problem) => Err(problem),
            None => Ok(Some(address)),
        }
    }

    /// The element that a lane stores. What its vector lacks has any value; here it is 0.
    fn element(&self, image: &Image, registers: &Registers, lane: usize) -> Bytes {
        let value = |k: usize| {
            let slot = self.values.get(k).copied().flatten();
            slot.map_or(0, |slot| registers.lane(slot, lane) as u32)
        };
        element::of_values(image, std::array::from_fn(value))
    }
}

impl Execute for FormattedStore {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let address = |image: &Image, all: &[i64]| self.address(runner, image, all);
        let coordinates = &self.coordinates;
        let found = coordinates.accesses(&self.name, runner, warp, at, address)?;
        let mut values = [Bytes::default(); LANES];
        for &(lane, _, image) in &found {
            values[lane] = self.element(image, &warp.registers, lane);
        }
        runner.turn.changes += 1;
        runner.turn.stored_at = runner.turn.executed;
        let stores = StoreElements { values };
        // Lanes may have surfaces with elements of other sizes.
        for bytes in [1, 2, 4, 8, 16] {
            let (mut addresses, mut active) = ([0; LANES], 0);
            let of_size = |(.., image): &&(usize, u64, &Image)| image.element_bytes() == bytes;
            for &(lane, place, _) in found.iter().filter(of_size) {
                addresses[lane] = place;
                active |= 1 << lane;
            }
            if active != 0 {
                let request = (AccessKind::Store, &addresses, bytes);
                runner.access_global(warp, At { active, ..at }, request, self.tally, &stores)?;
            }
        }
        Ok(Next::Step)
    }
}
