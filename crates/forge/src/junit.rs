//! The XML of JUnit as Jenkins, GitLab and GitHub's test reporters read it: a suite for each group,
//! with its cases and why each failed.

use std::fmt::Write as _;

use page::escape::html;

use crate::path::from_here;
use crate::{Case, Place, Report, Verdict};

/// The document.
pub fn document(report: &Report) -> String {
    let mut suites: Vec<(&str, Vec<&Case>)> = Vec::new();
    for case in &report.cases {
        match suites.iter_mut().find(|(name, _)| *name == case.suite) {
            Some((_, cases)) => cases.push(case),
            None => suites.push((&case.suite, vec![case])),
        }
    }
    let all: Vec<&Case> = report.cases.iter().collect();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += &format!(
        "<testsuites name=\"{}\" {}>\n",
        escaped(report.tool),
        totals(&all)
    );
    for (name, cases) in suites {
        text += &format!(
            "  <testsuite name=\"{}\" {}>\n",
            escaped(name),
            totals(&cases)
        );
        for case in cases {
            text += &element(case);
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn totals(cases: &[&Case]) -> String {
    let of = |is: fn(&Verdict) -> bool| cases.iter().filter(|case| is(&case.verdict)).count();
    format!(
        "tests=\"{}\" failures=\"{}\" skipped=\"{}\"",
        cases.len(),
        of(|verdict| matches!(verdict, Verdict::Wrong(_))),
        of(|verdict| matches!(verdict, Verdict::LeftOut(_))),
    )
}

fn element(case: &Case) -> String {
    let mut head = format!(
        "    <testcase classname=\"{}\" name=\"{}\"",
        escaped(&case.suite),
        escaped(&case.name)
    );
    match &case.verdict {
        Verdict::Right => head + "/>\n",
        Verdict::LeftOut(reason) => {
            head + &format!(
                ">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                escaped(reason)
            )
        }
        Verdict::Wrong(problems) => {
            // A case has one failure in most readers' eyes, so that all problems are in it.
            let first = problems.first();
            if let Some(place) = first.and_then(|problem| problem.places.first()) {
                head += &format!(" file=\"{}\"", escaped(&from_here(&place.file)));
                if place.line > 0 {
                    head += &format!(" line=\"{}\"", place.line);
                }
            }
            let rules: Vec<&str> = problems.iter().map(|it| it.rule.as_str()).collect();
            let mut said = String::new();
            for problem in problems {
                said += problem.message.trim_end();
                said.push('\n');
                for place in &problem.places {
                    let _ = writeln!(said, "  {}: {}", place.role, named(place));
                }
            }
            head + &format!(
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                escaped(&rules.join("; ")),
                escaped(&said)
            )
        }
    }
}

fn named(place: &Place) -> String {
    let file = from_here(&place.file);
    match place.line {
        0 => file,
        line => format!("{file}:{line}"),
    }
}

/// Text between tags and within quotes (XML 1.0, section 2.4). The noncharacters that XML cannot
/// have (section 2.2) become U+FFFD.
fn escaped(text: &str) -> String {
    html(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
