//! Ladders: variants of a lab as horizontal bars, from the plain one to the fastest, each with the
//! limit that it cannot pass. A ladder is part of a page, or a separate picture.

use maud::{PreEscaped, html};
use units::three;

use super::escape::Text;
use super::plot::Size;

/// A rung.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// The rung's group. Neighbouring rungs with the same text form one group and share a scale,
    /// which begins at 0.
    pub group: String,
    /// The rung's label.
    pub label: String,
    /// Its length, above 0.
    pub value: f64,
    /// The value that it cannot pass, if that is known.
    pub limit: Option<f64>,
    /// The text after the value.
    pub note: String,
    /// The number of one of the page's colours.
    pub colour: usize,
}

/// The page's colours, light and dark.
const COLOURS: &str = include_str!("page.css");

/// Height of a line of text, of a rung with its gap, and between groups.
const LINE: f64 = 20.0;
const RUNG: f64 = 22.0;
const GAP: f64 = 12.0;
/// Least width of the labels on a wide screen, where they are beside the bars; and the width of one
/// of their characters.
const LABELS: f64 = 190.0;
const CHARACTER: f64 = 8.4;
/// Labels are beside the bars from this width on.
const WIDE: f64 = 600.0;
/// Least width to the right of the longest bar, for the value and the note.
const VALUE: f64 = 180.0;

/// The SVG element.
pub fn ladder(rungs: &[Rung], size: Size) -> String {
    let width = f64::from(size.width());
    let is_shown = |rung: &&Rung| rung.value.is_finite() && rung.value > 0.0;
    let rungs: Vec<&Rung> = rungs.iter().filter(is_shown).collect();
    let longest = rungs.iter().map(|rung| rung.label.chars().count()).max();
    let labels = if width < WIDE {
        0.0
    } else {
        LABELS.max(10.0 + CHARACTER * longest.unwrap_or(0) as f64)
    };
    let note = |rung: &Rung| format!("{} {}", three(rung.value), rung.note);
    let notes = rungs
        .iter()
        .map(|rung| note(rung).trim_end().chars().count());
    let values = VALUE.max(12.0 + CHARACTER * notes.max().unwrap_or(0) as f64);
    let mut rows = Vec::new();
    let mut top = 0.0;
    for group in rungs.chunk_by(|a, b| a.group == b.group) {
        top += if top > 0.0 { GAP } else { 0.0 };
        rows.push(html! {
            text x="4" y=(px(top + 15.0)) font-size="14" font-weight="600" fill="var(--muted)" { (Text(&group[0].group)) }
        });
        top += LINE;
        let lengths = group.iter().flat_map(|rung| [Some(rung.value), rung.limit]);
        let most = lengths.flatten().fold(f64::MIN_POSITIVE, f64::max);
        let position = |value: f64| labels + (width - labels - values) * value / most;
        for rung in group {
            let label_y = top + 15.0;
            if labels == 0.0 {
                top += LINE - 2.0;
            }
            let end = position(rung.value).max(labels + 1.0);
            // A limit's line would cross a text beside the bar.
            let beside = rung.limit.map_or(end, |limit| end.max(position(limit)));
            let note = note(rung);
            rows.push(html! {
                text x="4" y=(px(label_y)) font-size="14" fill="var(--fg)" { (Text(&rung.label)) }
                rect x=(px(labels)) y=(px(top + 2.0)) width=(px(end - labels)) height="16" rx="2" fill={ "var(--s" (rung.colour % 8) ")" } {}
                @if let Some(limit) = rung.limit {
                    @let x = px(position(limit));
                    line x1=(x) x2=(x) y1=(px(top)) y2=(px(top + 20.0)) stroke="var(--fg)" stroke-width="2" {}
                }
                text x=(px(beside + 6.0)) y=(px(top + 15.0)) font-size="14" fill="var(--fg)"
                    stroke="var(--bg)" stroke-width="4" paint-order="stroke" { (Text(note.trim_end())) }
            });
            top += RUNG;
        }
    }
    if rungs.iter().any(|rung| rung.limit.is_some()) {
        top += GAP;
        rows.push(html! {
            line x1=(px(labels + 1.0)) x2=(px(labels + 1.0)) y1=(px(top)) y2=(px(top + 20.0)) stroke="var(--fg)" stroke-width="2" {}
            text x=(px(labels + 7.0)) y=(px(top + 15.0)) font-size="14" fill="var(--muted)" { "the limit that binds it" }
        });
        top += RUNG;
    }
    let svg = html! {
        svg role="img" viewBox={ "0 0 " (width) " " (px(top + 4.0)) } xmlns="http://www.w3.org/2000/svg" {
            @for row in &rows { (PreEscaped(&row.0)) "\n" }
        }
    };
    svg.into_string()
}

/// An SVG element as a separate file, with the page's colours, and a caption for those who cannot
/// see it.
pub fn file(svg: &str, caption: &str) -> String {
    let (colours, _) = COLOURS.split_once("* {").unwrap_or((COLOURS, ""));
    let colours = colours.split_whitespace().collect::<Vec<_>>().join(" ");
    let style = html! {
        style { (PreEscaped(&colours)) " text { font-family: system-ui, sans-serif; }" }
        rect width="100%" height="100%" fill="var(--bg)" {}
    };
    let label = html! { svg role="img" aria-label=(Text(caption)) {} }.into_string();
    let label = label.trim_end_matches("></svg>");
    let svg = svg.replacen("<svg role=\"img\"", label, 1);
    let (head, rest) = svg.split_once('>').unwrap_or((&svg, ""));
    format!("{head}>\n{}\n{rest}\n", style.into_string())
}

/// A coordinate, to a tenth of a pixel.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{BROAD, NARROW};

    fn rung(group: &str, label: &str, value: f64, limit: Option<f64>) -> Rung {
        Rung {
            group: group.to_owned(),
            label: label.to_owned(),
            value,
            limit,
            note: "<note>".to_owned(),
            colour: 1,
        }
    }

    #[test]
    fn bars_begin_after_the_longest_label() {
        let svg = ladder(&[rung("a", "computes_source, CUDA C++", 1.0, None)], BROAD);
        assert!(svg.contains("rect x=\"220.0\""), "{svg}");
    }

    #[test]
    fn a_long_note_has_room() {
        let long = Rung {
            note: "± 0.0123 (66 % of shared memory)".to_owned(),
            ..rung("a", "b", 1.0, None)
        };
        let svg = ladder(&[long], BROAD);
        // 37 characters of 8.4 pixels and 12 more, off 760.
        assert!(svg.contains("width=\"247.2\""), "{svg}");
    }

    #[test]
    fn groups_have_scales_of_their_own_which_hold_their_limits() {
        let rungs = [
            rung("<a>", "<b>", 100.0, Some(200.0)),
            rung("<a>", "c", 50.0, None),
            rung("d", "e", 2.0, None),
            rung("d", "none", 0.0, None),
        ];
        let svg = ladder(&rungs, BROAD);
        // 390 pixels: 760 less labels and values.
        for width in ["width=\"195.0\"", "width=\"97.5\"", "width=\"390.0\""] {
            assert!(svg.contains(width), "{width}: {svg}");
        }
        assert!(svg.contains("x1=\"580.0\""), "{svg}");
        assert_eq!(
            (svg.matches("<rect").count(), svg.matches("<line").count()),
            (3, 2)
        );
        assert!(svg.contains("&lt;b&gt;") && svg.contains("100 &lt;note&gt;"));
        assert!(!svg.contains("<a>") && !svg.contains("none"));
        assert!(ladder(&rungs, NARROW).contains("x=\"0.0\""));
    }

    #[test]
    fn a_file_has_its_colours_and_its_caption() {
        let file = file(&ladder(&[rung("a", "b", 1.0, None)], BROAD), "<all>");
        assert!(
            file.starts_with("<svg role=\"img\" aria-label=\"&lt;all&gt;\" viewBox="),
            "{file}"
        );
        assert!(file.contains("prefers-color-scheme: dark") && file.contains("--s1:"));
        assert!(!file.contains("box-sizing") && file.trim_end().ends_with("</svg>"));
        assert_eq!(file.matches("<svg").count(), 1);
    }
}
