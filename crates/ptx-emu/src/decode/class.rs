//! What an instruction is counted as.

use ptx::{FloatType, Op, ScalarType};

use crate::counts::InstructionClass as Class;

pub(super) fn class(op: &Op) -> Class {
    match op {
        Op::FAdd { ty, .. }
        | Op::FSub { ty, .. }
        | Op::FMul { ty, .. }
        | Op::Fma { ty, .. }
        | Op::FDiv { ty, .. }
        | Op::FNeg { ty, .. }
        | Op::FAbs { ty, .. }
        | Op::FMin { ty, .. }
        | Op::FMax { ty, .. }
        | Op::Sqrt { ty, .. }
        | Op::Rcp { ty, .. }
        | Op::Math { ty, .. }
        | Op::Copysign { ty, .. }
        | Op::Testp { ty, .. } => match ty {
            FloatType::F32 => Class::Float32,
            FloatType::F64 => Class::Float64,
        },
        Op::Setp { ty, .. } | Op::Set { ty, .. } => match ty {
            ScalarType::F32 => Class::Float32,
            ScalarType::F64 => Class::Float64,
            _ => Class::Integer,
        },
        Op::Cvt { .. } | Op::CvtPack { .. } => Class::Conversion,
        Op::Mov { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Selp { .. }
        | Op::Slct { .. }
        | Op::CvtaToGeneric { .. }
        | Op::CvtaToSpace { .. }
        | Op::IsSpace { .. } => Class::Move,
        Op::Ld { .. } => Class::Load,
        Op::St { .. } => Class::Store,
        Op::Atomic { .. } => Class::Atomic,
        Op::CpAsync { .. } => Class::Load,
        Op::Bra { .. }
        | Op::BrxIdx { .. }
        | Op::Call(_)
        | Op::Ret { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt => Class::Control,
        Op::Barrier { .. } | Op::BarrierArrive { .. } | Op::BarrierRed { .. } => Class::Barrier,
        Op::BarWarpSync { .. }
        | Op::Shuffle { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::Redux { .. }
        | Op::ActiveMask { .. }
        | Op::Elect { .. } => Class::Warp,
        Op::Fence { .. }
        | Op::Prefetch { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::Nanosleep { .. }
        | Op::Unsupported(_) => Class::Other,
        _ => Class::Integer,
    }
}
