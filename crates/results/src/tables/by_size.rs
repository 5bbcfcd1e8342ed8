//! A row for each size: the variants' rates side by side, and the figures of the best of them.

use units::three;

use super::by_variant::percent;
use super::lab_results::{LabResults, dash, is_variant, time, verdict, without_figures};
use crate::document::{Figures, Outcome, Ratio};
use crate::ratios::RowView;
use terminal::look::{Look, WIDTH};
use terminal::table::{Align, Table, Tone};

/// A size on a device.
struct Size<'c> {
    name: &'c str,
    device: &'c str,
    variants: Vec<RowView<'c>>,
}

impl<'c> Size<'c> {
    /// The fastest of several variants, or the only one.
    fn best(&self) -> Option<&RowView<'c>> {
        let figures = |one: &RowView<'c>| -> Option<&'c Figures> { one.row.figures() };
        let is_right = |own: &Figures| !own.is_wrong();
        let is_fastest = |own: &Figures| own.compared.is_fastest;
        match &self.variants[..] {
            [one] if figures(one).is_some_and(is_right) => Some(one),
            several => {
                let fastest = several
                    .iter()
                    .filter(|one| figures(one).is_some_and(is_fastest));
                let time = |one: &RowView<'c>| figures(one).map_or(0.0, |own| own.run.median_s);
                fastest.min_by(|a, b| time(a).total_cmp(&time(b)))
            }
        }
    }

    fn figures(&self) -> Option<&'c Figures> {
        self.best()?.row.figures()
    }
}

/// A row for each size, and what it had no room for.
pub struct BySize {
    pub table: String,
    /// The column `vs CPU` as a note, where it was left out.
    pub vs_cpu: Option<String>,
}

/// Nothing if it is too wide.
pub fn table(lab: &LabResults<'_>, look: Look) -> Option<BySize> {
    let mut names: Vec<&str> = Vec::new();
    let mut sizes = Vec::new();
    for (case, size) in lab.cases.iter().zip(&lab.sizes) {
        for device in &lab.devices {
            let is_here = |one: &RowView<'_>| {
                std::ptr::eq(one.case, case) && one.row.device == *device && is_variant(one.row)
            };
            let variants: Vec<RowView<'_>> = lab.rows().filter(is_here).collect();
            for one in &variants {
                if !names.contains(&one.row.variant.as_str()) {
                    names.push(&one.row.variant);
                }
            }
            sizes.push(Size {
                name: &size.name,
                device,
                variants,
            });
        }
    }
    let all = || lab.rows().filter_map(|one| one.row.figures());
    let has_steps = all().any(|figures| figures.timesteps.is_some());
    let is_partly_checked = all().any(|figures| figures.judgement.checked_steps.is_some());
    let has_cuda = sizes
        .iter()
        .filter_map(Size::best)
        .flat_map(RowView::cuda_peers)
        .next()
        .is_some();

    let mut table = Table::new(&sizes).left("size", |size| size.name.to_owned());
    if lab.devices.len() > 1 {
        table = table.left("device", |size| size.device.to_owned());
    }
    for name in names {
        table = table.toned(&two_lines(name), Align::Right, |size| rate(size, name));
    }
    let heading = if has_steps {
        "time\nus/step"
    } else {
        "time\nus"
    };
    table = table
        .toned(heading, Align::Right, |size| {
            let time = |figures: &Figures| time(figures, &figures.run);
            size.figures().map_or_else(dash, time)
        })
        .right("of\nlimit", |size| {
            Some(percent(size.best()?.bound()?.share))
        })
        .right("vs\nCPU", |size| Some(size.best()?.vs_cpu()?.short()));
    if has_cuda {
        table = table.right("vs CUDA\nC++", |size| Some(size.best()?.vs_cuda()?.short()));
    }
    let result = if is_partly_checked {
        "bit-equal\nsteps"
    } else {
        "result"
    };
    let table = table.toned(result, Align::Left, |size| match size.figures() {
        Some(figures) if is_partly_checked => checked_steps(figures),
        Some(figures) => verdict(figures),
        None => dash(),
    });
    let has_cpu = table.width(2) <= WIDTH;
    let table = table.narrowed(WIDTH, 2, &["vs\nCPU", "of\nlimit"]);
    (table.width(2) <= WIDTH).then(|| BySize {
        table: table.render(look, 2),
        vs_cpu: (!has_cpu).then(|| vs_cpu(&sizes)).flatten(),
    })
}

/// `vs CPU: 61 ± 2 (640^3) to 96 ± 2 (128^3)`.
fn vs_cpu(sizes: &[Size<'_>]) -> Option<String> {
    let ratios = sizes
        .iter()
        .filter_map(|size| Some((size.name, size.best()?.vs_cpu()?)));
    let by_ratio = |a: &(&str, Ratio), b: &(&str, Ratio)| a.1.estimate.total_cmp(&b.1.estimate);
    let least = ratios.clone().min_by(by_ratio)?;
    let most = ratios.max_by(by_ratio)?;
    let text = |(size, ratio): (&str, Ratio)| format!("{} ({size})", ratio.short());
    Some(format!("vs CPU: {} to {}", text(least), text(most)))
}

/// In place of `bit-equal`, which is above the column: over which steps.
fn checked_steps(figures: &Figures) -> (String, Tone) {
    let (text, tone) = verdict(figures);
    let steps = text.strip_prefix("bit-equal").map(str::trim);
    match steps {
        Some("") => ("all".to_owned(), tone),
        Some(steps) => (steps.to_owned(), tone),
        None => (text, tone),
    }
}

/// A variant's rate, with a mark or the room for one; or why there is none.
fn rate(size: &Size<'_>, variant: &str) -> (String, Tone) {
    let own = size.variants.iter().find(|one| one.row.variant == variant);
    let Some(RowView { row, .. }) = own else {
        return dash();
    };
    match &row.outcome {
        Outcome::Timed(figures) if figures.is_result() => {
            let rate = three(figures.work.updates_per_s / 1e9);
            if figures.compared.is_fastest {
                (rate + "*", Tone::Good)
            } else {
                (rate + " ", Tone::Normal)
            }
        }
        Outcome::Timed(figures) if !figures.is_wrong() => ("withheld".to_owned(), Tone::Caution),
        outcome => without_figures(outcome),
    }
}

/// A long name, broken after the underscore that gives the shortest lines.
fn two_lines(name: &str) -> String {
    let breaks = name.match_indices('_').map(|(at, _)| at + 1);
    match breaks.min_by_key(|at| (*at).max(name.len() - at)) {
        Some(at) if name.len() > 7 => format!("{}\n{}", &name[..at], &name[at..]),
        _ => name.to_owned(),
    }
}
