//! The table of a comparison.

use stats::BETWEEN_RUNS;
use units::three;

use super::change::{Change, Margin};
use super::rows::{Compared, Foretold, Pair};

use terminal::look::Look;
use terminal::table::{Align, Table, Tone};

/// Case by case, then what else there is to say.
pub fn render(compared: &Compared, look: Look) -> String {
    let mut parts = Vec::new();
    let is_same_case = |a: &Pair, b: &Pair| (&a.row.lab, &a.row.case) == (&b.row.lab, &b.row.case);
    for pairs in compared.rows.chunk_by(is_same_case) {
        let row = &pairs[0].row;
        parts.push(format!("{}  {}\n", look.title(&row.lab), row.case));
        parts.push(table(pairs, look) + "\n");
    }
    let mut list = |what: &str, items: &[String]| {
        parts.extend(
            items
                .iter()
                .map(|item| look.wrapped(&format!("{what}{item}"), 0)),
        );
    };
    let reasons = compared.rows.iter();
    let reasons =
        reasons.filter_map(|pair| Some(format!("{}: {}", pair.row, pair.reason.as_ref()?)));
    list("", &reasons.collect::<Vec<String>>());
    list("only old: ", &compared.only_old);
    list("only new: ", &compared.only_new);
    list("differs: ", &compared.differences);
    let Foretold { within, of } = compared.foretold;
    if of > 0 {
        let percent = Margin(BETWEEN_RUNS);
        parts.push(look.wrapped(
            &format!("new medians within the old interval, widened by {percent} %: {within} of {of} times of devices"),
            0,
        ));
    }
    parts.push(format!(
        "{}; margin {} %",
        counts(compared),
        compared.margin
    ));
    parts.join("\n")
}

fn counts(compared: &Compared) -> String {
    let counts: Vec<String> = Change::ALL
        .map(|change| {
            let same = compared.rows.iter().filter(|row| row.verdict == change);
            (same.count(), change.name())
        })
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    counts.join(", ")
}

fn table(pairs: &[Pair], look: Look) -> String {
    let ms = |time_s: Option<f64>| Some(three(time_s? * 1e3));
    Table::new(pairs)
        .left("device", |pair| pair.row.device.clone())
        .left("variant", |pair| pair.row.name.clone())
        .right("old\nms/run", |pair| ms(pair.old_s))
        .right("new\nms/run", |pair| ms(pair.new_s))
        .right("new/old", |pair| {
            let medians = pair.new_s.zip(pair.old_s).map(|(new, old)| new / old);
            let ratio = pair.ratio.map(|ratio| ratio.estimate).or(medians)?;
            Some(format!("{ratio:.3}"))
        })
        .left("99 % interval", |pair| match pair.ratio {
            Some(ratio) => format!("{:.3} to {:.3}", ratio.low, ratio.high),
            None => "-".to_owned(),
        })
        .toned("verdict", Align::Left, |pair| {
            let tone = match pair.verdict {
                Change::Faster => Tone::Good,
                Change::Slower | Change::Broken => Tone::Bad,
                Change::Same => Tone::Normal,
                Change::Undecided => Tone::Caution,
            };
            (pair.verdict.name().to_owned(), tone)
        })
        .render_within(look, 2, &["99 %", "old\n"])
}
