//! Classes that are graded in shards, and parts that do not fit.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::grade::all::shard::Member;
use crate::grade::all::store::Terms;
use crate::grade::all::{Class, grade_all};
use grading::course::Group;
use grading::outcome::{Kind, Outcome};
use grading::report::{CaseGrade, SubmissionId};
use terminal::look::Look;

/// Submissions by name and content.
const CLASS: [(&str, &str); 5] = [
    ("ada", "right"),
    ("bob", "wrong"),
    ("cleo", "odd"),
    ("dan", "right"),
    ("eve", "2.3"),
];

/// A folder with submissions, and any number for results.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, content) in CLASS {
            folder.hand_in(name, content);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn hand_in(&self, name: &str, content: &str) {
        let folder = self.path("class").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kernels.rs"), content).unwrap();
    }

    /// Grades the class, or a shard of it.
    fn grade(&self, results: &str, shard: Option<&str>, terms: &Terms) -> (Ending, String) {
        let grade = |_: usize, path: &Path| {
            let content = fs::read_to_string(path.join("kernels.rs")).unwrap();
            report_of(path, &content)
        };
        let class = Class {
            submissions: &self.path("class"),
            results: &self.path(results),
            terms,
            shard: shard.map(|shard| shard.parse().unwrap()),
            workers: 1,
        };
        printed(|out| grade_all(class, &grade, out)).unwrap()
    }

    /// The parts of all shards.
    fn shards(&self, results: &str, of: u32) -> Vec<PathBuf> {
        let shards = Shard::all(of);
        let part = |shard: Shard| {
            let (ending, _) = self.grade(results, Some(&shard.to_string()), &terms());
            assert_eq!(ending, Ending::Fine);
            Part::path(&self.path(results), shard)
        };
        shards.map(part).collect()
    }

    fn merge(&self, out: &str, parts: &[PathBuf]) -> Result<(Ending, String), CommandError> {
        let args = MergeArgs {
            out: self.path(out),
            parts: parts.to_vec(),
        };
        printed(|out| run(&args, out))
    }

    /// Why these parts are not merged.
    fn refusal(&self, parts: &[PathBuf]) -> String {
        let failure = self.merge("refused", parts).unwrap_err();
        assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT, "{failure}");
        assert!(!self.path("refused").exists(), "{failure}");
        failure
            .to_string()
            .replace(self.0.path().to_str().unwrap(), "DIR")
    }

    /// A part, edited and written with a new checksum.
    fn edited(&self, part: &Path, edit: impl FnOnce(&mut Part)) -> PathBuf {
        let mut read = Part::read(part).unwrap();
        edit(&mut read);
        let folder = self.path("edited");
        fs::create_dir_all(&folder).unwrap();
        read.write(&folder).unwrap()
    }
}

fn terms() -> Terms {
    Terms {
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        lab: "wave2d".to_owned(),
        lab_file: "00ff".to_owned(),
        device: "cuda".to_owned(),
        model: "H100".to_owned(),
        seed: None,
        draw: None,
        deadline_s: 60.0,
        total_deadline_s: 600.0,
    }
}

fn printed(
    work: impl FnOnce(&mut Out<'_>) -> Result<Ending, CommandError>,
) -> Result<(Ending, String), CommandError> {
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = work(&mut out)?;
    drop(out);
    Ok((ending, String::from_utf8(text).unwrap()))
}

/// A report that follows from the content, with figures that take every digit.
fn report_of(path: &Path, content: &str) -> Result<GradeReport, CommandError> {
    if content == "odd" {
        return Err(CommandError::Input("this makes no sense".to_owned()));
    }
    let id = SubmissionId {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        sha256: None,
    };
    let mut report = GradeReport::new(id, "wave2d", "cuda");
    let status = match content {
        "wrong" => Outcome::failed(Kind::WrongResult, "a third is wrong"),
        _ => Outcome::Passed,
    };
    report.elapsed_s = 1.0 / 3.0 + content.len() as f64 * 1e-9;
    report.cases = vec![CaseGrade {
        name: "only".to_owned(),
        group: Group::Small,
        points: 0.1 + 0.2,
        earned: content.parse().unwrap_or(0.1 + 0.2),
        status,
        samples: 2,
        counts: Default::default(),
        checks: None,
    }];
    Ok(report.with_totals())
}

/// Every file below a folder but for parts, by its path in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(path, text)| (name.join(path), text)));
        } else if !name.to_str().unwrap().starts_with("shard-") {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    found
}

#[test]
fn merged_shards_are_what_one_run_leaves() {
    let folder = Folder::new();
    let (ending, text) = folder.grade("whole", None, &terms());
    let whole = files(&folder.path("whole"));
    // Four reports are three files, as two submissions are the same; with their pages, and two summaries.
    assert_eq!(whole.len(), 3 + 4 + 2);
    // Shards of any number, more than there are submissions too.
    for of in [1, 2, 3, 7] {
        let mut parts = folder.shards(&format!("shards-{of}"), of);
        parts.reverse();
        let out = format!("merged-{of}");
        let (merged_ending, merged_text) = folder.merge(&out, &parts).unwrap();
        assert_eq!(files(&folder.path(&out)), whole, "{of}");
        assert_eq!(merged_ending, ending);
        assert_eq!(merged_text, text.replace("  (kept)", ""));
    }
}

#[test]
fn shards_and_merged_results_may_share_a_folder() {
    let folder = Folder::new();
    folder.grade("whole", None, &terms());
    let parts = folder.shards("shared", 3);
    folder.merge("shared", &parts).unwrap();
    let shared = files(&folder.path("shared"));
    assert_eq!(shared, files(&folder.path("whole")));
}

#[test]
fn a_shard_says_what_it_took() {
    let folder = Folder::new();
    let said = |shard: &str| {
        let (ending, text) = folder.grade("results", Some(shard), &terms());
        // Nothing that its own submissions lack is the ending of a shard.
        assert_eq!(ending, Ending::Fine);
        text.replace(folder.0.path().to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!(said("3/3"), @"
      shard 3/3: 1 of 5 submissions
      cleo                      not graded: this makes no sense

      DIR/results/shard-3-of-3.json; `harness grade merge` makes one of all parts
    ");
    insta::assert_snapshot!(said("6/6"), @"
      shard 6/6: 0 of 5 submissions

      DIR/results/shard-6-of-6.json; `harness grade merge` makes one of all parts
    ");
    assert!(!folder.path("results/scores.csv").exists());
}

#[test]
fn a_shard_that_is_not_finished_leaves_no_part() {
    let folder = Folder::new();
    let parts = folder.shards("results", 2);
    let lost = |_: usize, _: &Path| Err(CommandError::Environment("the device is lost".to_owned()));
    folder.hand_in("bob", "better");
    let class = Class {
        submissions: &folder.path("class"),
        results: &folder.path("results"),
        terms: &terms(),
        shard: Some("2/2".parse().unwrap()),
        workers: 1,
    };
    let failure = printed(|out| grade_all(class, &lost, out)).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "bob (0 of 2 are graded and kept; run it again to go on): the device is lost"
    );
    assert!(parts[0].is_file() && !parts[1].exists());
}

#[test]
fn parts_that_are_not_all_shards_once() {
    let folder = Folder::new();
    let parts = folder.shards("results", 3);
    insta::assert_snapshot!(folder.refusal(&parts[1..2]), @"there is no part of shard 1/3, 3/3; name it too, or grade it: `harness grade --all DIR --shard 1/3`");
    let twice = [&parts[..], &parts[..1]].concat();
    insta::assert_snapshot!(folder.refusal(&twice), @"DIR/results/shard-1-of-3.json and DIR/results/shard-1-of-3.json: both are of shard 1/3; name each part once");
    folder.grade("many", Some("1/30"), &terms());
    let one_of_many = folder.path("many/shard-1-of-30.json");
    insta::assert_snapshot!(folder.refusal(&[one_of_many]), @"there is no part of shard 2/30, 3/30, 4/30, 5/30, 6/30, 7/30, 8/30, 9/30, 10/30, 11/30, 12/30, 13/30, 14/30, 15/30, 16/30, 17/30, 18/30, 19/30, 20/30, 21/30 and 9 more; name it too, or grade it: `harness grade --all DIR --shard 2/30`");
    let of_two = folder.shards("others", 2);
    let mixed = [&parts[..1], &of_two[1..]].concat();
    insta::assert_snapshot!(folder.refusal(&mixed), @"DIR/results/shard-1-of-3.json: the number of shards is 3, and in DIR/others/shard-2-of-2.json it is 2; parts of one class are graded in the same way");
}

#[test]
fn parts_of_other_terms() {
    let folder = Folder::new();
    let parts = folder.shards("results", 2);
    let with = |edit: &dyn Fn(&mut Terms)| {
        let other = folder.edited(&parts[1], |part| edit(&mut part.terms));
        folder.refusal(&[parts[0].clone(), other])
    };
    insta::assert_snapshot!(with(&|terms| terms.lab = "wave3d".to_owned()), @"DIR/results/shard-1-of-2.json: the lab is wave2d, and in DIR/edited/shard-2-of-2.json it is wave3d; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.lab_file = "11".to_owned()), @"DIR/results/shard-1-of-2.json: the lab file's SHA-256 is 00ff, and in DIR/edited/shard-2-of-2.json it is 11; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.seed = Some(7)), @"DIR/results/shard-1-of-2.json: --seed is secret, and in DIR/edited/shard-2-of-2.json it is 7; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.deadline_s = 2.5), @"DIR/results/shard-1-of-2.json: --deadline is 60 s, and in DIR/edited/shard-2-of-2.json it is 2.5 s; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.total_deadline_s = 25.0), @"DIR/results/shard-1-of-2.json: --total-deadline is 600 s, and in DIR/edited/shard-2-of-2.json it is 25 s; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.device = "emulated".to_owned()), @"DIR/results/shard-1-of-2.json: --device is cuda, and in DIR/edited/shard-2-of-2.json it is emulated; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.model = "A100".to_owned()), @"DIR/results/shard-1-of-2.json: the device is H100, and in DIR/edited/shard-2-of-2.json it is A100; parts of one class are graded in the same way");
    insta::assert_snapshot!(with(&|terms| terms.harness = "0.0.9".to_owned()).replace(env!("CARGO_PKG_VERSION"), "VERSION"), @"DIR/results/shard-1-of-2.json: the harness's version is VERSION, and in DIR/edited/shard-2-of-2.json it is 0.0.9; parts of one class are graded in the same way");
    let other = folder.edited(&parts[0], |part| part.terms.harness = "0.0.9".to_owned());
    insta::assert_snapshot!(folder.refusal(&[other]).replace(env!("CARGO_PKG_VERSION"), "VERSION"), @"DIR/edited/shard-1-of-2.json: was written by harness 0.0.9, and this is VERSION; merge with the program that graded");
}

#[test]
fn parts_of_other_folders() {
    let folder = Folder::new();
    let first = folder.shards("results", 2).remove(0);
    folder.hand_in("bob", "better");
    let later = folder.shards("later", 2).remove(1);
    insta::assert_snapshot!(folder.refusal(&[first.clone(), later]), @"DIR/results/shard-1-of-2.json and DIR/later/shard-2-of-2.json: submission `bob` is not the same in both; grade all shards again, of a folder that does not change");
    folder.hand_in("bob", "wrong");
    folder.hand_in("zoe", "right");
    let larger = folder.shards("larger", 2).remove(1);
    insta::assert_snapshot!(folder.refusal(&[first.clone(), larger.clone()]), @"DIR/larger/shard-2-of-2.json: is of a folder with submission `zoe`, and DIR/results/shard-1-of-2.json of one without; grade all shards of one folder");
    insta::assert_snapshot!(folder.refusal(&[larger, first]), @"DIR/larger/shard-2-of-2.json: is of a folder with submission `zoe`, and DIR/results/shard-1-of-2.json of one without; grade all shards of one folder");
}

#[test]
fn submissions_that_are_in_the_wrong_part() {
    let folder = Folder::new();
    let parts = folder.shards("results", 2);
    let with = |edit: &dyn Fn(&mut Part)| {
        let other = folder.edited(&parts[1], edit);
        folder.refusal(&[parts[0].clone(), other])
    };
    let ada = Part::read(&parts[0]).unwrap().graded[0].clone();
    insta::assert_snapshot!(with(&|part| part.graded.push(ada.clone())), @"DIR/results/shard-1-of-2.json and DIR/edited/shard-2-of-2.json: both have submission `ada`; grade both shards again");
    insta::assert_snapshot!(with(&|part| drop(part.graded.pop())), @"submission `dan` is in no part; grade all shards again");
    insta::assert_snapshot!(with(&|part| part.graded[0].member.key.clear()), @"DIR/edited/shard-2-of-2.json: submission `bob` changed while its shard was graded; grade all shards again");
    let stranger = InPart {
        member: Member {
            name: "zoe".to_owned(),
            key: String::new(),
        },
        report: Err(String::new()),
    };
    insta::assert_snapshot!(with(&|part| part.graded.push(stranger.clone())), @"DIR/edited/shard-2-of-2.json: submission `zoe` is none of the class; grade all shards again");
}

#[test]
fn damaged_parts() {
    let folder = Folder::new();
    let part = folder.shards("results", 1).remove(0);
    let text = fs::read_to_string(&part).unwrap();
    let damaged = folder.path("damaged.json");
    let parts = std::slice::from_ref(&damaged);
    let refusal = |text: &str| {
        fs::write(&damaged, text).unwrap();
        folder.refusal(parts)
    };
    insta::assert_snapshot!(refusal(&text.replacen("2.3", "2.4", 1)), @"DIR/damaged.json: is damaged: it is not as it was written; grade its shard again: `harness grade --all DIR --shard 1/1`");
    insta::assert_snapshot!(refusal("{}"), @"DIR/damaged.json: is no part of a class, or is damaged (missing field `sha256` at line 1 column 2); grade its shard again: `harness grade --all DIR --shard I/N`");
    for cut in [0, 1, text.len() / 2, text.len() - 3] {
        let said = refusal(&text[..cut]);
        assert!(
            said.starts_with("DIR/damaged.json: is no part of a class, or is damaged (EOF"),
            "{said}"
        );
    }
    // Spaces are no damage.
    fs::write(&damaged, text.replace("\n", "\n ")).unwrap();
    folder.merge("merged", parts).unwrap();
    fs::remove_file(&damaged).unwrap();
    insta::assert_snapshot!(folder.refusal(parts), @"DIR/damaged.json: cannot be read: No such file or directory (os error 2)");
}
