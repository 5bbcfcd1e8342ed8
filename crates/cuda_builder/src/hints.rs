//! Hints after an error of rustc in kernels: what a kernel has instead, and why.
//!
//! Most follow from the error's code and from the text that rustc marks as wrong, and not from the
//! words of its message. Where types disagree, the types are in these words alone.

use serde_json::Value;

/// The place of a kernel, which decides whether it can have a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crate {
    /// A crate with a manifest: it chooses its features and dependencies.
    Own,
    /// A file of kernels without a manifest, such as a submission: it has no heap.
    File,
}

/// A name of `std` that kernels look for, and what there is instead.
struct Hint {
    names: &'static [&'static str],
    /// The code of the error: of a method or function that a type lacks, or of any other name.
    is_method: bool,
    text: &'static str,
    /// In a crate with a manifest, if that can do more.
    own: Option<&'static str>,
}

const HINTS: [Hint; 7] = [
    Hint {
        names: &["println", "print", "eprintln", "eprint", "dbg"],
        is_method: false,
        text: "kernels print with `println!` of cuda_std: `use cuda_std::println;`, or all of `cuda_std::prelude::*`",
        own: None,
    },
    Hint {
        names: &["Vec", "vec", "Box", "HashMap", "VecDeque"],
        is_method: false,
        text: "a kernel has no heap: use an array (`[0.0f32; 8]`, of the thread's own), `shared_array![f32; 256]` (the block's), \
               or a buffer that launch.rs makes",
        own: Some(
            "a kernel has no heap by default: use an array (`[0.0f32; 8]`, of the thread's own), `shared_array![f32; 256]` \
             (the block's), or a buffer of the host's. `Vec` and `Box` need the feature `alloc` of cuda_std, and cost a call \
             of the device's `malloc` each",
        ),
    },
    Hint {
        names: &["String", "format", "to_string"],
        is_method: false,
        text: "a kernel has no heap and no `String`: print the values themselves with `println!` of cuda_std",
        own: Some(
            "a kernel has no heap by default, and no `String`: print the values themselves with `println!` of cuda_std. \
             `String` and `format!` need the feature `alloc` of cuda_std",
        ),
    },
    Hint {
        names: &["std"],
        is_method: false,
        text: "kernels have `core` and `cuda_std` instead of `std`: no function of the host's runs on a GPU",
        own: None,
    },
    Hint {
        names: &[
            "sqrt",
            "mul_add",
            "floor",
            "ceil",
            "trunc",
            "round",
            "fract",
            "sin",
            "cos",
            "tan",
            "sin_cos",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "exp",
            "exp2",
            "exp_m1",
            "ln",
            "ln_1p",
            "log",
            "log2",
            "log10",
            "powf",
            "powi",
            "cbrt",
            "hypot",
            "div_euclid",
            "rem_euclid",
        ],
        is_method: true,
        text: "this function of floats is in `cuda_std::GpuFloat`: `use cuda_std::prelude::*;`. Where speed counts more than \
               digits, `cuda_std::float` has `sin_approx(x)` and its like",
        own: None,
    },
    Hint {
        names: &["recip"],
        is_method: true,
        text: "kernels have no such function: divide, or use `cuda_std::float::recip_approx(x)`",
        own: None,
    },
    Hint {
        names: &["spawn", "Instant", "Mutex"],
        is_method: false,
        text: "kernels have threads, atomics and clocks of their own: `cuda_std::thread`, `cuda_std::atomic`, `cuda_std::clock`",
        own: None,
    },
];

/// rustc's code for a method, function or constant that a type lacks.
const NO_SUCH_METHOD: &str = "E0599";

/// rustc's codes for types that disagree: mismatched types, and a trait that a type lacks, such as
/// that of an operator.
const TYPES: [&str; 2] = ["E0308", "E0277"];

/// rustc's code for an operation that needs `unsafe`.
const NEEDS_UNSAFE: &str = "E0133";

/// rustc's code for a crate that it does not find.
const NO_SUCH_CRATE: &str = "E0463";

/// The hint for an error: a message of rustc in JSON. `is_own` says of a file's name whether the
/// author of the kernels wrote it.
pub fn hint(message: &Value, of: Crate, is_own: impl Fn(&str) -> bool) -> Option<&'static str> {
    let code = message["code"]["code"].as_str().unwrap_or_default();
    let words = message["message"].as_str().unwrap_or_default();
    if code == NO_SUCH_CRATE && words.contains("`std`") {
        return Some(
            "a kernel crate needs dependencies without `std`: no function of the host's runs on a GPU. Look for a feature \
             of theirs, often `default-features = false`",
        );
    }
    let marked = marked(message, is_own)?;
    if code == NEEDS_UNSAFE {
        return Some(
            "the compiler cannot check this: write `unsafe { ... }` around it, and a comment `// SAFETY:` that says why the \
             address is in its buffer and why no other thread uses the element",
        );
    }
    if TYPES.contains(&code)
        && let Some(hint) = of_types(message, words)
    {
        return Some(hint);
    }
    let is_method = code == NO_SUCH_METHOD;
    let fits = |hint: &&Hint| hint.is_method == is_method && hint.names.contains(&&*marked);
    let hint = HINTS.iter().find(fits)?;
    match of {
        Crate::Own => hint.own.or(Some(hint.text)),
        Crate::File => Some(hint.text),
    }
}

/// The hint for types that disagree.
fn of_types(message: &Value, words: &str) -> Option<&'static str> {
    let spans = message["spans"].as_array().into_iter().flatten();
    let labels = spans.filter_map(|span| span["label"].as_str());
    let said: Vec<&str> = labels.chain([words]).collect();
    let says = |what: &str| said.iter().any(|text| text.contains(what));
    if words.contains("cannot be indexed by `") {
        return Some(
            "an index of a slice is a `usize`: convert it once, `let i = thread::index_1d() as usize;`",
        );
    }
    if says("`f32`") && says("`f64`") {
        return Some(
            "Rust converts no number by itself: write `2.0f32` or `2.0`, and `core::f32::consts`. A GPU computes in `f64` \
             2 to 64 times as slowly as in `f32`",
        );
    }
    None
}

/// The text that a message of rustc marks in a file of the author's, up to a `!`.
fn marked(message: &Value, is_own: impl Fn(&str) -> bool) -> Option<String> {
    let spans = message["spans"].as_array()?;
    let is_own = |span: &&Value| {
        span["is_primary"] == true && span["file_name"].as_str().is_some_and(&is_own)
    };
    let line = spans.iter().find(is_own)?["text"].get(0)?;
    let column = |name: &str| usize::try_from(line[name].as_u64()?).ok()?.checked_sub(1);
    let (start, end) = (column("highlight_start")?, column("highlight_end")?);
    let text = line["text"].as_str()?.chars().skip(start);
    Some(text.take(end.checked_sub(start)?).collect())
}

/// The function of `cuda_std` for one of C that nothing defines in PTX.
pub(crate) fn of_undefined(function: &str) -> Option<String> {
    let of_f32 = function.strip_suffix('f').unwrap_or(function);
    let method = match of_f32 {
        "fabs" => "abs",
        "log" => "ln",
        "log1p" => "ln_1p",
        "expm1" => "exp_m1",
        "pow" => "powf",
        "fma" => "mul_add",
        _ => of_f32,
    };
    let known = HINTS
        .iter()
        .any(|hint| hint.is_method && hint.names.contains(&method));
    (known || method == "abs")
        .then(|| format!("`{function}` of C is `GpuFloat::{method}` of cuda_std"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hint for an error of this code that marks `what` in `text`.
    fn of(code: &str, text: &str, what: &str) -> Option<&'static str> {
        let start = text[..text.find(what).unwrap()].chars().count() + 1;
        let message = serde_json::json!({ "code": { "code": code }, "message": "", "spans": [{
            "is_primary": true, "file_name": "kernels.rs",
            "text": [{ "text": text, "highlight_start": start, "highlight_end": start + what.len() }],
        }] });
        hint(&message, Crate::File, |file| file == "kernels.rs")
    }

    #[test]
    fn names_of_std_have_hints() {
        let hint = of("", "println!()", "println");
        assert!(hint.unwrap().contains("use cuda_std::println;"));
        assert!(
            of("E0433", "Vec::new()", "Vec")
                .unwrap()
                .contains("no heap")
        );
        assert!(
            of("E0599", "let ä = k.sin();", "sin")
                .unwrap()
                .contains("GpuFloat")
        );
        // Names of the submission's own.
        assert_eq!(of("E0425", "sin(x)", "sin"), None);
        assert_eq!(of("E0599", "k.my_method()", "my_method"), None);
    }

    /// A dependency that calls functions of the host's.
    #[test]
    fn a_crate_that_needs_std_has_a_hint() {
        let message = serde_json::json!({
            "code": { "code": "E0463" }, "message": "can't find crate for `std`", "spans": [],
        });
        let hint = hint(&message, Crate::Own, |_| false);
        assert!(hint.unwrap().contains("`default-features = false`"));
    }

    #[test]
    fn what_others_wrote_has_none() {
        let message = serde_json::json!({ "code": { "code": "E0133" }, "spans": [{
            "is_primary": true, "file_name": "core.rs",
            "text": [{ "text": "x", "highlight_start": 1, "highlight_end": 2 }],
        }] });
        assert_eq!(
            hint(&message, Crate::Own, |file| file == "kernels.rs"),
            None
        );
        assert_eq!(hint(&serde_json::json!({}), Crate::Own, |_| true), None);
    }

    #[test]
    fn functions_of_c_have_others() {
        let said = |function: &str| of_undefined(function).unwrap_or_default();
        assert_eq!(said("powf"), "`powf` of C is `GpuFloat::powf` of cuda_std");
        assert_eq!(
            said("log1pf"),
            "`log1pf` of C is `GpuFloat::ln_1p` of cuda_std"
        );
        assert_eq!(said("fabs"), "`fabs` of C is `GpuFloat::abs` of cuda_std");
        assert_eq!(of_undefined("fopen"), None);
    }
}
