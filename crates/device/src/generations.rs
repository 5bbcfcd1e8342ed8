//! A module's text for devices that are older than those it was compiled for.
//!
//! `cuda_builder` compiles kernels once, for the newest devices that any of them needs, and says in
//! comments at the end of the PTX what older devices have of it (`cuda_builder::generations`):
//!
//! ```text
//! // cuda_std.generation sm_75 7.4
//! // cuda_std.needs fast sm_80 cp.async
//! ```
//!
//! The text for compute capability 7.5 is then the module's, of PTX 7.4, without kernel `fast`. A
//! line may have another text for older devices behind it:
//!
//! ```text
//! redux.sync.add.s32 %r3, %r2, %r1; // cuda_std.before sm_80 { ... }
//! ```

/// A generation of devices that have a part of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// The compute capability, major and minor.
    pub capability: (u32, u32),
    /// The architecture, as `.target` has it.
    target: String,
    /// The version of PTX that such devices' drivers read.
    version: String,
}

/// The oldest devices that have a kernel, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs<'t> {
    /// The compute capability, major and minor.
    pub capability: (u32, u32),
    /// The instructions that need it, as in `cp.async`; empty if only its attribute says so.
    pub forms: &'t str,
}

const GENERATION: &str = "// cuda_std.generation ";
const NEEDS: &str = "// cuda_std.needs ";
const BEFORE: &str = "// cuda_std.before ";

/// The rest behind this mark in the comments at the end of the text, last line first.
fn marked<'t>(text: &'t str, mark: &str) -> impl Iterator<Item = &'t str> {
    let comments = text.lines().rev().take_while(|line| line.starts_with("//"));
    comments.filter_map(move |line| line.strip_prefix(mark))
}

/// The generations older than the text's own that have a part of it, the oldest first.
pub fn generations(text: &str) -> Vec<Generation> {
    let read = |mark: &str| {
        let (target, version) = mark.split_once(' ')?;
        Some(Generation {
            capability: ptx::capability(target)?,
            target: target.to_owned(),
            version: version.to_owned(),
        })
    };
    let mut all: Vec<Generation> = marked(text, GENERATION).filter_map(read).collect();
    all.sort_by_key(|one| one.capability);
    all
}

/// The kernels that not all of these generations have, each with what it needs.
pub fn needs(text: &str) -> impl Iterator<Item = (&str, Needs<'_>)> {
    marked(text, NEEDS).filter_map(|mark| {
        let mut words = mark.splitn(3, ' ');
        let (kernel, target) = (words.next()?, words.next()?);
        let capability = ptx::capability(target)?;
        let forms = words.next().unwrap_or_default();
        Some((kernel, Needs { capability, forms }))
    })
}

/// The text for this generation. Its lines have the numbers that they have in `text`.
pub fn text_for(text: &str, generation: &Generation) -> String {
    let is_newer = |name: &str| {
        let mut all = needs(text).filter(|(kernel, _)| *kernel == name);
        all.any(|(_, needs)| needs.capability > generation.capability)
    };
    // A text that is not PTX stays as it is, for others to refuse.
    let kernels = ptx::kernels(text).unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for kernel in kernels.iter().filter(|kernel| is_newer(kernel.name)) {
        let start = kernel.text.as_ptr().addr() - text.as_ptr().addr();
        for line in text[done..start].split_inclusive('\n') {
            of_generation(line, generation, &mut out);
        }
        out.extend(kernel.text.chars().filter(|c| *c == '\n'));
        done = start + kernel.text.len();
    }
    for line in text[done..].split_inclusive('\n') {
        of_generation(line, generation, &mut out);
    }
    out
}

/// Appends a line as this generation has it.
fn of_generation(line: &str, generation: &Generation, out: &mut String) {
    if let Some((indent, before)) = line.split_once(BEFORE).filter(|_| !line.starts_with("//"))
        && let Some((target, older)) = before.split_once(' ')
        && ptx::capability(target).is_some_and(|newer| generation.capability < newer)
    {
        let code = indent.trim_start();
        out.push_str(&indent[..indent.len() - code.len()]);
        out.push_str(older);
    } else if line.starts_with(".version ") {
        out.push_str(&format!(".version {}\n", generation.version));
    } else if line.starts_with(".target ") {
        out.push_str(&format!(".target {}\n", generation.target));
    } else {
        out.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
// cuda_std.requires plain;n;n
//
.version 8.1
.target sm_90
.address_size 64
.visible .entry plain(.param .u64 n)
{
\tredux.sync.add.s32 %r3, %r2, %r1; // cuda_std.before sm_80 { shfl; add; }
\tret;
}
                                        // -- End function
.visible .entry fast()
.maxntid 32
{
\tcp.async.wait_all;
}
.visible .entry ring() { barrier.cluster.wait; }
.visible .entry last() { ret; }
// cuda_std.generation sm_75 7.4
// cuda_std.generation sm_80 7.5
// cuda_std.needs fast sm_80 L2::cache_hint, cp.async
// cuda_std.needs ring sm_90
// cuda_std.parameters plain~n: u64
";

    #[test]
    fn each_generation_has_the_kernels_that_it_can_run() {
        let [turing, ampere] = &generations(PTX)[..] else {
            panic!("two generations")
        };
        let of_turing = text_for(PTX, turing);
        insta::assert_snapshot!(of_turing, @"
        // cuda_std.requires plain;n;n
        //
        .version 7.4
        .target sm_75
        .address_size 64
        .visible .entry plain(.param .u64 n)
        {
        	{ shfl; add; }
        	ret;
        }
                                                // -- End function






        .visible .entry last() { ret; }
        // cuda_std.generation sm_75 7.4
        // cuda_std.generation sm_80 7.5
        // cuda_std.needs fast sm_80 L2::cache_hint, cp.async
        // cuda_std.needs ring sm_90
        // cuda_std.parameters plain~n: u64
        ");
        let of_ampere = text_for(PTX, ampere);
        for (text, has_fast) in [(&of_turing, false), (&of_ampere, true)] {
            assert_eq!(text.contains(".entry fast("), has_fast);
            let line = |whole: &str| whole.lines().position(|line| line.contains(".entry last("));
            assert_eq!(line(text), line(PTX));
        }
        assert!(of_ampere.contains(".version 7.5\n.target sm_80\n"));
        assert!(of_ampere.contains("redux.sync.add.s32 %r3"));
        assert!(!of_ampere.contains(".entry ring("));
    }

    #[test]
    fn a_kernel_s_needs_are_told_with_their_reason() {
        let all: Vec<_> = needs(PTX).collect();
        let forms = "L2::cache_hint, cp.async";
        let fast = Needs {
            capability: (8, 0),
            forms,
        };
        let ring = Needs {
            capability: (9, 0),
            forms: "",
        };
        assert_eq!(all, [("ring", ring), ("fast", fast)]);
        assert_eq!(generations(".version 8.0\n.target sm_80\n"), []);
    }
}
