//! Edits to the LLVM IR, for what Rust has no syntax for.
//!
//! `cuda_std` leaves marks that rustc preserves, and this module acts on them, in the IR's text
//! (LLVM Language Reference Manual):
//!
//! - a static in one of the sections of [`SPACES`] becomes a variable in that address space: 3 is
//!   shared memory, 4 constant memory. Every use of it then goes through an address-space cast,
//!   which LLVM's `infer-address-spaces` removes, so that accesses become `ld.shared` and
//!   `st.shared`, through slices too;
//! - `fn() -> *mut u8` named [`DYNAMIC_SHARED`] gets a body: the address of the block's dynamic
//!   shared memory;
//! - `fn(*const u8) -> u32` named [`SHARED_ADDRESS`] gets a body: the address in address space 3,
//!   as a number;
//! - `fn(*mut u8, u32) -> *mut u8` named [`MAP_SHARED`] gets a body: `mapa`, with a result in
//!   address space 7, the shared memory of the cluster. Accesses through it become
//!   `ld.shared::cluster` and `st.shared::cluster`. The instruction is inline assembly, because the
//!   intrinsic claims that the address does not escape through it: LLVM would then assume that an
//!   access through the result is to other memory, even where a block maps an address to itself;
//! - a kernel in section [`BOUNDS_SECTION`]`.T.M.R.X.Y.Z` gets the attributes for `.maxntid T`,
//!   `.minnctapersm M`, `.maxnreg R` and `.reqnctapercluster X, Y, Z`; a number that is 0 gives no
//!   attribute. Marks follow: [`NO_PANIC`], and the architecture that the kernel needs. Then come
//!   the parameters as the source has them, each behind a `~`, and conditions on arguments, each
//!   behind a `|`.
//!
//! Two edits make up for defects of the NVPTX back end. It compiles the remainder of floats,
//! `frem`, to a formula that is not exact; the edit calls the functions [`REMAINDERS`] of
//! `cuda_std`. It compiles `atomicrmw` of any ordering to a relaxed `atom`; the edit puts the
//! fences of the ordering before and after a relaxed `atomicrmw`. PTX takes such a pair for a
//! release or acquire pattern (PTX ISA, "Release and Acquire Patterns"). The fences have the scope
//! of an `atom`: the device.

use std::collections::BTreeMap;

use crate::{Error, NvvmArch};

/// The sections in which `shared_array!` and `#[address_space]` of `cuda_std_macros` put their
/// statics, and the address space of each.
const SPACES: [(&str, Space); 2] = [
    (".cuda_std.shared", Space::Shared),
    (".cuda_std.constant", Space::Constant),
];

/// An address space of LLVM's (User Guide for NVPTX Back-end, "Address Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Shared = 3,
    Constant = 4,
}

/// A variable outside of global memory.
#[derive(Debug)]
struct Placed {
    space: Space,
    definition: String,
}
/// `#[kernel(max_threads, min_blocks, max_registers, cluster)]` of `cuda_std_macros` puts its
/// functions here.
const BOUNDS_SECTION: &str = ".cuda_std.launch_bounds";
/// The end of the section of a kernel that must not panic.
const NO_PANIC: &str = "no_panic";
/// `cuda_std::shared::dynamic_shared_mem` calls this function.
const DYNAMIC_SHARED: &str = "__cuda_std_dynamic_shared_mem";

/// `cuda_std::shared::address` calls this function.
const SHARED_ADDRESS: &str = "__cuda_std_shared_address";

/// `cuda_std::cluster::map_shared` calls this function.
const MAP_SHARED: &str = "__cuda_std_map_shared";

/// The types of `frem`, and the function for each.
const REMAINDERS: [(&str, &str); 2] =
    [("float", "__cuda_std_fmodf"), ("double", "__cuda_std_fmod")];

/// The widest access of a thread. All shared memory is aligned to it, so that vector accesses work
/// on arrays of any type.
const VECTOR_BYTES: u32 = 16;

/// IR for `opt`, and the kernels in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The module's text.
    pub text: String,
    /// The kernels' names, sorted.
    pub kernels: Vec<String>,
    /// Those of them that must not panic.
    pub no_panic: Vec<String>,
    /// The architecture of those that need one.
    pub capabilities: BTreeMap<String, NvvmArch>,
    /// Conditions on arguments: the kernel, and the text that `device` reads.
    pub requires: Vec<(String, String)>,
    /// The parameters of the source: the kernel, and the text that `ptx` reads.
    pub parameters: Vec<(String, String)>,
}

impl Prepared {
    /// These kernels alone, whose IR is `text`.
    pub fn part(&self, text: String, kernels: Vec<String>) -> Self {
        let has = |kernel: &String| kernels.contains(kernel);
        let of_these = |all: &[(String, String)]| -> Vec<(String, String)> {
            let own = all.iter().filter(|(kernel, _)| has(kernel));
            own.cloned().collect()
        };
        Self {
            text,
            no_panic: { self.no_panic.iter() }
                .filter(|&kernel| has(kernel))
                .cloned()
                .collect(),
            capabilities: { self.capabilities.iter() }
                .filter(|(kernel, _)| has(kernel))
                .map(|(kernel, &arch)| (kernel.clone(), arch))
                .collect(),
            requires: of_these(&self.requires),
            parameters: of_these(&self.parameters),
            kernels,
        }
    }
}

/// The marks of a kernel beside its bounds.
#[derive(Default)]
struct Marks {
    must_not_panic: bool,
    capability: Option<NvvmArch>,
    requires: Vec<String>,
    parameters: Option<String>,
}

/// Acts on the marks in `text`, the IR of a whole kernel crate.
pub fn prepare(text: &str) -> Result<Prepared, Error> {
    let placed = placed_variables(text)?;
    let mut out = String::with_capacity(text.len() + 1024);
    let (mut kernels, mut no_panic) = (Vec::new(), Vec::new());
    let (mut requires, mut parameters) = (Vec::new(), Vec::new());
    let mut capabilities = BTreeMap::new();
    let mut subprogram = None;
    for line in text.lines() {
        if line.starts_with("define ") {
            subprogram = subprogram_of(line);
        }
        if let Some(variable) = global_name(line).and_then(|name| placed.get(name)) {
            out.push_str(&variable.definition);
        } else if is_declaration(line, DYNAMIC_SHARED) {
            out.push_str(&dynamic_shared_definition());
        } else if is_declaration(line, SHARED_ADDRESS) {
            out.push_str(&shared_address_definition());
        } else if is_declaration(line, MAP_SHARED) {
            out.push_str(&map_shared_definition());
        } else if line.starts_with("define ptx_kernel ") {
            let name = symbol(line)
                .ok_or_else(|| unexpected("a kernel's name", line))?
                .trim_matches('"');
            kernels.push(name.to_owned());
            let (bounded, marks) = launch_bounds(line)?;
            no_panic.extend(marks.must_not_panic.then(|| name.to_owned()));
            capabilities.extend(marks.capability.map(|arch| (name.to_owned(), arch)));
            let conditions = marks.requires.into_iter();
            requires.extend(conditions.map(|condition| (name.to_owned(), condition)));
            parameters.extend(marks.parameters.map(|all| (name.to_owned(), all)));
            cast_placed(&bounded, &placed, &mut out);
        } else if let Some(called) = called_remainder(line, subprogram) {
            cast_placed(&called, &placed, &mut out);
        } else if let Some(fenced) = fenced_atomic(line) {
            cast_placed(&fenced, &placed, &mut out);
        } else {
            cast_placed(line, &placed, &mut out);
        }
        out.push('\n');
    }
    declare_remainders(&mut out);
    kernels.sort();
    Ok(Prepared {
        text: out,
        kernels,
        no_panic,
        capabilities,
        requires,
        parameters,
    })
}

fn unexpected(what: &str, line: &str) -> Error {
    let line: String = line.chars().take(200).collect();
    Error::UnexpectedIr {
        what: format!("{what} in `{line}`"),
    }
}

/// The first symbol of a line, without its `@`, with quotes if it has them.
pub fn symbol(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('@')?;
    Some(&rest[..symbol_length(rest)])
}

/// The length of the symbol that `text` starts with: a quoted string, or LLVM's identifier
/// characters.
fn symbol_length(text: &str) -> usize {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.find('"').map_or(text.len(), |end| end + 2);
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c)))
        .unwrap_or(text.len())
}

/// The name that a line defines as a global variable: `@name = ...`.
fn global_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('@')?;
    let (name, rest) = rest.split_at(symbol_length(rest));
    rest.starts_with(" = ").then_some(name)
}

/// The variables of other spaces than global memory, by name.
fn placed_variables(text: &str) -> Result<BTreeMap<&str, Placed>, Error> {
    let mut variables = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| line.contains("section \".cuda_std."))
    {
        let Some(name) = global_name(line) else {
            continue;
        };
        let space = SPACES
            .into_iter()
            .find(|(section, _)| line.contains(&format!("section \"{section}\"")));
        if let Some((section, space)) = space {
            let definition = placed(line, name, section, space)?;
            variables.insert(name, Placed { space, definition });
        }
    }
    Ok(variables)
}

/// The definition in `space` of the variable that `line` defines:
/// `@name = internal global TYPE VALUE, section "...", align A`.
fn placed(line: &str, name: &str, section: &str, space: Space) -> Result<String, Error> {
    let (before, after) = line
        .split_once(&format!(", section \"{section}\""))
        .ok_or_else(|| unexpected("a variable's section", line))?;
    let (_, value) = before
        .split_once(" global ")
        .or_else(|| before.split_once(" constant "))
        .ok_or_else(|| unexpected("a variable that is not `global`", line))?;
    let (kind, value) = match space {
        Space::Shared => {
            let ty = value
                .strip_suffix(" undef")
                .ok_or_else(|| unexpected("a shared variable with an initial value", line))?;
            ("global", format!("{ty} undef"))
        }
        Space::Constant => ("constant", value.to_owned()),
    };
    let (_, align) = after
        .split_once("align ")
        .ok_or_else(|| unexpected("a variable without alignment", line))?;
    let digits = align
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(align.len());
    let align: u32 = align[..digits]
        .parse()
        .map_err(|_| unexpected("an alignment", line))?;
    let align = align.max(VECTOR_BYTES);
    let number = space as u32;
    Ok(format!(
        "@{name} = internal addrspace({number}) {kind} {value}, align {align}"
    ))
}

/// Appends `line` to `out`, with a cast from its address space instead of every name of `placed`.
/// The symbol's type, and in a call its attributes, precede it.
fn cast_placed(line: &str, placed: &BTreeMap<&str, Placed>, out: &mut String) {
    if placed.is_empty() {
        return out.push_str(line);
    }
    let mut rest = line;
    while let Some(start) = rest.find('@') {
        let (before, from) = rest.split_at(start + 1);
        let length = symbol_length(from);
        let name = &from[..length];
        if let Some(Placed { space, .. }) = placed.get(name) {
            out.push_str(&before[..start]);
            let number = *space as u32;
            out.push_str(&format!(
                "addrspacecast (ptr addrspace({number}) @{name} to ptr)"
            ));
        } else {
            out.push_str(before);
            out.push_str(name);
        }
        rest = &from[length..];
    }
    out.push_str(rest);
}

fn is_declaration(line: &str, name: &str) -> bool {
    line.starts_with("declare ") && symbol(line) == Some(name)
}

fn map_shared_definition() -> String {
    format!(
        "define internal ptr @{MAP_SHARED}(ptr %address, i32 %rank) alwaysinline {{\n  \
         %shared = addrspacecast ptr %address to ptr addrspace(3)\n  \
         %mapped = call ptr addrspace(7) asm \"mapa.shared::cluster.u64 $0, $1, $2;\", \"=l,l,r\"\
         (ptr addrspace(3) %shared, i32 %rank) memory(none) nounwind willreturn\n  \
         %generic = addrspacecast ptr addrspace(7) %mapped to ptr\n  \
         ret ptr %generic\n}}"
    )
}

fn shared_address_definition() -> String {
    format!(
        "define internal i32 @{SHARED_ADDRESS}(ptr %pointer) alwaysinline {{\n  \
         %shared = addrspacecast ptr %pointer to ptr addrspace(3)\n  \
         %address = ptrtoint ptr addrspace(3) %shared to i32\n  \
         ret i32 %address\n}}"
    )
}

fn dynamic_shared_definition() -> String {
    format!(
        "@{DYNAMIC_SHARED}_memory = external addrspace(3) global [0 x i8], align {VECTOR_BYTES}\n\
         define internal ptr @{DYNAMIC_SHARED}() alwaysinline {{\n  \
         ret ptr addrspacecast (ptr addrspace(3) @{DYNAMIC_SHARED}_memory to ptr)\n}}"
    )
}

/// The debug information of the function that a line defines: `define void @f() !dbg !8 {`.
fn subprogram_of(line: &str) -> Option<&str> {
    let (_, subprogram) = line.split_once(" !dbg ")?;
    subprogram.split(' ').next()
}

/// A remainder of floats as a call: `%r = frem float %a, %b`.
///
/// An operation that LLVM moved has no source position, and a call without one, in a function of
/// this `subprogram`, would make `opt` ignore the positions of the whole module: it gets line 0.
fn called_remainder(line: &str, subprogram: Option<&str>) -> Option<String> {
    let (result, rest) = line.split_once(" = frem ")?;
    let (ty, function) = REMAINDERS
        .into_iter()
        .find(|(ty, _)| rest.starts_with(&format!("{ty} ")))?;
    let (a, rest) = rest[ty.len() + 1..].split_once(", ")?;
    let (b, metadata) = match rest.split_once(", ") {
        Some((b, metadata)) => (b, format!(", {metadata}")),
        None => (rest, String::new()),
    };
    let position = match subprogram {
        Some(subprogram) if !metadata.contains(", !dbg ") => {
            format!(", !dbg !DILocation(line: 0, scope: {subprogram})")
        }
        _ => String::new(),
    };
    Some(format!(
        "{result} = call {ty} @{function}({ty} {a}, {ty} {b}){metadata}{position}"
    ))
}

/// Declares the functions for remainders that `text` calls and does not define: those of a library
/// that is not in it.
fn declare_remainders(text: &mut String) {
    for (ty, function) in REMAINDERS {
        let called = format!(" = call {ty} @{function}(");
        let symbol = format!("@{function}(");
        let is_known = |line: &str| {
            (line.starts_with("define ") || line.starts_with("declare ")) && line.contains(&symbol)
        };
        if text.contains(&called) && !text.lines().any(is_known) {
            text.push_str(&format!("declare {ty} @{function}({ty}, {ty})\n"));
        }
    }
}

/// Rewrites a read-modify-write atomic that is not relaxed as a relaxed one between the fences of
/// its ordering. The fences get its source position.
fn fenced_atomic(line: &str) -> Option<String> {
    let operation = line.trim_start();
    if !operation.starts_with("atomicrmw ") && !operation.contains(" = atomicrmw ") {
        return None;
    }
    let (before, after, order) = [
        ("acquire", None, Some("acquire")),
        ("release", Some("release"), None),
        ("acq_rel", Some("release"), Some("acquire")),
        ("seq_cst", Some("seq_cst"), Some("acquire")),
    ]
    .into_iter()
    .find_map(|(order, before, after)| {
        let order = format!(" {order}, align ");
        line.contains(&order).then_some((before, after, order))
    })?;
    let position = line.split(", ").find(|part| part.starts_with("!dbg "));
    let position = position.map_or(String::new(), |position| format!(", {position}"));
    let fence = |ordering: &str| format!("  fence syncscope(\"device\") {ordering}{position}");
    let relaxed = line.replacen(&order, " monotonic, align ", 1);
    let lines = [before.map(fence), Some(relaxed), after.map(fence)];
    Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

/// A kernel's `define` line, with its bounds as attributes instead of a section, and its marks.
fn launch_bounds(line: &str) -> Result<(String, Marks), Error> {
    let mark = format!(" section \"{BOUNDS_SECTION}.");
    let Some((before, rest)) = line.split_once(&mark) else {
        return Ok((line.to_owned(), Marks::default()));
    };
    let (section, after) = rest
        .split_once('"')
        .ok_or_else(|| unexpected("launch bounds", line))?;
    let mut conditions = section.split('|');
    let first = conditions.next().unwrap_or_default();
    let (numbers, parameters) = match first.split_once('~') {
        Some((numbers, parameters)) => (numbers, Some(parameters.to_owned())),
        None => (first, None),
    };
    let mut given = numbers.split('.');
    let mut marks = Marks {
        requires: conditions.map(str::to_owned).collect(),
        parameters,
        ..Marks::default()
    };
    let mut bounds = [0; 6];
    for bound in &mut bounds {
        let number = given.next().and_then(|number| number.parse().ok());
        *bound = number.ok_or_else(|| unexpected("launch bounds", line))?;
    }
    let [threads, blocks, registers, x, y, z] = bounds;
    for name in given {
        match NvvmArch::of_name(name) {
            Some(arch) => marks.capability = Some(arch),
            None if name == NO_PANIC => marks.must_not_panic = true,
            None => return Err(unexpected("launch bounds", line)),
        }
    }
    let mut marked = before.to_owned();
    let mut add = |attribute: &str, is_given: bool, value: String| {
        if is_given {
            marked.push_str(&format!(" \"nvvm.{attribute}\"=\"{value}\""));
        }
    };
    add("maxntid", threads > 0, threads.to_string());
    add("minctasm", blocks > 0, blocks.to_string());
    add("maxnreg", registers > 0, registers.to_string());
    add("cluster_dim", x > 0, format!("{x},{y},{z}"));
    Ok((marked + after, marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_statics_move_to_address_space_3() {
        let text = r#"
@_RNvS = internal unnamed_addr global [1200 x i8] undef, section ".cuda_std.shared", align 4
@_RNvS2 = internal global [4 x i8] undef, align 4
@"q uoted" = internal global <{ [16 x i8] }> undef, section ".cuda_std.shared", align 16, !dbg !3
  %a = getelementptr inbounds nuw float, ptr @_RNvS, i64 %t, !dbg !63
  %b = load float, ptr @_RNvS2, align 4
  %c = call ptr @f(ptr noundef nonnull @_RNvS, i32 1)
  store ptr @"q uoted", ptr getelementptr inbounds (i8, ptr @_RNvS, i64 8)
"#;
        let expected = r#"
@_RNvS = internal addrspace(3) global [1200 x i8] undef, align 16
@_RNvS2 = internal global [4 x i8] undef, align 4
@"q uoted" = internal addrspace(3) global <{ [16 x i8] }> undef, align 16
  %a = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_RNvS to ptr), i64 %t, !dbg !63
  %b = load float, ptr @_RNvS2, align 4
  %c = call ptr @f(ptr noundef nonnull addrspacecast (ptr addrspace(3) @_RNvS to ptr), i32 1)
  store ptr addrspacecast (ptr addrspace(3) @"q uoted" to ptr), ptr getelementptr inbounds (i8, ptr addrspacecast (ptr addrspace(3) @_RNvS to ptr), i64 8)
"#;
        assert_eq!(prepare(text).unwrap().text, expected);
    }

    #[test]
    fn constants_move_to_address_space_4() {
        let text = r#"
@T = internal unnamed_addr constant [8 x i8] c"\00\01, section", section ".cuda_std.constant", align 4, !dbg !2
  %a = load float, ptr @T, align 4
"#;
        let expected = r#"
@T = internal addrspace(4) constant [8 x i8] c"\00\01, section", align 16
  %a = load float, ptr addrspacecast (ptr addrspace(4) @T to ptr), align 4
"#;
        assert_eq!(prepare(text).unwrap().text, expected);
    }

    #[test]
    fn kernels_are_listed_and_get_their_bounds() {
        let text = "define ptx_kernel void @b(i32 %n) unnamed_addr #0 section \".cuda_std.launch_bounds.256.2.0.0.0.0\" !dbg !8 {\n\
                    define ptx_kernel void @c() #0 section \".cuda_std.launch_bounds.64.0.80.2.3.1.sm_90\" {\n\
                    define ptx_kernel void @a() #0 section \".cuda_std.launch_bounds.0.0.0.0.0.0.no_panic~n: u32~x: *mut [u8; 4]|P0=n L4 <=;n <= 4\" {\n\
                    define internal void @helper() #0 {";
        let prepared = prepare(text).unwrap();
        assert_eq!(prepared.kernels, ["a", "b", "c"]);
        assert_eq!(prepared.no_panic, ["a"]);
        let capabilities = BTreeMap::from([("c".to_owned(), NvvmArch::Compute90)]);
        assert_eq!(prepared.capabilities, capabilities);
        let condition = "P0=n L4 <=;n <= 4".to_owned();
        assert_eq!(prepared.requires, [("a".to_owned(), condition)]);
        let parameters = "n: u32~x: *mut [u8; 4]".to_owned();
        assert_eq!(prepared.parameters, [("a".to_owned(), parameters)]);
        assert_eq!(
            prepared.text,
            "define ptx_kernel void @b(i32 %n) unnamed_addr #0 \"nvvm.maxntid\"=\"256\" \"nvvm.minctasm\"=\"2\" !dbg !8 {\n\
             define ptx_kernel void @c() #0 \"nvvm.maxntid\"=\"64\" \"nvvm.maxnreg\"=\"80\" \"nvvm.cluster_dim\"=\"2,3,1\" {\n\
             define ptx_kernel void @a() #0 {\n\
             define internal void @helper() #0 {\n"
        );
    }

    #[test]
    fn atomics_get_the_fences_of_their_ordering() {
        let edited = |line: &str| prepare(line).unwrap().text;
        assert_eq!(
            edited("  %5 = atomicrmw add ptr %4, i32 1 acq_rel, align 4, !dbg !12, !noalias !7"),
            "  fence syncscope(\"device\") release, !dbg !12\n  \
             %5 = atomicrmw add ptr %4, i32 1 monotonic, align 4, !dbg !12, !noalias !7\n  \
             fence syncscope(\"device\") acquire, !dbg !12\n"
        );
        assert_eq!(
            edited("  %_0.i = atomicrmw umax ptr %x, i64 %v acquire, align 8"),
            "  %_0.i = atomicrmw umax ptr %x, i64 %v monotonic, align 8\n  fence syncscope(\"device\") acquire\n"
        );
        let relaxed = "  %5 = atomicrmw xchg ptr %4, i32 1 monotonic, align 4\n";
        assert_eq!(edited(relaxed), relaxed);
    }

    #[test]
    fn remainders_of_floats_are_calls() {
        let text = "  %r = frem float %a, 2.000000e+00, !dbg !4\n  %s = frem double %c, %d\n\
                    define double @__cuda_std_fmod(double %x, double %y) {\n";
        assert_eq!(
            prepare(text).unwrap().text,
            "  %r = call float @__cuda_std_fmodf(float %a, float 2.000000e+00), !dbg !4\n  \
             %s = call double @__cuda_std_fmod(double %c, double %d)\n\
             define double @__cuda_std_fmod(double %x, double %y) {\n\
             declare float @__cuda_std_fmodf(float, float)\n"
        );
    }

    #[test]
    fn remainders_without_a_position_get_that_of_their_function() {
        let text = "define float @f(float %a) !dbg !8 {\n  %r = frem float %a, %a\n  %s = frem float %a, %r, !dbg !4\n}\n\
                    define float @g(float %a) {\n  %r = frem float %a, %a\n}\n";
        let prepared = prepare(text).unwrap().text;
        let calls: Vec<&str> = prepared
            .lines()
            .filter_map(|line| line.split_once("(float %a, ")?.1.split_once(')'))
            .map(|(_, metadata)| metadata)
            .collect();
        assert_eq!(
            calls,
            [", !dbg !DILocation(line: 0, scope: !8)", ", !dbg !4", ""]
        );
    }

    #[test]
    fn dynamic_shared_memory_gets_a_body() {
        let text = "declare noundef ptr @__cuda_std_dynamic_shared_mem() unnamed_addr #0";
        let prepared = prepare(text).unwrap().text;
        assert!(
            prepared.contains("define internal ptr @__cuda_std_dynamic_shared_mem() alwaysinline")
        );
        assert!(!prepared.contains("declare"));
    }

    #[test]
    fn addresses_in_shared_memory_get_a_body() {
        let text = "declare noundef i32 @__cuda_std_shared_address(ptr noundef) unnamed_addr #0";
        let prepared = prepare(text).unwrap().text;
        assert!(prepared.contains("ptrtoint ptr addrspace(3) %shared to i32"));
        assert!(!prepared.contains("declare"));
    }

    #[test]
    fn a_shared_static_with_a_value_is_refused() {
        let text = "@S = internal global i32 7, section \".cuda_std.shared\", align 4";
        let error = prepare(text).unwrap_err().to_string();
        assert!(
            error.contains("a shared variable with an initial value"),
            "{error}"
        );
    }
}
