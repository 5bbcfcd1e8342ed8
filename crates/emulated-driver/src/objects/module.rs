//! Modules, libraries, and the functions in them.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use ptx_emu::{Executable, LoadedModule};

use super::Handle;

/// A module in a context.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) context: Handle,
    pub(crate) loaded: LoadedModule,
    /// By name.
    pub(crate) functions: HashMap<String, Handle>,
}

/// A module that is loaded into each context that uses it.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) executable: Arc<Executable>,
    /// By context.
    pub(crate) modules: HashMap<Handle, Handle>,
    /// By name.
    pub(crate) kernels: HashMap<String, Handle>,
    /// Its managed variables, once they have memory: the context that this belongs to, and
    /// addresses.
    pub(crate) managed: Option<(Handle, Managed)>,
}

/// Addresses of managed variables, which are the same in every context.
pub(crate) type Managed = HashMap<String, u64>;

impl Library {
    /// A library that no context has loaded.
    pub(crate) fn new(executable: Arc<Executable>) -> Library {
        Library {
            executable,
            modules: HashMap::new(),
            kernels: HashMap::new(),
            managed: None,
        }
    }

    /// Forgets the module of a context that ends.
    pub(crate) fn forget(&mut self, context: Handle) {
        self.modules.remove(&context);
        self.managed.take_if(|(owner, _)| *owner == context);
    }
}

/// Where a function comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Module { module: Handle, context: Handle },
    Library(Handle),
}

/// A function of a module, or a kernel of a library, which is the same in any context.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) owner: Owner,
    pub(crate) name: String,
    pub(crate) executable: Arc<Executable>,
    /// The largest dynamic shared memory of a launch, in bytes.
    pub(crate) dynamic_shared_bytes: u32,
    /// Other attributes that were set.
    pub(crate) set: HashMap<c_int, c_int>,
}

impl Function {
    /// Whether it goes with a context.
    pub(crate) fn is_of(&self, context: Handle) -> bool {
        matches!(self.owner, Owner::Module { context: own, .. } if own == context)
    }

    /// Its declaration, without what follows from its body.
    pub(crate) fn declared(&self) -> &ptx::Function {
        let kernel = self.executable.program().defined_kernel(&self.name);
        kernel
            .expect("a function is made for a kernel of its module")
            .1
    }

    /// The registers that a thread takes at least.
    pub(crate) fn registers(&self) -> u32 {
        let needed = self.executable.needed_registers(&self.name);
        self.declared().bounded_registers(needed)
    }

    /// Bytes of local memory of a thread.
    pub(crate) fn local_bytes(&self) -> u32 {
        let kernel = self.executable.kernel(&self.name);
        kernel.map_or(0, |kernel| kernel.local_bytes)
    }
}
