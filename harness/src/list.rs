//! `harness list`.

use std::iter::{once, repeat};

use clap::Args;
use host::labs;
use lab::{Lab, LabCase};
use serde::Serialize;

use exit::{CommandError, Ending};
use measure::code_lines;
use results::CodeLines;
use select::catalogue;
use terminal::json::JsonArg;
use terminal::look::Look;
use terminal::stdout::Out;
use terminal::table::{Align, Columns, Tone};
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
    on_request: bool,
    /// The compute capability that it needs, where that is not the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_lines: Option<CodeLines>,
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
/// [`CommandError::Input`] for an unknown lab.
pub fn run(args: &ListArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    list(args, labs(), out)
}

fn list(args: &ListArgs, labs: &[&'static Lab], out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let labs = catalogue::select(labs, args.lab.as_deref())?;
    let json = args.json.open()?;
    let entries: Vec<LabEntry> = labs.iter().map(|lab| LabEntry::new(lab)).collect();
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
    fn new(lab: &'static Lab) -> LabEntry {
        let labels = |cases: Vec<Box<dyn LabCase>>| cases.iter().map(|case| case.label()).collect();
        let variants = lab.variants.iter().map(|variant| VariantEntry {
            name: &variant.name,
            summary: variant.summary,
            exact: variant.is_exact(),
            on_request: variant.on_request,
            needs: lab
                .small_cases()
                .first()
                .and_then(|case| variant.needs(case.as_ref())),
            code_lines: code_lines::of_variant(lab, variant),
        });
        let parameters = lab.parameters.iter().map(|parameter| ParameterEntry {
            name: parameter.name,
            summary: parameter.summary,
            default: parameter.default,
        });
        LabEntry {
            name: lab.name,
            summary: lab.summary,
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
        let small = if all {
            self.cases.small.clone()
        } else {
            let cases = count(self.cases.small.len(), "case");
            vec![format!("{cases}: see `harness list {}`", self.name)]
        };
        let variants = self.variants.iter().map(|variant| {
            let lines = variant.code_lines.filter(|_| all);
            let lines = lines.map_or(String::new(), |lines| {
                format!(
                    " ({} lines of kernels, {} of launches)",
                    lines.kernels, lines.launch
                )
            });
            let on_request = if variant.on_request {
                "; on request"
            } else {
                ""
            };
            let needs = variant.needs.as_ref();
            let needs = needs.map_or(String::new(), |needs| {
                format!("; needs compute capability {needs}")
            });
            [
                variant.name.to_owned(),
                format!("{}{needs}{on_request}{lines}", variant.summary),
            ]
        });
        let parameters = self.parameters.iter().map(|parameter| {
            let text = format!("{} [{}]", parameter.summary, parameter.default);
            [parameter.name.to_owned(), text]
        });
        let groups = [
            ("small", &small),
            ("laptop", &self.cases.laptop),
            ("large", &self.cases.large),
        ];
        let cases = groups.into_iter().flat_map(|(name, labels)| {
            let names = once(name).chain(repeat(""));
            names
                .zip(labels)
                .map(|(group, label)| [group.to_owned(), label.clone()])
        });
        let parts: [(&str, Vec<[String; 2]>); 3] = [
            ("variants", variants.collect()),
            ("parameters", parameters.collect()),
            ("cases", cases.collect()),
        ];
        let mut table = Columns::new(look, [Align::Left; 3]);
        for (part, rows) in parts {
            for (heading, [name, text]) in once(part).chain(repeat("")).zip(rows) {
                let heading = (heading.to_owned(), Tone::Faint);
                table.row([heading, (name, Tone::Normal), (text, Tone::Normal)]);
            }
        }
        let title = format!("{}  {}", look.title(self.name), self.summary);
        format!("{}\n\n{}", look.wrapped(&title, 0), table.render(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(args: &ListArgs) -> String {
        let mut text = Vec::new();
        list(
            args,
            &test_lab::labs(),
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
