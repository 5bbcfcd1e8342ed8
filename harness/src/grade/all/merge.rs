//! `harness grade merge`: of the parts of all shards, what one run over the whole class would have left.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use clap::Args;

use super::conclude;
use super::shard::{InPart, Part, Shard};
use super::store::Store;
use super::summary::{self, Graded};
use crate::grade::report;
use exit::{CommandError, Ending};
use grading::report::GradeReport;
use page::escape;
use terminal::stdout::Out;

/// Arguments of `harness grade merge`.
#[derive(Debug, Clone, Args)]
pub struct MergeArgs {
    /// The folder for the results of the class; made where there is none
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// What `harness grade --all --shard` wrote for each shard: shard-I-of-N.json
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
}

/// Merges the parts, and writes what one run over the whole class would have written.
///
/// # Errors
///
/// [`CommandError::Input`] for parts that do not make one class: nothing is written then; [`CommandError::Environment`] if something
/// cannot be written.
pub fn run(args: &MergeArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let read = |path: &PathBuf| {
        Ok(Read {
            file: path.display().to_string(),
            part: Part::read(path)?,
        })
    };
    let parts = args.parts.iter().map(read);
    let parts = parts.collect::<Result<Vec<Read>, CommandError>>()?;
    let all = in_order_of_class(&parts)?;
    let store = Store::open(&args.out, &parts[0].part.terms)?;
    let mut kept: HashMap<&str, &GradeReport> = HashMap::new();
    let mut graded = Vec::new();
    for InPart { member, report } in all {
        // Of submissions with the same content, all have the first one's report.
        let report = match (kept.get(member.key.as_str()), report) {
            (Some(earlier), _) => {
                let mut own = GradeReport::clone(earlier);
                own.submission.name.clone_from(&member.name);
                Ok(own)
            }
            (None, Ok(report)) => {
                store.keep(&member.key, &report::json(report)?)?;
                kept.insert(&member.key, report);
                Ok(report.clone())
            }
            (None, Err(reason)) => Err(reason.clone()),
        };
        let one = Graded {
            name: member.name.clone(),
            key: member.key.clone(),
            is_kept: false,
            report,
        };
        out.line(summary::line(&one, out.look()))?;
        graded.push(one);
    }
    conclude(&graded, &args.out, out)
}

/// The most missing shards that are named; the rest are counted.
const MOST_NAMED: usize = 20;

/// A part and the name of its file.
struct Read {
    file: String,
    part: Part,
}

/// Every submission of the class, of whichever part.
///
/// # Errors
///
/// [`CommandError::Input`] if the parts are not those of all shards of one class, each once.
fn in_order_of_class(parts: &[Read]) -> Result<Vec<&InPart>, CommandError> {
    let [first, others @ ..] = parts else {
        return refused("name the parts to be merged".to_owned());
    };
    let own_version = env!("CARGO_PKG_VERSION");
    let Part { terms, class, .. } = &first.part;
    if terms.harness != own_version {
        return refused(format!(
            "{}: was written by harness {}, and this is {own_version}; merge with the program that graded",
            first.file, terms.harness
        ));
    }
    for other in others {
        if let Some(difference) = difference(first, other) {
            return refused(difference);
        }
    }
    let mut by_shard: BTreeMap<Shard, &Read> = BTreeMap::new();
    let mut by_name: HashMap<&str, (&Read, &InPart)> = HashMap::new();
    for read in parts {
        let shard = read.part.shard;
        if let Some(earlier) = by_shard.insert(shard, read) {
            return refused(format!(
                "{} and {}: both are of shard {shard}; name each part once",
                earlier.file, read.file
            ));
        }
        for one in &read.part.graded {
            let name = one.member.name.as_str();
            if let Some((earlier, _)) = by_name.insert(name, (read, one)) {
                return refused(format!(
                    "{} and {}: both have submission `{}`; grade both shards again",
                    earlier.file,
                    read.file,
                    escape::line(name)
                ));
            }
        }
    }
    let missing = Shard::all(first.part.shard.of()).filter(|shard| !by_shard.contains_key(shard));
    let missing: Vec<String> = missing.map(|shard| shard.to_string()).collect();
    if let Some(one) = missing.first() {
        let named = &missing[..missing.len().min(MOST_NAMED)];
        let more = match missing.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return refused(format!(
            "there is no part of shard {}{more}; name it too, or grade it: `harness grade --all DIR --shard {one}`",
            named.join(", ")
        ));
    }
    let of_class = class.iter().map(|member| {
        let name = escape::line(&member.name);
        match by_name.remove(member.name.as_str()) {
            None => refused(format!("submission `{name}` is in no part; grade all shards again")),
            Some((read, one)) if one.member.key != member.key => refused(format!(
                "{}: submission `{name}` changed while its shard was graded; grade all shards again",
                read.file
            )),
            Some((_, one)) => Ok(one),
        }
    });
    let of_class = of_class.collect::<Result<Vec<_>, CommandError>>()?;
    match by_name.values().next() {
        Some((read, one)) => refused(format!(
            "{}: submission `{}` is none of the class; grade all shards again",
            read.file,
            escape::line(&one.member.name)
        )),
        None => Ok(of_class),
    }
}

fn refused<T>(reason: String) -> Result<T, CommandError> {
    Err(CommandError::Input(reason))
}

/// What two parts differ in that have to be of one class.
fn difference(a: &Read, b: &Read) -> Option<String> {
    let differ = |what: &str, [of_a, of_b]: [&dyn std::fmt::Display; 2]| {
        Some(format!(
            "{}: {what} is {of_a}, and in {} it is {of_b}; parts of one class are graded in the same way",
            a.file, b.file
        ))
    };
    let terms = a.part.terms.by_name().into_iter();
    for ((what, of_a), (_, of_b)) in terms.zip(b.part.terms.by_name()) {
        if of_a != of_b {
            return differ(what, [&of_a, &of_b]);
        }
    }
    let of = [a, b].map(|read| read.part.shard.of());
    if of[0] != of[1] {
        return differ("the number of shards", [&of[0], &of[1]]);
    }
    for (one, other) in [(a, b), (b, a)] {
        for member in &one.part.class {
            let name = escape::line(&member.name);
            let (file, other_file) = (&one.file, &other.file);
            let mut same_name = other.part.class.iter();
            match same_name.find(|same| same.name == member.name) {
                None => {
                    return Some(format!(
                        "{file}: is of a folder with submission `{name}`, and {other_file} of one without; grade all shards \
                         of one folder"
                    ));
                }
                Some(same) if same.key != member.key => {
                    return Some(format!(
                        "{file} and {other_file}: submission `{name}` is not the same in both; grade all shards again, of a \
                         folder that does not change"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
