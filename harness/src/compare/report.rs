//! The table of a comparison.

use super::rows::{Compared, Pair};
use super::verdict::{Margin, Verdict};
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::three;

/// Case by case, then what else there is to say.
pub fn render(compared: &Compared, margin: Margin, look: Look) -> String {
    let mut parts = Vec::new();
    let mut rows = &compared.rows[..];
    while let Some(first) = rows.first() {
        let same_case = |pair: &&Pair| (&pair.lab, &pair.case) == (&first.lab, &first.case);
        let (case, rest) = rows.split_at(rows.iter().take_while(same_case).count());
        parts.push(format!("{}  {}\n", look.title(&first.lab), first.case));
        parts.push(table(case, look).render(2) + "\n");
        rows = rest;
    }
    let reasons = compared.rows.iter().filter_map(|pair| {
        let reason = pair.reason.as_ref()?;
        Some(format!(
            "{} {}: {} on {}: {reason}",
            pair.lab, pair.case, pair.name, pair.device
        ))
    });
    parts.extend(reasons);
    let only = |which: &str, rows: &[String]| -> Vec<String> {
        rows.iter()
            .map(|row| format!("only {which}: {row}"))
            .collect()
    };
    parts.extend(only("old", &compared.only_old));
    parts.extend(only("new", &compared.only_new));
    let differences = compared.differences.iter();
    parts.extend(differences.map(|difference| format!("differs: {difference}")));
    parts.push(format!("{}; margin {} %", counts(compared), margin));
    parts.join("\n")
}

fn counts(compared: &Compared) -> String {
    let of = |verdict: Verdict| {
        let same = compared.rows.iter().filter(|row| row.verdict == verdict);
        let count = same.count();
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    };
    [
        Verdict::Slower,
        Verdict::Broken,
        Verdict::Faster,
        Verdict::Same,
        Verdict::Undecided,
    ]
    .into_iter()
    .filter_map(of)
    .collect::<Vec<String>>()
    .join(", ")
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
        let ms = |time_s: Option<f64>| time_s.map_or("-".to_owned(), |time| three(time * 1e3));
        let ratio =
            |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        let interval = pair.ratio.map_or("-".to_owned(), |ratio| {
            format!("{:.3} to {:.3}", ratio.low, ratio.high)
        });
        let medians = pair.new_s.zip(pair.old_s).map(|(new, old)| new / old);
        let tone = match pair.verdict {
            Verdict::Faster => Tone::Good,
            Verdict::Slower | Verdict::Broken => Tone::Bad,
            Verdict::Same => Tone::Normal,
            Verdict::Undecided => Tone::Caution,
        };
        let cells = [
            pair.device.clone(),
            pair.name.clone(),
            ms(pair.old_s),
            ms(pair.new_s),
            ratio(pair.ratio.map(|ratio| ratio.estimate).or(medians)),
            interval,
        ];
        let cells = cells.into_iter().map(|text| (text, Tone::Normal));
        table.row(cells.chain([(pair.verdict.name().to_owned(), tone)]));
    }
    table
}
