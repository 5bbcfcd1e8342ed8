//! The types that buffers hold.

use serde::{Deserialize, Serialize};

/// What one element of a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// A byte.
    U8,
}

impl Element {
    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::F32 | Element::U32 | Element::I32 => 4,
            Element::F64 | Element::U64 | Element::I64 => 8,
        }
    }

    /// Rust's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::U32 => "u32",
            Element::I32 => "i32",
            Element::U64 => "u64",
            Element::I64 => "i64",
            Element::U8 => "u8",
        }
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
