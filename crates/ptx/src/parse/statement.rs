//! What stands in a body.

use super::cursor::{Cursor, Result};
use super::{function, instruction, loc, module, variable};
use crate::ast::Stmt;
use crate::error::{ErrorKind, Raw};
use crate::lex::Tok;

/// Braces in braces: one level for each inlined block of assembly or call, so a few are usual.
const MAX_DEPTH: u32 = 64;

/// `{ statements }`.
pub(super) fn body<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Stmt<'a>>> {
    block(c, 0)
}

fn block<'a>(c: &mut Cursor<'_, 'a>, depth: u32) -> Result<Vec<Stmt<'a>>> {
    let open = c.pos();
    if depth == MAX_DEPTH {
        return Err(Raw::new(
            open,
            ErrorKind::Invalid(format!("blocks nest deeper than {MAX_DEPTH}")),
        ));
    }
    c.punct('{')?;
    let mut stmts = Vec::new();
    loop {
        match c.tok() {
            Tok::Punct('}') => {
                c.bump();
                return Ok(stmts);
            }
            Tok::Punct('{') => stmts.push(Stmt::Block(block(c, depth + 1)?)),
            Tok::Punct(';') => {
                c.bump();
            }
            Tok::Dot("loc") => stmts.push(Stmt::Loc(loc::loc(c)?)),
            Tok::Dot("pragma") => module::pragma(c)?,
            Tok::Dot("extern") if c.peek(1) == Tok::Dot("shared") => {
                c.bump();
                variable::declaration(c, true, |v| stmts.push(Stmt::Variable(v)))?;
            }
            Tok::Dot(_) => variable::declaration(c, false, |v| stmts.push(Stmt::Variable(v)))?,
            Tok::Word(_) if c.peek(1) == Tok::Punct(':') => label(c, &mut stmts)?,
            Tok::Word(_) | Tok::Punct('@') => stmts.push(Stmt::Inst(instruction::instruction(c)?)),
            Tok::End => return Err(c.expected(&format!("`}}` to close the `{{` at {open}"))),
            _ => return Err(c.expected("an instruction, a directive, a label or `}`")),
        }
    }
}

/// `label:`, perhaps of a table.
fn label<'a>(c: &mut Cursor<'_, 'a>, stmts: &mut Vec<Stmt<'a>>) -> Result<()> {
    let name = c.word("a label")?;
    c.punct(':')?;
    match c.tok() {
        Tok::Dot("branchtargets") => {
            c.bump();
            let mut targets = Vec::new();
            loop {
                targets.push(c.word("a label")?);
                if c.eat(';') {
                    break;
                }
                if !c.eat(',') {
                    return Err(c.expected("`,` or `;`"));
                }
            }
            stmts.push(Stmt::BranchTargets(name, targets));
        }
        Tok::Dot("callprototype") => {
            c.bump();
            stmts.push(Stmt::Prototype(function::prototype(c, name)?));
        }
        Tok::Dot("calltargets") => {
            // A hint about an indirect call: what it really calls is known when it runs.
            while !c.eat(';') {
                if c.tok() == Tok::End {
                    return Err(c.expected("`;`"));
                }
                c.bump();
            }
        }
        _ => stmts.push(Stmt::Label(name)),
    }
    Ok(())
}
