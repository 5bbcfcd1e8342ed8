//! The edit for a defect of LLVM: addresses from narrow signed indices.
//!
//! `llc` derives an address from an earlier one where it can: `&p[j]` is `&p[i]` moved by `j - i`
//! elements (the pass StraightLineStrengthReduce, from `-O1` on). If an index is the sign
//! extension of a narrower number, the pass also takes the difference of the narrow numbers, and
//! extends that. The result is wrong where narrow arithmetic wraps: a bool and its opposite, as
//! signed numbers of one bit, "differ" by 1 whether the bool is true or false. `sort_unstable` of
//! `core` has such a pair of pointers. (<https://github.com/llvm/llvm-project/pull/204278>; LLVM
//! 22.1 has the defect.)
//!
//! With an addition of 0 behind the extension the pass sees a number of 64 bits, and no narrower
//! one below it. The passes after it remove the addition, so that all other code stays the same.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::process::command;

/// Before the name of a value, the name of its extension without the addition.
const EXTENDED: &str = "__cuda_builder_sext.";

/// The optimised IR in `text`, with an addition of 0 behind each sign extension to 64 bits. `None`
/// if it has no such extension.
pub fn hide(text: &str) -> Option<String> {
    if !text.contains(" = sext i") {
        return None;
    }
    let mut out = String::with_capacity(text.len() + text.len() / 64);
    for line in text.lines() {
        match hidden(line) {
            Some(lines) => out.push_str(&lines),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Some(out)
}

/// The two lines for one: `%i = sext i8 %n to i64, !dbg !7`.
fn hidden(line: &str) -> Option<String> {
    let (result, rest) = line.trim_start().split_once(" = sext i")?;
    let (operand, after) = rest.split_once(" to i64")?;
    let name = result.strip_prefix('%')?;
    let is_whole = after.is_empty() || after.starts_with(',');
    // A name in quotes keeps them around all of it.
    let (quote, name) = name.split_at(usize::from(name.starts_with('"')));
    let extended = format!("%{quote}{EXTENDED}{name}");
    is_whole.then(|| {
        format!("  {extended} = sext i{operand} to i64{after}\n  {result} = add i64 {extended}, 0")
    })
}

/// Whether this `llc` has the defect: whether its PTX of [`DEFECT`] is another one with the edit.
/// One that does not run is said to have it, and fails where it is needed.
pub fn is_broken(llc: &Path) -> bool {
    let ptx = |module: &str| -> Option<Vec<u8>> {
        let mut run = command(llc)
            .args(["-O3", "-o", "-", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        // A program that ends before it has read all says why by its status.
        let _ = run.stdin.take()?.write_all(module.as_bytes());
        let output = run.wait_with_output().ok()?;
        output.status.success().then_some(output.stdout)
    };
    let edited = hide(DEFECT).expect("it has extensions");
    match (ptx(DEFECT), ptx(&edited)) {
        (Some(as_it_is), Some(edited)) => as_it_is != edited,
        _ => true,
    }
}

/// The forms of the defect, one a kernel: a constant difference that wraps; a difference in a
/// variable that wraps, between numbers that do not; an index of elements of two sizes, where the
/// narrow index is negated, and -128 has no opposite.
const DEFECT: &str = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @constant(ptr %p, i64 %a, i64 %b) {
  %less = icmp ult i64 %a, %b
  %not.less = xor i1 %less, true
  %i = sext i1 %not.less to i64
  %j = sext i1 %less to i64
  %first = getelementptr i64, ptr %p, i64 %i
  %second = getelementptr i64, ptr %p, i64 %j
  store i64 1, ptr %first, align 8
  store i64 2, ptr %second, align 8
  ret void
}

define ptx_kernel void @variable(ptr %p, i8 %a, i8 %b, i8 %c) {
  %n = add nsw i8 %a, %b
  %m = add nsw i8 %a, %c
  %difference = sub i8 %m, %n
  %sum = add i8 %c, %difference
  store i8 %sum, ptr %p, align 1
  %i = sext i8 %n to i64
  %j = sext i8 %m to i64
  %first = getelementptr i16, ptr %p, i64 %i
  %second = getelementptr i16, ptr %p, i64 %j
  store i16 1, ptr %first, align 2
  store i16 2, ptr %second, align 2
  ret void
}

define ptx_kernel void @negated(ptr %p, i8 %a, i8 %b) {
  %n = add nsw i8 %a, %b
  %i = sext i8 %n to i64
  %first = getelementptr [4 x i8], ptr %p, i64 %i
  %second = getelementptr [3 x i8], ptr %p, i64 %i
  store i8 1, ptr %first, align 1
  store i8 2, ptr %second, align 1
  ret void
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_to_64_bits_are_hidden() {
        let text = "  %i = sext i8 %n to i64, !dbg !7\n  %12 = sext i1 %c to i64\n  %\"a b\" = sext i32 %3 to i64\n";
        assert_eq!(
            hide(text).unwrap(),
            "  %__cuda_builder_sext.i = sext i8 %n to i64, !dbg !7\n  %i = add i64 %__cuda_builder_sext.i, 0\n  \
             %__cuda_builder_sext.12 = sext i1 %c to i64\n  %12 = add i64 %__cuda_builder_sext.12, 0\n  \
             %\"__cuda_builder_sext.a b\" = sext i32 %3 to i64\n  %\"a b\" = add i64 %\"__cuda_builder_sext.a b\", 0\n"
        );
        for other in [
            "  %i = sext i8 %n to i32\n",
            "  %i = sext i64 %n to i640\n",
            "  %i = sext <2 x i8> %n to <2 x i64>\n",
        ] {
            assert_eq!(hide(other).unwrap_or_else(|| other.to_owned()), other);
        }
        assert_eq!(hide("  %i = zext i8 %n to i64\n"), None);
    }

    /// The edit goes by itself. The compilers are shell scripts here.
    #[test]
    #[cfg(unix)]
    fn a_compiler_that_leaves_narrow_indices_alone_has_no_defect() {
        use std::os::unix::fs::PermissionsExt;
        let tools = crate::toolchain::find().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let compiler = |name: &str, script: &str| {
            let program = folder.path().join(name);
            std::fs::write(&program, format!("#!/bin/sh\nexec {script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            program
        };
        let llc = tools.llc.display();
        let without = compiler("without", &format!("{llc} -opt-disable=slsr \"$@\""));
        assert!(!is_broken(&without));
        // Its answers to the module as it is and to the edited one differ.
        assert!(is_broken(&compiler("with", "cat")));
        assert!(is_broken(&compiler("failing", "false")));
    }
}
