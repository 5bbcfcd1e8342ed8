//! Syntax to a program: names to registers, offsets and ids.
//!
//! - `names`: the names of a module;
//! - `layout`: sizes, alignments and offsets of variables and parameters;
//! - `initialiser`: the bytes and the addresses that a variable starts with;
//! - `shared`: the layout of shared memory, from what each kernel can reach;
//! - `scope`: names inside a body; `locs`: source positions;
//! - `body`: the body of a function, read instruction by instruction;
//! - `outline`: a program whose bodies are read when they are wanted.

mod body;
mod initialiser;
mod layout;
mod locs;
mod names;
mod outline;
mod scope;
mod shared;

pub use body::{Body, Instruction, Named, VectorReg};
pub use layout::Signature;
pub(crate) use layout::{declared_size, signature};
pub use outline::Outline;

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Problem};
use crate::parse;
use crate::program::*;
use crate::syntax::{self, Item, ModuleSyntax, Storage};
use crate::types::Space;
use locs::Locs;
use names::{Entity, Names, duplicate, variables};
use shared::mentions;

impl Program {
    /// Reads a PTX text. `read_body` gets each function in the order of [`Program::functions`],
    /// those without a body too, and reads its instructions. A function whose body is wrong, or of
    /// which `read_body` returns a problem, is refused ([`Program::refused`]); the others are not.
    ///
    /// # Errors
    /// The first position outside bodies where the text is not well-formed or names something that
    /// it does not declare, or the first refusal if no kernel is left.
    pub fn read<'a>(
        source: &'a str,
        read_body: impl FnMut(&mut Body<'_, 'a>) -> Result<(), Problem>,
    ) -> Result<Program, Error> {
        let program = program(source, read_body).map_err(|problem| problem.into_error(source))?;
        match first_refusal(&program) {
            Some(error) => Err(error),
            None => Ok(program),
        }
    }
}

fn program<'a>(
    source: &'a str,
    mut read_body: impl FnMut(&mut Body<'_, 'a>) -> Result<(), Problem>,
) -> Result<Program, Problem> {
    let module = parse::parse(source)?;
    let (mut program, names, sources) = declare(&module)?;
    let mentioned: Vec<_> = sources.iter().map(|f| mentions(f, &names)).collect();
    shared::lay_out_shared(&mut program, &mentioned)?;
    let mut locs = Locs::new(std::mem::take(&mut program.files));
    for (id, function) in (0..).map(FunctionId).zip(&sources) {
        program.read_function(source, (id, function), &names, &mut locs, &mut read_body);
    }
    (program.files, program.file_places, program.locs) = locs.into_parts();
    program.declared_mut().source = source.into();
    state_source_params(&mut program, source);
    Ok(program)
}

/// The declarations of a module, its names, and the syntax of each function by id: the definition
/// where there is one. Shared memory is not laid out yet.
fn declare<'m, 'a>(
    module: &'m ModuleSyntax<'a>,
) -> Result<(Program, Names, Vec<&'m syntax::Function<'a>>), Problem> {
    let files = module.files.iter().map(|(number, path)| SourceFile {
        number: *number,
        path: path.to_string(),
    });
    let mut program = Program {
        declared: Arc::new(Declared {
            version: module.version,
            target: module.target.iter().map(|t| t.to_string()).collect(),
            ..Declared::default()
        }),
        files: files.collect(),
        locs: Vec::new(),
        functions: Vec::new(),
        file_places: HashMap::new(),
    };
    let mut names = Names::default();
    let mut sources: Vec<&syntax::Function<'_>> = Vec::new();
    for item in &module.items {
        match item {
            Item::Variable(v) => declare_variable(&mut program, &mut names, v)?,
            Item::Function(f) => declare_function(&mut program, &mut names, &mut sources, f)?,
        }
    }
    for (alias, function) in &module.aliases {
        names.alias(*alias, *function)?;
    }
    for function in &sources {
        declare_inner(&mut program, &mut names, function)?;
    }
    for item in &module.items {
        if let Item::Variable(v) = item
            && let Some(Entity::Global(id)) = names.get(v.name.text)
        {
            initialiser::initialise(&mut program, &names, id, v)?;
        }
    }
    for v in sources.iter().flat_map(|function| variables(function)) {
        if let Some(Entity::Global(id)) = names.inner(v.name.pos) {
            initialiser::initialise(&mut program, &names, id, v)?;
        }
    }
    check_constants(&program)?;
    let ids = (0..).map(FunctionId).zip(&program.functions);
    let ids = ids.map(|(id, f)| (f.name.as_str().into(), id)).collect();
    program.declared_mut().function_ids = ids;
    Ok((program, names, sources))
}

impl Program {
    /// Reads the body of a function, and says of the function what follows from it.
    fn read_function<'a>(
        &mut self,
        source: &str,
        (id, syntax): (FunctionId, &syntax::Function<'a>),
        names: &Names,
        locs: &mut Locs<'a>,
        read_body: &mut impl FnMut(&mut Body<'_, 'a>) -> Result<(), Problem>,
    ) {
        let mut body = Body::new(id, self, names, locs, syntax);
        let read = read_body(&mut body).and_then(|()| body.finish());
        match read {
            Ok(read) => *self.function_mut(id) = read,
            Err(problem) => {
                let error = problem.into_error(source);
                self.function_mut(id).refused = Some(Box::new(error));
            }
        }
    }
}

/// The start of a comment at the end of a text that states the parameters of a kernel's source.
const SOURCE_PARAMS: &str = "// cuda_std.parameters ";

/// Reads these comments.
fn state_source_params(program: &mut Program, source: &str) {
    let comments = source
        .lines()
        .rev()
        .take_while(|line| line.starts_with("//"));
    for statement in comments.filter_map(|line| line.strip_prefix(SOURCE_PARAMS)) {
        let mut parts = statement.split('~');
        let kernel = parts.next().unwrap_or_default();
        let params = parts.filter_map(|param| {
            let (name, ty) = param.split_once(": ")?;
            let (name, ty) = (name.to_owned(), ty.to_owned());
            Some(SourceParam { name, ty })
        });
        if let Some(&id) = program.function_ids.get(kernel) {
            let function = program.function_mut(id);
            if function.is_kernel {
                function.source_params = params.collect();
            }
        }
    }
}

/// A text that can do nothing: none of its kernels can run, or it has none and a wrong function.
fn first_refusal(program: &Program) -> Option<Error> {
    let (_, error) = program.refused().next()?;
    program.kernels().next().is_none().then(|| error.clone())
}

fn declare_variable(
    program: &mut Program,
    names: &mut Names,
    v: &syntax::Variable<'_>,
) -> Result<(), Problem> {
    names.note_array(v.name.text, layout::array_element(v));
    match v.storage {
        Storage::In(Space::Shared) => {
            let entity = add_shared(program, v)?;
            names.insert("variable", v.name, entity)
        }
        Storage::In(space) => {
            let variable = layout::variable(v, space)?;
            // A declaration and the definition of the same name are one variable.
            if let Some((Entity::Global(id), _)) = names.declared(v.name.text) {
                let known = &mut program.declared_mut().globals[id.0 as usize];
                if v.is_extern {
                    return Ok(());
                }
                if known.is_extern {
                    *known = variable;
                    return Ok(());
                }
            }
            let id = GlobalId(program.globals.len() as u32);
            program.declared_mut().globals.push(variable);
            names.insert("variable", v.name, Entity::Global(id))
        }
        Storage::Reg => {
            let message = "registers can only be declared in a function";
            Err(Problem::invalid(v.name.pos, message))
        }
    }
}

/// Bytes of the constant variables of a module (PTX ISA, "Constant State Space").
const MAX_CONSTANT_BYTES: u64 = 64 << 10;

/// Checks that the constant variables fit.
fn check_constants(program: &Program) -> Result<(), Problem> {
    let mut bytes = 0u64;
    for v in program
        .globals
        .iter()
        .filter(|v| v.space == Space::Const && !v.is_extern)
    {
        bytes = bytes.next_multiple_of(v.align.into()) + u64::from(v.size);
        if bytes > MAX_CONSTANT_BYTES {
            let message = format!(
                "up to and with `{}` the constant variables take {bytes} bytes; a module has {MAX_CONSTANT_BYTES} of them",
                v.name
            );
            return Err(Problem::invalid(v.pos, message));
        }
    }
    Ok(())
}

/// Shared variables of a module: their layout takes time that grows with the square of their
/// number.
const MAX_SHARED: u64 = 1024;

fn add_shared(program: &mut Program, v: &syntax::Variable<'_>) -> Result<Entity, Problem> {
    let value = 1 + (program.shared.len() + program.dynamic_shared.len()) as u64;
    if value > MAX_SHARED {
        let kind = ErrorKind::TooLarge {
            what: "the number of shared variables",
            value,
            limit: MAX_SHARED,
        };
        return Err(Problem::new(v.name.pos, kind));
    }
    let align = layout::alignment(v);
    if v.is_extern && v.dims.first() == Some(&None) {
        program.declared_mut().dynamic_shared.push(DynamicShared {
            name: v.name.text.to_string(),
            align,
        });
        return Ok(Entity::DynamicShared(
            program.dynamic_shared.len() as u32 - 1,
        ));
    }
    let size = layout::size(v)?;
    let name = v.name.text.to_string();
    program.declared_mut().shared.push(SharedVariable {
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
    names: &mut Names,
    sources: &mut Vec<&'m syntax::Function<'a>>,
    f: &'m syntax::Function<'a>,
) -> Result<(), Problem> {
    if let Some((Entity::Function(id), first)) = names.declared(f.name.text) {
        let known = program.function_mut(id);
        match (known.is_defined, f.body.is_some()) {
            (true, true) => return Err(duplicate("function", f.name, first)),
            (false, true) => {
                *known = layout::function(f)?;
                sources[id.0 as usize] = f;
            }
            _ => {}
        }
        return Ok(());
    }
    let id = FunctionId(program.functions.len() as u32);
    program.functions.push(Arc::new(layout::function(f)?));
    sources.push(f);
    names.insert("function", f.name, Entity::Function(id))
}

/// Shared and global variables that a body declares live as long as those of the module.
fn declare_inner(
    program: &mut Program,
    names: &mut Names,
    f: &syntax::Function<'_>,
) -> Result<(), Problem> {
    for v in variables(f) {
        let entity = match v.storage {
            Storage::In(Space::Shared) => add_shared(program, v)?,
            Storage::In(space @ (Space::Global | Space::Const)) => {
                program
                    .declared_mut()
                    .globals
                    .push(layout::variable(v, space)?);
                Entity::Global(GlobalId(program.globals.len() as u32 - 1))
            }
            _ => continue,
        };
        names.insert_inner(v.name.pos, entity);
    }
    Ok(())
}
