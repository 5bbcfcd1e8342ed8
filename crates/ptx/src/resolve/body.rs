//! The body of a function, read instruction by instruction.

use std::collections::HashMap;
use std::sync::Arc;

use super::layout::{self, COMPONENTS, Signature};
use super::locs::Locs;
use super::names::Names;
use super::scope::{Labels, Local, Range, Scope, ScopeLabels};
use crate::error::{ErrorKind, Problem};
use crate::program::*;
use crate::syntax::{self, Inst, Name, Stmt, Storage};
use crate::types::{Reg, RegClass, Space};

/// The body of a function: gives its instructions in order, and says what the names in them stand
/// for.
///
/// Names are looked up where the last instruction stands, so an instruction must be read before the
/// next one.
pub struct Body<'p, 'a> {
    id: FunctionId,
    program: &'p Program,
    names: &'p Names,
    locs: &'p mut Locs<'a>,
    /// The function under construction.
    function: Function,
    labels: Labels<'p, 'a>,
    scopes: Vec<Scope<'a>>,
    scopes_opened: usize,
    /// The statements that are left in the open blocks, outermost first.
    open: Vec<std::slice::Iter<'p, Stmt<'a>>>,
    param_top: u32,
    loc: Option<SourceLocId>,
    /// The tables that instructions have named, by their place in the syntax.
    tables: HashMap<*const Name<'a>, Arc<[u32]>>,
    /// The problem before the first instruction, if there is one.
    wrong: Option<Problem>,
}

/// One instruction of a body.
#[derive(Debug)]
pub struct Instruction<'p, 'a> {
    /// The predicate register that guards it, and whether it is negated.
    pub guard: Option<(Reg, bool)>,
    /// The instruction as it is written.
    pub syntax: &'p Inst<'a>,
    /// The source position that the last `.loc` before it gives.
    pub loc: Option<SourceLocId>,
}

/// The meaning of a name in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A register.
    Reg(Reg),
    /// A vector register.
    Vector(VectorReg),
    /// A register of a kind that is not modelled ("128-bit register").
    UnsupportedReg(&'static str),
    /// A parameter, or a `.param` variable, with its size in bytes.
    Param(Symbol, u32),
    /// A variable of another space, or a function.
    Symbol(Symbol),
}

/// A vector register: its components are registers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorReg {
    first: Reg,
    /// How many components it has: 2, 4 or 8.
    pub count: u32,
}

impl VectorReg {
    /// A component by its index, below `count`.
    pub fn component(&self, index: u32) -> Reg {
        Reg {
            slot: self.first.slot + index,
            ..self.first
        }
    }

    /// A component by its name: `x`, or `r` for a colour.
    pub fn named(&self, name: &str) -> Option<Reg> {
        let index = self
            .names()
            .iter()
            .position(|c| *c == name)
            .or_else(|| ["r", "g", "b", "a"].iter().position(|c| *c == name))?;
        ((index as u32) < self.count).then(|| self.component(index as u32))
    }

    /// The names of the components, in order.
    pub fn names(&self) -> &'static [&'static str] {
        &COMPONENTS[..self.count as usize]
    }
}

impl<'p, 'a> Body<'p, 'a> {
    pub(super) fn new(
        id: FunctionId,
        program: &'p Program,
        names: &'p Names,
        locs: &'p mut Locs<'a>,
        source: &'p syntax::Function<'a>,
    ) -> Self {
        let statements = source.body.as_deref().unwrap_or(&[]);
        locs.enter_function();
        let (labels, mut wrong) = match Labels::collect(statements) {
            Ok(labels) => (labels, source.refused.clone()),
            Err(problem) => (Labels::default(), Some(problem)),
        };
        let function = program.function(id).clone();
        let mut body = Body {
            id,
            param_top: function.param_frame_bytes,
            program,
            names,
            locs,
            function,
            labels,
            scopes: Vec::new(),
            scopes_opened: 0,
            open: Vec::new(),
            loc: None,
            tables: HashMap::new(),
            wrong: None,
        };
        if wrong.is_none() && source.body.is_some() {
            body.enter(statements);
            wrong = body.declare_params(source).err();
        }
        if wrong.is_some() {
            body.open.clear();
            body.wrong = wrong;
        }
        body
    }

    /// The function's id.
    pub fn id(&self) -> FunctionId {
        self.id
    }

    /// The function. Its registers and frames are those of the instructions that have been read.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Every label of the body in order of position, whether it is in scope or not.
    pub fn labels(&self) -> &[Label] {
        &self.labels.all
    }

    /// The module: variables, and the signatures of all functions.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// The next instruction; `None` at the end.
    ///
    /// # Errors
    /// A wrong declaration before it, or a guard that is not a predicate register.
    pub fn next_instruction(&mut self) -> Result<Option<Instruction<'p, 'a>>, Problem> {
        if let Some(problem) = self.wrong.take() {
            return Err(problem);
        }
        while let Some(statements) = self.open.last_mut() {
            match statements.next() {
                None => self.leave(),
                Some(Stmt::Label(_) | Stmt::BranchTargets(..) | Stmt::Prototype(_)) => {}
                Some(Stmt::Loc(loc)) => self.loc = Some(self.locs.id(loc)),
                Some(Stmt::Block(inner)) => self.enter(inner),
                Some(Stmt::Variable(v)) => self.variable(v)?,
                Some(Stmt::Inst(inst)) => {
                    let guard = match inst.guard {
                        Some((name, negated)) => Some((self.predicate(name, negated)?, negated)),
                        None => None,
                    };
                    return Ok(Some(Instruction {
                        guard,
                        syntax: inst,
                        loc: self.loc,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// The function as it is once all instructions have been read.
    pub(super) fn finish(mut self) -> Result<Function, Problem> {
        while self.next_instruction()?.is_some() {}
        self.function.labels = self.labels.all;
        Ok(self.function)
    }

    fn enter(&mut self, statements: &'p [Stmt<'a>]) {
        self.open.push(statements.iter());
        self.scopes.push(Scope {
            labels: self.scopes_opened,
            param_top: self.param_top,
            ..Scope::default()
        });
        self.scopes_opened += 1;
    }

    fn leave(&mut self) {
        self.open.pop();
        if let Some(scope) = self.scopes.pop() {
            self.param_top = scope.param_top;
        }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes
            .last_mut()
            .expect("a scope is open as long as there are statements")
    }

    fn declare_params(&mut self, source: &syntax::Function<'a>) -> Result<(), Problem> {
        let symbol = if source.is_kernel {
            Symbol::KernelParam
        } else {
            Symbol::FrameParam
        };
        let declared = source.params.iter().chain(&source.returns);
        let function = self.program.function(self.id);
        let mut params = function.params.iter().chain(&function.returns);
        for v in declared {
            let components = layout::components(v);
            let Some(param) = params.next() else { break };
            params.by_ref().take(components as usize - 1).for_each(drop);
            let local = match param.register {
                Some(reg) if components > 1 => Local::Vector(reg.class, components, Some(reg.slot)),
                Some(reg) => Local::Reg(reg.class, Some(reg.slot)),
                None => Local::Param(symbol(param.offset), param.size()),
            };
            if v.name.text != "_" {
                self.scope().declare(v.name, local)?;
            }
        }
        Ok(())
    }

    fn variable(&mut self, v: &syntax::Variable<'a>) -> Result<(), Problem> {
        let local = match v.storage {
            Storage::Reg => return self.register(v),
            Storage::In(Space::Param) => {
                let (size, align) = (layout::size(v)?, layout::alignment(v));
                let offset = layout::place(&mut self.param_top, size, align, v.name.pos)?;
                let frame = &mut self.function.param_frame_bytes;
                *frame = self.param_top.max(*frame);
                Local::Param(Symbol::FrameParam(offset), size)
            }
            Storage::In(Space::Local) => {
                let (size, align) = (layout::size(v)?, layout::alignment(v));
                let top = &mut self.function.local_bytes;
                let offset = layout::place(top, size, align, v.name.pos)?;
                self.function.local_align = self.function.local_align.max(align);
                self.function.locals.push(LocalVariable {
                    name: v.name.text.to_string(),
                    offset,
                    size,
                });
                Local::Variable(Symbol::Local(offset), layout::array_element(v))
            }
            Storage::In(_) => {
                let entity = self
                    .names
                    .inner(v.name.pos)
                    .expect("collected with the names of the module");
                Local::Variable(entity.symbol(self.program), layout::array_element(v))
            }
        };
        self.scope().declare(v.name, local)
    }

    /// Declares a register, or a number of them.
    fn register(&mut self, v: &syntax::Variable<'a>) -> Result<(), Problem> {
        let local = match (v.ty.class(), v.vector) {
            (None, _) => Local::UnsupportedReg("128-bit register"),
            (Some(class), 1) => Local::Reg(class, None),
            (Some(class), components) => Local::Vector(class, components, None),
        };
        if !v.dims.is_empty() {
            let message = "registers are declared in numbers by `<n>`, not `[n]`";
            return Err(Problem::invalid(v.name.pos, message));
        }
        let Some(count) = v.count else {
            return self.scope().declare(v.name, local);
        };
        let range = Range { local, count };
        self.scope().declare_range(v.name, range)
    }

    /// The meaning of a name here. A register gets its slot.
    pub fn resolve(&mut self, name: &'a str) -> Option<Named> {
        for scope in self.scopes.iter_mut().rev() {
            let Some(local) = scope.find(name) else {
                continue;
            };
            return Some(match local {
                Local::Reg(declared, slot) => {
                    let class = *declared;
                    let slot = *slot.get_or_insert_with(|| {
                        let count = self.function.registers.of_mut(class);
                        *count += 1;
                        self.function.register_names[class.index()].push(name.to_string());
                        *count - 1
                    });
                    Named::Reg(Reg { class, slot })
                }
                Local::Vector(class, count, first) => {
                    let (class, count) = (*class, *count);
                    let slot = *first.get_or_insert_with(|| {
                        let names = &mut self.function.register_names[class.index()];
                        let components = COMPONENTS.iter().take(count as usize);
                        names.extend(components.map(|component| format!("{name}.{component}")));
                        let slots = self.function.registers.of_mut(class);
                        *slots += count;
                        *slots - count
                    });
                    let start = Reg { class, slot };
                    Named::Vector(VectorReg {
                        first: start,
                        count,
                    })
                }
                Local::UnsupportedReg(what) => Named::UnsupportedReg(what),
                Local::Param(symbol, size) => Named::Param(*symbol, *size),
                Local::Variable(symbol, _) => Named::Symbol(*symbol),
            });
        }
        let entity = self.names.get(name)?;
        Some(Named::Symbol(entity.symbol(self.program)))
    }

    /// The bytes of a scalar of an array, by the array's name; `None` if that is not one.
    pub fn array_element(&mut self, name: &'a str) -> Option<u32> {
        let mut scopes = self.scopes.iter_mut().rev();
        match scopes.find_map(|scope| scope.find(name)) {
            Some(Local::Variable(_, element)) => *element,
            Some(_) => None,
            None => self.names.array_element(name),
        }
    }

    fn predicate(&mut self, name: Name<'a>, negated: bool) -> Result<Reg, Problem> {
        match self.resolve(name.text) {
            Some(Named::Reg(reg)) if reg.class == RegClass::Pred => Ok(reg),
            None => Err(Problem::unknown("register", name.text, name.pos)),
            Some(_) => {
                let kind = ErrorKind::OperandKind {
                    opcode: if negated { "@!" } else { "@" }.to_string(),
                    expected: "a predicate register",
                    found: format!("`{}`", name.text),
                };
                Err(Problem::new(name.pos, kind))
            }
        }
    }

    fn look_up<T>(&self, find: impl Fn(&ScopeLabels<'p, 'a>) -> Option<T>) -> Option<T> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| find(&self.labels.scopes[scope.labels]))
    }

    /// The number of instructions of the body before a label.
    ///
    /// # Errors
    /// If no such label is in scope.
    pub fn label(&self, name: Name<'a>) -> Result<u32, Problem> {
        let found = self.look_up(|scope| scope.positions.get(name.text).map(|(target, _)| *target));
        found.ok_or_else(|| Problem::unknown("label", name.text, name.pos))
    }

    /// The labels of a `.branchtargets` table, as [`Body::label`] gives them where the table is
    /// first used. All uses of a table share them.
    ///
    /// # Errors
    /// If no such table, or one of its labels, is in scope.
    pub fn branch_table(&mut self, name: Name<'a>) -> Result<Arc<[u32]>, Problem> {
        let found = self.look_up(|scope| scope.tables.get(name.text).copied());
        let targets = found.ok_or_else(|| Problem::unknown("branch table", name.text, name.pos))?;
        if let Some(known) = self.tables.get(&targets.as_ptr()) {
            return Ok(known.clone());
        }
        let labels: Arc<[u32]> = targets
            .iter()
            .map(|target| self.label(*target))
            .collect::<Result<_, _>>()?;
        self.tables.insert(targets.as_ptr(), labels.clone());
        Ok(labels)
    }

    /// The signature of a `.callprototype`; `None` if no such one is in scope.
    ///
    /// # Errors
    /// A parameter that cannot be passed.
    pub fn prototype(&self, name: &str) -> Result<Option<Signature>, Problem> {
        let found = self.look_up(|scope| scope.prototypes.get(name).copied());
        found
            .map(|prototype| layout::signature(&prototype.params, &prototype.returns))
            .transpose()
    }
}
