//! The arguments of a kernel, as people write them.

use std::num::IntErrorKind;
use std::str::FromStr;

/// The types of elements and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Unsigned(usize),
    Signed(usize),
    F32,
    F64,
}

/// The names of the types.
const NUMBERS: [(&str, Number); 10] = [
    ("u8", Number::Unsigned(1)),
    ("u16", Number::Unsigned(2)),
    ("u32", Number::Unsigned(4)),
    ("u64", Number::Unsigned(8)),
    ("i8", Number::Signed(1)),
    ("i16", Number::Signed(2)),
    ("i32", Number::Signed(4)),
    ("i64", Number::Signed(8)),
    ("f32", Number::F32),
    ("f64", Number::F64),
];

impl Number {
    fn bytes(self) -> usize {
        match self {
            Number::Unsigned(bytes) | Number::Signed(bytes) => bytes,
            Number::F32 => 4,
            Number::F64 => 8,
        }
    }

    /// The bytes of a number; `None` if it is not one of this type.
    fn encode(self, text: &str) -> Option<Vec<u8>> {
        let bits = 8 * self.bytes() as u32;
        Some(match self {
            Number::Unsigned(bytes) => {
                let number: u64 = text.parse().ok()?;
                if bits < 64 && number >> bits != 0 {
                    return None;
                }
                number.to_le_bytes()[..bytes].to_vec()
            }
            Number::Signed(bytes) => {
                let number: i64 = text.parse().ok()?;
                let most = i64::MAX >> (64 - bits);
                if number > most || number < -most - 1 {
                    return None;
                }
                number.to_le_bytes()[..bytes].to_vec()
            }
            Number::F32 => {
                let number: f32 = text.parse().ok()?;
                is_meant(text, number.into()).then(|| number.to_le_bytes().to_vec())?
            }
            Number::F64 => {
                let number: f64 = text.parse().ok()?;
                is_meant(text, number).then(|| number.to_le_bytes().to_vec())?
            }
        })
    }

    /// The bytes of a small count, cut to the type's width.
    fn encode_count(self, count: u64) -> Vec<u8> {
        match self {
            Number::Unsigned(bytes) | Number::Signed(bytes) => {
                count.to_le_bytes()[..bytes].to_vec()
            }
            Number::F32 => (count as f32).to_le_bytes().to_vec(),
            Number::F64 => (count as f64).to_le_bytes().to_vec(),
        }
    }

    /// A number of this type in words.
    fn decode(self, bytes: &[u8]) -> String {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        match self {
            Number::Unsigned(_) => bits.to_string(),
            Number::Signed(size) => {
                let shift = 64 - 8 * size as u32;
                ((bits << shift) as i64 >> shift).to_string()
            }
            Number::F32 => f32::from_bits(bits as u32).to_string(),
            Number::F64 => f64::from_bits(bits).to_string(),
        }
    }
}

/// False for digits that are read as an infinity, since the type has no number as large.
fn is_meant(text: &str, number: f64) -> bool {
    number.is_finite() || !text.contains(|c: char| c.is_ascii_digit())
}

/// The content of a buffer before the launch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Unwritten,
    /// 0, 1, 2, and so on.
    Counting,
    /// These bytes in each element.
    Same(Vec<u8>),
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The bytes of a number.
    Number(Vec<u8>),
    /// A buffer, which the kernel takes as a pointer.
    Buffer(Buffer),
}

/// A buffer of elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    number: Number,
    /// Elements, at least 1. Their bytes can be counted in 64 bits.
    pub count: u64,
    content: Content,
}

/// Elements that are made at a time: a buffer may be larger than what else this machine has room
/// for.
const CHUNK: u64 = 1 << 16;

impl Buffer {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.count * self.number.bytes() as u64
    }

    /// Gives its content before the launch, if it has one, piece by piece: each with its place in
    /// the buffer, in bytes.
    pub fn fill<E>(&self, mut write: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut start = 0;
        while start < self.count {
            let elements = start..self.count.min(start + CHUNK);
            let content: Vec<u8> = match &self.content {
                Content::Unwritten => return Ok(()),
                Content::Counting => {
                    let counts = elements.clone();
                    counts
                        .flat_map(|count| self.number.encode_count(count))
                        .collect()
                }
                Content::Same(element) => element.repeat((elements.end - start) as usize),
            };
            write(start * self.number.bytes() as u64, &content)?;
            start = elements.end;
        }
        Ok(())
    }

    /// The bytes of its first elements, up to this many.
    pub fn first_bytes(&self, elements: u64) -> usize {
        self.count.min(elements) as usize * self.number.bytes()
    }

    /// Elements in words.
    pub fn words(&self, bytes: &[u8]) -> Vec<String> {
        let elements = bytes.chunks_exact(self.number.bytes());
        elements
            .map(|element| self.number.decode(element))
            .collect()
    }
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Argument, String> {
        let wrong = |why: &str| {
            format!("argument {text}: {why}; write f32[1024]=iota, u8[64], 2.0f32 or 5i32")
        };
        if text.starts_with("--") {
            return Err(format!(
                "{text} stands behind an argument of the kernel; write flags before the first of them"
            ));
        }
        let (head, content) = match text.split_once('=') {
            Some((head, content)) => (head, Some(content)),
            None => (text, None),
        };
        let Some((name, count)) = head.split_once('[') else {
            // Longer names first: `8i16` ends in no other type's name, `1u8` neither.
            let number = NUMBERS.iter().find_map(|(name, number)| {
                let value = head.strip_suffix(name)?;
                number.encode(value)
            });
            return match (number, content) {
                (Some(bytes), None) => Ok(Argument::Number(bytes)),
                _ => Err(wrong("it is not a number with its type, and not a buffer")),
            };
        };
        let few = || wrong("a buffer has a count of 1 or more");
        let (_, number) = NUMBERS
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| wrong("there is no such type"))?;
        let count = count.strip_suffix(']').map(str::parse::<u64>);
        let is_countable = |elements: u64| elements.checked_mul(number.bytes() as u64).is_some();
        let count = match count {
            Some(Ok(count)) if count > 0 && is_countable(count) => count,
            Some(Err(error)) if *error.kind() != IntErrorKind::PosOverflow => return Err(few()),
            Some(Ok(0)) | None => return Err(few()),
            Some(_) => return Err(wrong("no machine has as many bytes")),
        };
        let content = match content {
            None => Content::Unwritten,
            Some("iota") => Content::Counting,
            Some(value) => {
                let element = number.encode(value);
                Content::Same(element.ok_or_else(|| wrong("its value is not one of its type"))?)
            }
        };
        Ok(Argument::Buffer(Buffer {
            number: *number,
            count,
            content,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_buffers_are_read() {
        let number = |text: &str| match text.parse() {
            Ok(Argument::Number(bytes)) => bytes,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(number("2.0f32"), 2f32.to_le_bytes());
        assert_eq!(number("-5i32"), (-5i32).to_le_bytes());
        assert_eq!(number("-128i8"), [0x80]);
        assert_eq!(number("255u8"), [255]);
        assert_eq!(number("7u64"), 7u64.to_le_bytes());
        for wrong in [
            "256u8",
            "128i8",
            "-1u32",
            "1.5i32",
            "f32",
            "u32[4",
            "b32[4]",
            "u8[2]=300",
            "5i32=1",
            "1e39f32",
            "-1e400f64",
            "f32[4]=1e400",
            "u64[2305843009213693953]",
            "u8[99999999999999999999]",
            "u8[-1]",
        ] {
            assert!(wrong.parse::<Argument>().is_err(), "{wrong}");
        }
        assert_eq!(number("-inff32"), f32::NEG_INFINITY.to_le_bytes());
        let Ok(Argument::Buffer(buffer)) = "i16[3]=iota".parse() else {
            panic!()
        };
        let mut content = Vec::new();
        let filled = buffer.fill(|start, bytes| {
            assert_eq!(start, content.len() as u64);
            content.extend_from_slice(bytes);
            Ok::<(), ()>(())
        });
        filled.unwrap();
        assert_eq!(content, [0, 0, 1, 0, 2, 0]);
        assert_eq!(buffer.words(&[0xff, 0xff, 2, 0]), ["-1", "2"]);
    }
}
