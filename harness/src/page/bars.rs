//! Horizontal bars on a logarithmic scale, each with its label over it: readable however narrow the page is.

use std::fmt::Write;

use super::escape::html;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// Its length, above 0.
    pub value: f64,
    /// Which of the page's colours.
    pub colour: usize,
}

const WIDTH: f64 = 760.0;
/// Of a label and its bar.
const HEIGHT: f64 = 40.0;
/// To the right of the longest bar, for its value.
const VALUE: f64 = 80.0;

/// The SVG element. Bars start at 1, or below it at the power of ten below the least value.
pub fn bars(bars: &[Bar], format: fn(f64) -> String) -> String {
    let shown = || {
        bars.iter()
            .filter(|bar| bar.value.is_finite() && bar.value > 0.0)
    };
    let least = shown()
        .map(|bar| bar.value)
        .fold(1.0, f64::min)
        .log10()
        .floor();
    let most = shown().map(|bar| bar.value).fold(10.0, f64::max).log10();
    let position = |value: f64| (WIDTH - VALUE) * (value.log10() - least) / (most - least);
    let height = HEIGHT * shown().count() as f64 + 24.0;
    let mut svg = format!(
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    // Writing to a string does not fail.
    for decade in (least as i32)..=(most.floor() as i32) {
        let x = position(10f64.powi(decade));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\" stroke=\"var(--grid)\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"14\" fill=\"var(--muted)\">{}</text>",
            height - 20.0,
            x + 3.0,
            height - 6.0,
            html(&format(10f64.powi(decade)))
        );
    }
    for (row, bar) in shown().enumerate() {
        let top = HEIGHT * row as f64;
        let end = position(bar.value).max(1.0);
        let _ = writeln!(
            svg,
            "<text x=\"4\" y=\"{:.1}\" font-size=\"15\" fill=\"var(--fg)\" stroke=\"var(--bg)\" stroke-width=\"5\" paint-order=\"stroke\">{}</text>\
             <rect x=\"0\" y=\"{:.1}\" width=\"{end:.1}\" height=\"14\" rx=\"2\" fill=\"var(--s{})\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"15\" fill=\"var(--fg)\">{}</text>",
            top + 15.0,
            html(&bar.label),
            top + 20.0,
            bar.colour % 8,
            end + 6.0,
            top + 32.0,
            html(&format(bar.value))
        );
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::three;

    #[test]
    fn labels_are_escaped_and_lengths_are_logarithms() {
        let bar = |value| Bar {
            label: "<b>".to_owned(),
            value,
            colour: 9,
        };
        let svg = bars(&[bar(10.0), bar(100.0), bar(0.0)], three);
        assert!(!svg.contains("<b>") && svg.matches("<rect").count() == 2);
        assert!(
            svg.contains("width=\"340.0\"") && svg.contains("width=\"680.0\""),
            "{svg}"
        );
        assert!(svg.contains("var(--s1)"));
    }
}
