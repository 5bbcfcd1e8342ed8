//! What is expected of a submission: `expect.toml`.

use harness::grade::Kind;
use harness::grade::verdict::Group;
use serde::Deserialize;

/// What a submission's grade should be.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The lab.
    pub lab: String,
    /// The file of `labs/`, without `.toml`, that it is graded by; the lab's name unless told otherwise.
    pub course: Option<String>,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What else may become of its large cases on a GPU: the emulated device looks at some blocks of them, and the GPU shows
    /// in its own way what those do not.
    pub cuda: Option<Verdict>,
    /// The cases that fail; all of them unless told otherwise.
    pub cases: Option<Vec<String>>,
    /// A part of the message.
    pub message: Option<String>,
}

/// What becomes of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is right, and gets all points for that.
    Passes,
    /// Its trick never pays: either it gets no chance, so that the submission does the work and is right, but no faster than
    /// what it is made from; or, where it gets one, it is found out.
    Harmless,
    /// It fails in this way, and gets no points for the cases in which it does.
    #[serde(untagged)]
    Fails(Kind),
    /// It fails in one of these ways, which depend on the machine.
    #[serde(untagged)]
    FailsInOneOf(Vec<Kind>),
}

impl Verdict {
    /// The ways in which it may fail.
    pub fn kinds(&self) -> &[Kind] {
        match self {
            Verdict::Fails(kind) => std::slice::from_ref(kind),
            Verdict::FailsInOneOf(kinds) => kinds,
            Verdict::Passes | Verdict::Harmless => &[],
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Passes => f.write_str("passes"),
            Verdict::Harmless => f.write_str("harmless"),
            Verdict::Fails(_) | Verdict::FailsInOneOf(_) => {
                let codes: Vec<_> = self.kinds().iter().map(|kind| kind.code()).collect();
                f.write_str(&codes.join(" or "))
            }
        }
    }
}

impl Expectation {
    /// Reads `expect.toml`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Expectation, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The ways in which a case of this group may fail on this device: `emulated` or `cuda`.
    pub fn kinds(&self, device: &str, group: Group) -> Vec<Kind> {
        let mut kinds = self.verdict.kinds().to_vec();
        if let (Some(verdict), "cuda", Group::Large) = (&self.cuda, device, group) {
            kinds.extend(verdict.kinds());
        }
        kinds
    }

    /// The file of `labs/`, without `.toml`.
    pub fn course(&self) -> &str {
        self.course.as_deref().unwrap_or(&self.lab)
    }
}
