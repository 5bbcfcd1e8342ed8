//! How a graded case ended. Each way to fail has a code that does not change from one version to
//! the next.

use forge::Place;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnose::Diagnosis;

/// How a case, or the timing of one, ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// Of a case: every value of every sample was right.
    Passed,
    /// Of a timing: there is a ratio.
    Measured,
    /// The submission failed: a wrong result, a fault, a time that cannot be believed.
    Failed(Failure),
    /// It is not graded on this machine, whatever the submission does.
    NotGradedHere {
        /// Why.
        reason: String,
    },
    /// The submission does something, or may have done it, that kept it from being graded here: it
    /// earns nothing, and counts.
    Undecided {
        /// The reason.
        reason: String,
    },
}

impl Outcome {
    /// The failure, if it is one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// How it failed, if it did.
    pub fn kind(&self) -> Option<Kind> {
        self.failure().map(|failure| failure.kind)
    }

    /// Why it could not be decided, if that is so.
    pub fn left_undecided(&self) -> Option<&str> {
        match self {
            Outcome::Undecided { reason } => Some(reason),
            _ => None,
        }
    }

    /// Why it is not graded here, if that is so.
    pub fn not_graded(&self) -> Option<&str> {
        match self {
            Outcome::NotGradedHere { reason } => Some(reason),
            _ => None,
        }
    }
}

impl From<NoResult> for Outcome {
    fn from(why: NoResult) -> Outcome {
        match why {
            NoResult::Failed(failure) => Outcome::Failed(failure),
            NoResult::NotGradedHere { reason } => Outcome::NotGradedHere { reason },
            NoResult::Undecided { reason } => Outcome::Undecided { reason },
        }
    }
}

/// Why a case, or the timing of one, has no result. In JSON it is the [`Outcome`] that it becomes.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum NoResult {
    /// See [`Outcome::Failed`].
    #[error("{}", .0.message)]
    Failed(Failure),
    /// See [`Outcome::NotGradedHere`].
    #[error("{reason}")]
    NotGradedHere {
        /// Why.
        reason: String,
    },
    /// See [`Outcome::Undecided`].
    #[error("{reason}")]
    Undecided {
        /// The reason.
        reason: String,
    },
}

impl NoResult {
    /// A failure.
    pub fn failed(kind: Kind, message: impl Into<String>) -> NoResult {
        NoResult::Failed(Failure::new(kind, message))
    }

    /// The machine, or the harness, lacks something for every submission alike.
    pub fn not_graded_here(reason: impl Into<String>) -> NoResult {
        NoResult::NotGradedHere {
            reason: bounded(reason.into(), MAX_TEXT_BYTES),
        }
    }

    /// This submission cannot be decided here, where another could.
    pub fn undecided(reason: impl Into<String>) -> NoResult {
        NoResult::Undecided {
            reason: bounded(reason.into(), MAX_TEXT_BYTES),
        }
    }

    /// Replaces a failure by the one that `of` makes of it. Other reasons stay.
    pub fn map_failure(self, of: impl FnOnce(Failure) -> Failure) -> NoResult {
        match self {
            NoResult::Failed(failure) => NoResult::Failed(of(failure)),
            lacking => lacking,
        }
    }
}

impl From<Failure> for NoResult {
    fn from(failure: Failure) -> NoResult {
        NoResult::Failed(failure)
    }
}

/// Returns a failure of this kind, with a message as `format!` takes it.
macro_rules! fail {
    ($kind:expr, $($message:tt)+) => {
        return Err($crate::outcome::Failure::new($kind, format!($($message)+)).into())
    };
}
pub(crate) use fail;

/// The longest text of a failure, in bytes. A report has it once for each case, and a submission
/// may write what is quoted.
pub const MAX_TEXT_BYTES: usize = 16 << 10;

/// The longest text that is shown of what a submission printed, in bytes, for each case.
pub const MAX_PRINTED_BYTES: usize = 4 << 10;

/// The text, cut after `max_bytes`; says how many are left out.
pub fn bounded(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        let end = text.floor_char_boundary(max_bytes);
        let left_out = text.len() - end;
        text.truncate(end);
        text += &format!(" ... ({left_out} bytes more)");
        text.shrink_to_fit();
    }
    text
}

/// How something failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The stable code.
    pub kind: Kind,
    /// How far the submission got; follows from the kind.
    pub category: Category,
    /// The event, with the numbers and names involved.
    pub message: String,
    /// The device that found it, where that is not the one that the report is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The emulated device's message, where it found a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitizer: Option<String>,
    /// The source lines that a fault of the emulated device is about: its own first, then those of
    /// others, such as the other side of a race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// Which sample failed, from 0, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// The diagnosis of the wrong values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Box<Diagnosis>>,
    /// Of a race on the emulated device, or of what it says like one: the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Of a panic in a kernel, on the emulated device: whether the message says which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panic: Option<Panic>,
    /// Whether what is said here was written by code that knew hidden cases: no student may read
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knew_hidden: bool,
}

/// A memory that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// A buffer: between blocks, only the end of a launch orders accesses.
    Global,
    /// The block's own, or that of its cluster: a barrier orders accesses.
    Shared,
}

/// Whether a panic says which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Panic {
    /// It does not: kernels are compiled without messages.
    Silent,
    /// It does: the kernels were compiled once more, with messages.
    Told,
}

impl Failure {
    /// A failure without further detail.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            category: kind.category(),
            message: bounded(message.into(), MAX_TEXT_BYTES),
            device: None,
            sanitizer: None,
            places: Vec::new(),
            sample: None,
            diagnosis: None,
            memory: None,
            panic: None,
            knew_hidden: false,
        }
    }

    /// With the device that found it.
    pub fn with_device(mut self, device: impl Into<String>) -> Failure {
        self.device = Some(device.into());
        self
    }

    /// With the emulated device's message.
    pub fn with_sanitizer(mut self, message: impl Into<String>) -> Failure {
        self.sanitizer = Some(bounded(message.into(), MAX_TEXT_BYTES));
        self
    }

    /// With the source lines of the fault.
    pub fn with_places(mut self, places: Vec<Place>) -> Failure {
        self.places = places;
        self
    }

    /// With the sample that failed.
    pub fn with_sample(mut self, sample: u32) -> Failure {
        self.sample = Some(sample);
        self
    }

    /// Said by code that knew hidden cases.
    pub fn with_hidden_cases_known(mut self) -> Failure {
        self.knew_hidden = true;
        self
    }

    /// With what the wrong values look like.
    pub fn with_diagnosis(mut self, diagnosis: Diagnosis) -> Failure {
        self.diagnosis = Some(Box::new(diagnosis));
        self
    }
}

/// The stage that a case reached that did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// It was not run: it cannot be built, recorded or loaded, or is not allowed.
    Refused,
    /// The device stopped a kernel.
    Faulted,
    /// It took longer than it may.
    TimedOut,
    /// The process that ran it died.
    Crashed,
    /// It ran to the end, and what it left is not right.
    Wrong,
    /// It is right, but its time cannot be believed.
    Untrusted,
}

impl Category {
    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Refused => "refused",
            Category::Faulted => "fault",
            Category::TimedOut => "timed out",
            Category::Crashed => "crashed",
            Category::Wrong => "wrong",
            Category::Untrusted => "untrusted",
        }
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident $code:literal $category:ident,)*) => {
        /// A way to fail.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Kind {
            $(
                $(#[doc = $doc])+
                #[serde(rename = $code)]
                $kind,
            )*
        }

        impl Kind {
            /// Every way to fail.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// The stable code, as in `report.json`.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Kind::$kind => $code,)*
                }
            }

            /// How far the submission got.
            pub const fn category(self) -> Category {
                match self {
                    $(Kind::$kind => Category::$category,)*
                }
            }

            /// Its meaning, in a sentence.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Kind::$kind => concat!($($doc),+).trim_ascii(),)*
                }
            }
        }
    };
}

kinds! {
    /// A file of the submission is missing or cannot be read.
    MissingFile "missing_file" Refused,
    /// The source uses a construct that submissions may not use.
    ForbiddenConstruct "forbidden_construct" Refused,
    /// The source does not compile.
    CompileError "compile_error" Refused,
    /// Building took more time, memory or space than it may.
    BuildLimit "build_limit" Refused,
    /// The recorder ended without a plan: it panicked, exited early, or answered with an error.
    RecorderFailed "recorder_failed" Refused,
    /// The recorder did what the sandbox does not allow: files, sockets, processes.
    RecorderForbidden "recorder_forbidden" Refused,
    /// The recorder took more time than it may.
    RecorderTimedOut "recorder_timed_out" Refused,
    /// The recorder used more memory, or wrote more, than it may.
    RecorderLimit "recorder_limit" Refused,
    /// The recorder did not write a plan.
    PlanMalformed "plan_malformed" Refused,
    /// The plan does not fit the kernels, the lab's buffers, or the device's limits.
    PlanInvalid "plan_invalid" Refused,
    /// The plan has more launches, or more memory, than it may.
    PlanTooLarge "plan_too_large" Refused,
    /// The PTX cannot be read, or has entries that it may not have.
    PtxInvalid "ptx_invalid" Refused,
    /// The bundle is truncated or edited, or the file is not a bundle.
    BundleDamaged "bundle_damaged" Refused,
    /// The bundle was written by another version of the harness.
    BundleVersion "bundle_version" Refused,
    /// The bundle's problems are not those of the lab's cases.
    BundleMismatch "bundle_mismatch" Refused,
    /// The device refuses to load the kernels or to launch one.
    LaunchRefused "launch_refused" Refused,
    /// A kernel accessed memory that is not its own.
    OutOfBounds "out_of_bounds" Faulted,
    /// A kernel accessed an address that is not a multiple of the access's size.
    Misaligned "misaligned" Faulted,
    /// A kernel read memory that had not been written, or used a value that nothing had set.
    UninitializedRead "uninitialized_read" Faulted,
    /// Two threads accessed the same bytes and nothing ordered them.
    Race "race" Faulted,
    /// A barrier that not all threads of the block reached, a warp-wide operation that not all of
    /// its lanes did, or a deadlock.
    Barrier "barrier" Faulted,
    /// A kernel failed in another way: a trap, a panic, an illegal instruction, a fault that the
    /// device does not explain.
    KernelFault "kernel_fault" Faulted,
    /// The case was not finished before its deadline.
    Deadline "deadline" TimedOut,
    /// The process that ran the case died.
    Crashed "crashed" Crashed,
    /// Values are wrong.
    WrongResult "wrong_result" Wrong,
    /// Values are NaN or infinite.
    NonFinite "non_finite" Wrong,
    /// The first samples were right, a later one is wrong.
    WrongLater "wrong_later" Wrong,
    /// An input changed that the lab says must not.
    InputChanged "input_changed" Wrong,
    /// Memory around a buffer was written.
    GuardOverwritten "guard_overwritten" Wrong,
    /// The time is shorter than the device needs for the bytes that must be moved.
    ImpossibleSpeed "impossible_speed" Untrusted,
    /// The device's clock and the host's do not agree.
    ClocksDisagree "clocks_disagree" Untrusted,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_are_what_json_has() {
        let codes: HashSet<_> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), *kind);
        }
    }

    #[test]
    fn a_reason_is_in_json_what_it_is_as_an_outcome() {
        let all = [
            NoResult::failed(Kind::Race, "two threads"),
            NoResult::not_graded_here("no GPU"),
            NoResult::undecided("no memory"),
        ];
        for why in all {
            let json = serde_json::to_string(&why).unwrap();
            let outcome = Outcome::from(why.clone());
            assert_eq!(json, serde_json::to_string(&outcome).unwrap());
            assert_eq!(serde_json::from_str::<NoResult>(&json).unwrap(), why);
        }
        // A worker that answers so has a bug, and no verdict.
        serde_json::from_str::<NoResult>(r#"{"status":"passed"}"#).unwrap_err();
    }

    #[test]
    fn every_kind_is_documented() {
        let page = include_str!("../../../docs/reference/failures.md");
        for kind in Kind::ALL {
            let category = serde_json::to_string(&kind.category()).unwrap();
            let category = category.trim_matches('"');
            let row = format!("| `{kind}` | {category} | {} |", kind.summary());
            assert!(
                page.contains(&row),
                "docs/reference/failures.md lacks the line: {row}"
            );
        }
    }

    #[test]
    fn what_a_submission_wrote_is_quoted_in_part() {
        let long = "ä".repeat(1 << 20);
        let failure = Failure::new(Kind::PlanInvalid, long.clone()).with_sanitizer(long.clone());
        let undecided = NoResult::undecided(long).to_string();
        for text in [
            &failure.message,
            failure.sanitizer.as_ref().unwrap(),
            &undecided,
        ] {
            assert!(text.len() < MAX_TEXT_BYTES + 100, "{}", text.len());
            assert!(text.ends_with(" bytes more)"));
        }
        assert_eq!(bounded("short".to_owned(), 5), "short");
    }

    #[test]
    fn summaries_are_sentences() {
        for kind in Kind::ALL {
            let summary = kind.summary();
            assert!(
                summary.ends_with('.') && !summary.starts_with(' '),
                "{summary:?}"
            );
        }
    }
}
