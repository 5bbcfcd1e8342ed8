//! The statements of a body: blocks, labels, declarations, source positions, instructions.

use super::cursor::{Cursor, Result};
use super::{instruction, variable};
use crate::error::Problem;
use crate::lex::Tok;
use crate::syntax::{FilePos, Loc, Name, Prototype, Stmt};

/// Braces in braces: one level for each inlined block of assembly or call, so a few are usual.
const MAX_DEPTH: u32 = 64;

/// `{ statements }`.
pub(super) fn body<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Stmt<'a>>> {
    block(c, 0)
}

fn block<'a>(c: &mut Cursor<'_, 'a>, depth: u32) -> Result<Vec<Stmt<'a>>> {
    let open = c.pos();
    if depth == MAX_DEPTH {
        let message = format!("blocks nest deeper than {MAX_DEPTH}");
        return Err(Problem::invalid(open, message));
    }
    c.punct('{')?;
    let mut stmts = Vec::new();
    let mut used_bytes = None;
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
            Tok::Dot("loc") => stmts.push(Stmt::Loc(loc(c)?)),
            Tok::Dot("pragma") => used_bytes = c.pragma()?.or(used_bytes),
            Tok::Dot("extern") if c.peek(1) == Tok::Dot("shared") => {
                c.bump();
                variable::declaration(c, true, |v| stmts.push(Stmt::Variable(v)))?;
            }
            Tok::Dot(_) => variable::declaration(c, false, |v| stmts.push(Stmt::Variable(v)))?,
            Tok::Word(_) if c.peek(1) == Tok::Punct(':') => label(c, &mut stmts)?,
            Tok::Word(_) | Tok::Punct('@') => {
                let mut inst = instruction::instruction(c)?;
                inst.used_bytes = used_bytes.take();
                stmts.push(Stmt::Inst(inst));
            }
            Tok::End => return Err(c.expected(&format!("`}}` to close the `{{` at {open}"))),
            _ => return Err(c.expected("an instruction, a directive, a label or `}`")),
        }
    }
}

/// `label:`, of an instruction, a table or a prototype.
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
            stmts.push(Stmt::Prototype(prototype(c, name)?));
        }
        Tok::Dot("calltargets") => {
            // A hint about an indirect call: what it calls is known when it runs.
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

/// `.callprototype (returns) _ (params) [.noreturn];`, from behind the keyword.
fn prototype<'a>(c: &mut Cursor<'_, 'a>, label: Name<'a>) -> Result<Prototype<'a>> {
    let returns = variable::parameters(c)?;
    c.word("`_`")?;
    let params = variable::parameters(c)?;
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

/// `.loc file line column [, function_name label[+n], inlined_at file line column]`.
pub(super) fn loc<'a>(c: &mut Cursor<'_, 'a>) -> Result<Loc<'a>> {
    c.bump();
    let at = position(c)?;
    let mut comment_chain = comment_chain(c.rest_of_line(c.previous_end())).into_iter();
    let comment_path = comment_chain.next().map(|(path, _, _)| path);
    let mut inlined_at = None;
    while c.is(',') {
        c.bump();
        match c.tok() {
            Tok::Word("function_name") => {
                c.bump();
                c.word("a label")?;
                variable::addend(c)?;
            }
            Tok::Word("inlined_at") => {
                c.bump();
                inlined_at = Some(position(c)?);
            }
            _ => return Err(c.expected("`function_name` or `inlined_at`")),
        }
    }
    Ok(Loc {
        at,
        inlined_at,
        comment_chain: comment_chain.collect(),
        comment_path,
    })
}

fn position(c: &mut Cursor<'_, '_>) -> Result<FilePos> {
    Ok((
        c.int_u32("a file number")?,
        c.int_u32("a line number")?,
        c.int_u32("a column number")?,
    ))
}

/// LLVM writes where code was inlined to as a comment only: `// a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ]
/// ]`. The first is the position itself.
fn comment_chain(rest: &str) -> Vec<(&str, u32, u32)> {
    let Some((_, comment)) = rest.split_once("//") else {
        return Vec::new();
    };
    comment
        .split(" @[ ")
        .map_while(|part| path_position(part.trim_matches([' ', ']'])))
        .collect()
}

/// `path:line:column`, or `path:line` where the column is not known.
fn path_position(text: &str) -> Option<(&str, u32, u32)> {
    let (head, last) = text.rsplit_once(':')?;
    let last = last.parse().ok()?;
    match head
        .rsplit_once(':')
        .and_then(|(path, line)| Some((path, line.parse().ok()?)))
    {
        Some((path, line)) => Some((path, line, last)),
        None => Some((head, last, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_gives_the_inlining_chain() {
        let rest = "  // core/mod.rs:83:5 @[ src/lib.rs:10:31 @[ src/lib.rs:95:9 ] ]";
        assert_eq!(
            comment_chain(rest),
            [
                ("core/mod.rs", 83, 5),
                ("src/lib.rs", 10, 31),
                ("src/lib.rs", 95, 9)
            ]
        );
        assert_eq!(
            comment_chain("  // core/mod.rs:83:5 @[ src/lib.rs:10 ]"),
            [("core/mod.rs", 83, 5), ("src/lib.rs", 10, 0)]
        );
        assert_eq!(comment_chain("  // src/lib.rs:8:0"), [("src/lib.rs", 8, 0)]);
        assert_eq!(comment_chain("  // a @[ nonsense ]"), []);
        assert_eq!(comment_chain(""), []);
    }
}
