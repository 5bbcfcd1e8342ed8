//! Lines of code of built-in variants, without empty lines and comments.
//!
//! Variants share files, and each counts the whole of those that it uses: the `kernels.rs` that
//! names a kernel of its plan, and its `launch.rs`. The physics that kernels share with the CPU
//! references is in other files, and counts for no variant.

use lab::{Lab, Variant};
use results::CodeLines;

/// The lines of a variant; none where this program has no source of it.
pub fn of_variant(lab: &Lab, variant: &Variant) -> Option<CodeLines> {
    let sources = host::solutions::SOURCES;
    if !sources.iter().any(|(path, _)| is_of(lab.name, path)) {
        return None;
    }
    let cases = lab.small_cases().into_iter();
    let mut plans = cases.filter_map(|case| variant.record(case.as_ref()).ok());
    // A case of no timesteps launches nothing.
    let plan = plans.find(|plan| !plan.kernels().is_empty())?;
    of_kernel(sources, lab.name, variant.base(), &plan.kernels()[0])
}

/// The lines of the variant that launches this kernel, among sources with their paths.
fn of_kernel(
    sources: &[(&str, &str)],
    lab: &str,
    variant: &str,
    kernel: &str,
) -> Option<CodeLines> {
    let mut files = sources.iter().filter(|(path, _)| is_of(lab, path));
    let has_kernels =
        |(path, text): &&(&str, &str)| path.ends_with("/kernels.rs") && names(text, kernel);
    let (path, kernels) = files.find(has_kernels)?;
    // The launches are beside the kernels, or in a folder of the variant's name below them.
    let folder = path.trim_end_matches("kernels.rs");
    let find = |wanted: String| sources.iter().find(|(known, _)| *known == wanted);
    let launch = find(format!("{folder}{variant}/launch.rs"));
    let (_, launch) = launch.or_else(|| find(format!("{folder}launch.rs")))?;
    Some(CodeLines {
        kernels: code(kernels).count(),
        launch: code(launch).count(),
    })
}

fn is_of(lab: &str, path: &str) -> bool {
    path.split('/').next() == Some(lab)
}

/// Whether a line of code has this word: a function's name, or an argument of the macro that makes
/// the function.
fn names(text: &str, kernel: &str) -> bool {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    code(text).any(|line| line.split(is_separator).any(|word| word == kernel))
}

/// The lines without empty ones and comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::labs;

    const KERNELS: &str = "\
//! Kernels; `fifth` is not one of them.

/// Helps.
fn helper(x: u32) -> u32 {
    // A comment.
    x + 1
}

#[kernel(max_threads = 32)]
pub unsafe fn first(u: *mut u32) {

    unsafe { *u = helper(1) };
}

kernels!(third fourth);
";

    #[test]
    fn a_variant_counts_the_files_that_it_uses() {
        let launch = "//! Launches.\n\nfn record() {\n}\n";
        let sources = [
            ("lab/zero/kernels.rs", "pub unsafe fn zeroth() {}\n"),
            ("lab/one/kernels.rs", KERNELS),
            ("lab/one/launch.rs", launch),
            ("lab/one/own/launch.rs", "fn record() {}\n"),
            ("other/kernels.rs", "pub unsafe fn fifth() {}\n"),
        ];
        let lines = |variant: &str, kernel: &str| {
            let lines = of_kernel(&sources, "lab", variant, kernel)?;
            Some((lines.kernels, lines.launch))
        };
        assert_eq!(lines("plain", "first"), Some((8, 2)));
        assert_eq!(lines("own", "first"), Some((8, 1)));
        assert_eq!(lines("plain", "fourth"), Some((8, 2)));
        // A comment is not code, and another lab's kernels are not this lab's.
        assert_eq!(lines("plain", "fifth"), None);
        // Kernels without launches.
        assert_eq!(lines("plain", "zeroth"), None);
        assert_eq!(of_kernel(&[], "lab", "plain", "first"), None);
    }

    #[test]
    fn built_in_variants_have_some() {
        for lab in labs() {
            for variant in &lab.variants {
                let lines = of_variant(lab, variant);
                let name = format!("{} {}: {lines:?}", lab.name, variant.name);
                // The kernels of membench are the course's own, not the variants'.
                let is_known = lines.is_some_and(|lines| lines.kernels >= 3 && lines.launch >= 5);
                assert_eq!(is_known, lab.name != "membench", "{name}");
            }
        }
    }
}
