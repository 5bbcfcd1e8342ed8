//! The text after macro expansion, as the compiler writes it: each item has its own name here.
//! Files and variables that macros read have become what they hold; those the compiler lists
//! (`said::taken`).

use super::rules::{self, View};
use super::tokens::{self, Token};
use super::{KERNELS, LAUNCH};
use crate::outcome::{Kind, fail};
use crate::pack::PackError;

/// The machine that a text is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// The recorder: kernels.rs is a module of it too.
    Host,
    /// A GPU.
    Device,
}

impl Machine {
    /// The file that is meant by "it", in a message about the whole.
    pub const fn file(self) -> &'static str {
        match self {
            Machine::Host => LAUNCH,
            Machine::Device => KERNELS,
        }
    }
}

/// Deeper than in files: macros add brackets.
const MAX_DEPTH: usize = 512;

/// The refused attributes: those that give names and places to the linker.
const ATTRIBUTES: &str = "no_mangle export_name link_section link_name link linkage used global_allocator panic_handler \
    naked";

/// Fails for the first thing in the expanded text that a submission may not use.
pub fn expanded(text: &str, machine: Machine) -> Result<(), PackError> {
    let file = machine.file();
    let Ok(tokens) = tokens::flatten(text, MAX_DEPTH) else {
        fail!(
            Kind::ForbiddenConstruct,
            "{file}: what its macros become cannot be read: brackets more than {MAX_DEPTH} deep, or none of Rust's"
        );
    };
    let found = (0..tokens.len()).find_map(|i| {
        let (construct, reason) = refused(View { tokens: &tokens, i }, machine)?;
        Some((i, construct, reason))
    });
    if let Some((i, construct, reason)) = found {
        let file = if in_kernels(&tokens, i) {
            KERNELS
        } else {
            file
        };
        fail!(
            Kind::ForbiddenConstruct,
            "{file}: its macros become {construct}: {reason}"
        );
    }
    Ok(())
}

/// Whether the token is in the module of kernels, which is the first.
fn in_kernels(tokens: &[Token], i: usize) -> bool {
    let launch = (0..tokens.len()).find(|&at| {
        let view = View { tokens, i: at };
        view.is_name("mod") && view.after(1).is_name("launch") && view.depth() == 0
    });
    launch.is_none_or(|launch| i < launch)
}

fn refused(here: View<'_>, machine: Machine) -> Option<(String, &'static str)> {
    if here.is_mark('#') {
        return attribute(here, machine);
    }
    let name = here.name()?;
    match name {
        "asm" | "global_asm" | "naked_asm" if rules::is_macro(here) => {
            Some((format!("`{name}!`"), rules::ASSEMBLY))
        }
        "extern" => external(here, machine),
        _ => None,
    }
}

fn external(here: View<'_>, machine: Machine) -> Option<(String, &'static str)> {
    let next = here.after(1);
    // The compiler's own at the top: `extern crate std;`, `extern crate core;`.
    let is_own = here.depth() == 0
        && next.is_name("crate")
        && (next.after(1).is_name("std") || next.after(1).is_name("core"))
        && next.after(2).is_mark(';');
    let is_kernel = machine == Machine::Device
        && next.literal() == Some("\"ptx-kernel\"")
        && next.after(1).is_name("fn");
    if is_own || is_kernel {
        return None;
    }
    rules::external(here)
}

fn attribute(here: View<'_>, machine: Machine) -> Option<(String, &'static str)> {
    let open = here.after(1 + usize::from(here.after(1).is_mark('!')));
    let first = open.after(1);
    let name = first.name().filter(|_| open.is_mark('['))?;
    let refused = |word: &str| Some((format!("`#[{word}]`"), rules::SYMBOLS));
    if name != "unsafe" {
        return rules::lists(ATTRIBUTES, name)
            .then(|| refused(name))
            .flatten();
    }
    let inside = first.after(2);
    let name = inside.name().unwrap_or(name);
    // The expansion of `#[kernel]` and `shared_array!`. A submission that spells it itself has what
    // these would have given it.
    let is_bound = name == "link_section"
        && inside.after(1).is_mark('=')
        && inside
            .after(2)
            .literal()
            .is_some_and(|section| section.starts_with("\".cuda_std."));
    let is_kernel = name == "no_mangle" && is_of_kernel(first.after(5));
    if machine == Machine::Device && (is_bound || is_kernel) {
        None
    } else {
        refused(name)
    }
}

/// Whether attributes and then a kernel start here.
fn is_of_kernel(mut here: View<'_>) -> bool {
    while here.is_mark('#') && here.after(1).is_mark('[') {
        let inside = here.after(1).inside_all().count();
        // `#`, `[`, what is inside, `]`.
        here = here.after(inside + 3);
    }
    let words = ["pub", "unsafe", "extern"];
    words
        .iter()
        .enumerate()
        .all(|(i, word)| here.after(i).is_name(word))
        && here.after(3).literal() == Some("\"ptx-kernel\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, machine: Machine) -> String {
        match expanded(text, machine) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_macros_become_is_looked_at() {
        use Machine::{Device, Host};
        insta::assert_snapshot!(message("pub mod kernels { fn f() { unsafe { asm!(\"nop\"); } } } pub mod launch {}", Host), @"kernels.rs: its macros become `asm!`: kernels are Rust; cuda_std has the instructions that Rust cannot spell");
        insta::assert_snapshot!(message("pub mod kernels {} pub mod launch { unsafe extern \"C\" { fn f(); } }", Host), @"launch.rs: its macros become `extern`: a submission calls nothing but Rust; cuda_std has the device's functions");
        insta::assert_snapshot!(message("pub mod kernels { #[unsafe(no_mangle)] pub fn f() {} }", Device), @"kernels.rs: its macros become `#[no_mangle]`: only #[kernel] gives functions their names and places in the PTX");
        for text in [
            "mod kernels { global_asm!(\"\"); }",
            "mod kernels { #[link(name = \"c\")] unsafe extern \"C\" {} }",
            "mod kernels { #[link_section = \".init_array\"] static F: fn() = f; }",
            "mod kernels { #[unsafe(link_section = \".init_array\")] static F: fn() = f; }",
            "mod kernels { #[unsafe(export_name = \"k\")] pub extern \"C\" fn f() {} }",
            "mod kernels { #[unsafe(no_mangle)] #[inline] pub unsafe fn f() {} extern \"ptx-kernel\" fn g() {} }",
            "mod kernels { extern crate std; }",
            "extern crate alloc;",
        ] {
            for machine in [Host, Device] {
                assert_ne!(message(text, machine), "", "{text}");
            }
        }
        let deep = format!("{}{}", "(".repeat(600), ")".repeat(600));
        assert!(message(&deep, Host).contains("deep"));
    }

    #[test]
    fn what_the_course_s_macros_become_passes() {
        let text = "#![feature(prelude_import)] #![no_std] extern crate core; #[prelude_import] use core::prelude::rust_2024::*;
            pub mod kernels {
                #[unsafe(no_mangle)] #[unsafe(link_section = \".cuda_std.launch_bounds.256.0.0.0.0.0\")] #[allow(x)]
                pub unsafe extern \"ptx-kernel\" fn k(u: *mut f32) {
                    #[unsafe(link_section = \".cuda_std.shared\")] static mut S: u32 = 0;
                }
                #[automatically_derived] #[doc(hidden)] unsafe impl ::core::clone::TrivialClone for S {}
                fn asm(include: u32) -> u32 { include + asm }
            }";
        assert_eq!(message(text, Machine::Device), "");
        assert_ne!(message(text, Machine::Host), "");
        let host =
            "extern crate std; #[forbid(unsafe_code)] pub mod launch { use std::fs as never; }";
        assert_eq!(message(host, Machine::Host), "");
    }
}
