//! How submissions are graded: the lab file, the numbers that inputs follow from, the deadlines.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, ValueEnum};
use device::DeviceKind;
use host::labs;

use grading::engine::{Options, Unchecked};
use grading::lab_spec::{self, Counted, LabSpec};
use output_files::digest::sha256;

use super::all::store::{self, Terms};
use super::arguments::{course_root, lab_file_here, number, read_lab_file};
use exit::CommandError;
use select::devices::Wanted;
use units::as_typed;

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
    /// How long all runs of the submission may take together on the emulated device, also before a
    /// GPU grades [default: ten times --deadline]
    #[arg(long, value_name = "SECONDS")]
    pub total_deadline: Option<f64>,
    /// The points of cases that a GPU has right, and that the emulated device could not check for
    /// races and the like
    #[arg(long, value_name = "POINTS", value_enum, default_value_t = UncheckedPoints::Undecided)]
    pub unchecked: UncheckedPoints,
    /// Grade folders even where nothing keeps a submission from reading files while it is compiled,
    /// the reference among them
    #[arg(long, alias = "without-landlock")]
    pub without_isolation: bool,
}

/// The choices of `--unchecked`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum UncheckedPoints {
    /// They are undecided, and earn nothing until the instructor has looked
    #[default]
    Undecided,
    /// They are earned; the class's summary names these submissions first
    Passed,
}

/// How submissions to one lab are graded, on any device.
pub struct Rules {
    lab: Option<String>,
    lab_file: Option<LabSpec>,
    /// The named lab's, if none was given.
    lab_file_here: OnceLock<Cow<'static, LabSpec>>,
    /// Seed, draw and deadlines.
    pub options: Options,
    /// The number that drawn cases of folders follow from, where no other is given. A bundle's
    /// follow from that which it was packed with.
    pub class_draw: Option<u64>,
}

impl Rules {
    /// Reads the lab file, if one is given.
    ///
    /// # Errors
    ///
    /// Arguments that make no sense.
    pub fn new(settings: &GradeSettings) -> Result<Rules, CommandError> {
        if let Some(name) = &settings.lab {
            lab_spec::embedded(name)
                .map_err(|unknown| CommandError::from(unknown).context("--lab"))?;
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
            && !lab_spec.is_of(lab)
        {
            return Err(CommandError::Input(format!(
                "--lab-file {}: is for lab {}, not {lab}",
                lab_spec.file, lab_spec.name
            )));
        }
        Ok(Rules {
            lab: settings.lab.clone(),
            lab_file,
            lab_file_here: OnceLock::new(),
            options: Options {
                seed: settings.seed,
                draw: settings.draw,
                deadline,
                total_deadline,
                emulated_checks: total_deadline,
                unchecked: match settings.unchecked {
                    UncheckedPoints::Undecided => Unchecked::Undecided,
                    UncheckedPoints::Passed => Unchecked::Passed,
                },
                ..Options::default()
            },
            class_draw: None,
        })
    }

    /// These rules without hidden cases, for this submission. Students do not have them.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if no lab is named, or if all of its cases are hidden.
    pub fn of_visible_cases(mut self, submission: &Path) -> Result<Rules, CommandError> {
        let lab_spec = self.lab_spec(Some(submission))?;
        let visible = lab_spec.without_hidden_cases();
        self.lab_file = Some(visible.map_err(|error| CommandError::Input(error.to_string()))?);
        Ok(self)
    }

    /// These rules with the case alone that the handout counts.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if no lab is named.
    pub fn counted_alone(mut self, counted: &Counted) -> Result<Rules, CommandError> {
        let alone = self.lab_spec(None)?.counted_alone(counted);
        self.lab_file = Some(alone.map_err(|error| CommandError::Input(error.to_string()))?);
        Ok(self)
    }

    /// The lab file: the one that was given, or else the named lab's, or else that of the lab whose
    /// folder this submission is in: rules are of one lab.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if no lab is named, or for a mistake in its file.
    pub fn lab_spec(&self, submission: Option<&Path>) -> Result<&LabSpec, CommandError> {
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

    /// Everything except the submission that a grade on a device of this kind and model depends on.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if no lab is named.
    pub fn terms(&self, device: DeviceKind, model: &str) -> Result<Terms, CommandError> {
        let lab_spec = self.lab_spec(None)?;
        Ok(Terms {
            harness: store::program_digest()?,
            course: course_digest()?,
            lab: lab_spec.name.clone(),
            lab_file: sha256(&lab_spec.text),
            device: device.to_string(),
            model: model.to_owned(),
            seed: self.options.seed,
            draw: self.options.draw.or(self.class_draw),
            deadline_s: self.options.deadline.as_secs_f64(),
            total_deadline_s: self.options.total_deadline.as_secs_f64(),
            unchecked_pass: self.options.unchecked == Unchecked::Passed,
        })
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

/// The lab of a submission `.../LAB/NAME`.
fn lab_of(submission: &Path) -> Option<String> {
    let path = submission.canonicalize().ok()?;
    let parent = path.parent()?.file_name()?.to_str()?;
    lab_spec::names()
        .find(|name| *name == parent)
        .map(str::to_owned)
}

/// The question for the lab of a submission whose folder does not tell. A submission does not
/// choose what it is graded for, so the lab that its `launch.rs` uses is a proposal alone.
fn which_lab(submission: Option<&Path>) -> String {
    let read = |folder: &Path| std::fs::read_to_string(folder.join("launch.rs")).ok();
    let launch = submission.and_then(read).unwrap_or_default();
    let mut labs = labs().iter().map(|lab| lab.name);
    match labs.find(|lab| launch.contains(&format!("plan::{lab}::"))) {
        Some(lab) => format!(
            "which lab is this for? name it: --lab {lab}, as its launch.rs uses plan::{lab}"
        ),
        None => {
            let names: Vec<&str> = lab_spec::names().collect();
            format!(
                "which lab is this for? name it: --lab {}",
                names.join(", or ")
            )
        }
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
        let sequel = folder.path().join("several-gpus/starter");
        std::fs::create_dir_all(&sequel).unwrap();
        assert_eq!(lab_of(&sequel).as_deref(), Some("several-gpus"));
        assert_eq!(lab_of(&folder.path().join("wave3d")), None);
    }

    #[test]
    fn the_lab_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let asked = || which_lab(Some(folder.path()));
        insta::assert_snapshot!(asked(), @"which lab is this for? name it: --lab wave2d, or wave3d, or stencil25, or poisson, or matadd, or membench, or several-gpus, or stencil25-advanced");
        assert_eq!(asked(), which_lab(None));
        let launch = "use plan::poisson::{Buffers, Outputs, Problem, Solution};\n";
        std::fs::write(folder.path().join("launch.rs"), launch).unwrap();
        insta::assert_snapshot!(asked(), @"which lab is this for? name it: --lab poisson, as its launch.rs uses plan::poisson");
    }
}
