//! The messages of rustc, in its own structure: which files it read, and what is wrong where.
//! Nothing is concluded from the words of its messages, which a submission chooses.

use std::fs;
use std::path::Path;

use cuda_builder::hints;
use plan::InterfaceInfo;

use super::screen::tokens::{self, TokenKind};

/// The text that rustc printed, as people read it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// The messages, one after the other.
    pub text: String,
    /// Whether one of them is an error in the submission's text.
    pub in_submission: bool,
    /// The code of the first error in the text of ours around it, `lib.rs`.
    pub around: Option<String>,
    /// Hints for names that kernels lack, each once.
    pub hints: Vec<&'static str>,
}

impl Diagnostics {
    /// From its standard error with `--error-format=json`: a JSON value per line. Other lines stay
    /// as they are.
    pub fn read(stderr: &[u8]) -> Diagnostics {
        let mut read = Diagnostics::default();
        for line in String::from_utf8_lossy(stderr).lines() {
            let message: Option<serde_json::Value> = serde_json::from_str(line).ok();
            let Some(message) = message.filter(|message| message["$message_type"].is_string())
            else {
                read.text.push_str(line);
                read.text.push('\n');
                continue;
            };
            read.text
                .push_str(message["rendered"].as_str().unwrap_or_default());
            let code = message["code"]["code"].as_str().unwrap_or_default();
            if message["level"] != "error" || ABOUT_CRATES.contains(&code) {
                continue;
            }
            read.in_submission |= points_at_submission(&message);
            let hint = hints::hint(&message, hints::Crate::File, |file| file == "kernels.rs");
            read.hints
                .extend(hint.filter(|hint| !read.hints.contains(hint)));
            let mut spans = message["spans"].as_array().into_iter().flatten();
            if spans.any(|span| span["is_primary"] == true && span["file_name"] == "lib.rs") {
                read.around.get_or_insert_with(|| code.to_owned());
            }
        }
        read
    }
}

/// The errors that say that a crate cannot be found or read. They point at where it is used, and
/// the machine may be at fault.
const ABOUT_CRATES: [&str; 8] = [
    "E0460", "E0461", "E0462", "E0463", "E0464", "E0514", "E0519", "E0786",
];

/// Whether a message or one of its notes is about a place in a file of the submission, or about
/// what a macro became there.
fn points_at_submission(message: &serde_json::Value) -> bool {
    let array = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let mut spans = array(&message["spans"]);
    for note in array(&message["children"]) {
        spans.extend(array(&note["spans"]));
    }
    spans.iter().any(|mut span| {
        while let Some(file) = span["file_name"].as_str() {
            if ["kernels.rs", "launch.rs"].contains(&file) {
                return true;
            }
            span = &span["expansion"]["span"];
        }
        false
    })
}

/// The mistake in launch.rs as a whole, for the lab with this module: no line of it is wrong, and
/// rustc points at the text around it.
pub fn about_launch(diagnostics: &Diagnostics, launch: &str, lab: &str) -> Option<String> {
    match diagnostics.around.as_deref()? {
        // There is none; it is private; it has fields.
        "E0425" | "E0603" | "E0423" => {
            return Some("launch.rs has no `pub struct Submission;`".to_owned());
        }
        "E0277" => {}
        _ => return None,
    }
    let tokens = tokens::flatten(launch, tokens::MAX_DEPTH).ok()?;
    let names = tokens.iter().filter_map(|token| match &token.kind {
        TokenKind::Name(name) => InterfaceInfo::find(name),
        _ => None,
    });
    let named: Vec<&str> = names.map(|interface| interface.name).collect();
    Some(match named.first() {
        Some(other) if !named.contains(&lab) => format!(
            "launch.rs implements lab `{other}`, but is graded as `{lab}`: is `--lab` right?"
        ),
        _ => format!(
            "launch.rs does not implement `plan::{lab}::Solution` for `pub struct Submission;`"
        ),
    })
}

/// What rustc took from outside of the submission, by its list of dependencies (`--emit=dep-info`),
/// which is there once all macros are expanded: however it is spelled, the compiler opened that
/// file or asked for that variable.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// A file.
    File(String),
    /// A variable of the environment.
    Variable(String),
}

/// The first thing that is taken from outside, by the list in `file`; `own` are the files that
/// belong here. No list, nothing taken: the compiler ended before.
pub fn taken(file: &Path, own: &[&str]) -> Option<Taken> {
    let text = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| {
        if let Some(variable) = line.strip_prefix("# env-dep:") {
            let name = variable.split('=').next().unwrap_or(variable);
            return Some(Taken::Variable(name.to_owned()));
        }
        // Each file has a line of its own that ends so; outputs have others, with what they depend
        // on behind the colon.
        let path = line.strip_suffix(':')?;
        (!own.contains(&path)).then(|| Taken::File(path.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: &str, file: &str, rendered: &str) -> String {
        let value = serde_json::json!({
            "$message_type": "diagnostic", "level": level, "rendered": rendered,
            "message": rendered, "spans": [{ "file_name": file }],
        });
        format!("{value}\n")
    }

    #[test]
    fn messages_are_read_by_their_structure() {
        let all = line("warning", "launch.rs", "linking with `cc` failed\n")
            + "out of memory\n"
            + &line("error", "main.rs", "E\n");
        let read = Diagnostics::read(all.as_bytes());
        assert_eq!(read.text, "linking with `cc` failed\nout of memory\nE\n");
        assert!(!read.in_submission);
        let more = Diagnostics::read((all + &line("error", "kernels.rs", "F\n")).as_bytes());
        assert!(more.in_submission);
        let mut nested = serde_json::json!({
            "$message_type": "diagnostic", "level": "error", "rendered": "", "message": "",
            "spans": [{ "file_name": "core.rs", "expansion": { "span": { "file_name": "launch.rs" } } }],
        });
        let of = |value: &serde_json::Value| Diagnostics::read(value.to_string().as_bytes());
        assert!(of(&nested).in_submission);
        nested["code"] = serde_json::json!({ "code": "E0463" });
        assert!(!of(&nested).in_submission);
        // JSON of another kind is text too.
        assert_eq!(
            Diagnostics::read(b"{\"level\":\"error\"}").text,
            "{\"level\":\"error\"}\n"
        );
    }

    #[test]
    fn what_is_taken_from_outside_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.d");
        let list = |text: &str| {
            fs::write(&file, text).unwrap();
            taken(&file, &["lib.rs", "kernels.rs"])
        };
        let own =
            "x.d: lib.rs kernels.rs\n\nlibx.rlib: lib.rs kernels.rs\n\nlib.rs:\nkernels.rs:\n";
        assert_eq!(list(own), None);
        let other = list(&format!("{own}/a\\ b.rs:\n"));
        assert_eq!(other, Some(Taken::File("/a\\ b.rs".to_owned())));
        let variable = list(&format!("{own}\n# env-dep:HOME=/root\n"));
        assert_eq!(variable, Some(Taken::Variable("HOME".to_owned())));
        let unset = list(&format!("{own}\n# env-dep:HOME\n"));
        assert_eq!(unset, Some(Taken::Variable("HOME".to_owned())));
        fs::remove_file(&file).unwrap();
        assert_eq!(taken(&file, &[]), None);
    }
}
