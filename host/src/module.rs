//! A module: PTX text, and the signatures of its kernels.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::nearest::suggestion;
use crate::validate::ValidationError;

/// What a PTX parameter is, as far as an argument can be checked against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// An integer (`.u32`, `.s64`, ...); a pointer is one too, of 64 bits.
    Integer,
    /// A pointer, where the PTX says so (`.ptr`).
    Pointer,
    /// A floating-point number (`.f32`, `.f64`).
    Float,
    /// Untyped bits (`.b32`).
    Bits,
    /// A byte array: a structure passed by value.
    Bytes,
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// What it is.
    pub kind: ParamKind,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes, where it lies among the others.
    pub align: u32,
}

/// What a launch must agree with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSignature {
    /// The entry's name.
    pub name: String,
    /// In order.
    pub params: Vec<Param>,
    /// Most threads of a block (`.maxntid`, the product of its extents), if stated.
    pub max_threads: Option<u64>,
    /// The only block that it can be launched with (`.reqntid`), if stated.
    pub required_block: Option<[u32; 3]>,
    /// Shared memory that is declared with a size, in bytes.
    pub static_shared_bytes: u64,
}

/// A PTX module. Parsed once, when first needed.
#[derive(Debug)]
pub struct Module {
    name: Cow<'static, str>,
    ptx: Cow<'static, str>,
    signatures: OnceLock<Result<Vec<KernelSignature>, ValidationError>>,
}

impl Module {
    /// A module whose text was read at run time.
    pub fn new(name: impl Into<Cow<'static, str>>, ptx: impl Into<Cow<'static, str>>) -> Module {
        Module {
            name: name.into(),
            ptx: ptx.into(),
            signatures: OnceLock::new(),
        }
    }

    /// A module whose text is part of the program.
    pub const fn from_static(name: &'static str, ptx: &'static str) -> Module {
        Module {
            name: Cow::Borrowed(name),
            ptx: Cow::Borrowed(ptx),
            signatures: OnceLock::new(),
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

    /// The kernels, in the order of the text.
    ///
    /// # Errors
    ///
    /// [`ValidationError::BadPtx`] if the text does not parse.
    pub fn kernels(&self) -> Result<&[KernelSignature], ValidationError> {
        let parsed = self
            .signatures
            .get_or_init(|| crate::validate::signatures(&self.name, &self.ptx));
        match parsed {
            Ok(kernels) => Ok(kernels),
            Err(error) => Err(error.clone()),
        }
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
}
