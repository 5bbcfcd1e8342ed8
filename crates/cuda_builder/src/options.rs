//! Options of code generation, those of Rust-CUDA's builder.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::compile::Panics;

/// Whether PTX says which source line an instruction is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// It does not. Faults on the emulated device then name no line.
    None,
    /// It does, which changes no instruction.
    #[default]
    LineTables,
}

/// The options of one build, beside its architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    pub panics: Panics,
    pub debug: DebugInfo,
    pub ftz: bool,
    pub fast_sqrt: bool,
    pub fast_div: bool,
    pub fma_contraction: bool,
    /// Further arguments of cargo.
    pub build_args: Vec<String>,
}

impl From<Panics> for Options {
    fn from(panics: Panics) -> Self {
        Self {
            panics,
            ..Self::default()
        }
    }
}

impl Options {
    /// The options of `opt` and `llc`.
    pub fn llvm(&self) -> Vec<String> {
        let flags = [
            (self.ftz, "-denormal-fp-math-f32=preserve-sign"),
            (self.fast_sqrt, "-nvptx-prec-sqrtf32=0"),
            (self.fast_div, "-nvptx-prec-divf32=0"),
            (self.fma_contraction, "-fp-contract=fast"),
        ];
        let given = flags.into_iter().filter(|(is_on, _)| *is_on);
        given.map(|(_, flag)| flag.to_owned()).collect()
    }

    /// The part of a build folder's name that these options give. Builds with other options must
    /// not share files.
    pub fn of_folder(&self) -> String {
        let usual = Self::from(self.panics);
        if *self == usual {
            return self.panics.of_folder().to_owned();
        }
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        format!("{}-{:08x}", self.panics.of_folder(), hasher.finish() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_with_other_options_have_other_folders() {
        assert_eq!(Options::default().of_folder(), "");
        assert_eq!(Options::from(Panics::Message).of_folder(), "-messages");
        let fast = Options {
            ftz: true,
            ..Options::default()
        };
        let plain = Options {
            debug: DebugInfo::None,
            ..Options::default()
        };
        let folders = [fast.of_folder(), plain.of_folder()];
        assert!(folders.iter().all(|folder| folder.starts_with('-')));
        assert_ne!(folders[0], folders[1]);
    }
}
