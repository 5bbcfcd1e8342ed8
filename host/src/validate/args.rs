//! Arguments against the kernel's parameters.

use super::ValidationError;
use crate::module::{KernelSignature, Param, ParamKind};
use crate::plan::Arg;

/// What an argument puts into one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Pointer,
    Integer(u32),
    Float(u32),
    Bytes(u32),
}

/// Checks one launch's arguments. `place` says where it is, if need be.
pub fn check(
    kernel: &KernelSignature,
    args: &[Arg],
    place: impl Fn() -> String,
) -> Result<(), ValidationError> {
    let filled: usize = args.iter().map(|arg| values(arg).count()).sum();
    if filled != kernel.params.len() {
        return Err(ValidationError::ArgCount {
            place: place(),
            args: args.len(),
            filled,
            params: kernel.params.len(),
        });
    }
    let given = args
        .iter()
        .enumerate()
        .flat_map(|(position, arg)| values(arg).map(move |value| (position, value)));
    for ((position, value), (index, param)) in given.zip(kernel.params.iter().enumerate()) {
        if !fits(value, param) {
            return Err(ValidationError::ArgType {
                place: place(),
                position,
                arg: given_as(&args[position], value),
                param: index,
                expected: param.to_string(),
            });
        }
    }
    Ok(())
}

fn values(arg: &Arg) -> impl Iterator<Item = Value> + use<> {
    let (first, second) = match arg {
        Arg::Buffer(_) | Arg::BufferAt { .. } => (Value::Pointer, None),
        Arg::Slice(_) | Arg::SliceAt { .. } => (Value::Pointer, Some(Value::Integer(8))),
        Arg::U8(_) => (Value::Integer(1), None),
        Arg::U32(_) | Arg::I32(_) => (Value::Integer(4), None),
        Arg::U64(_) | Arg::I64(_) => (Value::Integer(8), None),
        Arg::F32(_) => (Value::Float(4), None),
        Arg::F64(_) => (Value::Float(8), None),
        // A structure of more than 4 GiB fits no parameter, whatever its size.
        Arg::Bytes(bytes) => (
            Value::Bytes(bytes.len().try_into().unwrap_or(u32::MAX)),
            None,
        ),
    };
    std::iter::once(first).chain(second)
}

fn fits(value: Value, param: &Param) -> bool {
    match value {
        // Not every compiler marks its pointers; an unmarked one is an integer.
        Value::Pointer => {
            param.size == 8
                && matches!(
                    param.kind,
                    ParamKind::Pointer | ParamKind::Integer | ParamKind::Bits
                )
        }
        Value::Integer(size) => {
            param.size == size && matches!(param.kind, ParamKind::Integer | ParamKind::Bits)
        }
        Value::Float(size) => {
            param.size == size && matches!(param.kind, ParamKind::Float | ParamKind::Bits)
        }
        Value::Bytes(size) => param.size == size && param.kind == ParamKind::Bytes,
    }
}

fn given_as(arg: &Arg, value: Value) -> String {
    match (arg, value) {
        (Arg::Slice(_) | Arg::SliceAt { .. }, Value::Pointer) => {
            "a slice, whose pointer comes first".to_owned()
        }
        (Arg::Slice(_) | Arg::SliceAt { .. }, _) => {
            "a slice, whose length (u64) comes second".to_owned()
        }
        (Arg::Bytes(bytes), _) => format!("a structure of {} bytes", bytes.len()),
        _ => arg.kind().to_owned(),
    }
}

impl std::fmt::Display for Param {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = self.size * 8;
        match self.kind {
            ParamKind::Pointer => write!(f, "a pointer"),
            ParamKind::Integer if bits == 64 => write!(f, "an integer or pointer of 64 bits"),
            ParamKind::Integer => write!(f, "an integer of {bits} bits"),
            ParamKind::Float => write!(f, "f{bits}"),
            ParamKind::Bits => write!(f, "a value of {bits} bits"),
            ParamKind::Bytes => write!(f, "a structure of {} bytes", self.size),
        }
    }
}
