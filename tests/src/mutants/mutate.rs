//! The mistakes that are made: the mutants of a file.

use std::ops::Range;

use super::tokens::{Token, tokens};

/// One mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The line, from 1 on.
    pub line: usize,
    /// The kind of mistake.
    pub kind: &'static str,
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// By this text.
    pub by: String,
}

impl Mutation {
    /// The file with the mistake.
    pub fn applied(&self, text: &str) -> String {
        let (head, tail) = (&text[..self.range.start], &text[self.range.end..]);
        format!("{head}{}{tail}", self.by)
    }

    /// The line before and after it, as one reads it in a report.
    pub fn shown(&self, text: &str) -> String {
        let line_of = |whole: &str| {
            let line = whole.lines().nth(self.line - 1);
            line.unwrap_or_default().trim().to_owned()
        };
        format!(
            "`{}` became `{}`",
            line_of(text),
            line_of(&self.applied(text))
        )
    }
}

/// Calls that order what threads do: a statement of one is left out.
const ORDERING_CALLS: [&str; 12] = [
    "sync_threads",
    "sync_warp",
    "sync",
    "sync_cluster",
    "fence",
    "fence_block",
    "arrive",
    "wait",
    "wait_group",
    "commit",
    "publish",
    "admit",
];

/// Tokens, and what each becomes.
const REPLACED: [(&str, &str, &str); 20] = [
    ("SeqCst", "Relaxed", "weaken an ordering"),
    ("AcqRel", "Relaxed", "weaken an ordering"),
    ("Acquire", "Relaxed", "weaken an ordering"),
    ("Release", "Relaxed", "weaken an ordering"),
    ("load_acquire", "load_relaxed", "weaken an ordering"),
    ("store_release", "store_relaxed", "weaken an ordering"),
    ("<", "<=", "move a limit"),
    ("<=", "<", "move a limit"),
    (">", ">=", "move a limit"),
    (">=", ">", "move a limit"),
    ("..=", "..", "shorten a loop"),
    ("==", "!=", "turn a condition round"),
    ("!=", "==", "turn a condition round"),
    ("&&", "||", "turn a condition round"),
    ("||", "&&", "turn a condition round"),
    ("+=", "-=", "change an operation"),
    ("/", "*", "change an operation"),
    ("%", "/", "change an operation"),
    ("fetch_add", "fetch_sub", "change an operation"),
    ("wrapping_add", "wrapping_sub", "change an operation"),
];

/// All mistakes of these kinds in a file, in the order of their places.
pub fn mutations(text: &str) -> Vec<Mutation> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut add = |kind, range: Range<usize>, by: &str| {
        let line = 1 + text[..range.start].matches('\n').count();
        let by = by.to_owned();
        found.push(Mutation {
            line,
            kind,
            range,
            by,
        });
    };
    for (number, token) in tokens.iter().enumerate() {
        let before = number.checked_sub(1).and_then(|before| tokens.get(before));
        let after = tokens.get(number + 1);
        let ends_value = before.is_some_and(Token::ends_value);
        // Around an operation, rustfmt leaves a space on both sides; around a type's `<`, none.
        let is_apart = token.is_word()
            || token.text == "..="
            || text[..token.at].ends_with(' ') && text[token.range().end..].starts_with(' ');
        for (from, to, kind) in REPLACED {
            if token.text == from && is_apart {
                add(kind, token.range(), to);
            }
        }
        match token.text {
            ".." if ends_value => {
                if let Some(end) = end_of_range(&tokens[number + 1..]) {
                    add("shorten a loop", end..end, " - 1");
                }
                if let Some(first) = before.filter(|before| before.text == "0") {
                    add("truncate a range", first.range(), "1");
                }
            }
            "+" if ends_value && is_apart => add("shift a halo", token.range(), "-"),
            "-" if ends_value && is_apart => add("shift a halo", token.range(), "+"),
            "*" if ends_value && is_apart => add("change an operation", token.range(), "+"),
            "1" | "2" | "3" => {
                let more = ["2", "3", "4"][token.text.parse::<usize>().unwrap_or(1) - 1];
                add("shift a halo", token.range(), more);
            }
            "," => {
                if let (Some(one), Some(other)) = (before, after)
                    && is_argument(&tokens, number, one, other)
                {
                    let swapped = format!("{}, {}", other.text, one.text);
                    add("swap buffers", one.at..other.range().end, &swapped);
                }
            }
            ";" => {
                if let Some((first, is_ordering)) = statement(&tokens, number) {
                    let kind = if is_ordering {
                        "drop a barrier"
                    } else {
                        "drop a statement"
                    };
                    add(kind, first..token.range().end, "");
                }
            }
            _ => {}
        }
    }
    found
}

/// The byte after the expression that ends a range: before a bracket that was not opened in it, or
/// a block.
fn end_of_range(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0;
    let mut end = None;
    for token in tokens {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" if depth == 0 => break,
            ")" | "]" => depth -= 1,
            "{" | ";" | "," if depth == 0 => break,
            _ => {}
        }
        end = Some(token.range().end);
    }
    end
}

/// Whether the comma of this number is between two names that are whole arguments or parts of a
/// pair.
fn is_argument(tokens: &[Token], comma: usize, one: &Token, other: &Token) -> bool {
    let is_end = |token: Option<&Token>| {
        token.is_some_and(|token| matches!(token.text, "," | "(" | "[" | ")" | "]"))
    };
    let around = (
        comma.checked_sub(2).and_then(|at| tokens.get(at)),
        tokens.get(comma + 2),
    );
    one.is_word() && other.is_word() && is_end(around.0) && is_end(around.1)
}

/// The first byte of the statement that ends with this semicolon, if it can be left out: a call, or
/// an assignment to what is not declared there. And whether it orders what threads do.
fn statement(tokens: &[Token], semicolon: usize) -> Option<(usize, bool)> {
    let mut depth = 0;
    let mut first = semicolon;
    for (number, token) in tokens[..semicolon].iter().enumerate().rev() {
        match token.text {
            ")" | "]" => depth += 1,
            // The length of an array type, or a block's last statement: neither is a statement.
            "(" | "[" if depth == 0 => return None,
            "(" | "[" => depth -= 1,
            "{" | "}" | ";" if depth == 0 => break,
            _ => {}
        }
        first = number;
    }
    let own = &tokens[first..semicolon];
    let begins = own.first()?.text;
    if matches!(
        begins,
        "let" | "=" | "return" | "pub" | "const" | "static" | "type" | "fn" | "struct"
    ) {
        return None;
    }
    let is_ordering = own.iter().any(|token| ORDERING_CALLS.contains(&token.text));
    Some((own.first()?.at, is_ordering))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Vec<(&'static str, String)> {
        let mutations = mutations(text);
        let made = mutations.iter().map(|it| (it.kind, it.applied(text)));
        made.collect()
    }

    #[test]
    fn one_mistake_at_a_time() {
        let text = "for i in 0..n {\n    a[i] = b[i + r];\n    thread::sync_threads();\n}";
        let expected = [
            (
                "shorten a loop",
                "for i in 0..n - 1 {\n    a[i] = b[i + r];\n    thread::sync_threads();\n}",
            ),
            (
                "truncate a range",
                "for i in 1..n {\n    a[i] = b[i + r];\n    thread::sync_threads();\n}",
            ),
            (
                "shift a halo",
                "for i in 0..n {\n    a[i] = b[i - r];\n    thread::sync_threads();\n}",
            ),
            (
                "drop a statement",
                "for i in 0..n {\n    \n    thread::sync_threads();\n}",
            ),
            (
                "drop a barrier",
                "for i in 0..n {\n    a[i] = b[i + r];\n    \n}",
            ),
        ];
        assert_eq!(
            made(text),
            expected.map(|(kind, whole)| (kind, whole.to_owned()))
        );
    }

    #[test]
    fn buffers_are_swapped_where_they_are_arguments() {
        let text = "launch(args![u0, u1.slice(), n_x, n_y], f(a + b, c))";
        let swapped: Vec<String> = made(text)
            .into_iter()
            .filter(|(kind, _)| *kind == "swap buffers")
            .map(|(_, whole)| whole)
            .collect();
        assert_eq!(
            swapped,
            ["launch(args![u0, u1.slice(), n_y, n_x], f(a + b, c))"]
        );
    }

    #[test]
    fn declarations_stay() {
        assert_eq!(made("let a = [0; n];\nreturn;"), []);
    }

    #[test]
    fn a_report_shows_the_line_before_and_after() {
        let text = "if x < n {\n    y = 5;\n}";
        let shown = mutations(text)[0].shown(text);
        assert_eq!(shown, "`if x < n {` became `if x <= n {`");
    }
}
