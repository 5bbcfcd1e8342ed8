//! Source positions.

use super::cursor::{Cursor, Result};
use crate::ast::{FilePos, Loc};
use crate::lex::Tok;

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
                super::variable::addend(c)?;
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

/// LLVM writes where code was inlined to as a comment only: `// a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ] ]`. The first is
/// the position itself.
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
