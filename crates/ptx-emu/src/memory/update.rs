//! The operations of atomics, and of reductions of tensors.

/// The operation of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    /// Integer (wrapping) or floating addition (rounded to nearest).
    Add,
    /// Minimum, signed or not by the type.
    Min,
    /// Maximum, signed or not by the type.
    Max,
    And,
    Or,
    Xor,
    /// Exchange.
    Exch,
    /// Compare with `b`, swap in `c`.
    Cas,
    /// `old >= b ? 0 : old + 1`.
    Inc,
    /// `old == 0 || old > b ? b : old - 1`.
    Dec,
}
