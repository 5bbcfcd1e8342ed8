//! The registers of a warp, and how an operation is applied to its lanes.
//!
//! A register is a row of 32 lanes, so that one PTX instruction is one loop over fixed-size arrays,
//! which the compiler turns into vector instructions. There are three files: rows of 32-bit lanes
//! (16-bit registers live here too, zero-extended), rows of 64-bit lanes, and predicates, one mask
//! each. Immediates and special registers are rows as well, written when a frame is entered: an
//! operand is never anything but a row number.

use ptx::RegClass;

/// Threads of a warp.
pub(crate) const LANES: usize = 32;
/// Every lane.
pub(crate) const ALL: u32 = u32::MAX;

/// A 32-bit register of a warp.
pub(crate) type Row32 = [u32; LANES];
/// A 64-bit register of a warp.
pub(crate) type Row64 = [u64; LANES];

/// First row of the running frame in each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bases {
    pub(crate) r32: u32,
    pub(crate) r64: u32,
    pub(crate) pred: u32,
}

/// The register files of one warp. Slots are relative to the running frame's bases.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub(crate) rows32: Vec<Row32>,
    pub(crate) rows64: Vec<Row64>,
    pub(crate) preds: Vec<u32>,
    pub(crate) bases: Bases,
    /// The warp has loaded shared or global memory that nothing has written, and follows it. Until
    /// then the rows for that hold anything.
    pub(crate) late: bool,
}

impl Registers {
    /// Makes room for a frame that ends at `end`.
    pub(crate) fn reserve(&mut self, end: Bases) {
        let grow = |len: usize, least: u32| len.max(least as usize);
        self.rows32
            .resize(grow(self.rows32.len(), end.r32), [0; LANES]);
        self.rows64
            .resize(grow(self.rows64.len(), end.r64), [0; LANES]);
        self.preds.resize(grow(self.preds.len(), end.pred), 0);
    }

    #[inline(always)]
    pub(crate) fn r32(&self, slot: u32) -> &Row32 {
        &self.rows32[(self.bases.r32 + slot) as usize]
    }

    #[inline(always)]
    pub(crate) fn r32_mut(&mut self, slot: u32) -> &mut Row32 {
        &mut self.rows32[(self.bases.r32 + slot) as usize]
    }

    #[inline(always)]
    pub(crate) fn r64(&self, slot: u32) -> &Row64 {
        &self.rows64[(self.bases.r64 + slot) as usize]
    }

    #[inline(always)]
    pub(crate) fn r64_mut(&mut self, slot: u32) -> &mut Row64 {
        &mut self.rows64[(self.bases.r64 + slot) as usize]
    }

    #[inline(always)]
    pub(crate) fn pred(&self, slot: u32) -> u32 {
        self.preds[(self.bases.pred + slot) as usize]
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set_pred(&mut self, slot: u32, mask: u32, value: u32) {
        let old = &mut self.preds[(self.bases.pred + slot) as usize];
        *old = (*old & !mask) | (value & mask);
    }
}

/// Predicate slot of every frame that holds the carry flag.
pub(crate) const CARRY: u32 = 0;
/// Predicate slot of every frame that is always true.
pub(crate) const ALWAYS: u32 = 1;
/// Predicate slot of every frame that is always false.
pub(crate) const NEVER: u32 = 2;

/// A row that an instruction names, and how wide its values are. 16-bit values live in 32-bit rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) class: RegClass,
    pub(crate) row: u32,
}

/// An operand that is the sum of a register and a number, in a row of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    pub(crate) from: Slot,
    pub(crate) addend: i64,
    pub(crate) to: Slot,
}

impl Sum {
    /// Computes it for the lanes of `mask`.
    pub(crate) fn compute(&self, registers: &mut Registers, mask: u32) {
        for lane in lanes(mask) {
            let value = registers.lane(self.from, lane);
            registers.set_lane(self.to, lane, value.wrapping_add_signed(self.addend));
        }
    }
}

/// Where an access goes: a row of addresses, plus an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// A 64-bit row, or a 32-bit one: then addresses wrap at 2^32.
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// A predicate source: slot, and all ones if negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) slot: u32,
    pub(crate) flip: u32,
}

impl Registers {
    /// The value of one lane, zero-extended.
    #[inline]
    pub(crate) fn lane(&self, slot: Slot, lane: usize) -> u64 {
        match slot.class {
            RegClass::B16 | RegClass::B32 => u64::from(self.r32(slot.row)[lane]),
            RegClass::B64 => self.r64(slot.row)[lane],
            RegClass::Pred => u64::from(self.pred(slot.row) >> lane & 1),
        }
    }

    /// Writes one lane; bits beyond the register's width are dropped.
    #[inline]
    pub(crate) fn set_lane(&mut self, slot: Slot, lane: usize, value: u64) {
        match slot.class {
            RegClass::B16 => self.r32_mut(slot.row)[lane] = value as u32 & 0xffff,
            RegClass::B32 => self.r32_mut(slot.row)[lane] = value as u32,
            RegClass::B64 => self.r64_mut(slot.row)[lane] = value,
            RegClass::Pred => {
                self.set_pred(slot.row, 1 << lane, 0u32.wrapping_sub(value as u32 & 1))
            }
        }
    }

    /// The values of all lanes.
    pub(crate) fn row(&self, slot: Slot) -> Row64 {
        std::array::from_fn(|lane| self.lane(slot, lane))
    }

    /// Writes 0 to rows, in the lanes of a mask.
    pub(crate) fn clear_rows(&mut self, slots: &[Slot], mask: u32) {
        for &slot in slots {
            match slot.class {
                RegClass::Pred => self.set_pred(slot.row, mask, 0),
                _ => self.fill(slot, mask, 0),
            }
        }
    }

    /// Writes the same value to the lanes of a mask.
    #[inline]
    pub(crate) fn fill(&mut self, slot: Slot, mask: u32, value: u64) {
        match slot.class {
            RegClass::B64 => Blended(mask).write::<u64>(self.r64_mut(slot.row), |_| value),
            RegClass::B32 => Blended(mask).write::<u32>(self.r32_mut(slot.row), |_| value as u32),
            _ => lanes(mask).for_each(|lane| self.set_lane(slot, lane, value)),
        }
    }

    /// The addresses of an instruction's lanes. Those of lanes outside its mask are meaningless.
    pub(crate) fn addresses(&self, address: &Address) -> Row64 {
        let offset = address.offset as u64;
        match address.base.class {
            RegClass::B64 => self
                .r64(address.base.row)
                .map(|base| base.wrapping_add(offset)),
            _ => self
                .r32(address.base.row)
                .map(|base| u64::from(base.wrapping_add(offset as u32))),
        }
    }

    /// The lanes for which a predicate source holds.
    #[inline(always)]
    pub(crate) fn flag(&self, flag: Flag) -> u32 {
        self.pred(flag.slot) ^ flag.flip
    }
}

/// The lanes of a mask, ascending.
#[inline]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// The number of lanes of a mask, which is most often that of all: hosts of old count bits one by
/// one.
#[inline(always)]
pub(crate) fn number_of(mask: u32) -> u32 {
    if mask == ALL {
        LANES as u32
    } else {
        mask.count_ones()
    }
}

/// The mask of the lanes of `mask` for which `keep` holds.
#[inline]
pub(crate) fn lanes_where(mask: u32, keep: impl Fn(usize) -> bool) -> u32 {
    lanes(mask)
        .filter(|&lane| keep(lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}

/// The mask of the lanes whose value in `row` is this.
#[inline]
pub(crate) fn lanes_with(row: &[u32; LANES], value: u32) -> u32 {
    // Without a branch, so that it is compiled to vector instructions.
    (0..LANES).fold(0, |mask, lane| mask | u32::from(row[lane] == value) << lane)
}

/// For each lane of a mask the lanes that have its values in both rows.
pub(crate) fn lanes_that_equal(low: &Row32, high: &Row32, mask: u32) -> Row32 {
    let (mut equals, mut rest) = ([0; LANES], mask);
    while rest != 0 {
        // All that equal the first are found together.
        let first = rest.trailing_zeros() as usize;
        let equal = lanes_with(low, low[first]) & lanes_with(high, high[first]);
        lanes(equal & rest).for_each(|lane| equals[lane] = equal);
        rest &= !equal;
    }
    equals
}

/// The rows of an arithmetic instruction. The operation says what `e` and `aux` mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operands {
    pub(crate) d: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) e: u32,
    pub(crate) aux: u32,
}

/// Applies an operation to the lanes of a mask.
///
/// # Safety
/// The pointer may be to code compiled for vector extensions: it must come from [`lane_loop!`],
/// which checks for them first.
pub(crate) type Apply = unsafe fn(&mut Registers, &Operands, u32);

/// A type that lanes are read and written as.
pub(crate) trait Value: Copy {
    type Raw: Copy;
    fn row(registers: &Registers, slot: u32) -> &[Self::Raw; LANES];
    fn row_mut(registers: &mut Registers, slot: u32) -> &mut [Self::Raw; LANES];
    fn from_raw(raw: Self::Raw) -> Self;
    fn into_raw(self) -> Self::Raw;
}

macro_rules! value {
    ($type:ty, $raw:ty, $row:ident, $row_mut:ident, $from:expr, $into:expr) => {
        impl Value for $type {
            type Raw = $raw;
            #[inline(always)]
            fn row(registers: &Registers, slot: u32) -> &[$raw; LANES] {
                registers.$row(slot)
            }
            #[inline(always)]
            fn row_mut(registers: &mut Registers, slot: u32) -> &mut [$raw; LANES] {
                registers.$row_mut(slot)
            }
            #[inline(always)]
            fn from_raw(raw: $raw) -> Self {
                $from(raw)
            }
            #[inline(always)]
            fn into_raw(self) -> $raw {
                $into(self)
            }
        }
    };
}

value!(u32, u32, r32, r32_mut, |x| x, |x| x);
value!(i32, u32, r32, r32_mut, |x| x as i32, |x| x as u32);
value!(f32, u32, r32, r32_mut, f32::from_bits, f32::to_bits);
value!(u16, u32, r32, r32_mut, |x| x as u16, u32::from);
value!(i16, u32, r32, r32_mut, |x| x as i16, |x| u32::from(
    x as u16
));
value!(u64, u64, r64, r64_mut, |x| x, |x| x);
value!(i64, u64, r64, r64_mut, |x| x as i64, |x| x as u64);
value!(f64, u64, r64, r64_mut, f64::from_bits, f64::to_bits);

/// The lanes of a mask, for an operation that is cheap: it is applied to all, and the results of
/// the others are dropped.
#[derive(Clone, Copy)]
pub(crate) struct Blended(pub(crate) u32);

/// The lanes of a mask, for an operation that is dear.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(pub(crate) u32);

/// Lanes to write.
pub(crate) trait Written: Copy {
    /// Writes `value(lane)` to them.
    fn write<D: Value>(self, row: &mut [D::Raw; LANES], value: impl Fn(usize) -> D);
}

impl Written for Blended {
    #[inline(always)]
    fn write<D: Value>(self, row: &mut [D::Raw; LANES], value: impl Fn(usize) -> D) {
        if self.0 == ALL {
            for (lane, raw) in row.iter_mut().enumerate() {
                *raw = value(lane).into_raw();
            }
        } else {
            for (lane, raw) in row.iter_mut().enumerate() {
                let new = value(lane).into_raw();
                *raw = if self.0 >> lane & 1 == 1 { new } else { *raw };
            }
        }
    }
}

impl Written for Chosen {
    #[inline(always)]
    fn write<D: Value>(self, row: &mut [D::Raw; LANES], value: impl Fn(usize) -> D) {
        if self.0 == ALL {
            return Blended(ALL).write(row, value);
        }
        lanes(self.0).for_each(|lane| row[lane] = value(lane).into_raw());
    }
}

/// Writes `value(lane)` to some lanes.
#[inline(always)]
fn write<D: Value>(
    registers: &mut Registers,
    slot: u32,
    lanes: impl Written,
    value: impl Fn(usize) -> D,
) {
    lanes.write(D::row_mut(registers, slot), value);
}

/// `d = f(a)`.
#[inline(always)]
pub(crate) fn map1<A: Value, D: Value>(
    registers: &mut Registers,
    o: &Operands,
    mask: impl Written,
    f: impl Fn(A) -> D,
) {
    let a = *A::row(registers, o.a);
    write(registers, o.d, mask, |i| f(A::from_raw(a[i])));
}

/// `d = f(a, b)`.
#[inline(always)]
pub(crate) fn map2<A: Value, B: Value, D: Value>(
    registers: &mut Registers,
    o: &Operands,
    mask: impl Written,
    f: impl Fn(A, B) -> D,
) {
    let a = *A::row(registers, o.a);
    let b = *B::row(registers, o.b);
    write(registers, o.d, mask, |i| {
        f(A::from_raw(a[i]), B::from_raw(b[i]))
    });
}

/// `d = f(a, b, c)`.
#[inline(always)]
pub(crate) fn map3<A: Value, B: Value, C: Value, D: Value>(
    registers: &mut Registers,
    o: &Operands,
    mask: impl Written,
    f: impl Fn(A, B, C) -> D,
) {
    let a = *A::row(registers, o.a);
    let b = *B::row(registers, o.b);
    let c = *C::row(registers, o.c);
    write(registers, o.d, mask, |i| {
        f(A::from_raw(a[i]), B::from_raw(b[i]), C::from_raw(c[i]))
    });
}

/// `d = f(aux, a)`.
#[inline(always)]
pub(crate) fn map1_aux<A: Value, D: Value>(
    registers: &mut Registers,
    o: &Operands,
    mask: impl Written,
    f: impl Fn(u32, A) -> D,
) {
    let aux = o.aux;
    map1(registers, o, mask, |a| f(aux, a));
}

/// `d = f(aux, a, b)`.
#[inline(always)]
pub(crate) fn map2_aux<A: Value, B: Value, D: Value>(
    registers: &mut Registers,
    o: &Operands,
    mask: impl Written,
    f: impl Fn(u32, A, B) -> D,
) {
    let aux = o.aux;
    map2(registers, o, mask, |a, b| f(aux, a, b));
}

/// `d = f(aux, a, b, c)`.
#[inline(always)]
pub(crate) fn map3_aux<A: Value, B: Value, C: Value, D: Value>(
    registers: &mut Registers,
    o: &Operands,
    mask: impl Written,
    f: impl Fn(u32, A, B, C) -> D,
) {
    let aux = o.aux;
    map3(registers, o, mask, |a, b, c| f(aux, a, b, c));
}

/// The mask of lanes where `f(a, b)`. Lanes outside the instruction's mask are meaningless.
#[inline(always)]
pub(crate) fn compare<A: Value>(
    registers: &Registers,
    o: &Operands,
    f: impl Fn(A, A) -> bool,
) -> u32 {
    let a = A::row(registers, o.a);
    let b = A::row(registers, o.b);
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(f(A::from_raw(a[lane]), A::from_raw(b[lane]))) << lane;
    }
    bits
}

/// The mask of lanes for which a comparison holds.
///
/// # Safety
/// As for [`Apply`].
pub(crate) type Test = unsafe fn(&Registers, &Operands) -> u32;

/// A boolean operation on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoolOp {
    And,
    Or,
    Xor,
}

/// The use of a mask of comparisons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    /// The other predicate.
    pub(crate) with: Option<(BoolOp, Flag)>,
    /// Slot of the result.
    pub(crate) dst: Option<u32>,
    /// Slot of the result for the complement of the comparison.
    pub(crate) complement: Option<u32>,
}

impl Combination {
    /// The mask combined with the other predicate.
    #[inline]
    pub(crate) fn combined(&self, registers: &Registers, bits: u32) -> u32 {
        match self.with {
            Some((BoolOp::And, flag)) => bits & registers.flag(flag),
            Some((BoolOp::Or, flag)) => bits | registers.flag(flag),
            Some((BoolOp::Xor, flag)) => bits ^ registers.flag(flag),
            None => bits,
        }
    }

    /// Writes the results.
    #[inline]
    pub(crate) fn store(&self, registers: &mut Registers, mask: u32, bits: u32) {
        let (yes, no) = (
            self.combined(registers, bits),
            self.combined(registers, !bits),
        );
        if let Some(slot) = self.dst {
            registers.set_pred(slot, mask, yes);
        }
        if let Some(slot) = self.complement {
            registers.set_pred(slot, mask, no);
        }
    }
}

/// True if the host has what the `wide` versions of operations are compiled for.
pub(crate) fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// An [`Apply`] from a function that maps lanes and a closure: `lane_loop!(map2, |a: f32, b: f32| a
/// + b)`.
///
/// The loop is compiled twice, once for the build's target and once for AVX2 and FMA, and the
/// host decides. Both give the same bits: the closure fixes the arithmetic.
macro_rules! lane_loop {
    ($map:ident, $f:expr) => {{
        fn portable(registers: &mut Registers, o: &Operands, mask: u32) {
            $map(registers, o, $crate::registers::Blended(mask), $f);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,lzcnt,popcnt")]
        fn wide(registers: &mut Registers, o: &Operands, mask: u32) {
            $map(registers, o, $crate::registers::Blended(mask), $f);
        }
        #[cfg(not(target_arch = "x86_64"))]
        use portable as wide;
        let apply: $crate::registers::Apply = if $crate::registers::has_wide_vectors() {
            wide
        } else {
            portable
        };
        apply
    }};
}

/// As [`lane_loop!`] for operations that are rare or too long to gain from wide vectors.
macro_rules! portable_loop {
    ($map:ident, $f:expr) => {{
        fn portable(registers: &mut Registers, o: &Operands, mask: u32) {
            $map(registers, o, $crate::registers::Chosen(mask), $f);
        }
        let apply: $crate::registers::Apply = portable;
        apply
    }};
}

pub(crate) use {lane_loop, portable_loop};
