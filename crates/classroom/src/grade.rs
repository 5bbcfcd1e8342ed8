//! `harness grade`: its arguments, and what it does with them. How a grade comes about is in
//! [`grading::engine`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use device::DeviceKind;
use device::Sanitize;
use host::labs;

use grading::engine::job::CaseJob;
use grading::engine::open::OpenJob;
use grading::engine::{self, CaseRunner, GradeError, Options, Packed, Quiet, Seeds, Show};
use grading::engine::{Submitted, WithSource, Workers};
use grading::lab_spec::LabSpec;
use grading::outcome;
use grading::pack::PackError;
use grading::pack::job::{MessagesJob, PackJob, PackProcesses};
use grading::report::{GradeReport, SubmissionId};
use grading::worker::{self, Job};
use output_files::ScratchFolder;
use output_files::digest::sha256;
use output_files::unwritable;

use super::all::folder;
use super::all::shard::Shard;
use super::all::store::{self, Store, Terms};
use super::all::{Class, grade_all, named};
use super::arguments::{course_root, lab_file_here, number, read_lab_file};
use super::report::ReportArgs;
use exit::{CommandError, Ending};
use select::devices::{DeviceName, Gpus, Machine, Named, Wanted};
use terminal::progress::Bar;
use terminal::stdout::Out;
use units::as_typed;

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
    #[arg(long, value_name = "DIR", requires = "json", conflicts_with_all = ["submission", "html", "gradescope", "student_report", "heat_maps", "brief", "counts"])]
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
    #[command(flatten)]
    settings: GradeSettings,
    #[command(flatten)]
    report: ReportArgs,
}

/// How submissions are graded.
#[derive(Debug, Clone, Args)]
pub struct GradeSettings {
    /// The lab [default: of a submission LAB/NAME the one of that name]
    #[arg(long)]
    pub lab: Option<String>,
    /// Grade by this file instead of the lab's own lab.toml
    #[arg(long, value_name = "FILE")]
    pub lab_file: Option<PathBuf>,
    /// cuda, cuda:N or emulated [default: cuda, or without a GPU emulated]
    #[arg(long)]
    pub device: Option<Wanted>,
    /// Take the inputs from this seed, as a report names it, instead of a secret one
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    pub seed: Option<u64>,
    /// Draw the hidden cases from this number: for a bundle, the one that it was packed with
    /// [default: the seed, or secret, with --all one for the class, which the results folder keeps;
    /// of a bundle packed with an unknown number the drawn cases are
    /// not graded]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    pub draw: Option<u64>,
    /// How long a single run of the submission may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub deadline: f64,
    /// How long all runs of the submission may take together on the emulated device [default: ten
    /// times --deadline]
    #[arg(long, value_name = "SECONDS")]
    pub total_deadline: Option<f64>,
    /// Grade folders even where nothing keeps a submission from reading files while it is compiled,
    /// the reference among them
    #[arg(long)]
    pub without_landlock: bool,
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
    let grader = Grader::new(&args.settings, None)?;
    let device = grader.first_device();
    let report = grader.grade(submission, device, &Workers, &mut Bars::default())?;
    files.write(&report, out)
}

/// Grades a class, or writes the summary of one that is graded.
fn run_all(
    args: &GradeArgs,
    submissions: &Path,
    results: &Path,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let class = |found, terms, workers| Class {
        submissions,
        found,
        results,
        terms,
        again: &args.again,
        shard: args.shard,
        workers,
    };
    if let Some(name) = &args.device_name {
        let kept = Store::devices(results);
        let Some(kind) = kept.get(name) else {
            return Err(CommandError::Input(not_kept(name, results, kept.keys())));
        };
        let mut grader = Grader::without_devices(&args.settings)?;
        grader.class_draw = folder::kept_draw(results)?;
        let terms = &grader.terms(*kind, name)?;
        let reason = format!("no report of it on {name} is kept; grade its shard again");
        let missing = |_: usize, _: &Path| Err(CommandError::Input(reason.clone()));
        let found = store::submissions(submissions, results)?;
        return grade_all(class(&found, terms, 1), &missing, out);
    }
    let mut grader = Grader::new(&args.settings, args.gpus.as_ref())?;
    // No results folder is made for a class that is not there, or without a lab.
    grader.lab_spec(None)?;
    let found = store::submissions(submissions, results)?;
    named(&found.submissions, &args.again, submissions)?;
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
    })?;
    let _lock = folder::Lock::take(results, args.shard.is_some())?;
    if grader.lab_spec(None)?.draws() && args.settings.draw.or(args.settings.seed).is_none() {
        grader.class_draw = Some(folder::class_draw(results)?);
    }
    let grader = grader;
    let info = grader.device(grader.devices[0])?.device.info();
    let terms = &grader.terms(info.kind, &info.name)?;
    let grade = |worker: usize, path: &Path| {
        let device = grader.devices[worker];
        grader.grade(path, device, &Workers, &mut Quiet)
    };
    grade_all(class(&found, terms, grader.devices.len()), &grade, out)
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

/// The grader of submissions: devices of one model, and how to grade.
pub struct Grader {
    lab: Option<String>,
    lab_file: Option<LabSpec>,
    /// The named lab's, if none was given.
    lab_file_here: OnceLock<Cow<'static, LabSpec>>,
    machine: Machine,
    /// At least one, where something is graded.
    devices: Vec<DeviceName>,
    options: Options,
    /// The number that drawn cases of folders follow from, where no other is given. A bundle's
    /// follow from that which it was packed with.
    class_draw: Option<u64>,
    packer: OnceLock<PackProcesses>,
    without_landlock: bool,
}

impl Grader {
    /// Looks for the device, or for several GPUs, and reads the lab file if one is given.
    ///
    /// # Errors
    ///
    /// Arguments that make no sense, or a device that is asked for and not there.
    pub fn new(settings: &GradeSettings, gpus: Option<&Gpus>) -> Result<Grader, CommandError> {
        let mut grader = Grader::without_devices(settings)?;
        grader.machine = Machine::discover(settings.device.as_slice(), Sanitize::ALL);
        grader.devices = match gpus {
            Some(gpus) => gpus.choose(&grader.machine, settings.device)?,
            None => vec![grader.machine.choose_one(settings.device)?.name],
        };
        Ok(grader)
    }

    /// Grades nothing: knows how submissions are graded on a device of another machine.
    fn without_devices(settings: &GradeSettings) -> Result<Grader, CommandError> {
        if let Some(name) = &settings.lab {
            select::catalogue::select(labs(), Some(name))
                .map_err(|failure| failure.context("--lab"))?;
        }
        if settings.device == Some(Wanted::Cpu) {
            return Err(CommandError::Input(
                "--device cpu: submissions run on cuda or emulated".to_owned(),
            ));
        }
        let deadline = seconds("--deadline", settings.deadline)?;
        let total_deadline = match settings.total_deadline {
            Some(total) => seconds("--total-deadline", total)?,
            None => 10 * deadline,
        };
        let lab_file = settings
            .lab_file
            .as_deref()
            .map(|path| read_lab_file("--lab-file", path))
            .transpose()?;
        if let (Some(lab_spec), Some(lab)) = (&lab_file, &settings.lab)
            && lab_spec.lab.name != *lab
        {
            return Err(CommandError::Input(format!(
                "--lab-file {}: is for lab {}, not {lab}",
                lab_spec.file, lab_spec.lab.name
            )));
        }
        Ok(Grader {
            lab: settings.lab.clone(),
            lab_file,
            lab_file_here: OnceLock::new(),
            machine: Machine::new(Vec::new()),
            devices: Vec::new(),
            options: Options {
                seed: settings.seed,
                draw: settings.draw,
                deadline,
                total_deadline,
                ..Options::default()
            },
            class_draw: None,
            packer: OnceLock::new(),
            without_landlock: settings.without_landlock,
        })
    }

    /// The same without hidden cases, for this submission. Students do not have them.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if no lab is named, or if all of its cases are hidden.
    pub fn of_visible_cases(mut self, submission: &Path) -> Result<Grader, CommandError> {
        let lab_spec = self.lab_spec(Some(submission))?;
        let visible = lab_spec.without_hidden_cases();
        self.lab_file = Some(visible.map_err(|error| CommandError::Input(error.to_string()))?);
        Ok(self)
    }

    /// The lab file that all submissions are graded by, where there is one.
    pub fn lab_file(&self) -> Option<&LabSpec> {
        self.lab_file.as_ref()
    }

    /// The first device that grades.
    ///
    /// # Panics
    ///
    /// If the grader was made to grade nothing.
    pub fn first_device(&self) -> DeviceName {
        self.devices[0]
    }

    fn device(&self, name: DeviceName) -> Result<Named<'_>, CommandError> {
        self.machine.choose_one(Some(name.into()))
    }

    /// Grades a bundle, or a folder, which is packed first, on one of the devices.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a path that is neither; what the machine lacks for packing or
    /// running it.
    pub fn grade(
        &self,
        submission: &Path,
        wanted: DeviceName,
        runner: &dyn CaseRunner,
        show: &mut dyn Show,
    ) -> Result<GradeReport, CommandError> {
        let shown = submission.display();
        if !submission.exists() {
            return Err(CommandError::Input(missing(submission)));
        }
        let id = SubmissionId {
            name: name(submission),
            sha256: None,
        };
        let mut options = self.options.clone();
        let scratch;
        let mut printed = String::new();
        let (file, lab_spec) = if submission.is_dir() {
            let lab_spec = self.lab_spec(Some(submission))?;
            show.packing(&shown.to_string());
            // A refusal comes at once.
            let draw = match options.draw.or(options.seed).or(self.class_draw) {
                Some(draw) => draw,
                None => Seeds::secret()?.0,
            };
            options.draw = Some(draw);
            scratch = ScratchFolder::new("grade").map_err(GradeError::NoScratch)?;
            is_text(scratch.path())?;
            let file = scratch.path().join("packed.bundle");
            match self.packer()?.pack(submission, lab_spec, draw, &file) {
                Ok(packed) => {
                    printed = packed.printed;
                    (file, lab_spec)
                }
                Err(PackError::Failure(failure)) => {
                    let failure = without_folder(*failure, submission);
                    return Ok(self.refused(id, lab_spec, wanted, failure));
                }
                Err(error) => return Err(error.into()),
            }
        } else {
            // A bundle does not choose what it is graded for.
            (submission.to_owned(), self.lab_spec(Some(submission))?)
        };
        let packed = Packed {
            file: &file,
            is_ours: submission.is_dir(),
        };
        let on = self.device(wanted)?;
        let with_source = WithSource {
            runner,
            compile_with_messages: &|ptx| {
                let packer = self.packer().map_err(|error| error.to_string())?;
                packer.compile_with_messages(submission, ptx)
            },
        };
        let runner = if packed.is_ours { &with_source } else { runner };
        let submitted = Submitted {
            packed,
            id,
            lab_spec,
        };
        let report = engine::grade(submitted, on, runner, &options, show)?;
        Ok(GradeReport { printed, ..report })
    }

    /// The packer of submissions: the course is looked for when the first needs it.
    fn packer(&self) -> Result<&PackProcesses, CommandError> {
        if let Some(packer) = self.packer.get() {
            return Ok(packer);
        }
        let mut options = grading::pack::Options::new(course_root(None)?);
        options.without_landlock = self.without_landlock;
        Ok(self.packer.get_or_init(|| PackProcesses::new(options)))
    }

    /// Everything except the submission that a grade on a device of this kind and model depends on.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if no lab is named.
    fn terms(&self, device: DeviceKind, model: &str) -> Result<Terms, CommandError> {
        let lab_spec = self.lab_spec(None)?;
        Ok(Terms {
            harness: store::program_digest()?,
            course: course_digest()?,
            lab: lab_spec.lab.name.to_owned(),
            lab_file: sha256(&lab_spec.text),
            device: device.to_string(),
            model: model.to_owned(),
            seed: self.options.seed,
            draw: self.options.draw.or(self.class_draw),
            deadline_s: self.options.deadline.as_secs_f64(),
            total_deadline_s: self.options.total_deadline.as_secs_f64(),
        })
    }

    fn refused(
        &self,
        id: SubmissionId,
        lab_spec: &LabSpec,
        wanted: DeviceName,
        failure: outcome::Failure,
    ) -> GradeReport {
        let device = self.device(wanted).ok().map(|named| named.device);
        let name = wanted.to_string();
        let report = engine::blank(id, lab_spec, name, device, &self.options);
        engine::refused(report, lab_spec, failure)
    }

    /// The lab file: the one that was given, or else the named lab's, or else that of the lab whose
    /// folder this submission is in: a grader is for one lab.
    fn lab_spec(&self, submission: Option<&Path>) -> Result<&LabSpec, CommandError> {
        if let Some(lab_spec) = &self.lab_file {
            return Ok(lab_spec);
        }
        let lab = self
            .lab
            .clone()
            .or_else(|| lab_of(submission?))
            .ok_or_else(|| CommandError::Input(which_lab(submission)))?;
        if let Some(lab_spec) = self.lab_file_here.get() {
            return Ok(lab_spec);
        }
        let lab_spec = lab_file_here(&lab, None)?;
        Ok(self.lab_file_here.get_or_init(|| lab_spec))
    }
}

/// That of the course that submissions are compiled against; none where there is no course, which
/// packing a folder will say.
fn course_digest() -> Result<Option<String>, CommandError> {
    let Ok(root) = course_root(None) else {
        return Ok(None);
    };
    let digest = store::course_digest(&root).map_err(|error| {
        CommandError::Environment(format!("{}: cannot be read: {error}", root.display()))
    })?;
    Ok(Some(digest))
}

/// The value of a flag.
fn seconds(flag: &str, number: f64) -> Result<Duration, CommandError> {
    if number > 0.0 && number <= 1e6 {
        return Ok(Duration::from_secs_f64(number));
    }
    Err(CommandError::Input(format!(
        "{flag} {}: a number of seconds, above 0 and at most 1000000",
        as_typed(number)
    )))
}

/// Whether compilers can work in this folder: they write its name into texts.
fn is_text(scratch: &Path) -> Result<(), CommandError> {
    match scratch.to_str() {
        Some(_) => Ok(()),
        None => Err(CommandError::Environment(format!(
            "{}: compilers of submissions need a folder whose name is UTF-8; TMPDIR names where",
            scratch.display()
        ))),
    }
}

/// The failure, which begins with the name of a file, without that of its folder: a report is of
/// all submissions with the same files, and no student needs to know who else handed them in.
fn without_folder(mut failure: outcome::Failure, submission: &Path) -> outcome::Failure {
    let folder = submission.join("").display().to_string();
    if let Some(rest) = failure.message.strip_prefix(&folder) {
        failure.message = rest.to_owned();
    }
    failure
}

/// The message for a path where there is nothing. A lab's name is one of these.
fn missing(submission: &Path) -> String {
    let shown = submission.display();
    let what = if submission.is_symlink() {
        "is a link that leads nowhere, or back to itself; name the file or folder itself"
    } else {
        "the file or folder does not exist"
    };
    let missing = format!("{shown}: {what}");
    match labs().iter().find(|lab| submission == Path::new(lab.name)) {
        Some(lab) => format!(
            "{missing}; {shown} is a lab: name the folder of your solution to it, as in `harness grade labs/{}/starter`",
            lab.name
        ),
        None => missing,
    }
}

/// The folder in which students begin, of a lab's folder that is not a submission.
pub fn folder_within(folder: &Path) -> Option<PathBuf> {
    let starter = folder.join("starter");
    (!folder.join("kernels.rs").exists() && starter.join("kernels.rs").is_file()).then_some(starter)
}

/// The lab of a submission `.../LAB/NAME`.
fn lab_of(submission: &Path) -> Option<String> {
    let path = submission.canonicalize().ok()?;
    let parent = path.parent()?.file_name()?.to_str()?;
    labs()
        .iter()
        .find(|lab| lab.name == parent)
        .map(|lab| lab.name.to_owned())
}

/// The question for the lab of a submission whose folder does not tell. A submission does not
/// choose what it is graded for, so the lab that its `launch.rs` uses is a proposal alone.
fn which_lab(submission: Option<&Path>) -> String {
    let read = |folder: &Path| std::fs::read_to_string(folder.join("launch.rs")).ok();
    let launch = submission.and_then(read).unwrap_or_default();
    let names = || labs().iter().map(|lab| lab.name);
    match names().find(|lab| launch.contains(&format!("plan::{lab}::"))) {
        Some(lab) => format!(
            "which lab is this for? name it: --lab {lab}, as its launch.rs uses plan::{lab}"
        ),
        None => {
            let names: Vec<&str> = names().collect();
            format!(
                "which lab is this for? name it: --lab {}",
                names.join(", or ")
            )
        }
    }
}

/// The name of the submission in a report.
fn name(submission: &Path) -> String {
    let canonical = submission.canonicalize();
    let path = canonical.as_deref().unwrap_or(submission);
    let stem = if path.is_dir() {
        path.file_name()
    } else {
        path.file_stem()
    };
    stem.map_or_else(
        || submission.display().to_string(),
        |stem| stem.to_string_lossy().into_owned(),
    )
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

    fn compiling_messages(&mut self) {
        self.spin("compiling the kernels once more, for the panic's message".to_owned());
    }

    fn emulated_check(&mut self, name: &str) {
        self.spin(format!("{name} on the emulated device, with every check"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_its_lab() {
        let folder = tempfile::tempdir().unwrap();
        let starter = folder.path().join("wave3d/starter");
        std::fs::create_dir_all(&starter).unwrap();
        assert_eq!(lab_of(&starter).as_deref(), Some("wave3d"));
        assert_eq!(lab_of(&folder.path().join("wave3d")), None);
        assert_eq!(folder_within(&folder.path().join("wave3d")), None);
        std::fs::write(starter.join("kernels.rs"), "").unwrap();
        let meant = folder_within(&folder.path().join("wave3d"));
        assert_eq!(meant.as_deref(), Some(starter.as_path()));
        assert_eq!(folder_within(&starter), None);
        assert_eq!(name(&starter), "starter");
        assert_eq!(name(Path::new("/nowhere/ada.bundle")), "ada");
    }

    #[test]
    fn a_lab_is_no_submission() {
        insta::assert_snapshot!(missing(Path::new("matadd")), @"matadd: the file or folder does not exist; matadd is a lab: name the folder of your solution to it, as in `harness grade labs/matadd/starter`");
        insta::assert_snapshot!(missing(Path::new("nowhere")), @"nowhere: the file or folder does not exist");
    }

    #[test]
    fn the_lab_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let asked = || which_lab(Some(folder.path()));
        insta::assert_snapshot!(asked(), @"which lab is this for? name it: --lab wave2d, or wave3d, or stencil25, or poisson, or matadd, or membench");
        assert_eq!(asked(), which_lab(None));
        let launch = "use plan::poisson::{Buffers, Outputs, Problem, Solution};\n";
        std::fs::write(folder.path().join("launch.rs"), launch).unwrap();
        insta::assert_snapshot!(asked(), @"which lab is this for? name it: --lab poisson, as its launch.rs uses plan::poisson");
    }

    #[test]
    fn a_refusal_names_no_folder() {
        let folder = Path::new("/class/ada");
        let refused = |message: &str| {
            let failure = outcome::Failure::new(grading::Kind::MissingFile, message);
            without_folder(failure, folder).message
        };
        assert_eq!(
            refused("/class/ada/launch.rs: is missing"),
            "launch.rs: is missing"
        );
        assert_eq!(
            refused("launch.rs:1:1: `include!`"),
            "launch.rs:1:1: `include!`"
        );
    }

    #[cfg(unix)]
    #[test]
    fn compilers_need_a_folder_whose_name_is_text() {
        use std::os::unix::ffi::OsStrExt;
        is_text(Path::new("/tmp/ä")).unwrap();
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"/tmp\xff"));
        let failure = is_text(odd).unwrap_err();
        assert_eq!(failure.exit_code(), exit::codes::ENVIRONMENT);
        insta::assert_snapshot!(failure, @"/tmp�: compilers of submissions need a folder whose name is UTF-8; TMPDIR names where");
    }
}
