//! The enumerations that operations carry.

/// IEEE rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards minus infinity.
    Down,
    /// `.rp`: towards plus infinity.
    Up,
}

/// How `div`, `sqrt`, `rcp` are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Correctly rounded.
    Ieee(Rounding),
    /// `.full` (only `div.f32`): at most 2 ulp.
    Full,
    /// `.approx`.
    Approx,
}

/// Which part of an integer product is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// `.lo`: the low half (of `mul24`: bits 0 to 31 of the 48).
    Lo,
    /// `.hi`: the high half (of `mul24`: bits 16 to 47 of the 48).
    Hi,
    /// `.wide`: all of it; the destination (and the addend of `mad`) has twice the width of the type.
    Wide,
}

/// Comparison of `setp` and `set`. Integer comparisons use the first six, signed or not by the type;
/// the unsigned spellings `lo ls hi hs` are mapped to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Equal; false if either is NaN.
    Eq,
    /// Not equal; false if either is NaN.
    Ne,
    /// Less; false if either is NaN.
    Lt,
    /// Less or equal; false if either is NaN.
    Le,
    /// Greater; false if either is NaN.
    Gt,
    /// Greater or equal; false if either is NaN.
    Ge,
    /// Equal, or either is NaN.
    Equ,
    /// Not equal, or either is NaN.
    Neu,
    /// Less, or either is NaN.
    Ltu,
    /// Less or equal, or either is NaN.
    Leu,
    /// Greater, or either is NaN.
    Gtu,
    /// Greater or equal, or either is NaN.
    Geu,
    /// Neither is NaN.
    Num,
    /// Either is NaN.
    Nan,
}

/// Boolean operation on predicates (`setp`, `set`, `lop3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the operations")]
pub enum BoolOp {
    And,
    Or,
    Xor,
}

/// Behaviour of `shf`, `bmsk`, `szext` for amounts beyond the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftMode {
    /// The amount is taken modulo 32.
    Wrap,
    /// Amounts above 32 count as 32.
    Clamp,
}

/// Direction of `shf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftDirection {
    /// `shf.l`: the high 32 bits of `b:a << n`.
    Left,
    /// `shf.r`: the low 32 bits of `b:a >> n`.
    Right,
}

/// Byte selection of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrmtMode {
    /// No mode: four selector nibbles, the top bit of each replicates the sign.
    Index,
    /// `.f4e`: forward four-byte extract.
    Forward4Extract,
    /// `.b4e`: backward four-byte extract.
    Backward4Extract,
    /// `.rc8`: replicate one byte.
    Replicate8,
    /// `.ecl`: edge clamp left.
    EdgeClampLeft,
    /// `.ecr`: edge clamp right.
    EdgeClampRight,
    /// `.rc16`: replicate one half word.
    Replicate16,
}

/// Property tested by `testp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the variants are the properties of the PTX modifier of the same name"
)]
pub enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Elementary functions, all `.approx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MathFunction {
    /// `rsqrt.approx` (f32, f64).
    Rsqrt,
    /// `ex2.approx`: two to the power (f32).
    Ex2,
    /// `lg2.approx`: logarithm to base two (f32).
    Lg2,
    /// `sin.approx` (f32).
    Sin,
    /// `cos.approx` (f32).
    Cos,
    /// `tanh.approx` (f32).
    Tanh,
}

/// Memory consistency of an access or fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `.weak`, or nothing: may race.
    Weak,
    /// `.volatile`: as relaxed with system scope, and never merged.
    Volatile,
    /// `.relaxed`.
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`.
    AcqRel,
    /// `.sc` (fences only).
    SeqCst,
}

/// Threads among which an order holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`: the block.
    Block,
    /// `.cluster`.
    Cluster,
    /// `.gpu`.
    Device,
    /// `.sys`.
    System,
}

/// Cache operator of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CacheOp {
    /// None written: cached at all levels.
    #[default]
    Default,
    /// `.ca`: all levels.
    Ca,
    /// `.cg`: L2 only.
    Cg,
    /// `.cs`: streaming.
    Cs,
    /// `.lu`: last use.
    Lu,
    /// `.cv`: do not cache, fetch again.
    Cv,
    /// `.wb`: write back.
    Wb,
    /// `.wt`: write through.
    Wt,
}

/// Operation of `atom` and `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Integer (wrapping) or floating addition (round to nearest; see [`Op::Atomic`](super::Op::Atomic)).
    Add,
    /// Minimum, signed or not by the type.
    Min,
    /// Maximum, signed or not by the type.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Exchange.
    Exch,
    /// Compare `b`, swap in `c`.
    Cas,
    /// `old >= b ? 0 : old + 1`.
    Inc,
    /// `old == 0 || old > b ? b : old - 1`.
    Dec,
}

/// Lane selection of `shfl.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the variants are the modes of the PTX modifier of the same name"
)]
pub enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// Result of `vote.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// True where every lane's source is true.
    All,
    /// True where any lane's source is true.
    Any,
    /// True where all lanes agree.
    Uni,
    /// A mask of the lanes whose source is true (32-bit destination).
    Ballot,
}

/// Operation of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the operations")]
pub enum ReduxOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// Reduction of `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierReduction {
    /// Number of threads whose predicate is true (32-bit destination).
    Popc,
    /// True where all are (predicate destination).
    And,
    /// True where any is (predicate destination).
    Or,
}

/// Operation of the packed 16-bit integer instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the operations")]
pub enum PackedOp {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
}
