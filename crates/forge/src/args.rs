//! The flags, and the files that they name.

use clap::{Args, ValueEnum};
use exit::CommandError;
use output_files::{OutputFile, OutputPath};
use terminal::stdout::Out;

use crate::{Report, editor, github, junit, sarif};

/// A reader of annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Forge {
    /// A pull request on GitHub, by workflow commands.
    Github,
    /// An editor: a line FILE:LINE:COLUMN: error: ... for each place, as compilers print them.
    Editor,
}

impl Forge {
    /// The annotations for this reader, a line each.
    pub fn annotations(self, report: &Report) -> String {
        match self {
            Forge::Github => github::annotations(report),
            Forge::Editor => editor::annotations(report),
        }
    }
}

/// The flags.
#[derive(Debug, Clone, Default, Args)]
pub struct ForgeArgs {
    /// Print the faults as annotations too, for one who shows them beside the code
    #[arg(long, value_name = "READER")]
    annotate: Option<Forge>,
    /// Write the faults with their files and lines as SARIF 2.1.0, for code scanning and editors
    #[arg(long, value_name = "FILE")]
    sarif: Option<OutputPath>,
    /// Write the results as JUnit's XML, for lists of tests
    #[arg(long, value_name = "FILE")]
    junit: Option<OutputPath>,
}

/// The forms that were asked for, with their files ready.
#[derive(Debug)]
pub struct Forms {
    annotate: Option<Forge>,
    sarif: Option<OutputFile>,
    junit: Option<OutputFile>,
}

impl ForgeArgs {
    /// The first of the flags that is given, for a command that makes no report as it is called.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--annotate", self.annotate.is_some()),
            ("--sarif", self.sarif.is_some()),
            ("--junit", self.junit.is_some()),
        ];
        let given = flags.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag)
    }

    /// Prepares the files.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for one that cannot be written, or for annotations on a standard
    /// output that `wants_text` says is a document's.
    pub fn open(&self, wants_text: bool) -> Result<Forms, CommandError> {
        if self.annotate.is_some() && !wants_text {
            return Err(CommandError::Input(
                "--annotate writes to standard output, which --json takes: name a file, by --json=FILE"
                    .to_owned(),
            ));
        }
        let open = |flag, path: &Option<OutputPath>| {
            let path = path.as_ref();
            path.map(|path| OutputFile::create(flag, path)).transpose()
        };
        Ok(Forms {
            annotate: self.annotate,
            sarif: open("--sarif", &self.sarif)?,
            junit: open("--junit", &self.junit)?,
        })
    }
}

impl Forms {
    /// Writes the report in each form. It is made only if there is one.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if a file, or standard output, cannot be written.
    pub fn write(
        self,
        report: impl FnOnce() -> Report,
        out: &mut Out<'_>,
    ) -> Result<(), CommandError> {
        if self.annotate.is_none() && self.sarif.is_none() && self.junit.is_none() {
            return Ok(());
        }
        let report = &report();
        if let Some(reader) = self.annotate {
            for line in reader.annotations(report).lines() {
                out.line(line)?;
            }
        }
        if let Some(file) = self.sarif {
            let log = sarif::log(report);
            file.write_all(format!("{log:#}\n").as_bytes())?;
        }
        if let Some(file) = self.junit {
            file.write_all(junit::document(report).as_bytes())?;
        }
        Ok(())
    }
}
