//! Integer arithmetic, bits and bytes.

use crate::{check32, check64};

#[test]
fn integer_arithmetic() {
    check32("add.u32 d, a, b;", |a, b, _| a.wrapping_add(b));
    check32("add.sat.s32 d, a, b;", |a, b, _| {
        (a as i32).saturating_add(b as i32) as u32
    });
    check32("sub.sat.s32 d, a, b;", |a, b, _| {
        (a as i32).saturating_sub(b as i32) as u32
    });
    check32("mul.lo.s32 d, a, b;", |a, b, _| a.wrapping_mul(b));
    check32("mul.hi.u32 d, a, b;", |a, b, _| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    });
    check32("mul.hi.s32 d, a, b;", |a, b, _| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    });
    check32("mad.lo.u32 d, a, b, c;", |a, b, c| {
        a.wrapping_mul(b).wrapping_add(c)
    });
    check32("mul24.lo.u32 d, a, b;", |a, b, _| {
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
    });
    check32("div.u32 d, a, b;", |a, b, _| {
        a.checked_div(b).unwrap_or(u32::MAX)
    });
    check32("div.s32 d, a, b;", |a, b, _| match b {
        0 => u32::MAX,
        _ => (a as i32).wrapping_div(b as i32) as u32,
    });
    check32("rem.u32 d, a, b;", |a, b, _| {
        a.checked_rem(b).unwrap_or(u32::MAX)
    });
    check32("rem.s32 d, a, b;", |a, b, _| match b {
        0 => u32::MAX,
        _ => (a as i32).wrapping_rem(b as i32) as u32,
    });
    check32("abs.s32 d, a;", |a, _, _| (a as i32).wrapping_abs() as u32);
    check32("neg.s32 d, a;", |a, _, _| (a as i32).wrapping_neg() as u32);
    check32("min.s32 d, a, b;", |a, b, _| {
        (a as i32).min(b as i32) as u32
    });
    check32("max.u32 d, a, b;", |a, b, _| a.max(b));
    check32("sad.u32 d, a, b, c;", |a, b, c| {
        c.wrapping_add(a.abs_diff(b))
    });
    check32("sad.s32 d, a, b, c;", |a, b, c| {
        c.wrapping_add((a as i32).abs_diff(b as i32))
    });
    check32("dp4a.u32.s32 d, a, b, c;", |a, b, c| {
        let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
        (0..4).fold(c, |sum, i| {
            sum.wrapping_add((i32::from(x[i]) * i32::from(y[i] as i8)) as u32)
        })
    });
    check64("mul.lo.u64 d, a, b;", |a, b, _| a.wrapping_mul(b));
    check64("mul.hi.s64 d, a, b;", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    });
    check64("div.s64 d, a, b;", |a, b, _| match b {
        0 => u64::MAX,
        _ => (a as i64).wrapping_div(b as i64) as u64,
    });
    check64("mad.wide.u32 d, a32, b32, c;", |a, b, c| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
    });
    check64("mul.wide.s32 d, a32, b32;", |a, b, _| {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    });
}

#[test]
fn carries() {
    check64(
        "mov.b64 {%r4, %r5}, a; mov.b64 {%r6, %r7}, b;\n\
         add.cc.u32 %r4, %r4, %r6; addc.u32 %r5, %r5, %r7; mov.b64 d, {%r4, %r5};",
        |a, b, _| a.wrapping_add(b),
    );
    check64(
        "mov.b64 {%r4, %r5}, a; mov.b64 {%r6, %r7}, b;\n\
         sub.cc.u32 %r4, %r4, %r6; subc.u32 %r5, %r5, %r7; mov.b64 d, {%r4, %r5};",
        |a, b, _| a.wrapping_sub(b),
    );
    // A 64-bit product from 32-bit parts: what `mad.lo.cc` and `madc.hi` are for.
    check64(
        "mov.b64 {%r4, %r5}, c;\n\
         mad.lo.cc.u32 %r4, a32, b32, %r4; madc.hi.u32 %r5, a32, b32, %r5; mov.b64 d, {%r4, %r5};",
        |a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c),
    );
}

#[test]
fn bits() {
    check32("and.b32 d, a, b;", |a, b, _| a & b);
    check32("not.b32 d, a;", |a, _, _| !a);
    check32("cnot.b32 d, a;", |a, _, _| u32::from(a == 0));
    check32("shl.b32 d, a, b;", |a, b, _| a.checked_shl(b).unwrap_or(0));
    check32("shr.u32 d, a, b;", |a, b, _| a.checked_shr(b).unwrap_or(0));
    check32("shr.s32 d, a, b;", |a, b, _| {
        ((a as i32) >> b.min(31)) as u32
    });
    check64("shl.b64 d, a, b32;", |a, b, _| {
        a.checked_shl(b as u32).unwrap_or(0)
    });
    check64("shr.s64 d, a, b32;", |a, b, _| {
        ((a as i64) >> (b as u32).min(63)) as u64
    });
    check32("shf.l.wrap.b32 d, a, b, c;", |a, b, c| {
        (((u64::from(b) << 32 | u64::from(a)) << (c & 31)) >> 32) as u32
    });
    check32("shf.r.clamp.b32 d, a, b, c;", |a, b, c| {
        ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
    });
    check32("popc.b32 d, a;", |a, _, _| a.count_ones());
    check32("clz.b32 d, a;", |a, _, _| a.leading_zeros());
    check32("brev.b32 d, a;", |a, _, _| a.reverse_bits());
    check32("bfind.u32 d, a;", |a, _, _| {
        a.checked_ilog2().unwrap_or(u32::MAX)
    });
    check32("bfind.s32 d, a;", |a, _, _| {
        let a = if (a as i32) < 0 { !a } else { a };
        a.checked_ilog2().unwrap_or(u32::MAX)
    });
    check32("lop3.b32 d, a, b, c, 0x96;", |a, b, c| a ^ b ^ c);
    check32("lop3.b32 d, a, b, c, 0xe8;", |a, b, c| {
        (a & b) | (a & c) | (b & c)
    });
    check32("setp.eq.u32 %p1, 0, 0; selp.b32 d, a, b, %p1;", |a, _, _| a);
    check32(
        "setp.lt.s32 %p1, c, 0; selp.b32 d, a, b, %p1;",
        |a, b, c| {
            if (c as i32) < 0 { a } else { b }
        },
    );
}

/// The loops of the PTX ISA's definition of `bfe`.
fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let bit = |i: u32| a >> i & 1;
    let msb = width - 1;
    let sign = if !signed || len == 0 {
        0
    } else {
        bit((pos + len - 1).min(msb))
    };
    (0..=msb).fold(0, |d, i| {
        let value = if i < len && pos + i <= msb {
            bit(pos + i)
        } else {
            sign
        };
        d | value << i
    })
}

/// The loops of the PTX ISA's definition of `bfi`.
fn bfi(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    (0..len.min(width))
        .filter(|i| pos + i < width)
        .fold(b, |d, i| {
            (d & !(1 << (pos + i))) | (a >> i & 1) << (pos + i)
        })
}

#[test]
fn bit_fields() {
    check32("bfe.u32 d, a, b, c;", |a, b, c| {
        bfe(a.into(), b, c, 32, false) as u32
    });
    check32("bfe.s32 d, a, b, c;", |a, b, c| {
        bfe(a.into(), b, c, 32, true) as u32
    });
    for (pos, len) in [
        (0, 8),
        (5, 3),
        (31, 1),
        (31, 8),
        (32, 4),
        (0, 32),
        (4, 0),
        (0, 64),
    ] {
        check32(&format!("bfe.s32 d, a, {pos}, {len};"), |a, _, _| {
            bfe(a.into(), pos, len, 32, true) as u32
        });
        check64(&format!("bfe.s64 d, a, {pos}, {len};"), |a, _, _| {
            bfe(a, pos, len, 64, true)
        });
        check64(&format!("bfe.u64 d, a, {pos}, {len};"), |a, _, _| {
            bfe(a, pos, len, 64, false)
        });
        check32(&format!("bfi.b32 d, a, b, {pos}, {len};"), |a, b, _| {
            bfi(a.into(), b.into(), pos, len, 32) as u32
        });
        check64(&format!("bfi.b64 d, a, b, {pos}, {len};"), |a, b, _| {
            bfi(a, b, pos, len, 64)
        });
    }
}

#[test]
fn byte_permutations() {
    let bytes = |a: u32, b: u32| (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    check32("prmt.b32 d, a, b, 0x3210;", |a, _, _| a);
    check32("prmt.b32 d, a, b, 0x7654;", |_, b, _| b);
    check32("prmt.b32 d, a, b, 0x0123;", |a, _, _| a.swap_bytes());
    check32("prmt.b32 d, a, b, 0xba98;", |a, _, _| {
        u32::from_le_bytes(a.to_le_bytes().map(|byte| ((byte as i8) >> 7) as u8))
    });
    check32("prmt.b32.f4e d, a, b, c;", |a, b, c| {
        let s = (c & 3) as usize;
        u32::from_le_bytes(std::array::from_fn(|i| bytes(a, b)[s + i]))
    });
    check32("prmt.b32.b4e d, a, b, c;", |a, b, c| {
        let s = (c & 3) as usize;
        u32::from_le_bytes(std::array::from_fn(|i| bytes(a, b)[(s + 8 - i) % 8]))
    });
    check32("prmt.b32.rc16 d, a, b, c;", |a, _, c| {
        let half = a >> (16 * (c & 1)) & 0xffff;
        half << 16 | half
    });
}
