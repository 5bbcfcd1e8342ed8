//! The kernels of any text that is made of PTX's tokens, and how many instructions each has.
//! Instructions that this crate does not model, types and directives of PTX to come, and textures
//! have a place here too.

use super::cursor::{Cursor, Result};
use super::statement;
use crate::error::Error;
use crate::lex::{Lexer, Tok, lex};

/// A kernel as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelText<'a> {
    /// Its name.
    pub name: &'a str,
    /// From its first directive (`.visible`, `.entry`) to the brace that closes its body.
    pub text: &'a str,
    /// The instructions of its body, however they are laid out in lines, and those of blocks in it.
    /// Labels, declarations and directives are none.
    pub instructions: u64,
}

/// The kernels that a text defines, in its order.
///
/// Nothing is checked but what tells them apart, so this reads whatever an assembler takes, and
/// some of what it does not.
///
/// ```
/// let text = ".version 8.0 .target sm_90 .address_size 64
///     .visible .entry k() { .reg .b32 %r<2>; mov.u32 %r0, 1; L: add.u32
///         %r1, %r0, 1; ret; }";
/// let [kernel] = ptx::kernels(text)?[..] else { panic!("one kernel") };
/// assert_eq!((kernel.name, kernel.instructions), ("k", 3));
/// # Ok::<(), ptx::Error>(())
/// ```
///
/// # Errors
///
/// Characters that no token begins with, a text that does not begin with `.version`, and a body
/// without end.
pub fn kernels(source: &str) -> std::result::Result<Vec<KernelText<'_>>, Error> {
    let read = || {
        let tokens = lex(source)?;
        outline(&mut Cursor::new(source, &tokens))
    };
    read().map_err(|problem| problem.into_error(source))
}

/// The token after the first directive of this name: `sm_90` for `target`, `8.3` for `version`.
///
/// None if there is no such directive, or something in front of it that is not a token.
///
/// ```
/// assert_eq!(ptx::directive(".version 8.0 .target\tsm_90a, debug", "target"), Some("sm_90a"));
/// assert_eq!(ptx::directive("// .target sm_90", "target"), None);
/// ```
pub fn directive<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let mut lexer = Lexer::new(source);
    loop {
        match lexer.next().ok()?.tok {
            Tok::End => return None,
            Tok::Dot(found) if found == name => {
                let next = lexer.next().ok()?;
                return (next.tok != Tok::End).then(|| &source[next.start..next.end]);
            }
            _ => {}
        }
    }
}

/// The compute capability of an architecture as `.target` has it, major and minor.
///
/// ```
/// assert_eq!(ptx::capability("sm_90a"), Some((9, 0)));
/// assert_eq!(ptx::capability("sm_103"), Some((10, 3)));
/// assert_eq!(ptx::capability("texmode_unified"), None);
/// ```
pub fn capability(target: &str) -> Option<(u32, u32)> {
    let digits = target
        .strip_prefix("sm_")?
        .trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u32 = digits.parse().ok()?;
    Some((number / 10, number % 10))
}

fn outline<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<KernelText<'a>>> {
    if c.tok() != Tok::Dot("version") {
        return Err(c.expected("`.version`"));
    }
    let mut kernels = Vec::new();
    // Where the directives begin that stand before `.entry`.
    let mut start = None;
    loop {
        match c.tok() {
            Tok::End => return Ok(kernels),
            Tok::Dot("visible" | "weak" | "extern") => {
                start = start.or(Some(c.token().start));
                c.bump();
            }
            Tok::Dot("entry") => {
                let start = start.take().unwrap_or(c.token().start);
                kernels.extend(kernel(c, start)?);
            }
            // A function's body, an initialiser, a section of a debugger.
            Tok::Punct('{') => c.skip_braces()?,
            _ => {
                start = None;
                c.bump();
            }
        }
    }
}

/// A kernel, from `.entry`; none if it is only declared.
fn kernel<'a>(c: &mut Cursor<'_, 'a>, start: usize) -> Result<Option<KernelText<'a>>> {
    c.bump();
    let name = c.word("the kernel's name")?.text;
    while !c.is('{') {
        match c.tok() {
            Tok::Punct(';') => return Ok(None),
            // Its semicolon ends no declaration.
            Tok::Dot("pragma") => {
                c.pragma()?;
            }
            Tok::End => return Err(c.expected(&format!("the body of `{name}`, or `;`"))),
            _ => {
                c.bump();
            }
        }
    }
    let instructions = instructions(c)?;
    Ok(Some(KernelText {
        name,
        text: c.text(start, c.previous_end()),
        instructions,
    }))
}

/// The instructions of `{ statements }`.
fn instructions(c: &mut Cursor<'_, '_>) -> Result<u64> {
    let open = c.pos();
    let (mut count, mut depth) = (0, 0_u32);
    loop {
        match c.tok() {
            Tok::Punct('{') => {
                depth += 1;
                c.bump();
            }
            Tok::Punct('}') => {
                depth -= 1;
                c.bump();
                if depth == 0 {
                    return Ok(count);
                }
            }
            Tok::Punct(';') => {
                c.bump();
            }
            // The one directive of a body that no semicolon ends.
            Tok::Dot("loc") => {
                statement::loc(c)?;
            }
            Tok::Dot(_) => to_semicolon(c)?,
            Tok::Word(_) if c.peek(1) == Tok::Punct(':') => {
                c.bump();
                c.bump();
            }
            Tok::Word(_) | Tok::Punct('@') => {
                count += 1;
                to_semicolon(c)?;
            }
            Tok::End => return Err(c.expected(&format!("`}}` to close the `{{` at {open}"))),
            _ => return Err(c.expected("an instruction, a directive, a label or `}`")),
        }
    }
}

/// Skips a statement and its semicolon, the braces of vectors and initialisers in it.
fn to_semicolon(c: &mut Cursor<'_, '_>) -> Result<()> {
    loop {
        match c.tok() {
            Tok::Punct('{') => c.skip_braces()?,
            Tok::Punct(';') => {
                c.bump();
                return Ok(());
            }
            Tok::Punct('}') | Tok::End => return Err(c.expected("`;`")),
            _ => {
                c.bump();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and numbers of instructions.
    fn counted(text: &str) -> Vec<(&str, u64)> {
        let kernels = kernels(text).unwrap_or_else(|error| panic!("{error}"));
        kernels
            .iter()
            .map(|kernel| (kernel.name, kernel.instructions))
            .collect()
    }

    fn in_body(body: &str) -> u64 {
        let text =
            format!(".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n{body}\n}}\n");
        counted(&text)[0].1
    }

    #[test]
    fn instructions_are_counted_however_they_are_laid_out() {
        for (body, count) in [
            ("", 0),
            ("ret;", 1),
            ("mov.u32 %r1, 1; add.u32 %r2, %r1, 1; ret;", 3),
            ("add.u32\n\t%r1,\n\t%r1, 1;\nret\n;", 2),
            // Inline assembly, as compilers write it.
            (
                "// begin inline asm\n{ .reg .pred p; setp.ne.u32 p, %r1, 0; @p bra L; }\nL:\n// end inline asm\nret;",
                3,
            ),
            ("{ add.u32 %r1, %r1, 1; { ret; } }", 2),
            ("L: ret;", 1),
            ("L: M: N:", 0),
            ("L:{ret;}", 1),
            ("@!%p1 bra L; L: @%p1 ret;", 2),
            // A comment is none, and neither is what it hides.
            ("// ret;\n/* ret;\nret; */ ret; // ret; }", 1),
            ("ld.global.v2.u32 {%r1, %r2}, [%rd1]; ret;", 2),
            (
                "call (r), f, (a, b); call.uni %rd1, (a), proto;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);",
                2,
            ),
            ("t: .branchtargets L, M;\nbrx.idx %r1, t;", 1),
            (".reg .b32 %r<9>; .shared .b32 s[2]; ret;", 1),
            (".local .align 4 .b8 l[4]; .pragma \"nounroll\"; ret;", 1),
            (
                ".loc 1 2 3 ret; .loc 1 4 5, function_name f+3, inlined_at 1 2 3\nret;",
                2,
            ),
            (";; ret;", 1),
            // Instructions that this crate does not model.
            (
                "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}]; txq.width.b32 %r1, [t];",
                2,
            ),
            ("frobnicate.to.come %r1, <%r2 ? 3 : 4>, {{1}, 2}; ret;", 2),
        ] {
            assert_eq!(in_body(body), count, "{body}");
        }
    }

    #[test]
    fn entries_are_found_however_they_are_written() {
        let text = "\
.version 9.9
.target sm_999z, debug
.address_size 64
# 1 \"generated.cu\"
/* .entry ghost() { ret; } */ // .entry ghost() { ret; }
.global .texref t;
.global .b32 g[2] = {1, 2};
.section .debug_str { .b8 46, 101 }
.visible .func (.param .b32 r) f() { ret; }
.entry declared(.param .u64 a);
.visible .entry\ttabbed(
\t.param .u64 a
)
{
ret;
}
.weak\n.entry
 below (.param .align 4 .b8 a[4]) .maxntid 32, 1, 1 .pragma \"x\", \"y\"; { ret; ret; }
.entry bare { }.entry next{exit;}
";
        assert_eq!(
            counted(text),
            [("tabbed", 1), ("below", 2), ("bare", 0), ("next", 1)]
        );
        let texts: Vec<&str> = kernels(text).unwrap().iter().map(|k| k.text).collect();
        assert_eq!(
            texts[0],
            ".visible .entry\ttabbed(\n\t.param .u64 a\n)\n{\nret;\n}"
        );
        assert!(
            texts[1].starts_with(".weak\n.entry\n below"),
            "{}",
            texts[1]
        );
        assert_eq!(texts[2..], [".entry bare { }", ".entry next{exit;}"]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (text, said) in [
            ("", "1:1: expected `.version`, found the end of the text"),
            ("no PTX", "1:1: expected `.version`, found `no`"),
            (
                ".version 8.0\n.entry k() { ret; ",
                "2:19: expected `}` to close the `{` at 2:12, found the end of the text",
            ),
            (
                ".version 8.0\n.entry k() { ret }",
                "2:18: expected `;`, found `}`",
            ),
            (
                ".version 8.0\n.entry k(",
                "2:10: expected the body of `k`, or `;`, found the end of the text",
            ),
            (
                ".version 8.0\n.entry (",
                "2:8: expected the kernel's name, found `(`",
            ),
            (
                ".version 8.0\n.entry k() { 3; }",
                "2:14: expected an instruction, a directive, a label or `}`, found `3`",
            ),
            (".version 8.0\n´", "2:1: unexpected character '´'"),
            (
                ".version 8.0\n.func f() { ",
                "2:13: expected `}`, found the end of the text",
            ),
        ] {
            let error = kernels(text).unwrap_err().to_string();
            assert_eq!(error.lines().next(), Some(said), "{text}");
        }
    }
}
