//! Folders of submissions, graded by a function of their content.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use grading::lab_spec::Group;
use grading::outcome::{Kind, NoResult, Outcome};
use grading::report::{CaseGrade, Checks, Replayed, SubmissionId};
use terminal::look::Look;

/// A folder of submissions, and one for the results.
struct School {
    folder: TempDir,
    again: Vec<String>,
    gradebook: Option<Gradebook>,
}

impl School {
    /// Submissions by name and content.
    fn new(submissions: &[(&str, &str)]) -> School {
        let class = School {
            folder: tempfile::tempdir().unwrap(),
            again: Vec::new(),
            gradebook: None,
        };
        for (name, content) in submissions {
            class.hand_in(name, content);
        }
        class
    }

    fn hand_in(&self, name: &str, content: &str) {
        let folder = self.submissions().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kernels.rs"), content).unwrap();
        fs::write(folder.join("launch.rs"), "the same for all").unwrap();
    }

    fn submissions(&self) -> PathBuf {
        self.folder.path().join("submissions")
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    /// A run's ending and output, and the submissions that it graded.
    fn run(&self, device: &str) -> (Result<Ending, CommandError>, String, Vec<String>) {
        let asked = Mutex::new(Vec::new());
        let grade = |_: usize, path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            asked.lock().unwrap().push(name.clone());
            grade_by_content(path, name)
        };
        let (ending, text) = self.run_with(&terms(device), None, 1, &grade);
        (ending, text, asked.into_inner().unwrap())
    }

    fn run_with(
        &self,
        terms: &Terms,
        shard: Option<Shard>,
        workers: usize,
        grade: &GradeOne<'_>,
    ) -> (Result<Ending, CommandError>, String) {
        let mut text = Vec::new();
        let mut out = Out::new(&mut text, Look::PLAIN);
        let (submissions, results) = (&self.submissions(), &self.results());
        let ending = store::submissions(submissions, results).and_then(|found| {
            let class = Class {
                submissions,
                found: &found,
                results,
                terms,
                again: &self.again,
                shard,
                workers,
                gradebook: self.gradebook.as_ref(),
            };
            grade_all(class, grade, &mut out)
        });
        drop(out);
        (ending, String::from_utf8(text).unwrap())
    }
}

fn terms(device: &str) -> Terms {
    Terms {
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        course: None,
        lab: "wave2d".to_owned(),
        lab_file: "00".to_owned(),
        device: device.to_owned(),
        model: device.to_owned(),
        seed: None,
        draw: None,
        deadline_s: 60.0,
        total_deadline_s: 600.0,
        unchecked_pass: false,
    }
}

fn grade_by_content(path: &Path, name: String) -> Result<GradeReport, CommandError> {
    let content = fs::read_to_string(path.join("kernels.rs")).unwrap();
    let status = match content.as_str() {
        "right" => Outcome::Passed,
        "no gpu" => {
            let reason = "no GPU".to_owned();
            Outcome::NotGradedHere { reason }
        }
        "unknown" => NoResult::undecided("`foo` is not known here").into(),
        "lost" => return Err(CommandError::Environment("the device is lost".to_owned())),
        "unchecked" => Outcome::Passed,
        "odd" => return Err(CommandError::Input("this makes no sense".to_owned())),
        other => NoResult::failed(Kind::WrongResult, other).into(),
    };
    let mut report = GradeReport::new(SubmissionId { name, sha256: None }, "wave2d", "emulated");
    report.cases = [("easy", Outcome::Passed), ("hard", status)]
        .into_iter()
        .map(|(case, status)| CaseGrade {
            name: case.to_owned(),
            group: Group::Small,
            points: 4.0,
            earned: if status == Outcome::Passed { 4.0 } else { 0.0 },
            status,
            samples: 1,
            counts: Default::default(),
            checks: (content == "unchecked" && case == "hard")
                .then(|| Checks::by_submission("it did not get to its end")),
            printed: String::new(),
        })
        .collect();
    report.replayed = (!report.is_right()).then(|| Replayed {
        case: "hard".to_owned(),
        html: "<!doctype html>step by step".to_owned(),
    });
    Ok(report.with_totals())
}

#[test]
fn a_class() {
    let class = School::new(&[
        ("ada", "right"),
        ("bob", "wrong"),
        ("cleo", "right"),
        ("=dan", "odd"),
    ]);
    fs::write(class.submissions().join("notes.txt"), "no submission").unwrap();
    let (ending, text, _) = class.run("emulated");
    assert_eq!(ending, Ok(Ending::Lacking), "one could not be graded");
    insta::assert_snapshot!(text, @r"
      passed over: notes.txt is not a folder or bundle
      =dan                      not graded: this makes no sense
      ada                                8 / 8  right
      bob                                4 / 8  hard [wrong_result]
      cleo                               8 / 8  right  (kept)

      4 submissions: median 100 %, mean 83.3 %, from 50.0 % to 100 % of the points graded here

        0 to  10 %     0
       10 to  20 %     0
       20 to  30 %     0
       30 to  40 %     0
       40 to  50 %     0
       50 to  60 %     1  ####################
       60 to  70 %     0
       70 to  80 %     0
       80 to  90 %     0
       90 to 100 %     2  ########################################

      case  passed  graded
      --------------------
      easy       3       3
      hard       2       3

      1 submission: wrong_result
      the same content: ada, cleo
      not graded: 1 submission
    ");
    insta::assert_snapshot!(fs::read_to_string(class.results().join("scores.csv")).unwrap(), @r#"
    submission,earned,undecided,graded,possible,result,not_checked,looks_like
    "'=dan",,,,,"not graded: this makes no sense",,
    "ada",8,0,8,8,"right",0,
    "bob",4,0,8,8,"hard [wrong_result]",0,
    "cleo",8,0,8,8,"right",0,
    "#);
    let page = fs::read_to_string(class.results().join("summary.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("<h1>wave2d: grades</h1>"));
    for entry in page.split("<a href=\"./").skip(1) {
        let (file, _) = entry.split_once('"').unwrap();
        assert!(class.results().join(file).is_file(), "{file}");
    }
    assert_eq!(page.matches("<a href=").count(), 3);
    let pages = fs::read_dir(class.results()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("ada-")
    });
    assert_eq!(pages.count(), 1);
    // Students' own: a page and JSON for each, and a replay where something is wrong; also from
    // reports that are kept.
    let students = class.results().join("students");
    class.run("emulated").0.expect("reports are kept");
    let names: Vec<String> = fs::read_dir(&students)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 7);
    let replay = names
        .iter()
        .find(|name| name.ends_with(".replay.html"))
        .unwrap();
    let beside = replay.replace(".replay.html", ".html");
    let link = format!("<a href=\"./{replay}\">");
    for folder in [&students, &class.results()] {
        let html = fs::read_to_string(folder.join(&beside)).unwrap();
        assert!(html.contains(&link), "{html}");
        let shown = fs::read_to_string(folder.join(replay)).unwrap();
        assert_eq!(shown, "<!doctype html>step by step");
    }
}

#[test]
fn what_is_graded_is_kept_until_it_changes() {
    let class = School::new(&[("ada", "right"), ("bob", "wrong")]);
    assert_eq!(class.run("emulated").2, ["ada", "bob"]);
    let (ending, text, asked) = class.run("emulated");
    assert_eq!((ending, asked.len()), (Ok(Ending::Fine), 0));
    assert!(text.contains("(kept)"));
    class.hand_in("bob", "right");
    // Ada has handed in the text that bob hands in now: its report is kept, under ada's name.
    let (_, text_again, asked_again) = class.run("emulated");
    assert!(
        asked_again.is_empty() && text_again.contains("  bob "),
        "{text_again}"
    );
    class.hand_in("bob", "better");
    assert_eq!(class.run("emulated").2, ["bob"]);
    // Another device is another grade.
    assert_eq!(class.run("cuda").2, ["ada", "bob"]);
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let class = School::new(&[("ada", "right"), ("bob", "lost"), ("cleo", "right, too")]);
    let (ending, text, asked) = class.run("emulated");
    insta::assert_snapshot!(ending.unwrap_err(), @"bob (1 of 3 are graded and kept; run it again to go on): the device is lost");
    assert_eq!(asked, ["ada", "bob"]);
    assert!(text.contains("ada"));
    class.hand_in("bob", "wrong");
    assert_eq!(class.run("emulated").2, ["bob", "cleo"]);
}

#[test]
fn a_damaged_report_is_made_again() {
    let class = School::new(&[("ada", "right")]);
    class.run("emulated").0.unwrap();
    for entry in fs::read_dir(class.results().join("reports")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
    }
    assert_eq!(class.run("emulated").2, ["ada"]);
}

#[test]
fn points_that_could_not_be_graded_are_told_by_the_exit_code() {
    let class = School::new(&[("ada", "no gpu")]);
    let (ending, text, _) = class.run("emulated");
    assert_eq!(ending, Ok(Ending::NotGraded));
    assert!(text.contains("median 100 %"), "{text}");
}

#[test]
fn who_keeps_points_from_being_graded_is_named_above_all_points() {
    let class = School::new(&[("ada", "right"), ("eve", "unknown")]);
    let (ending, text, _) = class.run("emulated");
    assert_eq!(ending, Ok(Ending::NotGraded));
    assert!(
        text.contains("  eve                                4 / 8  undecided here: 4 points"),
        "{text}"
    );
    let (_, summary) = text.split_once("\n\n").unwrap();
    assert!(
        summary.starts_with(
            "  undecided here, by what these do: eve; their points are the least they earn"
        ),
        "{text}"
    );
    // Half of the points, and not all of fewer.
    assert!(text.contains("from 50.0 % to 100 %"), "{text}");
}

#[test]
fn who_was_not_checked_is_first_and_who_looks_like_another_is_told() {
    let class = School::new(&[
        ("ada", "right"),
        ("bob", "wrong"),
        ("eve", "unchecked"),
        ("\u{435}ve", "no gpu"),
    ]);
    let (_, text, _) = class.run("emulated");
    let (_, summary) = text.split_once("\n\n").unwrap();
    let first = "  not checked for races and the like: eve (1 case); read their kernels\n";
    assert!(summary.starts_with(first), "{text}");
    let alike = "  names that look the same: `eve`, `\u{435}ve` (with U+0435)";
    assert!(text.contains(alike), "{text}");
    let scores = fs::read_to_string(class.results().join("scores.csv")).unwrap();
    insta::assert_snapshot!(scores, @r#"
    submission,earned,undecided,graded,possible,result,not_checked,looks_like
    "eve",8,0,8,8,"right, 1 case not checked",1,"`еve` (with U+0435)"
    "ada",8,0,8,8,"right",0,
    "bob",4,0,8,8,"hard [wrong_result]",0,
    "еve",4,0,4,8,"right",0,"`eve`"
    "#);
    let page = fs::read_to_string(class.results().join("summary.html")).unwrap();
    let row = |name: &str| page.find(&format!(">{name}</a>")).unwrap();
    assert!(row("eve") < row("ada") && row("ada") < row("bob"));
    assert!(page.contains("cases not checked"));
}

// Pipes and links are Unix's.
#[test]
#[cfg(unix)]
fn what_is_odd_has_a_line_or_is_named_and_none_of_it_is_read() {
    let class = School::new(&[("ada", "right")]);
    let odd = |name: &str| class.submissions().join(name);
    let pipe = std::process::Command::new("mkfifo")
        .arg(odd("pipe.bundle"))
        .status();
    assert!(pipe.unwrap().success());
    std::os::unix::fs::symlink("nowhere", odd("broken.bundle")).unwrap();
    fs::write(odd("bob.zip"), "").unwrap();
    // As large as a disk, and empty.
    fs::File::create(odd("sparse.bundle"))
        .unwrap()
        .set_len(1 << 42)
        .unwrap();
    let sources = odd("sparse");
    fs::create_dir(&sources).unwrap();
    fs::File::create(sources.join("kernels.rs"))
        .unwrap()
        .set_len(1 << 42)
        .unwrap();
    let seen = Mutex::new(Vec::new());
    let grade = |_: usize, path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        seen.lock().unwrap().push(name.clone());
        match name.as_str() {
            "ada" => grade_by_content(path, name),
            _ => Err(CommandError::Input("this makes no sense".to_owned())),
        }
    };
    let (_, text) = class.run_with(&terms("emulated"), None, 1, &grade);
    assert_eq!(seen.into_inner().unwrap().len(), 5);
    assert!(
        text.contains("passed over: bob.zip is not a folder or bundle"),
        "{text}"
    );
    assert!(
        text.contains("broken.bundle") && text.contains("pipe.bundle"),
        "{text}"
    );
}

// Windows has no such names.
#[test]
#[cfg(unix)]
fn names_that_are_no_text_are_told_apart() {
    use std::os::unix::ffi::OsStrExt;
    let class = School::new(&[("ada", "right")]);
    for (name, content) in [(b"a\xff", "right"), (b"a\xfe", "wrong")] {
        let name = std::ffi::OsStr::from_bytes(name);
        let folder = class.submissions().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("kernels.rs"), content).unwrap();
    }
    let (ending, text, asked) = class.run("emulated");
    assert_eq!((ending, asked.len()), (Ok(Ending::Fine), 3), "{text}");
    let scores = fs::read_to_string(class.results().join("scores.csv")).unwrap();
    insta::assert_snapshot!(scores, @r#"
    submission,earned,undecided,graded,possible,result,not_checked,looks_like
    "a/xfe",4,0,8,8,"hard [wrong_result]",0,
    "a/xff",8,0,8,8,"right",0,
    "ada",8,0,8,8,"right",0,
    "#);
    let entries = fs::read_dir(class.results()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.starts_with("a-x") && !name.contains(".replay."));
    assert_eq!(pages.count(), 2);
}

// Not every user of Windows may make links.
#[test]
#[cfg(unix)]
fn links_to_what_is_elsewhere_are_named_and_not_graded() {
    use std::os::unix::fs::symlink;
    let class = School::new(&[("ada", "right")]);
    let elsewhere = School::new(&[("other", "right")]);
    fs::write(elsewhere.submissions().join("x.bundle"), "").unwrap();
    symlink(
        elsewhere.submissions().join("other"),
        class.submissions().join("bob"),
    )
    .unwrap();
    symlink(
        elsewhere.submissions().join("x.bundle"),
        class.submissions().join("cleo.bundle"),
    )
    .unwrap();
    // A submission in the folder may have two names.
    symlink("ada", class.submissions().join("dan")).unwrap();
    let (ending, text, asked) = class.run("emulated");
    assert_eq!((ending, asked), (Ok(Ending::Fine), vec!["ada".to_owned()]));
    assert!(
        text.starts_with(
            "  passed over: bob, cleo.bundle are links to what is not in the folder\n"
        ),
        "{text}"
    );
    assert!(text.contains("the same content: ada, dan"), "{text}");
    for name in ["ada", "dan"] {
        fs::remove_dir_all(class.submissions().join(name))
            .or_else(|_| fs::remove_file(class.submissions().join(name)))
            .unwrap();
    }
    let failure = class.run("emulated").0.unwrap_err().to_string();
    assert!(
        failure.ends_with("links that lead out of it; copy what they lead to"),
        "{failure}"
    );
}

// Pipes and links are Unix's.
#[test]
#[cfg(unix)]
fn what_is_missing_is_no_content_and_no_two_faults_are_one() {
    let class = School::new(&[]);
    fs::create_dir(class.submissions()).unwrap();
    let folder = |name: &str| {
        let folder = class.submissions().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (_, _) = (folder("ada"), folder("bob"));
    std::os::unix::fs::symlink("nowhere", folder("linked").join("kernels.rs")).unwrap();
    fs::create_dir(folder("nested").join("kernels.rs")).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(folder("piped").join("kernels.rs"))
        .status();
    assert!(pipe.unwrap().success());
    let asked = Mutex::new(Vec::new());
    let grade = |_: usize, path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        asked.lock().unwrap().push(name.clone());
        let id = SubmissionId { name, sha256: None };
        let mut report = GradeReport::new(id, "wave2d", "emulated");
        report.refused = Some(grading::Failure::new(
            Kind::MissingFile,
            "kernels.rs: is missing",
        ));
        Ok(report.with_totals())
    };
    let (ending, text) = class.run_with(&terms("emulated"), None, 1, &grade);
    assert_eq!(ending, Ok(Ending::Fine));
    assert_eq!(
        asked.into_inner().unwrap(),
        ["ada", "linked", "nested", "piped"]
    );
    assert!(!text.contains("the same content"), "{text}");
}

#[test]
fn no_two_names_share_a_page() {
    // FNV-1a of 32 bits, which anyone inverts, is the same for these.
    let class = School::new(&[("costarring", "right"), ("liquid", "right")]);
    class.run("emulated").0.unwrap();
    let entries = fs::read_dir(class.results()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let digests: Vec<String> = names
        .filter_map(|name| {
            let (_, digest) = name.strip_suffix(".html")?.split_once('-')?;
            Some(digest.to_owned())
        })
        .collect();
    assert!(
        digests.len() == 2 && digests[0] != digests[1],
        "{digests:?}"
    );
    assert!(
        digests.iter().all(|digest| digest.len() == 32),
        "{digests:?}"
    );
}

#[test]
fn an_empty_folder_is_no_class() {
    let class = School::new(&[]);
    fs::create_dir(class.submissions()).unwrap();
    let failure = class.run("emulated").0.unwrap_err().to_string();
    assert!(
        failure.ends_with("no submissions in it: no folders and no .bundle files"),
        "{failure}"
    );
}

#[test]
fn two_workers_grade_one_submission_each_at_a_time() {
    let names = ["ada", "bob", "cleo", "dan"];
    let class = School::new(&names.map(|name| (name, if name == "dan" { "right" } else { name })));
    let busy = [Mutex::new(()), Mutex::new(())];
    let order = Mutex::new(Vec::new());
    let grade = |worker: usize, path: &Path| {
        let _device = busy[worker].try_lock().expect("one at a time");
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The first takes longest: until the other worker is done with all others.
        let began = Instant::now();
        while name == "ada"
            && order.lock().unwrap().len() < 3
            && began.elapsed() < Duration::from_secs(60)
        {
            sleep(Duration::from_millis(1));
        }
        order.lock().unwrap().push((worker, name.clone()));
        grade_by_content(path, name)
    };
    let (ending, text) = class.run_with(&terms("cuda"), None, 2, &grade);
    assert_eq!(ending, Ok(Ending::Fine));
    let order = order.into_inner().unwrap();
    assert_eq!(order.last().unwrap().1, "ada", "{order:?}");
    let on_the_other = order.iter().filter(|one| one.0 != order[3].0).count();
    assert_eq!(on_the_other, 3, "{order:?}");
    // The output has the order of the names all the same.
    let named = |list: &str| -> Vec<usize> { names.map(|name| list.find(name).unwrap()).to_vec() };
    assert!(named(&text).is_sorted(), "{text}");
    let scores = fs::read_to_string(class.results().join("scores.csv")).unwrap();
    assert!(named(&scores).is_sorted(), "{scores}");
}

#[test]
fn submissions_of_the_same_content_are_graded_once_by_several_workers_too() {
    let class = School::new(&[("ada", "right"), ("bob", "right"), ("cleo", "right")]);
    let asked = Mutex::new(Vec::new());
    let grade = |_: usize, path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        asked.lock().unwrap().push(name.clone());
        sleep(Duration::from_millis(20));
        grade_by_content(path, name)
    };
    let (_, text) = class.run_with(&terms("cuda"), None, 3, &grade);
    assert_eq!(asked.into_inner().unwrap(), ["ada"]);
    assert_eq!(text.matches("(kept)").count(), 2, "{text}");
}

/// Every file below a folder, by its path in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, text)| (name.join(file), text)));
        } else {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    found
}

/// Grades a shard by content.
fn run_shard(class: &School, shard: &str) -> (Result<Ending, CommandError>, String) {
    let grade = |_: usize, path: &Path| {
        grade_by_content(path, path.file_name().unwrap().to_string_lossy().into())
    };
    let shard = Some(shard.parse().unwrap());
    class.run_with(&terms("cuda"), shard, 1, &grade)
}

/// Grades nothing: all reports must be there.
fn run_without_device(class: &School) -> (Result<Ending, CommandError>, String) {
    let missing = |_: usize, _: &Path| Err(CommandError::Input("no report".to_owned()));
    class.run_with(&terms("cuda"), None, 1, &missing)
}

const CLASS: [(&str, &str); 5] = [
    ("ada", "right"),
    ("bob", "wrong"),
    ("cleo", "no gpu"),
    ("dan", "right"),
    ("eve", "unknown"),
];

#[test]
fn shards_leave_what_one_run_leaves() {
    let whole = School::new(&CLASS);
    let (ending, text, _) = whole.run("cuda");
    // Shards of any number, more than there are submissions too.
    for of in [1, 2, 3, 7] {
        let class = School::new(&CLASS);
        for number in 1..=of {
            let shard = run_shard(&class, &format!("{number}/{of}"));
            assert_eq!(shard.0, Ok(Ending::Fine));
            assert!(!class.results().join("scores.csv").exists());
        }
        let (last_ending, last_text) = run_without_device(&class);
        assert_eq!(last_ending, ending);
        assert_eq!(
            last_text.replace("  (kept)", ""),
            text.replace("  (kept)", "")
        );
        assert_eq!(files(&class.results()), files(&whole.results()), "{of}");
    }
}

#[test]
fn folders_of_shards_are_copied_together() {
    let [whole, first, second] = [(); 3].map(|()| School::new(&CLASS));
    run_shard(&whole, "1/1").0.unwrap();
    run_shard(&first, "1/2").0.unwrap();
    run_shard(&second, "2/2").0.unwrap();
    for name in files(&second.results()).into_keys() {
        fs::copy(second.results().join(&name), first.results().join(&name)).unwrap();
    }
    assert_eq!(run_without_device(&first), run_without_device(&whole));
}

#[test]
fn a_shard_that_is_ended_goes_on_where_it_was() {
    let class = School::new(&CLASS);
    class.hand_in("eve", "lost");
    let (ending, _) = run_shard(&class, "1/2");
    insta::assert_snapshot!(ending.unwrap_err(), @"eve (2 of 3 are graded and kept; run it again to go on): the device is lost");
    // The summary of an unfinished class says whose reports are missing.
    let (unfinished, text) = run_without_device(&class);
    assert_eq!(unfinished, Ok(Ending::Lacking));
    assert_eq!(text.matches("not graded: no report").count(), 2, "{text}");
    class.hand_in("eve", "unknown");
    let (finished, said) = run_shard(&class, "1/2");
    assert_eq!(finished, Ok(Ending::Fine));
    let shown = said.replace(class.folder.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!(shown, @"
      shard 1/2: 3 of 5 submissions
      ada                                8 / 8  right  (kept)
      cleo                               4 / 4  right  (kept)
      eve                                4 / 8  undecided here: 4 points

      reports are kept in DIR/results; `harness grade --all` without --shard writes the summary
    ");
}

/// One of a class is graded again, and its twins share the new report.
#[test]
fn one_is_graded_again() {
    let mut class = School::new(&[("ada", "right"), ("bob", "wrong"), ("cleo", "right")]);
    assert_eq!(class.run("emulated").2, ["ada", "bob"]);
    assert_eq!(class.run("emulated").2, [""; 0]);
    class.again = vec!["bob".to_owned()];
    assert_eq!(class.run("emulated").2, ["bob"]);
    class.again = vec!["cleo".to_owned()];
    assert_eq!(class.run("emulated").2, ["ada"]);
    class.again = vec!["dan".to_owned()];
    let message = class.run("emulated").0.unwrap_err().to_string();
    assert!(message.starts_with("--again dan: "), "{message}");
}

/// Canvas's names of files, a login, one that is in no gradebook, and a student without anything.
#[test]
fn points_are_in_the_form_that_canvas_imports() {
    const EXPORTED: &str = "\u{feff}Student,ID,SIS User ID,SIS Login ID,Section,\"Lab 2, wave2d (4711)\",Lab 1 (4700),Final Score
,,,,,Manual Posting,,
    Points Possible,,,,,8.00,100.00,(read only)
\"Hopper, Grace\",340935,u2,grace,A,,90.00,90.00
\"Lovelace, Ada\",340934,u1,ada,A,3.00,80.00,80.00
\"Noether, Emmy\",340936,u3,emmy,B,,70.00,70.00
";
    let mut class = School::new(&[
        ("lovelaceada_LATE_340934_77_lab", "right"),
        ("GRACE", "wrong"),
        ("nobody", "right"),
        ("u2", "right"),
    ]);
    let file = class.folder.path().join("grades.csv");
    fs::write(&file, EXPORTED).unwrap();
    let read = |title: &str| Gradebook::read(&file, title);
    class.gradebook = Some(read("wave2d").unwrap());
    let (ending, text, _) = class.run("emulated");
    assert_eq!(ending.unwrap(), Ending::Fine);
    let said = text.replace(&file.display().to_string(), "grades.csv");
    let (_, said) = said.split_once("  canvas.csv").unwrap();
    insta::assert_snapshot!(format!("canvas.csv{said}"), @r"
    canvas.csv: 2 of 3 students of grades.csv have points in `Lab 2, wave2d (4711)`
      canvas.csv: no student, or several, by the name of the folder: nobody
      canvas.csv: left out, as another of the same student's is in it: u2
    ");
    let written = fs::read_to_string(class.results().join("canvas.csv")).unwrap();
    insta::assert_snapshot!(written, @r#"
    Student,ID,SIS User ID,SIS Login ID,Section,"Lab 2, wave2d (4711)"
        Points Possible,,,,,8.00
    "Hopper, Grace",340935,u2,grace,A,4
    "Lovelace, Ada",340934,u1,ada,A,8
    "#);

    let refused = |title: &str| {
        let message = read(title).unwrap_err().to_string();
        message.replace(&file.display().to_string(), "grades.csv")
    };
    insta::assert_snapshot!(refused("poisson"), @"--canvas grades.csv: no assignment with `poisson` in the title; name one by --assignment TEXT. There are: Lab 2, wave2d (4711), Lab 1 (4700)");
    // A whole title is that one, whatever others begin with it.
    assert_eq!(read("lab 1").unwrap().column, 6);
    assert_eq!(read("Lab 2, wave2d (4711)").unwrap().column, 5);
    insta::assert_snapshot!(refused("lab"), @"--canvas grades.csv: several assignments with `lab` in the title; name one by --assignment TEXT. There are: Lab 2, wave2d (4711), Lab 1 (4700)");
    fs::write(&file, "name,points\n").unwrap();
    insta::assert_snapshot!(refused("wave2d"), @"--canvas grades.csv: has no column `ID`; export it in Canvas by Grades, Export, Export Entire Gradebook");
}
