//! `harness compare`: whether what was measured twice takes as long as before.
//!
//! | module      | what it holds                               |
//! |-------------|---------------------------------------------|
//! | `change`    | faster, slower, same, undecided             |
//! | `rows`      | which rows of two documents belong together |
//! | `table`     | the verdicts as text                        |

pub(crate) mod change;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::document::Results;
use change::{Change, Margin};
use clap::Args;
use exit::{CommandError, Ending};
use rows::Compared;
use terminal::json::JsonArg;
use terminal::stdout::Out;

/// The arguments of `harness compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct CompareArgs {
    /// Results before, from `harness perf --json=FILE`
    old: PathBuf,
    /// Results after
    new: PathBuf,
    /// Ignore differences of up to this many percent
    #[arg(long, value_name = "PERCENT", default_value_t)]
    margin: Margin,
    /// Also exit with 1 for what is undecided, or in OLD and not in NEW
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    json: JsonArg,
}

const HELP: &str = "\
Verdicts, from the 99 % confidence interval of the ratio new/old:
  slower      all of it is above the margin: by chance in at most 1 of 200 rows that are not slower
              by more than the margin
  faster      all of it is below the margin: by chance just as rarely
  same        all of it is within the margin, or the samples are identical
  undecided   none of these: the interval is too wide; or one of the two was withheld: measure
              again, on a quiet machine
  broken      the new run failed, or its result is wrong

Exit code: 1 if a row is slower or broken, otherwise 0.";

/// Compares two documents.
///
/// # Errors
///
/// [`CommandError::Input`] for files that cannot be read, or have no row in common.
pub fn run(args: &CompareArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let old = Results::read(&args.old)?;
    let new = Results::read(&args.new)?;
    let [old_name, new_name] = [&args.old, &args.new].map(|path| path.display().to_string());
    let compared = compared((&old, &old_name), (&new, &new_name), args.margin)?;
    let json = args.json.open()?;
    if json.wants_text() {
        out.line(table::render(&compared, out.look()))?;
    }
    let ending = ending(&compared, args.strict);
    json.write("compare", compared, out)?;
    Ok(ending)
}

/// Compares what was measured just now with the results of a file, and says so on `out`, if there
/// is one: what [`run`] does with two files, without flags.
///
/// # Errors
///
/// [`CommandError::Input`] where the two have no row in common.
pub fn against(
    old: (&Results, &Path),
    new: &Results,
    out: Option<&mut Out<'_>>,
) -> Result<Ending, CommandError> {
    let name = old.1.display().to_string();
    let compared = compared((old.0, &name), (new, "this run"), Margin::default())?;
    if let Some(out) = out {
        out.line(table::render(&compared, out.look()))?;
    }
    Ok(ending(&compared, false))
}

fn compared(
    (old, old_name): (&Results, &str),
    (new, new_name): (&Results, &str),
    margin: Margin,
) -> Result<Compared, CommandError> {
    let compared = Compared::new(old, new, margin);
    if compared.rows.is_empty() {
        return Err(CommandError::Input(format!(
            "{old_name} and {new_name} have no row in common: the first has {}, the second {}; time the same labs, variants and devices",
            rows::summary(old),
            rows::summary(new)
        )));
    }
    Ok(compared)
}

fn ending(compared: &Compared, strict: bool) -> Ending {
    let any = |change| compared.rows.iter().any(|row| row.verdict == change);
    let is_bad = any(Change::Slower) || any(Change::Broken);
    let is_unclear = any(Change::Undecided) || !compared.only_old.is_empty();
    if is_bad || strict && is_unclear {
        Ending::Wrong
    } else {
        Ending::Fine
    }
}
