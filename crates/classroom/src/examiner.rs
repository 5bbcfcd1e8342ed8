//! Grades a submission: packs it where it is a folder, and has [`grading::engine`] grade it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use device::Sanitize;

use grading::engine::{self, CaseRunner, GradeError, Packed, Seeds, Show, Submitted, WithSource};
use grading::lab_spec::{self, LabSpec};
use grading::outcome::Failure;
use grading::pack::job::PackProcesses;
use grading::pack::{Authors, PackError};
use grading::report::{GradeReport, SubmissionId};
use output_files::ScratchFolder;

use super::arguments::course_root;
use super::rules::{GradeSettings, Rules};
use exit::CommandError;
use select::devices::{DeviceName, Gpus, Machine, Named};

/// Grades submissions by its rules, on devices of one model.
pub struct Examiner {
    rules: Rules,
    machine: Machine,
    /// At least one, each for a submission at a time.
    devices: Vec<DeviceName>,
    packer: OnceLock<PackProcesses>,
    without_isolation: bool,
}

impl Examiner {
    /// Looks for the device, or for several GPUs.
    ///
    /// # Errors
    ///
    /// A device that is asked for and not there.
    pub fn new(
        mut rules: Rules,
        settings: &GradeSettings,
        gpus: Option<&Gpus>,
        authors: Authors,
    ) -> Result<Examiner, CommandError> {
        let machine = Machine::discover(settings.device.as_slice(), Sanitize::ALL);
        let devices = match gpus {
            Some(gpus) => gpus.choose(&machine, settings.device)?,
            None => match machine.choose_one(settings.device)?.name {
                // Of a class each core grades one: their cases have too little for several.
                DeviceName::Emulated if authors == Authors::Others => {
                    rules.options.host_threads = 1;
                    let cores = thread::available_parallelism().map_or(1, usize::from);
                    vec![DeviceName::Emulated; cores]
                }
                name => vec![name],
            },
        };
        Ok(Examiner {
            rules,
            machine,
            devices,
            packer: OnceLock::new(),
            without_isolation: authors.need_no_isolation(settings.without_isolation),
        })
    }

    /// The rules that it grades by.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Draws the cases of folders from this number, where no other is given.
    pub fn draw_from(&mut self, class_draw: u64) {
        self.rules.class_draw = Some(class_draw);
    }

    /// The devices that grade; at least one.
    pub fn devices(&self) -> &[DeviceName] {
        &self.devices
    }

    /// The device of this name.
    ///
    /// # Errors
    ///
    /// It is not there any more.
    pub fn device(&self, name: DeviceName) -> Result<Named<'_>, CommandError> {
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
        device: DeviceName,
        runner: &dyn CaseRunner,
        show: &mut dyn Show,
    ) -> Result<GradeReport, CommandError> {
        if !submission.exists() {
            return Err(CommandError::Input(missing(submission)));
        }
        if submission.is_dir() {
            return self.grade_folder(submission, device, runner, show);
        }
        // A bundle does not choose what it is graded for.
        let lab_spec = self.rules.lab_spec(Some(submission))?;
        let submitted = Submitted {
            packed: Packed {
                file: submission,
                is_ours: false,
            },
            id: id(submission),
            lab_spec,
        };
        let on = self.device(device)?;
        let options = &self.rules.options;
        Ok(engine::grade(submitted, on, runner, options, show)?)
    }

    fn grade_folder(
        &self,
        submission: &Path,
        device: DeviceName,
        runner: &dyn CaseRunner,
        show: &mut dyn Show,
    ) -> Result<GradeReport, CommandError> {
        let rules = &self.rules;
        let lab_spec = rules.lab_spec(Some(submission))?;
        show.packing(&submission.display().to_string());
        let mut options = rules.options.clone();
        let draw = match options.draw.or(options.seed).or(rules.class_draw) {
            Some(draw) => draw,
            None => Seeds::secret()?.0,
        };
        options.draw = Some(draw);
        let scratch = ScratchFolder::new("grade").map_err(GradeError::NoScratch)?;
        is_text(scratch.path())?;
        let file = scratch.path().join("packed.bundle");
        let is_stopped = || runner.is_stopped();
        let packer = self.packer()?;
        let packed = packer
            .prepare(submission, &mut |how_far| show.building(how_far))
            .and_then(|()| packer.pack(submission, lab_spec, draw, &file, Some(&is_stopped)));
        let packed = match packed {
            Ok(packed) => packed,
            Err(PackError::Failure(failure)) => {
                let failure = without_folder(*failure, submission);
                return Ok(self.refused(submission, lab_spec, device, failure));
            }
            Err(error) => return Err(error.into()),
        };
        let submitted = Submitted {
            packed: Packed {
                file: &file,
                is_ours: true,
            },
            id: id(submission),
            lab_spec,
        };
        let with_source = WithSource {
            runner,
            compile_with_messages: &|ptx| {
                packer.compile_with_messages(submission, ptx, Some(&is_stopped))
            },
            sources: &|| {
                let named = |name: &str| {
                    let text = fs::read_to_string(submission.join(name)).ok()?;
                    Some((name.to_owned(), text))
                };
                ["kernels.rs"].into_iter().filter_map(named).collect()
            },
        };
        let on = self.device(device)?;
        let report = engine::grade(submitted, on, &with_source, &options, show)?;
        Ok(GradeReport {
            printed: packed.printed,
            ..report
        })
    }

    /// The packer of submissions: the course is looked for when the first needs it.
    fn packer(&self) -> Result<&PackProcesses, CommandError> {
        if let Some(packer) = self.packer.get() {
            return Ok(packer);
        }
        let mut options = grading::pack::Options::new(course_root(None)?);
        options.without_isolation = self.without_isolation;
        Ok(self.packer.get_or_init(|| PackProcesses::new(options)))
    }

    fn refused(
        &self,
        submission: &Path,
        lab_spec: &LabSpec,
        name: DeviceName,
        failure: Failure,
    ) -> GradeReport {
        let device = self.device(name).ok().map(|named| named.device);
        let options = &self.rules.options;
        let report = engine::blank(id(submission), lab_spec, name.to_string(), device, options);
        engine::refused(report, lab_spec, failure)
    }
}

/// Whose grade it is.
fn id(submission: &Path) -> SubmissionId {
    SubmissionId {
        name: name(submission),
        sha256: None,
    }
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
fn without_folder(mut failure: Failure, submission: &Path) -> Failure {
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
    match lab_spec::names().find(|name| submission == Path::new(name)) {
        Some(name) => format!(
            "{missing}; {shown} is a lab: name the folder of your solution to it, as in `harness grade labs/{name}/starter`"
        ),
        None => missing,
    }
}

/// The folder in which students begin, of a lab's folder that is not a submission.
pub fn folder_within(folder: &Path) -> Option<PathBuf> {
    let starter = folder.join("starter");
    (!folder.join("kernels.rs").exists() && starter.join("kernels.rs").is_file()).then_some(starter)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_has_the_name_of_its_folder_or_file() {
        let folder = tempfile::tempdir().unwrap();
        let starter = folder.path().join("wave3d/starter");
        std::fs::create_dir_all(&starter).unwrap();
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
    fn a_refusal_names_no_folder() {
        let folder = Path::new("/class/ada");
        let refused = |message: &str| {
            let failure = Failure::new(grading::Kind::MissingFile, message);
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
