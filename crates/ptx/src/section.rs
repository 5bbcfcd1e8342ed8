//! Sections of a text for debuggers, as bytes.

use crate::lex::{Lexer, Tok};
use crate::program::Declared;

impl Declared {
    /// The bytes of the text's section of this name, without its dot (PTX ISA, "Debugging
    /// directives"). A label in it is 1,
    /// another section 0, with what is added to them. `None` if the text has none of this
    /// name, or none that can be read.
    ///
    /// ```
    /// let text = ".version 8.0
    ///     .target sm_90, debug
    ///     .section .debug_info { .b8 3
    ///         .b32 .debug_loc+17, $L__tmp
    ///         .b8 120, 0 }";
    /// let program = ptx::Program::read(text, |_| Ok(()))?;
    /// let bytes = vec![3, 17, 0, 0, 0, 1, 0, 0, 0, b'x', 0];
    /// assert_eq!(program.section("debug_info"), Some(bytes));
    /// assert_eq!(program.section("debug_abbrev"), None);
    /// # Ok::<(), ptx::Error>(())
    /// ```
    pub fn section(&self, name: &str) -> Option<Vec<u8>> {
        let mut places = self.source.match_indices(".section");
        places.find_map(|(at, _)| read(&self.source[at..], name))
    }
}

fn read(text: &str, name: &str) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(text);
    let mut next = || lexer.next().ok().map(|token| token.tok);
    let head = [next()?, next()?, next()?];
    if head != [Tok::Dot("section"), Tok::Dot(name), Tok::Punct('{')] {
        return None;
    }
    let mut section = Vec::new();
    let mut width = 1;
    let mut is_negative = false;
    loop {
        let value = match next()? {
            Tok::Dot(unit @ ("b8" | "b16" | "b32" | "b64")) => {
                let bits: usize = unit[1..].parse().ok()?;
                width = bits / 8;
                continue;
            }
            Tok::Punct(',') => continue,
            Tok::Punct('-') => {
                is_negative = true;
                continue;
            }
            Tok::Punct('}') => return Some(section),
            Tok::Int(value) if is_negative => value.wrapping_neg(),
            Tok::Int(value) => value,
            Tok::Dot(_) => 0,
            Tok::Word(_) => 1,
            Tok::Punct('+') => {
                let Tok::Int(added) = next()? else {
                    return None;
                };
                let before = section.len().checked_sub(width)?;
                let mut sum = [0; 8];
                sum[..width].copy_from_slice(&section.split_off(before));
                u64::from_le_bytes(sum).wrapping_add(added)
            }
            _ => return None,
        };
        is_negative = false;
        section.extend(&value.to_le_bytes()[..width]);
    }
}
