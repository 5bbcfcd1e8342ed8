//! Positions, scalar types, registers and state spaces.

/// A position in the PTX text. Both numbers count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for Pos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The file a register lives in. Registers carry no type, only a width: the operation gives the
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegClass {
    /// One bit per lane.
    Pred,
    /// 16 bits per lane (8-bit registers live here too, zero-extended).
    B16,
    /// 32 bits per lane.
    B32,
    /// 64 bits per lane.
    B64,
}

impl RegClass {
    /// Every class, in the order of [`RegClass::index`].
    pub const ALL: [RegClass; 4] = [RegClass::Pred, RegClass::B16, RegClass::B32, RegClass::B64];

    /// Position in [`RegClass::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Width in bits; 1 for predicates.
    pub const fn bits(self) -> u32 {
        match self {
            RegClass::Pred => 1,
            RegClass::B16 => 16,
            RegClass::B32 => 32,
            RegClass::B64 => 64,
        }
    }

    /// The `bits()` low bits set: what an immediate of this class may hold.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// A register: its class and its slot, dense from 0 in each class of each function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// The file.
    pub class: RegClass,
    /// The slot in that file, below [`RegCounts::of`](crate::RegCounts::of) the class.
    pub slot: u32,
}

/// A scalar type as written in PTX. `.bN` is untyped bits; arithmetic treats it as unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the PTX type of the same name")]
pub enum ScalarType {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl ScalarType {
    /// Width in bits; 1 for predicates.
    pub const fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | Bf16 => 16,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 => 32,
            B64 | U64 | S64 | F64 => 64,
            B128 => 128,
        }
    }

    /// Size in memory, in bytes; 1 for predicates, which have no memory form.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for `.sN`.
    pub const fn is_signed(self) -> bool {
        use ScalarType::*;
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// True for the floating-point types, packed ones included.
    pub const fn is_float(self) -> bool {
        use ScalarType::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
    }

    /// The class a register of this type is declared in; `None` for `.b128`.
    pub const fn class(self) -> Option<RegClass> {
        match self.bits() {
            1 => Some(RegClass::Pred),
            8 | 16 => Some(RegClass::B16),
            32 => Some(RegClass::B32),
            64 => Some(RegClass::B64),
            _ => None,
        }
    }

    /// Every type, in the order of declaration.
    pub const ALL: [ScalarType; 20] = {
        use ScalarType::*;
        [
            Pred, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, Bf16,
            Bf16x2, F32, F64,
        ]
    };

    /// The type of that name, given without the leading dot.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        ScalarType::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// The name in PTX, without the leading dot.
    pub const fn name(self) -> &'static str {
        use ScalarType::*;
        match self {
            Pred => "pred",
            B8 => "b8",
            B16 => "b16",
            B32 => "b32",
            B64 => "b64",
            B128 => "b128",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            S8 => "s8",
            S16 => "s16",
            S32 => "s32",
            S64 => "s64",
            F16 => "f16",
            F16x2 => "f16x2",
            Bf16 => "bf16",
            Bf16x2 => "bf16x2",
            F32 => "f32",
            F64 => "f64",
        }
    }
}

impl std::fmt::Display for ScalarType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space that memory operations name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// No space given: the address says which (global, or a window of shared, local, const or
    /// param).
    Generic,
    /// Device memory.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Shared memory of every block of the cluster: `.shared::cluster`.
    SharedCluster,
    /// Memory of one thread.
    Local,
    /// Read-only module memory.
    Const,
    /// Parameters: the launch's for a kernel, the frame's for a device function and around calls.
    Param,
}

impl Space {
    /// The name in PTX, without the leading dot; `generic` for none.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::SharedCluster => "shared::cluster",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        }
    }
}
