//! The operations, one variant for each semantic family.
//!
//! Conventions: `dst` is written, `a`, `b`, `c` are read in the order of the text. Every operand has the
//! operation's type unless a variant says otherwise. `ftz` flushes subnormal inputs and results to a zero of the
//! same sign; `sat` clamps a float to [0, 1] (NaN to +0) and an integer to its type's range.
//!
//! Floating `add`, `sub`, `mul` without a rounding modifier are rounded to nearest here; the assembler may contract such
//! a multiplication and addition into an `fma`, which this program does not show.

use super::*;

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields are named as the module documentation says"
)]
#[rustfmt::skip] // a table: one variant a line
pub enum Op {
    // Integer arithmetic.
    /// `add`: wrapping, or saturating (`.s32` only).
    Add { ty: IntType, sat: bool, dst: Reg, a: Operand, b: Operand },
    /// `sub`: wrapping, or saturating (`.s32` only).
    Sub { ty: IntType, sat: bool, dst: Reg, a: Operand, b: Operand },
    /// `add.cc`, `addc`, `addc.cc`: reads and/or writes the thread's carry flag.
    AddCarry { ty: IntType, carry_in: bool, carry_out: bool, dst: Reg, a: Operand, b: Operand },
    /// `sub.cc`, `subc`, `subc.cc`: the carry flag holds the borrow.
    SubCarry { ty: IntType, carry_in: bool, carry_out: bool, dst: Reg, a: Operand, b: Operand },
    /// `mul.lo`, `mul.hi`, `mul.wide`.
    Mul { ty: IntType, half: Half, dst: Reg, a: Operand, b: Operand },
    /// `mad`: half of `a * b`, plus `c`. `sat` only for `.hi.s32`.
    Mad { ty: IntType, half: Half, sat: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `mad.cc`, `madc`, `madc.cc`: half of `a * b`, plus `c`, plus carry.
    MadCarry { ty: IntType, half: Half, carry_in: bool, carry_out: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `mul24`: of the low 24 bits of each source (`.u32`, `.s32`).
    Mul24 { ty: IntType, half: Half, dst: Reg, a: Operand, b: Operand },
    /// `mad24`: `mul24` plus `c`.
    Mad24 { ty: IntType, half: Half, sat: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `div`, truncating. Division by zero has no defined result (the hardware gives all ones).
    Div { ty: IntType, dst: Reg, a: Operand, b: Operand },
    /// `rem`, with the sign of `a`.
    Rem { ty: IntType, dst: Reg, a: Operand, b: Operand },
    /// `abs`, wrapping.
    Abs { ty: IntType, dst: Reg, a: Operand },
    /// `neg`, wrapping.
    Neg { ty: IntType, dst: Reg, a: Operand },
    /// `min`; `relu` clamps the result to at least 0.
    Min { ty: IntType, relu: bool, dst: Reg, a: Operand, b: Operand },
    /// `max`; `relu` clamps the result to at least 0.
    Max { ty: IntType, relu: bool, dst: Reg, a: Operand, b: Operand },
    /// `sad`: `c + |a - b|`.
    Sad { ty: IntType, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `dp4a`: `c` plus the four-way byte dot product; all operands 32 bits.
    Dp4a { a_signed: bool, b_signed: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `dp2a`: `c` plus the dot product of `a`'s two half words and the low (or high) two bytes of `b`.
    Dp2a { a_signed: bool, b_signed: bool, high: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `add.u16x2`, `min.s16x2` and so on: two 16-bit halves of a 32-bit value.
    Packed16 { op: PackedOp, dst: Reg, a: Operand, b: Operand },

    // Bits.
    /// `and`.
    And { class: RegClass, dst: Reg, a: Operand, b: Operand },
    /// `or`.
    Or { class: RegClass, dst: Reg, a: Operand, b: Operand },
    /// `xor`.
    Xor { class: RegClass, dst: Reg, a: Operand, b: Operand },
    /// `not`.
    Not { class: RegClass, dst: Reg, a: Operand },
    /// `cnot`: 1 if `a` is 0, else 0.
    Cnot { class: RegClass, dst: Reg, a: Operand },
    /// `shl`; `b` is 32 bits, amounts beyond the width count as the width.
    Shl { class: RegClass, dst: Reg, a: Operand, b: Operand },
    /// `shr`, arithmetic for signed types; `b` is 32 bits, amounts beyond the width count as the width.
    Shr { ty: IntType, dst: Reg, a: Operand, b: Operand },
    /// `shf`: 32 bits out of the 64 bits `b:a` (`b` high), by `c`.
    ShiftFunnel { direction: ShiftDirection, mode: ShiftMode, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `bfe`: `len` bits of `a` from bit `pos`, sign-extended for signed types; `pos` and `len` are 32 bits, taken
    /// modulo 256.
    Bfe { ty: IntType, dst: Reg, a: Operand, pos: Operand, len: Operand },
    /// `bfi`: the low `len` bits of `a` put into `b` at bit `pos`; `pos` and `len` as for `Bfe`.
    Bfi { class: RegClass, dst: Reg, a: Operand, b: Operand, pos: Operand, len: Operand },
    /// `bfind`: position of the highest bit that differs from the sign (of the highest 1 if unsigned), or all ones;
    /// with `shift_amount`, the left shift that brings it to the top. `dst` is 32 bits.
    Bfind { ty: IntType, shift_amount: bool, dst: Reg, a: Operand },
    /// `brev`: bits in reverse order.
    Brev { class: RegClass, dst: Reg, a: Operand },
    /// `popc`; `dst` is 32 bits.
    Popc { class: RegClass, dst: Reg, a: Operand },
    /// `clz`; `dst` is 32 bits.
    Clz { class: RegClass, dst: Reg, a: Operand },
    /// `prmt`: four bytes out of the eight of `b:a`, chosen by `selector`.
    Prmt { mode: PrmtMode, dst: Reg, a: Operand, b: Operand, selector: Operand },
    /// `lop3.b32`: bit `i` of the result is bit `a_i * 4 + b_i * 2 + c_i` of `lut`.
    Lop3 { lut: u8, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `lop3.BoolOp.b32 d|p, a, b, c, lut, q`: as `Lop3`, and `p = (d != 0) BoolOp q`. `dst` is `None` for `_`.
    Lop3Pred { lut: u8, combine: BoolOp, dst: Option<Reg>, pred: Reg, a: Operand, b: Operand, c: Operand, q: Pred },
    /// `fns.b32`: position in `mask` of the `offset`-th (`.s32`) set bit from `base`, or all ones.
    Fns { dst: Reg, mask: Operand, base: Operand, offset: Operand },
    /// `bmsk`: a mask of `b` bits from bit `a` up.
    Bmsk { mode: ShiftMode, dst: Reg, a: Operand, b: Operand },
    /// `szext`: sign- or zero-extends the low `b` bits of `a` (`.u32`, `.s32`).
    Szext { ty: IntType, mode: ShiftMode, dst: Reg, a: Operand, b: Operand },

    // Floating point.
    /// `add`.
    FAdd { ty: FloatType, rounding: Rounding, ftz: bool, sat: bool, dst: Reg, a: Operand, b: Operand },
    /// `sub`.
    FSub { ty: FloatType, rounding: Rounding, ftz: bool, sat: bool, dst: Reg, a: Operand, b: Operand },
    /// `mul`.
    FMul { ty: FloatType, rounding: Rounding, ftz: bool, sat: bool, dst: Reg, a: Operand, b: Operand },
    /// `fma` and `mad`: `a * b + c` with one rounding.
    Fma { ty: FloatType, rounding: Rounding, ftz: bool, sat: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
    /// `div`.
    FDiv { ty: FloatType, precision: Precision, ftz: bool, dst: Reg, a: Operand, b: Operand },
    /// `neg`.
    FNeg { ty: FloatType, ftz: bool, dst: Reg, a: Operand },
    /// `abs`.
    FAbs { ty: FloatType, ftz: bool, dst: Reg, a: Operand },
    /// `min`: the other operand if one is NaN, or the canonical NaN with `nan`; -0 is below +0.
    /// `xorsign_abs`: the smaller magnitude, with the xor of both signs.
    FMin { ty: FloatType, ftz: bool, nan: bool, xorsign_abs: bool, dst: Reg, a: Operand, b: Operand },
    /// `max`: as `FMin`.
    FMax { ty: FloatType, ftz: bool, nan: bool, xorsign_abs: bool, dst: Reg, a: Operand, b: Operand },
    /// `sqrt` (never `Full`).
    Sqrt { ty: FloatType, precision: Precision, ftz: bool, dst: Reg, a: Operand },
    /// `rcp` (never `Full`; `.approx` of f64 is `rcp.approx.ftz.f64`).
    Rcp { ty: FloatType, precision: Precision, ftz: bool, dst: Reg, a: Operand },
    /// `rsqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh`, all `.approx`.
    Math { function: MathFunction, ty: FloatType, ftz: bool, dst: Reg, a: Operand },
    /// `copysign`: the sign of `a` with the magnitude of `b`.
    Copysign { ty: FloatType, dst: Reg, a: Operand, b: Operand },
    /// `testp`; `dst` is a predicate.
    Testp { class: FloatClass, ty: FloatType, dst: Reg, a: Operand },

    // Comparison and selection.
    /// `setp`: `dst = cmp(a, b) combine c`, `complement = !cmp(a, b) combine c`. Either destination may be absent
    /// (`_`).
    Setp {
        ty: ScalarType, compare: Compare, ftz: bool, combine: Option<(BoolOp, Pred)>, dst: Option<Reg>,
        complement: Option<Reg>, a: Operand, b: Operand,
    },
    /// `set`: as `Setp`, writing all ones (`dst_ty` `.u32`, `.s32`) or 1.0 (`.f32`) for true, 0 for false.
    Set {
        dst_ty: ScalarType, ty: ScalarType, compare: Compare, ftz: bool, combine: Option<(BoolOp, Pred)>, dst: Reg,
        a: Operand, b: Operand,
    },
    /// `selp`: `a` if the predicate holds, else `b`.
    Selp { class: RegClass, dst: Reg, a: Operand, b: Operand, pred: Pred },
    /// `slct`: `a` if `c >= 0`, else `b` (also for NaN). `c` is `.f32` if `c_is_float`, else `.s32`.
    Slct { class: RegClass, c_is_float: bool, ftz: bool, dst: Reg, a: Operand, b: Operand, c: Operand },

    // Data movement and conversion.
    /// `mov` of one value.
    Mov { class: RegClass, dst: Reg, src: Operand },
    /// `mov.bN d, {x, y, ..}`: element 0 in the low bits. Each element has `element_bits` bits.
    Pack { class: RegClass, element_bits: u32, dst: Reg, src: Box<[Operand]> },
    /// `mov.bN {x, y, ..}, a`: element 0 from the low bits; `None` for `_`.
    Unpack { class: RegClass, element_bits: u32, dst: Box<[Option<Reg>]>, src: Operand },
    /// `cvt`. `rounding` is present where the text gives one. With `integral`, it rounds to an integral value (`.rni`
    /// and so on: float to integer, or float to float of the same type); otherwise it rounds to the destination's
    /// precision. Float to integer clamps to the destination's range and gives 0 for NaN (64-bit: see the ISA).
    /// Registers may be wider than the types: the source's upper bits are ignored, the result is extended to the register by the
    /// sign of `dst_ty`.
    Cvt {
        dst_ty: ScalarType, src_ty: ScalarType, rounding: Option<Rounding>, integral: bool, ftz: bool, sat: bool,
        relu: bool, dst: Reg, src: Operand,
    },
    /// `cvt.rn.f16x2.f32 d, a, b` (or `bf16x2`): `a` to the upper half, `b` to the lower.
    CvtPack { dst_ty: ScalarType, rounding: Rounding, relu: bool, dst: Reg, a: Operand, b: Operand },
    /// `cvta.SPACE`: address in `space` to generic address.
    CvtaToGeneric { space: Space, dst: Reg, src: Operand },
    /// `cvta.to.SPACE`: generic address to address in `space`.
    CvtaToSpace { space: Space, dst: Reg, src: Operand },
    /// `isspacep`: whether a generic address lies in `space`; `dst` is a predicate.
    IsSpace { space: Space, dst: Reg, src: Operand },

    // Memory.
    /// `ld`: one element per entry of `dst` (1, 2, 4 or 8), consecutive in memory. A register may be wider
    /// than `ty`: the value is extended by the sign of `ty`.
    Ld {
        space: Space,
        ty: ScalarType,
        order: Order,
        scope: Option<Scope>,
        cache: CacheOp,
        /// `.nc`: through the read-only path; the data must not be written during the launch.
        non_coherent: bool,
        dst: Box<[Option<Reg>]>,
        addr: Address,
    },
    /// `st`: one element per entry of `src`. A register may be wider than `ty`: its low bits are stored.
    St { space: Space, ty: ScalarType, order: Order, scope: Option<Scope>, cache: CacheOp, src: Box<[Operand]>, addr: Address },
    /// `atom`, or `red` if `dst` is `None`. `c` only for `Cas`. `.f32` `Add` in global memory flushes subnormals, in
    /// shared memory it does not; `.f64` never.
    Atomic {
        space: Space, op: AtomicOp, ty: ScalarType, order: Order, scope: Scope, dst: Option<Reg>, addr: Address,
        b: Operand, c: Option<Operand>,
    },
    /// `fence` and `membar`.
    Fence { order: Order, scope: Scope },
    /// `prefetch`, `prefetchu`, and other hints that move no value into a register or memory.
    Prefetch { space: Space, addr: Address },
    /// `cp.async`: copies `bytes` (4, 8, 16) from global to shared memory; only `src_bytes` of them are read if given,
    /// the rest is zero; all is zero where `ignore_src` holds.
    CpAsync { bypass_l1: bool, bytes: u32, dst: Address, src: Address, src_bytes: Option<Operand>, ignore_src: Option<Pred> },
    /// `cp.async.commit_group`.
    CpAsyncCommit,
    /// `cp.async.wait_group n`: until at most `n` of the latest groups are pending; `None` for `wait_all`.
    CpAsyncWait { pending: Option<u32> },

    // Synchronisation.
    /// `bar.sync`, `barrier.sync`. `threads` is `None` for the whole block. `aligned`: all threads of a warp must
    /// execute the same instruction together.
    Barrier { aligned: bool, id: Operand, threads: Option<Operand> },
    /// `bar.arrive`, `barrier.arrive`.
    BarrierArrive { aligned: bool, id: Operand, threads: Operand },
    /// `bar.red`, `barrier.red`.
    BarrierRed { aligned: bool, op: BarrierReduction, dst: Reg, id: Operand, threads: Option<Operand>, src: Pred },
    /// `bar.warp.sync`: the lanes in `mask` (32 bits).
    BarWarpSync { mask: Operand },
    /// `shfl.sync`: `dst` from another lane's `src`; `pred` says whether that lane was in range.
    Shuffle { mode: ShuffleMode, dst: Option<Reg>, pred: Option<Reg>, src: Operand, lane: Operand, clamp: Operand, mask: Operand },
    /// `vote.sync`; `dst` is a predicate, or 32 bits for `Ballot`.
    Vote { mode: VoteMode, dst: Reg, src: Pred, mask: Operand },
    /// `match.any.sync`, or `match.all.sync` if `all`: lanes whose `src` equals this lane's; `pred` only with `all`.
    Match { all: bool, class: RegClass, dst: Option<Reg>, pred: Option<Reg>, src: Operand, mask: Operand },
    /// `redux.sync`, `.u32`, `.s32` or `.b32`.
    Redux { op: ReduxOp, ty: IntType, dst: Reg, src: Operand, mask: Operand },
    /// `activemask.b32`.
    ActiveMask { dst: Reg },
    /// `elect.sync`: `dst` is the elected lane, `pred` true in it.
    Elect { dst: Option<Reg>, pred: Reg, mask: Operand },
    /// `nanosleep.u32`.
    Nanosleep { duration: Operand },

    // Control flow.
    /// `bra` to an instruction index; `uniform` for `.uni`.
    Bra { target: u32, uniform: bool },
    /// `brx.idx`: `bra` to `targets[index]`; an index beyond the table has no defined meaning.
    BrxIdx { index: Operand, targets: Box<[u32]>, uniform: bool },
    /// `call`.
    Call(Box<Call>),
    /// `ret`: to the caller, or the end of the thread in a kernel.
    Ret { uniform: bool },
    /// `exit`: the end of the thread.
    Exit,
    /// `trap`: the launch fails.
    Trap,
    /// `brkpt`: a breakpoint; without a debugger attached the launch fails.
    Brkpt,

    /// PTX that is not modelled: executing it is a fault that names it.
    Unsupported(Box<Unsupported>),
}
