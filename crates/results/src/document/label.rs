//! A case's label and its parts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// It stands between the parts of a label.
const BETWEEN: &str = ", ";

/// A case as tables name it: its size, then what else tells it from the lab's other cases. In JSON
/// it is the text that the lab's case has, `512^3, 100 iterations`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct CaseLabel {
    size: String,
    rest: Vec<String>,
}

impl CaseLabel {
    /// How large the case is: `512^3`, `1001x1001`, `4096 elements`.
    pub fn size(&self) -> &str {
        &self.size
    }

    /// The size, and then the rest, part by part.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let rest = self.rest.iter().map(String::as_str);
        std::iter::once(self.size()).chain(rest)
    }
}

impl From<String> for CaseLabel {
    fn from(text: String) -> CaseLabel {
        let mut parts = text.split(BETWEEN).map(str::to_owned);
        CaseLabel {
            size: parts.next().unwrap_or_default(),
            rest: parts.collect(),
        }
    }
}

impl From<CaseLabel> for String {
    fn from(label: CaseLabel) -> String {
        label.to_string()
    }
}

impl fmt::Display for CaseLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.size)?;
        let mut rest = self.rest.iter();
        rest.try_for_each(|part| write!(f, "{BETWEEN}{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_text_that_it_was() {
        for text in [
            "",
            "97x61",
            "201x201, 100 steps, double-slit, k = 0.3",
            "5, ",
        ] {
            let label = CaseLabel::from(text.to_owned());
            assert_eq!(label.to_string(), text);
            assert_eq!(label.parts().collect::<Vec<_>>().join(BETWEEN), text);
            let json = serde_json::to_string(&label).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<CaseLabel>(&json).unwrap(), label);
        }
    }

    /// Timesteps and everything else come after the size.
    #[test]
    fn the_labels_of_all_labs_begin_with_the_size() {
        for lab in host::labs() {
            let steps = lab.steps_parameter();
            for case in lab.laptop_cases().into_iter().chain(lab.large_cases()) {
                let label = CaseLabel::from(case.label());
                let is_size = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
                assert!(is_size(label.size()), "{}: {label}", lab.name);
                let has_steps = case.timesteps().is_some() && steps.is_some();
                let counted = case.timesteps().unwrap_or_default().to_string();
                let is_steps = |part: &str| part.split(' ').next() == Some(counted.as_str());
                let mut rest = label.parts().skip(1);
                assert!(!has_steps || rest.any(is_steps), "{}: {label}", lab.name);
            }
        }
    }
}
