//! From the typed program to decoded code.
//!
//! - `rows`: which row of which file holds a register or a constant;
//! - `arithmetic`: operations on lanes, by kind: `integer`, `bitwise`, `floating`, `moving`;
//! - `memory`: loads, stores, atomics, copies;
//! - `control`: branches, calls, barriers, warp-wide operations;
//! - `class`: what an instruction is counted as.
//!
//! An instruction that cannot be decoded becomes [`Op::Unsupported`], which is a fault only where it is reached.

mod arithmetic;
mod bitwise;
mod class;
mod control;
mod floating;
mod integer;
mod memory;
mod moving;
mod rows;

use std::sync::Arc;

use ptx::{Op as Source, Program};

use crate::code::{Code, Function, Inst, Op};
use crate::place::place;
use rows::Rows;

/// Why an instruction cannot be decoded.
type Reason = String;

/// The widest element of an access, in bytes.
const WIDEST: u32 = 8;

/// What the decoder of one instruction needs to know beside the instruction.
struct Decoder<'a> {
    /// Addresses of the module's variables.
    globals: &'a [u64],
    /// Memory counts handed out so far.
    tallies: u32,
    /// Position of the first instruction of the function.
    entry: u32,
    rows: Rows,
    is_kernel: bool,
    functions: &'a [ptx::Function],
    /// Narrowest access of the function, in bytes.
    narrowest: u32,
    /// Functions that it calls.
    callees: Vec<u32>,
}

impl Decoder<'_> {
    fn tally(&mut self) -> u32 {
        self.tallies += 1;
        self.tallies - 1
    }
}

/// Decodes a program whose variables lie at the addresses `globals`.
pub(crate) fn decode(program: &Program, globals: &[u64]) -> Code {
    let mut code = Code {
        insts: Vec::new(),
        classes: Vec::new(),
        places: Vec::new(),
        functions: Vec::new(),
        memory_tallies: 0,
        tally_positions: Vec::new(),
    };
    for source in &program.functions {
        let entry = code.insts.len() as u32;
        let mut decoder = Decoder {
            globals,
            tallies: code.memory_tallies,
            entry,
            rows: Rows::new(&source.registers),
            is_kernel: source.is_kernel,
            functions: &program.functions,
            narrowest: WIDEST,
            callees: Vec::new(),
        };
        for inst in &source.instructions {
            let first_tally = decoder.tallies;
            let op = decoder
                .op(&inst.op)
                .unwrap_or_else(|reason| Op::Unsupported(reason.into_boxed_str()));
            for _ in first_tally..decoder.tallies {
                code.tally_positions.push(code.insts.len() as u32);
            }
            let guard = decoder.rows.guard(inst.guard);
            code.insts.push(Inst {
                guard: guard.slot,
                flip: guard.flip,
                op,
            });
            code.classes.push(class::class(&inst.op));
            code.places.push(place(program, inst));
        }
        code.memory_tallies = decoder.tallies;
        let (rows, constants) = (decoder.rows.size(), decoder.rows.constants());
        code.functions.push(Function {
            name: Arc::from(source.name.as_str()),
            is_defined: source.is_defined,
            entry,
            rows,
            variables: decoder.rows.variables(),
            constants,
            always: decoder.rows.always(),
            never: decoder.rows.never(),
            local_bytes: source.local_bytes,
            local_align: source.local_align.max(1),
            param_frame_bytes: source.param_frame_bytes.next_multiple_of(16),
            narrowest: decoder.narrowest,
            callees: decoder.callees,
        });
    }
    code
}

impl Decoder<'_> {
    fn op(&mut self, op: &Source) -> Result<Op, Reason> {
        match op {
            Source::Unsupported(what) => Err(format!("{} (in `{}`)", what.reason, what.text)),
            Source::Ld { .. }
            | Source::St { .. }
            | Source::Atomic { .. }
            | Source::CpAsync { .. }
            | Source::CpAsyncCommit
            | Source::CpAsyncWait { .. }
            | Source::Prefetch { .. }
            | Source::Fence { .. }
            | Source::CvtaToGeneric { .. }
            | Source::CvtaToSpace { .. }
            | Source::IsSpace { .. } => self.memory(op),
            Source::Barrier { .. }
            | Source::BarrierArrive { .. }
            | Source::BarrierRed { .. }
            | Source::BarWarpSync { .. }
            | Source::Shuffle { .. }
            | Source::Vote { .. }
            | Source::Match { .. }
            | Source::Redux { .. }
            | Source::ActiveMask { .. }
            | Source::Elect { .. }
            | Source::Nanosleep { .. }
            | Source::Bra { .. }
            | Source::BrxIdx { .. }
            | Source::Call(_)
            | Source::Ret { .. }
            | Source::Exit
            | Source::Trap
            | Source::Brkpt => self.control(op),
            _ => self.arithmetic(op),
        }
    }
}
