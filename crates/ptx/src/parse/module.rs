//! Directives at the top level.

use super::cursor::{Cursor, Result};
use super::{function, loc, variable};
use crate::ast::{Item, Module};
use crate::error::{ErrorKind, Raw};
use crate::lex::Tok;

pub(super) fn module<'a>(c: &mut Cursor<'_, 'a>) -> Result<Module<'a>> {
    let mut module = Module {
        version: version(c)?,
        ..Module::default()
    };
    loop {
        match c.tok() {
            Tok::End => return Ok(module),
            Tok::Dot("target") => {
                c.bump();
                loop {
                    module.target.push(c.word("a target architecture")?.text);
                    if !c.eat(',') {
                        break;
                    }
                }
            }
            Tok::Dot("address_size") => {
                c.bump();
                let pos = c.pos();
                let bits = c.int_u32("32 or 64")?;
                if bits != 32 && bits != 64 {
                    return Err(Raw::new(
                        pos,
                        ErrorKind::Invalid(format!("address size {bits}: expected 32 or 64")),
                    ));
                }
                module.address_size = Some(bits);
            }
            Tok::Dot("file") => module.files.push(file(c)?),
            Tok::Dot("loc") => {
                loc::loc(c)?;
            }
            Tok::Dot("section") => section(c)?,
            Tok::Dot("pragma") => pragma(c)?,
            Tok::Dot(name @ ("alias" | "texref" | "samplerref" | "surfref")) => {
                return Err(Raw::new(
                    c.pos(),
                    ErrorKind::UnsupportedDirective(name.to_string()),
                ));
            }
            Tok::Dot(_) => item(c, &mut module)?,
            Tok::Punct(';') => {
                c.bump();
            }
            _ => return Err(c.expected("a directive")),
        }
    }
}

/// `.version major.minor`: lexed as a decimal, so the digits are read from the text.
fn version(c: &mut Cursor<'_, '_>) -> Result<(u32, u32)> {
    if !c.eat_dot("version") {
        return Err(c.expected("`.version`"));
    }
    let token = c.token();
    let version = c
        .text(token.start, token.end)
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| c.expected("a version such as `8.3`"))?;
    c.bump();
    Ok(version)
}

/// `.file number "path" [, time, size]`.
fn file<'a>(c: &mut Cursor<'_, 'a>) -> Result<(u32, &'a str)> {
    c.bump();
    let number = c.int_u32("a file number")?;
    let Tok::Str(path) = c.tok() else {
        return Err(c.expected("a path in quotes"));
    };
    c.bump();
    while c.eat(',') {
        c.int("a number")?;
    }
    Ok((number, path))
}

/// `.section name { .. }`: debug information, not read.
fn section(c: &mut Cursor<'_, '_>) -> Result<()> {
    c.bump();
    while matches!(
        c.tok(),
        Tok::Dot(_) | Tok::Word(_) | Tok::Punct(',') | Tok::Str(_)
    ) {
        c.bump();
    }
    c.punct('{')?;
    let mut depth = 1;
    while depth > 0 {
        match c.tok() {
            Tok::Punct('{') => depth += 1,
            Tok::Punct('}') => depth -= 1,
            Tok::End => return Err(c.expected("`}` at the end of the section")),
            _ => {}
        }
        c.bump();
    }
    Ok(())
}

/// `.pragma "a", "b";`: advice to the assembler, without meaning for execution.
pub(super) fn pragma(c: &mut Cursor<'_, '_>) -> Result<()> {
    c.bump();
    loop {
        let Tok::Str(_) = c.tok() else {
            return Err(c.expected("a string"));
        };
        c.bump();
        if !c.eat(',') {
            return c.punct(';');
        }
    }
}

/// A variable or a function, behind its linkage.
fn item<'a>(c: &mut Cursor<'_, 'a>, module: &mut Module<'a>) -> Result<()> {
    let mut is_extern = false;
    loop {
        match c.tok() {
            Tok::Dot("extern") => is_extern = true,
            Tok::Dot("visible" | "weak" | "common") => {}
            Tok::Dot("func") => {
                c.bump();
                module
                    .items
                    .push(Item::Function(function::function(c, false)?));
                return Ok(());
            }
            Tok::Dot("entry") => {
                c.bump();
                module
                    .items
                    .push(Item::Function(function::function(c, true)?));
                return Ok(());
            }
            Tok::Dot("global" | "const" | "shared") => {
                variable::declaration(c, is_extern, |v| module.items.push(Item::Variable(v)))?;
                return Ok(());
            }
            _ => return Err(c.expected("`.func`, `.entry`, `.global`, `.const` or `.shared`")),
        }
        c.bump();
    }
}
