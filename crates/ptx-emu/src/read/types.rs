//! The types and forms that PTX has for an opcode: with another one, no driver loads the module.
//!
//! Each row is the `.type` of the instruction's "Syntax" in the PTX ISA, whatever the version: a
//! type that came later is in the row. Whether a type is modelled is for the instruction's family.

use ptx::ScalarType::{self, *};
use ptx::{Problem, Space};

use super::{Read, Reader, Refusal};

/// The integers of 16 bits and more, and others.
macro_rules! with_integers {
    ($($more:ident),*) => { &[U16, U32, U64, S16, S32, S64 $(, $more)*] };
}

/// Types of values that are only moved.
const MOVED: &[ScalarType] = with_integers!(B16, B32, B64, F32, F64);

/// The types of an opcode with these modifiers; `None` for the opcodes that have no row.
fn types_of(opcode: &str, has: impl Fn(&str) -> bool + Copy) -> Option<&'static [ScalarType]> {
    let types: &[_] = match opcode {
        "add" | "sub" | "mad" | "addc" | "subc" | "madc" if has("cc") => &[U32, U64, S32, S64],
        "mul" | "mad" if has("wide") => &[U16, U32, S16, S32],
        "add" | "sub" | "mul" | "min" | "max" => {
            with_integers!(F16, F16x2, Bf16, Bf16x2, F32, F64)
        }
        "mad" | "div" => with_integers!(F32, F64),
        "rem" | "sad" | "addc" | "subc" | "madc" => with_integers!(),
        "abs" | "neg" => &[S16, S32, S64, F16, F16x2, Bf16, Bf16x2, F32, F64],
        "mul24" | "mad24" | "dp4a" | "dp2a" | "szext" => &[U32, S32],
        "and" | "or" | "xor" | "not" => &[Pred, B16, B32, B64],
        "cnot" | "shl" => &[B16, B32, B64],
        "shr" => with_integers!(B16, B32, B64),
        "bfe" | "bfind" => &[U32, U64, S32, S64],
        "bfi" | "brev" | "popc" | "clz" => &[B32, B64],
        "shf" | "prmt" | "lop3" | "bmsk" => &[B32],
        "ex2" if has("ftz") => &[F32, Bf16, Bf16x2],
        "ex2" => &[F32, F16, F16x2],
        "setp" => with_integers!(B16, B32, B64, F16, F16x2, Bf16, Bf16x2, F32, F64),
        "selp" | "slct" => MOVED,
        "mov" => with_integers!(Pred, B16, B32, B64, B128, F32, F64),
        "redux" if ["and", "or", "xor"].into_iter().any(has) => &[B32],
        "redux" => &[U32, S32, F32],
        "st" if has("async") => &[B32, B64, U32, U64, S32, S64, F32, F64],
        "ld" | "ldu" | "st" => with_integers!(B8, B16, B32, B64, B128, U8, S8, F32, F64),
        _ => return None,
    };
    Some(types)
}

impl Reader<'_, '_, '_> {
    /// Checks that the opcode has the first of the types that are written; of a dot product, both.
    pub(crate) fn check_type(&self) -> Read<()> {
        let modifiers = self.syntax().modifiers.iter();
        let written = modifiers.filter_map(|m| ScalarType::from_name(m));
        let Some(types) = types_of(self.opcode, |name| self.names(name)) else {
            return Ok(());
        };
        let count = if self.opcode.starts_with("dp") { 2 } else { 1 };
        match written.take(count).find(|ty| !types.contains(ty)) {
            Some(ty) => Err(self.no_such_type(ty)),
            None => Ok(()),
        }
    }

    /// Checks that a vector has at most 16 bytes, or 32 of global memory from PTX 8.8 and sm_100 on
    /// (PTX ISA, "Vectors", "ld").
    pub(crate) fn check_vector(&self, ty: ScalarType, count: usize, space: Space) -> Read<()> {
        let program = self.body.program();
        let is_wide = matches!(space, Space::Global | Space::Generic)
            && program.version >= (8, 8)
            && program.architecture() >= Some(100);
        let most = if is_wide { 32 } else { 16 };
        if ty.bytes() as usize * count > most {
            return Err(self.no_such_type(ty));
        }
        Ok(())
    }

    /// Checks that the space is one where the threads' accesses have an order, or are atomic (PTX
    /// ISA, "ld", "st", "atom": global, shared or generic).
    pub(crate) fn check_common(&self, space: Space) -> Read<()> {
        match space {
            Space::Local | Space::Const | Space::Param => Err(self.no_such_form()),
            _ => Ok(()),
        }
    }

    /// The error that PTX has no such combination of modifiers: no driver loads it.
    pub(crate) fn no_such_form(&self) -> Refusal {
        let message = format!("PTX has no `{}`", self.form(|_| true));
        Problem::invalid(self.syntax().opcode.pos, message).into()
    }

    /// Whether the instruction is written with the modifier.
    pub(crate) fn names(&self, modifier: &str) -> bool {
        self.syntax().modifiers.contains(&modifier)
    }
}
