//! Directives at the top level: variables and functions among them.

use super::cursor::{Cursor, Result};
use super::{statement, variable};
use crate::error::{ErrorKind, Problem};
use crate::lex::Tok;
use crate::syntax::{Function, Item, ModuleSyntax};

pub(super) fn module<'a>(c: &mut Cursor<'_, 'a>) -> Result<ModuleSyntax<'a>> {
    let mut module = ModuleSyntax {
        version: version(c)?,
        ..ModuleSyntax::default()
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
                    let message = format!("address size {bits}: expected 32 or 64");
                    return Err(Problem::invalid(pos, message));
                }
                module.address_size = Some(bits);
            }
            Tok::Dot("file") => module.files.push(file(c)?),
            Tok::Dot("loc") => {
                statement::loc(c)?;
            }
            Tok::Dot("section") => section(c)?,
            Tok::Dot("pragma") => c.pragma()?,
            Tok::Dot(name @ ("alias" | "texref" | "samplerref" | "surfref")) => {
                return Err(Problem::new(
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

/// A variable or a function, behind its linkage.
fn item<'a>(c: &mut Cursor<'_, 'a>, module: &mut ModuleSyntax<'a>) -> Result<()> {
    let mut is_extern = false;
    loop {
        match c.tok() {
            Tok::Dot("extern") => is_extern = true,
            Tok::Dot("visible" | "weak" | "common") => {}
            Tok::Dot(kind @ ("func" | "entry")) => {
                c.bump();
                let function = function(c, kind == "entry")?;
                module.items.push(Item::Function(function));
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

/// A `.func` or `.entry`, from behind that keyword to its body's end or its semicolon.
fn function<'a>(c: &mut Cursor<'_, 'a>, is_kernel: bool) -> Result<Function<'a>> {
    c.attributes()?;
    let returns = variable::parameters(c)?;
    let name = c.word("a function name")?;
    let params = variable::parameters(c)?;
    let mut function = Function {
        name,
        is_kernel,
        params,
        returns,
        max_threads: None,
        required_threads: None,
        min_blocks: None,
        max_registers: None,
        required_cluster: None,
        max_cluster_blocks: None,
        no_return: false,
        body: None,
    };
    loop {
        match c.tok() {
            Tok::Dot(directive) => {
                performance(c, directive, &mut function)?;
            }
            Tok::Punct(';') => {
                c.bump();
                return Ok(function);
            }
            Tok::Punct('{') => {
                function.body = Some(statement::body(c)?);
                return Ok(function);
            }
            _ => return Err(c.expected("`{`, `;` or a performance directive")),
        }
    }
}

/// A directive between a signature and its body.
fn performance<'a>(
    c: &mut Cursor<'_, 'a>,
    directive: &'a str,
    function: &mut Function<'a>,
) -> Result<()> {
    if directive == "pragma" {
        return c.pragma();
    }
    let pos = c.pos();
    c.bump();
    match directive {
        "maxntid" => function.max_threads = Some(dimensions(c)?),
        "reqntid" => function.required_threads = Some(dimensions(c)?),
        "minnctapersm" => function.min_blocks = Some(c.int_u32("a number of blocks")?),
        "maxnreg" => function.max_registers = Some(c.int_u32("a number of registers")?),
        "noreturn" => function.no_return = true,
        // Without meaning for execution on one block at a time.
        "maxnctapersm" | "abi_preserve" | "abi_preserve_control" => {
            c.int("a number")?;
        }
        "explicitcluster" | "blocksareclusters" | "unified" => {}
        "reqnctapercluster" => function.required_cluster = Some(dimensions(c)?),
        "maxclusterrank" => function.max_cluster_blocks = Some(c.int_u32("a number of blocks")?),
        _ => {
            return Err(Problem::new(
                pos,
                ErrorKind::UnsupportedDirective(directive.to_string()),
            ));
        }
    }
    Ok(())
}

/// One to three extents; the missing ones are 1.
fn dimensions(c: &mut Cursor<'_, '_>) -> Result<[u32; 3]> {
    let mut dims = [1; 3];
    for (i, dim) in dims.iter_mut().enumerate() {
        if i > 0 && !c.eat(',') {
            break;
        }
        *dim = c.int_u32("a number of threads")?;
    }
    Ok(dims)
}
