//! The table of module-level names, and the order in which the parts are lowered.

use std::collections::HashMap;

use super::locs::Locs;
use super::{body, reach, signature, variable};
use crate::ast::{self, Item, Module, Name, Storage};
use crate::error::{ErrorKind, Raw};
use crate::program::*;

/// What a module-level name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entity {
    Global(GlobalId),
    /// Index into [`Program::shared`].
    Shared(u32),
    /// Index into [`Program::dynamic_shared`].
    DynamicShared(u32),
    Function(FunctionId),
}

/// Module-level names, and the variables that bodies declare (keyed by position, for their names are scoped).
#[derive(Default)]
pub(super) struct Names<'a> {
    entities: HashMap<&'a str, (Entity, Pos)>,
    inner: HashMap<Pos, Entity>,
}

impl<'a> Names<'a> {
    pub fn get(&self, name: &str) -> Option<Entity> {
        self.entities.get(name).map(|(entity, _)| *entity)
    }

    /// The variable declared in a body at this position.
    pub fn inner(&self, pos: Pos) -> Option<Entity> {
        self.inner.get(&pos).copied()
    }

    fn insert(&mut self, what: &'static str, name: Name<'a>, entity: Entity) -> Result<(), Raw> {
        match self.entities.insert(name.text, (entity, name.pos)) {
            Some((_, first)) => Err(duplicate(what, name, first)),
            None => Ok(()),
        }
    }
}

/// The error that a name is already taken.
pub(super) fn duplicate(what: &'static str, name: Name<'_>, first: Pos) -> Raw {
    Raw::new(
        name.pos,
        ErrorKind::Duplicate {
            what,
            name: name.text.to_string(),
            first,
        },
    )
}

/// Lowers a module.
pub(crate) fn program(module: &Module<'_>, source: &str) -> Result<Program, Raw> {
    let mut program = Program {
        version: module.version,
        target: module.target.iter().map(|t| t.to_string()).collect(),
        address_size: module.address_size.unwrap_or(32),
        files: module
            .files
            .iter()
            .map(|(number, path)| SourceFile {
                number: *number,
                path: path.to_string(),
            })
            .collect(),
        locs: Vec::new(),
        globals: Vec::new(),
        shared: Vec::new(),
        dynamic_shared: Vec::new(),
        functions: Vec::new(),
        source: source.into(),
    };
    let mut names = Names::default();
    // The syntax of each function, by id: the definition where there is one.
    let mut sources: Vec<&ast::Function<'_>> = Vec::new();
    for item in &module.items {
        match item {
            Item::Variable(v) => declare_variable(&mut program, &mut names, v)?,
            Item::Function(f) => declare_function(&mut program, &mut names, &mut sources, f)?,
        }
    }
    for function in &sources {
        declare_inner(&mut program, &mut names, function)?;
    }
    for item in &module.items {
        if let Item::Variable(v) = item
            && let Some(Entity::Global(id)) = names.get(v.name.text)
        {
            variable::initialise(&mut program, &names, id, v)?;
        }
    }
    for function in &sources {
        for v in variables(function) {
            if let Some(Entity::Global(id)) = names.inner(v.name.pos) {
                variable::initialise(&mut program, &names, id, v)?;
            }
        }
    }
    reach::lay_out_shared(&mut program, &names, &sources)?;
    let mut locs = Locs::new(std::mem::take(&mut program.files));
    for (index, function) in sources.iter().enumerate() {
        body::lower(
            &mut program,
            &names,
            &mut locs,
            FunctionId(index as u32),
            function,
        )?;
    }
    (program.files, program.locs) = locs.into_parts();
    Ok(program)
}

fn declare_variable<'a>(
    program: &mut Program,
    names: &mut Names<'a>,
    v: &ast::Variable<'a>,
) -> Result<(), Raw> {
    match v.storage {
        Storage::In(Space::Shared) => {
            let entity = add_shared(program, v)?;
            names.insert("variable", v.name, entity)
        }
        Storage::In(space) => {
            let variable = variable::describe(v, space)?;
            // A declaration and the definition of the same name are one variable.
            if let Some((Entity::Global(id), _)) = names.entities.get(v.name.text) {
                let known = &mut program.globals[id.0 as usize];
                if v.is_extern {
                    return Ok(());
                }
                if known.is_extern {
                    *known = variable;
                    return Ok(());
                }
            }
            let id = GlobalId(program.globals.len() as u32);
            program.globals.push(variable);
            names.insert("variable", v.name, Entity::Global(id))
        }
        Storage::Reg => {
            let message = "registers can only be declared in a function".to_string();
            Err(Raw::new(v.name.pos, ErrorKind::Invalid(message)))
        }
    }
}

/// Shared variables of a module: their layout takes time that grows with the square of their number.
const MOST_SHARED: u64 = 1024;

fn add_shared(program: &mut Program, v: &ast::Variable<'_>) -> Result<Entity, Raw> {
    let value = 1 + (program.shared.len() + program.dynamic_shared.len()) as u64;
    if value > MOST_SHARED {
        let kind = ErrorKind::TooLarge {
            what: "the number of shared variables",
            value,
            limit: MOST_SHARED,
        };
        return Err(Raw::new(v.name.pos, kind));
    }
    let align = variable::alignment(v);
    if v.is_extern && v.dims.first() == Some(&None) {
        program.dynamic_shared.push(DynamicShared {
            name: v.name.text.to_string(),
            align,
        });
        return Ok(Entity::DynamicShared(
            program.dynamic_shared.len() as u32 - 1,
        ));
    }
    let size = variable::size(v)?;
    let name = v.name.text.to_string();
    program.shared.push(SharedVariable {
        name,
        offset: 0,
        size,
        align,
        kernels: Vec::new(),
    });
    Ok(Entity::Shared(program.shared.len() as u32 - 1))
}

fn declare_function<'m, 'a>(
    program: &mut Program,
    names: &mut Names<'a>,
    sources: &mut Vec<&'m ast::Function<'a>>,
    f: &'m ast::Function<'a>,
) -> Result<(), Raw> {
    if let Some((Entity::Function(id), first)) = names.entities.get(f.name.text) {
        let known = &mut program.functions[id.0 as usize];
        match (known.is_defined, f.body.is_some()) {
            (true, true) => return Err(duplicate("function", f.name, *first)),
            (false, true) => {
                *known = signature::function(f)?;
                sources[id.0 as usize] = f;
            }
            _ => {}
        }
        return Ok(());
    }
    let id = FunctionId(program.functions.len() as u32);
    program.functions.push(signature::function(f)?);
    sources.push(f);
    names.insert("function", f.name, Entity::Function(id))
}

/// The variables that a body declares, at any depth.
pub(super) fn variables<'m, 'a>(f: &'m ast::Function<'a>) -> Vec<&'m ast::Variable<'a>> {
    fn collect<'m, 'a>(stmts: &'m [ast::Stmt<'a>], into: &mut Vec<&'m ast::Variable<'a>>) {
        for stmt in stmts {
            match stmt {
                ast::Stmt::Variable(v) => into.push(v),
                ast::Stmt::Block(inner) => collect(inner, into),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    collect(f.body.as_deref().unwrap_or(&[]), &mut all);
    all
}

/// Shared and global variables that a body declares live as long as those of the module.
fn declare_inner<'a>(
    program: &mut Program,
    names: &mut Names<'a>,
    f: &ast::Function<'a>,
) -> Result<(), Raw> {
    for v in variables(f) {
        let entity = match v.storage {
            Storage::In(Space::Shared) => add_shared(program, v)?,
            Storage::In(space @ (Space::Global | Space::Const)) => {
                program.globals.push(variable::describe(v, space)?);
                Entity::Global(GlobalId(program.globals.len() as u32 - 1))
            }
            _ => continue,
        };
        names.inner.insert(v.name.pos, entity);
    }
    Ok(())
}
