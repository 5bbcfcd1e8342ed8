//! A PTX module: its text, and the program parsed from it.
//!
//! A module may say what older devices than its own have of it: [`Module::for_device`].

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use plan::suggestion;
use ptx::Program;
use ptx_emu::Executable;
use thiserror::Error;

use crate::generations::{self, Generation, Needs};

/// A module that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModuleError {
    /// PTX that does not parse.
    #[error("module `{module}` is not PTX that can be run: {reason}")]
    BadPtx {
        /// The module.
        module: String,
        /// Line and fault.
        reason: String,
    },
    /// No kernel of that name.
    #[error("module `{module}` has no kernel `{kernel}`; {suggestion}")]
    UnknownKernel {
        /// The module.
        module: String,
        /// The name asked for.
        kernel: String,
        /// The nearest name, or all of them.
        suggestion: String,
    },
}

/// A PTX module. The text is parsed once, on first use.
#[derive(Debug)]
pub struct Module {
    name: Cow<'static, str>,
    ptx: Cow<'static, str>,
    /// The parts of it that generations before its own have, the oldest first.
    older: OnceLock<Vec<Older>>,
    executable: OnceLock<Result<Arc<Executable>, ModuleError>>,
}

/// A module as an older generation has it.
#[derive(Debug)]
struct Older {
    generation: Generation,
    /// Made when it is first needed.
    module: OnceLock<Box<Module>>,
}

impl Module {
    /// A module whose text was read at run time.
    pub fn new(name: impl Into<Cow<'static, str>>, ptx: impl Into<Cow<'static, str>>) -> Module {
        Module {
            name: name.into(),
            ptx: ptx.into(),
            older: OnceLock::new(),
            executable: OnceLock::new(),
        }
    }

    /// A module whose text is part of the program.
    pub const fn from_static(name: &'static str, ptx: &'static str) -> Module {
        Module {
            name: Cow::Borrowed(name),
            ptx: Cow::Borrowed(ptx),
            older: OnceLock::new(),
            executable: OnceLock::new(),
        }
    }

    /// The module as a device of this compute capability has it: itself, or, for one that is older
    /// than its architecture, without the kernels that need a newer one, if the text says which
    /// these are. A device that is too old for all of it gets the oldest, which it refuses.
    pub fn for_device(&self, capability: (u32, u32)) -> &Module {
        if self.capability().is_none_or(|own| own <= capability) {
            return self;
        }
        let older = self.older.get_or_init(|| {
            let all = generations::generations(&self.ptx).into_iter();
            let of = |generation| Older {
                generation,
                module: OnceLock::new(),
            };
            all.map(of).collect()
        });
        let can_run = |one: &&Older| one.generation.capability <= capability;
        let Some(one) = older.iter().rfind(can_run).or(older.first()) else {
            return self;
        };
        one.module.get_or_init(|| {
            let text = generations::text_for(&self.ptx, &one.generation);
            Box::new(Module::new(self.name.clone(), text))
        })
    }

    /// The needs of a kernel that not all devices meet for which the module has a text.
    pub fn needs(&self, kernel: &str) -> Option<Needs<'_>> {
        let mut all = generations::needs(&self.ptx);
        all.find(|(name, _)| *name == kernel)
            .map(|(_, needs)| needs)
    }

    /// The architecture that the text is for, as it is written: `sm_80`.
    pub fn target(&self) -> Option<&str> {
        let target = ptx::directive(&self.ptx, "target")?;
        target.starts_with("sm_").then_some(target)
    }

    /// The compute capability of that architecture, major and minor.
    pub fn capability(&self) -> Option<(u32, u32)> {
        ptx::capability(self.target()?)
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn ptx(&self) -> &str {
        &self.ptx
    }

    /// The module's declarations.
    ///
    /// # Errors
    ///
    /// [`ModuleError::BadPtx`] if the text does not parse.
    pub fn program(&self) -> Result<&Program, ModuleError> {
        Ok(self.executable()?.program())
    }

    /// The module in the form that the emulated device runs.
    ///
    /// # Errors
    ///
    /// [`ModuleError::BadPtx`] if the text does not parse.
    pub fn executable(&self) -> Result<&Arc<Executable>, ModuleError> {
        let executable = self.executable.get_or_init(|| {
            Executable::parse(&self.ptx)
                .map(Arc::new)
                .map_err(|error| ModuleError::BadPtx {
                    module: self.name.to_string(),
                    reason: error.to_string(),
                })
        });
        executable.as_ref().map_err(Clone::clone)
    }

    /// The kernel of this name.
    ///
    /// # Errors
    ///
    /// [`ModuleError::UnknownKernel`], with the nearest name; [`ModuleError::BadPtx`], also if only
    /// this kernel is wrong.
    pub fn kernel(&self, name: &str) -> Result<&ptx::Function, ModuleError> {
        let program = self.program()?;
        if let Some((_, error)) = program
            .refused()
            .find(|(function, _)| function.name == name)
        {
            return Err(ModuleError::BadPtx {
                module: self.name.to_string(),
                reason: error.to_string(),
            });
        }
        program
            .kernel(name)
            .ok_or_else(|| ModuleError::UnknownKernel {
                module: self.name.to_string(),
                kernel: name.to_owned(),
                suggestion: suggestion(name, program.kernels().map(|kernel| kernel.name.as_str())),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_kernel_is_told_by_its_error_and_costs_no_other() {
        let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
        let kernels =
            ".visible .entry good()\n{\nret;\n}\n.visible .entry bad()\n{\nbra nowhere;\n}\n";
        let module = Module::new("m", format!("{header}{kernels}"));
        assert!(module.kernel("good").is_ok());
        let error = module.kernel("bad").unwrap_err().to_string();
        assert!(
            error.contains("10:5: label `nowhere` is not declared"),
            "{error}"
        );
    }
}
