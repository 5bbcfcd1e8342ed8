//! `harness report`: measurements as one self-contained page.
//!
//! | module        | what it holds                                             |
//! |---------------|-----------------------------------------------------------|
//! | [`documents`] | what is read: the documents of `perf` and `run membench`  |
//! | `rows`        | the rows that have figures                                |
//! | `roofline`    | rates against arithmetic intensity, under the roofs       |
//! | `rates`       | throughput, against size where there are several          |
//! | `speedups`    | against the CPU, the first variant, the peers             |
//! | `latency`     | latency against footprint                                 |
//! | `power`       | power and clock over time                                 |
//! | `setting`     | devices, limits, what is missing                          |

pub mod documents;
mod latency;
mod power;
mod rates;
mod roofline;
mod rows;
mod setting;
mod speedups;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Ending, Failure};
use crate::out::Out;
use crate::output::OutputFile;
use crate::page::Page;
use crate::perf::results::Results;
use documents::Document;

/// What `harness report` is told.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// What `harness perf --json=FILE` or `harness run membench --json=FILE` wrote; may be several
    #[arg(required = true, value_name = "RESULTS.json")]
    results: Vec<PathBuf>,
    /// Where to write the page
    #[arg(
        short = 'o',
        long = "out",
        value_name = "FILE",
        default_value = "report.html"
    )]
    out: PathBuf,
}

const TITLE: &str = "Measurements";

/// Writes the page.
///
/// # Errors
///
/// A file that cannot be read or written, or is no results of ours.
pub fn run(args: &ReportArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let documents: Vec<Document> = args
        .results
        .iter()
        .map(|path| Document::read(path))
        .collect::<Result<_, Failure>>()?;
    let file = OutputFile::create("-o", &args.out)?;
    let path = file.write_all(page(&documents).as_bytes())?;
    out.line(format!("wrote {}", path.display()))?;
    Ok(Ending::Fine)
}

/// The page of one measurement of the labs.
pub fn of_perf(results: &Results) -> String {
    let mut page = Page::new(TITLE);
    perf(&mut page, &[results]);
    page.finish()
}

/// The page.
fn page(documents: &[Document]) -> String {
    let mut page = Page::new(TITLE);
    let measurements: Vec<&Results> = documents
        .iter()
        .filter_map(|document| match document {
            Document::Perf(results) => Some(&**results),
            Document::Membench(_) => None,
        })
        .collect();
    perf(&mut page, &measurements);
    for document in documents {
        if let Document::Membench(measured) = document {
            latency::add(&mut page, measured);
        }
    }
    page.finish()
}

/// Measurements of the labs; they share the plots of throughput.
fn perf(page: &mut Page, measurements: &[&Results]) {
    let commands = measurements.iter();
    let commands: Vec<String> = commands
        .map(|results| shell_line(&results.command_line))
        .collect();
    let measurements: Vec<(&Results, &str)> = measurements
        .iter()
        .copied()
        .zip(commands.iter().map(String::as_str))
        .collect();
    for (index, (results, command)) in measurements.iter().enumerate() {
        if measurements.len() > 1 {
            let of = measurements.len();
            page.section(&format!("Measurement {} of {of}", index + 1));
        }
        setting::add(page, results, command);
        roofline::add(page, results, command);
    }
    rates::add(page, &measurements);
    for (results, command) in &measurements {
        speedups::add(page, results, command);
        power::add(page, results, command);
    }
}

/// A command as it can be typed again: what the shell would not take literally is quoted.
fn shell_line(words: &[String]) -> String {
    let quoted = |word: &String| {
        let is_plain = !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c));
        if is_plain {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
