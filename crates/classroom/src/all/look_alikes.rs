//! Names of a class that look the same, and are not: a Cyrillic `а` beside a Latin `a`, a letter
//! that is not seen, `rn` beside `m`. Which points are whose is easily mistaken then.
//!
//! Names that look the same have one skeleton by Unicode Technical Standard 39, section 4. They are
//! pointed out, and nothing is refused for them: a class may well have both.

use std::collections::BTreeMap;
use std::fmt::Write;

use page::escape;
use unicode_security::confusable_detection::skeleton;

/// The letters that are seen, as the ones that they look like.
fn look(name: &str) -> String {
    let seen = name.chars().filter(|&c| !escape::is_hidden(c));
    let seen: String = seen.collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    skeleton(&words.join(" ")).collect()
}

/// The names that look like others of them: groups of two and more, in the order of names.
pub fn groups<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Vec<String>> {
    let mut by_look: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        by_look.entry(look(name)).or_default().push(name.to_owned());
    }
    let groups = by_look.into_values().filter(|alike| alike.len() > 1);
    let mut groups: Vec<Vec<String>> = groups.collect();
    for alike in &mut groups {
        alike.sort();
    }
    groups.sort();
    groups
}

/// The name with the codes of its characters that are not ASCII, which tell it from others.
pub fn told(name: &str) -> String {
    let mut told = format!("`{}`", escape::line(name));
    let others = name.chars().filter(|c| !c.is_ascii());
    let codes = others.fold(String::new(), |mut codes, c| {
        // Writing to a string does not fail.
        let _ = write!(codes, " U+{:04X}", u32::from(c));
        codes
    });
    if !codes.is_empty() {
        told += &format!(" (with{codes})");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(names: &[&str]) -> Vec<Vec<String>> {
        groups(names.iter().copied())
    }

    #[test]
    fn names_that_look_the_same_are_found() {
        for [one, other] in [
            ["anna", "\u{430}nna"],
            ["anna", "an\u{ad}na"],
            ["anna", "anna\u{3164}"],
            ["bob", "b\u{3bf}b"],
            ["burn", "bum"],
            ["al", "a1"],
            ["\u{e9}mile", "e\u{301}mile"],
            ["ada l", "ada\u{a0}l"],
        ] {
            let found = grouped(&["carol", one, other]);
            assert_eq!(found.len(), 1, "{one:?} {other:?}");
            assert!(found[0].contains(&one.to_owned()) && found[0].contains(&other.to_owned()));
        }
    }

    #[test]
    fn names_that_differ_to_the_eye_are_not() {
        let class = [
            "ada",
            "Ada",
            "\u{e1}da",
            "bob",
            "bob2",
            "\u{5d0}\u{5d1}",
            "\u{660}\u{661}",
            "s10",
            "s11",
        ];
        assert_eq!(grouped(&class), Vec::<Vec<String>>::new());
    }

    #[test]
    fn they_are_told_apart() {
        assert_eq!(told("anna"), "`anna`");
        assert_eq!(told("\u{430}nna"), "`\u{430}nna` (with U+0430)");
    }
}
