//! Modules and libraries in contexts, and their functions and variables.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_emu::{Executable, LoadedModule};

use super::Driver;
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::launch::DEFAULT_SHARED_BYTES;
use crate::objects::memory::{Allocation, Kind};
use crate::objects::module::{Function, Library, Managed, Module, Owner};
use crate::objects::stream::{PER_THREAD, StreamKey};
use crate::report;

impl Driver {
    /// The function with this handle.
    pub(crate) fn function(&mut self, function: Handle) -> Outcome<&mut Function> {
        self.functions
            .get_mut(&function)
            .ok_or(Code::INVALID_HANDLE)
    }

    /// Refuses a function of one context in a stream of another, as a GPU's driver does (H200,
    /// driver 580). A kernel of a library runs in either; of default streams it is not known.
    pub(crate) fn check_context_of(&mut self, function: Handle, key: StreamKey) -> Outcome {
        let own = match self.function(function)?.owner {
            Owner::Module { module, .. } => self.modules.get(&module),
            Owner::Library(_) => None,
        };
        let is_other = own.is_some_and(|module| module.context != key.context);
        if is_other && key.stream > PER_THREAD {
            report::refused(
                "a function of one context is launched in a stream of another: load its module there, or \
                 make the stream in the context of the function (cuCtxSetCurrent)",
            );
            return Err(Code::INVALID_HANDLE);
        }
        Ok(())
    }

    /// The module that a function runs in, in a context.
    pub(crate) fn module_of(&mut self, function: Handle, context: Handle) -> Outcome<LoadedModule> {
        let module = match self.function(function)?.owner {
            Owner::Module { module, .. } => module,
            Owner::Library(library) => self.library_module(library, context)?,
        };
        let module = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        Ok(module.loaded.clone())
    }

    pub(crate) fn library(&mut self, library: Handle) -> Outcome<&mut Library> {
        self.libraries.get_mut(&library).ok_or(Code::INVALID_HANDLE)
    }

    /// The module of a library in a context, which is loaded if it is not.
    pub(crate) fn library_module(&mut self, library: Handle, context: Handle) -> Outcome<Handle> {
        let known = self.library(library)?;
        if let Some(module) = known.modules.get(&context) {
            return Ok(*module);
        }
        let executable = Arc::clone(&known.executable);
        let managed = self.library_managed(library)?;
        let module = self.load(executable, context, &managed)?;
        self.library(library)?.modules.insert(context, module);
        Ok(module)
    }

    /// The managed variables of a library. They belong to the first device's primary context.
    pub(crate) fn library_managed(&mut self, library: Handle) -> Outcome<Managed> {
        let known = self.library(library)?;
        if let Some((_, managed)) = &known.managed {
            return Ok(managed.clone());
        }
        let executable = Arc::clone(&known.executable);
        let owner = self.primary(0)?;
        let managed = self.place_managed(&executable, owner)?;
        self.library(library)?.managed = Some((owner, managed.clone()));
        Ok(managed)
    }

    /// Gives managed variables their memory and first values.
    pub(crate) fn place_managed(
        &mut self,
        executable: &Executable,
        context: Handle,
    ) -> Outcome<Managed> {
        let variables = executable.program().globals.iter();
        let mut managed = HashMap::new();
        for variable in variables.filter(|variable| variable.is_managed && variable.size > 0) {
            let bytes = variable.size as usize;
            let address = self.share(context, bytes, Kind::Managed, &variable.name)?;
            let written = self.machine.write(address, &variable.init);
            written.map_err(|_| Code::UNKNOWN)?;
            managed.insert(variable.name.clone(), address);
        }
        Ok(managed)
    }

    pub(crate) fn load(
        &mut self,
        executable: Arc<Executable>,
        context: Handle,
        managed: &Managed,
    ) -> Outcome<Handle> {
        let device = self.device_of(context)?;
        let loaded = self
            .machine
            .load_placed(executable, |variable| managed.get(&variable.name).copied())
            .map_err(|_| Code::OUT_OF_MEMORY)?;
        for variable in &loaded.program().globals {
            let has_memory = |at: &(u64, u64)| at.0 != 0 && !managed.contains_key(&variable.name);
            let Some((address, bytes)) = loaded.global(&variable.name).filter(has_memory) else {
                continue;
            };
            self.allocations.insert(
                address,
                Allocation {
                    bytes,
                    kind: Kind::Variable,
                    context,
                    device,
                    pool: None,
                },
            );
        }
        let handle = self.new_handle();
        let module = Module {
            context,
            loaded,
            functions: HashMap::new(),
        };
        self.modules.insert(handle, module);
        Ok(handle)
    }

    pub(crate) fn unload(&mut self, handle: Handle) -> Outcome {
        let module = self.modules.remove(&handle).ok_or(Code::INVALID_HANDLE)?;
        for function in module.functions.values() {
            self.functions.remove(function);
        }
        self.forget_references(handle);
        for variable in &module.loaded.program().globals {
            if let Some((address, _)) = module.loaded.global(&variable.name) {
                self.free(address);
            }
        }
        Ok(())
    }

    fn new_function(
        &mut self,
        owner: Owner,
        name: &str,
        executable: Arc<Executable>,
    ) -> Outcome<Handle> {
        // A wrong body is told when it is launched.
        let kernel = executable.program().defined_kernel(name);
        let (_, kernel) = kernel.ok_or(Code::NOT_FOUND)?;
        let dynamic_shared_bytes = DEFAULT_SHARED_BYTES.saturating_sub(kernel.shared_bytes);
        let handle = self.new_handle();
        let function = Function {
            owner,
            name: name.to_owned(),
            executable,
            dynamic_shared_bytes,
            set: HashMap::new(),
        };
        self.functions.insert(handle, function);
        Ok(handle)
    }

    pub(crate) fn module_function(&mut self, module: Handle, name: &str) -> Outcome<Handle> {
        let known = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        if let Some(function) = known.functions.get(name) {
            return Ok(*function);
        }
        let context = known.context;
        let executable = Arc::clone(known.loaded.executable());
        let function = self.new_function(Owner::Module { module, context }, name, executable)?;
        if let Some(owner) = self.modules.get_mut(&module) {
            owner.functions.insert(name.to_owned(), function);
        }
        Ok(function)
    }

    pub(crate) fn library_kernel(&mut self, library: Handle, name: &str) -> Outcome<Handle> {
        let known = self.library(library)?;
        if let Some(kernel) = known.kernels.get(name) {
            return Ok(*kernel);
        }
        let executable = Arc::clone(&known.executable);
        let kernel = self.new_function(Owner::Library(library), name, executable)?;
        self.library(library)?
            .kernels
            .insert(name.to_owned(), kernel);
        Ok(kernel)
    }

    pub(crate) fn variable(&self, module: Handle, name: &str) -> Outcome<(u64, usize)> {
        let module = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        let (address, bytes) = module.loaded.global(name).ok_or(Code::NOT_FOUND)?;
        Ok((address, bytes as usize))
    }
}
