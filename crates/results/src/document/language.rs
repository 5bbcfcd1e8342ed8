//! The language of a peer.

use std::fmt;

use serde::{Deserialize, Serialize};

/// As rows have it.
const CUDA_CPP: &str = "CUDA C++";

/// The language of a peer. In JSON it is text: `CUDA C++, shared tile, FMA`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Language {
    /// CUDA C++.
    CudaCpp {
        /// How the peer differs from the plain kernel, built without contraction:
        /// `shared tile, FMA`.
        form: Option<String>,
    },
    /// Another, with what it is compiled by: `Python, Numba`.
    Other(String),
}

impl Language {
    /// CUDA C++, in these forms.
    pub fn cuda_cpp<'f>(forms: impl IntoIterator<Item = &'f str>) -> Language {
        let forms: Vec<&str> = forms.into_iter().collect();
        Language::CudaCpp {
            form: (!forms.is_empty()).then(|| forms.join(", ")),
        }
    }

    /// Whether it is CUDA C++, in whatever form.
    pub fn is_cuda_cpp(&self) -> bool {
        matches!(self, Language::CudaCpp { .. })
    }
}

impl From<String> for Language {
    fn from(text: String) -> Language {
        if text == CUDA_CPP {
            return Language::CudaCpp { form: None };
        }
        let form = text.strip_prefix(CUDA_CPP);
        match form.and_then(|rest| rest.strip_prefix(", ")) {
            Some(form) => Language::cuda_cpp([form]),
            None => Language::Other(text),
        }
    }
}

impl From<Language> for String {
    fn from(language: Language) -> String {
        language.to_string()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Language::CudaCpp { form: None } => f.write_str(CUDA_CPP),
            Language::CudaCpp { form: Some(form) } => write!(f, "{CUDA_CPP}, {form}"),
            Language::Other(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_the_text_that_it_was() {
        let is_cuda_cpp = |text: &str| {
            let language = Language::from(text.to_owned());
            assert_eq!(language.to_string(), text);
            let json = serde_json::to_string(&language).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Language>(&json).unwrap(), language);
            language.is_cuda_cpp()
        };
        for text in ["CUDA C++", "CUDA C++, FMA", "CUDA C++, shared tile, FMA"] {
            assert!(is_cuda_cpp(text), "{text}");
        }
        for text in ["Python, Numba", "CUDA C++ as Clang has it", "", "CUDA"] {
            assert!(!is_cuda_cpp(text), "{text}");
        }
        let tile = Language::cuda_cpp(["shared tile", "FMA"]);
        assert_eq!(tile.to_string(), "CUDA C++, shared tile, FMA");
        assert_eq!(Language::cuda_cpp([]).to_string(), "CUDA C++");
    }
}
