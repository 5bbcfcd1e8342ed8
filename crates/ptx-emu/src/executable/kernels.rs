//! A module that is read kernel by kernel, and the registers that its kernels need at least: few
//! launches have blocks so large that these matter.

use std::sync::{Arc, OnceLock};

use ptx::{Body, FunctionId, Outline, Problem, Program};

use super::{Builder, Executable, nothing};
use crate::unset_values::Spaces;

/// The kernels of a module, each with the functions that it may reach, once it was asked for.
#[derive(Debug)]
pub(super) struct Kernels {
    outline: Outline,
    spaces: Spaces,
    /// By function.
    read: Vec<OnceLock<Arc<Executable>>>,
    whole: OnceLock<Arc<Executable>>,
}

impl Kernels {
    /// Those of a text; `None` if it has to be read at once.
    pub(super) fn of(source: &str) -> Option<Self> {
        let outline = Outline::of(source)?;
        Some(Self {
            read: outline.all().map(|_| OnceLock::new()).collect(),
            outline,
            spaces: Spaces::of(source),
            whole: OnceLock::new(),
        })
    }

    /// The declarations.
    pub(super) fn program(&self) -> &Program {
        self.outline.program()
    }

    /// The module as far as a kernel may reach.
    pub(super) fn read(&self, kernel: FunctionId) -> &Executable {
        self.read[kernel.0 as usize].get_or_init(|| {
            let reached = self.outline.reach(kernel);
            let read = self.code_of(&reached);
            // A call by an address may lead to any function.
            let may_call = reached
                .iter()
                .flat_map(|id| &read.code.functions[id.0 as usize].callees);
            let is_unread = |id: &u32| reached.binary_search(&FunctionId(*id)).is_err();
            if may_call.copied().any(|id| is_unread(&id)) {
                return Arc::clone(self.whole());
            }
            Arc::new(read)
        })
    }

    /// The module with the code of all functions.
    pub(super) fn whole(&self) -> &Arc<Executable> {
        let read = || Arc::new(self.code_of(&self.outline.all().collect::<Vec<_>>()));
        self.whole.get_or_init(read)
    }

    /// The module with the code of some functions, which are in ascending order.
    fn code_of(&self, functions: &[FunctionId]) -> Executable {
        let mut builder = Builder::of(self.spaces);
        let nothing = Arc::new(nothing(0));
        let program = self.outline.read_bodies(functions.iter().copied(), |body| {
            let before = body.id().0 as usize;
            builder.code.functions.resize(before, Arc::clone(&nothing));
            builder.function(body)
        });
        builder
            .code
            .functions
            .resize(program.functions.len(), nothing);
        builder.finish(program)
    }
}

/// The registers of each function, once they were asked for.
#[derive(Debug)]
pub(super) struct Needs {
    /// The module's text without its bodies; `None` if these have to be read at once.
    outline: OnceLock<Option<Outline>>,
    of: Vec<OnceLock<u32>>,
}

impl Needs {
    /// Those of a module with this number of functions.
    pub(super) fn of_functions(count: usize) -> Self {
        Self {
            outline: OnceLock::new(),
            of: (0..count).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Those of a kernel of this executable, whose own these needs are.
    pub(super) fn of(&self, executable: &Executable, kernel: FunctionId) -> u32 {
        *self.of[kernel.0 as usize].get_or_init(|| {
            let text = executable.program.text();
            let mut builder = Builder::of(Spaces::of(text));
            let mut needed = 0;
            let mut read = |body: &mut Body| -> Result<(), Problem> {
                builder.needed_registers = (body.id() == kernel).then_some(0);
                builder.function(body)?;
                needed = builder.needed_registers.unwrap_or(needed);
                Ok(())
            };
            let outline = match &executable.kernels {
                Some(kernels) => Some(&kernels.outline),
                None => self.outline.get_or_init(|| Outline::of(text)).as_ref(),
            };
            match outline {
                Some(outline) => drop(outline.read_bodies([kernel], read)),
                // It was read before, and is right.
                None => drop(Program::read(text, &mut read)),
            }
            needed
        })
    }
}
