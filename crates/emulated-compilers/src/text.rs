//! Texts of PTX.

/// Whether a content is a text of PTX, and not a file of machine code.
pub(crate) fn is_ptx(content: &[u8]) -> bool {
    let has = |word: &[u8]| content.windows(word.len()).any(|bytes| bytes == word);
    !content.starts_with(b"\x7fELF") && has(b".version") && has(b".target")
}

/// A text with one NUL at its end.
pub(crate) fn ended(text: &[u8]) -> Vec<u8> {
    let end = text.iter().rposition(|byte| *byte != 0);
    let mut ended = text[..end.map_or(0, |last| last + 1)].to_vec();
    ended.push(0);
    ended
}

/// The text of what is linked; `None` where there is not just one.
pub(crate) fn joined(texts: &[Vec<u8>]) -> Option<Vec<u8>> {
    match texts {
        [text] => Some(ended(text)),
        _ => None,
    }
}
