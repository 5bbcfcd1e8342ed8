//! A file as a flat list of tokens, brackets included.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The deepest nesting of brackets in a file.
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
    /// Anything else, as it is written.
    Literal(String),
}

/// Text that is not a list of tokens, or is nested too deeply.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenError {
    pub line: usize,
    pub column: usize,
    pub too_deep: bool,
}

/// The tokens of a file, comments left out, with brackets at most so deep. Doc comments are
/// attributes.
pub fn flatten(text: &str, max_depth: usize) -> Result<Vec<Token>, TokenError> {
    let stream: TokenStream = text
        .parse()
        .map_err(|error: proc_macro2::LexError| TokenError::at(error.span(), false))?;
    let mut tokens = Vec::new();
    add(stream, 0, max_depth, &mut tokens)?;
    Ok(tokens)
}

/// Adds the tokens of a stream with `depth` brackets around it.
fn add(
    stream: TokenStream,
    depth: usize,
    max_depth: usize,
    tokens: &mut Vec<Token>,
) -> Result<(), TokenError> {
    for tree in stream {
        let kind = match &tree {
            TokenTree::Ident(name) => {
                let text = name.to_string();
                TokenKind::Name(text.strip_prefix("r#").unwrap_or(&text).to_owned())
            }
            TokenTree::Punct(mark) => TokenKind::Mark(mark.as_char()),
            TokenTree::Literal(literal) => TokenKind::Literal(literal.to_string()),
            TokenTree::Group(group) => {
                if depth >= max_depth {
                    return Err(TokenError::at(group.span_open(), true));
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
                add(group.stream(), depth + 1, max_depth, tokens)?;
                if let Some((_, closing)) = marks {
                    tokens.push(token(TokenKind::Mark(closing), group.span_close(), depth));
                }
                continue;
            }
        };
        tokens.push(token(kind, tree.span(), depth));
    }
    Ok(())
}

impl TokenError {
    fn at(span: Span, too_deep: bool) -> TokenError {
        let start = span.start();
        TokenError {
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

/// The mistake at this place of a text, where tokens end.
pub fn not_rust(text: &str, line: usize, column: usize) -> String {
    let line = text.split('\n').nth(line - 1).unwrap_or_default();
    let mut rest = line.chars().skip(column - 1);
    let Some(sign) = rest.next() else {
        return "this is not Rust: a bracket, quote or comment has no partner".to_owned();
    };
    let character = |what: &str| {
        let number = u32::from(sign);
        format!("the character U+{number:04X} ({what}) is not Rust")
    };
    match sign {
        '(' | '[' | '{' => format!("this `{sign}` is never closed"),
        ')' => "this `)` closes no `(`, or another bracket is still open".to_owned(),
        ']' => "this `]` closes no `[`, or another bracket is still open".to_owned(),
        '}' => "this `}` closes no `{`, or another bracket is still open".to_owned(),
        '/' if rest.next() == Some('*') => "this comment is never closed".to_owned(),
        '/' => "this comment has a carriage return (U+000D) in it; delete it".to_owned(),
        '"' | '\'' | 'b' | 'c' | 'r' => {
            "this quote is never closed, or holds an escape or character that Rust does not take"
                .to_owned()
        }
        '0'..='9' => "this is none of Rust's numbers".to_owned(),
        '\u{201c}'..='\u{201f}' => character("a typographic quote") + "; write \"",
        '\u{2018}'..='\u{201b}' => character("a typographic quote") + "; write '",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => character("a dash or minus sign") + "; write -",
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{206f}' | '\u{feff}' => {
            character("an invisible one") + "; delete it"
        }
        _ if sign.is_control() => character("an invisible one") + "; delete it",
        _ => character(&format!("`{sign}`")),
    }
}
