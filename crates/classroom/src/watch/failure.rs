//! A failure in ranked parts: which cases, the event, its source lines.

use page::escape;
use terminal::look::Look;

use super::compiler::Errors;
use super::lines::wrapped;
use super::sheet::{Rank, Sheet};
use super::{excerpt, map};
use crate::report::figures;
use crate::report::figures::names;
use grading::diagnose::Pattern;
use grading::diagnose::text::{About, sentences};
use grading::outcome::{Failure, Kind};
use grading::report::GradeReport;

/// The most source lines that are shown with their neighbours.
const MAX_PLACES: usize = 3;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All that is known.
    Whole,
    /// Without the bits of values, lines of PTX, and further errors of a compiler.
    Brief,
}

/// A failure, with the cases that fail alike.
pub struct Alike<'r> {
    /// The cases that fail so, in the lab's order; at least one.
    pub names: Vec<String>,
    /// How they fail.
    pub failing: &'r Failure,
    /// How many cases fail in another way.
    pub others: usize,
    /// Whether the submission was refused, so that no case was run.
    is_of_all: bool,
}

/// The failures that differ, the first one first.
pub fn different(report: &GradeReport) -> Vec<Alike<'_>> {
    let groups = figures::alike(figures::failures(report)).into_iter();
    let mut different: Vec<Alike<'_>> = groups
        .map(|(mut names, failing, alike)| {
            names.extend(alike);
            Alike {
                names,
                failing,
                others: 0,
                is_of_all: report.refused.as_ref() == Some(failing),
            }
        })
        .collect();
    let all: usize = different.iter().map(|alike| alike.names.len()).sum();
    for alike in &mut different {
        alike.others = all - alike.names.len();
    }
    different
}

/// The first failure.
pub fn first(report: &GradeReport) -> Option<Alike<'_>> {
    different(report).into_iter().next()
}

impl<'r> Alike<'r> {
    /// The failure of this case, without knowledge of others.
    pub fn alone(case: &str, failing: &'r Failure) -> Alike<'r> {
        Alike {
            names: vec![case.to_owned()],
            failing,
            others: 0,
            is_of_all: false,
        }
    }
    /// Adds which cases fail, and how.
    pub fn explain(&self, sheet: &mut Sheet, detail: Detail, look: Look, columns: usize) {
        sheet.blank();
        sheet.add(Rank::Event, self.heading(look, columns));
        let failing = self.failing;
        if failing.kind == Kind::CompileError {
            // It has the source lines in it.
            let most = if detail == Detail::Whole {
                usize::MAX
            } else {
                1
            };
            let said = escape::at_most(&failing.message, figures::LONGEST_MESSAGE);
            Errors::of(&said).add_to(sheet, most, columns);
            return;
        }
        for (rank, line) in explained(failing, detail) {
            let indent = line.len() - line.trim_start().len() + 4;
            let lines = wrapped(&line, &" ".repeat(indent), indent + 2, columns);
            sheet.add(rank, lines);
        }
        if let Some(diagnosis) = &failing.diagnosis {
            map::add(sheet, diagnosis, look, columns);
        }
    }

    fn heading(&self, look: Look, columns: usize) -> Vec<String> {
        let kind = format!("[{}]", self.failing.kind);
        let mut heading = if self.is_of_all {
            format!("no case is run {kind}")
        } else {
            format!("{} {kind}", self.names[0])
        };
        if !self.is_of_all && self.names.len() > 1 {
            heading += &format!("; alike: {}", names(&self.names[1..], 2));
        }
        if self.others > 0 {
            let more = units::count(self.others, "more case");
            let verb = if self.others == 1 { "fails" } else { "fail" };
            heading += &format!("; {more} {verb} in another way");
        }
        let mut lines = wrapped(&heading, "  ", 4, columns);
        if let Some(line) = lines.first_mut() {
            *line = line.replacen(&kind, &look.bad(&kind), 1);
        }
        lines
    }

    /// Adds the source lines that the failure names; none of a compiler's message, which has them.
    pub fn show_source(&self, sheet: &mut Sheet, files: &[String; 2], look: Look, columns: usize) {
        let message = &self.failing.message;
        let is_pointer = |line: &str| line.trim_start().starts_with("--> ");
        if message.lines().any(is_pointer) {
            return;
        }
        let mut places = excerpt::places_of(self.failing);
        if places.is_empty() {
            let said = explained(self.failing, Detail::Whole).into_iter();
            let said: Vec<String> = said.map(|(_, line)| line).collect();
            places = excerpt::places(&said.join("\n"));
        }
        places.truncate(MAX_PLACES);
        sheet.blank();
        for (rank, line) in excerpt::excerpts(&places, files, 1, 4, columns) {
            let is_meant = line.trim_start().starts_with('>');
            let painted = if is_meant { look.title(&line) } else { line };
            sheet.add(rank, vec![painted]);
        }
    }
}

/// All that is known of a failure, in lines.
fn explained(failing: &Failure, detail: Detail) -> Vec<(Rank, String)> {
    let is_whole = detail == Detail::Whole;
    if let (Some(diagnosis), None) = (&failing.diagnosis, &failing.sanitizer)
        && failing.device.is_none()
        && failing.sample.is_none_or(|sample| sample == 0)
    {
        let mut ranked = Vec::new();
        for (about, sentence) in sentences(diagnosis, is_whole) {
            let rank = match about {
                About::Extent => Rank::Event,
                About::First => Rank::Place,
                // The extent says it.
                About::Pattern(Pattern::Unwritten { .. }) if !is_whole => continue,
                About::Pattern(Pattern::Unwritten { .. } | Pattern::OneFieldOnly { .. })
                | About::Step => Rank::Detail,
                About::Pattern(_) => Rank::Remedy,
            };
            ranked.push((rank, escape::line(&sentence)));
            if about == About::First {
                let writer = diagnosis.map.as_ref().and_then(map::writer);
                ranked.extend(writer.map(|writer| (Rank::Place, writer)));
            }
        }
        return ranked;
    }
    let said: Vec<String> = match &failing.sanitizer {
        // The first line names the case and the kernel, as do the heading and a later line.
        Some(said) if failing.device.is_none() && said.contains('\n') => {
            let said = escape::at_most(said, figures::LONGEST_MESSAGE);
            said.trim_end().lines().skip(1).map(str::to_owned).collect()
        }
        _ => figures::explanation(failing),
    };
    let ranked = |(at, line): (usize, String)| {
        let rank = match at {
            0 => Rank::Event,
            _ if !excerpt::places(&line).is_empty() => Rank::Place,
            _ => Rank::Detail,
        };
        (rank, if is_whole { line } else { without_ptx(&line) })
    };
    said.into_iter().enumerate().map(ranked).collect()
}

/// The line without ` (PTX line 41)`, where it names a line of the submission too.
fn without_ptx(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" (PTX line ") else {
        return line.to_owned();
    };
    match rest.split_once(')') {
        Some((_, after)) if !excerpt::places(before).is_empty() => {
            format!("{before}{}", without_ptx(after))
        }
        _ => line.to_owned(),
    }
}
