//! Texts of PTX.

/// Whether a content is a text of PTX, and not a file of machine code.
pub(crate) fn is_ptx(content: &[u8]) -> bool {
    let has = |word: &[u8]| content.windows(word.len()).any(|bytes| bytes == word);
    !content.starts_with(b"\x7fELF") && has(b".version") && has(b".target")
}

/// A text with one NUL at its end.
pub(crate) fn ended(text: &[u8]) -> Vec<u8> {
    [without_nuls(text), &[0]].concat()
}

fn without_nuls(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| *byte != 0);
    &text[..last.map_or(0, |last| last + 1)]
}

/// The line between two texts that the driver is to link (`image.rs` of crate `emulated-driver`).
const NEXT: &[u8] = b"\n// emulate: the next text of the module\n";

/// The texts of what is linked, with one NUL at the end; `None` if there are none.
pub(crate) fn joined(texts: &[Vec<u8>]) -> Option<Vec<u8>> {
    let texts: Vec<Vec<u8>> = texts
        .iter()
        .map(|text| without_nuls(text).to_vec())
        .collect();
    (!texts.is_empty()).then(|| ended(&texts.join(NEXT)))
}
