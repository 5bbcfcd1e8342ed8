//! Loads, stores and copies.

use super::context::{Context, Lowered};
use super::operand::Width;
use crate::ast::{Literal, Operand as Syntax, OperandKind};
use crate::program::*;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "ld" | "ldu" => ld(c),
        "st" => st(c),
        "cp" => cp_async(c),
        _ => {
            let space = c.space().unwrap_or(Space::Generic);
            // The level is a hint, and so is the priority behind it.
            if !(c.flag("L1") || c.flag("L2")) {
                c.done()?;
            }
            c.operands(1..=1, "1")?;
            Ok(Op::Prefetch {
                space,
                addr: c.address(space)?,
            })
        }
    }
}

/// Modifiers that loads and stores share.
struct Access {
    order: Order,
    scope: Option<Scope>,
    space: Space,
    cache: CacheOp,
    ty: ScalarType,
    count: usize,
    has_policy: bool,
}

fn access(c: &mut Context<'_, '_, '_>) -> Lowered<Access> {
    let order = c.choice(&[
        ("weak", Order::Weak),
        ("volatile", Order::Volatile),
        ("relaxed", Order::Relaxed),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
    ]);
    let (scope, space) = (c.scope(), c.space());
    let cache = c.choice(&[
        ("ca", CacheOp::Ca),
        ("cg", CacheOp::Cg),
        ("cs", CacheOp::Cs),
        ("lu", CacheOp::Lu),
        ("cv", CacheOp::Cv),
        ("wb", CacheOp::Wb),
        ("wt", CacheOp::Wt),
    ]);
    let has_policy = c.flag("L2::cache_hint");
    let count = c.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = c.scalar_type()?;
    if matches!(ty, ScalarType::Pred | ScalarType::B128) {
        return Err(c.unsupported_type(ty));
    }
    let (order, space) = (
        order.unwrap_or(Order::Weak),
        space.unwrap_or(Space::Generic),
    );
    Ok(Access {
        order,
        scope,
        space,
        cache: cache.unwrap_or_default(),
        ty,
        count,
        has_policy,
    })
}

fn ld(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let Access {
        order,
        scope,
        space,
        cache,
        ty,
        count,
        has_policy,
    } = access(c)?;
    if order == Order::Release {
        return Err(c.unsupported("modifier `.release`"));
    }
    let non_coherent = c.flag("nc") || c.opcode == "ldu";
    let operands = 2 + usize::from(has_policy);
    c.operands(operands..=operands, if has_policy { "3" } else { "2" })?;
    let operand = c.operand()?;
    let elements = elements(c, operand, count)?;
    let dst = elements
        .iter()
        .map(|e| c.register_or_sink(e, ty, Width::AtLeast))
        .collect::<Lowered<_>>()?;
    Ok(Op::Ld {
        space,
        ty,
        order,
        scope,
        cache,
        non_coherent,
        dst,
        addr: c.address(space)?,
    })
}

fn st(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let Access {
        order,
        scope,
        space,
        cache,
        ty,
        count,
        has_policy,
    } = access(c)?;
    if order == Order::Acquire {
        return Err(c.unsupported("modifier `.acquire`"));
    }
    let operands = 2 + usize::from(has_policy);
    c.operands(operands..=operands, if has_policy { "3" } else { "2" })?;
    let addr = c.address(space)?;
    let operand = c.operand()?;
    let elements = elements(c, operand, count)?;
    let src = elements
        .iter()
        .map(|e| c.value(e, ty, Width::AtLeast))
        .collect::<Lowered<_>>()?;
    Ok(Op::St {
        space,
        ty,
        order,
        scope,
        cache,
        src,
        addr,
    })
}

/// The elements of a vector operand, or the one of a scalar.
fn elements<'s, 'a>(
    c: &Context<'_, '_, 'a>,
    operand: &'s Syntax<'a>,
    count: usize,
) -> Lowered<&'s [Syntax<'a>]> {
    let expected = match count {
        1 => "one register",
        2 => "a vector of 2",
        4 => "a vector of 4",
        _ => "a vector of 8",
    };
    match &operand.kind {
        OperandKind::Vector(elements) if elements.len() == count => Ok(elements),
        OperandKind::Vector(_) => Err(c.unexpected(operand, expected)),
        _ if count == 1 => Ok(std::slice::from_ref(operand)),
        OperandKind::Name(..) => Err(c.unsupported("vector register")),
        _ => Err(c.unexpected(operand, expected)),
    }
}

fn cp_async(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    if !c.flag("async") {
        return Err(c.missing("`.async`"));
    }
    if c.flag("commit_group") {
        c.operands(0..=0, "no")?;
        return Ok(Op::CpAsyncCommit);
    }
    if c.flag("wait_all") {
        c.operands(0..=0, "no")?;
        return Ok(Op::CpAsyncWait { pending: None });
    }
    if c.flag("wait_group") {
        c.operands(1..=1, "1")?;
        return Ok(Op::CpAsyncWait {
            pending: Some(constant(c)?),
        });
    }
    let bypass_l1 = c.need("`.ca` or `.cg`", &[("ca", false), ("cg", true)])?;
    let has_policy = c.flag("L2::cache_hint");
    let spaces = (c.space(), c.space());
    if spaces != (Some(Space::Shared), Some(Space::Global)) {
        return Err(c.missing("spaces `.shared.global`"));
    }
    let policy = usize::from(has_policy);
    let extra = c.operands(3 + policy..=4 + policy, "3 or 4")? - policy > 3;
    let (dst, src) = (c.address(Space::Shared)?, c.address(Space::Global)?);
    let bytes = constant(c)?;
    if !(matches!(bytes, 4 | 8) && !bypass_l1 || bytes == 16) {
        return Err(c.unsupported("size"));
    }
    let (mut src_bytes, mut ignore_src) = (None, None);
    if extra {
        let operand = c.operand()?;
        match c.value(operand, ScalarType::Pred, Width::Exact) {
            Ok(Operand::Reg(reg)) => {
                ignore_src = Some(Pred {
                    slot: reg.slot,
                    negated: false,
                })
            }
            _ => src_bytes = Some(c.value(operand, ScalarType::U32, Width::Exact)?),
        }
    }
    Ok(Op::CpAsync {
        bypass_l1,
        bytes,
        dst,
        src,
        src_bytes,
        ignore_src,
    })
}

fn constant(c: &mut Context<'_, '_, '_>) -> Lowered<u32> {
    let operand = c.operand()?;
    match operand.kind {
        OperandKind::Literal(Literal::Int(value)) => {
            u32::try_from(value).map_err(|_| c.unexpected(operand, "a number of 32 bits"))
        }
        _ => Err(c.unexpected(operand, "a number")),
    }
}
