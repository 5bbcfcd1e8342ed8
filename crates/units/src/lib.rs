//! Numbers for readers: few digits, well-known units.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// A number as people type it: `0.25`, `10`, `1e300`.
pub fn as_typed(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// About `digits` significant digits, never in exponent form: `189`, `54.1`, `0.0213`.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let exponent = value.abs().log10().floor() as i32;
    let decimals = (digits - 1 - exponent).max(0) as usize;
    let text = format!("{value:.decimals$}");
    // 9.996 rounds up to a number with one more digit.
    let rounded = text.parse::<f64>().unwrap_or(value);
    if rounded.abs().log10().floor() as i32 > exponent && decimals > 0 {
        format!("{value:.*}", decimals - 1)
    } else {
        text
    }
}

/// Three significant digits.
pub fn three(value: f64) -> String {
    significant(value, 3)
}

/// A figure and half the width of its interval, to the digit that the interval leaves: `4.54 ±
/// 0.05`. The figure has three or four digits, and the half width is rounded up.
pub fn plus_minus(value: f64, half: f64) -> String {
    if value == 0.0 || !value.is_finite() || !half.is_finite() {
        return format!("{value} ± {half}");
    }
    let exponent = value.abs().log10().floor() as i32;
    let [three, four] = [2, 3].map(|digits| (digits - exponent).max(0));
    let needed = if half > 0.0 {
        -half.log10().floor() as i32
    } else {
        three
    };
    let decimals = needed.clamp(three, four);
    let unit = 10_f64.powi(decimals);
    // Without a negative zero.
    let half = (half * unit - 1e-9).ceil().max(0.0) / unit + 0.0;
    let decimals = decimals as usize;
    format!("{value:.decimals$} ± {half:.decimals$}")
}

/// A number of bytes with a binary prefix: `80.0 GiB`.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if unit == "bytes" {
        format!("{bytes} bytes")
    } else {
        format!("{} {unit}", three(value))
    }
}

/// A rate of bytes with a decimal prefix, as vendors state it: `3.02 TB/s`.
pub fn bytes_per_s(rate: f64) -> String {
    let (scale, unit) = match rate {
        _ if rate >= 1e12 => (1e12, "TB/s"),
        _ if rate >= 1e9 => (1e9, "GB/s"),
        _ => (1e6, "MB/s"),
    };
    format!("{} {unit}", three(rate / scale))
}

/// A time that a person waited: `1.4 s`, `2 min 5 s`.
pub fn waited(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round() as u64;
        format!("{} min {} s", whole / 60, whole % 60)
    }
}

/// A time that a clock shows: `2026-03-01 09:05 UTC`. A number beyond the year 9999, as in a
/// damaged document, is shown itself.
pub fn utc(unix_s: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(unix_s));
    // Formatting fails beyond the year 9999.
    let text = time.and_then(|time| {
        let mut text = String::new();
        write!(text, "{}", humantime::format_rfc3339_seconds(time)).ok()?;
        Some(text)
    });
    match text.as_deref().and_then(|text| text.rsplit_once(':')) {
        Some((to_the_minute, _)) => format!("{} UTC", to_the_minute.replace('T', " ")),
        None => format!("{unix_s} s after 1970"),
    }
}

/// A share in percent, with one decimal; a dash if there is none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}

/// All digits, in groups of three: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A message with its lines after the first indented under the first, for a report that indents
/// messages by two spaces.
pub fn indented(message: &str) -> String {
    message.trim_end().replace('\n', "\n    ")
}

/// `1 case`, `2 cases`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_their_interval_leaves() {
        let read = plus_minus;
        assert_eq!(read(4.5432, 0.046), "4.54 ± 0.05");
        assert_eq!(read(4.5432, 0.004), "4.543 ± 0.004");
        // No more than four digits; the interval is rounded up.
        assert_eq!(read(4.5432, 1e-5), "4.543 ± 0.001");
        assert_eq!(read(320.4, 25.0), "320 ± 25");
        assert_eq!(read(1477.3, 12.2), "1477 ± 13");
        assert_eq!(read(0.01234, 0.002), "0.0123 ± 0.0020");
        assert_eq!(read(2.0, 0.0), "2.00 ± 0.00");
        assert_eq!(read(0.0, 0.0), "0 ± 0");
    }

    #[test]
    fn three_digits() {
        let read = |value: f64| three(value);
        assert_eq!(read(189.26), "189");
        assert_eq!(read(54.14), "54.1");
        assert_eq!(read(9.996), "10.0");
        assert_eq!(read(0.02134), "0.0213");
        assert_eq!(read(12_345.6), "12346");
        assert_eq!(read(0.0), "0");
        assert_eq!(read(999.7), "1000");
    }

    #[test]
    fn prefixes() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1 << 20), "1.00 MiB");
        assert_eq!(bytes(85_520_809_984), "79.6 GiB");
        assert_eq!(bytes_per_s(3.02e12), "3.02 TB/s");
        assert_eq!(bytes_per_s(21.4e9), "21.4 GB/s");
        assert_eq!(bytes_per_s(5e5), "0.500 MB/s");
    }

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
        assert_eq!(utc(1_798_761_540), "2026-12-31 23:59 UTC");
        assert_eq!(utc(253_402_300_799), "9999-12-31 23:59 UTC");
        assert_eq!(utc(253_402_300_800), "253402300800 s after 1970");
        assert_eq!(utc(u64::MAX), "18446744073709551615 s after 1970");
    }

    #[test]
    fn groups_of_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }

    #[test]
    fn lines_of_a_message() {
        assert_eq!(indented("one\n  two\n"), "one\n      two");
    }

    #[test]
    fn times() {
        assert_eq!(waited(Duration::from_millis(1432)), "1.4 s");
        assert_eq!(waited(Duration::from_millis(59_999)), "1 min 0 s");
        assert_eq!(waited(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(count(1, "case"), "1 case");
        assert_eq!(count(0, "case"), "0 cases");
    }
}
