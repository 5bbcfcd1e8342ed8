//! The seed of a case's random inputs.

use std::fmt;

/// The random inputs of a case follow from it. Equal seeds give equal inputs.
///
/// As text it is a number, or `key-` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seed {
    /// A number that anyone may know. The inputs follow by a quick hash: who reads one of them can
    /// compute the number, and all others.
    Number(u64),
    /// The key of a cryptographic stream, for runs that are graded: inputs say nothing of each
    /// other.
    Key([u8; 32]),
}

/// The beginning of a key's text.
const KEY: &str = "key-";

impl Seed {
    /// The key of this text, if it is one.
    pub(crate) fn key(text: &str) -> Option<Seed> {
        let digits = text.strip_prefix(KEY)?.as_bytes();
        let mut key = [0; 32];
        if digits.len() != 2 * key.len() {
            return None;
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
            *byte = (16 * high? + low?) as u8;
        }
        Some(Seed::Key(key))
    }
}

impl From<u64> for Seed {
    fn from(number: u64) -> Seed {
        Seed::Number(number)
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seed::Number(number) => number.fmt(f),
            Seed::Key(key) => {
                f.write_str(KEY)?;
                key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let key = Seed::Key(std::array::from_fn(|i| (7 * i) as u8));
        assert_eq!(Seed::key(&key.to_string()), Some(key));
        assert_eq!(Seed::key("12"), None);
        assert_eq!(Seed::key(&key.to_string()[..66]), None);
        assert_eq!(Seed::key(&key.to_string().replace("07", "0g")), None);
    }
}
