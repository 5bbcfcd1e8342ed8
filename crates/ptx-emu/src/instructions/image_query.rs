//! What an object says of itself: `txq`, `suq`.

use ptx::{RegClass, ScalarType};

use super::images::{Name, Named};
use crate::fault::{FaultKind, Stop};
use crate::image::{Image, ImageKind, Object};
use crate::read::{Read, Reader, other};
use crate::registers::{LANES, Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::Warp;

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
    let named = Named::read(r)?;
    debug_assert_eq!(to.class, RegClass::B32);
    other(Query {
        name: Name::new(r, named),
        is_texture,
        question,
        to,
    })
}

#[derive(Debug)]
struct Query {
    name: Name,
    is_texture: bool,
    question: Question,
    to: Slot,
}

impl Execute for Query {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let registers = &warp.registers;
            let answer = match self.name.object(runner, registers, lane, self.is_texture) {
                Ok(object) => self.question.answer(object),
                Err(_) if !runner.launch.sanitize.uninitialized => 0,
                Err(problem) => {
                    let access = self.name.access(registers, lane, Vec::new());
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
