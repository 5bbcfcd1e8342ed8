//! A shard of a class, and the file that holds its part of the results.

use std::fmt::{self, Display};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::store::Terms;
use super::summary::Graded;
use exit::CommandError;
use grading::report::GradeReport;
use output_files::OutputFile;
use output_files::digest::sha256;

/// Shard I of N of a class, as `--shard` has it: every N-th submission, from the I-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Which, from 1.
    number: u32,
    /// Of how many.
    of: u32,
}

impl Shard {
    /// More than there are jobs in an array.
    pub const MOST: u32 = 10_000;

    /// All shards of a class that is split into so many.
    pub fn all(of: u32) -> impl Iterator<Item = Shard> {
        (1..=of).map(move |number| Shard { number, of })
    }

    /// Into how many shards the class is split.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Which submissions of a class of so many belong to it.
    pub fn members(self, class: usize) -> std::iter::StepBy<Range<usize>> {
        let first = (self.number as usize - 1).min(class);
        (first..class).step_by(self.of as usize)
    }

    /// The name of the file with its results.
    pub fn file_name(self) -> String {
        format!("shard-{}-of-{}.json", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.map(|(number, of)| (number.parse(), of.parse()));
        match numbers {
            Some((Ok::<u32, _>(_), Ok(of))) if of > Shard::MOST => {
                Err(format!("a class has at most {} shards", Shard::MOST))
            }
            Some((Ok(number), Ok(of))) if number >= 1 && number <= of => Ok(Shard { number, of }),
            Some((Ok::<u32, _>(_), Ok(of @ 1..))) => {
                Err(format!("shards are numbered from 1/{of} to {of}/{of}"))
            }
            _ => Err("write which shard of how many, as in 1/8".to_owned()),
        }
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

/// A submission of a class, whichever shard it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// As [`Graded::key`].
    pub key: String,
}

/// The results of a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which.
    pub shard: Shard,
    /// How submissions were graded.
    pub terms: Terms,
    /// All submissions of the class, those of other shards too, by name.
    pub class: Vec<Member>,
    /// Those of this shard, in the same order.
    pub graded: Vec<InPart>,
}

/// A submission and its grade, as a part has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InPart {
    /// Which, and what was graded.
    pub member: Member,
    /// The report, or why there is none.
    pub report: Result<GradeReport, String>,
}

/// A part and the checksum of its JSON form without spaces.
#[derive(Serialize, Deserialize)]
struct Sealed<P> {
    sha256: String,
    part: P,
}

impl Part {
    /// Where the results folder has this shard's part.
    pub fn path(results: &Path, shard: Shard) -> PathBuf {
        results.join(shard.file_name())
    }

    /// Removes what an earlier run left: there is a part if and only if the shard is complete.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it is there and stays.
    pub fn remove(results: &Path, shard: Shard) -> Result<(), CommandError> {
        let path = Part::path(results, shard);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(
                CommandError::Environment(format!("cannot remove {}: {error}", path.display())),
            ),
            _ => Ok(()),
        }
    }

    /// Writes it into the results folder, and says where.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it cannot be written.
    pub fn write(&self, results: &Path) -> Result<PathBuf, CommandError> {
        let sealed = Sealed {
            sha256: self.checksum()?,
            part: self,
        };
        let text = serde_json::to_string_pretty(&sealed).map_err(|error| no_json(&error))? + "\n";
        let path = Part::path(results, self.shard);
        Ok(OutputFile::create("-o", &path)?.write_all(text.as_bytes())?)
    }

    /// Reads a part.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a file that cannot be read, is no part, or is not as it was written.
    pub fn read(path: &Path) -> Result<Part, CommandError> {
        let refused = |reason: String| CommandError::Input(format!("{}: {reason}", path.display()));
        let text = fs::read(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
        let sealed: Sealed<Part> = serde_json::from_slice(&text).map_err(|error| {
            refused(format!(
                "is no part of a class, or is damaged ({error}); grade its shard again: \
                 `harness grade --all DIR --shard I/N`"
            ))
        })?;
        let part = sealed.part;
        if part.checksum()? != sealed.sha256 {
            return Err(refused(format!(
                "is damaged: it is not as it was written; grade its shard again: `harness grade --all DIR --shard {}`",
                part.shard
            )));
        }
        Ok(part)
    }

    fn checksum(&self) -> Result<String, CommandError> {
        let text = serde_json::to_vec(self).map_err(|error| no_json(&error))?;
        Ok(sha256(text))
    }
}

fn no_json(error: &serde_json::Error) -> CommandError {
    CommandError::Bug(format!("the part has no JSON form: {error}"))
}

impl From<Graded> for InPart {
    fn from(graded: Graded) -> InPart {
        InPart {
            member: Member {
                name: graded.name,
                key: graded.key,
            },
            report: graded.report,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_and_written() {
        for text in ["1/1", "2/8", "8/8"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        let error = |text: &str| text.parse::<Shard>().unwrap_err();
        for text in [
            "", "2", "/", "1/", "/3", "a/b", "1/3/3", "-1/3", "0/0", "1/0",
        ] {
            assert_eq!(
                error(text),
                "write which shard of how many, as in 1/8",
                "{text}"
            );
        }
        for text in ["0/3", "4/3"] {
            assert_eq!(error(text), "shards are numbered from 1/3 to 3/3");
        }
        assert_eq!("1/10000".parse::<Shard>().unwrap().of(), Shard::MOST);
        for text in ["1/10001", "1/4294967295"] {
            assert_eq!(error(text), "a class has at most 10000 shards");
            let json = format!("\"{text}\"");
            serde_json::from_str::<Shard>(&json).unwrap_err();
        }
    }

    #[test]
    fn each_submission_is_in_one_shard() {
        for class in [1, 2, 7, 300] {
            for of in [1, 2, 3, 8, 301] {
                let mut all: Vec<usize> = Shard::all(of).flat_map(|s| s.members(class)).collect();
                let sizes: Vec<usize> = Shard::all(of).map(|s| s.members(class).len()).collect();
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..class), "{class} in {of}");
            }
        }
        let second: Shard = "2/3".parse().unwrap();
        assert!(second.members(8).eq([1, 4, 7]));
    }
}
