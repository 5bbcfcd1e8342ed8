//! The variants side by side: what an update costs, and what it must cost.

use super::figures::{SECTOR_BYTES, share};
use super::report::{Outcome, Report, VariantProfile};
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::{percent, three};

/// A table with a row for each variant.
pub fn render(report: &Report, look: Look) -> String {
    let mut table = Columns::with_header(
        look,
        &[
            ("per update", Align::Left),
            ("instructions\nby threads", Align::Right),
            ("floating\npoint", Align::Right),
            ("operations\nneeded", Align::Right),
            ("bytes in\nsectors", Align::Right),
            ("bytes that\nmust move", Align::Right),
            ("coalesced\n%", Align::Right),
            ("conflicts\n%", Align::Right),
            ("result", Align::Left),
        ],
    );
    for variant in &report.variants {
        let name = (variant.variant.to_owned(), Tone::Normal);
        let (result, tone) = (variant.result(), tone(&variant.outcome));
        let cells = cells(variant, report.updates).map(|text| (text, Tone::Normal));
        let result = (result.to_owned(), tone);
        table.row([name].into_iter().chain(cells).chain([result]));
    }
    let unit = report.unit;
    format!(
        "{}\n\n  update: one of the {} {unit}",
        table.render(2),
        report.updates
    )
}

fn tone(outcome: &Outcome) -> Tone {
    match outcome {
        Outcome::Counted { mismatch: None, .. } => Tone::Good,
        Outcome::Lacking { .. } => Tone::Caution,
        Outcome::Counted { .. } | Outcome::Failed { .. } => Tone::Bad,
    }
}

fn cells(variant: &VariantProfile, updates: u64) -> [String; 7] {
    let Some(total) = variant.total() else {
        return [(); 7].map(|()| "-".to_owned());
    };
    let per_update = |amount| share(amount, updates).map_or("-".to_owned(), three);
    let global = total.all_global();
    let shared = total.all_shared();
    [
        per_update(total.0.instructions.thread),
        per_update(total.floating()),
        per_update(variant.flops),
        per_update(SECTOR_BYTES * global.sectors),
        per_update(variant.must_move_bytes),
        percent(share(global.ideal_sectors, global.sectors)),
        percent(share(shared.bank_conflicts(), shared.wavefronts)),
    ]
}
