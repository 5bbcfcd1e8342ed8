//! The source lines that a message names.
//!
//! A message names a place as `kernels.rs:48`. Whoever wrote the message, the lines that are shown
//! are the reader's own, and nothing else follows from them.

use page::escape;

use super::lines::cut;
use crate::places::{FILES, Named, named};

/// A line of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its file, as a number of [`FILES`].
    file: usize,
    /// From 1.
    line: u32,
}

/// The places that a message names, each once, in its order.
pub fn places(message: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for Named { file, line, .. } in named(message) {
        let place = Place { file, line };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// These lines of the two files, each with `around` lines before and after it, indented by `indent`
/// and at most `columns` wide. Places that the files do not have are left out.
pub fn excerpts(
    places: &[Place],
    files: &[String; 2],
    around: usize,
    indent: usize,
    columns: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (file, name) in FILES.iter().enumerate() {
        let text: Vec<&str> = files[file].lines().collect();
        let places = places.iter().filter(|place| place.file == file);
        let mut wanted: Vec<usize> = places.map(|place| place.line as usize).collect();
        wanted.retain(|&line| line <= text.len());
        wanted.sort_unstable();
        let mut last_shown = 0;
        for &line in &wanted {
            let from = line.saturating_sub(around).max(1);
            if last_shown == 0 {
                lines.push(format!("{:indent$}{name}", ""));
            } else if around > 0 && from > last_shown + 1 {
                lines.push(format!("{:indent$}     ...", ""));
            }
            for shown in from.max(last_shown + 1)..=(line + around).min(text.len()) {
                let mark = if wanted.contains(&shown) { '>' } else { ' ' };
                let source = escape::plain(text[shown - 1]).replace('\t', "    ");
                let source = format!("{:indent$}{mark}{shown:4} | {source}", "");
                lines.push(cut(source.trim_end(), columns));
                last_shown = shown;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_messages() {
        let message =
            "race\n  at kernels.rs:54 (PTX line 410), launch.rs:7:9\n  earlier at kernels.rs:54";
        let (file, line) = (0, 54);
        assert_eq!(
            places(message),
            [Place { file, line }, Place { file: 1, line: 7 }]
        );
        assert_eq!(
            places("kernels.rs: does not compile, my_kernels.rs:3, kernels.rs:0"),
            []
        );
        assert_eq!(places("kernels.rs:99999999999999999999999"), []);
    }

    #[test]
    fn lines_are_shown_with_their_neighbours() {
        let files = ["a\n\tb\nc\nd\ne\nf\x1b[2J\n".to_owned(), "x\n".to_owned()];
        let show = |message: &str| excerpts(&places(message), &files, 1, 2, 20).join("\n");
        let shown = [
            "kernels.rs:2",
            "kernels.rs:6 kernels.rs:1 launch.rs:1",
            "kernels.rs:3 kernels.rs:2",
        ];
        insta::assert_snapshot!(shown.map(show).join("\n\n"));
        assert_eq!(show("kernels.rs:7"), "");
        let alone = excerpts(&places("kernels.rs:5 kernels.rs:1"), &files, 0, 2, 20);
        assert_eq!(alone, ["  kernels.rs", "  >   1 | a", "  >   5 | e"]);
    }
}
