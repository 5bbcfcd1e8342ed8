//! The document of counts, and how it differs from a baseline.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use exit::CommandError;
use output_files::input::{text, unreadable};
use serde::{Deserialize, Serialize};
use terminal::json::read::{self, Head};
use terminal::look::Look;
use terminal::table::{Align, Columns};
use units::{count, grouped};

const COMMAND: &str = "counts";
const SCHEMA_VERSION: u32 = 1;

/// Counts of kernels on a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    schema_version: u32,
    command: String,
    /// The lab, or the file of PTX.
    pub of: String,
    /// The case's label; empty for a file of PTX.
    pub case: String,
    /// In the order of variants, and of first launches.
    pub kernels: Vec<Kernel>,
}

/// The counts of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The variant that launches it; empty for a file of PTX.
    pub variant: String,
    pub kernel: String,
    /// By name; fewer is better in each.
    pub counts: BTreeMap<String, u64>,
    /// Whether ptxas cannot tell the stack: only a run decides how deep calls go. [`STACK`] is
    /// not among the counts then, and [`SPILLS`] is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stack_is_unknown: bool,
}

/// The name of the count of a thread's stack.
pub const STACK: &str = "stack bytes";
/// The name of the count of registers that a thread needs at least.
pub const AT_LEAST: &str = "registers at least";
/// The name of the count of what a thread spills.
pub const SPILLS: &str = "spilled bytes";

/// A difference from the baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    Grew {
        of: String,
        from: u64,
        to: u64,
    },
    Shrank {
        of: String,
        from: u64,
        to: u64,
    },
    /// Known in the baseline, and now not to be told.
    Unknown {
        of: String,
        from: u64,
    },
    /// A kernel of the baseline that is there no more.
    Gone {
        kernel: String,
    },
    New {
        kernel: String,
    },
}

impl Difference {
    pub fn is_worse(&self) -> bool {
        match self {
            Difference::Grew { .. } | Difference::Gone { .. } | Difference::Unknown { .. } => true,
            Difference::Shrank { .. } | Difference::New { .. } => false,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = |from: &u64, to: &u64| {
            let percent = match from {
                0 => String::new(),
                _ => format!(" ({:+.1} %)", 100.0 * (*to as f64 / *from as f64 - 1.0)),
            };
            format!("{} -> {}{percent}", grouped(*from), grouped(*to))
        };
        match self {
            Difference::Grew { of, from, to } => write!(f, "more   {of}: {}", change(from, to)),
            Difference::Shrank { of, from, to } => write!(f, "fewer  {of}: {}", change(from, to)),
            Difference::Unknown { of, from } => {
                write!(f, "more   {of}: {} -> unknown", grouped(*from))
            }
            Difference::Gone { kernel } => write!(f, "gone   {kernel}"),
            Difference::New { kernel } => write!(f, "new    {kernel}"),
        }
    }
}

impl Kernel {
    fn name(&self) -> String {
        match self.variant.as_str() {
            "" => self.kernel.clone(),
            variant => format!("{variant}, {}", self.kernel),
        }
    }

    /// Its counts, as they are shown.
    fn rows(&self) -> BTreeMap<&str, String> {
        let counts = self.counts.iter();
        let shown = counts.map(|(name, count)| {
            if name == SPILLS && self.stack_is_unknown {
                (name.as_str(), format!("at least {}", grouped(*count)))
            } else {
                (name.as_str(), grouped(*count))
            }
        });
        let unknown = self.stack_is_unknown.then(|| (STACK, "unknown".to_owned()));
        shown.chain(unknown).collect()
    }

    fn is_same(&self, other: &Kernel) -> bool {
        (&self.variant, &self.kernel) == (&other.variant, &other.kernel)
    }
}

impl Counts {
    pub fn new(of: &str, case: &str, kernels: Vec<Kernel>) -> Counts {
        Counts {
            schema_version: SCHEMA_VERSION,
            command: COMMAND.to_owned(),
            of: of.to_owned(),
            case: case.to_owned(),
            kernels,
        }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a file that cannot be read, or holds no counts.
    pub fn read(path: &Path) -> Result<Counts, CommandError> {
        const REMEDY: &str = "write it with --update";
        let parse = || -> Result<Counts, CommandError> {
            let text = text(path).map_err(|error| {
                CommandError::Input(format!("{}; {REMEDY}", unreadable(&error)))
            })?;
            let head = Head::of(&text).map_err(|error| {
                CommandError::Input(format!("{error}: no counts of ours; {REMEDY}"))
            })?;
            if head.command != COMMAND {
                return Err(CommandError::Input(format!(
                    "results of `harness {}`; {REMEDY}",
                    head.command
                )));
            }
            head.expect_version(SCHEMA_VERSION)?;
            read::document(&text)
        };
        parse().map_err(|failure| failure.context(path.display()))
    }

    pub fn to_json(&self) -> Result<String, CommandError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| CommandError::Bug(format!("the counts have no JSON form: {error}")))?;
        Ok(text + "\n")
    }

    /// The differences now. Counts that only one side has, as without ptxas, are not compared.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for counts of another lab or case.
    pub fn differences(&self, now: &Counts) -> Result<Vec<Difference>, CommandError> {
        if (&self.of, &self.case) != (&now.of, &now.case) {
            return Err(CommandError::Input(format!(
                "has counts of {} {}, not of {} {}",
                self.of, self.case, now.of, now.case
            )));
        }
        let mut differences = Vec::new();
        for before in &self.kernels {
            let Some(own) = now.kernels.iter().find(|own| own.is_same(before)) else {
                let kernel = before.name();
                differences.push(Difference::Gone { kernel });
                continue;
            };
            for (name, &from) in &before.counts {
                let of = format!("{}: {name}", own.name());
                match own.counts.get(name) {
                    Some(&to) if to > from => differences.push(Difference::Grew { of, from, to }),
                    Some(&to) if to < from => differences.push(Difference::Shrank { of, from, to }),
                    None if name == STACK && own.stack_is_unknown => {
                        differences.push(Difference::Unknown { of, from });
                    }
                    _ => {}
                }
            }
        }
        let is_new = |own: &&Kernel| !self.kernels.iter().any(|before| before.is_same(own));
        let new = now.kernels.iter().filter(is_new);
        differences.extend(new.map(|own| Difference::New { kernel: own.name() }));
        Ok(differences)
    }

    /// Each kernel, with its counts under it.
    pub fn render(&self, look: Look) -> String {
        let mut parts = vec![format!("{}  {}", look.title(&self.of), self.case)];
        for kernel in &self.kernels {
            let mut table = Columns::new(look, [Align::Left, Align::Right]);
            for (name, count) in kernel.rows() {
                table.row([name, &count]);
            }
            parts.push(format!("  {}\n{}", kernel.name(), table.render(4)));
        }
        parts.join("\n\n") + "\n"
    }
}

/// The differences, the worse ones first; and the number of kernels.
pub fn report(now: &Counts, differences: &[Difference], look: Look) -> String {
    let mut lines = vec![format!("{}  {}", look.title(&now.of), now.case)];
    let worse = differences.iter().filter(|one| one.is_worse());
    let others = differences.iter().filter(|one| !one.is_worse());
    lines.extend(worse.map(|one| format!("  {}", look.bad(&one.to_string()))));
    lines.extend(others.clone().map(|one| format!("  {one}")));
    let kernels = count(now.kernels.len(), "kernel");
    lines.push(match differences.len() {
        0 => format!("  {kernels}: all counts as in the baseline"),
        _ => format!("  {kernels}; --update makes these counts the baseline"),
    });
    lines.join("\n")
}
