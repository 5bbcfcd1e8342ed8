//! What holds for every program, whatever text it came from.

#![allow(dead_code, reason = "each test file uses its part")]

use ptx::{Argument, Call, CallResult, CallTarget, Function, Op, Program, RegClass};

/// Panics unless every index in the program is in range.
pub fn assert_well_formed(program: &Program) {
    for function in &program.functions {
        if !function.is_defined {
            assert!(function.instructions.is_empty());
            continue;
        }
        assert_closed(function);
        assert!(function.local_align.is_power_of_two());
        assert!(
            function
                .labels
                .iter()
                .all(|l| (l.target as usize) < function.instructions.len())
        );
        for inst in &function.instructions {
            if let Some(guard) = inst.guard {
                assert!(guard.slot < function.registers.pred);
            }
            if let Some(loc) = inst.loc {
                let mut at = Some(loc);
                let mut depth = 0;
                while let Some(id) = at {
                    at = program.loc(id).inlined_at;
                    depth += 1;
                    assert!(
                        depth <= program.locs.len(),
                        "a chain of positions has no end"
                    );
                }
            }
            match &inst.op {
                Op::Call(call) => assert_call(program, function, call),
                op => assert_registers(function, op),
            }
        }
    }
    for variable in &program.globals {
        assert!(variable.init.len() <= variable.size as usize);
        assert!(
            variable
                .relocations
                .iter()
                .all(|r| r.offset + r.size <= variable.size)
        );
    }
    for shared in &program.shared {
        for kernel in &shared.kernels {
            let kernel = program.function(*kernel);
            assert!(shared.offset.is_multiple_of(shared.align));
            assert!(shared.offset + shared.size <= kernel.shared_bytes);
        }
    }
}

/// The last instruction never lets control run on, and targets are instructions.
fn assert_closed(function: &Function) {
    let last = function
        .instructions
        .last()
        .expect("a body has at least a `ret`");
    assert!(last.guard.is_none());
    assert!(matches!(
        last.op,
        Op::Ret { .. } | Op::Exit | Op::Trap | Op::Bra { .. } | Op::BrxIdx { .. }
    ));
    for inst in &function.instructions {
        let targets = match &inst.op {
            Op::Bra { target, .. } => std::slice::from_ref(target),
            Op::BrxIdx { targets, .. } => targets,
            _ => continue,
        };
        assert!(
            targets
                .iter()
                .all(|t| (*t as usize) < function.instructions.len())
        );
    }
}

fn assert_call(program: &Program, caller: &Function, call: &Call) {
    let inside = |offset: u32, size: u32, function: &Function| {
        assert!(
            offset + size <= function.param_frame_bytes,
            "{} in {}",
            offset + size,
            function.name
        );
    };
    let CallTarget::Function(id) = call.target else {
        return;
    };
    let callee = program.function(id);
    for arg in &call.args {
        match arg {
            Argument::Bytes { from, to, size } => {
                inside(*from, *size, caller);
                inside(*to, *size, callee);
            }
            Argument::Value { to, ty, .. } => inside(*to, ty.bytes(), callee),
            Argument::Register { to, .. } => assert!(to.slot < callee.registers.of(to.class)),
        }
    }
    for result in &call.results {
        match result {
            CallResult::Bytes { from, to, size } => {
                inside(*from, *size, callee);
                inside(*to, *size, caller);
            }
            CallResult::Value { from, ty, .. } => inside(*from, ty.bytes(), callee),
            CallResult::Register { from, to } => {
                assert!(from.slot < callee.registers.of(from.class));
                assert!(to.slot < caller.registers.of(to.class));
            }
        }
    }
}

/// Every register that the operation names has a slot. Read off its debug form, so that no operand is forgotten.
fn assert_registers(function: &Function, op: &Op) {
    let text = format!("{op:?}");
    for part in text.split("Reg { class: ").skip(1) {
        let (class, rest) = part
            .split_once(", slot: ")
            .expect("the fields of a register");
        let class = RegClass::ALL
            .into_iter()
            .find(|c| format!("{c:?}") == class)
            .expect("a class");
        let slot: u32 = rest
            .split_once(' ')
            .expect("a closing brace")
            .0
            .parse()
            .expect("a slot");
        assert!(slot < function.registers.of(class), "{text}");
    }
}

/// The instructions that are not modelled, with their reasons.
pub fn unsupported(program: &Program) -> Vec<String> {
    let all = program.functions.iter().flat_map(|f| &f.instructions);
    all.filter_map(|inst| match &inst.op {
        Op::Unsupported(what) => Some(format!("{}: {}: {}", inst.pos, what.text, what.reason)),
        _ => None,
    })
    .collect()
}
