//! The declarations of a text, with the tokens that each is made of: for a reader that edits the
//! text. Bodies are tokens here, and not parsed.

use std::ops::Range;

use super::cursor::{Cursor, Result};
use super::{module, statement, variable};
use crate::lex::{Tok, Token};
use crate::resolve::{declared_size, signature};
use crate::syntax::{Function, Linkage, Storage, Variable};
use crate::types::Space;

/// The declarations of a text. A range is one of tokens.
#[derive(Debug, Default)]
pub(crate) struct Declarations<'a> {
    pub version: (u32, u32),
    pub target: Vec<&'a str>,
    /// `.version`, `.target` and `.address_size`.
    pub header: Vec<Range<usize>>,
    pub items: Vec<Declared<'a>>,
    /// `.alias`: the name, and its statement.
    pub aliases: Vec<(&'a str, Range<usize>)>,
    /// `.file`: the number, and its statement.
    pub files: Vec<(u32, Range<usize>)>,
    /// `.section`: its name, and its statement.
    pub sections: Vec<(&'a str, Range<usize>)>,
}

/// A variable or a function.
#[derive(Debug)]
pub(crate) struct Declared<'a> {
    pub name: &'a str,
    pub linkage: Linkage,
    /// A function with a body, or a variable that is not `.extern`.
    pub is_defined: bool,
    pub what: What,
    /// All tokens of its statement. Variables may have one together.
    pub statement: Range<usize>,
    /// The linking directives in front.
    pub directives: Range<usize>,
    /// A variable's own part: the name, its dimensions and its first value.
    pub own: Range<usize>,
    /// A function's body, with its braces; empty if there is none.
    pub body: Range<usize>,
}

/// The properties in which all declarations of a symbol agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Function {
        is_kernel: bool,
        /// Bytes of the results, and of the parameters.
        bytes: (Vec<u32>, Vec<u32>),
    },
    Variable {
        space: Space,
        /// `None` for an array whose length is open.
        size: Option<u32>,
        is_managed: bool,
        has_value: bool,
    },
}

impl Declared<'_> {
    /// `.extern .shared a[]`: dynamic shared memory, which no text defines.
    pub fn is_dynamic_shared(&self) -> bool {
        let open = What::Variable {
            space: Space::Shared,
            size: None,
            is_managed: false,
            has_value: false,
        };
        self.linkage == Linkage::Extern && self.what == open
    }
}

/// The declarations of a text that has these tokens.
pub(crate) fn declarations<'a>(source: &'a str, tokens: &[Token<'a>]) -> Result<Declarations<'a>> {
    let c = &mut Cursor::new(source, tokens);
    let mut found = Declarations {
        version: module::version(c)?,
        ..Declarations::default()
    };
    found.header.push(0..c.mark());
    loop {
        let start = c.mark();
        match c.tok() {
            Tok::End => return Ok(found),
            Tok::Dot("target") => {
                module::target(c, &mut found.target)?;
                found.header.push(start..c.mark());
            }
            Tok::Dot("address_size") => {
                module::address_size(c)?;
                found.header.push(start..c.mark());
            }
            Tok::Dot("alias") => {
                let (name, _) = module::alias(c)?;
                found.aliases.push((name.text, start..c.mark()));
            }
            Tok::Dot("file") => {
                let (number, _) = module::file(c)?;
                found.files.push((number, start..c.mark()));
            }
            Tok::Dot("loc") => {
                statement::loc(c)?;
            }
            Tok::Dot("section") => {
                let name = match c.peek(1) {
                    Tok::Dot(name) => name,
                    _ => "",
                };
                module::section(c)?;
                found.sections.push((name, start..c.mark()));
            }
            Tok::Dot("pragma") => {
                c.pragma()?;
            }
            Tok::Dot(_) => item(c, tokens, &mut found.items)?,
            Tok::Punct(';') => {
                c.bump();
            }
            _ => return Err(c.expected("a directive")),
        }
    }
}

fn item<'a>(
    c: &mut Cursor<'_, 'a>,
    tokens: &[Token<'a>],
    items: &mut Vec<Declared<'a>>,
) -> Result<()> {
    let start = c.mark();
    let linkage = module::linkage(c);
    let directives = start..c.mark();
    match c.tok() {
        Tok::Dot(kind @ ("func" | "entry")) => {
            c.bump();
            let (function, has_body) = module::declared_function(c, kind == "entry")?;
            let open = c.mark();
            if has_body {
                c.skip_braces()?;
            }
            items.push(Declared {
                name: function.name.text,
                linkage,
                is_defined: has_body,
                what: prototype(&function)?,
                statement: start..c.mark(),
                directives,
                own: start..open,
                body: open..c.mark(),
            });
            Ok(())
        }
        Tok::Dot("global" | "const" | "shared") => {
            let first = items.len();
            let mut variables = Vec::new();
            variable::declaration(c, linkage == Linkage::Extern, |v| variables.push(v))?;
            let statement = start..c.mark();
            for v in &variables {
                let before = |token: &Token| token.pos < v.name.pos;
                let name = start + tokens[statement.clone()].partition_point(before);
                // Up to the comma before.
                if let Some(last) = items[first..].last_mut() {
                    last.own.end = name - 1;
                }
                items.push(Declared {
                    name: v.name.text,
                    linkage,
                    is_defined: linkage != Linkage::Extern,
                    what: variable(v)?,
                    statement: statement.clone(),
                    directives: directives.clone(),
                    own: name..statement.end - 1,
                    body: 0..0,
                });
            }
            Ok(())
        }
        _ => Err(c.expected(module::AFTER_LINKAGE)),
    }
}

fn prototype(function: &Function<'_>) -> Result<What> {
    let signature = signature(&function.params, &function.returns)?;
    let bytes = |params: &[crate::Param]| params.iter().map(crate::Param::size).collect();
    Ok(What::Function {
        is_kernel: function.is_kernel,
        bytes: (bytes(&signature.returns), bytes(&signature.params)),
    })
}

fn variable(v: &Variable<'_>) -> Result<What> {
    let space = match v.storage {
        Storage::In(space) => space,
        Storage::Reg => Space::Generic,
    };
    let size = declared_size(v, space)?;
    let is_open = v.dims.first() == Some(&None) && size == 0;
    Ok(What::Variable {
        space,
        size: (!is_open).then_some(size),
        is_managed: v.is_managed,
        has_value: v.init.is_some(),
    })
}
