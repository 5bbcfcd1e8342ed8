//! The numbers of a text, with their units, as a reader sees them.

use std::ops::Range;

/// What follows a number that measures or counts something, and its size in s, B, Hz, J or one.
const UNITS: [(&str, f64); 41] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("MHz", 1e6),
    ("GHz", 1e9),
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("B/s", 1.0),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("%", 0.01),
    ("J", 1.0),
    ("kJ", 1e3),
    ("W", 1.0),
    ("flop", 1.0),
    ("flop/s", 1.0),
    ("times", 1.0),
    ("cycle", 1.0),
    ("cycles", 1.0),
    ("instruction", 1.0),
    ("instructions", 1.0),
    ("warp", 1.0),
    ("sector", 1.0),
    ("sectors", 1.0),
    ("byte", 1.0),
    ("bytes", 1.0),
    ("operation", 1.0),
    ("operations", 1.0),
    ("update", 1.0),
    ("updates", 1.0),
    ("updates/s", 1.0),
    ("wavefronts", 1.0),
    ("TFLOP/s", 1e12),
];

/// What may stand between two numbers that share the unit after the second.
const JOINTS: [&str; 8] = ["to", ",", "and", "or", ", and", ", or", "±", "/"];

/// A number as it is written.
#[derive(Clone, Debug)]
pub struct Number {
    /// The place of its digits.
    pub at: Range<usize>,
    /// As written, without its unit.
    pub value: f64,
    decimals: usize,
    exponent: Option<i32>,
    is_grouped: bool,
    /// What one of its unit is in s, B, Hz, J or one; `million` counts.
    pub scale: f64,
    has_unit: bool,
}

impl Number {
    /// Whether it measures or counts, so that a reader may ask where it comes from: it has a unit,
    /// a fraction, an exponent, or its thousands are set apart.
    pub fn is_figure(&self) -> bool {
        self.has_unit || self.decimals > 0 || self.exponent.is_some() || self.is_grouped
    }

    /// In the unit of a table's column, if it has none of its own.
    pub fn with_unit(mut self, scale: Option<f64>) -> Self {
        if let (false, Some(scale)) = (self.has_unit, scale) {
            self.scale *= scale;
            self.has_unit = true;
        }
        self
    }

    /// Whether `value`, in s, B, Hz, J or one, rounds to the number as written.
    pub fn agrees(&self, value: f64) -> bool {
        let exponent = self.exponent.unwrap_or(0) - self.decimals as i32;
        let half = 0.5 * 10_f64.powi(exponent);
        (value / self.scale - self.value).abs() <= half * (1.0 + 1e-6)
    }

    /// `value`, in s, B, Hz, J or one, / the number as written.
    pub fn ratio(&self, value: f64) -> f64 {
        value / self.scale / self.value
    }

    /// `value`, in s, B, Hz, J or one, in the digits of the number.
    pub fn render(&self, value: f64) -> String {
        let value = value / self.scale;
        let decimals = self.decimals;
        if self.exponent.is_some() {
            return format!("{value:.decimals$e}");
        }
        if self.is_grouped {
            return units::grouped(value.round() as u64);
        }
        format!("{value:.decimals$}")
    }
}

/// What a unit is in s, B, Hz, J or one.
fn unit(word: &str) -> Option<f64> {
    let found = UNITS.iter().find(|(name, _)| *name == word);
    found.map(|(_, scale)| *scale)
}

/// The last unit that a table's header or caption names.
pub fn unit_of_header(header: &str) -> Option<f64> {
    let words =
        header.split(|letter: char| !letter.is_ascii_alphabetic() && !"/%".contains(letter));
    // `times` and `warp` are words of many headers, and no units there.
    let words = words.filter(|word| !["times", "warp", "update"].contains(word));
    words.filter_map(unit).next_back()
}

/// The digits at `from`: where they end, and the number without its unit.
fn digits(bytes: &[u8], from: usize) -> Number {
    let run = |at: usize| {
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        bytes[at..].iter().take_while(is_digit).count()
    };
    let mut end = from + run(from);
    let mut is_grouped = false;
    while end - from <= 15 && bytes.get(end) == Some(&b',') && run(end + 1) == 3 {
        if !is_grouped && end - from > 3 {
            break;
        }
        end += 4;
        is_grouped = true;
    }
    let mut decimals = 0;
    if bytes.get(end) == Some(&b'.') {
        decimals = run(end + 1);
        end += if decimals > 0 { decimals + 1 } else { 0 };
    }
    let mut exponent = None;
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let length = run((end + 1 + sign).min(bytes.len()));
        if length > 0 {
            let text = String::from_utf8_lossy(&bytes[end + 1..end + 1 + sign + length]);
            exponent = text.parse().ok();
            end += 1 + sign + length;
        }
    }
    let text = String::from_utf8_lossy(&bytes[from..end]).replace(',', "");
    Number {
        at: from..end,
        value: text.parse().unwrap_or(f64::NAN),
        decimals,
        exponent,
        is_grouped,
        scale: 1.0,
        has_unit: false,
    }
}

/// Whether the digits are a part of a name, a version, a power, a path or a range of those.
fn is_part_of_a_word(bytes: &[u8], at: &Range<usize>) -> bool {
    let before = |back: usize| {
        at.start
            .checked_sub(back)
            .map_or(b' ', |place| bytes[place])
    };
    let after = |ahead: usize| bytes.get(at.end + ahead).copied().unwrap_or(b' ');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    is_letter(before(1))
        || b"^./#".contains(&before(1))
        || (before(1) == b'-' && !before(2).is_ascii_whitespace() && before(2) != b'|')
        || is_letter(after(0))
        || after(0) == b'^'
        || (b"-.".contains(&after(0)) && is_letter(after(1)))
}

/// The numbers of a text. One without a unit has that of the next, if nothing but a `to`, an `and`
/// or a comma is between.
pub fn numbers(text: &str) -> Vec<Number> {
    let bytes = text.as_bytes();
    let mut found: Vec<Number> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let mut number = digits(bytes, at);
        at = number.at.end;
        if is_part_of_a_word(bytes, &number.at) {
            continue;
        }
        if number.at.start > 0 && bytes[number.at.start - 1] == b'-' {
            number.at.start -= 1;
            number.value = -number.value;
        }
        found.push(number);
    }
    for index in (0..found.len()).rev() {
        let behind = text[found[index].at.end..].trim_start_matches('*');
        let mut rest = behind.trim_start();
        if let Some(more) = rest.strip_prefix("million") {
            found[index].scale = 1e6;
            found[index].has_unit = true;
            rest = more.trim_start();
        }
        let is_outside = |letter: char| !letter.is_ascii_alphabetic() && !"/%".contains(letter);
        let word = rest.split(is_outside).next().unwrap_or_default();
        if let Some(scale) = unit(word).or_else(|| unit(word.split('/').next()?)) {
            found[index].scale *= scale;
            found[index].has_unit = true;
        } else if let Some(next) = found.get(index + 1).cloned() {
            let between = text[found[index].at.end..next.at.start].trim();
            // In `at N = 512, 90 %` and in `24 x 24, 56 %` the first is not a share.
            let before = text[..found[index].at.start].trim_end();
            let is_size = before.ends_with('=') || before.ends_with(" x");
            if next.has_unit && !is_size && JOINTS.contains(&between) {
                found[index].scale *= next.scale;
                found[index].has_unit = true;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str) -> Vec<String> {
        let found = numbers(text);
        let found = found.into_iter().filter(Number::is_figure);
        found.map(|it| text[it.at.clone()].to_owned()).collect()
    }

    #[test]
    fn figures_have_units_fractions_exponents_or_thousands() {
        for (text, expected) in [
            ("1.5 to 2 us, 12 % of 40 blocks", "1.5 2 12"),
            ("65,536 registers, 1.29e11 sites", "65,536 1.29e11"),
            ("16-byte loads, sm_90, 2^28 numbers, driver 580.159.04", ""),
            ("36, 56 and 47 GB/s for 8.4 million blocks", "36 56 47 8.4"),
            ("at N = 512, 90 %, of 24 x 24, 56 %", "90 56"),
        ] {
            assert_eq!(figures(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_number_agrees_with_what_rounds_to_it() {
        let number = &numbers("5.07 ms")[0];
        assert!(number.agrees(0.005_066) && !number.agrees(0.005_076));
        assert_eq!(number.render(0.005_111), "5.11");
        let grouped = &numbers("65,536 bytes")[0];
        assert!(grouped.agrees(65_536.0) && !grouped.agrees(65_537.0));
        assert_eq!(grouped.render(1_000_000.0), "1,000,000");
        assert!(numbers("by -18 %")[0].agrees(-0.179));
        assert_eq!(numbers("1.29e11")[0].render(1.318e11), "1.32e11");
    }

    #[test]
    fn a_column_is_in_the_last_unit_of_its_header() {
        assert_eq!(unit_of_header("us per timestep"), Some(1e-6));
        assert_eq!(unit_of_header("V100, 32 x 8"), None);
        assert_eq!(unit_of_header("of copy, %"), Some(0.01));
    }
}
