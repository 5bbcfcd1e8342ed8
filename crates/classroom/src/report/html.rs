//! A grade as one self-contained page.

use super::figures;
use grading::diagnose::LEGEND;
use grading::outcome::Failure;
use grading::report::{CaseGrade, GradeReport};
use page::plot::{tick, whole};
use page::{Axis, Cell, Page, Plot, Series, Shape};
use terminal::table::{Align, Table, Tone};
use units::{count, grouped, three};

/// The HTML file: first the mistake, then the cases. `replay` is the file beside it that replays a
/// case, if there is one.
pub fn page(report: &GradeReport, replay: Option<&str>) -> String {
    let mut page = Page::new(&format!("{}: {}", report.lab, report.submission.name));
    let (figure, caption) = figures::score(report);
    page.headline(&figure, &caption);
    for (reason, names) in figures::undecided(report) {
        page.remark(&format!("Undecided here: {}: {reason}", names.join(", ")));
    }
    let device = match &report.device_info {
        Some(info) => format!("{} ({})", report.device, info.name),
        None => report.device.clone(),
    };
    let elapsed = match report.elapsed_s {
        // A student's: see `student`.
        0.0 => String::new(),
        elapsed => format!(" in {} s", three(elapsed)),
    };
    page.remark(&format!("Graded on {device}{elapsed}."));
    failures(&mut page, report, replay);
    if !report.cases.is_empty() {
        page.section("Correctness");
        let mark = |case: &CaseGrade| toned(figures::case_result(case)).named(&case.name);
        page.strip(report.cases.iter().map(mark));
        let all = format!("All {}", count(report.cases.len(), "case"));
        page.fold(&all, |page| cases(page, report));
    }
    if !report.performance.is_empty() {
        page.section("Speed");
        performance(&mut page, report);
    }
    if !report.counted.is_empty() {
        page.section("Counts");
        counted(&mut page, report);
    }
    let printed = figures::printed(report);
    if !printed.is_empty() {
        page.section("What was printed");
    }
    for (what, text) in printed {
        page.part(&what);
        page.verbatim(&text);
    }
    let reasons = figures::reasons(report);
    let unchecked = figures::unchecked(report);
    if !(reasons.is_empty() && unchecked.is_empty() && report.notes.is_empty()) {
        page.section("Notes");
        let reasons = reasons
            .iter()
            .map(|(reason, names)| format!("Not graded here: {}: {reason}", names.join(", ")));
        let unchecked = unchecked.iter().map(|(reason, names)| {
            let names = names.join(", ");
            format!("Not checked on the emulated device: {names}: {reason}")
        });
        page.list(reasons.chain(unchecked).chain(report.notes.iter().cloned()));
    }
    if !report.protections.is_empty() {
        page.section("Protections");
        let headers = [
            Cell::text("what"),
            Cell::text("in force"),
            Cell::text("detail"),
        ];
        let rows = report.protections.iter().map(|protection| {
            let in_force = if protection.in_force {
                Cell::good("yes")
            } else {
                Cell::caution("no")
            };
            vec![
                Cell::text(&protection.name),
                in_force,
                Cell::text(&protection.detail),
            ]
        });
        page.table(&headers, rows);
    }
    page.section("What was graded");
    let mut facts = vec![
        ("submission", report.submission.name.clone()),
        ("lab", report.lab.clone()),
        ("harness", report.harness_version.clone()),
    ];
    let hash = report.submission.sha256.clone();
    facts.extend(hash.map(|hash| ("SHA-256", hash)));
    let lab_file = report.lab_file_sha256.clone();
    facts.extend(lab_file.map(|digest| ("SHA-256 of lab.toml", digest)));
    facts.extend(report.seed.map(|seed| ("seed", seed.to_string())));
    page.table(
        &[Cell::text("what"), Cell::text("value")],
        facts
            .into_iter()
            .map(|(what, value)| vec![Cell::text(what), Cell::text(value)]),
    );
    page.finish()
}

fn toned((text, tone): (String, Tone)) -> Cell {
    match tone {
        Tone::Good => Cell::good(text),
        Tone::Bad => Cell::bad(text),
        Tone::Caution => Cell::caution(text),
        Tone::Normal | Tone::Faint => Cell::text(text),
    }
}

fn cases(page: &mut Page, report: &GradeReport) {
    let mut table = Table::new(&report.cases)
        .left("case", |case| case.name.clone())
        .toned("result", Align::Left, figures::case_result);
    if figures::has_checks(report) {
        table = table.toned("checks", Align::Left, figures::checks);
    }
    table
        .right("points", |case| {
            Some(figures::earned(case.earned, case.points))
        })
        .left("group", |case| case.group.name().to_owned())
        .right("samples", |case| Some(case.samples.to_string()))
        .add_to(page, |_| "");
}

fn counted(page: &mut Page, report: &GradeReport) {
    page.remark("Exact counts of the emulated device, the same in every run. Fewer earn more.");
    let headers = [
        Cell::text("count"),
        Cell::number("points"),
        Cell::number("all points up to"),
        Cell::number("none from"),
        Cell::number("counted"),
    ];
    let rows = report.counted.iter().map(|counted| {
        vec![
            Cell::text(figures::count_of(counted)),
            Cell::number(figures::earned(counted.earned, counted.points)),
            Cell::number(grouped(counted.full)),
            Cell::number(grouped(counted.zero)),
            toned(figures::counted(counted)),
        ]
    });
    page.table(&headers, rows);
}

fn performance(page: &mut Page, report: &GradeReport) {
    let headers = [
        Cell::text("case"),
        Cell::text("result"),
        Cell::number("points"),
        Cell::number("ratio, 95 % interval"),
        Cell::number("time"),
        Cell::text("against"),
    ];
    let rows = report.performance.iter().map(|timed| {
        vec![
            Cell::text(&timed.case),
            toned(figures::performance_result(timed)),
            Cell::number(figures::earned(timed.earned, timed.points)),
            Cell::number(figures::ratio(timed.ratio.as_ref())),
            Cell::number(figures::time(timed)),
            Cell::text(figures::against(timed)),
        ]
    });
    page.table(&headers, rows);
    for timed in &report.performance {
        let sampled = [
            ("submission", &timed.submission),
            ("reference", &timed.reference),
        ];
        let series: Vec<Series> = sampled
            .iter()
            .enumerate()
            .filter_map(|(colour, (name, times))| {
                let samples = &times.as_ref()?.samples_s;
                Some(Series {
                    name: (*name).to_owned(),
                    points: samples
                        .iter()
                        .enumerate()
                        .map(|(sample, time)| (sample as f64 + 1.0, time * 1e6))
                        .collect(),
                    shape: Shape::Line,
                    colour: Some(colour),
                })
            })
            .collect();
        let plot = Plot {
            x: Axis::linear("sample", whole),
            y: Axis::linear("time of a run, us", tick),
            series,
            texts: Vec::new(),
        };
        let caption = format!("Every sample of {}, in the order taken.", timed.case);
        page.plot(&plot, &caption);
    }
}

fn failures(page: &mut Page, report: &GradeReport, replay: Option<&str>) {
    let failures = figures::failures(report);
    if failures.is_empty() {
        return;
    }
    page.section("What went wrong");
    for (names, failing, alike) in figures::alike(failures.clone()) {
        failure(page, &names, failing);
        let replayed = report.replayed.as_ref().map(|replayed| &replayed.case);
        if let (Some(case), Some(file)) = (replayed, replay)
            && (names.contains(case) || alike.contains(case))
        {
            page.link(&format!("Step through {case} to the mistake"), file);
        }
        if alike.is_empty() {
            continue;
        }
        page.fold(&format!("Alike: {}", alike.join(", ")), |page| {
            let others = failures
                .iter()
                .filter(|(other, _)| alike.contains(&other[0]));
            for (other, theirs) in others {
                failure(page, other, theirs);
            }
        });
    }
}

/// How the cases of these names failed.
fn failure(page: &mut Page, names: &[String], failing: &Failure) {
    page.part(&names.join(", "));
    page.paragraph(&format!("{} ({})", failing.kind.summary(), failing.kind));
    let explanation = figures::explanation(failing);
    if !explanation.is_empty() {
        page.verbatim(&explanation.join("\n"));
    }
    let places = failing.places.iter();
    for place in places.filter(|place| !place.text.is_empty()) {
        page.remark(&format!("{}, {}:", place.role, place.file));
        page.verbatim(&format!("{:>5}  {}", place.line, place.text));
    }
    let diagnosis = failing.diagnosis.as_ref();
    let Some(heat_map) = diagnosis.and_then(|diagnosis| diagnosis.heat_map.as_ref()) else {
        return;
    };
    let scale = if heat_map.cells_per_pixel > 1 {
        format!(
            " A pixel shows the worst of {0} x {0} cells.",
            heat_map.cells_per_pixel
        )
    } else {
        String::new()
    };
    let caption = format!("{}; {LEGEND}{scale}", heat_map.shows);
    page.png(
        &heat_map.png_base64,
        &format!("where {} is wrong", heat_map.shows),
        &caption,
    );
}
