//! The places of a submission that a message names, as `kernels.rs:48` or, with a column, as
//! compilers do: `kernels.rs:48:9`.

/// The files of a submission.
pub const FILES: [&str; 2] = ["kernels.rs", "launch.rs"];

/// A place in a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its file, as a number of [`FILES`].
    pub file: usize,
    /// The line, from 1.
    pub line: u32,
    /// The column, where the message has one.
    pub column: Option<u32>,
}

/// The places that a message names, in its order.
pub fn named(message: &str) -> Vec<Named> {
    let mut found: Vec<(usize, Named)> = Vec::new();
    for (file, name) in FILES.iter().enumerate() {
        for (at, _) in message.match_indices(&format!("{name}:")) {
            let (line, rest) = number(&message[at + name.len() + 1..]);
            let column = rest.strip_prefix(':').and_then(|rest| number(rest).0);
            let is_other_file = message[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if let (Some(line @ 1..), false) = (line, is_other_file) {
                found.push((at, Named { file, line, column }));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, place)| place).collect()
}

/// The number that a text begins with, and the rest.
fn number(text: &str) -> (Option<u32>, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (text[..text.len() - rest.len()].parse().ok(), rest)
}
