//! `harness list`.

use clap::Args;
use host::{Case, Lab, labs};
use serde::Serialize;

use crate::catalogue;
use crate::failure::{Ending, Failure};
use crate::json::JsonArg;
use crate::stdout::Out;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use units::count;

/// Arguments of `harness list`.
#[derive(Debug, Clone, Default, Args)]
pub struct ListArgs {
    /// Only this lab, with all its small cases
    lab: Option<String>,
    #[command(flatten)]
    json: JsonArg,
}

#[derive(Debug, Serialize)]
struct Report {
    labs: Vec<LabEntry>,
}

#[derive(Debug, Serialize)]
struct LabEntry {
    name: &'static str,
    summary: &'static str,
    variants: Vec<VariantEntry>,
    parameters: Vec<ParameterEntry>,
    cases: Cases,
}

#[derive(Debug, Serialize)]
struct VariantEntry {
    name: &'static str,
    summary: &'static str,
    exact: bool,
}

#[derive(Debug, Serialize)]
struct ParameterEntry {
    name: &'static str,
    summary: &'static str,
    default: &'static str,
}

#[derive(Debug, Serialize)]
struct Cases {
    small: Vec<String>,
    laptop: Vec<String>,
    large: Vec<String>,
}

/// Lists the labs.
///
/// # Errors
///
/// [`Failure::Input`] for an unknown lab.
pub fn run(args: &ListArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    list(args, labs(), out)
}

fn list(args: &ListArgs, labs: &[&dyn Lab], out: &mut Out<'_>) -> Result<Ending, Failure> {
    let labs = catalogue::select(labs, args.lab.as_deref())?;
    let json = args.json.open()?;
    let entries: Vec<LabEntry> = labs.iter().map(|lab| LabEntry::new(*lab)).collect();
    if json.wants_text() {
        for (index, entry) in entries.iter().enumerate() {
            if index > 0 {
                out.line("")?;
            }
            out.line(entry.render(args.lab.is_some(), out.look()))?;
        }
    }
    json.write("list", Report { labs: entries }, out)?;
    Ok(Ending::Fine)
}

impl LabEntry {
    fn new(lab: &dyn Lab) -> LabEntry {
        let labels = |cases: Vec<Box<dyn Case>>| cases.iter().map(|case| case.label()).collect();
        let variants = lab.variants().iter().map(|variant| VariantEntry {
            name: variant.name,
            summary: variant.summary,
            exact: variant.exact,
        });
        let parameters = lab.parameters().iter().map(|parameter| ParameterEntry {
            name: parameter.name,
            summary: parameter.summary,
            default: parameter.default,
        });
        LabEntry {
            name: lab.name(),
            summary: lab.summary(),
            variants: variants.collect(),
            parameters: parameters.collect(),
            cases: Cases {
                small: labels(lab.small_cases()),
                laptop: labels(lab.laptop_cases()),
                large: labels(lab.large_cases()),
            },
        }
    }

    fn render(&self, all: bool, look: Look) -> String {
        let mut table = Columns::new(look, [Align::Left; 3]);
        for (index, variant) in self.variants.iter().enumerate() {
            let heading = if index == 0 { "variants" } else { "" };
            table.row([
                (heading, Tone::Faint),
                (variant.name, Tone::Normal),
                (variant.summary, Tone::Normal),
            ]);
        }
        for (index, parameter) in self.parameters.iter().enumerate() {
            let heading = if index == 0 { "parameters" } else { "" };
            let text = format!("{} [{}]", parameter.summary, parameter.default);
            table.row([
                (heading, Tone::Faint),
                (parameter.name, Tone::Normal),
                (&text, Tone::Normal),
            ]);
        }
        let small = if all {
            self.cases.small.clone()
        } else {
            vec![format!(
                "{}: see `harness list {}`",
                count(self.cases.small.len(), "case"),
                self.name
            )]
        };
        let groups = [
            ("small", &small),
            ("laptop", &self.cases.laptop),
            ("large", &self.cases.large),
        ];
        for (group, (name, labels)) in groups.into_iter().enumerate() {
            for (index, label) in labels.iter().enumerate() {
                let heading = if group + index == 0 { "cases" } else { "" };
                let name = if index == 0 { name } else { "" };
                table.row([
                    (heading, Tone::Faint),
                    (name, Tone::Normal),
                    (label.as_str(), Tone::Normal),
                ]);
            }
        }
        format!(
            "{}  {}\n\n{}",
            look.title(self.name),
            self.summary,
            table.render(2)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn listed(args: &ListArgs) -> String {
        let mut text = Vec::new();
        list(
            args,
            &testing::labs(),
            &mut Out::new(&mut text, Look::PLAIN),
        )
        .unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn everything_in_columns() {
        insta::assert_snapshot!(listed(&ListArgs::default()));
    }

    #[test]
    fn one_lab_shows_all_its_cases() {
        let args = ListArgs {
            lab: Some("doubling".to_owned()),
            ..ListArgs::default()
        };
        let text = listed(&args);
        assert!(text.contains("small       1 numbers, 0 steps"), "{text}");
        assert!(text.contains("8 numbers, 3 steps"), "{text}");
    }
}
