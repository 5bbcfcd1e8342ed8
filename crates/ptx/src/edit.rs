//! Edits of a module's text that leave the rest of it as it is.

use std::fmt::Write as _;

use crate::error::Error;
use crate::lex::{Tok, lex};

/// The text with `.maxnreg` (PTX ISA, "Performance-tuning directives") before the body of each
/// entry, instead of one that is there: the most registers of a thread.
///
/// # Errors
///
/// A text that is not made of PTX's tokens.
pub fn with_max_registers(text: &str, registers: u32) -> Result<String, Error> {
    let tokens = lex(text).map_err(|problem| problem.into_error(text))?;
    let mut edited = String::with_capacity(text.len() + 1024);
    // The text before it is taken over, or left out.
    let mut done = 0;
    // Between `.entry` and its body, or the semicolon of a declaration; within the parentheses of
    // its parameters.
    let (mut in_head, mut in_params) = (false, false);
    for (token, next) in tokens.iter().zip(&tokens[1..]) {
        match token.tok {
            Tok::Dot("entry") => in_head = true,
            Tok::Punct('(') => in_params = in_head,
            Tok::Punct(')') => in_params = false,
            Tok::Punct(';') => in_head = false,
            Tok::Dot("maxnreg") if in_head => {
                edited += &text[done..token.start];
                // Its number goes, too.
                done = next.end;
            }
            Tok::Punct('{') if in_head && !in_params => {
                edited += &text[done..token.start];
                let _ = writeln!(edited, ".maxnreg {registers}");
                done = token.start;
                in_head = false;
            }
            _ => {}
        }
    }
    edited += &text[done..];
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0 // { .entry none
.target sm_70
.address_size 64
/* .entry in a comment { */
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.func helper() { ret; }
.visible .entry first(
    .param .u64 first_u
)
.maxntid 32, 1, 1
.maxnreg 24
{
    .reg .b32 %r<2>;
    { mov.u32 %r1, 7; }
    ret;
}
.entry second { ret; }
";

    #[test]
    fn every_entry_gets_one() {
        insta::assert_snapshot!(with_max_registers(PTX, 40).unwrap(), @"
    .version 7.0 // { .entry none
    .target sm_70
    .address_size 64
    /* .entry in a comment { */
    .global .align 4 .b8 table[4] = {1, 2, 3, 4};
    .func helper() { ret; }
    .visible .entry first(
        .param .u64 first_u
    )
    .maxntid 32, 1, 1

    .maxnreg 40
    {
        .reg .b32 %r<2>;
        { mov.u32 %r1, 7; }
        ret;
    }
    .entry second .maxnreg 40
    { ret; }
    ");
    }
}
