//! A PTX module: its text, and the program parsed from it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ptx::Program;

use crate::validate::ValidationError;
use plan::suggestion;

/// A PTX module. The text is parsed once, on first use.
#[derive(Debug)]
pub struct Module {
    name: Cow<'static, str>,
    ptx: Cow<'static, str>,
    program: OnceLock<Result<Arc<Program>, ValidationError>>,
}

impl Module {
    /// A module whose text was read at run time.
    pub fn new(name: impl Into<Cow<'static, str>>, ptx: impl Into<Cow<'static, str>>) -> Module {
        Module {
            name: name.into(),
            ptx: ptx.into(),
            program: OnceLock::new(),
        }
    }

    /// A module whose text is part of the program.
    pub const fn from_static(name: &'static str, ptx: &'static str) -> Module {
        Module {
            name: Cow::Borrowed(name),
            ptx: Cow::Borrowed(ptx),
            program: OnceLock::new(),
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

    /// The parsed program.
    ///
    /// # Errors
    ///
    /// [`ValidationError::BadPtx`] if the text does not parse.
    pub fn program(&self) -> Result<&Arc<Program>, ValidationError> {
        let program = self.program.get_or_init(|| {
            Program::parse(&self.ptx)
                .map(Arc::new)
                .map_err(|error| ValidationError::BadPtx {
                    module: self.name.to_string(),
                    reason: error.to_string(),
                })
        });
        program.as_ref().map_err(Clone::clone)
    }

    /// The kernel of this name.
    ///
    /// # Errors
    ///
    /// [`ValidationError::UnknownKernel`], with the nearest name; [`ValidationError::BadPtx`].
    pub fn kernel(&self, name: &str) -> Result<&ptx::Function, ValidationError> {
        let program = self.program()?;
        program
            .kernel(name)
            .ok_or_else(|| ValidationError::UnknownKernel {
                module: self.name.to_string(),
                kernel: name.to_owned(),
                suggestion: suggestion(name, program.kernels().map(|kernel| kernel.name.as_str())),
            })
    }
}
