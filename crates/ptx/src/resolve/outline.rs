//! A program whose bodies are read when they are wanted.

use super::locs::Locs;
use super::names::{Entity, Names};
use super::shared::{self, mentions};
use super::{Body, declare, state_source_params};
use crate::error::Problem;
use crate::parse;
use crate::program::*;
use crate::types::Pos;

/// The declarations of a text. Its bodies are passed over, and read kernel by kernel: of a text
/// with very many kernels, a program launches few.
///
/// ```
/// let text = ".version 8.0 .target sm_90 .address_size 64
///     .func f() { ret; }
///     .entry k() { call f; ret; }
///     .entry other() { frobnicate }";
/// let outline = ptx::Outline::of(text).expect("its bodies have an end");
/// let (id, _) = outline.program().function_named("k").expect("it is declared");
/// let mut read = Vec::new();
/// let program = outline.read_bodies(outline.reach(id), |body| {
///     Ok(read.push(body.function().name.clone()))
/// });
/// assert_eq!(read, ["f", "k"]);
/// assert!(program.kernel("k").is_some());
/// ```
#[derive(Debug)]
pub struct Outline {
    /// Without what follows from bodies.
    program: Program,
    names: Names,
    /// Where each function starts, from its `.func` or `.entry` on, and where its body ends; `None`
    /// without a body.
    places: Vec<Option<((usize, Pos), usize)>>,
    /// The mentions of each function: see `shared`.
    mentioned: Vec<Vec<Entity>>,
}

impl Outline {
    /// Reads the declarations of a text. `None` if something is wrong with them, or if bodies have
    /// to be parsed to know: [`Program::read`] tells.
    pub fn of(source: &str) -> Option<Outline> {
        let module = parse::parse_sketched(source)?;
        let (mut program, names, sources) = declare(&module).ok()?;
        // Sketches leave out what may be a register.
        if names.all().any(|name| name.starts_with('%')) {
            return None;
        }
        let mentioned: Vec<_> = sources.iter().map(|f| mentions(f, &names)).collect();
        shared::lay_out_shared(&mut program, &mentioned).ok()?;
        let place = |f: &&crate::syntax::Function| Some((f.start, f.sketch.as_ref()?.end));
        let places = sources.iter().map(place).collect();
        state_source_params(&mut program, source);
        program.declared_mut().source = source.into();
        Some(Outline {
            program,
            names,
            places,
            mentioned,
        })
    }

    /// The declarations. Of its functions it says what their heads say, and their shared memory:
    /// none is refused, none has registers, local memory or labels.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A kernel and every function that it can reach, in ascending order. A call by an address may
    /// lead to any other.
    ///
    /// # Panics
    /// If the id is not that of a function of the program.
    pub fn reach(&self, kernel: FunctionId) -> Vec<FunctionId> {
        let reached = shared::reach(&self.program, &self.mentioned, kernel.0 as usize, &mut 0);
        reached.map_or_else(|_| self.all().collect(), |reached| reached.functions)
    }

    /// Every function.
    pub fn all(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.program.functions.len() as u32).map(FunctionId)
    }

    /// Reads the bodies of some functions, as [`Program::read`] does. Gives the program as far as
    /// these are concerned.
    ///
    /// # Panics
    /// If an id is not that of a function of the program.
    pub fn read_bodies<'a>(
        &'a self,
        functions: impl IntoIterator<Item = FunctionId>,
        mut read_body: impl FnMut(&mut Body<'_, 'a>) -> Result<(), Problem>,
    ) -> Program {
        let source = &*self.program.source;
        let mut program = self.program.clone();
        let mut locs = Locs::new(std::mem::take(&mut program.files));
        for id in functions {
            let Some(place) = self.places[id.0 as usize] else {
                continue;
            };
            match parse::parse_function(source, place) {
                Ok(syntax) => {
                    let function = (id, &syntax);
                    program.read_function(source, function, &self.names, &mut locs, &mut read_body);
                }
                Err(problem) => {
                    let error = problem.into_error(source);
                    program.function_mut(id).refused = Some(Box::new(error));
                }
            }
        }
        (program.files, program.file_places, program.locs) = locs.into_parts();
        program
    }
}
