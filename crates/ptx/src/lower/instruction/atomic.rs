//! Atomics and fences.

use super::context::{Context, Lowered};
use super::operand::Width;
use crate::program::*;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "membar" => {
            let scope = c.need(
                "level",
                &[
                    ("cta", Scope::Block),
                    ("gl", Scope::Device),
                    ("sys", Scope::System),
                ],
            )?;
            c.operands(0..=0, "no")?;
            Ok(Op::Fence {
                order: Order::SeqCst,
                scope,
            })
        }
        "fence" => {
            let order = c.choice(&[
                ("sc", Order::SeqCst),
                ("acq_rel", Order::AcqRel),
                ("acquire", Order::Acquire),
                ("release", Order::Release),
            ]);
            let scope = c.scope();
            c.done()?;
            let Some(scope) = scope else {
                return Err(c.missing("scope"));
            };
            c.operands(0..=0, "no")?;
            Ok(Op::Fence {
                order: order.unwrap_or(Order::AcqRel),
                scope,
            })
        }
        _ => atomic(c),
    }
}

fn atomic(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let order = c.choice(&[
        ("relaxed", Order::Relaxed),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
        ("acq_rel", Order::AcqRel),
    ]);
    let scope = c.scope().unwrap_or(Scope::Device);
    let space = c.space().unwrap_or(Space::Generic);
    let op = c.need(
        "operation",
        &[
            ("add", AtomicOp::Add),
            ("min", AtomicOp::Min),
            ("max", AtomicOp::Max),
            ("and", AtomicOp::And),
            ("or", AtomicOp::Or),
            ("xor", AtomicOp::Xor),
            ("exch", AtomicOp::Exch),
            ("cas", AtomicOp::Cas),
            ("inc", AtomicOp::Inc),
            ("dec", AtomicOp::Dec),
        ],
    )?;
    let has_policy = c.flag("L2::cache_hint");
    let ty = c.scalar_type()?;
    if !is_modelled(op, ty) {
        return Err(c.unsupported_type(ty));
    }
    let (is_red, is_cas) = (c.opcode == "red", op == AtomicOp::Cas);
    if is_red && matches!(op, AtomicOp::Exch | AtomicOp::Cas) {
        return Err(c.unsupported("an operation that only returns a value"));
    }
    let operands = 3 - usize::from(is_red) + usize::from(is_cas) + usize::from(has_policy);
    let expected = ["2", "3", "4", "5"][operands - 2];
    c.operands(operands..=operands, expected)?;
    let dst = match is_red {
        true => None,
        false => {
            let operand = c.operand()?;
            c.register_or_sink(operand, ty, Width::Exact)?
        }
    };
    let (addr, b) = (c.address(space)?, c.src(ty)?);
    let swap = if is_cas { Some(c.src(ty)?) } else { None };
    // Without a modifier, atomics are relaxed.
    let order = order.unwrap_or(Order::Relaxed);
    Ok(Op::Atomic {
        space,
        op,
        ty,
        order,
        scope,
        dst,
        addr,
        b,
        c: swap,
    })
}

/// The types that the ISA gives each operation, half precision excepted.
fn is_modelled(op: AtomicOp, ty: ScalarType) -> bool {
    use ScalarType::*;
    match op {
        AtomicOp::Add => matches!(ty, U32 | S32 | U64 | S64 | F32 | F64),
        AtomicOp::Min | AtomicOp::Max => matches!(ty, U32 | S32 | U64 | S64),
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => matches!(ty, B32 | B64),
        AtomicOp::Exch => matches!(ty, B32 | B64),
        AtomicOp::Cas => matches!(ty, B16 | B32 | B64),
        AtomicOp::Inc | AtomicOp::Dec => ty == U32,
    }
}
