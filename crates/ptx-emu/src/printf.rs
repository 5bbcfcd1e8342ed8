//! The formats of C's `printf`, as devices know them (CUDA guide, "Formatted Output"): without `n`,
//! and a `*` is a width, not a precision. An H200 prints the others as they stand.

use crate::fault::Stop;

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// 4 bytes.
    Int,
    /// 8 bytes.
    Long,
    /// 8 bytes: the address of a text.
    Text,
}

impl Argument {
    /// Its size and alignment in bytes.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Argument::Int => 4,
            Argument::Long | Argument::Text => 8,
        }
    }
}

/// The value of an argument.
#[derive(Debug)]
pub(crate) enum Value {
    Bits(u64),
    Text(Vec<u8>),
}

/// A conversion: `%[flags][width][.precision][length]kind`.
#[derive(Debug, Default)]
struct Conversion {
    flags: String,
    /// `*`: the width is the next argument, an `int`.
    takes_width: bool,
    /// `.*`: not known to devices.
    takes_precision: bool,
    width: usize,
    precision: Option<usize>,
    /// The argument has 8 bytes.
    is_long: bool,
    kind: u8,
}

/// The widest field and the longest precision that are followed.
const MAX_WIDTH: usize = 1000;

/// The text of a format, and the number of its arguments. `value` reads an argument at an offset
/// from the first.
pub(crate) fn format(
    format: &[u8],
    value: impl Fn(Argument, u64) -> Result<Value, Stop>,
) -> Result<(Vec<u8>, u64), Stop> {
    let mut text = Vec::new();
    let (mut rest, mut offset, mut count) = (format, 0u64, 0);
    let mut place = |argument: Argument| {
        let start = offset.next_multiple_of(argument.bytes().into());
        offset = start + u64::from(argument.bytes());
        count += 1;
        start
    };
    while let Some((&first, others)) = rest.split_first() {
        let read = (first == b'%').then(|| Conversion::read(others)).flatten();
        let Some((mut conversion, after)) = read else {
            text.push(first);
            rest = others;
            continue;
        };
        let written = &rest[..rest.len() - after.len()];
        rest = after;
        if conversion.takes_width {
            let start = place(Argument::Int);
            if let Value::Bits(bits) = value(Argument::Int, start)? {
                conversion.set_width(bits as i32);
            }
        }
        if conversion.takes_precision {
            place(Argument::Int);
        }
        match conversion.argument() {
            None => text.push(b'%'),
            Some(argument) => {
                let start = place(argument);
                if conversion.takes_precision {
                    // Those behind keep their arguments.
                    text.extend(written)
                } else {
                    text.extend(conversion.apply(value(argument, start)?))
                }
            }
        }
    }
    Ok((text, count))
}

impl Conversion {
    /// The conversion after a `%`, and the rest of the format; `None` if it is none.
    fn read(format: &[u8]) -> Option<(Conversion, &[u8])> {
        let mut at = 0;
        let mut conversion = Conversion::default();
        while b"-+ #0".contains(format.get(at)?) {
            conversion.flags.push(char::from(format[at]));
            at += 1;
        }
        let has_star = |next: &mut usize| {
            let is_there = format.get(*next) == Some(&b'*');
            *next += usize::from(is_there);
            is_there
        };
        let number = |next: &mut usize| {
            let mut number = 0;
            while let Some(digit) = format.get(*next).filter(|byte| byte.is_ascii_digit()) {
                number = (10 * number + usize::from(digit - b'0')).min(MAX_WIDTH);
                *next += 1;
            }
            number
        };
        conversion.takes_width = has_star(&mut at);
        if !conversion.takes_width {
            conversion.width = number(&mut at);
        }
        if *format.get(at)? == b'.' {
            at += 1;
            conversion.takes_precision = has_star(&mut at);
            conversion.precision = Some(number(&mut at));
        }
        while b"lhzjt".contains(format.get(at)?) {
            conversion.is_long |= format[at] != b'h';
            at += 1;
        }
        conversion.kind = *format.get(at)?;
        let is_known = match conversion.kind {
            b'%' => at == 0,
            kind => b"diuoxXcspfFeEgGaA".contains(&kind),
        };
        is_known.then(|| (conversion, &format[at + 1..]))
    }

    /// Takes a width from an argument. As in C, one below 0 is the flag `-` and a width.
    fn set_width(&mut self, width: i32) {
        if width < 0 {
            self.flags.push('-');
        }
        self.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
    }

    /// The argument; none for `%%`.
    fn argument(&self) -> Option<Argument> {
        Some(match self.kind {
            b'%' => return None,
            b's' => Argument::Text,
            b'c' => Argument::Int,
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' if !self.is_long => Argument::Int,
            _ => Argument::Long,
        })
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// The text of a value.
    fn apply(&self, value: Value) -> Vec<u8> {
        let bits = match value {
            Value::Bits(bits) => bits,
            Value::Text(mut text) => {
                text.truncate(self.precision.unwrap_or(usize::MAX));
                return self.padded("", text, false);
            }
        };
        let float = f64::from_bits(bits);
        let sign = |is_negative| match is_negative {
            true => "-",
            false if self.has('+') => "+",
            false if self.has(' ') => " ",
            false => "",
        };
        let unsigned = if self.is_long {
            bits
        } else {
            bits & 0xffff_ffff
        };
        let (prefix, mut digits) = match self.kind {
            b'c' => return self.padded("", vec![bits as u8], false),
            b'd' | b'i' => {
                let number = if self.is_long {
                    bits as i64
                } else {
                    i64::from(bits as i32)
                };
                (sign(number < 0), number.unsigned_abs().to_string())
            }
            b'u' => ("", unsigned.to_string()),
            b'o' => ("", format!("{unsigned:o}")),
            b'x' if self.has('#') && unsigned != 0 => ("0x", format!("{unsigned:x}")),
            b'x' => ("", format!("{unsigned:x}")),
            b'X' if self.has('#') && unsigned != 0 => ("0X", format!("{unsigned:X}")),
            b'X' => ("", format!("{unsigned:X}")),
            b'p' => ("0x", format!("{bits:x}")),
            _ => {
                let text = self.float(float.abs()).into_bytes();
                let is_negative = float.is_sign_negative() && !float.is_nan();
                return self.padded(sign(is_negative), text, float.is_finite());
            }
        };
        // A precision of 0 leaves nothing of the number 0, an octal with `#` begins with a 0.
        if self.precision == Some(0) && digits == "0" {
            digits.clear();
        }
        let least = self.precision.unwrap_or(1);
        digits = format!("{digits:0>least$}");
        if self.kind == b'o' && self.has('#') && !digits.starts_with('0') {
            digits.insert(0, '0');
        }
        self.padded(prefix, digits.into_bytes(), self.precision.is_none())
    }

    /// The text of a number that is not negative.
    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = match self.kind.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            b'f' => format!("{value:.precision$}"),
            b'e' => exponential(value, precision),
            b'g' => general(value, precision.max(1), self.has('#')),
            _ => hexadecimal(value),
        };
        let text = if self.has('#') && value.is_finite() && !text.contains('.') {
            with_point(&text)
        } else {
            text
        };
        if self.kind.is_ascii_uppercase() {
            text.to_uppercase()
        } else {
            text
        }
    }

    /// Padded to the width: with zeros after the prefix if asked for and `zeros` allows it.
    fn padded(&self, prefix: &str, text: Vec<u8>, zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(prefix.len() + text.len());
        let prefix = prefix.as_bytes();
        if self.has('-') {
            [prefix, &text, &vec![b' '; missing]].concat()
        } else if self.has('0') && zeros {
            [prefix, &vec![b'0'; missing], &text].concat()
        } else {
            [&vec![b' '; missing], prefix, &text].concat()
        }
    }
}

/// A number without a point, with one before its exponent.
fn with_point(text: &str) -> String {
    let end = if text.starts_with("0x") {
        text.find('p')
    } else {
        text.find('e')
    };
    let (number, exponent) = text.split_at(end.unwrap_or(text.len()));
    format!("{number}.{exponent}")
}

/// As `%e`: the exponent has a sign and at least two digits.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// As `%g`: this many significant digits, without zeros at the end unless they are kept.
fn general(value: f64, digits: usize, keeps_zeros: bool) -> String {
    let text = exponential(value, digits - 1);
    let (_, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let is_short = exponent >= -4 && exponent < digits as i32;
    let text = if is_short {
        let decimals = (digits as i32 - 1 - exponent) as usize;
        format!("{value:.decimals$}")
    } else {
        text
    };
    if keeps_zeros {
        return text;
    }
    let (number, power) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number}{power}")
}

/// As `%a`.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let first = u64::from(exponent != 0);
    let exponent = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        (exponent, _) => exponent as i64 - 1023,
    };
    let fraction = format!("{fraction:013x}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("0x{first}{point}{fraction}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str, values: &[u64]) -> String {
        let value = |argument: Argument, offset: u64| {
            let word = values[(offset / 8) as usize];
            Ok(match argument {
                Argument::Int => Value::Bits(word >> (8 * (offset % 8)) & 0xffff_ffff),
                Argument::Long => Value::Bits(word),
                Argument::Text => Value::Text(b"text".to_vec()),
            })
        };
        let (text, _) = format(of.as_bytes(), value).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn integers() {
        let minus = -5i64 as u64;
        assert_eq!(
            text("%lld|%5lld|%-5lld|%05lld|", &[minus; 4]),
            "-5|   -5|-5   |-0005|"
        );
        assert_eq!(text("%d %u", &[0x0000_0007_ffff_fffb]), "-5 7");
        assert_eq!(text("%llx %#llX %.4llu", &[255; 3]), "ff 0XFF 0255");
        assert_eq!(text("%+lld % lld", &[3; 2]), "+3  3");
    }

    /// The expected texts are those of glibc.
    #[test]
    fn floats() {
        let of = |format: &str, value: f64| text(format, &[value.to_bits()]);
        assert_eq!(of("%f", 2.5), "2.500000");
        assert_eq!(of("%8.2f|", -1.005), "   -1.00|");
        assert_eq!(of("%e", 12345.678), "1.234568e+04");
        assert_eq!(of("%.2E", 1e-100), "1.00E-100");
        assert_eq!(of("%g", 0.1), "0.1");
        assert_eq!(of("%g", 100000.0), "100000");
        assert_eq!(of("%g", 1e6), "1e+06");
        assert_eq!(of("%g", 0.0001), "0.0001");
        assert_eq!(of("%g", 0.00001), "1e-05");
        assert_eq!(of("%g", 999999.5), "1e+06");
        assert_eq!(of("%g", 0.0), "0");
        assert_eq!(of("%.9g", f64::from(0.1f32)), "0.100000001");
        assert_eq!(of("%g", -0.0), "-0");
        assert_eq!(of("%g %%", f64::NAN), "nan %");
        assert_eq!(of("%05g", f64::NEG_INFINITY), " -inf");
        assert_eq!(of("%a", 1.5), "0x1.8p+0");
    }

    /// The expected texts are those of an H200, as far as one was asked.
    #[test]
    fn widths_that_are_arguments() {
        // Two `int`s in each 8 bytes.
        let int = |a: i32, b: i32| u64::from(a as u32) | u64::from(b as u32) << 32;
        for (format, expected) in [
            ("[%*d] [%s]", "[     7] [text]"),
            ("[%-*d]", "[7     ]"),
            ("[%0*d]", "[000007]"),
            ("[%+*d]", "[    +7]"),
            ("[%*.3d]", "[   007]"),
            ("[%*]", "[%*]"),
        ] {
            assert_eq!(text(format, &[int(6, 7), 0]), expected, "{format}");
        }
        assert_eq!(text("[%*d] [%s]", &[int(-6, 7), 0]), "[7     ] [text]");
        assert_eq!(text("[%*s] %d", &[int(6, 0), 0, int(9, 0)]), "[  text] 9");
        assert_eq!(text("[%*lld]", &[int(3, 0), 5]), "[  5]");
        // A precision is printed as it stands, and takes its arguments.
        let half = 2.5f64.to_bits();
        assert_eq!(text("[%.*f] %d", &[int(1, 0), half, 8]), "[%.*f] 8");
        assert_eq!(text("[%*.*f] %d", &[int(8, 2), half, 8]), "[%*.*f] 8");
        assert_eq!(text("[%.*s] %d", &[int(1, 0), 0, 8]), "[%.*s] 8");
        for format in ["%n", "%q", "%5%", "%.-3d"] {
            assert_eq!(text(format, &[]), format);
        }
    }

    /// The expected texts are those of glibc.
    #[test]
    fn other_forms() {
        let of = |format: &str, value: u32| text(format, &[value.into()]);
        for (format, value, expected) in [
            ("%#o", 8, "010"),
            ("%#o", 0, "0"),
            ("%#.3o", 8, "010"),
            ("%#.0o", 0, "0"),
            ("%#5o|", 8, "  010|"),
            ("%#05o|", 8, "00010|"),
            ("%#x", 255, "0xff"),
            ("%#X", 255, "0XFF"),
            ("%#x", 0, "0"),
            ("%#08x", 255, "0x0000ff"),
            ("%-#8x|", 255, "0xff    |"),
            ("%.0d|", 0, "|"),
            ("%.d|", 0, "|"),
            ("%5.0d|", 0, "     |"),
            ("%+.0d|", 0, "+|"),
            ("%.0x|", 0, "|"),
        ] {
            assert_eq!(of(format, value), expected, "{format} of {value}");
        }
        let float = |format: &str| text(format, &[3f64.to_bits()]);
        assert_eq!(float("%#.0f"), "3.");
        assert_eq!(float("%#g"), "3.00000");
        assert_eq!(float("%#.1g"), "3.");
        assert_eq!(float("%#.0e"), "3.e+00");
        assert_eq!(float("%#a"), "0x1.8p+1");
    }

    #[test]
    fn texts_and_what_is_no_conversion() {
        assert_eq!(text("%s|%6s|%.2s|", &[0; 3]), "text|  text|te|");
        assert_eq!(text("%y 5%%, %", &[]), "%y 5%, %");
    }
}
