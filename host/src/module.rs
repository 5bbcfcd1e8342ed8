//! A PTX module: its text, and the program parsed from it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use plan::suggestion;
use ptx::Program;
use ptx_emu::Executable;
use thiserror::Error;

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
    executable: OnceLock<Result<Arc<Executable>, ModuleError>>,
}

impl Module {
    /// A module whose text was read at run time.
    pub fn new(name: impl Into<Cow<'static, str>>, ptx: impl Into<Cow<'static, str>>) -> Module {
        Module {
            name: name.into(),
            ptx: ptx.into(),
            executable: OnceLock::new(),
        }
    }

    /// A module whose text is part of the program.
    pub const fn from_static(name: &'static str, ptx: &'static str) -> Module {
        Module {
            name: Cow::Borrowed(name),
            ptx: Cow::Borrowed(ptx),
            executable: OnceLock::new(),
        }
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn ptx(&self) -> &str {
        &self.ptx
    }

    /// What the module declares.
    ///
    /// # Errors
    ///
    /// [`ModuleError::BadPtx`] if the text does not parse.
    pub fn program(&self) -> Result<&Program, ModuleError> {
        Ok(self.executable()?.program())
    }

    /// What the emulated device runs.
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
    /// [`ModuleError::UnknownKernel`], with the nearest name; [`ModuleError::BadPtx`].
    pub fn kernel(&self, name: &str) -> Result<&ptx::Function, ModuleError> {
        let program = self.program()?;
        program
            .kernel(name)
            .ok_or_else(|| ModuleError::UnknownKernel {
                module: self.name.to_string(),
                kernel: name.to_owned(),
                suggestion: suggestion(name, program.kernels().map(|kernel| kernel.name.as_str())),
            })
    }
}
