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

/// ptxas's figures of a kernel, with the functions that it calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Of a thread.
    pub registers: u64,
    /// In the text of the kernel and of each function that it calls, which counts once.
    pub spill_store_bytes: u64,
    pub spill_load_bytes: u64,
    /// Of a thread; none where ptxas cannot tell how deep calls go, as with a function that calls
    /// itself. The spills are then a lower bound, too.
    pub stack_bytes: Option<u64>,
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
            let told = if shown.sass {
                reason
            } else {
                unknown_resources(&reason)
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
        let resources = resources
            .get(*name)
            .map(Resources::to_string)
            .map_or(String::new(), |text| format!(": {text}"));
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
                let disassembly = Command::new(&nvdisasm)
                    .arg("-c")
                    .arg(&cubin)
                    .output()
                    .map_err(|error| format!("{}: {error}", nvdisasm.display()))?;
                compiled.sass = functions(&String::from_utf8_lossy(&disassembly.stdout));
            }
            Err(error) => compiled.missing.push(format!(
                "{error}, or `pip install nvidia-cuda-nvdisasm` and add its bin folder to the PATH"
            )),
        }
    }
    Ok(compiled)
}

/// Each kernel's resources. What ptxas compiles for a kernel follows the line that names it, the
/// functions that it calls included:
///
/// ```text
/// ptxas warning : Stack size for entry function 'walk' cannot be statically determined
/// ptxas info    : Compiling entry function 'step' for 'sm_90'
/// ptxas info    : Function properties for step
///     0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
/// ptxas info    : Used 64 registers, 8 bytes cumulative stack size, 1024 bytes smem
/// ptxas info    : Function properties for helper
///     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
/// ```
fn resources(told: &str) -> HashMap<String, Resources> {
    let mut all: HashMap<String, Resources> = HashMap::new();
    let mut unbounded = Vec::new();
    let (mut kernel, mut is_callee) = ("", false);
    let before = |line: &str, what: &str| -> Option<u64> {
        let (before, _) = line.split_once(what)?;
        before.split_whitespace().last()?.parse().ok()
    };
    for line in told.lines() {
        if let Some((_, named)) = line.split_once("Compiling entry function ") {
            kernel = named.split('\'').nth(1).unwrap_or_default();
            continue;
        }
        if let Some((_, name)) = line.split_once("Function properties for ") {
            is_callee = name.trim().trim_matches('\'') != kernel;
            continue;
        }
        if let Some((_, named)) = line.split_once("Stack size for entry function ") {
            unbounded.extend(named.split('\'').nth(1));
            continue;
        }
        let own = all.entry(kernel.to_owned()).or_default();
        own.spill_store_bytes += before(line, " bytes spill stores").unwrap_or(0);
        own.spill_load_bytes += before(line, " bytes spill loads").unwrap_or(0);
        let frame = before(line, " bytes stack frame").filter(|_| !is_callee);
        // With what the functions take that it calls, where ptxas says it.
        let stack = before(line, " bytes cumulative stack size").or(frame);
        own.stack_bytes = stack.or(own.stack_bytes);
        let note = |to: &mut u64, what: &str| *to = before(line, what).unwrap_or(*to);
        note(&mut own.registers, " registers");
        note(&mut own.shared_bytes, " bytes smem");
    }
    for name in unbounded {
        if let Some(own) = all.get_mut(name) {
            own.stack_bytes = None;
        }
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
        let (at_least, stack) = match stack_bytes {
            Some(bytes) => ("", format!("{bytes} of stack")),
            None => ("at least ", "an unknown number of stack".to_owned()),
        };
        write!(
            f,
            "{registers} registers, {at_least}{spill_store_bytes} bytes of spill stores, {at_least}{spill_load_bytes} of spill loads, {stack}, {shared_bytes} of shared memory"
        )
    }
}

/// The text of a kernel, from its first directive to its closing brace.
fn entry<'t>(ptx: &'t str, name: &str) -> Option<&'t str> {
    let kernels = ptx::kernels(ptx).ok()?;
    let kernel = kernels.iter().find(|kernel| kernel.name == name)?;
    Some(kernel.text)
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
            let source = file
                .zip(numbers.next())
                .filter(|(path, number)| !path.starts_with('/') && *number != "0");
            pending = source.map(|(path, number)| format!("\t// {path}:{number}"));
            continue;
        }
        let is_label =
            text.ends_with(':') && (text.starts_with("$L__tmp") || text.starts_with("$L__func_"));
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
            let trimmed = line.trim();
            trimmed.starts_with("/*") || trimmed.starts_with('.') && trimmed.ends_with(':')
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

// The toolkit is shell scripts here.
#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::toolkit::fake;

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
        let with_sass = listing(&toolkit, true);
        let sass = "\n\n.text.add:\n        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n.L_x_0:\n        /*0010*/                   EXIT ;\n";
        assert!(with_sass.ends_with(sass), "{with_sass}");
    }

    /// As ptxas 13.5 writes it: the functions that a kernel calls, below it, once for each kernel.
    const CALLS: &str = "\
ptxas warning : Stack size for entry function 'rec' cannot be statically determined
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'rec' for 'sm_90'
ptxas info    : Function properties for rec
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
ptxas info    : Compile time = 25.052 ms
ptxas info    : Function properties for f
    24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 38 registers, used 0 barriers, 264 bytes cumulative stack size
ptxas info    : Function properties for g
    232 bytes stack frame, 60 bytes spill stores, 64 bytes spill loads
ptxas info    : Function properties for h
    24 bytes stack frame, 24 bytes spill stores, 24 bytes spill loads
";

    #[test]
    fn what_a_kernel_calls_counts_with_it() {
        let all = resources(CALLS);
        let said = |kernel| all[kernel].to_string();
        assert_eq!(
            said("rec"),
            "24 registers, at least 20 bytes of spill stores, at least 16 of spill loads, an unknown number of stack, 0 of shared memory"
        );
        assert_eq!(
            said("two"),
            "38 registers, 88 bytes of spill stores, 92 of spill loads, 264 of stack, 0 of shared memory"
        );
        assert_eq!(all.len(), 2, "{all:?}");
    }

    #[test]
    fn a_label_goes_alone() {
        let text = "{\n$L__tmp1:\n$L__tmp2: ret;\n}";
        assert_eq!(readable(text, &HashMap::new()), "{\n$L__tmp2: ret;\n}");
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
