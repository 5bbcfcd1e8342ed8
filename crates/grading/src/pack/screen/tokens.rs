//! A file as a flat list of tokens, brackets included.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The deepest nesting of brackets.
pub const MAX_DEPTH: usize = 128;

/// A token and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// How many brackets are around it.
    pub depth: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword; raw ones without their `r#`.
    Name(String),
    /// One character of punctuation, or a bracket.
    Mark(char),
    /// Anything else.
    Literal,
}

/// What is no list of tokens, or too deep.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub column: usize,
    pub too_deep: bool,
}

/// The tokens of a file, comments left out. Doc comments are attributes.
pub fn flatten(text: &str) -> Result<Vec<Token>, Fault> {
    let stream: TokenStream = text
        .parse()
        .map_err(|error: proc_macro2::LexError| Fault::at(error.span(), false))?;
    let mut tokens = Vec::new();
    // What is left of each stream around the present one, and the bracket that closes it.
    let mut open = vec![(stream.into_iter(), None)];
    while let Some((stream, closing)) = open.last_mut() {
        let Some(tree) = stream.next() else {
            let closing: Option<(char, Span)> = *closing;
            open.pop();
            if let Some((mark, span)) = closing {
                tokens.push(token(TokenKind::Mark(mark), span, open.len() - 1));
            }
            continue;
        };
        let depth = open.len() - 1;
        match tree {
            TokenTree::Ident(name) => {
                let text = name.to_string();
                let text = text.strip_prefix("r#").unwrap_or(&text).to_owned();
                tokens.push(token(TokenKind::Name(text), name.span(), depth));
            }
            TokenTree::Punct(mark) => {
                tokens.push(token(TokenKind::Mark(mark.as_char()), mark.span(), depth));
            }
            TokenTree::Literal(literal) => {
                tokens.push(token(TokenKind::Literal, literal.span(), depth));
            }
            TokenTree::Group(group) => {
                if open.len() > MAX_DEPTH {
                    return Err(Fault::at(group.span_open(), true));
                }
                let marks = match group.delimiter() {
                    Delimiter::Parenthesis => Some(('(', ')')),
                    Delimiter::Brace => Some(('{', '}')),
                    Delimiter::Bracket => Some(('[', ']')),
                    Delimiter::None => None,
                };
                if let Some((opening, _)) = marks {
                    tokens.push(token(TokenKind::Mark(opening), group.span_open(), depth));
                }
                let closing = marks.map(|(_, closing)| (closing, group.span_close()));
                open.push((group.stream().into_iter(), closing));
            }
        }
    }
    Ok(tokens)
}

impl Fault {
    fn at(span: Span, too_deep: bool) -> Fault {
        let start = span.start();
        Fault {
            line: start.line,
            column: start.column + 1,
            too_deep,
        }
    }
}

fn token(kind: TokenKind, span: Span, depth: usize) -> Token {
    let start = span.start();
    Token {
        kind,
        line: start.line,
        column: start.column + 1,
        depth,
    }
}
