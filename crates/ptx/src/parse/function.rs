//! Signatures and performance directives.

use super::cursor::{Cursor, Result};
use super::{module, statement, variable};
use crate::ast::{Function, Prototype, Variable};
use crate::error::{ErrorKind, Raw};
use crate::lex::Tok;

/// A `.func` or `.entry`, from behind that keyword to its body's end or its semicolon.
pub(super) fn function<'a>(c: &mut Cursor<'_, 'a>, is_kernel: bool) -> Result<Function<'a>> {
    attributes(c)?;
    let returns = if c.is('(') {
        parameters(c)?
    } else {
        Vec::new()
    };
    let name = c.word("a function name")?;
    let params = if c.is('(') {
        parameters(c)?
    } else {
        Vec::new()
    };
    let mut function = Function {
        name,
        is_kernel,
        params,
        returns,
        max_threads: None,
        required_threads: None,
        min_blocks: None,
        max_registers: None,
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

/// `.attribute(..)`: not read.
pub(super) fn attributes(c: &mut Cursor<'_, '_>) -> Result<()> {
    while c.eat_dot("attribute") {
        c.punct('(')?;
        while !c.eat(')') {
            if c.tok() == Tok::End {
                return Err(c.expected("`)`"));
            }
            c.bump();
        }
    }
    Ok(())
}

fn performance<'a>(
    c: &mut Cursor<'_, 'a>,
    directive: &'a str,
    function: &mut Function<'a>,
) -> Result<()> {
    if directive == "pragma" {
        return module::pragma(c);
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
        "maxnctapersm" | "maxclusterrank" | "abi_preserve" | "abi_preserve_control" => {
            c.int("a number")?;
        }
        "explicitcluster" | "blocksareclusters" | "unified" => {}
        "reqnctapercluster" => {
            dimensions(c)?;
        }
        _ => {
            return Err(Raw::new(
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

/// `( .param .u64 a, .reg .b32 b )`.
fn parameters<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Variable<'a>>> {
    c.punct('(')?;
    let mut params = Vec::new();
    if c.eat(')') {
        return Ok(params);
    }
    loop {
        match c.tok() {
            Tok::Dot("param" | "reg") => params.push(variable::parameter(c)?),
            _ => return Err(c.expected("`.param` or `.reg`")),
        }
        if c.eat(')') {
            return Ok(params);
        }
        if !c.eat(',') {
            return Err(c.expected("`,` or `)`"));
        }
    }
}

/// `.callprototype (returns) _ (params) [.noreturn];`, from behind the keyword.
pub(super) fn prototype<'a>(
    c: &mut Cursor<'_, 'a>,
    label: crate::ast::Name<'a>,
) -> Result<Prototype<'a>> {
    let returns = if c.is('(') {
        parameters(c)?
    } else {
        Vec::new()
    };
    c.word("`_`")?;
    let params = if c.is('(') {
        parameters(c)?
    } else {
        Vec::new()
    };
    while let Tok::Dot(_) = c.tok() {
        c.bump();
        while let Tok::Int(_) = c.tok() {
            c.bump();
        }
    }
    c.punct(';')?;
    Ok(Prototype {
        label,
        params,
        returns,
    })
}
