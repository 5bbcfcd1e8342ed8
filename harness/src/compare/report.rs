//! The table of a comparison.

use units::three;

use super::change::Change;
use super::rows::{Compared, Pair};

use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;

/// Case by case, then what else there is to say.
pub fn render(compared: &Compared, look: Look) -> String {
    let mut parts = Vec::new();
    let is_same_case = |a: &Pair, b: &Pair| (&a.row.lab, &a.row.case) == (&b.row.lab, &b.row.case);
    for pairs in compared.rows.chunk_by(is_same_case) {
        let row = &pairs[0].row;
        parts.push(format!("{}  {}\n", look.title(&row.lab), row.case));
        parts.push(table(pairs, look).render(2) + "\n");
    }
    let mut list = |what: &str, items: &[String]| {
        parts.extend(items.iter().map(|item| format!("{what}{item}")));
    };
    let reasons = compared.rows.iter();
    let reasons =
        reasons.filter_map(|pair| Some(format!("{}: {}", pair.row, pair.reason.as_ref()?)));
    list("", &reasons.collect::<Vec<String>>());
    list("only old: ", &compared.only_old);
    list("only new: ", &compared.only_new);
    list("differs: ", &compared.differences);
    parts.push(format!(
        "{}; margin {} %",
        counts(compared),
        compared.margin
    ));
    parts.join("\n")
}

fn counts(compared: &Compared) -> String {
    let counts = Change::ALL.map(|change| {
        let same = compared.rows.iter().filter(|row| row.verdict == change);
        (same.count(), change.name())
    });
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    counts.join(", ")
}

fn table(pairs: &[Pair], look: Look) -> Columns {
    let mut table = Columns::with_header(
        look,
        &[
            ("device", Align::Left),
            ("variant", Align::Left),
            ("old\nms/run", Align::Right),
            ("new\nms/run", Align::Right),
            ("new/old", Align::Right),
            ("99 % interval", Align::Left),
            ("verdict", Align::Left),
        ],
    );
    for pair in pairs {
        let ms = |time_s: Option<f64>| time_s.map(|time_s| three(time_s * 1e3));
        let medians = pair.new_s.zip(pair.old_s).map(|(new, old)| new / old);
        let ratio = pair.ratio.map(|ratio| ratio.estimate).or(medians);
        let interval = pair.ratio;
        let cells = [
            Some(pair.row.device.clone()),
            Some(pair.row.name.clone()),
            ms(pair.old_s),
            ms(pair.new_s),
            ratio.map(|ratio| format!("{ratio:.3}")),
            interval.map(|known| format!("{:.3} to {:.3}", known.low, known.high)),
        ];
        let cells = cells.map(|text| (text.unwrap_or("-".to_owned()), Tone::Normal));
        let tone = match pair.verdict {
            Change::Faster => Tone::Good,
            Change::Slower | Change::Broken => Tone::Bad,
            Change::Same => Tone::Normal,
            Change::Undecided => Tone::Caution,
        };
        let change = (pair.verdict.name().to_owned(), tone);
        table.row(cells.into_iter().chain([change]));
    }
    table
}
