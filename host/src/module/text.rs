//! PTX text, parsed once.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ptx::Program;
use ptx_emu::Executable;

use super::KernelSignature;
use crate::validate::ValidationError;
use plan::suggestion;

/// A PTX module. Parsed once, when first needed.
#[derive(Debug)]
pub struct Module {
    name: Cow<'static, str>,
    ptx: Cow<'static, str>,
    parsed: OnceLock<Result<Parsed, ValidationError>>,
}

#[derive(Debug)]
struct Parsed {
    executable: Arc<Executable>,
    kernels: Vec<KernelSignature>,
}

impl Module {
    /// A module whose text was read at run time.
    pub fn new(name: impl Into<Cow<'static, str>>, ptx: impl Into<Cow<'static, str>>) -> Module {
        Module {
            name: name.into(),
            ptx: ptx.into(),
            parsed: OnceLock::new(),
        }
    }

    /// A module whose text is part of the program.
    pub const fn from_static(name: &'static str, ptx: &'static str) -> Module {
        Module {
            name: Cow::Borrowed(name),
            ptx: Cow::Borrowed(ptx),
            parsed: OnceLock::new(),
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
    /// [`ValidationError::BadPtx`] if the text does not parse.
    pub fn program(&self) -> Result<&Program, ValidationError> {
        Ok(self.parsed()?.executable.program())
    }

    /// What the emulated device runs.
    ///
    /// # Errors
    ///
    /// [`ValidationError::BadPtx`] if the text does not parse.
    pub fn executable(&self) -> Result<&Arc<Executable>, ValidationError> {
        Ok(&self.parsed()?.executable)
    }

    /// The kernels, in the order of the text.
    ///
    /// # Errors
    ///
    /// [`ValidationError::BadPtx`] if the text does not parse.
    pub fn kernels(&self) -> Result<&[KernelSignature], ValidationError> {
        Ok(&self.parsed()?.kernels)
    }

    /// The kernel of this name.
    ///
    /// # Errors
    ///
    /// [`ValidationError::UnknownKernel`], with the nearest name; [`ValidationError::BadPtx`].
    pub fn kernel(&self, name: &str) -> Result<&KernelSignature, ValidationError> {
        let kernels = self.kernels()?;
        kernels
            .iter()
            .find(|kernel| kernel.name == name)
            .ok_or_else(|| ValidationError::UnknownKernel {
                module: self.name.to_string(),
                kernel: name.to_owned(),
                suggestion: suggestion(name, kernels.iter().map(|kernel| kernel.name.as_str())),
            })
    }

    fn parsed(&self) -> Result<&Parsed, ValidationError> {
        let parsed = self.parsed.get_or_init(|| {
            let executable =
                Executable::parse(&self.ptx).map_err(|error| ValidationError::BadPtx {
                    module: self.name.to_string(),
                    reason: error.to_string(),
                })?;
            let kernels = executable.program().kernels();
            Ok(Parsed {
                kernels: kernels.map(KernelSignature::new).collect(),
                executable: Arc::new(executable),
            })
        });
        parsed.as_ref().map_err(Clone::clone)
    }
}
