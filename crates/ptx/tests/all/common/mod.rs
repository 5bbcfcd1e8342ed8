//! Programs beside the instructions of their bodies, with every name in them looked up.

#![allow(dead_code, reason = "each test file uses its part")]

use ptx::{
    AddressBase, Body, FunctionId, Name, Named, Operand, OperandKind, Operands, Outline, Pos,
    Problem, Program, Reg, SourceLocId,
};

/// A program and the instructions of each function, by id.
pub struct Listing {
    pub program: Program,
    pub bodies: Vec<Vec<Line>>,
}

/// An instruction.
#[derive(Debug)]
pub struct Line {
    pub text: String,
    pub opcode: String,
    pub pos: Pos,
    pub loc: Option<SourceLocId>,
    pub guard: Option<(Reg, bool)>,
    /// The meaning of each operand, in the order of the text; `None` where it names nothing that is
    /// declared. Of a call, the results, the callee, the arguments.
    pub named: Vec<Option<Named>>,
    /// The label that a `bra` goes to, or the labels of a `brx`'s table.
    pub targets: Vec<u32>,
    /// The sizes of parameters and results that a call's prototype has.
    pub prototype: Option<(Vec<u32>, Vec<u32>)>,
}

impl Listing {
    /// The instructions of the function of that name.
    pub fn body(&self, name: &str) -> &[Line] {
        let (id, _) = self.program.function_named(name).expect("a function");
        &self.bodies[id.0 as usize]
    }
}

/// Reads a text that must be right, and checks that every index in the program is in range.
pub fn read(source: &str) -> Listing {
    let mut bodies = Vec::new();
    let program = Program::read(source, |body| {
        bodies.push(lines(body)?);
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error}"));
    assert_well_formed(&program, &bodies);
    Listing { program, bodies }
}

/// Reads some bodies of an outline.
pub fn read_outline(outline: &Outline, functions: impl Iterator<Item = FunctionId>) -> Listing {
    let mut bodies = Vec::new();
    let program = outline.read_bodies(functions, |body| {
        bodies.push(lines(body)?);
        Ok(())
    });
    Listing { program, bodies }
}

/// The instructions of a body.
pub fn lines<'a>(body: &mut Body<'_, 'a>) -> Result<Vec<Line>, Problem> {
    let mut lines = Vec::new();
    while let Some(instruction) = body.next_instruction()? {
        let inst = instruction.syntax;
        let mut line = Line {
            text: inst.text.to_owned(),
            opcode: inst.opcode.text.to_owned(),
            pos: inst.opcode.pos,
            loc: instruction.loc,
            guard: instruction.guard,
            named: Vec::new(),
            targets: Vec::new(),
            prototype: None,
        };
        match &inst.operands {
            Operands::List(list) => {
                for operand in list {
                    name_operand(body, operand, &mut line.named);
                }
                if let ("bra" | "brx", Some(last)) = (inst.opcode.text, list.last())
                    && let OperandKind::Name(text, None) = last.kind
                {
                    let pos = last.pos;
                    let name = Name { text, pos };
                    line.targets = match inst.opcode.text {
                        "bra" => vec![body.label(name)?],
                        _ => body.branch_table(name)?.to_vec(),
                    };
                }
            }
            Operands::Call {
                returns,
                callee,
                args,
                table,
            } => {
                let operands = returns.iter().chain([callee]).chain(args);
                operands.for_each(|operand| name_operand(body, operand, &mut line.named));
                if let Some(table) = table {
                    let prototype = body.prototype(table.text)?.expect("declared");
                    let sizes = |params: &[ptx::Param]| params.iter().map(|p| p.size()).collect();
                    line.prototype = Some((sizes(&prototype.params), sizes(&prototype.returns)));
                }
            }
            Operands::Malformed(_) => {}
        }
        lines.push(line);
    }
    Ok(lines)
}

fn name_operand<'a>(
    body: &mut Body<'_, 'a>,
    operand: &Operand<'a>,
    named: &mut Vec<Option<Named>>,
) {
    match &operand.kind {
        OperandKind::Name(name, _)
        | OperandKind::Offset(name, _)
        | OperandKind::Element(name, _)
        | OperandKind::Not(name)
        | OperandKind::Address(AddressBase::Name(name), _) => named.push(body.resolve(name)),
        OperandKind::Pair(a, b) => named.extend([body.resolve(a), body.resolve(b)]),
        OperandKind::Image(name, coordinates) => {
            named.push(body.resolve(name));
            coordinates
                .iter()
                .for_each(|e| name_operand(body, e, named));
        }
        OperandKind::Vector(elements) => {
            elements.iter().for_each(|e| name_operand(body, e, named));
        }
        OperandKind::Resident(elements, predicate) => {
            elements.iter().for_each(|e| name_operand(body, e, named));
            named.push(body.resolve(predicate));
        }
        OperandKind::Literal(_) | OperandKind::Address(..) | OperandKind::Sink => named.push(None),
    }
}

/// Panics unless every index in the program is in range.
fn assert_well_formed(program: &Program, bodies: &[Vec<Line>]) {
    assert_eq!(program.functions.len(), bodies.len());
    for (function, body) in program.functions.iter().zip(bodies) {
        assert!(function.is_defined || body.is_empty());
        assert!(function.local_align.is_power_of_two());
        let in_body = |target: &u32| *target as usize <= body.len();
        assert!(function.labels.iter().all(|label| in_body(&label.target)));
        let has_slot = |reg: &Reg| reg.slot < function.registers.of(reg.class);
        for line in body {
            assert!(line.guard.is_none_or(|(reg, _)| has_slot(&reg)));
            assert!(line.targets.iter().all(in_body));
            for named in line.named.iter().flatten() {
                match named {
                    Named::Reg(reg) => assert!(has_slot(reg)),
                    Named::Param(ptx::Symbol::FrameParam(offset), size) => {
                        assert!(offset + size <= function.param_frame_bytes);
                    }
                    _ => {}
                }
            }
            let (mut at, mut depth) = (line.loc, 0);
            while let Some(id) = at {
                at = program.loc(id).inlined_at;
                depth += 1;
                assert!(
                    depth <= program.locs.len(),
                    "a chain of positions has no end"
                );
            }
        }
    }
    for variable in &program.globals {
        assert!(variable.init.len() <= variable.size as usize);
        let mut relocations = variable.relocations.iter();
        assert!(relocations.all(|r| r.offset + r.size <= variable.size));
    }
    for shared in &program.shared {
        for kernel in &shared.kernels {
            let kernel = program.function(*kernel);
            assert!(shared.offset.is_multiple_of(shared.align));
            assert!(shared.offset + shared.size <= kernel.shared_bytes);
        }
    }
}
