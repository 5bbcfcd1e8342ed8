//! `profile --ptx` and `--sass`: the code of a variant's kernels, and what ptxas makes of it.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use device::Module;
use exit::CommandError;
use output_files::ScratchFolder;

use crate::toolkit::Toolkit;
use terminal::look::Look;

/// Which code is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The PTX text.
    pub ptx: bool,
    /// The GPU's own instructions.
    pub sass: bool,
}

/// ptxas's figures of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Of a thread.
    pub registers: u64,
    pub spill_store_bytes: u64,
    pub spill_load_bytes: u64,
    pub stack_bytes: u64,
    /// Of shared memory whose size the kernel states.
    shared_bytes: u64,
}

/// The code of these kernels of a module, each under a header.
///
/// # Errors
///
/// [`CommandError::Environment`] where SASS is wanted and a tool is missing or fails. Otherwise
/// that is in the text.
pub fn render(
    module: &Module,
    kernels: &[&str],
    shown: Shown,
    toolkit: &Toolkit,
    look: Look,
) -> Result<String, CommandError> {
    let compiled = compile(module, kernels, shown.sass, toolkit);
    let (resources, sass, missing) = match compiled {
        Ok(Compiled {
            resources,
            sass,
            missing,
        }) => (resources, sass, missing),
        Err(reason) => {
            let told = match shown.sass {
                true => reason,
                false => unknown_resources(&reason),
            };
            (HashMap::new(), HashMap::new(), vec![told])
        }
    };
    if shown.sass && sass.is_empty() {
        return Err(CommandError::Environment(format!(
            "--sass: {}",
            missing.join("; ")
        )));
    }
    let target = module.target().unwrap_or("no target");
    let mut parts = Vec::new();
    for name in kernels {
        let title = look.title(name);
        let resources = resources.get(*name).map(Resources::to_string);
        let resources = resources.map_or(String::new(), |text| format!(": {text}"));
        parts.push(format!("{title}  {target}{resources}"));
        if shown.ptx {
            parts.push(match entry(module.ptx(), name) {
                Some(text) => readable(text, &files(module.ptx())),
                None => format!("  the module has no kernel `{name}`"),
            });
        }
        parts.extend(sass.get(*name).cloned());
    }
    let notes = missing.iter().map(|reason| look.wrapped(reason, 0));
    parts.extend(notes);
    Ok(parts.join("\n\n") + "\n")
}

/// ptxas's figures of these kernels, or the reason why there are none, with a remedy.
pub fn resources_of(
    module: &Module,
    kernels: &[&str],
    toolkit: &Toolkit,
) -> Result<HashMap<String, Resources>, String> {
    Ok(compile(module, kernels, false, toolkit)?.resources)
}

/// The names of a text's entries.
pub fn entries(ptx: &str) -> Vec<&str> {
    let code = ptx
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let names = code.filter_map(|line| {
        let (_, after) = line.split_once(".entry ")?;
        after.split(|c: char| c == '(' || c.is_whitespace()).next()
    });
    names.collect()
}

/// The instructions in the text of an entry.
pub fn instructions(ptx: &str, name: &str) -> u64 {
    let text = entry(ptx, name).unwrap_or_default();
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim());
    let is_instruction = |line: &&str| line.ends_with(';') && !line.starts_with('.');
    code.filter(is_instruction).count() as u64
}

struct Compiled {
    resources: HashMap<String, Resources>,
    sass: HashMap<String, String>,
    /// Reasons why something is missing, with remedies.
    missing: Vec<String>,
}

/// Compiles the kernels for the module's target, as the driver would.
fn compile(
    module: &Module,
    kernels: &[&str],
    wants_sass: bool,
    toolkit: &Toolkit,
) -> Result<Compiled, String> {
    let ptxas = toolkit.find("ptxas").map_err(|error| {
        format!("{error}, or `pip install nvidia-cuda-nvcc` and add its bin folder to the PATH")
    })?;
    let failed = |error: std::io::Error| format!("{}: {error}", ptxas.display());
    let folder = ScratchFolder::new("ptxas").map_err(failed)?;
    let [input, cubin] = ["kernels.ptx", "kernels.cubin"].map(|file| folder.path().join(file));
    fs::write(&input, module.ptx()).map_err(failed)?;
    let target = module.target().unwrap_or("sm_80");
    let run = Command::new(&ptxas)
        .args(["-v", "--gpu-name", target, "--entry", &kernels.join(",")])
        .arg("-o")
        .args([&cubin, &input])
        .output()
        .map_err(failed)?;
    let told = String::from_utf8_lossy(&run.stderr);
    if !run.status.success() {
        let first = told.lines().next().unwrap_or("no message");
        return Err(format!("ptxas failed: {first}"));
    }
    let mut compiled = Compiled {
        resources: resources(&told),
        sass: HashMap::new(),
        missing: Vec::new(),
    };
    if wants_sass {
        match toolkit.find("nvdisasm") {
            Ok(nvdisasm) => {
                let run = Command::new(&nvdisasm).arg("-c").arg(&cubin).output();
                let run = run.map_err(|error| format!("{}: {error}", nvdisasm.display()))?;
                compiled.sass = functions(&String::from_utf8_lossy(&run.stdout));
            }
            Err(error) => compiled.missing.push(format!(
                "{error}, or `pip install nvidia-cuda-nvdisasm` and add its bin folder to the PATH"
            )),
        }
    }
    Ok(compiled)
}

/// Each kernel's resources:
///
/// ```text
/// ptxas info    : Function properties for step
///     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
/// ptxas info    : Used 64 registers, used 1 barriers, 1024 bytes smem
/// ```
fn resources(told: &str) -> HashMap<String, Resources> {
    let mut all: HashMap<String, Resources> = HashMap::new();
    let mut function = String::new();
    let before = |line: &str, what: &str| -> Option<u64> {
        let (before, _) = line.split_once(what)?;
        before.split_whitespace().last()?.parse().ok()
    };
    for line in told.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            name.trim().trim_matches('\'').clone_into(&mut function);
            continue;
        }
        let own = all.entry(function.clone()).or_default();
        let note = |to: &mut u64, what: &str| *to = before(line, what).unwrap_or(*to);
        note(&mut own.stack_bytes, " bytes stack frame");
        note(&mut own.spill_store_bytes, " bytes spill stores");
        note(&mut own.spill_load_bytes, " bytes spill loads");
        note(&mut own.registers, " registers");
        note(&mut own.shared_bytes, " bytes smem");
    }
    all.retain(|_, own| own.registers > 0);
    all
}

impl std::fmt::Display for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Resources {
            registers,
            spill_store_bytes,
            spill_load_bytes,
            stack_bytes,
            shared_bytes,
        } = self;
        write!(
            f,
            "{registers} registers, {spill_store_bytes} bytes of spill stores, {spill_load_bytes} of spill loads, {stack_bytes} of stack, {shared_bytes} of shared memory"
        )
    }
}

/// The text of an entry, from its first line to its closing brace.
fn entry<'t>(ptx: &'t str, name: &str) -> Option<&'t str> {
    let is_start = |line: &str| {
        let (_, after) = line.split_once(".entry ")?;
        let own = after
            .split(|c: char| c == '(' || c.is_whitespace())
            .next()?;
        (own == name && !line.trim_start().starts_with("//")).then_some(())
    };
    let (mut start, mut at, mut depth) = (None, 0, 0_i32);
    for line in ptx.split_inclusive('\n') {
        if start.is_none() && is_start(line).is_some() {
            start = Some(at);
        }
        at += line.len();
        if let Some(start) = start {
            let code = line.split("//").next().unwrap_or_default();
            let opened = code.matches('{').count() as i32;
            let closed = code.matches('}').count() as i32;
            depth += opened - closed;
            if depth == 0 && closed > 0 {
                return Some(ptx[start..at].trim_end());
            }
        }
    }
    None
}

/// The source files that the text numbers.
fn files(ptx: &str) -> HashMap<&str, &str> {
    let lines = ptx.lines().filter_map(|line| {
        let (number, path) = line.trim().strip_prefix(".file")?.trim().split_once(' ')?;
        Some((number.trim(), path.trim().split('"').nth(1)?))
    });
    lines.collect()
}

/// The text without what debuggers need. A comment above instructions names their source line,
/// where it differs from the one before.
fn readable(entry: &str, files: &HashMap<&str, &str>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut shown = String::new();
    let mut pending = None;
    for line in entry.lines() {
        let text = line.trim();
        if let Some(location) = text.strip_prefix(".loc") {
            let mut numbers = location.split_whitespace();
            let file = numbers.next().and_then(|number| files.get(number));
            // Line 0 names nothing, and lines of Rust's own library say little.
            let source = file.zip(numbers.next());
            let source = source.filter(|(file, line)| !file.starts_with('/') && *line != "0");
            pending = source.map(|(file, line)| format!("\t// {file}:{line}"));
            continue;
        }
        let is_label = text.starts_with("$L__tmp") || text.starts_with("$L__func_");
        if text.is_empty() || is_label || text.starts_with("//") {
            continue;
        }
        if let Some(source) = pending.take()
            && source != shown
        {
            lines.push(source.clone());
            shown = source;
        }
        let code = text.split("//").next().unwrap_or_default().trim_end();
        let indent = if line.starts_with(['\t', ' ']) {
            "\t"
        } else {
            ""
        };
        lines.push(format!("{indent}{code}"));
    }
    lines.join("\n")
}

/// Each function of nvdisasm's output.
fn functions(text: &str) -> HashMap<String, String> {
    let sections = text.split("//--------------------- .text.").skip(1);
    let functions = sections.filter_map(|section| {
        let (name, rest) = section.split_once(|c: char| c.is_whitespace())?;
        let is_code = |line: &&str| {
            let text = line.trim();
            text.starts_with("/*") || text.starts_with('.') && text.ends_with(':')
        };
        let lines: Vec<&str> = rest.lines().filter(is_code).map(str::trim_end).collect();
        Some((name.to_owned(), lines.join("\n")))
    });
    functions.collect()
}

/// The note where no compiler tells registers, spills and stack.
pub fn unknown_resources(reason: &str) -> String {
    format!("registers, spills and stack are not known: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    const PTX: &str = "\
.version 7.8
.target sm_80
.address_size 64
\t// .globl\tadd
.visible .entry add(
\t.param .u64 add_param_0
)
.maxntid 64
{
\t.reg .b32 \t%r<2>;
$L__func_begin0:
\t.loc\t1 7 0

// %bb.0:                               // %start
\tmov.u32 \t%r1, %tid.x;
$L__tmp0:
\t.loc\t2 11 3
\t{ // callseq 0
\tadd.s32 \t%r1, %r1, 1;
\t}
\t.loc\t1 7 9
\t.loc\t1 8 9
\tst.global.u32 \t[%rd1], %r1;                // a comment }
\tret;
$L__func_end0:
                                        // -- End function
}
.visible .entry add_twice() { ret; }
\t.file\t1 \"solutions/add/kernels.rs\"
\t.file\t2 \"/rust/library/core/src/ops.rs\"
";

    /// A program that prints this, and writes `-o`'s file.
    fn fake(folder: &Path, tool: &str, script: &str) {
        let path = folder.join(tool);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn listing(toolkit: &Toolkit, sass: bool) -> String {
        let module = Module::new("adding", PTX);
        let shown = Shown { ptx: true, sass };
        render(&module, &["add"], shown, toolkit, Look::PLAIN).unwrap()
    }

    #[test]
    fn a_kernel_alone_and_readable() {
        let folder = tempfile::tempdir().unwrap();
        insta::assert_snapshot!(listing(&Toolkit::in_folder(folder.path()), false));
    }

    #[test]
    fn with_what_the_toolkit_says() {
        let folder = tempfile::tempdir().unwrap();
        let toolkit = Toolkit::in_folder(folder.path());
        let told = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'add' for 'sm_80'
ptxas info    : Function properties for add
    32 bytes stack frame, 20 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 32 bytes cumulative stack size, 1024 bytes smem, 400 bytes cmem[0]";
        // The arguments that it is given are part of what it says.
        fake(
            folder.path(),
            "ptxas",
            &format!(
                "[ \"$1 $2 $3 $4 $5\" = '-v --gpu-name sm_80 --entry add' ] || exit 1\ncat >&2 <<'END'\n{told}\nEND\n: > \"$7\""
            ),
        );
        let text = listing(&toolkit, false);
        let head = "add  sm_80: 64 registers, 20 bytes of spill stores, 36 of spill loads, 32 of stack, 1024 of shared memory\n";
        assert!(text.starts_with(head), "{text}");
        let module = Module::new("adding", PTX);
        let shown = Shown {
            ptx: false,
            sass: true,
        };
        let refused = render(&module, &["add"], shown, &toolkit, Look::PLAIN).unwrap_err();
        assert!(
            matches!(refused, exit::CommandError::Environment(_)),
            "{refused}"
        );
        let said = refused.to_string();
        assert!(said.starts_with("--sass: nvdisasm not found"), "{said}");
        let dump = "\
\t.headerflags\t@\"EF_CUDA_SM80\"
//--------------------- .text.add --------------------------
\t.section\t.text.add,\"ax\",@progbits
\t.align\t128
.text.add:
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;

.L_x_0:
        /*0010*/                   EXIT ;
";
        fake(
            folder.path(),
            "nvdisasm",
            &format!("cat <<'END'\n{dump}END"),
        );
        let text = listing(&toolkit, true);
        let sass = "\n\n.text.add:\n        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n.L_x_0:\n        /*0010*/                   EXIT ;\n";
        assert!(text.ends_with(sass), "{text}");
    }

    #[test]
    fn what_ptxas_refuses_is_said() {
        let folder = tempfile::tempdir().unwrap();
        fake(
            folder.path(),
            "ptxas",
            "echo 'ptxas fatal: no such target' >&2; exit 255",
        );
        let text = listing(&Toolkit::in_folder(folder.path()), false);
        assert!(
            text.ends_with(": ptxas failed: ptxas fatal: no such target\n"),
            "{text}"
        );
        assert!(text.contains("mov.u32"), "{text}");
    }
}
