//! Calls and returns: `call`, `ret`. The values that move between the frames of caller and callee.

use ptx::{
    Named, Operand, OperandKind, Operands, Param, ParamType, Problem, RegClass, ScalarType, Space,
    Symbol,
};

use super::system_call::{System, SystemCall};
use crate::address_origin::Makes;
use crate::counts::InstructionClass;
use crate::device_runtime;
use crate::fault::{FaultKind, Stop};
use crate::frame::{Constant, FrameBuilder};
use crate::memory::{PARAM_FRAMES, Words, extend, function_at};
use crate::read::{Read, Reader, Refusal, Width, other};
use crate::registers::{ALWAYS, Bases, NEVER, Slot, lanes, lanes_where};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::{Company, Flow, Rule};
use crate::warp::{Frame, State, Warp};

/// `ret`: to the caller, or the end of the thread in a kernel.
pub(super) fn ret(r: &mut Reader) -> Read<Op> {
    (r.class, r.flow) = (InstructionClass::Control, Flow::End);
    r.has("uni");
    r.operands(0)?;
    other(Return)
}

/// `call`.
pub(super) fn call(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Control, Rule::Strict);
    r.makes = Makes::Anything;
    r.facts.company = Company::Order;
    r.has("uni");
    r.operands(0)?;
    let Operands::Call {
        returns,
        callee,
        args,
        table,
    } = &r.syntax().operands
    else {
        return Err(r.unsupported("this form"));
    };
    let OperandKind::Name(name, None) = callee.kind else {
        return Err(r.unexpected(callee, "a function"));
    };
    let mut system = None;
    let mut reader = CallReader {
        target: Target::Function(0),
        params: Vec::new(),
        returns: Vec::new(),
        callee: None,
    };
    match r.body.resolve(name) {
        Some(Named::Symbol(Symbol::Function(id))) => {
            let function = r.function_of(id);
            if function.is_kernel {
                return Err(r.unsupported("a kernel as callee"));
            }
            if !function.is_defined {
                let (params, given) = (function.params.len(), function.returns.len());
                system = System::find(&function.name, params, given);
            }
            if let Some(System::Malloc | System::Free) = system {
                // Where memory lies follows from the order of the calls.
                r.exchange.note(Space::Global);
                r.function.allocates = true;
            }
            reader.target = Target::Function(id.0);
            (reader.params, reader.returns) = (function.params.clone(), function.returns.clone());
            reader.callee = Some(FrameBuilder::new(function));
            if system.is_none() {
                r.function.callees.push(id.0);
            }
        }
        Some(Named::Reg(reg)) if reg.class == RegClass::B64 => {
            let prototype = match table {
                Some(table) => r.body.prototype(table.text)?,
                None => None,
            };
            let Some(prototype) = prototype else {
                return Err(r.unsupported("an address without `.callprototype`"));
            };
            let slot = r.function.frame.register(reg);
            r.facts.reads.push(slot);
            reader.target = Target::Indirect(slot);
            (reader.params, reader.returns) = (prototype.params, prototype.returns);
            r.function
                .callees
                .extend(0..r.body.program().functions.len() as u32);
        }
        Some(_) => return Err(r.unexpected(callee, "a function")),
        None => return Err(Problem::unknown("function", name, callee.pos).into()),
    }
    let call = reader.read(r, callee, name, args, returns)?;
    match system {
        Some(system) => other(SystemCall { system, call }),
        None => other(call),
    }
}

/// The knowledge of a callee while its arguments are read.
struct CallReader {
    target: Target,
    params: Vec<Param>,
    returns: Vec<Param>,
    /// Where the callee's register parameters are; not known of an indirect callee.
    callee: Option<FrameBuilder>,
}

impl CallReader {
    fn read<'a>(
        mut self,
        r: &mut Reader<'_, '_, 'a>,
        callee: &Operand,
        name: &str,
        args: &[Operand<'a>],
        returns: &[Operand<'a>],
    ) -> Read<Call> {
        let (params, results) = (
            std::mem::take(&mut self.params),
            std::mem::take(&mut self.returns),
        );
        let (args, returns) = (flat(r, args)?, flat(r, returns)?);
        for (what, expected, found) in [
            ("arguments", params.len(), args.len()),
            ("results", results.len(), returns.len()),
        ] {
            if expected != found {
                let message =
                    format!("the number of {what} of `{name}` is {expected}, found {found}");
                return Err(Problem::invalid(callee.pos, message).into());
            }
        }
        let args = args
            .iter()
            .zip(&params)
            .map(|(operand, param)| self.argument(r, operand, param))
            .collect::<Read<_>>()?;
        let mut moved = Vec::new();
        for (operand, param) in returns.iter().zip(&results) {
            moved.extend(self.result(r, operand, param)?);
        }
        Ok(Call {
            target: self.target,
            args,
            results: moved.into(),
        })
    }

    /// The callee's row of a register parameter.
    fn register(&mut self, param: &Param) -> Read<Option<Slot>> {
        match (param.register, &mut self.callee) {
            (None, _) => Ok(None),
            (Some(register), Some(callee)) => Ok(Some(callee.register(register))),
            (Some(_), None) => {
                let reason = "a register parameter of an indirect call";
                Err(Refusal::Unsupported(reason.to_string()))
            }
        }
    }

    fn argument<'a>(
        &mut self,
        r: &mut Reader<'_, '_, 'a>,
        operand: &Operand<'a>,
        param: &Param,
    ) -> Read<Argument> {
        if let OperandKind::Name(name, None) = operand.kind
            && let Some(Named::Param(symbol, size)) = r.body.resolve(name)
        {
            let Symbol::FrameParam(from) = symbol else {
                return Err(r.unsupported("a kernel parameter as argument"));
            };
            same_size(operand, name, size, param)?;
            if param.register.is_some() {
                return Err(r.unsupported("a `.param` argument for a `.reg` parameter"));
            }
            let to = param.offset;
            return Ok(Argument::Bytes { from, to, size });
        }
        let ParamType::Scalar(ty) = param.ty else {
            return Err(r.unexpected(operand, "a `.param` variable"));
        };
        let from = r.value(operand, ty, Width::Exact)?;
        Ok(match self.register(param)? {
            Some(to) => Argument::Register { from, to },
            None => Argument::Value {
                from,
                to: param.offset,
                bytes: memory_bytes(ty)?,
            },
        })
    }

    fn result<'a>(
        &mut self,
        r: &mut Reader<'_, '_, 'a>,
        operand: &Operand<'a>,
        param: &Param,
    ) -> Read<Option<CallResult>> {
        if let OperandKind::Sink = operand.kind {
            return Ok(None);
        }
        let from = param.offset;
        if let OperandKind::Name(name, None) = operand.kind
            && let Some(Named::Param(symbol, size)) = r.body.resolve(name)
        {
            let (Symbol::FrameParam(to), None) = (symbol, param.register) else {
                return Err(r.unsupported("this result"));
            };
            same_size(operand, name, size, param)?;
            return Ok(Some(CallResult::Bytes { from, to, size }));
        }
        let ParamType::Scalar(ty) = param.ty else {
            return Err(r.unexpected(operand, "a `.param` variable"));
        };
        let to = r.register(operand, ty, Width::Exact)?;
        Ok(Some(match self.register(param)? {
            Some(slot) => CallResult::Register { from: slot, to },
            None => CallResult::Value {
                from,
                to,
                bytes: memory_bytes(ty)?,
                is_signed: ty.is_signed(),
            },
        }))
    }
}

/// The operands, with those that are vector registers component by component.
fn flat<'a>(r: &mut Reader<'_, '_, 'a>, operands: &[Operand<'a>]) -> Read<Vec<Operand<'a>>> {
    let mut all = Vec::with_capacity(operands.len());
    for operand in operands {
        match (&operand.kind, r.vector(operand)?) {
            (OperandKind::Name(..), Some(components)) => all.extend(components),
            _ => all.push(operand.clone()),
        }
    }
    Ok(all)
}

/// Bytes that a value of a type takes in memory; predicates have no such form.
fn memory_bytes(ty: ScalarType) -> Read<u32> {
    match ty {
        ScalarType::Pred => Err(Refusal::Unsupported(format!("a value of type `{ty}`"))),
        _ => Ok(ty.bytes()),
    }
}

fn same_size(operand: &Operand, name: &str, size: u32, param: &Param) -> Read<()> {
    if size == param.size() {
        return Ok(());
    }
    let message = format!(
        "`{name}` has {size} bytes, but parameter `{}` has {}",
        param.name,
        param.size()
    );
    Err(Problem::invalid(operand.pos, message).into())
}

#[derive(Debug)]
pub(super) struct Call {
    target: Target,
    args: Box<[Argument]>,
    results: Box<[CallResult]>,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Function(u32),
    /// A row of function addresses.
    Indirect(Slot),
}

/// A value that moves from the caller's frame to the callee's.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Bytes { from: u32, to: u32, size: u32 },
    Value { from: Slot, to: u32, bytes: u32 },
    Register { from: Slot, to: Slot },
}

/// A value that moves from the callee's frame to the caller's.
#[derive(Clone, Copy, Debug)]
enum CallResult {
    Bytes {
        from: u32,
        to: u32,
        size: u32,
    },
    Value {
        from: u32,
        to: Slot,
        bytes: u32,
        is_signed: bool,
    },
    Register {
        from: Slot,
        to: Slot,
    },
}

impl Call {
    /// The function that is called, and the lanes of `active` that call it.
    fn callee(&self, runner: &BlockRunner, warp: &Warp, at: At) -> Result<(u32, u32), Stop> {
        let functions = &runner.launch.code.functions;
        let slot = match self.target {
            Target::Function(index) => {
                if functions[index as usize].is_defined {
                    return Ok((index, at.active));
                }
                let function = &runner.launch.program.functions[index as usize];
                let (name, error) = (&function.name, function.refused.as_deref());
                let reason = match (error, device_runtime::refusal(name)) {
                    (Some(error), _) => format!("call of `{name}`, which cannot run: {error}"),
                    (None, Some(why)) => format!("call of `{name}`: {why}"),
                    (None, None) => format!("call of `{name}`, which the module does not define"),
                };
                return Err(runner.unsupported(warp.first_thread(at.active), at.pc, &reason));
            }
            Target::Indirect(slot) => slot,
        };
        let lane = at.active.trailing_zeros() as usize;
        let address = warp.registers.lane(slot, lane);
        let callee = function_at(address).and_then(|index| usize::try_from(index).ok());
        match callee.filter(|&index| functions.get(index).is_some_and(|f| f.is_defined)) {
            Some(index) => {
                let same = |each| warp.registers.lane(slot, each) == address;
                Ok((index as u32, lanes_where(at.active, same)))
            }
            None => {
                let kind = FaultKind::BadCall { address };
                Err(runner.fault(warp.thread(lane), at.pc, kind))
            }
        }
    }

    /// The arguments of a lane, whose frame is `caller`.
    pub(super) fn arguments(&self, warp: &Warp, caller: Frame, lane: usize) -> Vec<u64> {
        let args = self.args.iter().map(|argument| match *argument {
            Argument::Bytes { from, size, .. } => {
                warp.params
                    .load(lane, caller.params.0 + u64::from(from), size)
            }
            Argument::Value { from, bytes, .. } => {
                extend(warp.registers.lane(from, lane), bytes, false)
            }
            Argument::Register { from, .. } => warp.registers.lane(from, lane),
        });
        args.collect()
    }

    /// Gives the only result, an integer, to a lane, whose frame is `caller`.
    pub(super) fn return_value(&self, warp: &mut Warp, caller: Frame, lane: usize, value: u64) {
        for result in &self.results {
            match *result {
                CallResult::Bytes { to, size, .. } => {
                    let to = caller.params.0 + u64::from(to);
                    warp.params.store(lane, to, size, value);
                }
                CallResult::Value { to, .. } | CallResult::Register { to, .. } => {
                    warp.registers.set_lane(to, lane, value);
                }
            }
        }
    }

    fn pass_arguments(&self, warp: &mut Warp, caller: Frame, callee: Frame, taken: u32) {
        for argument in &self.args {
            for lane in lanes(taken) {
                match *argument {
                    Argument::Bytes { from, to, size } => {
                        let from = caller.params.0 + u64::from(from);
                        let to = callee.params.0 + u64::from(to);
                        warp.params.copy(lane, from, to, size);
                    }
                    Argument::Value { from, to, bytes } => {
                        warp.registers.bases = caller.bases;
                        let value = warp.registers.lane(from, lane);
                        let to = callee.params.0 + u64::from(to);
                        warp.params.store(lane, to, bytes, value);
                    }
                    Argument::Register { from, to } => {
                        let [from, to] = [(caller.bases, from), (callee.bases, to)];
                        move_lane(warp, lane, from, to);
                    }
                }
            }
        }
    }
}

impl Execute for Call {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let At { group, pc, active } = at;
        let (callee, taken) = self.callee(runner, warp, at)?;
        // Lanes whose guard is false go on; those that call something else stay and try again.
        let mask = warp.groups[group].mask;
        if mask & !active != 0 {
            warp.split(group, mask & !active, pc + 1, pc);
        }
        if active & !taken != 0 {
            warp.split(group, active & !taken, pc, pc);
        }
        let functions = &runner.launch.code.functions;
        let caller = warp.groups[group].frame;
        let frame = warp.callee_frame(caller, pc, callee, functions);
        let callee_frame = warp.frames[frame as usize];
        let limits = runner.launch.limits;
        if callee_frame.depth > limits.call_depth {
            let limit = limits.call_depth;
            let kind = FaultKind::CallDepth { limit };
            return Err(runner.fault(warp.first_thread(taken), pc, kind));
        }
        let needed = callee_frame.local.1 + callee_frame.params.1;
        let limit = u64::from(limits.local_bytes_per_thread);
        if needed > limit {
            let kind = FaultKind::StackOverflow {
                needed,
                limit,
                depth: callee_frame.depth,
            };
            return Err(runner.fault(warp.first_thread(taken), pc, kind));
        }
        if callee_frame.recursion_bytes > limits.stack_bytes {
            let kind = FaultKind::Recursion {
                needed: callee_frame.recursion_bytes,
                limit: limits.stack_bytes,
                depth: callee_frame.depth,
            };
            return Err(runner.fault(warp.first_thread(taken), pc, kind));
        }
        let caller_frame = warp.frames[caller as usize];
        runner.enter_frame(warp, frame, taken);
        self.pass_arguments(warp, caller_frame, callee_frame, taken);
        let group = &mut warp.groups[group];
        group.pc = functions[callee as usize].entry;
        group.frame = frame;
        Ok(Next::Choose)
    }

    fn after_return(&self, warp: &mut Warp, caller: Frame, callee: Frame, active: u32) {
        for result in &self.results {
            for lane in lanes(active) {
                match *result {
                    CallResult::Bytes { from, to, size } => {
                        let from = callee.params.0 + u64::from(from);
                        let to = caller.params.0 + u64::from(to);
                        warp.params.copy(lane, from, to, size);
                    }
                    CallResult::Value {
                        from,
                        to,
                        bytes,
                        is_signed,
                    } => {
                        let from = callee.params.0 + u64::from(from);
                        let value = extend(warp.params.load(lane, from, bytes), bytes, is_signed);
                        warp.registers.bases = caller.bases;
                        warp.registers.set_lane(to, lane, value);
                    }
                    CallResult::Register { from, to } => {
                        let [from, to] = [(callee.bases, from), (caller.bases, to)];
                        move_lane(warp, lane, from, to);
                    }
                }
            }
        }
    }
}

/// Moves a lane's register from one frame to another.
fn move_lane(warp: &mut Warp, lane: usize, from: (Bases, Slot), to: (Bases, Slot)) {
    warp.registers.bases = from.0;
    let value = warp.registers.lane(from.1, lane);
    warp.registers.bases = to.0;
    warp.registers.set_lane(to.1, lane, value);
}

/// `ret`.
#[derive(Debug)]
pub(super) struct Return;

impl Execute for Return {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let At { group, pc, active } = at;
        let (mask, frame) = (warp.groups[group].mask, warp.groups[group].frame);
        if frame == 0 {
            runner.exit(warp, group, active)?;
            return Ok(Next::Choose);
        }
        if mask != active {
            warp.split(group, mask & !active, pc + 1, pc);
        }
        let callee = warp.frames[frame as usize];
        let caller = warp.frames[callee.parent as usize];
        if let Op::Other(call) = &runner.launch.code.insts[callee.call_pc as usize].op {
            call.after_return(warp, caller, callee, active);
        }
        let group = &mut warp.groups[group];
        group.pc = callee.call_pc + 1;
        group.frame = callee.parent;
        group.state = State::Ready;
        Ok(Next::Choose)
    }
}

impl BlockRunner<'_> {
    /// A warp begins to follow what it has loaded: clears the rows for that, of each frame for the
    /// lanes that run in it or have called from it. A load at `at` has set those of `loaded`.
    pub(super) fn follow_loaded(&self, warp: &mut Warp, at: At, loaded: &[Slot]) {
        let own = warp.registers.bases;
        let own_frame = warp.groups[at.group].frame;
        let kept: Vec<_> = loaded
            .iter()
            .map(|&slot| warp.registers.row(slot))
            .collect();
        for group in &warp.groups {
            let mut index = group.frame;
            loop {
                let frame = warp.frames[index as usize];
                let function = &self.launch.code.functions[frame.function as usize];
                warp.registers.bases = frame.bases;
                warp.registers
                    .clear_rows(&function.late_shadows, group.mask);
                if index == 0 {
                    break;
                }
                index = frame.parent;
            }
        }
        warp.registers.bases = own;
        debug_assert_eq!(own, warp.frames[own_frame as usize].bases);
        for (&slot, row) in loaded.iter().zip(&kept) {
            for lane in lanes(at.active) {
                warp.registers.set_lane(slot, lane, row[lane]);
            }
        }
    }

    /// Makes a frame's rows accessible and writes its constants for the lanes of a mask.
    pub(crate) fn enter_frame(&self, warp: &mut Warp, frame: u32, mask: u32) {
        let Frame {
            function,
            bases,
            local,
            params,
            ..
        } = warp.frames[frame as usize];
        let launch = self.launch;
        let view = launch.view(self.block.index);
        let function = &launch.code.functions[function as usize];
        warp.registers.reserve(Bases {
            r32: bases.r32 + function.rows.r32,
            r64: bases.r64 + function.rows.r64,
            pred: bases.pred + function.rows.pred,
        });
        warp.registers.bases = bases;
        warp.registers.set_pred(ALWAYS, mask, u32::MAX);
        warp.registers.set_pred(NEVER, mask, 0);
        for &(slot, is_unset) in &function.shadows {
            let bits = if is_unset { u64::MAX } else { 0 };
            match slot.class {
                RegClass::Pred => warp.registers.set_pred(slot.row, mask, bits as u32),
                _ => warp.registers.fill(slot, mask, bits),
            }
        }
        if warp.registers.late {
            warp.registers.clear_rows(&function.late_shadows, mask);
        }
        if frame != 0 {
            warp.local.forget(mask, local);
            warp.params.forget(mask, params);
        }
        // Constants of the kernel's frame stay from block to block, except for the block's index.
        let again = frame == 0 && std::mem::replace(&mut warp.has_constants, true);
        for &(slot, constant) in &function.constants {
            let depends_on_block =
                matches!(constant, Constant::Special(special) if special.depends_on_block());
            if again && !depends_on_block && launch.devices() == 1 {
                continue;
            }
            let value = match constant {
                Constant::Bits(bits) => bits,
                Constant::Global(id, offset) => {
                    launch.globals(self.block.index)[id.0 as usize].wrapping_add_signed(offset)
                }
                Constant::DynamicShared(offset) => {
                    u64::from(launch.dynamic_shared_offset).wrapping_add_signed(offset)
                }
                Constant::Local(offset) => local.0.wrapping_add_signed(offset),
                Constant::FrameParam(offset) => {
                    (PARAM_FRAMES + params.0).wrapping_add_signed(offset)
                }
                Constant::Special(special) if special.depends_on_thread() => {
                    for lane in lanes(mask) {
                        let value = special.value(&view, warp.thread(lane));
                        warp.registers.set_lane(slot, lane, value);
                    }
                    continue;
                }
                Constant::Special(special) => special.value(&view, 0),
            };
            warp.registers.fill(slot, mask, value);
        }
    }
}
