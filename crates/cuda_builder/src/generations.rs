//! One text for several generations of GPUs.
//!
//! `llc` writes the same code of a kernel for every architecture that has the code's instructions.
//! So kernels are compiled once, for the newest architecture, and comments at the end of the PTX
//! say what older ones have of it. `device` makes their texts of that:
//!
//! ```text
//! // cuda_std.generation sm_75 7.4
//! // cuda_std.needs fast sm_80 cp.async
//! ```
//!
//! Here devices from compute capability 7.5 on have every kernel but `fast`, which needs 8.0 for
//! its `cp.async`; the text for 7.5 is of PTX 7.4. A kernel needs the newer of the capability that
//! its attribute names and the one that its instructions ask for.
//!
//! A line may have another text for devices before an architecture, in a comment of its own:
//!
//! ```text
//! redux.sync.add.s32 %r3, %r2, %r1; // cuda_std.before sm_80 { ... }
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use crate::NvvmArch;

/// Parts of an instruction or a directive, the architecture that brought them, and their name for
/// readers (PTX ISA, "Target ISA Notes" of each instruction). LLVM writes none of the other newer
/// forms, and inline assembly of `cuda_std` has none.
const FORMS: [(&str, NvvmArch, &str); 28] = [
    ("cp.async.bulk", NvvmArch::Compute90, "cp.async.bulk"),
    ("st.async", NvvmArch::Compute90, "st.async"),
    ("barrier.cluster", NvvmArch::Compute90, "clusters"),
    ("::cluster", NvvmArch::Compute90, "clusters"),
    ("mapa.", NvvmArch::Compute90, "clusters"),
    ("%cluster", NvvmArch::Compute90, "clusters"),
    ("%nclusterid", NvvmArch::Compute90, "clusters"),
    ("%is_explicit_cluster", NvvmArch::Compute90, "clusters"),
    (".reqnctapercluster", NvvmArch::Compute90, "clusters"),
    (".maxclusterrank", NvvmArch::Compute90, "clusters"),
    (".cluster", NvvmArch::Compute90, "clusters"),
    ("mbarrier.try_wait", NvvmArch::Compute90, "mbarrier"),
    ("expect_tx", NvvmArch::Compute90, "mbarrier"),
    ("fence.proxy", NvvmArch::Compute90, "fence.proxy"),
    ("elect.sync", NvvmArch::Compute90, "elect.sync"),
    ("setmaxnreg", NvvmArch::Compute90, "setmaxnreg"),
    ("griddepcontrol", NvvmArch::Compute90, "griddepcontrol"),
    (".e4m3", NvvmArch::Compute89, "8-bit floats"),
    (".e5m2", NvvmArch::Compute89, "8-bit floats"),
    ("cp.async", NvvmArch::Compute80, "cp.async"),
    ("mbarrier.", NvvmArch::Compute80, "mbarrier"),
    ("redux.sync", NvvmArch::Compute80, "redux.sync"),
    ("L2::cache_hint", NvvmArch::Compute80, "L2::cache_hint"),
    ("createpolicy", NvvmArch::Compute80, "L2::cache_hint"),
    (".bf16", NvvmArch::Compute80, "bf16"),
    (".tf32", NvvmArch::Compute80, "tf32"),
    (".NaN.", NvvmArch::Compute80, "min.NaN, max.NaN"),
    (".relu", NvvmArch::Compute80, "fma.relu"),
];

/// Minima and maxima of 16-bit floats are newer than their sums.
const OF_HALVES: [&str; 2] = ["min.", "max."];

/// The PTX of kernels that are compiled for `arch`, with what devices from `oldest` on have of it.
/// `declared` is what kernels' attributes say.
pub fn marked(
    ptx: &str,
    arch: NvvmArch,
    oldest: NvvmArch,
    declared: &BTreeMap<String, NvvmArch>,
) -> String {
    let mut lines: Vec<String> = ptx.lines().map(str::to_owned).collect();
    let kernels = kernels(&lines);
    // A function's body has no kernel's name under which it could be left out.
    let outside = (0..lines.len()).filter(|i| !kernels.iter().any(|(_, at)| at.contains(i)));
    let of_functions = outside.filter_map(|i| Some(needed(&lines[i])?.0)).max();
    let oldest = of_functions.map_or(oldest, |needed| needed.max(oldest));
    let mut generations = vec![oldest];
    let mut needs = String::new();
    for (name, at) in kernels {
        let body = &mut lines[at];
        if oldest < NvvmArch::Compute80 {
            with_shuffles(body);
            with_fewer_blocks(body);
        }
        let of_lines: Vec<_> = body.iter().filter_map(|line| needed(line)).collect();
        let newest = of_lines.iter().map(|(since, _)| *since).max();
        let stated = declared.get(&name).copied();
        let Some(needed) = newest.max(stated).filter(|needed| *needed > oldest) else {
            continue;
        };
        let own = of_lines.iter().filter(|(since, _)| *since == needed);
        let mut forms: Vec<&str> = own.map(|(_, form)| *form).collect();
        forms.sort_unstable();
        forms.dedup();
        let forms = forms.join(", ");
        needs += format!("// cuda_std.needs {name} {needed} {forms}").trim_end();
        needs.push('\n');
        generations.push(needed);
    }
    generations.sort_unstable();
    generations.dedup();
    let mut out = lines.join("\n") + "\n";
    for generation in generations.iter().filter(|one| **one < arch) {
        let version = generation.ptx_version();
        out += &format!("// cuda_std.generation {generation} {version}\n");
    }
    out + &needs
}

/// The kernels, each with its lines, to the brace that closes its body.
fn kernels(lines: &[String]) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = (from..lines.len()).find(|i| entry(&lines[*i]).is_some()) {
        let mut depth = 0;
        let mut closes = |line: &String| {
            let before = depth;
            for c in code(line).chars() {
                depth += i32::from(c == '{') - i32::from(c == '}');
            }
            depth == 0 && (before > 0 || line.contains('}'))
        };
        let end = lines[start..].iter().position(&mut closes);
        from = end.map_or(lines.len(), |end| start + end + 1);
        let name = entry(&lines[start]).unwrap_or_default();
        found.push((name.to_owned(), start..from));
    }
    found
}

/// The name of the kernel whose first line this is.
fn entry(line: &str) -> Option<&str> {
    let (_, after) = line.split_once(".entry ")?;
    let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    (!line.starts_with("//")).then(|| &after[..end.unwrap_or(after.len())])
}

/// A line's code, without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// The architecture that this line needs, and its form's name, if it is one of those in the table
/// and has no text for older devices.
fn needed(line: &str) -> Option<(NvvmArch, &'static str)> {
    let code = code(line);
    // The table of source files has names like `mbarrier.rs`.
    if line.contains(BEFORE) || code.starts_with(".file") {
        return None;
    }
    let form = FORMS.iter().find(|(part, ..)| code.contains(part));
    let of_halves = || {
        let is_one = code.contains(".f16") && OF_HALVES.iter().any(|name| code.starts_with(name));
        is_one.then_some((NvvmArch::Compute80, "min.f16, max.f16"))
    };
    form.map(|(_, arch, name)| (*arch, *name))
        .or_else(of_halves)
}

/// Between a line's code and its text for devices before 8.0.
const BEFORE: &str = "// cuda_std.before sm_80 ";

/// Threads that a multiprocessor of compute capability 7.5 holds; all others hold more (CUDA C++
/// Programming Guide, "Compute Capabilities").
const THREADS_BEFORE: u32 = 1024;

/// Gives a bound on blocks (`.minnctapersm`) that is for more threads than a multiprocessor had
/// before 8.0 the largest one that there was.
fn with_fewer_blocks(body: &mut [String]) {
    let bound = |line: &String, name: &str| -> Option<u32> {
        let numbers = code(line).strip_prefix(name)?.split(',');
        numbers
            .map(|number| number.trim().parse::<u32>().ok())
            .product()
    };
    let threads = body.iter().find_map(|line| bound(line, ".maxntid"));
    for line in body {
        if let (Some(threads), Some(blocks)) = (threads, bound(line, ".minnctapersm"))
            && threads.saturating_mul(blocks) > THREADS_BEFORE
        {
            let fewer = (THREADS_BEFORE / threads).max(1);
            *line += &format!(" {BEFORE}.minnctapersm {fewer}");
        }
    }
}

/// Gives each reduction over a whole warp (`redux.sync`) the shuffles that do the same.
fn with_shuffles(body: &mut [String]) {
    for i in 0..body.len() {
        if let Some(shuffles) = shuffles(&body[i], body) {
            body[i] += &format!(" {BEFORE}{shuffles}");
        }
    }
}

/// The shuffles for a line that reduces over a whole warp. Every lane gets the result, since each
/// exchange is symmetric; integers may be combined in any order.
fn shuffles(line: &str, body: &[String]) -> Option<String> {
    let operation = code(line).strip_prefix("redux.sync.")?;
    let (operation, operands) = operation.split_once(char::is_whitespace)?;
    let (name, ty) = operation.split_once('.')?;
    if !["s32", "u32", "b32"].contains(&ty) {
        return None;
    }
    let mut operands = operands.trim_end_matches(';').split(',').map(str::trim);
    let (to, from, lanes) = (operands.next()?, operands.next()?, operands.next()?);
    if !is_whole_warp(lanes, body) {
        return None;
    }
    let steps: String = [16, 8, 4, 2, 1]
        .iter()
        .map(|lane| {
            format!(
                "shfl.sync.bfly.b32 %their, %own, {lane}, 31, {lanes}; {name}.{ty} %own, %own, %their; "
            )
        })
        .collect();
    Some(format!(
        "{{ .reg .b32 %own, %their; mov.b32 %own, {from}; {steps}mov.b32 {to}, %own; }}"
    ))
}

/// Whether this operand is the mask of all lanes: the constant, or a register that gets nothing
/// else.
fn is_whole_warp(operand: &str, body: &[String]) -> bool {
    if operand == "-1" {
        return true;
    }
    let is_in = |place: &str| {
        let mut words = place.split(|c: char| !(c.is_alphanumeric() || "%_$".contains(c)));
        words.any(|word| word == operand)
    };
    // An instruction writes its first operand, which may be a vector.
    let writes = |line: &&String| {
        let operands = code(line).split_once(char::is_whitespace);
        operands.is_some_and(|(name, operands)| {
            let end = if operands.trim_start().starts_with('{') {
                '}'
            } else {
                ','
            };
            !name.starts_with(".reg") && operands.split(end).next().is_some_and(is_in)
        })
    };
    let mut written = body.iter().filter(writes);
    let first = written.next().map(|line| code(line));
    let is_all = first.is_some_and(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words == ["mov.b32", &format!("{operand},"), "-1;"]
    });
    is_all && written.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 8.1
.target sm_90
.visible .entry plain(
\t.param .u32 n
)
{
\t.reg .b32 %r<4>;
\t.loc 1 2 3 // src/mapa.cp.async.rs:2:3
\tret;
}
                                        // -- End function
.visible .entry copies(
)
{
\t// begin inline asm
{ .reg .pred p;
}
\t// end inline asm
\tcp.async.ca.shared.global [to], [from], 4;
\tcp.async.commit_group;
\tcreatepolicy.fractional.L2::evict_last.b64 p, 1.0;
}
.visible .entry ring(
)
{
\tcp.async.commit_group;
\tbarrier.cluster.arrive.aligned;
}
.visible .entry stated()
{
}
\t.file\t1 \"src/mbarrier.rs\"
";

    fn needs(ptx: &str, oldest: NvvmArch) -> String {
        let declared = BTreeMap::from([("stated".to_owned(), NvvmArch::Compute86)]);
        let marked = marked(ptx, NvvmArch::Compute90, oldest, &declared);
        marked.strip_prefix(ptx).unwrap().to_owned()
    }

    #[test]
    fn a_kernel_needs_what_its_instructions_and_its_attribute_ask_for() {
        insta::assert_snapshot!(needs(PTX, NvvmArch::Compute75), @"
        // cuda_std.generation sm_75 7.4
        // cuda_std.generation sm_80 7.4
        // cuda_std.generation sm_86 7.4
        // cuda_std.needs copies sm_80 L2::cache_hint, cp.async
        // cuda_std.needs ring sm_90 clusters
        // cuda_std.needs stated sm_86
        ");
        insta::assert_snapshot!(needs(PTX, NvvmArch::Compute80), @"
        // cuda_std.generation sm_80 7.4
        // cuda_std.generation sm_86 7.4
        // cuda_std.needs ring sm_90 clusters
        // cuda_std.needs stated sm_86
        ");
    }

    /// Nobody says which kernels reach it.
    #[test]
    fn a_function_that_needs_a_newer_device_makes_the_module_do_so() {
        let function = ".func helper()\n{\n\tcp.async.commit_group;\n}\n";
        insta::assert_snapshot!(needs(&format!("{PTX}{function}"), NvvmArch::Compute75), @"
        // cuda_std.generation sm_80 7.4
        // cuda_std.generation sm_86 7.4
        // cuda_std.needs ring sm_90 clusters
        // cuda_std.needs stated sm_86
        ");
    }

    #[test]
    fn no_more_blocks_are_asked_for_than_a_multiprocessor_has_held() {
        let of = |threads: &str, blocks: u32| {
            let ptx = format!(".entry k()\n.maxntid {threads}\n.minnctapersm {blocks}\n{{\n}}\n");
            let marked = marked(
                &ptx,
                NvvmArch::Compute90,
                NvvmArch::Compute75,
                &BTreeMap::new(),
            );
            marked.lines().nth(2).unwrap().to_owned()
        };
        assert_eq!(
            of("512", 3),
            ".minnctapersm 3 // cuda_std.before sm_80 .minnctapersm 2"
        );
        assert_eq!(
            of("32, 12, 2", 2),
            ".minnctapersm 2 // cuda_std.before sm_80 .minnctapersm 1"
        );
        assert_eq!(of("512", 2), ".minnctapersm 2");
    }

    #[test]
    fn a_reduction_over_a_whole_warp_has_shuffles_for_older_devices() {
        let body = |mask: &str| {
            format!(
                ".entry k()\n{{\n\t.reg .b32 %r<9>;\n{mask}\n\tredux.sync.add.s32 \t%r3, %r2, %r1;\n}}\n"
            )
        };
        let of = |mask: &str, oldest| {
            let none = BTreeMap::new();
            marked(&body(mask), NvvmArch::Compute90, oldest, &none)
        };
        let whole = "\tmov.b32 \t%r1, -1;";
        insta::assert_snapshot!(of(whole, NvvmArch::Compute75), @"
        .entry k()
        {
        	.reg .b32 %r<9>;
        	mov.b32 	%r1, -1;
        	redux.sync.add.s32 	%r3, %r2, %r1; // cuda_std.before sm_80 { .reg .b32 %own, %their; mov.b32 %own, %r2; shfl.sync.bfly.b32 %their, %own, 16, 31, %r1; add.s32 %own, %own, %their; shfl.sync.bfly.b32 %their, %own, 8, 31, %r1; add.s32 %own, %own, %their; shfl.sync.bfly.b32 %their, %own, 4, 31, %r1; add.s32 %own, %own, %their; shfl.sync.bfly.b32 %their, %own, 2, 31, %r1; add.s32 %own, %own, %their; shfl.sync.bfly.b32 %their, %own, 1, 31, %r1; add.s32 %own, %own, %their; mov.b32 %r3, %own; }
        }
        // cuda_std.generation sm_75 7.4
        ");
        for other in [
            "\tmov.b32 \t%r1, 65535;",
            "\tld.param.b32 \t%r1, [p];",
            "\tmov.b32 \t%r1, -1;\n\t@%p1 mov.b32 %r1, 3;",
            "\tmov.b32 \t%r1, -1;\n\tld.global.v2.b32 {%r4, %r1}, [p];",
        ] {
            let marked = of(other, NvvmArch::Compute75);
            assert!(!marked.contains("cuda_std.before"), "{marked}");
            assert!(
                marked.ends_with("// cuda_std.needs k sm_80 redux.sync\n"),
                "{marked}"
            );
        }
        let newer = of(whole, NvvmArch::Compute80);
        assert_eq!(
            newer.strip_prefix(&body(whole)),
            Some("// cuda_std.generation sm_80 7.4\n")
        );
    }
}
