//! Checks of messages against the sources.

use std::path::Path;

use device::DeviceError;
use device::Error;

use crate::scene::KERNELS;

/// The message of a launch that must fail, without the numbers that change with the compiler: lines
/// of PTX.
///
/// Every place that it names must be an instruction of the kernel in PTX. It must also be a line of
/// Rust source with the mark `//~ fault` (`//~^ fault` marks the line above), of the kernel or of a
/// function inlined into it.
pub fn fault<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let message = match result {
        Ok(values) => panic!("no fault; the result is {values:?}"),
        Err(error) => error.to_string(),
    };
    let kernel = between(&message, "in kernel `", "`").expect("the message names the kernel");
    for (before, after) in message
        .match_indices(" (PTX line ")
        .map(|(at, _)| message.split_at(at))
    {
        let ptx_line = between(after, "(PTX line ", ")").and_then(|n| n.parse().ok());
        assert_in_ptx(kernel, ptx_line.expect("a line number"), &message);
        let line = before.lines().last().unwrap_or_default();
        let (_, place) = line.split_once(" at ").expect("a place");
        let (inlined, own) = match place.split_once(", called at ") {
            Some((inlined, own)) => (Some(inlined), own),
            None => (None, place),
        };
        assert_marked(Some(kernel), own, &message);
        if let Some(inlined) = inlined {
            assert_marked(None, inlined, &message);
        }
    }
    redact(&message, "(PTX line ", ")")
}

/// The kind of the fault: the message's words before the first colon.
pub fn kind(error: &Error) -> String {
    match error {
        Error::Device(DeviceError::Emulated { fault, .. }) => {
            let message = fault.to_string();
            message.split(':').next().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}

/// Replaces all texts between `open` and `close` in `text` by an underscore.
pub fn redact(text: &str, open: &str, close: &str) -> String {
    let mut parts = text.split(open);
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once(close).expect("an end");
        redacted.extend([open, "_", close, rest]);
    }
    redacted
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?
        .1
        .split_once(close)
        .map(|found| found.0)
}

/// Asserts that the PTX line is an instruction of the kernel, or of a function that it may call.
fn assert_in_ptx(kernel: &str, line: usize, message: &str) {
    let before = KERNELS.ptx().lines().take(line).collect::<Vec<_>>();
    let function = before
        .iter()
        .rev()
        .find(|text| text.contains(".entry ") || text.contains(".func "))
        .expect("a function before the line");
    assert!(
        function.contains(&format!(".entry {kernel}(")) || function.contains(".func "),
        "PTX line {line} is in {function:?}:\n{message}"
    );
    let text = before[line - 1].trim();
    assert!(
        text.contains(';'),
        "PTX line {line} is {text:?}:\n{message}"
    );
}

/// Asserts that `source`, as `file:line`, has the mark: in the kernel, or, if that is `None`,
/// anywhere in the file.
fn assert_marked(kernel: Option<&str>, source: &str, message: &str) {
    let (file, line) = source.rsplit_once(':').expect("file:line");
    let line: usize = line.parse().expect("a line number");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(file)).expect("a source file of this workspace");
    let start = kernel.map(|kernel| format!("pub unsafe fn {kernel}("));
    let starts = |code: &str| start.as_ref().is_none_or(|start| code.starts_with(start));
    let marked: Vec<usize> = (1..)
        .zip(text.lines())
        .skip_while(|(_, text)| !starts(text))
        .skip(1)
        .take_while(|(_, text)| kernel.is_none() || !text.starts_with("#[kernel"))
        .filter_map(|(number, text)| match text.split_once("//~")?.1 {
            " fault" => Some(number),
            "^ fault" => Some(number - 1),
            mark => panic!("{file}:{number}: unknown mark {mark:?}"),
        })
        .collect();
    assert!(
        marked.contains(&line),
        "{source} is not among the lines that are marked (in {kernel:?}), {marked:?}:\n{message}"
    );
}
