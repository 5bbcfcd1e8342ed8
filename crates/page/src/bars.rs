//! Horizontal bars on a logarithmic scale, each with its label over it: readable however narrow the page is.

use std::fmt::Write;

use super::escape::html;
use super::plot::{Size, tick};
use units::three;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it belongs to, with the bars before it that say the same.
    pub group: String,
    /// What it is of.
    pub label: String,
    /// Its length, above 0.
    pub value: f64,
    /// Which of the page's colours.
    pub colour: usize,
}

/// Of a line of text.
const LINE: f64 = 18.0;
/// Of a bar and the gap under it.
const BAR: f64 = 22.0;
/// Between groups.
const GAP: f64 = 14.0;
/// Of a letter, generously.
const LETTER: f64 = 8.0;
/// To the right of the longest bar, for its value.
const VALUE: f64 = 64.0;

/// The SVG element. Bars start at 1, or below it at the power of ten below the least value.
pub fn bars(bars: &[Bar], size: Size) -> String {
    let width = f64::from(size.width());
    let shown: Vec<&Bar> = bars
        .iter()
        .filter(|bar| bar.value.is_finite() && bar.value > 0.0)
        .collect();
    let values = || shown.iter().map(|bar| bar.value);
    let least = values().fold(1.0, f64::min).log10().floor();
    let most = values().fold(10.0, f64::max).log10();
    let position = |value: f64| (width - VALUE) * (value.log10() - least) / (most - least);
    let mut rows = String::new();
    let mut top = 0.0;
    let mut group = "";
    for bar in shown {
        if bar.group != group {
            group = &bar.group;
            top += GAP;
            top = texts(
                &mut rows,
                group,
                top,
                width,
                "font-weight=\"600\" fill=\"var(--muted)\"",
            );
        }
        top = texts(&mut rows, &bar.label, top, width, "fill=\"var(--fg)\"");
        let end = position(bar.value).max(1.0);
        // Writing to a string does not fail.
        let _ = writeln!(
            rows,
            "<rect x=\"0\" y=\"{:.1}\" width=\"{end:.1}\" height=\"14\" rx=\"2\" fill=\"var(--s{})\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"14\" fill=\"var(--fg)\">{}</text>",
            top + 2.0,
            bar.colour % 8,
            end + 6.0,
            top + 14.0,
            html(&three(bar.value))
        );
        top += BAR;
    }
    let height = top + 24.0;
    let mut svg = format!(
        "<svg role=\"img\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    for decade in (least as i32)..=(most.floor() as i32) {
        let x = position(10f64.powi(decade));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\" stroke=\"var(--grid)\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"14\" fill=\"var(--muted)\">{}</text>",
            height - 20.0,
            x + 3.0,
            height - 6.0,
            html(&tick(10f64.powi(decade)))
        );
    }
    svg + &rows + "</svg>"
}

/// A text in as many lines as it needs, and where it ends.
fn texts(svg: &mut String, text: &str, mut top: f64, width: f64, style: &str) -> f64 {
    for line in lines(text, (width / LETTER) as usize) {
        top += LINE;
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<text x=\"4\" y=\"{:.1}\" font-size=\"14\" {style} {HALO}>{}</text>",
            top - 3.0,
            html(&line)
        );
    }
    top
}

/// Broken between words.
fn lines(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Of the page's background around letters that cross a line.
const HALO: &str = "stroke=\"var(--bg)\" stroke-width=\"5\" paint-order=\"stroke\"";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::BROAD;

    #[test]
    fn labels_are_escaped_and_lengths_are_logarithms() {
        let bar = |value| Bar {
            group: "<i>".to_owned(),
            label: "<b>".to_owned(),
            value,
            colour: 9,
        };
        let svg = bars(&[bar(10.0), bar(100.0), bar(0.0)], BROAD);
        assert!(!svg.contains("<b>") && !svg.contains("<i>"));
        assert_eq!(svg.matches("&lt;i&gt;").count(), 1, "{svg}");
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(
            svg.contains("width=\"348.0\"") && svg.contains("width=\"696.0\""),
            "{svg}"
        );
        assert!(svg.contains("var(--s1)"));
    }

    #[test]
    fn long_labels_take_lines() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("one", 2), ["one"]);
    }
}
