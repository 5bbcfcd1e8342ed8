//! Packing, conversions of pairs, address conversions.

use crate::coalesce::lanes;
use crate::code::Op;
use crate::memory::space_of;
use crate::registers::Registers;
use ptx::Space;

pub(super) fn step(registers: &mut Registers, op: &Op, active: u32) {
    match op {
        Op::Pack {
            element_bits,
            dst,
            src,
        } => {
            for lane in lanes(active) {
                let element = u64::MAX >> (64 - element_bits);
                let value = src.iter().rev().fold(0, |value: u64, &slot| {
                    value << (element_bits % 64) | (registers.lane(slot, lane) & element)
                });
                registers.set_lane(*dst, lane, value);
            }
        }
        Op::Unpack {
            element_bits,
            dst,
            src,
        } => {
            for lane in lanes(active) {
                let element = u64::MAX >> (64 - element_bits);
                let mut value = registers.lane(*src, lane);
                for slot in dst {
                    if let Some(slot) = slot {
                        registers.set_lane(*slot, lane, value & element);
                    }
                    value >>= element_bits % 64;
                }
            }
        }
        Op::ConvertPair {
            conversion,
            dst,
            high,
            low,
        } => {
            for lane in lanes(active) {
                let [high, low] =
                    [*high, *low].map(|slot| conversion.lane(registers.lane(slot, lane)) & 0xffff);
                registers.set_lane(*dst, lane, high << 16 | low);
            }
        }
        Op::ShiftAddress { dst, src, add } => {
            let src = *registers.r64(src.row);
            let row = registers.r64_mut(dst.row);
            for lane in lanes(active) {
                row[lane] = src[lane].wrapping_add(*add);
            }
        }
        Op::IsSpace { space, dst, src } => {
            let mut bits = 0;
            for lane in lanes(active) {
                let address = registers.lane(*src, lane);
                // Constants lie among the buffers; no address is told to be one.
                let inside = match space {
                    Space::Generic | Space::Const => false,
                    space => space_of(address) == *space,
                };
                bits |= u32::from(inside) << lane;
            }
            registers.set_pred(*dst, active, bits);
        }
        _ => unreachable!("not a move"),
    }
}
