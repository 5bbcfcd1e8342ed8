//! `harness report`: measurements as one self-contained page.
//!
//! | module     | what it holds                                                   |
//! |------------|-----------------------------------------------------------------|
//! | `rows`     | the rows that have figures, and tables of them                  |
//! | `labs`     | a line per lab: plain, best, CUDA C++, limit                    |
//! | `ladder`   | each lab from its plain variant to the fastest                  |
//! | `roofline` | rates against arithmetic intensity, under the roofs             |
//! | `levels`   | the same by level of the caches, where kernels were counted     |
//! | `rates`    | throughput, against size where there are several                |
//! | `speedups` | against the CPU, the first variant, the peers                   |
//! | `registers` | what caps of registers do                                      |
//! | `power`    | power and clock over time                                       |
//! | `scaling`  | one lab on more and more GPUs                                   |
//! | `setting`  | devices, limits, what is missing                                |
//! | `latency`  | latency against footprint                                       |
//! | `command`  | the fold of a picture: its table, and the command               |

mod command;
mod labs;
mod ladder;
mod latency;
mod levels;
mod power;
mod rates;
mod registers;
mod roofline;
mod rows;
mod scaling;
mod setting;
mod speedups;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::Args;
use page::Page;

use crate::document::{COMMAND, Results};
use command::shell_line;
use exit::{CommandError, Ending};
use host::membench::Measured;
use output_files::input::{text, unreadable};
use output_files::{OutputFile, OutputPath};
use terminal::json::read::Head;
use terminal::stdout::Out;

/// The arguments of `harness report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Files of `harness perf --json=FILE` or `harness run membench --json=FILE`; may be several
    #[arg(required = true, value_name = "RESULTS.json")]
    results: Vec<PathBuf>,
    /// Where to write the page [default: report.html, or nowhere with --ladder]
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<OutputPath>,
    /// Write each lab's way from the plain variant to the fastest, beside CUDA C++ and the limits,
    /// as an SVG picture
    #[arg(long, value_name = "FILE.svg")]
    ladder: Option<OutputPath>,
}

const TITLE: &str = "Measurements";

/// Writes the page.
///
/// # Errors
///
/// A file that cannot be read or written, or does not hold results of this program.
pub fn run(args: &ReportArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    for (index, path) in args.results.iter().enumerate() {
        if args.results[..index].contains(path) {
            let path = path.display();
            return Err(CommandError::Input(format!("{path}: is named twice")));
        }
    }
    let documents: Vec<Document> = args
        .results
        .iter()
        .map(|path| Document::read(path))
        .collect::<Result<_, CommandError>>()?;
    let page = match (&args.out, &args.ladder) {
        (None, None) => Some(PathBuf::from("report.html")),
        (page, _) => page.as_deref().map(Path::to_owned),
    };
    // Both, before either is written.
    let picture = args.ladder.as_deref().map(picture).transpose()?;
    let page = page
        .as_deref()
        .map(|path| OutputFile::create("-o", path))
        .transpose()?;
    let mut write = |file: OutputFile, text: String| -> Result<(), CommandError> {
        let path = file.write_all(text.as_bytes())?;
        out.line(format!("wrote {}", path.display()))
    };
    if let Some(file) = picture {
        write(file, ladder::svg(&of_labs(&documents))?)?;
    }
    if let Some(file) = page {
        write(file, html(&documents))?;
    }
    Ok(Ending::Fine)
}

/// The file of `--ladder`.
fn picture(path: &Path) -> Result<OutputFile, CommandError> {
    if path.extension().is_none_or(|ending| ending != "svg") {
        return Err(CommandError::Input(format!(
            "--ladder {}: the picture is an SVG; name a .svg",
            path.display()
        )));
    }
    Ok(OutputFile::create("--ladder", path)?)
}

#[derive(Debug, Clone)]
enum Document {
    Perf(Box<Results>),
    Membench(Box<Measured>),
}

impl Document {
    fn read(path: &Path) -> Result<Document, CommandError> {
        let text = text(path).map_err(|error| CommandError::Input(unreadable(&error)));
        let parsed = text.and_then(|text| Document::parse(&text));
        let filled = parsed.and_then(|document| {
            if document.is_empty() {
                Err(CommandError::Input(
                    "has no case: nothing was measured when it ended; measure again".to_owned(),
                ))
            } else {
                Ok(document)
            }
        });
        filled.map_err(|failure| failure.context(path.display()))
    }

    /// Whether nothing was measured, as where a signal came early.
    fn is_empty(&self) -> bool {
        match self {
            Document::Perf(results) => results.cases.is_empty() && results.scaling.is_none(),
            Document::Membench(_) => false,
        }
    }

    fn parse(text: &str) -> Result<Document, CommandError> {
        const REMEDY: &str =
            "write one with `harness perf --json=FILE` or `harness run membench --json=FILE`";
        let head = Head::of(text).map_err(|error| {
            CommandError::Input(format!("{error}: not a file of results; {REMEDY}"))
        })?;
        match head.command.as_str() {
            COMMAND => Ok(Document::Perf(Box::new(Results::parse(text)?))),
            "run membench" => {
                let measured = Measured::parse(&head, text)?;
                Ok(Document::Membench(Box::new(measured)))
            }
            other => Err(CommandError::Input(format!(
                "results of `harness {other}`; {REMEDY}"
            ))),
        }
    }
}

/// The page of one measurement, as `harness perf --html` writes it.
pub fn of(results: &Results) -> String {
    let mut page = Page::new(TITLE).sortable();
    match &results.scaling {
        None => perf(&mut page, &[results]),
        Some(run) => scaling::add(&mut page, results, run),
    }
    page.finish()
}

/// The measurements of the labs.
fn of_labs(documents: &[Document]) -> Vec<&Results> {
    let measurements = documents.iter().filter_map(|document| match document {
        Document::Perf(results) => Some(&**results).filter(|results| results.scaling.is_none()),
        Document::Membench(_) => None,
    });
    measurements.collect()
}

fn html(documents: &[Document]) -> String {
    let mut page = Page::new(TITLE).sortable();
    perf(&mut page, &of_labs(documents));
    for document in documents {
        match document {
            Document::Membench(measured) => latency::add(&mut page, measured),
            Document::Perf(results) => {
                if let Some(run) = &results.scaling {
                    scaling::add(&mut page, results, run);
                }
            }
        }
    }
    page.finish()
}

/// Measurements of the labs; they share the plots of throughput.
fn perf(page: &mut Page, documents: &[&Results]) {
    let commands = documents.iter();
    let measurements: Vec<(&Results, String)> = commands
        .map(|results| (*results, shell_line(&results.command_line)))
        .collect();
    for (index, (results, command)) in measurements.iter().enumerate() {
        if measurements.len() > 1 {
            let of = measurements.len();
            page.section(&format!("Measurement {} of {of}", index + 1));
        }
        labs::add(page, results, command);
        ladder::add(page, results, command);
        roofline::add(page, results, command);
        levels::add(page, results, command);
    }
    rates::add(page, &measurements);
    for (results, command) in &measurements {
        speedups::add(page, results, command);
        registers::add(page, results, command);
        power::add(page, results, command);
        setting::add(page, results, command);
    }
}
