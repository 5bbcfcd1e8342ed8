//! A PTX module that can be loaded: what it declares, and its code.
//!
//! `kernels` reads a module kernel by kernel.

mod kernels;

use std::collections::HashSet;
use std::sync::Arc;

use ptx::{Body, Function, FunctionId, Instruction, Problem, Program, SourceLocId};

use kernels::{Kernels, Needs};

use crate::check::race::Strength;
use crate::check::relaxed::relaxed_loads;
use crate::convergence::stay_together;
use crate::counts::InstructionClass;
use crate::device_runtime::with_cooperative_groups;
use crate::frame::{Exchange, FunctionCode};
use crate::instructions::{self, Decoded};
use crate::liveness::Liveness;
use crate::position::{CodePosition, Positions, look_ahead};
use crate::pressure;
use crate::read::{FunctionBuilder, Reader, Refusal};
use crate::registers::ALWAYS;
use crate::runner::{Code, Inst, Op};
use crate::shared_arrays::{self, Base};
use crate::tally::InstructionInfo;
use crate::unset_values::{
    self, Spaces,
    facts::{Company, Facts, Flow, Rule, WordAccess},
    shadows::Numbers,
};

/// A PTX module that can be loaded: what it declares, and its code.
#[derive(Debug)]
pub struct Executable {
    program: Program,
    code: Code,
    unsupported: Vec<UnsupportedInstruction>,
    /// The code of its kernels, if it has none itself.
    kernels: Option<Kernels>,
    needs: Needs,
}

/// An instruction that is not modelled: executing it is a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedInstruction {
    /// The function that it is in.
    pub function: String,
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// The part that is not supported, and the instruction as written.
    pub reason: String,
}

impl Executable {
    /// Reads a PTX text: every function, whether a launch reaches it or not.
    ///
    /// Instructions that are not modelled are not errors: see [`Executable::unsupported`]. A wrong
    /// body costs its own function only ([`Program::refused`](ptx::Program::refused)): a launch
    /// that would run it fails with the error.
    ///
    /// # Errors
    /// The first position where the text is not well-formed, names something that it does not
    /// declare, or has an instruction of a form that PTX does not have; inside bodies, if no kernel
    /// is left that could run.
    pub fn parse(source: &str) -> Result<Executable, ptx::Error> {
        let source = &*with_cooperative_groups(source);
        let mut builder = Builder::of(Spaces::of(source));
        let program = Program::read(source, |body| builder.function(body))?;
        Ok(builder.finish(program))
    }

    /// Reads the declarations of a PTX text, and the functions that a kernel may reach when that
    /// kernel is first asked for: of a module with very many kernels, a program launches few.
    /// Launches are as those of [`Executable::parse`].
    ///
    /// [`Executable::program`] tells no refusal, registers or local memory of functions, for they
    /// follow from bodies: [`Executable::kernel`] does.
    ///
    /// # Errors
    /// As [`Executable::parse`].
    pub fn parse_lazily(source: &str) -> Result<Executable, ptx::Error> {
        let source = &*with_cooperative_groups(source);
        let Some(kernels) = Kernels::of(source) else {
            return Self::parse(source);
        };
        let executable = Self {
            program: kernels.program().clone(),
            code: Code::default(),
            unsupported: Vec::new(),
            needs: Needs::of_functions(kernels.program().functions.len()),
            kernels: Some(kernels),
        };
        let is_right = |kernel: &Function| executable.kernel(&kernel.name).is_some();
        if executable.program.kernels().any(is_right) {
            return Ok(executable);
        }
        // Nothing in it can run, and the reason is told.
        Self::parse(source)
    }

    /// The declarations of the module.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A kernel that has not been refused, with all that follows from its body.
    pub fn kernel(&self, name: &str) -> Option<&Function> {
        let (id, _) = self.program.function_named(name)?;
        self.of_kernel(id).program.kernel(name)
    }

    /// The module as far as a kernel and what it may reach are concerned.
    pub(crate) fn of_kernel(&self, kernel: FunctionId) -> &Executable {
        let kernels = self.kernels.as_ref();
        kernels.map_or(self, |kernels| kernels.read(kernel))
    }

    /// The module with the code of all functions.
    fn whole(&self) -> &Executable {
        let kernels = self.kernels.as_ref();
        kernels.map_or(self, |kernels| kernels.whole())
    }

    /// The code of a kernel and of what it may reach, and the kernel's number; none without such a
    /// kernel.
    fn code_of(&self, kernel: &str) -> Option<(&Code, u32)> {
        let (id, _) = self.program.function_named(kernel)?;
        Some((&self.of_kernel(id).code, id.0))
    }

    /// Every instruction that is not modelled, in the order of the functions and the text.
    pub fn unsupported(&self) -> &[UnsupportedInstruction] {
        &self.whole().unsupported
    }

    /// True if what a kernel computes may depend on the order in which its threads run: they learn
    /// of each other by atomics or strong accesses, or ask where they run. Updates of one kind
    /// whose old value no thread reads give the same in any order. False without such a kernel.
    pub fn depends_on_order(&self, kernel: &str) -> bool {
        let found = self.code_of(kernel);
        found.is_some_and(|(code, id)| {
            let exchange = code.exchange(id);
            exchange.threads || exchange.asks_where
        })
    }

    /// True if blocks of a kernel update memory that they share by atomics, whether or not a thread
    /// reads what was there. False without such a kernel.
    pub fn updates_memory(&self, kernel: &str) -> bool {
        let found = self.code_of(kernel);
        found.is_some_and(|(code, id)| {
            let exchange = code.exchange(id);
            exchange.threads || exchange.silent != 0
        })
    }

    /// True if the blocks of a kernel may communicate with each other through memory. False without
    /// such a kernel.
    pub fn blocks_communicate(&self, kernel: &str) -> bool {
        let found = self.code_of(kernel);
        found.is_some_and(|(code, id)| code.exchange(id).blocks)
    }

    /// True if a kernel has fences, releases or acquires: with these, threads may order accesses
    /// with those of launches that run at the same time. False without such a kernel.
    pub fn has_fences(&self, kernel: &str) -> bool {
        let found = self.code_of(kernel);
        found.is_some_and(|(code, id)| code.exchange(id).orders)
    }

    /// The first function in which an assembler may contract a product and a sum to an `fma`, which
    /// is rounded once: both are of f32 or f64, and without a rounding modifier (PTX ISA, "Floating
    /// Point Instructions: add").
    pub fn contracts(&self) -> Option<&str> {
        self.whole().code.contracts.as_deref()
    }

    /// True if some function may call itself, also by way of others or by an address: no compiler
    /// can then say how much stack a thread needs.
    pub fn is_recursive(&self) -> bool {
        self.whole().code.is_recursive()
    }

    /// The 32-bit registers that a thread of this kernel needs at least, whatever compiles it, if
    /// nothing bounds them ([`ptx::Function::bounded_registers`]); 0 without such a kernel. A
    /// compiler may take more.
    pub fn needed_registers(&self, kernel: &str) -> u32 {
        let found = self.program.defined_kernel(kernel);
        found.map_or(0, |(id, _)| self.needs.of(self, id))
    }

    /// The positions of all instructions that a launch of a kernel can reach, those of functions
    /// that it calls too. None without such a kernel.
    pub fn positions(&self, kernel: &str) -> Vec<&CodePosition> {
        let Some((code, id)) = self.code_of(kernel) else {
            return Vec::new();
        };
        let infos = |f: &FunctionCode| &code.infos[f.entry as usize..f.end as usize];
        let reached = code.reach(id).into_iter().flat_map(infos);
        reached.map(|info| &info.position).collect()
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }
}

/// The code under construction.
struct Builder {
    code: Code,
    unsupported: Vec<UnsupportedInstruction>,
    marks: Vec<Mark>,
    /// Where a generic address may lie.
    spaces: Spaces,
    /// The least registers of the function read last, where they are asked for: to find them takes
    /// as long as all else.
    needed_registers: Option<u32>,
}

/// The notes on an instruction until source positions are known.
struct Mark {
    class: InstructionClass,
    is_branch: bool,
    strength: Strength,
    base: Base,
    /// Whether a branch or a call leads here.
    is_target: bool,
    stays_together: bool,
    /// Whether control may go elsewhere from here.
    leaves: bool,
    ptx_line: u32,
    loc: Option<SourceLocId>,
}

impl Builder {
    fn of(spaces: Spaces) -> Self {
        Self {
            code: Code::default(),
            unsupported: Vec::new(),
            marks: Vec::new(),
            spaces,
            needed_registers: None,
        }
    }

    /// The module whose functions have been read.
    fn finish(self, program: Program) -> Executable {
        let Builder {
            mut code,
            unsupported,
            marks,
            ..
        } = self;
        let mut positions = Positions::new(&program);
        let entries: HashSet<u32> = code.functions.iter().map(|f| f.entry).collect();
        let numbered = (0..).zip(&marks);
        code.infos = numbered
            .map(|(pc, mark)| {
                if entries.contains(&pc) {
                    positions.enter_function();
                }
                if mark.is_target {
                    positions.pass_target();
                }
                InstructionInfo {
                    class: mark.class,
                    is_branch: mark.is_branch,
                    strength: mark.strength,
                    base: mark.base,
                    stays_together: mark.stays_together,
                    position: positions.of(mark.ptx_line, mark.loc),
                }
            })
            .collect();
        let infos = code.infos.iter_mut().zip(&marks);
        look_ahead(infos.map(|(info, mark)| (&mut info.position, mark.leaves, mark.is_target)));
        Executable {
            needs: Needs::of_functions(program.functions.len()),
            program,
            code,
            unsupported,
            kernels: None,
        }
    }

    /// Reads a function. One that is wrong has no code.
    fn function(&mut self, body: &mut Body) -> Result<(), Problem> {
        let (insts, marks) = (self.code.insts.len(), self.marks.len());
        let (tallies, unsupported) = (self.code.tally_owners.len(), self.unsupported.len());
        let read = self.code_of(body);
        if read.is_err() {
            self.code.insts.truncate(insts);
            self.marks.truncate(marks);
            self.code.tally_owners.truncate(tallies);
            self.unsupported.truncate(unsupported);
            let name = Arc::from(body.function().name.as_str());
            self.add(FunctionCode {
                name,
                ..nothing(insts as u32)
            });
        }
        read
    }

    fn add(&mut self, function: FunctionCode) {
        self.code.functions.push(Arc::new(function));
    }

    fn code_of(&mut self, body: &mut Body) -> Result<(), Problem> {
        let entry = self.code.insts.len() as u32;
        let tallies = self.code.tally_owners.len() as u32;
        let mut function = FunctionBuilder::new(body.function(), entry, tallies);
        let mut facts = Vec::new();
        // Whether control may run past the last instruction, and where that stands.
        let (mut runs_on, mut ptx_line, mut loc) = (true, body.function().pos.line, None);
        while let Some(instruction) = body.next_instruction()? {
            (ptx_line, loc) = (instruction.syntax.opcode.pos.line, instruction.loc);
            let read = self.instruction(body, &mut function, &instruction)?;
            runs_on = read.guard.is_some() || matches!(read.flow, Flow::Next);
            facts.push(read);
        }
        let end = self.code.insts.len() as u32 - entry;
        let is_reached = runs_on || body.labels().iter().any(|label| label.target == end);
        if body.function().is_defined && is_reached {
            let inst = Inst {
                guard: ALWAYS,
                flip: 0,
                op: instructions::implicit_return(),
                unset: None,
                late: None,
            };
            let mark = Mark {
                class: InstructionClass::Control,
                is_branch: false,
                strength: Strength::default(),
                base: Base::default(),
                is_target: false,
                stays_together: true,
                leaves: true,
                ptx_line,
                loc,
            };
            self.push(inst, mark);
        }
        self.settle_strengths(entry as usize, &mut facts, &mut function);
        instructions::watch(&mut self.code.insts[entry as usize..], &facts);
        let source = body.function();
        let stay = stay_together(&facts, source.is_kernel);
        for (mark, stays) in self.marks[entry as usize..].iter_mut().zip(stay) {
            mark.stays_together = stays;
        }
        let exchange = function.exchange();
        let parameters: Vec<_> = source
            .params
            .iter()
            .chain(&source.returns)
            .filter_map(|param| param.register)
            .map(|register| function.frame.register(register))
            .collect();
        let bases = shared_arrays::bases(&facts, &parameters);
        for (mark, base) in self.marks[entry as usize..].iter_mut().zip(bases) {
            mark.base = base;
        }
        mark_targets(&mut self.marks[entry as usize..], &facts);
        let insts = &mut self.code.insts[entry as usize..];
        let spaces = self.spaces;
        let numbers = Numbers {
            rows: function.frame.rows(),
        };
        let liveness = Liveness::of(&facts, numbers);
        let classes = self.marks[entry as usize..].iter().map(|mark| mark.class);
        if let (Some(needed), Some(liveness)) = (&mut self.needed_registers, &liveness) {
            let rows = (numbers, function.frame.lane_rows());
            *needed = pressure::registers(&facts, classes, rows, liveness, spaces);
        }
        let live = (numbers, liveness.as_ref());
        let tracked = unset_values::track(
            insts,
            &facts,
            live,
            &mut function.frame,
            &parameters,
            spaces,
        );
        let behind = entry + insts.len() as u32;
        for each in &facts {
            let writes = each.writes.iter().copied();
            self.code.writes.push(writes.flatten());
        }
        // The implicit return.
        if facts.len() < insts.len() {
            self.code.writes.push([]);
        }
        let registers = function.frame.registers();
        let (rows, constants) = function.frame.finish();
        self.code.orders_blocks |= function.orders_blocks;
        let mut unrounded = function.unrounded.iter();
        if unrounded.any(|of_type| of_type.products && of_type.sums) {
            let name = || Arc::from(source.name.as_str());
            self.code.contracts.get_or_insert_with(name);
        }
        self.add(FunctionCode {
            name: Arc::from(source.name.as_str()),
            is_defined: source.is_defined,
            entry,
            end: behind,
            rows,
            constants,
            registers,
            local_bytes: source.local_bytes,
            local_align: source.local_align.max(1),
            param_frame_bytes: source.param_frame_bytes.next_multiple_of(16),
            narrowest: function.narrowest,
            callees: function.callees,
            allocates: function.allocates,
            shadows: tracked.early,
            late_shadows: tracked.late,
            rows_cleared: tracked.rows_before,
            exchange,
        });
        Ok(())
    }

    /// Reads an instruction.
    fn instruction<'p, 'a>(
        &mut self,
        body: &mut Body<'p, 'a>,
        function: &mut FunctionBuilder,
        instruction: &Instruction<'p, 'a>,
    ) -> Result<Facts, Problem> {
        let syntax = instruction.syntax;
        let guard = instruction
            .guard
            .map(|(reg, negated)| (function.frame.register(reg).row, negated));
        let decoded = match instructions::read(Reader::new(body, function, syntax)) {
            Ok(decoded) => decoded,
            Err(Refusal::Wrong(problem)) => return Err(problem),
            Err(Refusal::Unsupported(reason)) => {
                let reason = format!("{reason} (in `{}`)", syntax.text);
                let unsupported = Decoded::unsupported(&reason);
                self.unsupported.push(UnsupportedInstruction {
                    function: body.function().name.clone(),
                    ptx_line: syntax.opcode.pos.line,
                    reason,
                });
                unsupported
            }
        };
        let Decoded {
            op,
            class,
            mut facts,
            exchange,
            returning,
        } = decoded;
        let exchanges = exchange != Exchange::default() || returning.is_some();
        function.exchange = function.exchange.and(exchange);
        function.returning.extend(returning);
        facts.guard = guard.map(|(row, _)| row);
        let position = self.code.insts.len() as u32;
        self.code
            .tally_owners
            .resize(function.tallies as usize, position);
        let mark = Mark {
            class,
            is_branch: matches!(facts.flow, Flow::Branch(_) | Flow::Table(_)),
            strength: facts.strength.unwrap_or_default(),
            base: Base::default(),
            is_target: false,
            stays_together: true,
            leaves: !matches!(facts.flow, Flow::Next),
            ptx_line: syntax.opcode.pos.line,
            loc: instruction.loc,
        };
        let (guard, is_negated) = guard.unwrap_or((ALWAYS, false));
        let inst = Inst {
            guard,
            flip: if is_negated { u32::MAX } else { 0 },
            op,
            unset: None,
            late: None,
        };
        self.push(inst, mark);
        let sees_others = exchanges
            || matches!(
                class,
                InstructionClass::Warp | InstructionClass::Barrier | InstructionClass::Other
            );
        if facts.company == Company::None && sees_others {
            facts.company = Company::Order;
        }
        let names_opcode = matches!(facts.rule, Rule::Strict | Rule::Shuffled);
        facts.opcode = names_opcode.then(|| syntax.opcode.text.into());
        Ok(facts)
    }

    /// Says of the instructions of a function, from `entry` on, how they make strong accesses, once
    /// all are read.
    fn settle_strengths(
        &mut self,
        entry: usize,
        facts: &mut [Facts],
        function: &mut FunctionBuilder,
    ) {
        for (mark, each) in self.marks[entry..].iter_mut().zip(&*facts) {
            // An update whose old value nothing reads tells the program nothing.
            let old = each.writes.first().copied().flatten();
            mark.strength.is_last &= old.is_some_and(|old| !function.frame.is_named_once(old));
        }
        for (load, is_compared) in relaxed_loads(facts, || function.frame.numbers()) {
            let (Some(word), Op::Other(op)) =
                (facts[load].word, &mut self.code.insts[entry + load].op)
            else {
                continue;
            };
            op.strengthen(is_compared);
            let mark = &mut self.marks[entry + load];
            if word.access == WordAccess::StrongLoad {
                mark.strength.is_of_part = word.bytes <= Strength::WORD;
                continue;
            }
            let strength = Strength {
                bytes: word.bytes,
                is_of_part: is_compared && word.bytes <= Strength::WORD,
                ..Strength::default()
            };
            mark.strength = strength;
            facts[load].company = Company::Order;
            function.exchange.note(word.space);
            function.exchange.note_strength(strength);
        }
    }

    fn push(&mut self, inst: Inst, mark: Mark) {
        self.code.insts.push(inst);
        self.marks.push(mark);
    }
}

/// A function without code, where that of others goes on.
fn nothing(entry: u32) -> FunctionCode {
    FunctionCode {
        entry,
        end: entry,
        narrowest: FunctionBuilder::WIDEST,
        local_align: 1,
        ..FunctionCode::default()
    }
}

/// Says of a function's instructions where branches lead, and the call of it.
fn mark_targets(marks: &mut [Mark], facts: &[Facts]) {
    if let Some(entry) = marks.first_mut() {
        entry.is_target = true;
    }
    for each in facts {
        let targets = match &each.flow {
            Flow::Branch(target) => std::slice::from_ref(target),
            Flow::Table(targets) => targets,
            Flow::Next | Flow::End => &[],
        };
        for target in targets {
            // A label at the end stands before nothing.
            if let Some(mark) = marks.get_mut(*target as usize) {
                mark.is_target = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
