//! Lines of code of built-in variants: those that are neither empty nor a comment.
//!
//! Variants share files. So the lines of a variant's kernels are those of the items of its `kernels.rs` that its kernels
//! name, directly or through others: functions, constants, types, macros. Physics that kernels share with the CPU references is no
//! part of any variant. Of the host's code, the whole `launch.rs` is counted.

use std::collections::BTreeSet;

use host::{Lab, Variant};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use serde::{Deserialize, Serialize};
use syn::Item;
use syn::spanned::Spanned;

/// Lines of code of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLines {
    /// Of its kernels.
    pub kernels: usize,
    /// Of its `launch.rs`, which other variants may use too.
    pub launch: usize,
}

/// Those of a variant; none where the source is not part of this program.
pub fn of_variant(lab: &dyn Lab, variant: &Variant) -> Option<CodeLines> {
    let is_here = |(path, _): &(&str, &str)| path.split('/').next() == Some(lab.name());
    if !host::solutions::SOURCES.iter().any(is_here) {
        return None;
    }
    let cases = lab.small_cases().into_iter();
    let mut plans = cases.filter_map(|case| case.record(variant.name).ok());
    // A case of no timesteps launches nothing.
    let plan = plans.find(|plan| !plan.kernels().is_empty())?;
    of_kernels(
        host::solutions::SOURCES,
        lab.name(),
        variant.base(),
        plan.kernels(),
    )
}

/// Those of the kernels of these names, among sources with their paths. One file has all kernels of a variant.
fn of_kernels(
    sources: &[(&str, &str)],
    lab: &str,
    variant: &str,
    kernels: &[String],
) -> Option<CodeLines> {
    let of_lab = |file: &'static str| {
        let is_here = move |path: &str| path.split('/').next() == Some(lab) && path.ends_with(file);
        sources.iter().filter(move |(path, _)| is_here(path))
    };
    for (path, text) in of_lab("/kernels.rs") {
        let parsed = syn::parse_file(text).ok()?;
        let items = parsed.items.iter();
        let items: Vec<Part> = items.filter_map(|item| Part::of(text, item)).collect();
        let lines = reached(&items, kernels).map(|item| item.lines).sum();
        if lines > 0 {
            // Beside the kernels, or in a folder of the variant's name below them.
            let folder = path.trim_end_matches("kernels.rs");
            let own = format!("{folder}{variant}/launch.rs");
            let beside = format!("{folder}launch.rs");
            let find = |wanted: &str| of_lab("/launch.rs").find(|(path, _)| *path == wanted);
            let (_, launch) = find(&own).or_else(|| find(&beside))?;
            return Some(CodeLines {
                kernels: lines,
                launch: count(launch.lines()),
            });
        }
    }
    None
}

/// The items that these kernels come of, and those that they name, directly or through others.
fn reached<'i>(items: &'i [Part], kernels: &[String]) -> impl Iterator<Item = &'i Part> {
    let makes_one = |item: &Part| kernels.iter().any(|kernel| item.makes(kernel));
    let (mut reached, mut left): (Vec<&Part>, Vec<&Part>) =
        items.iter().partition(|item| makes_one(item));
    let mut next = 0;
    while let Some(by) = reached.get(next) {
        let (named, others) = left
            .into_iter()
            .partition::<Vec<&Part>, _>(|item| !by.mentions.is_disjoint(&item.defines));
        reached.extend(named);
        left = others;
        next += 1;
    }
    reached.into_iter()
}

/// An item of a file.
struct Part {
    /// What it is called; nothing for a macro's call.
    defines: BTreeSet<String>,
    /// All that it names.
    mentions: BTreeSet<String>,
    lines: usize,
}

impl Part {
    fn of(text: &str, item: &Item) -> Option<Part> {
        let mut mentions = BTreeSet::new();
        add_names(item.to_token_stream(), &mut mentions);
        let name = match item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Macro(item) => item.ident.as_ref(),
            _ => None,
        };
        let defines = match (item, name) {
            (Item::Use(_) | Item::Mod(_), _) => return None,
            (_, Some(name)) => BTreeSet::from([name.to_string()]),
            (Item::Impl(item), _) => {
                let mut names = BTreeSet::new();
                add_names(item.self_ty.to_token_stream(), &mut names);
                names
            }
            _ => BTreeSet::new(),
        };
        let (first, last) = lines_of(item.span());
        let lines = text.lines().skip(first - 1).take(last + 1 - first);
        Some(Part {
            defines,
            mentions,
            lines: count(lines),
        })
    }

    /// Whether this kernel comes of it: of a macro's call, whatever that names may be one.
    fn makes(&self, kernel: &str) -> bool {
        let names = match self.defines.is_empty() {
            true => &self.mentions,
            false => &self.defines,
        };
        names.contains(kernel)
    }
}

fn lines_of(span: Span) -> (usize, usize) {
    (span.start().line, span.end().line)
}

fn add_names(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                names.insert(name.to_string());
            }
            TokenTree::Group(group) => add_names(group.stream(), names),
            _ => {}
        }
    }
}

/// Lines that are neither empty nor a comment.
fn count<'t>(lines: impl Iterator<Item = &'t str>) -> usize {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    lines.filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::labs;

    const KERNELS: &str = "\
//! Kernels.

use cuda_std::prelude::*;

/// Threads.
pub const BLOCK: u32 = 32;
const OTHER: u32 = 1;

/// Helps.
fn helper(x: u32) -> u32 {
    // A comment.
    x + OTHER
}

#[kernel(max_threads = 32)]
pub unsafe fn first(u: *mut u32) {

    unsafe { *u = BLOCK };
}

#[kernel]
pub unsafe fn second(u: *mut u32) {
    unsafe { *u = helper(1) };
}

macro_rules! kernels {
    ($($name:ident)*) => { $(pub fn $name() {})* };
}
kernels!(third fourth);
";

    #[test]
    fn lines_are_those_that_a_kernel_needs() {
        let launch = "//! Launches.\n\nfn record() {\n}\n";
        let sources = [
            ("lab/one/kernels.rs", KERNELS),
            ("lab/one/launch.rs", launch),
            ("lab/one/own/launch.rs", "fn record() {}\n"),
            ("other/kernels.rs", KERNELS),
        ];
        let lines = |variant: &str, kernels: &[&str]| {
            let kernels: Vec<String> = kernels.iter().map(|name| (*name).to_owned()).collect();
            let CodeLines { kernels, launch } = of_kernels(&sources, "lab", variant, &kernels)?;
            Some((kernels, launch))
        };
        assert_eq!(lines("plain", &["first"]), Some((1 + 4, 2)));
        assert_eq!(lines("own", &["second"]), Some((1 + 3 + 4, 1)));
        assert_eq!(lines("plain", &["first", "second"]), Some((5 + 8, 2)));
        assert_eq!(lines("plain", &["fourth"]), Some((1 + 3, 2)));
        assert_eq!(lines("plain", &["fifth"]), None);
        assert_eq!(of_kernels(&[], "lab", "plain", &["first".to_owned()]), None);
        // Another solution's items are no part of it, whatever they are called.
        let other = "fn helper(x: u32) -> u32 {\n    x\n}\npub const BLOCK: u32 = 1;\n";
        let sources = [("lab/zero/kernels.rs", other), sources[0], sources[1]];
        let second = of_kernels(&sources, "lab", "plain", &["second".to_owned()]);
        assert_eq!(second.map(|lines| lines.kernels), Some(1 + 3 + 4));
    }

    #[test]
    fn built_in_variants_have_some() {
        for lab in labs() {
            for variant in lab.variants() {
                let lines = of_variant(*lab, variant);
                let name = format!("{} {}: {lines:?}", lab.name(), variant.name);
                // The kernels of membench are the course's own, not the variants'.
                let is_known = lines.is_some_and(|lines| lines.kernels >= 3 && lines.launch >= 5);
                assert_eq!(is_known, lab.name() != "membench", "{name}");
            }
        }
    }
}
