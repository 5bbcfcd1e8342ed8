//! Conversions between every pair of types, with every modifier that NVIDIA's assembler accepts for `sm_90`.

mod floats;
mod integers;
mod registers;
mod types;

use crate::differential::Form;

use types::TYPES;

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for dst in TYPES {
        for src in TYPES {
            match (dst.is_float(), src.is_float()) {
                (false, false) => all.extend(integers::between_integers(dst, src)),
                (true, false) => all.extend(integers::to_float(dst, src)),
                (false, true) => all.extend(integers::to_integer(dst, src)),
                (true, true) => all.extend(floats::between_floats(dst, src)),
            }
        }
    }
    all.extend(registers::wide_registers());
    all.extend(floats::pairs());
    all.extend(registers::packing());
    all
}
