//! The page that replays a case.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use device::Wish;
use flate2::read::DeflateDecoder;
use serde_json::Value;

use super::*;
use crate::engine::Replays;
use crate::report::Replayed;

/// A small case, and a hidden one that is a worse failure wherever a row is longer than 37.
const WITH_HIDDEN: &str = r#"format_version = 1
lab = "matadd"
tolerance = { rule = "exact" }
[[case]]
name = "secret"
group = "hidden"
points = 2
params = { n_x = 64, n_y = 6 }
[[case]]
name = "small"
group = "small"
points = 2
params = { n_x = 37, n_y = 5 }
"#;

/// Lets a submission have sources.
struct Sourced<'d>(Here<'d>);

impl CaseRunner for Sourced<'_> {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        self.0.run(job, deadlines)
    }

    fn sources(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("kernels.rs".to_owned(), "one\ntwo\nthree\n".to_owned())])
    }
}

fn graded_as(ptx: &str, replays: Replays) -> GradeReport {
    let lab_spec = lab_spec(WITH_HIDDEN);
    let device = EmulatedDevice::default();
    let options = Options {
        replay: replays,
        ..options()
    };
    let bundle = bundle(&lab_spec, ptx, record_sum);
    graded_with(
        &lab_spec,
        &bundle,
        &device,
        &Sourced(Here(&device)),
        &options,
    )
}

/// The page's recording.
fn recording(replayed: &Replayed) -> Value {
    let (_, rest) = replayed
        .html
        .split_once("<script id=\"recording\"")
        .unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    let (base64, _) = rest.split_once("</script>").unwrap();
    let deflated = STANDARD.decode(base64.trim()).unwrap();
    let mut json = String::new();
    let mut inflated = DeflateDecoder::new(&deflated[..]);
    inflated.read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn replayed(ptx: &str) -> (GradeReport, Value) {
    let report = graded_as(ptx, Replays::Wrong(Wish::default()));
    let replayed = report.replayed.as_ref().unwrap();
    assert_eq!(replayed.case, "small");
    let json = recording(replayed);
    (report, json)
}

#[test]
fn a_wrong_value_is_followed_to_the_block_that_stored_it() {
    // Wrong from the third block on: the first element is 128, of row 3, column 17.
    let body = "add.f32 %f3, %f1, %f2; setp.ge.u32 %p2, %r1, 128; @%p2 mov.f32 %f3, %f1;";
    let (_, page) = replayed(&elementwise(body));
    let fault = &page["fault"];
    let text = fault["text"].as_str().unwrap();
    assert!(text.contains("first at [128] (x = 17, y = 3)"), "{text}");
    assert_eq!(page["blocks"], serde_json::json!([2]));
    let step = &page["steps"][fault["step"].as_u64().unwrap() as usize];
    assert_eq!(step["m"][0]["k"], "store");
    assert_eq!(
        page["buffers"][0]["axes"],
        serde_json::json!([["x", 37], ["y", 5]])
    );
}

#[test]
fn a_value_that_nothing_stored() {
    let body = format!("{SUM} setp.ge.u32 %p2, %r1, 3; @%p2 bra DONE;");
    let (_, page) = replayed(&elementwise(&body));
    let text = page["fault"]["text"].as_str().unwrap();
    assert!(text.ends_with("no launch stores to that element"), "{text}");
    assert_eq!(page["fault"]["step"], Value::Null);
    assert!(!page["steps"].as_array().unwrap().is_empty());
}

#[test]
fn a_fault_is_shown_with_its_line_and_no_file_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.txt");
    std::fs::write(&other, "the grader's own text").unwrap();
    let body = format!(".loc 1 2 5\nadd.u64 %rd7, %rd7, 8;\n.loc 2 1 1\n{SUM}\n.loc 1 3 5\n");
    let files = format!(".file 1 \"kernels.rs\"\n.file 2 \"{}\"\n", other.display());
    let (report, page) = replayed(&(elementwise(&body) + &files));
    let failure = report.cases[1].status.failure().unwrap();
    assert_eq!(failure.kind, Kind::OutOfBounds);
    assert_eq!(failure.places[0].text, "three");
    assert!(
        page["fault"]["text"]
            .as_str()
            .unwrap()
            .starts_with("out of bounds")
    );
    let texts = page["sources"].as_array().unwrap();
    let text_of = |name: &str| {
        let mut named = texts.iter();
        &named
            .find(|source| source["path"].as_str().unwrap().ends_with(name))
            .unwrap()["text"]
    };
    assert_eq!(text_of("kernels.rs"), "one\ntwo\nthree\n");
    assert_eq!(text_of("other.txt"), &Value::Null);
}

#[test]
fn right_ones_are_replayed_if_that_is_asked_for_and_hidden_cases_never() {
    let wish = Wish {
        blocks: vec![1],
        ..Wish::default()
    };
    let right = elementwise(SUM);
    assert_eq!(
        graded_as(&right, Replays::Wrong(wish.clone())).replayed,
        None
    );
    let report = graded_as(&right, Replays::All(wish));
    let page = recording(report.replayed.as_ref().unwrap());
    assert_eq!(
        (&page["blocks"], &page["fault"]),
        (&serde_json::json!([1]), &Value::Null)
    );
    // Only the hidden case is wrong: it has more elements.
    let body = format!("{SUM} setp.ge.u32 %p2, %r1, 185; @%p2 mov.f32 %f3, %f1;");
    let of_hidden = graded_as(&elementwise(&body), Replays::Wrong(Wish::default()));
    assert!(!of_hidden.is_right());
    assert_eq!(of_hidden.replayed, None);
    let beyond = Wish {
        blocks: vec![99],
        ..Wish::default()
    };
    let without = graded_as(&right, Replays::All(beyond));
    assert_eq!(without.replayed, None);
    assert!(
        without.notes[0].starts_with("small is not replayed: "),
        "{:?}",
        without.notes
    );
}
