//! The mutants of some programs: packed, compared with their programs, graded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use grading::lab_spec::LabSpec;
use grading::pack::job::PackProcesses;
use grading::pack::{Options, PackError};

use super::{Mutation, mutations};
use crate::grade::{Bundle, Kind, Outcome};
use crate::submissions::{Corpus, Grader};

/// The files of a program.
const FILES: [&str; 2] = ["kernels.rs", "launch.rs"];

/// One mistake in one program.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The program's folder name: a lab's, and perhaps more words.
    pub program: String,
    /// `kernels.rs` or `launch.rs`.
    pub file: &'static str,
    /// The mistake.
    pub mutation: Mutation,
    /// As one reads it: the file, the line, the kind, the line before and after it.
    pub text: String,
}

/// The end of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It keeps all points.
    Survived,
    /// Its instructions and its plans are those of the program.
    Equal,
    /// It loses points by this kind of failure, in the first case that it loses.
    Killed(&'static str),
    /// It was not packed: this is the kind of failure.
    NotPacked(&'static str),
    /// It keeps its points, except those that stay undecided.
    Undecided,
}

/// Right programs, and what their mutants are compared with.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
    course: PathBuf,
    draw: u64,
    processes: PackProcesses,
    whole: BTreeMap<String, String>,
}

impl Programs {
    /// Those of the corpus, by `names`; all without names. A name with a `/` is a folder of the
    /// course, in that of its lab, as `kernels-gpu/solutions/wave2d/shmem`. Hidden cases are drawn
    /// from `draw`.
    ///
    /// # Errors
    ///
    /// A program that is not there, or that does not get all points itself.
    pub fn of_the_corpus(names: &[&str], draw: u64, grader: &Grader) -> Result<Programs, String> {
        let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut options = Options::new(course.clone());
        // On a machine without Landlock, the other means must suffice.
        options.without_isolation = true;
        let mut programs = Programs {
            folder: Corpus::of_the_project().programs(),
            course,
            draw,
            processes: PackProcesses::new(options),
            whole: BTreeMap::new(),
        };
        let mut found = names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>();
        if found.is_empty() {
            let entries = fs::read_dir(&programs.folder).map_err(|error| error.to_string())?;
            let folders = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            found = folders.collect();
        }
        for name in found {
            let file = format!("{}.bundle", name.replace('/', "-"));
            let bundle = grader.scratch.join(file);
            let packed = programs.packed(&name, &programs.folder_of(&name), &bundle)?;
            packed.map_err(|kind| format!("{name} is not right itself: {}", kind.code()))?;
            let fate = programs.graded(&name, &bundle, grader)?;
            if fate != Fate::Survived {
                return Err(format!("{name} is not right itself: {fate:?}"));
            }
            let essence = essence(&bundle)?;
            programs.whole.insert(name, essence);
        }
        Ok(programs)
    }

    /// All mutants of the programs.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn mutants(&self) -> Result<Vec<Mutant>, String> {
        let mut all = Vec::new();
        for program in self.whole.keys() {
            for file in FILES {
                let text = self.source(program, file)?;
                let of_file = mutations(&text).into_iter().map(|mutation| Mutant {
                    text: format!(
                        "{program}/{file}:{}: {}: {}",
                        mutation.line,
                        mutation.kind,
                        mutation.shown(&text)
                    ),
                    program: program.clone(),
                    file,
                    mutation,
                });
                all.extend(of_file);
            }
        }
        Ok(all)
    }

    /// Packs a mutant and grades it in a folder of its own.
    ///
    /// # Errors
    ///
    /// Something that the machine lacks; a grade without a report.
    pub fn fate(&self, mutant: &Mutant, grader: &Grader) -> Result<Fate, String> {
        let scratch = tempfile::tempdir_in(&grader.scratch).map_err(|error| error.to_string())?;
        let folder = scratch.path().join("submission");
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        for file in FILES {
            let mut text = self.source(&mutant.program, file)?;
            if file == mutant.file {
                text = mutant.mutation.applied(&text);
            }
            fs::write(folder.join(file), text).map_err(|error| error.to_string())?;
        }
        let bundle = scratch.path().join("mutant.bundle");
        if let Err(kind) = self.packed(&mutant.program, &folder, &bundle)? {
            return Ok(Fate::NotPacked(kind.code()));
        }
        if essence(&bundle)? == self.whole[&mutant.program] {
            return Ok(Fate::Equal);
        }
        self.graded(&mutant.program, &bundle, grader)
    }

    /// Grades a program's bundle, or a mutant's.
    fn graded(&self, program: &str, bundle: &Path, grader: &Grader) -> Result<Fate, String> {
        let lab = lab_of(program);
        let lab_file = self.lab_file(lab);
        let report = grader.grade_drawn(bundle, (lab, &lab_file), self.draw, |command| {
            command.args(["--seed", &self.draw.to_string()]);
        })?;
        if let Some(failure) = &report.refused {
            return Ok(Fate::Killed(failure.kind.code()));
        }
        let failed = report.cases.iter().find_map(|case| case.status.kind());
        let is_undecided = |status: &Outcome| matches!(status, Outcome::Undecided { .. });
        Ok(match failed {
            Some(kind) => Fate::Killed(kind.code()),
            None if report.cases.iter().any(|case| is_undecided(&case.status)) => Fate::Undecided,
            None => Fate::Survived,
        })
    }

    fn source(&self, program: &str, file: &str) -> Result<String, String> {
        let path = self.folder_of(program).join(file);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn folder_of(&self, program: &str) -> PathBuf {
        let parent = if program.contains('/') {
            &self.course
        } else {
            &self.folder
        };
        parent.join(program)
    }

    fn lab_file(&self, lab: &str) -> PathBuf {
        self.course.join("labs").join(lab).join("lab.toml")
    }

    /// Packs a folder into a bundle. `Ok(Err(_))` says how the program is at fault.
    fn packed(
        &self,
        program: &str,
        folder: &Path,
        bundle: &Path,
    ) -> Result<Result<(), Kind>, String> {
        let lab_file = self.lab_file(lab_of(program));
        let lab_spec = LabSpec::read(&lab_file).map_err(|error| error.to_string())?;
        match self
            .processes
            .pack(folder, &lab_spec, self.draw, bundle, None)
        {
            Ok(_) => Ok(Ok(())),
            Err(PackError::Failure(failure)) => Ok(Err(failure.kind)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The lab of a program: the first word of its name, or the folder that it is in.
fn lab_of(program: &str) -> &str {
    match program.rsplit('/').nth(1) {
        Some(lab) => lab,
        None => program.split('-').next().unwrap_or(program),
    }
}

/// The bundle's instructions, without source lines, and its plans.
fn essence(bundle: &Path) -> Result<String, String> {
    let (bundle, _) = Bundle::read_with_sha256(bundle).map_err(|error| error.to_string())?;
    let is_said = |line: &&str| {
        let line = line.trim_start();
        !(line.starts_with(".loc") || line.starts_with(".file") || line.starts_with("//"))
    };
    let code: Vec<&str> = bundle.ptx.lines().filter(is_said).collect();
    let plans: Vec<String> = bundle
        .cases
        .iter()
        .map(|case| match &case.plan {
            Ok(plan) => serde_json::to_string(plan).expect("plans have a JSON form"),
            Err(fault) => fault.message.clone(),
        })
        .collect();
    Ok(format!("{}\n{}", code.join("\n"), plans.join("\n")))
}
