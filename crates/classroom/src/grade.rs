//! `harness grade`: its arguments, and what it does with them. An [`Examiner`] grades; how a grade
//! comes about is in [`grading::engine`].

use std::path::{Path, PathBuf};

use clap::Args;
use device::Wish;

use grading::engine::job::CaseJob;
use grading::engine::open::OpenJob;
use grading::engine::{Quiet, Replays, Show, Workers};
use grading::pack::Authors;
use grading::pack::job::{MessagesJob, PackJob};
use grading::worker::{self, Job};
use output_files::unwritable;

use super::all::canvas::Gradebook;
use super::all::folder;
use super::all::shard::Shard;
use super::all::store::{self, Store};
use super::all::{Class, grade_all, named};
use super::examiner::{Examiner, folder_within};
use super::report::ReportArgs;
use super::rules::{GradeSettings, Rules};
use exit::{CommandError, Ending};
use select::devices::Gpus;
use terminal::progress::Bar;
use terminal::stdout::Out;

// A worker's exit code says that it found a bug in itself.
const _: () = assert!(exit::codes::BUG == worker::BUG_EXIT_CODE);

/// Arguments of `harness grade`.
#[derive(Debug, Clone, Args)]
pub struct GradeArgs {
    /// A bundle that `harness pack` wrote, or the folder of a submission: kernels.rs and launch.rs
    #[arg(required_unless_present = "all")]
    submission: Option<PathBuf>,
    /// Grade every submission in this folder; -o names the folder for the results, where a second
    /// call goes on after an interruption
    #[arg(long, value_name = "DIR", requires = "json", conflicts_with_all = ["submission", "html", "gradescope", "student_report", "heat_maps", "brief", "counts", "annotate", "sarif", "junit", "replay"])]
    all: Option<PathBuf>,
    /// With --all: grade on several GPUs at once, a submission on each: all, how many, or their
    /// numbers as in 0,2
    #[arg(long, value_name = "GPUS", requires = "all")]
    gpus: Option<Gpus>,
    /// With --all: grade every N-th submission from the I-th on, as a job of its own, and write no
    /// summary; a last call without --shard finds all reports and writes it
    #[arg(long, value_name = "I/N", requires = "all")]
    shard: Option<Shard>,
    /// With --all: grade nothing, and write the summary from the reports that are kept of the GPU
    /// of this name, as on a login node, which has none
    #[arg(long, value_name = "NAME", requires = "all", conflicts_with_all = ["shard", "gpus", "device"])]
    device_name: Option<String>,
    /// With --all: grade this submission again, even if its report is kept
    #[arg(
        long,
        value_name = "NAME",
        requires = "all",
        conflicts_with = "device_name"
    )]
    again: Vec<String>,
    /// With --all: write DIR/canvas.csv too, with the points of the students of this gradebook, as
    /// Canvas exports it, to be imported there
    #[arg(
        long,
        value_name = "FILE.csv",
        requires = "all",
        conflicts_with = "shard"
    )]
    canvas: Option<PathBuf>,
    /// With --canvas: the assignment that gets the points, by words of its title [default: the
    /// lab's name]
    #[arg(long, value_name = "TEXT", requires = "canvas")]
    assignment: Option<String>,
    #[command(flatten)]
    settings: GradeSettings,
    #[command(flatten)]
    report: ReportArgs,
}

/// Arguments of the hidden subcommand [`worker::SUBCOMMAND`]; standard input holds the rest of the
/// job.
#[derive(Debug, Clone, Args)]
pub struct WorkerArgs {
    /// The job: pack, messages, open or case
    job: String,
    /// The job's paths
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    paths: Vec<PathBuf>,
}

/// Grades a submission.
///
/// # Errors
///
/// Arguments that make no sense, or a device that is asked for and not there. A submission that
/// fails is not an error: the report has it.
pub fn run(args: &GradeArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    if let (Some(submissions), Some(results)) = (&args.all, &args.report.json) {
        return run_all(args, submissions, results, out);
    }
    let Some(submission) = &args.submission else {
        return Err(CommandError::Input("name a submission to grade".to_owned()));
    };
    if let Some(own) = folder_within(submission) {
        return Err(CommandError::Input(format!(
            "{}: has no kernels.rs; did you mean {}?",
            submission.display(),
            own.display()
        )));
    }
    let files = args.report.open()?;
    let mut rules = Rules::new(&args.settings)?;
    rules.options.replay = args.report.replays();
    let examiner = Examiner::new(rules, &args.settings, None, Authors::Own)?;
    let device = examiner.devices()[0];
    let report = examiner.grade(submission, device, &Workers, &mut Bars::default())?;
    files.write(submission, &report, out)
}

/// Grades a class, or writes the summary of one that is graded.
fn run_all(
    args: &GradeArgs,
    submissions: &Path,
    results: &Path,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let gradebook = gradebook(args)?;
    let class = |found, terms, workers| Class {
        submissions,
        found,
        results,
        terms,
        again: &args.again,
        shard: args.shard,
        workers,
        gradebook: gradebook.as_ref(),
    };
    if let Some(name) = &args.device_name {
        let kept = Store::devices(results);
        let Some(kind) = kept.get(name) else {
            return Err(CommandError::Input(not_kept(name, results, kept.keys())));
        };
        let mut rules = Rules::new(&args.settings)?;
        rules.class_draw = folder::kept_draw(results)?;
        let terms = &rules.terms(*kind, name)?;
        let reason = format!("no report of it on {name} is kept; grade its shard again");
        let missing = |_: usize, _: &Path| Err(CommandError::Input(reason.clone()));
        let found = store::submissions(submissions, results)?;
        return grade_all(class(&found, terms, 1), &missing, out);
    }
    let mut rules = Rules::new(&args.settings)?;
    rules.options.replay = Replays::Wrong(Wish::default());
    let mut examiner = Examiner::new(rules, &args.settings, args.gpus.as_ref(), Authors::Others)?;
    // No results folder is made for a class that is not there, or without a lab.
    let draws = examiner.rules().lab_spec(None)?.draws();
    let found = store::submissions(submissions, results)?;
    named(&found.submissions, &args.again, submissions)?;
    make_folder(results, submissions)?;
    let _lock = folder::Lock::take(results, args.shard.is_some())?;
    if draws && args.settings.draw.or(args.settings.seed).is_none() {
        examiner.draw_from(folder::class_draw(results)?);
    }
    let devices = examiner.devices();
    let info = examiner.device(devices[0])?.device.info();
    let terms = &examiner.rules().terms(info.kind, &info.name)?;
    let grade =
        |worker: usize, path: &Path| examiner.grade(path, devices[worker], &Workers, &mut Quiet);
    grade_all(class(&found, terms, devices.len()), &grade, out)
}

/// The gradebook of `--canvas`, which is read before anything is graded.
fn gradebook(args: &GradeArgs) -> Result<Option<Gradebook>, CommandError> {
    let Some(file) = &args.canvas else {
        return Ok(None);
    };
    let title = match &args.assignment {
        Some(title) => title.clone(),
        None => Rules::new(&args.settings)?.lab_spec(None)?.name.clone(),
    };
    Gradebook::read(file, &title).map(Some)
}

/// Makes the folder for the results of a class, if it is not there.
///
/// # Errors
///
/// [`CommandError::Input`] for one that holds submissions, or that cannot be made.
fn make_folder(results: &Path, submissions: &Path) -> Result<(), CommandError> {
    if results.exists() && !results.is_dir() {
        return Err(CommandError::Input(format!(
            "-o {}: is a file, and the results of a class are a folder; name another",
            results.display()
        )));
    }
    let is_class = || results.canonicalize().ok() == submissions.canonicalize().ok();
    if results.join("kernels.rs").exists() || results.exists() && is_class() {
        return Err(CommandError::Input(format!(
            "-o {}: submissions are there; name a folder of its own for the results",
            results.display()
        )));
    }
    std::fs::create_dir_all(results).map_err(|error| {
        let (results, why) = (results.display(), unwritable(&error));
        CommandError::Input(format!("-o {results}: cannot be made: {why}"))
    })
}

/// The message for a device without a kept report.
fn not_kept<'k>(name: &str, results: &Path, kept: impl Iterator<Item = &'k String>) -> String {
    let kept: Vec<&str> = kept.map(String::as_str).collect();
    let results = results.display();
    let others = match &kept[..] {
        [] => format!("{results} holds no reports"),
        names => format!("the reports in {results} are of: {}", names.join(", ")),
    };
    format!("--device-name {name}: no report of this device is kept; {others}")
}

/// Does a job for `harness grade` or `harness pack`, and ends this process.
///
/// # Errors
///
/// As [`worker::serve`].
pub fn work(args: WorkerArgs) -> Result<Ending, CommandError> {
    let WorkerArgs { job, paths } = args;
    match job.as_str() {
        PackJob::NAME => worker::serve::<PackJob>(paths)?,
        MessagesJob::NAME => worker::serve::<MessagesJob>(paths)?,
        OpenJob::NAME => worker::serve::<OpenJob>(paths)?,
        CaseJob::NAME => worker::serve::<CaseJob>(paths)?,
        _ => return Err(CommandError::Input(format!("no job is called `{job}`"))),
    }
    Ok(Ending::Fine)
}

/// Bars on standard error.
#[derive(Default)]
pub struct Bars(Option<Bar>);

impl Bars {
    fn spin(&mut self, label: String) {
        // One at a time.
        self.0 = None;
        self.0 = Some(Bar::spinner(label));
    }
}

impl Show for Bars {
    fn packing(&mut self, name: &str) {
        self.spin(format!("packing {name}"));
    }

    fn case(&mut self, name: &str, number: usize, of: usize) {
        self.spin(format!("case {number} of {of}: {name}"));
    }

    fn replaying(&mut self, name: &str) {
        self.spin(format!("{name} once more, for the page that replays it"));
    }

    fn compiling_messages(&mut self) {
        self.spin("compiling the kernels once more, for the panic's message".to_owned());
    }

    fn emulated_check(&mut self, name: &str) {
        self.spin(format!("{name} on the emulated device, with every check"));
    }
}
