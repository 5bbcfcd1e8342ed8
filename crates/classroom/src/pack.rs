//! `harness pack`: a submission, built in isolation, as one file.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

use super::arguments::{course_root, is_folder, lab_file_here, number, read_lab_file};
use super::report::figures::LONGEST_MESSAGE;
use clap::Args;
use grading::engine::GradeError;
use grading::engine::Seeds;
use grading::lab_spec::LabSpec;
use grading::pack::job::{PackProcesses, PackedFile};
use grading::pack::{Authors, Options};

use exit::{CommandError, Ending};
use output_files::{OutputFile, OutputPath, ScratchFolder};
use page::escape;
use terminal::stdout::Out;
use units::{bytes, count};

/// Arguments of `harness pack`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "A submission is a folder with kernels.rs (device code) and launch.rs (host code); nothing else of it is \
                  used. The bundle holds the kernels as PTX and a plan for each case, for `harness grade` and `harness perf` \
                  on a machine that has no Rust."
)]
pub struct PackArgs {
    /// The submission's folder
    dir: PathBuf,
    /// The lab that it solves
    #[arg(long)]
    lab: String,
    /// The bundle's file
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,
    /// Take the lab's cases from this file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    lab_file: Option<PathBuf>,
    /// Draw the hidden cases from this number, which `harness grade --draw` needs to know [default:
    /// a random one]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    draw: Option<u64>,
    /// The course's folder, with crates/ [default: the one that this program was built in, or the
    /// working folder or one above]
    #[arg(long, value_name = "DIR")]
    course: Option<PathBuf>,
    /// Where compiled crates of the course are kept [default: cargo's target folder]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Pack even where nothing keeps a submission from reading files while it is compiled, the
    /// reference among them
    #[arg(long, alias = "without-landlock")]
    without_isolation: bool,
}

/// Packs a submission.
///
/// # Errors
///
/// [`CommandError::Wrong`] if the submission is at fault as a whole; otherwise what is wrong with
/// the flags or the machine. A case without a plan costs that case: the bundle is written, and the
/// end is [`Ending::Wrong`].
pub fn run(args: &PackArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let lab_spec: Cow<'_, LabSpec> = match &args.lab_file {
        None => lab_file_here(&args.lab, args.course.as_deref())
            .map_err(|failure| failure.context(format!("--lab {}", args.lab)))?,
        Some(file) => {
            let read = read_lab_file("--lab-file", file)?;
            if !read.is_of(&args.lab) {
                return Err(CommandError::Input(format!(
                    "--lab-file {}: is of lab `{}`, and --lab is `{}`",
                    file.display(),
                    read.name,
                    args.lab
                )));
            }
            Cow::Owned(read)
        }
    };
    is_folder("", &args.dir, "name one with kernels.rs and launch.rs")?;
    // A path that cannot be written is refused before minutes of building.
    let output = OutputFile::create("-o", &args.output)?;
    let mut options = Options::new(course_root(args.course.as_deref())?);
    options.cache.clone_from(&args.cache);
    options.without_isolation = Authors::Own.need_no_isolation(args.without_isolation);
    options.for_perf = true;
    let start = Instant::now();
    let draw = match args.draw {
        Some(draw) => draw,
        None => Seeds::secret()?.0,
    };
    let scratch = ScratchFolder::new("pack").map_err(GradeError::NoScratch)?;
    let file = scratch.path().join("packed.bundle");
    let bundle = PackProcesses::new(options).pack(&args.dir, &lab_spec, draw, &file, None)?;
    let elapsed = start.elapsed();
    let packed = std::fs::read(&file).map_err(|error| {
        CommandError::Environment(format!("cannot read {}: {error}", file.display()))
    })?;
    output.write_all(&packed)?;
    let look = out.look();
    out.line(format_args!(
        "{}: {}, {}, {} in {:.1} s",
        args.output.display(),
        bundle.lab,
        count(bundle.cases, "case"),
        bytes(bundle.bytes),
        elapsed.as_secs_f64()
    ))?;
    for line in summary(&bundle).lines() {
        out.line(look.wrapped(line, 0))?;
    }
    out.line(format_args!("SHA-256    {}", bundle.sha256))?;
    for (case, fault) in bundle.failed.iter().chain(&bundle.timed_failed) {
        let message = escape::at_most(&fault.message, LONGEST_MESSAGE);
        let words = format!("no plan    {case} [{}]: {message}", fault.kind);
        out.line(look.wrapped(&words, 0))?;
    }
    if let Some(number) = bundle.draw {
        let words = format!(
            "draw       {number}: `harness grade --draw {number}` grades the hidden cases too"
        );
        out.line(look.wrapped(&words, 0))?;
    }
    Ok(if bundle.failed.is_empty() {
        Ending::Fine
    } else {
        Ending::Wrong
    })
}

/// The content of a bundle, and the sandbox's layers while it was built.
fn summary(bundle: &PackedFile) -> String {
    let built = &bundle.built_with;
    let mut text = format!(
        "plans      {}; also those of {} for `harness perf`\nkernels    {}, LLVM {}\nrecorder   {}\nsandbox",
        count(bundle.commands, "command"),
        count(bundle.timed, "case"),
        built.kernels,
        built.llvm,
        built.host
    );
    let width = bundle
        .protections
        .iter()
        .map(|protection| protection.name.len())
        .max()
        .unwrap_or(0);
    for protection in &bundle.protections {
        let state = if protection.in_force {
            "in force"
        } else {
            "MISSING"
        };
        let name = protection.name.trim_start_matches("sandbox: ");
        let width = width.saturating_sub("sandbox: ".len());
        text.push_str(&format!(
            "\n  {name:width$}  {state:8}  {}",
            protection.detail
        ));
    }
    text
}
