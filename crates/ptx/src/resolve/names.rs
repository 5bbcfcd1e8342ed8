//! The names of a module, and their meanings.

use std::collections::HashMap;

use crate::error::{ErrorKind, Problem};
use crate::program::{FunctionId, GlobalId, Program, Symbol};
use crate::syntax::{self, Name, Stmt};
use crate::types::Pos;

/// The meaning of a module-level name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entity {
    Global(GlobalId),
    /// Index into [`Program::shared`].
    Shared(u32),
    /// Index into [`Program::dynamic_shared`].
    DynamicShared(u32),
    Function(FunctionId),
}

impl Entity {
    /// The address that it means, once shared memory is laid out.
    pub fn symbol(self, program: &Program) -> Symbol {
        match self {
            Entity::Global(id) => Symbol::Global(id),
            Entity::Shared(index) => Symbol::Shared(program.shared[index as usize].offset),
            Entity::DynamicShared(_) => Symbol::DynamicShared,
            Entity::Function(id) => Symbol::Function(id),
        }
    }
}

/// Module-level names, and the variables that bodies declare (keyed by position, for their names
/// are scoped).
#[derive(Debug, Default)]
pub(super) struct Names {
    entities: HashMap<Box<str>, (Entity, Pos)>,
    inner: HashMap<Pos, Entity>,
    /// The bytes of a scalar of each array of the module.
    elements: HashMap<Box<str>, u32>,
}

impl Names {
    pub fn get(&self, name: &str) -> Option<Entity> {
        self.entities.get(name).map(|(entity, _)| *entity)
    }

    /// Every name of the module.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.entities.keys().map(|name| &**name)
    }

    /// The variable declared in a body at this position.
    pub fn inner(&self, pos: Pos) -> Option<Entity> {
        self.inner.get(&pos).copied()
    }

    /// The meaning of a name of the module, and the place of its declaration.
    pub fn declared(&self, name: &str) -> Option<(Entity, Pos)> {
        self.entities.get(name).copied()
    }

    /// The bytes of a scalar of an array of the module; `None` if the name is not one's.
    pub fn array_element(&self, name: &str) -> Option<u32> {
        self.elements.get(name).copied()
    }

    /// Notes an array of the module.
    pub fn note_array(&mut self, name: &str, element: Option<u32>) {
        self.elements
            .extend(element.map(|bytes| (name.into(), bytes)));
    }

    /// Notes the variable declared in a body at this position.
    pub fn insert_inner(&mut self, pos: Pos, entity: Entity) {
        self.inner.insert(pos, entity);
    }

    /// Declares a name of the module.
    pub fn insert(
        &mut self,
        what: &'static str,
        name: Name<'_>,
        entity: Entity,
    ) -> Result<(), Problem> {
        match self.entities.insert(name.text.into(), (entity, name.pos)) {
            Some((_, first)) => Err(duplicate(what, name, first)),
            None => Ok(()),
        }
    }
}

impl Names {
    /// Makes the name of a declared function another one of a function.
    pub fn alias(&mut self, alias: Name<'_>, function: Name<'_>) -> Result<(), Problem> {
        let Some(entity @ Entity::Function(_)) = self.get(function.text) else {
            return Err(Problem::unknown("function", function.text, function.pos));
        };
        match self.entities.get_mut(alias.text) {
            Some((declared @ Entity::Function(_), _)) => *declared = entity,
            _ => return Err(Problem::unknown("function", alias.text, alias.pos)),
        }
        Ok(())
    }
}

/// The error that a name is already taken.
pub(super) fn duplicate(what: &'static str, name: Name<'_>, first: Pos) -> Problem {
    let kind = ErrorKind::Duplicate {
        what,
        name: name.text.to_string(),
        first,
    };
    Problem::new(name.pos, kind)
}

/// The variables that a body declares, at any depth: of a sketch, those that have memory with the
/// module.
pub(super) fn variables<'m, 'a>(f: &'m syntax::Function<'a>) -> Vec<&'m syntax::Variable<'a>> {
    fn collect<'m, 'a>(stmts: &'m [Stmt<'a>], into: &mut Vec<&'m syntax::Variable<'a>>) {
        for stmt in stmts {
            match stmt {
                Stmt::Variable(v) => into.push(v),
                Stmt::Block(inner) => collect(inner, into),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    match &f.sketch {
        Some(sketch) => all.extend(&sketch.variables),
        None => collect(f.body.as_deref().unwrap_or(&[]), &mut all),
    }
    all
}
