//! The source lines that a message names.
//!
//! A message names a place as `kernels.rs:48`. Whoever wrote the message, the lines that are shown
//! are the reader's own, and nothing else follows from them.

use grading::outcome::Failure;
use page::escape;

use super::lines::cut;
use super::sheet::Rank;
use crate::places::{FILES, Named, named};

/// A line of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its file, as a number of [`FILES`].
    file: usize,
    /// From 1.
    line: u32,
    /// The column that is meant, from 1, where it is known.
    column: Option<u32>,
    /// Its part in the event: `earlier store`; empty where there is only one.
    role: String,
}

/// The places that a message names, each line once, in its order.
pub fn places(message: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for Named { file, line, column } in named(message) {
        add(&mut places, file, line, column, "");
    }
    places
}

/// The places of a fault, as the device has them: each line once, in its order.
pub fn places_of(failing: &Failure) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for place in &failing.places {
        let mut files = FILES.iter();
        let file = files.position(|name| place.file.rsplit('/').next() == Some(name));
        if let Some(file) = file.filter(|_| place.line > 0) {
            let column = (place.column > 0).then_some(place.column);
            add(&mut places, file, place.line, column, &place.role);
        }
    }
    if let [only] = &mut places[..] {
        only.role.clear();
    }
    places
}

fn add(places: &mut Vec<Place>, file: usize, line: u32, column: Option<u32>, role: &str) {
    let is_there = |place: &&mut Place| (place.file, place.line) == (file, line);
    match places.iter_mut().find(is_there) {
        Some(place) if role.is_empty() || place.role.is_empty() => {}
        Some(place) => place.role += &format!(", {role}"),
        None => places.push(Place {
            file,
            line,
            column,
            role: role.to_owned(),
        }),
    }
}

/// These lines of the two files, each with `around` lines before and after it, indented by `indent`
/// and at most `columns` wide, with their ranks. Places that the files do not have are left out.
pub fn excerpts(
    places: &[Place],
    files: &[String; 2],
    around: usize,
    indent: usize,
    columns: usize,
) -> Vec<(Rank, String)> {
    let mut lines = Vec::new();
    for (file, name) in FILES.iter().enumerate() {
        let text: Vec<&str> = files[file].lines().collect();
        let of_file = places.iter().filter(|place| place.file == file);
        let mut wanted: Vec<&Place> = of_file.collect();
        wanted.retain(|place| place.line as usize <= text.len());
        wanted.sort_unstable_by_key(|place| place.line);
        let mut last_shown = 0;
        for place in &wanted {
            let line = place.line as usize;
            let from = line.saturating_sub(around).max(1);
            if last_shown == 0 {
                lines.push((Rank::Place, format!("{:indent$}{name}", "")));
            } else if around > 0 && from > last_shown + 1 {
                lines.push((Rank::Around, format!("{:indent$}     ...", "")));
            }
            for shown in from.max(last_shown + 1)..=(line + around).min(text.len()) {
                let meant = wanted.iter().find(|other| other.line as usize == shown);
                let lead = format!(
                    "{:indent$}{}{shown:4} | ",
                    "",
                    [' ', '>'][usize::from(meant.is_some())]
                );
                let source = escape::plain(text[shown - 1]).replace('\t', "    ");
                let rank = if meant.is_some() {
                    Rank::Place
                } else {
                    Rank::Around
                };
                lines.push((
                    rank,
                    beside(&lead, source.trim_end(), meant.copied(), columns),
                ));
                last_shown = shown;
            }
        }
    }
    lines
}

/// A line of source after `lead`, and its role behind it: cropped around the column that is meant.
fn beside(lead: &str, source: &str, place: Option<&Place>, columns: usize) -> String {
    let role = place.map_or("", |place| &place.role);
    let role = match role {
        "" => String::new(),
        _ => format!("  <- {}", escape::line(role)),
    };
    let room = columns.saturating_sub(lead.chars().count() + role.chars().count());
    let at = place.and_then(|place| place.column).unwrap_or(1) as usize;
    let length = source.chars().count();
    let shown = if length <= room || at + BEHIND <= room {
        cut(source, room)
    } else {
        // As much as fits, with what is meant in its middle.
        let from = (at - at.min(room / 2)).min(length - room) + 3;
        let rest: String = source.chars().skip(from).collect();
        cut(&format!("...{rest}"), room)
    };
    cut(format!("{lead}{shown}{role}").trim_end(), columns)
}

/// Columns that stay behind the one that is meant.
const BEHIND: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_messages() {
        let message =
            "race\n  at kernels.rs:54 (PTX line 410), launch.rs:7:9\n  earlier at kernels.rs:54";
        let place = |file, line, column| Place {
            file,
            line,
            column,
            role: String::new(),
        };
        assert_eq!(places(message), [place(0, 54, None), place(1, 7, Some(9))]);
        assert_eq!(
            places("kernels.rs: does not compile, my_kernels.rs:3, kernels.rs:0"),
            []
        );
        assert_eq!(places("kernels.rs:99999999999999999999999"), []);
    }

    #[test]
    fn lines_are_shown_with_their_neighbours() {
        let files = ["a\n\tb\nc\nd\ne\nf\x1b[2J\n".to_owned(), "x\n".to_owned()];
        let plain = |lines: Vec<(Rank, String)>| -> Vec<String> {
            lines.into_iter().map(|(_, line)| line).collect()
        };
        let show = |message: &str| plain(excerpts(&places(message), &files, 1, 2, 20)).join("\n");
        let shown = [
            "kernels.rs:2",
            "kernels.rs:6 kernels.rs:1 launch.rs:1",
            "kernels.rs:3 kernels.rs:2",
        ];
        insta::assert_snapshot!(shown.map(show).join("\n\n"));
        assert_eq!(show("kernels.rs:7"), "");
        let alone = excerpts(&places("kernels.rs:5 kernels.rs:1"), &files, 0, 2, 20);
        assert_eq!(plain(alone), ["  kernels.rs", "  >   1 | a", "  >   5 | e"]);
    }

    #[test]
    fn both_sides_say_which_they_are_and_wide_code_keeps_what_is_meant() {
        let code = format!(
            "fn a() {{}}\n{}*c.add(index) = value;\n",
            "let b = 1; ".repeat(8)
        );
        let place = |line, column, role: &str| forge::Place::new(role, "kernels.rs", line, column);
        let failing = |places| {
            let failure = Failure::new(grading::outcome::Kind::Race, "x");
            places_of(&failure.with_places(places))
        };
        let show = |places: Vec<forge::Place>| {
            let lines = excerpts(&failing(places), &[code.clone(), String::new()], 0, 4, 60);
            let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
            assert!(lines.iter().all(|line| line.chars().count() <= 60));
            lines.join("\n")
        };
        insta::assert_snapshot!(show(vec![
            place(2, 90, "the fault"),
            place(1, 4, "earlier store"),
        ]));
        // One line is both sides; a file of ours is none of them.
        insta::assert_snapshot!(
            "one_line",
            show(vec![
                place(1, 4, "the fault"),
                forge::Place::new("called here", "lib.rs", 1, 1),
                place(1, 4, "earlier store"),
            ])
        );
    }
}
