//! Kernels that must not panic: `#[kernel(no_panic)]`.
//!
//! In optimised IR a panic is a call of `llvm.trap`. Its debug information holds the calls through
//! which it was inlined, and thus the line of the user's code.

use std::collections::{BTreeMap, BTreeSet};

use crate::Error;
use crate::ir::symbol;

/// A function of optimised IR.
#[derive(Default)]
struct Function<'t> {
    /// The functions that it names.
    uses: BTreeSet<&'t str>,
    /// The numbers of the debug locations of its traps.
    traps: Vec<Option<&'t str>>,
}

/// Refuses the first of the `kernels` that can still panic in the optimised IR `text`.
pub fn check(text: &str, kernels: &[String]) -> Result<(), Error> {
    if kernels.is_empty() {
        return Ok(());
    }
    let functions = functions(text);
    let metadata = metadata(text);
    for kernel in kernels {
        let mut places = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![kernel.as_str()];
        while let Some(name) = waiting.pop() {
            let Some(function) = functions.get(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            waiting.extend(&function.uses);
            places.extend(function.traps.iter().map(|trap| place(*trap, &metadata)));
        }
        places.sort();
        places.dedup();
        if !places.is_empty() {
            return Err(Error::MayPanic {
                kernel: kernel.clone(),
                places,
            });
        }
    }
    Ok(())
}

fn functions(text: &str) -> BTreeMap<&str, Function<'_>> {
    let mut functions: BTreeMap<&str, Function> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if line.starts_with("define ") {
            current = symbol(line);
        } else if line == "}" {
            current = None;
        } else if let Some(name) = current {
            let function = functions.entry(name).or_default();
            if line.contains("call void @llvm.trap(") {
                let location = line.split_once("!dbg ").map(|(_, number)| number.trim());
                function.traps.push(location);
            }
            let symbols = line
                .match_indices('@')
                .filter_map(|(at, _)| symbol(&line[at..]));
            function.uses.extend(symbols);
        }
    }
    functions
}

/// The lines of metadata, by number: `!7 = !DILocation(...)`.
fn metadata(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter(|line| line.starts_with('!'));
    lines.filter_map(|line| line.split_once(" = ")).collect()
}

/// A value of a metadata line: `line` of `!DILocation(line: 3, column: 5)` is `3`.
fn field<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let marks = [format!("({name}: "), format!(", {name}: ")];
    let at = marks
        .iter()
        .find_map(|mark| Some(line.find(mark)? + mark.len()))?;
    let value = &line[at..];
    let end = match value.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => value.find([',', ')'])?,
    };
    Some(value[..end].trim_matches('"'))
}

/// The innermost place of a trap that is in no library, as a text.
fn place(location: Option<&str>, metadata: &BTreeMap<&str, &str>) -> String {
    let mut next = location;
    let mut last = None;
    while let Some(line) = next.and_then(|number| metadata.get(number)) {
        let numbers = (field(line, "line"), field(line, "column"));
        if let (Some((file, is_of_rust)), (Some(line), column)) = (file(line, metadata), numbers) {
            let is_library = is_of_rust || file.contains("cuda_std/src/");
            let text = format!("{file}:{line}:{}", column.unwrap_or("0"));
            if !is_library && line != "0" {
                return text;
            }
            last = Some(text);
        }
        next = field(line, "inlinedAt");
    }
    last.unwrap_or_else(|| "a place that the compiler has forgotten".to_owned())
}

/// The file of a location, and whether it is of Rust's library. The scope may be a block within
/// another.
fn file<'t>(location: &str, metadata: &BTreeMap<&'t str, &'t str>) -> Option<(&'t str, bool)> {
    let mut scope = *metadata.get(field(location, "scope")?)?;
    loop {
        if let Some(file) = field(scope, "file") {
            let file = metadata.get(file)?;
            let is_of_rust = field(file, "directory").is_some_and(|d| d.contains("/library/"));
            return Some((field(file, "filename")?, is_of_rust));
        }
        scope = metadata.get(field(scope, "scope")?)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
define ptx_kernel void @calls() #0 {
  call void @helper(), !dbg !1
  ret void
}
define internal void @helper() #0 {
  tail call void @llvm.trap(), !dbg !2
}
define ptx_kernel void @calm() #0 {
  ret void
}
declare void @llvm.trap()
!2 = !DILocation(line: 60, column: 5, scope: !3, inlinedAt: !5)
!3 = distinct !DISubprogram(name: "panic", scope: !9, file: !4, line: 50)
!4 = !DIFile(filename: "src/panicking.rs", directory: "/rust/library/core")
!5 = distinct !DILocation(line: 12, column: 9, scope: !6)
!6 = distinct !DILexicalBlock(scope: !7, file: !8, line: 11)
!7 = distinct !DISubprogram(name: "helper", file: !8, line: 10)
!8 = !DIFile(filename: "kernels/src/lib.rs", directory: "/home/me")
"#;

    #[test]
    fn a_panic_in_a_called_function_has_the_place_of_its_cause() {
        let error = check(TEXT, &["calm".to_owned(), "calls".to_owned()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel `calls` is marked `no_panic`, and may panic:\n  kernels/src/lib.rs:12:9\n\
             Remedy: check what the panic is about before, for example an index with `if i < x.len()`"
        );
        check(TEXT, &["calm".to_owned()]).unwrap();
        check(TEXT, &[]).unwrap();
    }
}
