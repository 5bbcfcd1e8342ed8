//! Horizontal bars on a logarithmic scale, each with its label over it: readable on a page of any
//! width.

use maud::{Markup, PreEscaped, html};
use units::three;

use super::escape::Text;
use super::plot::{Size, tick};

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The bar's group. Neighbouring bars with the same text form one group.
    pub group: String,
    /// The bar's label.
    pub label: String,
    /// Its length, above 0.
    pub value: f64,
    /// The number of one of the page's colours.
    pub colour: usize,
}

/// Height of a line of text.
const LINE: f64 = 18.0;
/// Height of a bar and the gap under it.
const BAR: f64 = 22.0;
/// Height between groups.
const GAP: f64 = 14.0;
/// An upper bound for the average width of a letter.
const LETTER: f64 = 8.0;
/// Width to the right of the longest bar, for its value.
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
    let mut rows = Vec::new();
    let mut top = 0.0;
    let mut group = "";
    for bar in shown {
        if bar.group != group {
            group = &bar.group;
            top += GAP;
            top = texts(&mut rows, group, top, width, true);
        }
        top = texts(&mut rows, &bar.label, top, width, false);
        let end = position(bar.value).max(1.0);
        rows.push(html! {
            rect x="0" y=(px(top + 2.0)) width=(px(end)) height="14" rx="2" fill={ "var(--s" (bar.colour % 8) ")" } {}
            text x=(px(end + 6.0)) y=(px(top + 14.0)) font-size="14" fill="var(--fg)" { (three(bar.value)) }
        });
        top += BAR;
    }
    let height = top + 24.0;
    let svg = html! {
        svg role="img" viewBox={ "0 0 " (width) " " (height) } xmlns="http://www.w3.org/2000/svg" {
            @for decade in (least as i32)..=(most.floor() as i32) {
                @let x = position(10f64.powi(decade));
                line x1=(px(x)) x2=(px(x)) y1="0" y2=(px(height - 20.0)) stroke="var(--grid)" {}
                text x=(px(x + 3.0)) y=(px(height - 6.0)) font-size="14" fill="var(--muted)" {
                    (tick(10f64.powi(decade)))
                }
            }
            @for row in &rows { (PreEscaped(&row.0)) "\n" }
        }
    };
    svg.into_string()
}

/// A coordinate, to a tenth of a pixel.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Adds a text in as many lines as it needs; returns where it ends. The letters have an outline in
/// the page's background colour, for where they cross a line.
fn texts(rows: &mut Vec<Markup>, text: &str, mut top: f64, width: f64, is_heading: bool) -> f64 {
    let (weight, fill) = if is_heading {
        (Some("600"), "var(--muted)")
    } else {
        (None, "var(--fg)")
    };
    for line in lines(text, (width / LETTER) as usize) {
        top += LINE;
        rows.push(html! {
            text x="4" y=(px(top - 3.0)) font-size="14" font-weight=[weight] fill=(fill)
                stroke="var(--bg)" stroke-width="5" paint-order="stroke" { (Text(&line)) }
        });
    }
    top
}

/// The text, broken between words.
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
