//! The instructions, a file for each family: how it is written, which types it has, what it does.
//!
//! | file | opcodes |
//! |------|---------|
//! | `integer`, `carry` | integer arithmetic, without and with a carry flag |
//! | `video` | arithmetic on bytes and halves |
//! | `bits`, `fields` | logic, shifts, permutations; bit fields |
//! | `float`, `divide` | floating-point arithmetic; division, roots, approximations |
//! | `inexact` | the errors of approximations |
//! | `half` | floating-point arithmetic of 16 bits |
//! | `compare` | comparisons |
//! | `moves`, `convert` | moves, packing, selection, addresses; conversions |
//! | `narrow` | conversions to 8 bits and back, to tf32, packed |
//! | `memory`, `used`, `store_async`, `atomic`, `fence` | loads and stores; atomics; fences |
//! | `copy`, `bulk`, `tensor` | asynchronous copies, of a thread, in bulk, of tiles of tensors |
//! | `barrier`, `mbarrier` | barriers of the block; objects that threads and copies arrive at |
//! | `cluster` | barrier and addresses of the cluster |
//! | `warp_wide`, `party`, `together` | operations of all lanes; these lanes; how they come together |
//! | `matrix` | matrices that the lanes of a warp hold together |
//! | `control`, `call` | branches and ends; calls and returns |
//! | `texture`, `surface` | fetches of textures; loads and stores of surfaces |
//! | `replace_map` | tensor maps that a kernel changes |
//! | `formatted_store` | stores to surfaces that convert |
//! | `images`, `image_query` | their objects by number or by name; what they say of themselves |
//! | `system_call` | calls of the driver's functions: prints, failed assertions |
//!
//! A new instruction is a line in the table, [`operation`], and its family's file. The family also
//! says what the instruction is counted as, where control goes after it, and how unset bits go
//! through it (the fields of [`Reader`]). Nothing else looks at the text of an opcode.

mod atomic;
mod barrier;
mod bits;
mod bulk;
mod cache_hints;
mod call;
mod carry;
mod cluster;
mod compare;
mod control;
mod convert;
mod copy;
mod divide;
mod elements;
mod fence;
mod fields;
mod float;
mod formatted_store;
mod half;
mod image_query;
mod images;
mod inexact;
mod integer;
mod late;
mod load_param;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod narrow;
pub(crate) mod party;
mod replace_map;
mod store_async;
mod surface;
mod system_call;
mod tensor;
mod texture;
mod together;
mod used;
mod video;
mod warp_wide;

use crate::address_origin::Makes;
use crate::counts::InstructionClass;
use crate::fault::Stop;
use crate::frame::{Exchange, Returning};
use crate::read::{Read, Reader, Refusal};
use crate::registers::{Slot, Sum};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Facts;
use crate::unset_values::shadows::Shadow;
use crate::warp::{Frame, Warp};
use matrix::Watch;
pub(crate) use matrix::watch;
use party::Together;

/// A decoded instruction, as its family describes it.
pub(crate) struct Decoded {
    /// The operation, behind the computation of its operands that are sums.
    pub(crate) op: Op,
    /// The class that it is counted in.
    pub(crate) class: InstructionClass,
    /// Its reads and writes, and what follows from them. Its guard is not among them.
    pub(crate) facts: Facts,
    /// How it lets threads communicate, except by `returning`.
    pub(crate) exchange: Exchange,
    /// The update that it makes, if a register gets the old value.
    pub(crate) returning: Option<Returning>,
}

/// Decodes an instruction.
pub(crate) fn read(mut r: Reader) -> Read<Decoded> {
    r.check_type()?;
    r.check_target()?;
    let op = operation(&mut r)?;
    let Reader {
        class,
        flow,
        rule,
        makes,
        facts,
        sums,
        exchange,
        returning,
        ..
    } = r;
    Ok(Decoded {
        op: AfterSums::of(sums, op),
        class,
        facts: Facts {
            flow,
            rule,
            makes,
            ..facts
        },
        exchange,
        returning,
    })
}

/// The family of each opcode.
fn operation(r: &mut Reader) -> Read<Op> {
    match r.opcode {
        "add" | "sub" | "mul" | "min" | "max" | "abs" | "neg" | "div" | "mad" => arithmetic(r),
        "rem" | "sad" | "mul24" | "mad24" | "dp4a" | "dp2a" => integer::read(r),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" | "vmad"
        | "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" | "vadd4"
        | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => video::read(r),
        "addc" | "subc" | "madc" => carry::read(r),
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "prmt" | "lop3" => {
            bits::read(r)
        }
        "bfe" | "bfi" | "bfind" | "brev" | "popc" | "clz" | "fns" | "bmsk" | "szext" => {
            fields::read(r)
        }
        "fma" | "ex2" | "tanh" if half::is_half(r) => half::read(r),
        "fma" => float::fma(r),
        "copysign" => float::copysign(r),
        "sqrt" | "rcp" => divide::root_or_reciprocal(r),
        "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => divide::elementary(r),
        "setp" => compare::setp(r),
        "set" => compare::set(r),
        "testp" => compare::testp(r),
        "mov" => moves::mov(r),
        "selp" => moves::selp(r),
        "slct" => moves::slct(r),
        "cvta" => moves::cvta(r),
        "isspacep" => moves::is_space(r),
        "cvt" => convert::read(r),
        "ld" | "ldu" => memory::load(r),
        "st" => {
            if r.has("async") {
                store_async::read(r)
            } else {
                memory::store(r)
            }
        }
        "prefetch" | "prefetchu" => cache_hints::prefetch(r),
        "applypriority" => cache_hints::apply_priority(r),
        "atom" | "red" => atomic::read(r),
        "fence" | "membar" => fence::read(r),
        "cp" => asynchronous_copy(r),
        "mbarrier" => mbarrier::read(r),
        "bar" => {
            if r.has("warp") {
                warp_wide::barrier(r)
            } else {
                barrier::read(r)
            }
        }
        "barrier" => {
            if r.has("cluster") {
                cluster::barrier(r)
            } else {
                barrier::read(r)
            }
        }
        "mapa" => cluster::map_address(r),
        "getctarank" => cluster::rank_of_address(r),
        "shfl" | "vote" | "match" | "redux" | "elect" => warp_wide::read(r),
        "ldmatrix" => matrix::load(r),
        "stmatrix" => matrix::store(r),
        "movmatrix" => matrix::move_matrix(r),
        "mma" => matrix::mma(r),
        "wmma" => matrix::wmma(r),
        "wgmma" => matrix::wgmma(r),
        "setmaxnreg" => matrix::set_registers(r),
        "activemask" => warp_wide::active_mask(r),
        "bra" | "brx" | "exit" | "trap" | "brkpt" => control::read(r),
        "nanosleep" => control::sleep(r),
        "griddepcontrol" => control::grid_dependency(r),
        "pmevent" => control::profiler_event(r),
        "createpolicy" => cache_hints::create_policy(r),
        "tex" | "tld4" => texture::fetch(r),
        "txq" | "suq" => image_query::query(r),
        "suld" => surface::load(r),
        "sust" => surface::store(r),
        "tensormap" => replace_map::read(r),
        "call" => call::call(r),
        "ret" => call::ret(r),
        other => Err(Refusal::Unsupported(format!("instruction `{other}`"))),
    }
}

/// The opcodes that integers and floating point share: told apart by the type.
fn arithmetic(r: &mut Reader) -> Read<Op> {
    r.makes = match r.opcode {
        "add" | "mad" => Makes::Sum,
        "sub" => Makes::Difference,
        _ => Makes::Number,
    };
    for (packed, is_signed) in [("u16x2", false), ("s16x2", true)] {
        if r.has(packed) {
            return integer::packed16(r, is_signed);
        }
    }
    let ty = r.ty()?;
    if half::Half::of(ty).is_some() {
        return half::arithmetic(r, ty);
    }
    if ty.is_float() {
        let ty = r.as_float(ty)?;
        return match r.opcode {
            "div" => divide::div(r, ty),
            _ => float::arithmetic(r, ty),
        };
    }
    let ty = r.as_int(ty)?;
    if matches!(r.opcode, "add" | "sub" | "mad") && r.has("cc") {
        return carry::writing(r, ty);
    }
    integer::arithmetic(r, ty)
}

/// Copies of a thread and copies in bulk.
fn asynchronous_copy(r: &mut Reader) -> Read<Op> {
    if !r.has("async") {
        return Err(r.missing("`.async`"));
    }
    if r.has("reduce") {
        return bulk::reduce(r);
    }
    if r.has("mbarrier") {
        return copy::arrive_behind(r);
    }
    if r.has("bulk") {
        bulk::read(r)
    } else {
        copy::read(r)
    }
}

/// The end of a body: control must not run past it.
pub(crate) fn implicit_return() -> Op {
    Op::Other(Box::new(call::Return))
}

/// An instruction that is not modelled.
#[derive(Debug)]
struct Unsupported {
    reason: Box<str>,
}

impl Execute for Unsupported {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        Err(runner.unsupported(warp.first_thread(at.active), at.pc, &self.reason))
    }
}

/// An instruction with something to do first: operands that are sums, or to look at what products
/// of a warpgroup have.
#[derive(Debug)]
struct AfterSums {
    sums: Box<[Sum]>,
    watch: Option<Watch>,
    op: Op,
}

impl Execute for AfterSums {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for sum in &self.sums {
            sum.compute(&mut warp.registers, at.active);
        }
        if let Some(watch) = &self.watch {
            watch.note(runner, warp, at)?;
        }
        match &self.op {
            Op::Apply { apply, o } => {
                // SAFETY: the pointer comes from `lane_loop!` or `portable_loop!`, which choose
                // code that this host can run.
                unsafe { apply(&mut warp.registers, o, at.active) };
                Ok(Next::Step)
            }
            Op::Compare { test, o, then } => {
                // SAFETY: the pointer comes from `test!`, which chooses code that this host can
                // run.
                let bits = unsafe { test(&warp.registers, o) };
                then.store(&mut warp.registers, at.active, bits);
                Ok(Next::Step)
            }
            Op::Other(op) => op.execute(runner, warp, at),
            // A branch has no values as operands, so nothing precedes it.
            Op::Branch { .. } => unreachable!("a branch after sums"),
        }
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        if let Op::Other(op) = &mut self.op {
            op.track(shadow, is_late);
        }
    }

    fn is_quiet(&self) -> bool {
        matches!(&self.op, Op::Other(op) if op.is_quiet())
    }

    fn together(&self) -> Option<(&str, &dyn Together)> {
        match &self.op {
            Op::Other(op) => op.together(),
            _ => None,
        }
    }

    fn element_bytes(&self) -> Option<u32> {
        match &self.op {
            Op::Other(op) => op.element_bytes(),
            _ => None,
        }
    }

    fn strengthen(&mut self, is_compared: bool) {
        if let Op::Other(op) = &mut self.op {
            op.strengthen(is_compared);
        }
    }

    fn is_asynchronous(&self) -> bool {
        matches!(&self.op, Op::Other(op) if op.is_asynchronous())
    }

    fn after_return(&self, warp: &mut Warp, caller: Frame, callee: Frame, active: u32) {
        if let Op::Other(op) = &self.op {
            op.after_return(warp, caller, callee, active);
        }
    }
}

impl AfterSums {
    /// The operation behind the computation of these operands.
    fn of(sums: Vec<Sum>, op: Op) -> Op {
        if sums.is_empty() {
            return op;
        }
        Op::Other(Box::new(AfterSums {
            sums: sums.into(),
            watch: None,
            op,
        }))
    }

    /// Puts the operation behind a look at its registers.
    fn wrap(op: &mut Op, watch: Watch) {
        let inner = std::mem::replace(op, Op::Branch { target: 0 });
        *op = Op::Other(Box::new(AfterSums {
            sums: Box::default(),
            watch: Some(watch),
            op: inner,
        }));
    }
}

impl Decoded {
    /// An instruction that is not modelled, which is a fault only where it is reached.
    pub(crate) fn unsupported(reason: &str) -> Self {
        let reason = reason.into();
        Self {
            op: Op::Other(Box::new(Unsupported { reason })),
            class: InstructionClass::Other,
            facts: Facts::default(),
            exchange: Exchange::default(),
            returning: None,
        }
    }
}
