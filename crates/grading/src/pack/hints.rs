//! Hints for what kernels lack: after an error of rustc, what `cuda_std` has instead of a name of
//! `std`.
//!
//! They follow from the text that rustc marks as wrong, which is the submission's own, and from the
//! error's code; rustc's words do not matter.

/// A name of `std` that kernels look for, and what there is instead.
struct Hint {
    names: &'static [&'static str],
    /// The code of the error: of a method or function that a type lacks, or of any other name.
    is_method: bool,
    text: &'static str,
}

const HINTS: [Hint; 7] = [
    Hint {
        names: &["println", "print", "eprintln", "eprint", "dbg"],
        is_method: false,
        text: "kernels print with `println!` of cuda_std: `use cuda_std::println;`, or all of `cuda_std::prelude::*`",
    },
    Hint {
        names: &["Vec", "vec", "Box", "HashMap", "VecDeque"],
        is_method: false,
        text: "a kernel has no heap: use an array (`[0.0f32; 8]`, of the thread's own), `shared_array![f32; 256]` (the block's), \
               or a buffer that launch.rs makes",
    },
    Hint {
        names: &["String", "format", "to_string"],
        is_method: false,
        text: "a kernel has no heap and no `String`: print the values themselves with `println!` of cuda_std",
    },
    Hint {
        names: &["std"],
        is_method: false,
        text: "kernels have `core` and `cuda_std` instead of `std`",
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
    },
    Hint {
        names: &["recip"],
        is_method: true,
        text: "kernels have no such function: divide, or use `cuda_std::float::recip_approx(x)`",
    },
    Hint {
        names: &["spawn", "Instant", "Mutex"],
        is_method: false,
        text: "kernels have threads, atomics and clocks of their own: `cuda_std::thread`, `cuda_std::atomic`, `cuda_std::clock`",
    },
];

/// rustc's code for a method, function or constant that a type lacks.
const NO_SUCH_METHOD: &str = "E0599";

/// The hint for an error of this code at this text of kernels.rs.
pub fn hint(code: &str, marked: &str) -> Option<&'static str> {
    let is_method = code == NO_SUCH_METHOD;
    let fits = |hint: &&Hint| hint.is_method == is_method && hint.names.contains(&marked);
    HINTS.iter().find(fits).map(|hint| hint.text)
}

/// The text that a message of rustc marks in kernels.rs.
pub fn marked(message: &serde_json::Value) -> Option<String> {
    let spans = message["spans"].as_array()?;
    let is_own =
        |span: &&serde_json::Value| span["is_primary"] == true && span["file_name"] == "kernels.rs";
    let line = spans.iter().find(is_own)?["text"].get(0)?;
    let column = |name: &str| usize::try_from(line[name].as_u64()?).ok()?.checked_sub(1);
    let (start, end) = (column("highlight_start")?, column("highlight_end")?);
    let text = line["text"].as_str()?.chars().skip(start);
    Some(text.take(end.checked_sub(start)?).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_std_have_hints() {
        assert!(
            hint("", "println")
                .unwrap()
                .contains("use cuda_std::println;")
        );
        assert!(hint("E0433", "Vec").unwrap().contains("no heap"));
        assert!(hint("E0599", "sin").unwrap().contains("GpuFloat"));
        // A name of the submission's own.
        assert_eq!(hint("E0425", "sin"), None);
        assert_eq!(hint("E0599", "my_method"), None);
    }

    #[test]
    fn the_marked_text_is_the_submission_s() {
        let message = serde_json::json!({ "spans": [{
            "is_primary": true, "file_name": "kernels.rs",
            "text": [{ "text": "    let ä = k.sin();", "highlight_start": 15, "highlight_end": 18 }],
        }] });
        assert_eq!(marked(&message).as_deref(), Some("sin"));
        assert_eq!(marked(&serde_json::json!({ "spans": [] })), None);
    }
}
