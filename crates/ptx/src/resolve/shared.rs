//! The layout of shared memory, from what each kernel can reach.
//!
//! A reference is any mention of a name in a body or an initialiser: a call, an address taken, a
//! table of functions. That is more than what runs, never less. Each shared variable has one offset
//! for the whole module, so that device functions need not be specialised; two variables may
//! overlap only if no kernel reaches both, so that a kernel pays for what it can reach.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::layout::byte_count;
use super::names::{Entity, Names, variables};
use crate::error::{ErrorKind, Problem};
use crate::program::*;
use crate::syntax::{self, AddressBase, Operand, OperandKind, Operands, Stmt};

/// Offsets of shared variables, and each kernel's totals.
pub(super) fn lay_out_shared(
    program: &mut Program,
    mentioned: &[Vec<Entity>],
) -> Result<(), Problem> {
    if program.shared.is_empty() && program.dynamic_shared.is_empty() {
        return Ok(());
    }
    let kernels: Vec<usize> = (0..mentioned.len())
        .filter(|i| program.functions[*i].is_kernel)
        .collect();
    let mut steps = 0;
    let all_reached: Vec<Reached> = kernels
        .iter()
        .map(|kernel| reach(program, mentioned, *kernel, &mut steps))
        .collect::<Result<_, _>>()?;
    for (kernel, reached) in kernels.iter().zip(&all_reached) {
        for index in &reached.shared {
            program.declared_mut().shared[*index as usize]
                .kernels
                .push(FunctionId(*kernel as u32));
        }
    }
    for index in 0..program.shared.len() {
        let shared = &mut program.declared_mut().shared;
        shared[index].offset = first_fit(&shared[..index], &shared[index]);
    }
    for (kernel, reached) in kernels.iter().zip(&all_reached) {
        let end = |i: &u32| {
            let v = &program.shared[*i as usize];
            u64::from(v.offset) + u64::from(v.size)
        };
        let bytes = reached.shared.iter().map(end).max().unwrap_or(0);
        let align = reached
            .dynamic
            .iter()
            .map(|i| program.dynamic_shared[*i as usize].align)
            .max();
        let function = program.function_mut(FunctionId(*kernel as u32));
        let what = "the static shared memory of the kernel in bytes";
        function.shared_bytes = byte_count(function.pos, what, bytes)?;
        let offset = bytes.next_multiple_of(align.unwrap_or(1).into());
        function.dynamic_shared_offset = byte_count(function.pos, what, offset)?;
        function.uses_dynamic_shared = align.is_some();
    }
    Ok(())
}

/// The lowest offset at which a variable overlaps none that shares a kernel with it. Saturates: the
/// totals are checked.
fn first_fit(placed: &[SharedVariable], v: &SharedVariable) -> u32 {
    let shares = |other: &&SharedVariable| other.size > 0 && intersect(&other.kernels, &v.kernels);
    let mut taken: Vec<(u64, u64)> = placed
        .iter()
        .filter(shares)
        .map(|o| (o.offset.into(), u64::from(o.offset) + u64::from(o.size)))
        .collect();
    taken.sort_unstable();
    let mut offset = 0u64;
    for (start, end) in taken {
        if offset + u64::from(v.size) <= start {
            break;
        }
        offset = offset.max(end.next_multiple_of(v.align.into()));
    }
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// Whether two ascending lists have an element in common.
fn intersect(mut a: &[FunctionId], mut b: &[FunctionId]) -> bool {
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        match first.0.cmp(&other.0) {
            Ordering::Equal => return true,
            Ordering::Less => a = rest,
            Ordering::Greater => b = others,
        }
    }
    false
}

/// Mentions that are followed, all kernels together: far more than any program has, and a second's
/// work.
const MAX_STEPS: u64 = 1 << 23;

/// All that a kernel can reach.
#[derive(Default)]
pub(super) struct Reached {
    shared: Vec<u32>,
    dynamic: Vec<u32>,
    /// With the kernel itself, in ascending order.
    pub functions: Vec<FunctionId>,
}

/// All that a kernel can reach, by the mentions of each function. `steps` counts those that are
/// followed.
pub(super) fn reach(
    program: &Program,
    mentioned: &[Vec<Entity>],
    kernel: usize,
    steps: &mut u64,
) -> Result<Reached, Problem> {
    let pos = program.functions[kernel].pos;
    let mut follow = |mentions: usize| {
        *steps += 1 + mentions as u64;
        if *steps <= MAX_STEPS {
            return Ok(());
        }
        let kind = ErrorKind::TooLarge {
            what: "what the kernels mention, counted for each of them,",
            value: *steps,
            limit: MAX_STEPS,
        };
        Err(Problem::new(pos, kind))
    };
    let mut reached = Reached::default();
    let mut seen = HashSet::new();
    let mut open = vec![Symbol::Function(FunctionId(kernel as u32))];
    while let Some(symbol) = open.pop() {
        if !seen.insert(symbol) {
            continue;
        }
        match symbol {
            Symbol::Function(id) => {
                follow(mentioned[id.0 as usize].len())?;
                reached.functions.push(id);
                for entity in &mentioned[id.0 as usize] {
                    match *entity {
                        Entity::Function(other) => open.push(Symbol::Function(other)),
                        Entity::Global(other) => open.push(Symbol::Global(other)),
                        Entity::Shared(index) => reached.shared.push(index),
                        Entity::DynamicShared(index) => reached.dynamic.push(index),
                    }
                }
            }
            Symbol::Global(id) => {
                follow(program.global(id).relocations.len())?;
                open.extend(program.global(id).relocations.iter().map(|r| r.symbol))
            }
            _ => {}
        }
    }
    reached.shared.sort_unstable();
    reached.shared.dedup();
    reached.functions.sort_unstable();
    Ok(reached)
}

/// Everything of the module that a body names, and the shared variables that it declares.
pub(super) fn mentions(f: &syntax::Function<'_>, names: &Names) -> Vec<Entity> {
    let mut found = Vec::new();
    let mut note = |name: &str| found.extend(names.get(name));
    match &f.sketch {
        Some(sketch) => sketch.names.iter().for_each(|name| note(name)),
        None => each_name(f.body.as_deref().unwrap_or(&[]), &mut note),
    }
    found.extend(variables(f).iter().filter_map(|v| names.inner(v.name.pos)));
    found
}

fn each_name(stmts: &[Stmt<'_>], note: &mut impl FnMut(&str)) {
    for stmt in stmts {
        match stmt {
            Stmt::Block(inner) => each_name(inner, note),
            Stmt::Inst(inst) => match &inst.operands {
                Operands::List(list) => list.iter().for_each(|o| operand_names(o, note)),
                Operands::Call {
                    returns,
                    callee,
                    args,
                    ..
                } => {
                    operand_names(callee, note);
                    returns
                        .iter()
                        .chain(args)
                        .for_each(|o| operand_names(o, note));
                }
                Operands::Malformed(_) => {}
            },
            _ => {}
        }
    }
}

fn operand_names(operand: &Operand<'_>, note: &mut impl FnMut(&str)) {
    match &operand.kind {
        OperandKind::Name(name, _)
        | OperandKind::Offset(name, _)
        | OperandKind::Element(name, _)
        | OperandKind::Address(AddressBase::Name(name), _) => note(name),
        OperandKind::Image(name, elements) => {
            note(name);
            elements.iter().for_each(|o| operand_names(o, note));
        }
        OperandKind::Vector(elements) => elements.iter().for_each(|o| operand_names(o, note)),
        _ => {}
    }
}
