//! Why an image, or a part of what is linked, has no PTX that can be used.

use crate::code::Code;
use crate::machine_code::Origin;

/// The reason why an image has no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPtx {
    /// Machine code alone, for these architectures.
    MachineCode(Vec<u32>, Origin),
    /// Another kind of content.
    Unknown(String),
    /// Code for link-time optimisation alone.
    Intermediate,
    /// A part of what is linked, by its name, and the reason.
    Part(String, Box<NoPtx>),
    /// Parts that do not go together.
    Link(String),
    /// A compressed entry that does not decompress.
    Corrupt(String),
}

impl std::fmt::Display for NoPtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MachineCode(architectures, origin) => {
                f.write_str("it has machine code (SASS)")?;
                for (number, sm) in architectures.iter().enumerate() {
                    write!(f, "{} sm_{sm}", if number == 0 { " for" } else { "," })?;
                }
                let remedy = origin.remedy();
                write!(f, " and no PTX, which the emulator runs; {remedy}")
            }
            Self::Unknown(what) => write!(f, "it is not PTX and not a fat binary: {what}"),
            Self::Intermediate => f.write_str(
                "it has code for link-time optimisation and no PTX, which the emulator runs; compile with PTX in it, without -dlto, for example by `nvcc -gencode arch=compute_90,code=compute_90`",
            ),
            Self::Part(name, reason) => write!(f, "its part `{name}`: {reason}"),
            Self::Link(error) => f.write_str(error),
            Self::Corrupt(what) => write!(f, "a compressed entry of its fat binary: {what}"),
        }
    }
}

impl NoPtx {
    /// The driver's error.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Unknown(_) | Self::Corrupt(_) => Code::INVALID_IMAGE,
            Self::Part(_, reason) => reason.code(),
            Self::MachineCode(..) | Self::Intermediate | Self::Link(_) => Code::NO_BINARY_FOR_GPU,
        }
    }
}
