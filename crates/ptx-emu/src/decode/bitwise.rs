//! Logic, shifts, bit fields.

use ptx::Op as Source;

use super::Decoder;
use super::arithmetic::{Decoded, WORD, combination};
use crate::code::Op;
use crate::ops::{bits, fields};
use crate::registers::Operands;

impl Decoder<'_> {
    pub(super) fn bitwise(&mut self, op: &Source) -> Decoded {
        match *op {
            Source::And { class, dst, a, b } => {
                self.apply2(bits::and(class), class, dst, [a, b], 0)
            }
            Source::Or { class, dst, a, b } => self.apply2(bits::or(class), class, dst, [a, b], 0),
            Source::Xor { class, dst, a, b } => {
                self.apply2(bits::xor(class), class, dst, [a, b], 0)
            }
            Source::Not { class, dst, a } => self.apply1(bits::not(class), class, dst, a, 0),
            Source::Cnot { class, dst, a } => self.apply1(bits::cnot(class), class, dst, a, 0),
            Source::Shl { class, dst, a, b } => {
                self.mixed(bits::shl(class), (dst, class), [(a, class), (b, WORD)], 0)
            }
            Source::Shr { ty, dst, a, b } => {
                let class = ty.class();
                self.mixed(bits::shr(ty), (dst, class), [(a, class), (b, WORD)], 0)
            }
            Source::ShiftFunnel {
                direction,
                mode,
                dst,
                a,
                b,
                c,
            } => self.apply3(bits::shift_funnel(direction, mode), WORD, dst, [a, b, c], 0),
            Source::Bfe {
                ty,
                dst,
                a,
                pos,
                len,
            } => {
                let class = ty.class();
                let sources = [(a, class), (pos, WORD), (len, WORD)];
                self.mixed(fields::bfe(ty), (dst, class), sources, fields::bfe_aux(ty))
            }
            Source::Bfi {
                class,
                dst,
                a,
                b,
                pos,
                len,
            } => {
                let sources = [(a, class), (b, class), (pos, WORD), (len, WORD)];
                self.mixed(fields::bfi(class), (dst, class), sources, 0)
            }
            Source::Bfind {
                ty,
                shift_amount,
                dst,
                a,
            } => {
                let apply = fields::bfind(ty, shift_amount);
                self.mixed(apply, (dst, WORD), [(a, ty.class())], 0)
            }
            Source::Brev { class, dst, a } => self.apply1(fields::brev(class), class, dst, a, 0),
            Source::Popc { class, dst, a } => {
                self.mixed(fields::popc(class), (dst, WORD), [(a, class)], 0)
            }
            Source::Clz { class, dst, a } => {
                self.mixed(fields::clz(class), (dst, WORD), [(a, class)], 0)
            }
            Source::Prmt {
                mode,
                dst,
                a,
                b,
                selector,
            } => self.apply3(bits::prmt(mode), WORD, dst, [a, b, selector], 0),
            Source::Lop3 { lut, dst, a, b, c } => {
                self.apply3(bits::lop3(), WORD, dst, [a, b, c], lut.into())
            }
            Source::Lop3Pred {
                lut,
                combine,
                dst,
                pred,
                a,
                b,
                c,
                q,
            } => {
                let o = Operands {
                    d: dst.map_or(Ok(0), |dst| self.dst(dst, WORD))?,
                    a: self.src(a, WORD)?,
                    b: self.src(b, WORD)?,
                    c: self.src(c, WORD)?,
                    ..Operands::default()
                };
                let then = combination(Some((combine, q)), Some(pred), None)?;
                Ok(Op::Lop3Pred {
                    lut: lut.into(),
                    o,
                    then,
                    has_dst: dst.is_some(),
                })
            }
            Source::Fns {
                dst,
                mask,
                base,
                offset,
            } => self.apply3(fields::fns(), WORD, dst, [mask, base, offset], 0),
            Source::Bmsk { mode, dst, a, b } => self.apply2(
                fields::bmsk(),
                WORD,
                dst,
                [a, b],
                fields::mode_aux(mode, false),
            ),
            Source::Szext {
                ty,
                mode,
                dst,
                a,
                b,
            } => {
                let aux = fields::mode_aux(mode, ty.is_signed());
                self.apply2(fields::szext(), WORD, dst, [a, b], aux)
            }
            _ => Err("an operation that is not modelled".into()),
        }
    }
}
