//! SARIF 2.1.0 (OASIS standard, 27 March 2020): a log of problems that code scanning and editors
//! show in the source.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::path::uri;
use crate::{Case, Place, Problem, Report};

/// The schema's address. Readers know the format by it.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log.
pub fn log(report: &Report) -> Value {
    let problems = report.distinct();
    let names = problems.iter().map(|(_, problem)| &problem.rule);
    let rules: BTreeMap<String, &String> = names.map(|rule| (id(rule), rule)).collect();
    let rules: Vec<Value> = rules
        .into_iter()
        .map(|(id, rule)| json!({ "id": id, "shortDescription": { "text": rule } }))
        .collect();
    let results: Vec<Value> = problems
        .iter()
        .map(|(case, problem)| result(case, problem))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": report.tool,
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            // Files that are named from the working directory.
            "originalUriBaseIds": { "SRCROOT": { "description": {
                "text": "the directory in which the command ran",
            } } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(case: &Case, problem: &Problem) -> Value {
    let mut result = json!({
        "ruleId": id(&problem.rule),
        "level": "error",
        "message": { "text": problem.message },
        "properties": { "case": format!("{}: {}", case.suite, case.name) },
    });
    if let Some((first, others)) = problem.places.split_first() {
        result["locations"] = json!([location(first)]);
        if !others.is_empty() {
            let related = others.iter().enumerate().map(|(index, place)| {
                let mut related = location(place);
                related["id"] = json!(index + 1);
                related["message"] = json!({ "text": place.role });
                related
            });
            result["relatedLocations"] = related.collect();
        }
    }
    result
}

fn location(place: &Place) -> Value {
    let uri = uri(&place.file);
    let mut artifact = json!({ "uri": uri });
    if !uri.starts_with("file:") {
        artifact["uriBaseId"] = json!("SRCROOT");
    }
    let mut physical = json!({ "artifactLocation": artifact });
    if place.line > 0 {
        physical["region"] = json!({ "startLine": place.line });
        if place.column > 0 {
            physical["region"]["startColumn"] = json!(place.column);
        }
    }
    json!({ "physicalLocation": physical })
}

/// A rule's name without blanks: "race in shared memory" is `race-in-shared-memory`.
fn id(rule: &str) -> String {
    let parts = rule.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    parts.join("-")
}
