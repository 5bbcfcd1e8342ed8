//! The refused constructs, and why.

use super::tokens::{Token, TokenKind};

const READS_FILES: &str = "a submission is its two files, and reads no others";
const READS_ENVIRONMENT: &str = "a submission does not depend on the machine that compiles it";
pub const ASSEMBLY: &str = "kernels are Rust; cuda_std has the instructions that Rust cannot spell";
pub const SYMBOLS: &str = "only #[kernel] gives functions their names and places in the PTX";
const FOREIGN: &str = "a submission calls nothing but Rust; cuda_std has the device's functions";
const CRATES: &str = "a submission uses core, cuda_std, kernels_gpu and plan alone";
const UNSTABLE: &str = "a submission is written in stable Rust";
const ATTRIBUTES: &str = "it is not among the attributes that a submission may use";
const HIDDEN: &str =
    "which macro or attribute is meant is hidden; write the macro's or attribute's name out";
const SAFE: &str = "host code records a plan, which takes no unsafe code";
const STANDARD: &str =
    "host code records a plan: of std it uses what computes, nothing that reaches outside";
const NO_STANDARD: &str = "kernels.rs runs on a GPU, which has no std; use `core` or `cuda_std`";
const NO_STANDARD_THREAD: &str =
    "kernels.rs runs on a GPU, which has no std; use `cuda_std::thread`";

/// Macros that are refused: called, or taken from the library by `use`. A variable may have such a
/// name.
const MACROS: &[(&str, &str)] = &[
    ("include", READS_FILES),
    ("include_str", READS_FILES),
    ("include_bytes", READS_FILES),
    ("env", READS_ENVIRONMENT),
    ("option_env", READS_ENVIRONMENT),
    ("asm", ASSEMBLY),
    ("global_asm", ASSEMBLY),
    ("naked_asm", ASSEMBLY),
    ("llvm_asm", ASSEMBLY),
];

/// Names that are refused in attributes. Elsewhere they are names like others: the expanded text
/// has what macros make attributes of.
const NAMES: &[(&str, &str)] = &[
    ("no_mangle", SYMBOLS),
    ("export_name", SYMBOLS),
    ("link_section", SYMBOLS),
    ("link_name", SYMBOLS),
    ("global_allocator", SYMBOLS),
    ("panic_handler", SYMBOLS),
    ("proc_macro", CRATES),
];

/// Attributes that mean nothing outside the file. `cfg_attr` is looked into. `macro_use` gives
/// names to macros of the file, or of crates that a submission may use, and `no_std` says of a
/// module what is so for kernels, and nothing. `diagnostic` words the compiler's messages.
const ALLOWED_ATTRIBUTES: &str = "allow cfg cfg_attr clippy cold default deny deprecated derive diagnostic doc expect forbid ignore \
    inline kernel macro_export macro_use must_use no_std non_exhaustive recursion_limit repr rustfmt should_panic test \
    track_caller warn automatically_derived";

/// The derives of core.
const ALLOWED_DERIVES: &str = "Clone Copy Debug Default Eq Hash Ord PartialEq PartialOrd";

const ALLOWED_CRATES: &str = "core cuda_std kernels_gpu plan";

/// The part of std that only computes: the names that `host_std.rs` has, except `process`.
pub const ALLOWED_STD: &str = "any array ascii assert assert_eq assert_ne borrow boxed cell cfg char clone cmp collections column \
    compile_error concat convert dbg debug_assert debug_assert_eq debug_assert_ne default eprint eprintln error f32 f64 \
    file fmt format format_args future hash hint i128 i16 i32 i64 i8 isize iter line marker matches mem module_path num \
    ops option panic pin prelude primitive print println ptr rc result slice str string stringify sync thread_local todo \
    u128 u16 u32 u64 u8 unimplemented unreachable usize vec write writeln";

/// Of `std::process`, what only ends: a recorder that ends early is found out.
pub const ALLOWED_PROCESS: &str = "abort exit";

/// Whether one of these words, which spaces part, is `name`.
pub fn lists(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// The first token of the file that starts something refused, what that is, and why. Host code may
/// use less than device code.
pub fn first_refused(
    tokens: &[Token],
    is_host_code: bool,
) -> Option<(&Token, String, &'static str)> {
    (0..tokens.len()).find_map(|i| {
        let (construct, reason) = refused(View { tokens, i }, is_host_code)?;
        Some((&tokens[i], construct, reason))
    })
}

/// The tokens from some place on.
#[derive(Clone, Copy)]
pub struct View<'t> {
    pub tokens: &'t [Token],
    pub i: usize,
}

impl<'t> View<'t> {
    pub fn after(self, count: usize) -> View<'t> {
        View {
            i: self.i + count,
            ..self
        }
    }

    /// The token before this one, which is not the first.
    fn before(self) -> View<'t> {
        View {
            i: self.i - 1,
            ..self
        }
    }

    pub fn name(self) -> Option<&'t str> {
        match &self.tokens.get(self.i)?.kind {
            TokenKind::Name(name) => Some(name),
            _ => None,
        }
    }

    pub fn literal(self) -> Option<&'t str> {
        match &self.tokens.get(self.i)?.kind {
            TokenKind::Literal(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_name(self, name: &str) -> bool {
        self.name() == Some(name)
    }

    pub fn is_mark(self, mark: char) -> bool {
        self.tokens.get(self.i).map(|token| &token.kind) == Some(&TokenKind::Mark(mark))
    }

    fn is_path_separator(self) -> bool {
        self.is_mark(':') && self.after(1).is_mark(':')
    }

    pub fn depth(self) -> usize {
        self.tokens.get(self.i).map_or(0, |token| token.depth)
    }

    /// The places inside the bracket that opens here.
    pub fn inside_all(self) -> impl Iterator<Item = View<'t>> {
        let depth = self.depth();
        (self.i + 1..self.tokens.len())
            .map(move |i| View { i, ..self })
            .take_while(move |view| view.depth() > depth)
    }

    /// Those of them that are one bracket deep.
    fn inside(self) -> impl Iterator<Item = View<'t>> {
        let depth = self.depth();
        self.inside_all()
            .filter(move |view| view.depth() == depth + 1)
    }

    /// Where each of the list's elements starts, in the bracket that opens here.
    fn elements(self) -> impl Iterator<Item = View<'t>> {
        let mut starts = true;
        self.inside().filter(move |view| {
            let started = starts && !view.is_mark(',');
            starts = view.is_mark(',');
            started
        })
    }
}

/// The refused construct that starts here.
fn refused(here: View<'_>, is_host_code: bool) -> Option<(String, &'static str)> {
    if here.is_mark('#') {
        return attribute(here);
    }
    if here.is_mark('$') {
        return macro_variable(here);
    }
    let name = here.name()?;
    let listed = |names: &[(&str, &'static str)]| {
        let (_, reason) = names.iter().find(|(refused, _)| *refused == name)?;
        Some((format!("`{name}`"), *reason))
    };
    if let Some(refused) = listed(MACROS)
        && (is_macro(here) || is_from_library(here))
    {
        return Some(refused);
    }
    match name {
        "mod" => {
            let inside = here.after(1).name()?;
            here.after(2)
                .is_mark(';')
                .then(|| (format!("`mod {inside};`"), READS_FILES))
        }
        "extern" => external(here),
        "unsafe" if is_host_code => Some(("`unsafe`".to_owned(), SAFE)),
        "std" => standard(here, is_host_code),
        _ => None,
    }
}

/// `$name!` would be any macro, and `$name:meta` any attribute where it is not in one.
fn macro_variable(here: View<'_>) -> Option<(String, &'static str)> {
    let name = here.after(1).name()?;
    let next = here.after(2);
    if is_macro(here.after(1)) {
        return Some((format!("`${name}!`"), HIDDEN));
    }
    let in_attribute = here.i > 0 && here.before().is_mark('[');
    let is_meta = next.is_mark(':') && next.after(1).is_name("meta");
    (is_meta && !in_attribute).then(|| (format!("`${name}:meta`"), HIDDEN))
}

pub fn is_macro(here: View<'_>) -> bool {
    here.after(1).is_mark('!') && !here.after(2).is_mark('=')
}

/// Whether the name is taken from `core` or `std`: `core::env`, `use core::{env as e}`.
fn is_from_library(here: View<'_>) -> bool {
    let is_library = |view: View<'_>| view.is_name("core") || view.is_name("std");
    // Back over the path.
    let mut path = here;
    while path.i >= 3 && path.before().is_mark(':') && path.before().before().is_mark(':') {
        path = View {
            i: path.i - 3,
            ..path
        };
        if is_library(path) {
            return true;
        }
    }
    // Back over whatever an import may hold, to its start. None is longer.
    let mut before = here;
    let mut names_library = false;
    for _ in 0..1000 {
        if before.i == 0 {
            return false;
        }
        before = before.before();
        if before.is_name("use") {
            return names_library;
        }
        names_library |= is_library(before);
        let marks = [':', '{', ',', '}', '*'];
        if before.name().is_none() && !marks.iter().any(|&mark| before.is_mark(mark)) {
            return false;
        }
    }
    false
}

pub fn external(here: View<'_>) -> Option<(String, &'static str)> {
    if here.after(1).is_name("crate") {
        let krate = here.after(2).name().unwrap_or("");
        if lists(ALLOWED_CRATES, krate) {
            return None;
        }
        return Some((format!("`extern crate {krate}`"), CRATES));
    }
    Some(("`extern`".to_owned(), FOREIGN))
}

/// `std::module` and `std::{module, ...}`.
fn standard(here: View<'_>, is_host_code: bool) -> Option<(String, &'static str)> {
    let refused = |what: String| {
        let reason = match is_host_code {
            true => STANDARD,
            false if what == "`std::thread`" => NO_STANDARD_THREAD,
            false => NO_STANDARD,
        };
        Some((what, reason))
    };
    if !here.after(1).is_path_separator() {
        // `use std as s` and the like. A field or variable of that name is somebody's own matter.
        return if here.after(1).is_name("as") {
            refused("`std as`".to_owned())
        } else {
            None
        };
    }
    let next = here.after(3);
    let module = |view: View<'_>| -> Option<(String, &'static str)> {
        let name = view.name()?;
        if lists(ALLOWED_STD, name) {
            return None;
        }
        let item = view.after(3);
        if name == "process"
            && view.after(1).is_path_separator()
            && item.name().is_some_and(|item| lists(ALLOWED_PROCESS, item))
        {
            return None;
        }
        refused(format!("`std::{name}`"))
    };
    if next.is_mark('{') {
        return next.elements().find_map(|view| {
            if view.is_mark('*') || view.is_name("self") {
                refused("`std::{self}`".to_owned())
            } else {
                module(view)
            }
        });
    }
    if next.is_mark('*') {
        return refused("`std::*`".to_owned());
    }
    module(next)
}

/// `#[...]` and `#![...]`.
fn attribute(here: View<'_>) -> Option<(String, &'static str)> {
    let open = here.after(1 + usize::from(here.after(1).is_mark('!')));
    if !open.is_mark('[') {
        // `#` in a macro's pattern.
        return None;
    }
    let first = open.after(1);
    if first.is_mark('$') {
        // `#[$doc:meta]` in a macro's pattern, and `#[$doc]` in what it becomes.
        let end = first.after(2);
        let whole = end.is_mark(']')
            || (end.is_mark(':') && end.after(1).is_name("meta") && end.after(2).is_mark(']'));
        return (!whole).then(|| ("`#[$...]`".to_owned(), HIDDEN));
    }
    let named = open.inside_all().find_map(|view| {
        let name = view.name()?;
        let (_, reason) = NAMES.iter().find(|(refused, _)| *refused == name)?;
        Some((format!("`{name}`"), *reason))
    });
    // `unsafe` says it first.
    one_attribute(first).or(named)
}

/// The path of a derive that is not core's: `Clone` and `::core::clone::Clone` are.
fn other_derive(derive: View<'_>) -> Option<String> {
    let mut path = String::new();
    let mut at = derive;
    let mut names = Vec::new();
    while !at.is_mark(',') && at.depth() == derive.depth() {
        match at.name() {
            Some(name) => {
                path += name;
                names.push(name);
            }
            None if at.is_mark(':') => path.push(':'),
            None => return Some(path + "?"),
        }
        at = at.after(1);
    }
    let is_core = match names[..] {
        [_] => true,
        [library, ..] => ["core", "std"].contains(&library),
        [] => false,
    };
    let is_allowed = names
        .last()
        .is_some_and(|last| lists(ALLOWED_DERIVES, last));
    (!(is_core && is_allowed)).then_some(path)
}

fn one_attribute(view: View<'_>) -> Option<(String, &'static str)> {
    let name = view.name()?;
    let refused = |reason| Some((format!("`#[{name}]`"), reason));
    match name {
        "path" => refused(READS_FILES),
        "feature" => refused(UNSTABLE),
        "link" => refused(FOREIGN),
        "derive" => {
            let other = view.after(1).elements().find_map(other_derive)?;
            Some((
                format!("`#[derive({other})]`"),
                "a submission derives the traits of core alone",
            ))
        }
        // `cfg_attr(condition, attribute, ...)`.
        "cfg_attr" => view.after(1).elements().skip(1).find_map(one_attribute),
        "unsafe" => refused(SYMBOLS),
        _ if lists(ALLOWED_ATTRIBUTES, name) => None,
        // Said by the caller.
        _ if NAMES.iter().any(|(listed, _)| *listed == name) => None,
        _ => refused(ATTRIBUTES),
    }
}
