//! LLVM IR to PTX: `opt`, `llc`, and a check for undefined functions.

use std::collections::BTreeMap;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::Command;

use crate::arch::LONG_NAMES;
use crate::compile::{Panics, UNROLLING};
use crate::ir::Prepared;
use crate::process::{Run, command, succeed};
use crate::toolchain::Toolchain;
use crate::{Error, NvvmArch, generations, ir, narrow_index, no_panic};

/// Functions that the driver defines (PTX ISA, "System calls").
const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Whether files beside a module may be those of an earlier build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// PTX that the same tools made from the same IR is taken as it is.
    Earlier,
    /// The tools always run: the folder is not ours alone.
    Nothing,
}

/// A crate's IR, from which modules of some kernels are made.
pub struct Split {
    /// The file of the crate's IR. Files of groups are beside it.
    module: PathBuf,
    /// The bitcode.
    all: PathBuf,
    prepared: Prepared,
}

impl Split {
    /// The file of a group's IR. The tools' other files of the group have its name too.
    pub fn module_of(&self, group: &str) -> PathBuf {
        let stem = self.module.file_stem().unwrap_or_default().display();
        self.module.with_file_name(format!("{stem}-{group}.ll"))
    }
}

/// How IR becomes PTX, whatever the kernels.
pub struct Codegen<'a> {
    /// The architecture.
    pub arch: NvvmArch,
    /// The oldest one whose devices the text says what they have of it, where it is for several.
    pub oldest: Option<NvvmArch>,
    /// Options of `opt` and `llc` beside those of the architecture.
    pub options: &'a [String],
    /// `opt` and `llc`.
    pub tools: &'a Toolchain,
    /// In the PTX's file names, the second text of a place replaces the first.
    pub places: Vec<(String, &'static str)>,
    /// Whether the files beside a module may be those of an earlier build.
    pub reuse: Reuse,
    /// Of kernels whose panics have messages, the host sees [`PANIC_REPORT`] too.
    pub panics: Panics,
}

/// The variable of `cuda_std` with which a host asks for the message of a panic.
const PANIC_REPORT: &str = "__cuda_std_panic";

impl Codegen<'_> {
    /// Compiles the IR of a kernel crate, in file `module`, and returns its PTX. `run` runs the
    /// tools.
    ///
    /// Intermediate files stay beside `module`, for inspection.
    pub fn ptx_of(&self, module: &Path, krate: &Path, run: &mut Run<'_>) -> Result<String, Error> {
        let prepared = prepare(module, krate)?;
        self.generate(&prepared, module, run)
    }

    /// The crate's IR in file `module`, edited, as bitcode of its kernels and what they reach.
    pub fn split(&self, module: &Path, krate: &Path, run: &mut Run<'_>) -> Result<Split, Error> {
        let prepared = prepare(module, krate)?;
        let (text, all) = (
            module.with_extension("all.ll"),
            module.with_extension("all.bc"),
        );
        write(&text, &prepared.text)?;
        // As bitcode, the crate's IR is read in a quarter of the time.
        let mut keep_all = self.keep(&prepared.kernels, &text, &all);
        succeed(run, &mut keep_all)?;
        Ok(Split {
            module: module.to_owned(),
            all,
            prepared,
        })
    }

    /// A module per group of kernels: each group's name, and its PTX. `group_of` gives the group of
    /// a kernel. The code of a kernel is the same as in one module of all.
    pub fn ptx_of_groups(
        &self,
        split: &Split,
        group_of: &dyn Fn(&str) -> String,
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, String>, Error> {
        let prepared = &split.prepared;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for kernel in &prepared.kernels {
            let group = groups.entry(group_of(kernel)).or_default();
            group.push(kernel.clone());
        }
        let generated = groups.into_iter().map(|(group, kernels)| {
            let module = split.module_of(&group);
            let mut keep = self.keep(&kernels, &split.all, &module);
            succeed(run, keep.arg("-S"))?;
            let part = prepared.part(read(&module)?, kernels);
            let ptx = self.generate(&part, &module, run)?;
            Ok((group, ptx))
        });
        generated.collect()
    }

    /// The option of `opt` that names what a module shows.
    fn public(&self, kernels: &[String]) -> String {
        let report = match self.panics {
            Panics::Trap => String::new(),
            Panics::Message => format!(",{PANIC_REPORT}"),
        };
        format!("-internalize-public-api-list={}{report}", kernels.join(","))
    }

    /// The command that keeps these kernels of a module, and all that they reach.
    fn keep(&self, kernels: &[String], from: &Path, to: &Path) -> Command {
        let mut opt = command(&self.tools.opt);
        opt.arg("-passes=internalize,globaldce")
            .arg(LONG_NAMES)
            .arg(self.public(kernels))
            .arg(from)
            .arg("-o")
            .arg(to);
        opt
    }

    /// The PTX of these kernels. The tools' files have the name of `module` and extensions of their
    /// own.
    fn generate(
        &self,
        prepared: &Prepared,
        module: &Path,
        run: &mut Run<'_>,
    ) -> Result<String, Error> {
        let prepared_file = module.with_extension("prepared.ll");
        let optimised = optimised(module);
        let ptx_file: PathBuf = module.with_extension("ptx");
        let done_file = module.with_extension("done");
        let mut opt = command(&self.tools.opt);
        // Only what kernels reach is kept, and can be inlined without a copy.
        opt.arg("-passes=internalize,default<O3>")
            .arg(self.public(&prepared.kernels))
            .arg(UNROLLING)
            .args(self.arch.llvm_options())
            .args(self.options)
            .arg("-S")
            .arg(&prepared_file)
            .arg("-o")
            .arg(&optimised);
        let mut llc = command(&self.tools.llc);
        llc.args(["-O3", "-mtriple=nvptx64-nvidia-cuda"])
            .args(self.arch.llvm_options())
            .args(self.options)
            .arg(&optimised)
            .arg("-o")
            .arg(&ptx_file);
        // The same IR gives the same PTX by the same commands of the same tools. The two commands
        // take half of a build.
        let hides_narrow = self.tools.breaks_narrow_indices;
        let done = format!(
            "{}\n{}\n{}\n{}\nnarrow indices hidden: {hides_narrow}\n{}\n",
            words(&opt),
            words(&llc),
            prepared.no_panic.join(" "),
            age(&self.tools.opt),
            age(&self.tools.llc),
        );
        let is =
            |file: &Path, text: &str| std::fs::read_to_string(file).is_ok_and(|old| old == text);
        let is_done = self.reuse == Reuse::Earlier
            && is(&prepared_file, &prepared.text)
            && is(&done_file, &done)
            && ptx_file.metadata().is_ok_and(|file| file.len() > 0);
        if !is_done {
            // It is there only while the other files belong together.
            if done_file.exists() {
                std::fs::remove_file(&done_file).map_err(Error::io("remove", &done_file))?;
            }
            write(&prepared_file, &prepared.text)?;
            succeed(run, &mut opt)?;
            let text = read(&optimised)?;
            check_clusters(&text, self.arch)?;
            no_panic::check(&text, &prepared.no_panic)?;
            if hides_narrow && let Some(hidden) = narrow_index::hide(&text) {
                write(&optimised, &hidden)?;
            }
            succeed(run, &mut llc)?;
            write(&done_file, &done)?;
        }
        let ptx = read(&ptx_file)?;
        let functions = unresolved(&ptx);
        if functions.is_empty() {
            let requires: String = prepared
                .requires
                .iter()
                .map(|(kernel, condition)| format!("// cuda_std.requires {kernel};{condition}\n"))
                .collect();
            // At the end, so that lines keep their numbers.
            let parameters: String = prepared
                .parameters
                .iter()
                .map(|(kernel, all)| format!("// cuda_std.parameters {kernel}~{all}\n"))
                .collect();
            let relocated = within(MAX_WITH_CALLERS, relocate(&ptx, &self.places));
            let of_generations =
                |oldest| generations::marked(&relocated, self.arch, oldest, &prepared.capabilities);
            let marked = self.oldest.map(of_generations);
            Ok(requires + &marked.unwrap_or(relocated) + &parameters)
        } else {
            Err(Error::Unresolved { functions })
        }
    }
}

/// The file of the optimised IR of `module`.
pub fn optimised(module: &Path) -> PathBuf {
    module.with_extension("optimised.ll")
}

/// The crate's IR in file `module`, edited.
fn prepare(module: &Path, krate: &Path) -> Result<Prepared, Error> {
    let prepared = ir::prepare(&read(module)?)?;
    if prepared.kernels.is_empty() {
        return Err(Error::NoKernels {
            krate: krate.to_owned(),
        });
    }
    Ok(prepared)
}

fn read(file: &Path) -> Result<String, Error> {
    std::fs::read_to_string(file).map_err(Error::io("read", file))
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(file, text).map_err(Error::io("write", file))
}

/// The program and its arguments, without the variables that it does not inherit: those are as many
/// as the outer cargo happens to set.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| format!("{word:?} ")).collect()
}

/// When the tool was installed: another version has another time.
fn age(tool: &Path) -> String {
    let modified = tool.metadata().and_then(|file| file.modified());
    modified.map_or_else(|error| error.to_string(), |time| format!("{time:?}"))
}

/// The intrinsics that optimised IR calls for clusters. `llc` crashes on one that the architecture
/// does not have.
const OF_CLUSTERS: [&str; 5] = [
    "@llvm.nvvm.barrier.cluster.",
    "@llvm.nvvm.read.ptx.sreg.cluster.",
    "@llvm.nvvm.read.ptx.sreg.clusterid.",
    "@llvm.nvvm.read.ptx.sreg.nclusterid.",
    "asm \"mapa.",
];

/// Refuses code that uses clusters on an architecture without them.
fn check_clusters(text: &str, arch: NvvmArch) -> Result<(), Error> {
    if arch >= NvvmArch::Compute90 {
        return Ok(());
    }
    let mut function = "";
    for line in text.lines() {
        if line.starts_with("define ") {
            function = ir::symbol(line).unwrap_or_default();
        } else if line.contains(" call ") && OF_CLUSTERS.iter().any(|what| line.contains(what)) {
            let function = format!("{:#}", rustc_demangle::demangle(function.trim_matches('"')));
            return Err(Error::NoClusters { function, arch });
        }
    }
    Ok(())
}

/// File names that are the same on every machine: those of the workspace relative to its root,
/// those of the Rust library below `/rust`.
pub fn places(workspace: &Path, tools: &Toolchain) -> Vec<(String, &'static str)> {
    vec![
        (
            format!("\"{}/", with_slashes(&tools.library_source)),
            "\"/rust/",
        ),
        (format!("\"{}/", with_slashes(workspace)), "\""),
    ]
}

/// A path as PTX has it on every machine.
fn with_slashes(path: &Path) -> String {
    path.display().to_string().replace(MAIN_SEPARATOR, "/")
}

/// The PTX, its file names replaced according to `places`.
fn relocate(ptx: &str, places: &[(String, &str)]) -> String {
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        if line.trim_start().starts_with(".file") {
            // Windows' separator is written twice.
            let name = line.replace("\\\\", "/");
            let relocated = places
                .iter()
                .fold(name, |text, (from, to)| text.replace(from, to));
            out.push_str(&relocated);
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// The longest PTX, in bytes, that keeps LLVM's comments on the calls through which each
/// instruction was inlined. These comments are most of the text of a module of many kernels.
const MAX_WITH_CALLERS: usize = 8 << 20;

/// The PTX. PTX of more than `most_bytes` bytes loses the comments of `.loc`: each instruction
/// keeps one place. Code that was inlined out of a library has the place of its caller.
fn within(most_bytes: usize, ptx: String) -> String {
    if ptx.len() <= most_bytes {
        return ptx;
    }
    let files = own_files(&ptx);
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let is_location = line.trim_start().starts_with(".loc");
        match line.split_once("//") {
            Some((location, callers)) if is_location => match caller(location, callers, &files) {
                Some(caller) => out.push_str(&caller),
                None => out.push_str(location.trim_end()),
            },
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// The files in the table of relocated PTX that belong to no library: paths and numbers.
fn own_files(ptx: &str) -> BTreeMap<&str, &str> {
    let lines = ptx.lines().filter_map(|line| {
        let file = line.trim_start().strip_prefix(".file")?;
        let (number, path) = file.trim().split_once(' ')?;
        Some((path.trim().trim_matches('"'), number.trim()))
    });
    let is_own = |path: &str| !path.starts_with("/rust/") && !path.contains("cuda_std/src/");
    lines.filter(|(path, _)| is_own(path)).collect()
}

/// The `.loc` of the innermost caller in one of `files`, if `location` itself is in none of them or
/// has no line. LLVM's comment holds the callers: `a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ] ]`.
fn caller(location: &str, comment: &str, files: &BTreeMap<&str, &str>) -> Option<String> {
    let mut words = location.split_ascii_whitespace().skip(1);
    let (own, own_line) = (words.next()?, words.next()?);
    if own_line != "0" && files.values().any(|number| *number == own) {
        return None;
    }
    comment.split(" @[ ").skip(1).find_map(|caller| {
        let mut parts = caller.trim_matches([' ', ']']).rsplitn(3, ':');
        let (column, line, path) = (parts.next()?, parts.next()?, parts.next()?);
        let number = files.get(path).filter(|_| line != "0")?;
        Some(format!("\t.loc\t{number} {line} {column}"))
    })
}

/// The functions that `ptx` declares but does not define, demangled.
fn unresolved(ptx: &str) -> Vec<String> {
    let mut lines = ptx.lines();
    let mut names = Vec::new();
    while let Some(line) = lines.next() {
        let Some(declaration) = line.trim_start().strip_prefix(".extern .func") else {
            continue;
        };
        // `.extern .func (.param .b32 ret) name` or `.extern .func  name`, parameters on later
        // lines.
        let after_result = match declaration.trim_start().strip_prefix('(') {
            Some(result) => result.split_once(')').map_or("", |(_, rest)| rest),
            None => declaration,
        };
        let name = after_result.trim().trim_end_matches(['(', ';', ' ']);
        let name = if name.is_empty() {
            lines.next().unwrap_or("").trim()
        } else {
            name
        };
        if !DRIVER_FUNCTIONS.contains(&name) {
            names.push(format!("{:#}", rustc_demangle::demangle(name)));
        }
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ptx_does_without_callers() {
        let ptx = "\t.loc\t1 2 3                 // a.rs:2:3 @[ b.rs:4:5 ]\n\tret; // end\n";
        assert_eq!(within(ptx.len(), ptx.to_owned()), ptx);
        let shorter = within(ptx.len() - 1, ptx.to_owned());
        assert_eq!(shorter, "\t.loc\t1 2 3\n\tret; // end\n");
    }

    #[test]
    fn in_long_ptx_a_library_s_code_has_its_caller_s_place() {
        let table = "\t.file\t1 \"lab/a.rs\"\n\t.file\t2 \"/rust/library/core/src/ops/arith.rs\"\n\
                     \t.file\t3 \"crates/cuda_std/src/float.rs\"\n";
        let shorter = |location: &str| {
            let ptx = format!("{table}\t.loc\t{location}\n");
            let shorter = within(0, ptx);
            shorter.strip_prefix(table).unwrap().trim().to_owned()
        };
        let called = "@[ src/mem/mod.rs:7:8 @[ lab/a.rs:3:4 @[ lab/a.rs:5:6 ] ] ]";
        for (location, expected) in [
            (
                format!("2 104 5   // src/ops/arith.rs:104:5 {called}"),
                ".loc\t1 3 4",
            ),
            (
                format!("3 9 5   // crates/cuda_std/src/float.rs:9:5 {called}"),
                ".loc\t1 3 4",
            ),
            (format!("1 0 0   // lab/a.rs:0 {called}"), ".loc\t1 3 4"),
            (format!("1 8 9   // lab/a.rs:8:9 {called}"), ".loc\t1 8 9"),
            (
                "2 104 5   // src/ops/arith.rs:104:5".to_owned(),
                ".loc\t2 104 5",
            ),
        ] {
            assert_eq!(shorter(&location), expected, "{location}");
        }
    }

    #[test]
    fn clusters_are_for_architectures_that_have_them() {
        let text = "define ptx_kernel void @first() {\n  ret void\n}\n\
                    define ptx_kernel void @second() #0 {\n  \
                    tail call void @llvm.nvvm.barrier.cluster.wait.aligned() #2, !dbg !9\n}\n\
                    declare void @llvm.nvvm.barrier.cluster.wait.aligned()\n";
        check_clusters(text, NvvmArch::Compute90).unwrap();
        let error = check_clusters(text, NvvmArch::Compute89).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`second` uses thread block clusters, which sm_89 does not have: mark the kernel \
             `#[kernel(capability = \"9.0\")]`"
        );
        let declared = text.replace("tail call", "; no");
        check_clusters(&declared, NvvmArch::Compute80).unwrap();
    }

    /// `cargo clippy` sets other variables than `cargo build`, and all of cargo's are removed.
    #[test]
    fn the_words_of_a_command_are_those_of_any_outer_cargo() {
        let mut opt = Command::new("opt");
        opt.args(["-S", "a file"]);
        let inherits_all = words(&opt);
        assert_eq!(inherits_all, r#""opt" "-S" "a file" "#);
        opt.env_remove("RUSTC_WORKSPACE_WRAPPER");
        assert_eq!(words(&opt), inherits_all);
    }

    #[test]
    fn undefined_functions_are_named() {
        let ptx = ".extern .func  (.param .b32 func_retval0) _RNvCs5BSODPsnYV7_4demo4sine\n(\n\t.param .b32 p\n)\n;\n\
                   .extern .func  missing\n(\n)\n;\n\
                   .extern .func (.param .b32 r) vprintf\n(\n)\n;\n.func  (.param .b32 r) defined(\n";
        assert_eq!(unresolved(ptx), ["demo::sine", "missing"]);
    }
}
