//! What a launch must agree with.

use ptx::{ParamType, ScalarType};

/// What a PTX parameter is, as far as an argument can be checked against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// An integer (`.u32`, `.s64`, ...); of 64 bits, it may be a pointer.
    Integer,
    /// A pointer, where the PTX says so (`.ptr`).
    Pointer,
    /// A floating-point number (`.f32`, `.f64`).
    Float,
    /// Untyped bits (`.b32`).
    Bits,
    /// A byte array: a structure passed by value.
    Bytes,
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// What it is.
    pub kind: ParamKind,
    /// Size in bytes.
    pub size: u32,
}

/// What a launch must agree with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSignature {
    /// The entry's name.
    pub name: String,
    /// In order.
    pub params: Vec<Param>,
    /// Most threads of a block (`.maxntid`, the product of its extents), if stated.
    pub max_threads: Option<u64>,
    /// The only block that it can be launched with (`.reqntid`), if stated.
    pub required_block: Option<[u32; 3]>,
    /// Shared memory that is declared with a size, in bytes.
    pub static_shared_bytes: u64,
}

impl KernelSignature {
    /// The signature of a parsed kernel.
    pub(super) fn new(kernel: &ptx::Function) -> KernelSignature {
        KernelSignature {
            name: kernel.name.clone(),
            params: kernel.params.iter().map(Param::new).collect(),
            max_threads: kernel
                .max_threads
                .map(|extents| extents.iter().map(|&extent| u64::from(extent)).product()),
            required_block: kernel.required_threads,
            static_shared_bytes: kernel.shared_bytes.into(),
        }
    }
}

impl Param {
    fn new(param: &ptx::Param) -> Param {
        let kind = match param.ty {
            ParamType::Bytes(_) => ParamKind::Bytes,
            ParamType::Scalar(_) if param.pointer.is_some() => ParamKind::Pointer,
            ParamType::Scalar(ty) => scalar_kind(ty),
        };
        Param {
            kind,
            size: param.size(),
        }
    }
}

fn scalar_kind(ty: ScalarType) -> ParamKind {
    use ScalarType::*;
    match ty {
        U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 => ParamKind::Integer,
        F16 | Bf16 | F32 | F64 => ParamKind::Float,
        Pred | B8 | B16 | B32 | B64 | B128 | F16x2 | Bf16x2 => ParamKind::Bits,
    }
}
