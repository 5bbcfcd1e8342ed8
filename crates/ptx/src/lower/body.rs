//! Statements, labels to positions.

use super::instruction;
use super::locs::Locs;
use super::module::{Entity, Names};
use super::scope::{Labels, Local, Range, Scope};
use super::{signature, variable};
use crate::ast::{self, Name, Prototype, Stmt, Storage};
use crate::error::{ErrorKind, Raw};
use crate::program::*;

/// The function being lowered.
pub(super) struct Body<'p, 'a> {
    pub program: &'p Program,
    pub names: &'p Names<'a>,
    /// What becomes of the function; moved into the program at the end.
    pub function: Function,
    labels: Labels<'p, 'a>,
    scopes: Vec<Scope<'a>>,
    scopes_opened: usize,
    param_top: u32,
    loc: Option<SourceLocId>,
}

/// Lowers one body into the program. Declarations without body are left as they are.
pub(super) fn lower<'a>(
    program: &mut Program,
    names: &Names<'a>,
    locs: &mut Locs<'a>,
    id: FunctionId,
    source: &ast::Function<'a>,
) -> Result<(), Raw> {
    let Some(stmts) = &source.body else {
        return Ok(());
    };
    locs.enter_function();
    let function = program.function(id).clone();
    let labels = Labels::collect(stmts)?;
    let mut body = Body {
        param_top: function.param_frame_bytes,
        program,
        names,
        function,
        labels,
        scopes: Vec::new(),
        scopes_opened: 0,
        loc: None,
    };
    body.open();
    body.declare_params(source)?;
    body.statements(stmts, locs)?;
    let function = body.finish();
    program.functions[id.0 as usize] = function;
    Ok(())
}

impl<'p, 'a> Body<'p, 'a> {
    fn open(&mut self) {
        self.scopes.push(Scope {
            labels: self.scopes_opened,
            param_top: self.param_top,
            ..Scope::default()
        });
        self.scopes_opened += 1;
    }

    fn close(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.param_top = scope.param_top;
        }
    }

    fn declare(&mut self, name: Name<'a>, local: Local) -> Result<(), Raw> {
        // A scope is open from `open()` in `lower` to the end.
        let scope = self.scopes.last_mut().expect("a scope is open");
        scope.declare(name, local)
    }

    fn declare_params(&mut self, source: &ast::Function<'a>) -> Result<(), Raw> {
        let symbol = if source.is_kernel {
            Symbol::KernelParam
        } else {
            Symbol::FrameParam
        };
        let declared = source.params.iter().chain(&source.returns);
        let placed: Vec<Param> = self
            .function
            .params
            .iter()
            .chain(&self.function.returns)
            .cloned()
            .collect();
        for (v, param) in declared.zip(placed) {
            let local = match param.register {
                Some(reg) => Local::Reg(reg.class, Some(reg.slot)),
                None => Local::Param(symbol(param.offset), param.size()),
            };
            if v.name.text != "_" {
                self.declare(v.name, local)?;
            }
        }
        Ok(())
    }

    fn statements(&mut self, stmts: &[Stmt<'a>], locs: &mut Locs<'a>) -> Result<(), Raw> {
        for stmt in stmts {
            match stmt {
                Stmt::Label(_) | Stmt::BranchTargets(..) | Stmt::Prototype(_) => {}
                Stmt::Loc(loc) => self.loc = Some(locs.id(loc)),
                Stmt::Block(inner) => {
                    self.open();
                    self.statements(inner, locs)?;
                    self.close();
                }
                Stmt::Variable(v) => self.variable(v)?,
                Stmt::Inst(inst) => {
                    let guard = match inst.guard {
                        Some((name, negated)) => Some(self.predicate(name, negated)?),
                        None => None,
                    };
                    let op = instruction::lower(self, inst)?;
                    self.function.instructions.push(Inst {
                        guard,
                        op,
                        pos: inst.opcode.pos,
                        loc: self.loc,
                    });
                }
            }
        }
        Ok(())
    }

    fn variable(&mut self, v: &ast::Variable<'a>) -> Result<(), Raw> {
        match v.storage {
            Storage::Reg => {
                let local = match (v.ty.class(), v.vector) {
                    (None, _) => Local::UnsupportedReg("128-bit register"),
                    (Some(class), 1) => Local::Reg(class, None),
                    _ => Local::UnsupportedReg("vector register"),
                };
                if !v.dims.is_empty() {
                    let message =
                        "registers are declared in numbers by `<n>`, not `[n]`".to_string();
                    return Err(Raw::new(v.name.pos, ErrorKind::Invalid(message)));
                }
                let Some(count) = v.count else {
                    return self.declare(v.name, local);
                };
                let scope = self.scopes.last_mut().expect("a scope is open");
                match scope
                    .ranges
                    .insert(v.name.text, (Range { local, count }, v.name.pos))
                {
                    Some((_, first)) => Err(super::module::duplicate("name", v.name, first)),
                    None => Ok(()),
                }
            }
            Storage::In(Space::Param) => {
                let (size, align) = (variable::size(v)?, variable::alignment(v));
                let offset = signature::place(&mut self.param_top, size, align, v.name.pos)?;
                self.function.param_frame_bytes =
                    self.function.param_frame_bytes.max(self.param_top);
                self.declare(v.name, Local::Param(Symbol::FrameParam(offset), size))
            }
            Storage::In(Space::Local) => {
                let (size, align) = (variable::size(v)?, variable::alignment(v));
                let offset =
                    signature::place(&mut self.function.local_bytes, size, align, v.name.pos)?;
                self.function.local_align = self.function.local_align.max(align);
                self.function.locals.push(LocalVariable {
                    name: v.name.text.to_string(),
                    offset,
                    size,
                });
                self.declare(v.name, Local::Variable(Symbol::Local(offset)))
            }
            Storage::In(_) => {
                let entity = self
                    .names
                    .inner(v.name.pos)
                    .expect("collected with the module's names");
                self.declare(v.name, Local::Variable(self.symbol_of(entity)))
            }
        }
    }

    /// The address that a name of the module stands for.
    fn symbol_of(&self, entity: Entity) -> Symbol {
        match entity {
            Entity::Global(id) => Symbol::Global(id),
            Entity::Shared(index) => Symbol::Shared(self.program.shared[index as usize].offset),
            Entity::DynamicShared(_) => Symbol::DynamicShared,
            Entity::Function(id) => Symbol::Function(id),
        }
    }

    /// What a name means here. A register gets its slot.
    pub fn resolve(&mut self, name: &'a str) -> Option<Local> {
        for scope in self.scopes.iter_mut().rev() {
            let Some(local) = scope.find(name) else {
                continue;
            };
            if let Local::Reg(class, slot @ None) = local {
                let count = self.function.registers.of_mut(*class);
                *slot = Some(*count);
                *count += 1;
                self.function.register_names[class.index()].push(name.to_string());
            }
            return Some(*local);
        }
        self.names
            .get(name)
            .map(|entity| Local::Variable(self.symbol_of(entity)))
    }

    fn predicate(&mut self, name: Name<'a>, negated: bool) -> Result<Pred, Raw> {
        match self.resolve(name.text) {
            Some(Local::Reg(RegClass::Pred, Some(slot))) => Ok(Pred { slot, negated }),
            None => Err(variable::unknown("register", name)),
            Some(_) => {
                let kind = ErrorKind::OperandKind {
                    opcode: if negated { "@!" } else { "@" }.to_string(),
                    expected: "a predicate register",
                    found: format!("`{}`", name.text),
                };
                Err(Raw::new(name.pos, kind))
            }
        }
    }

    fn lookup<T>(
        &self,
        find: impl Fn(&super::scope::ScopeLabels<'p, 'a>) -> Option<T>,
    ) -> Option<T> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| find(&self.labels.scopes[scope.labels]))
    }

    /// The index of the instruction behind a label.
    pub fn label(&self, name: Name<'a>) -> Result<u32, Raw> {
        let found = self.lookup(|scope| scope.positions.get(name.text).map(|(target, _)| *target));
        found.ok_or_else(|| variable::unknown("label", name))
    }

    /// A `.branchtargets` table.
    pub fn table(&self, name: Name<'a>) -> Result<Box<[u32]>, Raw> {
        let found = self.lookup(|scope| scope.tables.get(name.text).copied());
        let targets = found.ok_or_else(|| variable::unknown("branch table", name))?;
        targets.iter().map(|target| self.label(*target)).collect()
    }

    /// A `.callprototype`.
    pub fn prototype(&self, name: &str) -> Option<&'p Prototype<'a>> {
        self.lookup(|scope| scope.prototypes.get(name).copied())
    }

    /// Closes the body: control must not run past its end.
    fn finish(mut self) -> Function {
        let end = self.function.instructions.len() as u32;
        let falls_through = match self.function.instructions.last() {
            Some(Inst {
                guard: None, op, ..
            }) => !matches!(
                op,
                Op::Ret { .. } | Op::Exit | Op::Trap | Op::Bra { .. } | Op::BrxIdx { .. }
            ),
            _ => true,
        };
        if falls_through || self.labels.all.iter().any(|label| label.target == end) {
            let pos = self
                .function
                .instructions
                .last()
                .map_or(self.function.pos, |inst| inst.pos);
            self.function.instructions.push(Inst {
                guard: None,
                op: Op::Ret { uniform: false },
                pos,
                loc: self.loc,
            });
        }
        self.function.labels = self.labels.all;
        self.function
    }
}
