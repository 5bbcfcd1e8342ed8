//! Source text with feature `solutions` and tests off: what `cfg` would leave out is cut out of the text.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// What is left of a file, and the modules in files of their own that are left out.
#[derive(Debug, PartialEq)]
pub struct Stripped {
    /// The text.
    pub text: String,
    /// Names of modules `mod name;`, directly in this file, that are no longer there.
    pub modules: Vec<String>,
}

/// Strips a file.
///
/// # Errors
///
/// A text that is not Rust's tokens.
pub fn strip(text: &str) -> Result<Stripped, String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut cuts = Cuts::default();
    cuts.look(tokens);
    let cuts_nothing = cuts.ranges.is_empty();
    let mut left = String::with_capacity(text.len());
    let mut end = 0;
    for range in cuts.ranges {
        let whole = with_line(text, &range);
        left += &text[end..whole.start.max(end)];
        end = whole.end.max(end);
    }
    left += &text[end..];
    if !cuts_nothing {
        left.truncate(left.trim_end().len());
        left.push('\n');
    }
    Ok(Stripped {
        text: left,
        modules: cuts.modules,
    })
}

/// The range with what belongs to it: indentation before, and the end of the line if nothing else is there.
fn with_line(text: &str, range: &Range<usize>) -> Range<usize> {
    let before = &text[..range.start];
    let start = before.trim_end_matches([' ', '\t']).len();
    let is_line_start = start == 0 || text[..start].ends_with('\n');
    let after = &text[range.end..];
    let rest = after.trim_start_matches([' ', '\t']);
    match rest.strip_prefix('\n') {
        Some(next) if is_line_start => {
            let mut end = text.len() - next.len();
            // Of the blank lines around what is gone, one is enough.
            if (start == 0 || text[..start].ends_with("\n\n") || text[..start].ends_with("{\n"))
                && next.starts_with('\n')
            {
                end += 1;
            }
            start..end
        }
        _ => range.clone(),
    }
}

#[derive(Default)]
struct Cuts {
    ranges: Vec<Range<usize>>,
    modules: Vec<String>,
}

/// An attribute: `#[...]`, a doc comment too.
struct Attribute {
    range: Range<usize>,
    body: Group,
}

impl Cuts {
    /// Looks at the tokens of one level, and into what is kept of it.
    fn look(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let mut attributes = Vec::new();
            let mut next = at;
            while let Some((attribute, after)) = outer_attribute(&tokens, next) {
                attributes.push(attribute);
                next = after;
            }
            let verdicts: Vec<Option<bool>> = attributes
                .iter()
                .map(|attribute| cfg_of(&attribute.body))
                .collect();
            if verdicts.contains(&Some(false)) {
                let end = node_end(&tokens, next);
                let start = attributes[0].range.start;
                let last = end.checked_sub(1).and_then(|last| tokens.get(last));
                let stop = last.map_or(start, |token| token.span().byte_range().end);
                self.ranges.push(start..stop);
                self.modules.extend(module_name(&tokens[next..end]));
                at = end;
                continue;
            }
            for (attribute, verdict) in attributes.iter().zip(&verdicts) {
                if *verdict == Some(true) {
                    self.ranges.push(attribute.range.clone());
                }
            }
            if next > at {
                at = next;
                continue;
            }
            if let TokenTree::Group(group) = &tokens[at] {
                self.look(group.stream());
            }
            at += 1;
        }
    }
}

/// The outer attribute at `at`, and what follows it.
fn outer_attribute(tokens: &[TokenTree], at: usize) -> Option<(Attribute, usize)> {
    let TokenTree::Punct(hash) = tokens.get(at)? else {
        return None;
    };
    let TokenTree::Group(body) = tokens.get(at + 1)? else {
        return None;
    };
    if hash.as_char() != '#' || body.delimiter() != Delimiter::Bracket {
        return None;
    }
    let range = hash.span().byte_range().start..body.span().byte_range().end;
    let body = body.clone();
    Some((Attribute { range, body }, at + 2))
}

/// What an item begins with, after `pub`.
const ITEMS: [&str; 14] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "unsafe",
    "use",
];

/// Where the node that starts at `at` ends: after its braces or its `;`, or, if it is no item (whose types may have commas)
/// but a field, a variant, an arm or an element, after its `,`.
fn node_end(tokens: &[TokenTree], at: usize) -> usize {
    let is = |position: usize, wanted: char| matches!(tokens.get(position), Some(TokenTree::Punct(p)) if p.as_char() == wanted);
    let mut words = tokens[at..].iter().take(3).filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    let is_item = words
        .find(|word| word != "pub")
        .is_some_and(|word| ITEMS.contains(&word.as_str()));
    for (position, token) in tokens.iter().enumerate().skip(at) {
        match token {
            TokenTree::Punct(p) if p.as_char() == ';' || p.as_char() == ',' && !is_item => {
                return position + 1;
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let follows = is(position + 1, ';') || is(position + 1, ',');
                return position + 1 + usize::from(follows);
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The name in `pub mod name;`.
fn module_name(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [
            ..,
            TokenTree::Ident(keyword),
            TokenTree::Ident(name),
            TokenTree::Punct(end),
        ] if keyword == "mod" && end.as_char() == ';' && end.spacing() == Spacing::Alone => {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// What `cfg(...)` says if the attribute is one; `None` too if it is about something else.
fn cfg_of(attribute: &Group) -> Option<bool> {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(name), TokenTree::Group(predicate)] if name == "cfg" => {
            evaluate(&predicate.stream().into_iter().collect::<Vec<_>>())
        }
        _ => None,
    }
}

fn evaluate(predicate: &[TokenTree]) -> Option<bool> {
    let predicate = match predicate {
        [rest @ .., TokenTree::Punct(comma)] if comma.as_char() == ',' => rest,
        all => all,
    };
    match predicate {
        [TokenTree::Ident(name)] if name == "test" => Some(false),
        [
            TokenTree::Ident(name),
            TokenTree::Punct(_),
            TokenTree::Literal(value),
        ] if name == "feature" && value.to_string() == "\"solutions\"" => Some(false),
        [TokenTree::Ident(name), TokenTree::Group(inner)] => {
            let inner: Vec<TokenTree> = inner.stream().into_iter().collect();
            let parts = || {
                inner
                    .split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','))
                    .filter(|part| !part.is_empty())
                    .map(evaluate)
            };
            match name.to_string().as_str() {
                "not" => evaluate(&inner).map(|value| !value),
                "all" if parts().any(|part| part == Some(false)) => Some(false),
                "all" if parts().all(|part| part == Some(true)) => Some(true),
                "any" if parts().any(|part| part == Some(true)) => Some(true),
                "any" if parts().all(|part| part == Some(false)) => Some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_is_gone_with_its_documentation() {
        let stripped = strip(
            r##"//! A module.

mod a;
/// The answers.
#[cfg(feature = "solutions")]
pub mod answers;
mod b;
#[cfg(all(test, feature = "solutions"))]
mod tests;

#[cfg(not(feature = "solutions"))]
const NONE: u32 = 0;

#[cfg(feature = "solutions")]
const SOME: Answer<u32, u64> = Answer { value: 42 };
#[cfg(not(feature = "solutions"))]
const OTHER: Answer<u32, u64> = NO_ANSWER;

enum Command {
    /// Kept.
    Kept(u32),
    /// Gone.
    #[cfg(feature = "solutions")]
    Gone(u32),
}

fn run(command: Command) {
    match command {
        Command::Kept(x) => f(x, "#[cfg(test)]"),
        #[cfg(feature = "solutions")]
        Command::Gone(x) => g(x),
    }
}

#[cfg(target_os = "linux")]
mod linux;

#[cfg(test)]
mod inline {
    const NAMES: [u32; 1] = [1];
}
"##,
        )
        .unwrap();
        insta::assert_snapshot!(stripped.text, @r##"
        //! A module.

        mod a;
        mod b;

        const NONE: u32 = 0;

        const OTHER: Answer<u32, u64> = NO_ANSWER;

        enum Command {
            /// Kept.
            Kept(u32),
        }

        fn run(command: Command) {
            match command {
                Command::Kept(x) => f(x, "#[cfg(test)]"),
            }
        }

        #[cfg(target_os = "linux")]
        mod linux;
        "##);
        assert_eq!(stripped.modules, ["answers", "tests"]);
    }

    #[test]
    fn conditions_are_logic() {
        let value = |text: &str| {
            let tokens: TokenStream = text.parse().unwrap();
            evaluate(&tokens.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(value("test"), Some(false));
        assert_eq!(value("not(test)"), Some(true));
        assert_eq!(value("any(test, feature = \"solutions\")"), Some(false));
        assert_eq!(value("any(test, unix)"), None);
        assert_eq!(value("all(unix, not(feature = \"solutions\"),)"), None);
        assert_eq!(value("all(unix, feature = \"solutions\")"), Some(false));
        assert_eq!(value("feature = \"instruments\""), None);
    }
}
