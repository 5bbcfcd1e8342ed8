//! Each figure of a taught page has a source: a committed measurement, a count, a formula, or a
//! name. What disagrees fails; with `BLESS=1` in the environment, the figures become those of their
//! formulas. `docs/contribute/style.md` says how to write one.

mod check;
mod counts;
mod expression;
mod ledger;
mod measured;
mod number;
mod page;

use std::collections::BTreeMap;
use std::path::PathBuf;

use check::{Checked, Known};
use ledger::Ledger;
use page::Page;

/// What all pages share: names, sources, profiles, and figures that mean the same everywhere.
const SHARED: &str = "docs/results/figures.txt";

/// The workspace.
fn root() -> PathBuf {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap().to_owned()
}

fn read(name: &str) -> String {
    let text = std::fs::read_to_string(root().join(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn shared() -> Ledger {
    Ledger::parse(&read(SHARED), 0).unwrap_or_else(|error| panic!("{SHARED}: {error}"))
}

/// The pages whose figures a student, an instructor or an engineer may take at their word: the
/// README, the handouts, and of the book Learn, Labs, Measure and what a grade is defended with.
fn pages() -> Vec<String> {
    let mut names = vec!["README.md".to_owned(), "labs/README.md".to_owned()];
    for lab in std::fs::read_dir(root().join("labs")).unwrap() {
        let lab = lab.unwrap().file_name().into_string().unwrap();
        names.push(format!("labs/{lab}/README.md"));
    }
    names.retain(|name| root().join(name).exists());
    let summary = read("docs/SUMMARY.md");
    for section in summary.split("\n# ") {
        let is_taught = ["Learn", "Labs", "Measure"]
            .iter()
            .any(|it| section.starts_with(it));
        let links = section
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let taught = links.filter(|page| {
            is_taught || ["README.md", "teach/points.md", "teach/sources.md"].contains(page)
        });
        names.extend(taught.map(|page| format!("docs/{page}")));
    }
    names
}

/// Writes new figures into a file, the last ones first, so that places stay right.
fn mend(name: &str, text: &str, edits: &BTreeMap<(usize, usize), String>) {
    let mut text = text.to_owned();
    for ((start, end), figure) in edits.iter().rev() {
        text.replace_range(start..end, figure);
    }
    std::fs::write(root().join(name), text).unwrap();
}

#[test]
fn every_figure_of_a_taught_page_has_a_source_and_agrees_with_it() {
    let bless = std::env::var_os("BLESS").is_some();
    let shared = shared();
    let known = Known::new(&shared);
    let mut wrong = Vec::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut of_shared = BTreeMap::new();
    for name in pages() {
        let text = read(&name);
        let ledger = match ledger::place(&text) {
            Some(at) => Ledger::parse(&text[at.clone()], at.start),
            None => Ok(Ledger::default()),
        };
        let ledger = ledger.unwrap_or_else(|error| panic!("{name}: {error}"));
        let page = Page::new(text);
        let checked = Checked::new(&page, &ledger, &shared, &known);
        for (kind, count) in checked.kinds {
            *kinds.entry(kind).or_default() += count;
        }
        if bless && !checked.edits.is_empty() {
            mend(&name, &page.text, &checked.edits);
        } else {
            wrong.extend(checked.wrong.into_iter().map(|(at, why)| match at {
                Some(at) => format!("{name}:{}: {why}", page.line(at)),
                None => format!("{name}: {why}"),
            }));
        }
        of_shared.extend(checked.edits_of_shared);
    }
    if bless && !of_shared.is_empty() {
        mend(SHARED, &read(SHARED), &of_shared);
    }
    println!("figures by kind: {kinds:?}");
    assert!(
        wrong.is_empty(),
        "{} figures; with BLESS=1 this test writes those of formulas:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// `512^3` and `512 x 512 x 512` are one size.
fn size(text: &str) -> String {
    let text = text.replace(' ', "");
    match text.split_once('^') {
        Some((length, axes)) => vec![length; axes.parse().unwrap()].join("x"),
        None => text,
    }
}

/// The README, the ladder and the report show each lab by its largest case.
#[test]
fn the_readme_shows_the_cases_of_the_ladder() {
    let measured = measured::Measured::committed();
    let readme = Page::new(read("README.md"));
    let mut tables = readme.tables.iter();
    let table = tables
        .find(|it| it.header.starts_with("lab | plain"))
        .unwrap();
    for cells in &table.rows {
        let (lab, case) = readme.text[cells[0].clone()].split_once(' ').unwrap();
        let largest = measured.largest("h100", lab).unwrap();
        assert_eq!(size(case), size(largest), "README.md: {lab}");
    }
    assert!(table.rows.len() >= 5);
}

/// What no page refers to any more is deleted.
#[test]
fn everything_that_the_shared_file_names_is_used() {
    let shared = shared();
    let mut all: String = pages().iter().map(|name| read(name)).collect();
    all.extend(
        shared
            .entries
            .iter()
            .map(|entry| format!("{:?}\n", entry.source)),
    );
    let words: std::collections::BTreeSet<&str> = all
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .collect();
    let named = [&shared.names, &shared.sources, &shared.profiles];
    for name in named.into_iter().flat_map(BTreeMap::keys) {
        assert!(
            words.contains(name.as_str()),
            "{SHARED}: nothing uses `{name}`"
        );
    }
}

/// What the check says of a page with these lines and this ledger.
#[cfg(test)]
fn said(text: &str, ledger: &str) -> Vec<String> {
    let shared = shared();
    let known = Known::new(&shared);
    let page = Page::new(text.to_owned());
    let ledger = Ledger::parse(ledger, 0).unwrap();
    let checked = Checked::new(&page, &ledger, &shared, &known);
    checked.wrong.into_iter().map(|(_, why)| why).collect()
}

#[test]
fn a_figure_without_a_source_is_found() {
    let text = "It takes 4.59 us, or 12 % of that.\n\n| n | ms |\n|---|---|\n| 3 | 7 |\n";
    let found = said(text, "4.59 us = 3 * 1.53e-6\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("`12` has no source") && found[1].starts_with("`7` has no source")
    );
    let all = "4.59 us = 3 * 1.53e-6\n12 % = 3 / 25\ntable n | ms\n| | 14e-3 / 2 |\n";
    assert_eq!(said(text, all), Vec::<String>::new());
}

#[test]
fn a_figure_that_disagrees_with_its_source_is_found() {
    for (text, ledger, part) in [
        (
            "It takes 4.59 us.",
            "4.59 us = 3 * 1.5e-6",
            "`4.59` is 4.50",
        ),
        (
            "It takes 4.59 us.",
            "4.59 us @ nowhere",
            "no source `nowhere`",
        ),
        (
            "It takes 4.59 us.",
            "4.59 us @ deny.toml",
            "deny.toml has no 4.59",
        ),
        ("It takes 4.59 us.", "4.59 us = 1 + 1; 2 + 2", "2 formulas"),
        (
            "It takes 4.59 us.",
            "4.59 us = 3 * 1.53e-6\n5 us = 1 + 4",
            "`5 us` is not on the page",
        ),
        (
            "| n | ms |\n|---|---|\n| 3 | 7 |\n",
            "table n | ms\n| | 8e-3 + 0 |",
            "`7` is 8",
        ),
        (
            "| n | ms |\n|---|---|\n| 3 | 7 |\n",
            "table n | us\n| | 8e-3 + 0 |",
            "no table",
        ),
        (
            "| n | ms |\n|---|---|\n| `a` | 7 |\n",
            "table n | ms\neach | | 7e-3*count(b c)\n+ x",
            "/b/c",
        ),
    ] {
        let found = said(text, ledger);
        assert!(
            found.iter().any(|why| why.contains(part)),
            "{ledger}: {found:?}"
        );
    }
}
