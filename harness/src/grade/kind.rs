//! The ways in which a submission can fail. Each has a code that does not change from one version to the next.

use serde::{Deserialize, Serialize};

/// What became of a case that did not pass, by how far the submission got.
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

            /// What it means, in a sentence.
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
    /// What the recorder wrote is no plan.
    PlanMalformed "plan_malformed" Refused,
    /// The plan does not fit the kernels, the lab's buffers, or the device's limits.
    PlanInvalid "plan_invalid" Refused,
    /// The plan has more launches, or more memory, than it may.
    PlanTooLarge "plan_too_large" Refused,
    /// The PTX cannot be read, or has entries that it may not have.
    PtxInvalid "ptx_invalid" Refused,
    /// The bundle is truncated, edited, or no bundle.
    BundleDamaged "bundle_damaged" Refused,
    /// The bundle was written by another version of the harness.
    BundleVersion "bundle_version" Refused,
    /// The bundle's problems are not those of the lab's cases.
    BundleMismatch "bundle_mismatch" Refused,
    /// The device refuses to load the kernels or to launch one.
    LaunchRefused "launch_refused" Refused,
    /// A kernel accessed memory that is not its own.
    OutOfBounds "out_of_bounds" Faulted,
    /// A kernel accessed an address that is no multiple of the access's size.
    Misaligned "misaligned" Faulted,
    /// A kernel read memory that nobody had written.
    UninitializedRead "uninitialized_read" Faulted,
    /// Two threads accessed the same bytes and nothing ordered them.
    Race "race" Faulted,
    /// A barrier that not all threads of the block reached, or a deadlock.
    Barrier "barrier" Faulted,
    /// A kernel failed in another way: a trap, a panic, an illegal instruction, a fault that the device does not explain.
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
    fn every_kind_is_documented() {
        let page = include_str!("../../../docs/grading.md");
        for kind in Kind::ALL {
            let category = serde_json::to_string(&kind.category()).unwrap();
            let category = category.trim_matches('"');
            let row = format!("| `{kind}` | {category} | {} |", kind.summary());
            assert!(page.contains(&row), "docs/grading.md lacks the line: {row}");
        }
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
