//! From a lab file's text to what it states: TOML with positions, then every check.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use device::COUNTS;
use host::find_lab;
use lab::CaseError;
use lab::{CaseParams, Lab, LabCase, find_variant};
use serde::Deserialize;
use toml::Spanned;

use super::draw::{MAX_CORNERS, MAX_DRAWN, Range as DrawnFrom, Ranges};
use super::{
    Against, CaseSpec, CountSpec, Group, LabSpec, LabSpecError, MAX_DEVICES, PerformanceSpec,
    ToleranceRule,
};

/// The only version of the format.
const FORMAT_VERSION: u64 = 1;

/// A lab file, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlFile {
    /// 1.
    format_version: Spanned<u64>,
    /// The lab's name.
    lab: Spanned<String>,
    /// The name of its folder, where that goes on with another lab's problem; left out: the lab's.
    name: Option<Spanned<String>>,
    /// How values are compared.
    tolerance: TomlTolerance,
    /// In cases with several devices: the part of an equal share that each of them computes at
    /// least, 0 to 1. Left out: each launches something.
    each_device: Option<Spanned<f64>>,
    /// The tested cases, `[[case]]`; at least one.
    #[serde(default)]
    case: Vec<TomlCase>,
    /// The timed cases, `[[performance]]`.
    #[serde(default)]
    performance: Vec<TomlPerformance>,
    /// Exact counts that earn points, `[[count]]`.
    #[serde(default)]
    count: Vec<TomlCount>,
}

/// `[tolerance]`: which results are right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlTolerance {
    /// `"exact"`, or `"rounding"`.
    rule: Spanned<String>,
    /// With `rounding`: how many times as far from the oracle as the reference a value may be.
    factor: Option<Spanned<f64>>,
}

/// `[[case]]`: a tested case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlCase {
    /// Unique: letters, digits, `.`, `_` and `-`.
    name: Spanned<String>,
    /// Where it runs, and who sees it.
    group: Group,
    /// Earned if every value is right.
    points: Spanned<f64>,
    /// 1 to 8: the plan uses as many GPUs, or emulated devices; 1 if left out.
    devices: Option<Spanned<u32>>,
    /// With ranges: draws with more updates are drawn again.
    most_updates: Option<Spanned<u64>>,
    /// The lab's parameters: values, or ranges in hidden cases.
    params: Spanned<BTreeMap<Spanned<String>, Spanned<toml::Value>>>,
}

/// `[[performance]]`: a timed case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlPerformance {
    /// The large case that is timed.
    case: Spanned<String>,
    /// For speed.
    points: Spanned<f64>,
    /// `"reference"`: compared with a variant's time; `"limit"`: with the device's limit.
    against: Spanned<String>,
    /// With `reference`: the variant.
    variant: Option<Spanned<String>>,
    /// The ratio up to which nothing is earned.
    zero: Spanned<f64>,
    /// The ratio from which everything is earned.
    full: Spanned<f64>,
}

/// `[[count]]`: a count of the emulated device that earns points.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlCount {
    /// A case of group `small` that is counted.
    case: Spanned<String>,
    /// `global_sectors`, `warp_instructions`, `bank_conflicts` or another of the emulated device's
    /// counts.
    count: Spanned<String>,
    /// For few of them.
    points: Spanned<f64>,
    /// The count up to which everything is earned.
    full: Spanned<u64>,
    /// The count from which nothing is earned.
    zero: Spanned<u64>,
}

impl LabSpec {
    /// Reads and checks a lab file's text; `file` is its name for messages.
    ///
    /// # Errors
    ///
    /// The first fault, with its line.
    pub fn parse(text: &str, file: &str) -> Result<LabSpec, LabSpecError> {
        let checker = Checker { text, file };
        let parsed: TomlFile = toml::from_str(text).map_err(|error| {
            // The parser's message may have several lines; a message of ours has one.
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            let message = without_types(&message);
            checker.error(error.span().unwrap_or(0..0), message)
        })?;
        let version = *parsed.format_version.get_ref();
        if version != FORMAT_VERSION {
            return checker.fail(
                parsed.format_version.span(),
                format!("format_version is {version}; this program reads {FORMAT_VERSION}"),
            );
        }
        let lab = find_lab(parsed.lab.get_ref())
            .map_err(|error| checker.error(parsed.lab.span(), error))?;
        let name = checker.folder_name(parsed.name.as_ref(), lab)?;
        let tolerance = checker.tolerance(&parsed.tolerance, lab)?;
        if parsed.case.is_empty() {
            return checker.fail(0..0, "there is no [[case]]; a lab grades at least one");
        }
        let mut cases: Vec<CaseSpec> = Vec::new();
        for case in &parsed.case {
            cases.push(checker.case(case, lab, &cases)?);
        }
        let mut timed = HashSet::new();
        let mut performance = Vec::new();
        for entry in &parsed.performance {
            let spec = checker.performance(entry, lab, &cases)?;
            if !timed.insert((spec.case.clone(), format!("{:?}", spec.against))) {
                let message = format!(
                    "case `{}` is compared with this already; once is enough",
                    spec.case
                );
                return checker.fail(entry.case.span(), message);
            }
            performance.push(spec);
        }
        let mut counted: Vec<CountSpec> = Vec::new();
        for entry in &parsed.count {
            counted.push(checker.count(entry, &cases, &counted)?);
        }
        Ok(LabSpec {
            name,
            lab,
            tolerance,
            each_device: checker.each_device(parsed.each_device.as_ref())?,
            cases,
            performance,
            counted,
            file: file.to_owned(),
            text: text.to_owned(),
            draw: None,
        })
    }
}

/// The parser's words without those of Rust's types.
fn without_types(message: &str) -> String {
    const TYPES: [(&str, &str); 5] = [
        ("expected f64", "expected a number"),
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected a sequence", "expected an array"),
        ("expected a map", "expected a table"),
    ];
    let replace = |text: String, (rust, words): (&str, &str)| text.replace(rust, words);
    TYPES.into_iter().fold(message.to_owned(), replace)
}

struct Checker<'a> {
    text: &'a str,
    file: &'a str,
}

impl Checker<'_> {
    fn error(&self, span: Range<usize>, message: impl ToString) -> LabSpecError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        LabSpecError::Invalid {
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            message: message.to_string(),
        }
    }

    fn fail<T>(&self, span: Range<usize>, message: impl ToString) -> Result<T, LabSpecError> {
        Err(self.error(span, message))
    }

    /// A text that names a file, too.
    fn plain_name<'n>(
        &self,
        what: &str,
        named: &'n Spanned<String>,
    ) -> Result<&'n String, LabSpecError> {
        let name = named.get_ref();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !name.is_empty() && name.chars().all(is_plain) {
            return Ok(name);
        }
        let message = format!(
            "`{name}` is not a name for a {what}: letters, digits, `.`, `_` and `-`, at least one"
        );
        self.fail(named.span(), message)
    }

    fn folder_name(
        &self,
        named: Option<&Spanned<String>>,
        lab: &Lab,
    ) -> Result<String, LabSpecError> {
        let Some(named) = named else {
            return Ok(lab.name.to_owned());
        };
        let name = self.plain_name("folder", named)?;
        if find_lab(name).is_ok() {
            let message = format!("`{name}` is a lab's name; leave it out, or name the folder");
            return self.fail(named.span(), message);
        }
        Ok(name.clone())
    }

    fn tolerance(
        &self,
        TomlTolerance { rule, factor }: &TomlTolerance,
        lab: &Lab,
    ) -> Result<ToleranceRule, LabSpecError> {
        match (rule.get_ref().as_str(), factor) {
            ("exact", None) => Ok(ToleranceRule::Exact),
            ("exact", Some(factor)) => self.fail(
                factor.span(),
                "rule \"exact\" has no factor; remove it, or use rule \"rounding\"",
            ),
            ("rounding", _) if !lab.rounds => {
                let message = format!(
                    "lab {} computes with integers, which do not round; use rule \"exact\"",
                    lab.name
                );
                self.fail(rule.span(), message)
            }
            ("rounding", None) => self.fail(
                rule.span(),
                "rule \"rounding\" needs a factor: how many times the reference's own rounding noise is right",
            ),
            ("rounding", Some(factor)) => {
                let value = *factor.get_ref();
                if (1.0..=1e6).contains(&value) {
                    return Ok(ToleranceRule::Rounding { factor: value });
                }
                let message = format!("factor is {value}; it is between 1 and 1000000");
                self.fail(factor.span(), message)
            }
            (other, _) => {
                let unknown = CaseError::unknown("rule", other, ["exact", "rounding"]);
                self.fail(rule.span(), unknown)
            }
        }
    }

    fn case(
        &self,
        case: &TomlCase,
        lab: &Lab,
        others: &[CaseSpec],
    ) -> Result<CaseSpec, LabSpecError> {
        let name = self.plain_name("case", &case.name)?;
        if others.iter().any(|other| other.name == *name) {
            let message = format!("there are two cases `{name}`; names are unique");
            return self.fail(case.name.span(), message);
        }
        let (params, ranges) = self.params(case)?;
        let mut spec = CaseSpec {
            name: name.clone(),
            group: case.group,
            points: self.points(&case.points)?,
            devices: self.devices(case.devices.as_ref())?,
            params,
            ranges,
        };
        match spec.ranges {
            None => drop(self.accepts(case, &spec, lab)?),
            Some(_) => self.can_be_drawn(case, &mut spec, lab)?,
        }
        Ok(spec)
    }

    /// Whether the lab has such a case.
    fn accepts(
        &self,
        case: &TomlCase,
        spec: &CaseSpec,
        lab: &Lab,
    ) -> Result<Box<dyn LabCase>, LabSpecError> {
        spec.with_seed(lab, 1)
            .map_err(|error| self.error(place(case, &error), error.to_string()))
    }

    /// Whether the ranges' ends are allowed, each with each of the others', and most of what is
    /// between is not too much. Sets the parameters to the ranges' least.
    fn can_be_drawn(
        &self,
        case: &TomlCase,
        spec: &mut CaseSpec,
        lab: &Lab,
    ) -> Result<(), LabSpecError> {
        let ranges = spec.ranges.clone().expect("the caller looked");
        let span = case.params.span();
        if spec.group != Group::Hidden {
            let message = format!(
                "case `{}` is in group \"{}\"; only cases of group \"hidden\" have ranges",
                spec.name,
                spec.group.name()
            );
            return self.fail(span, message);
        }
        if ranges.corners() > MAX_CORNERS {
            let message = format!(
                "the ranges' ends have {} combinations; at most {MAX_CORNERS}: state fewer ranges",
                ranges.corners()
            );
            return self.fail(span, message);
        }
        let fixed = spec.params.clone();
        // The least last: its parameters stay.
        for number in (0..ranges.corners()).rev() {
            spec.params = ranges.corner(number, &fixed);
            self.accepts(case, spec, lab)?;
        }
        // A fifth of the draws, at least, so that a thousand of them always have one.
        const TRIED: u64 = 100;
        let fits = |draw: &u64| spec.drawn_within(lab, *draw, &[], 1).is_some();
        let allowed = (1..=TRIED).filter(fits).count() as u64;
        if 5 * allowed < TRIED {
            let message = format!(
                "only {allowed} of {TRIED} draws have at most {} updates; state smaller ranges, or more updates",
                ranges.most_updates
            );
            return self.fail(span, message);
        }
        Ok(())
    }

    /// The parameters that are given, and the ranges of those that are drawn.
    fn params(&self, case: &TomlCase) -> Result<(CaseParams, Option<Ranges>), LabSpecError> {
        let mut params = CaseParams::default();
        let mut of = Vec::new();
        for (key, value) in case.params.get_ref() {
            if key.get_ref() == "seed" {
                return self.fail(
                    key.span(),
                    "`seed` cannot be chosen: every sample's inputs follow from a fresh, secret seed",
                );
            }
            match value.get_ref() {
                toml::Value::String(text) => params.set(key.get_ref(), text),
                toml::Value::Integer(number) => params.set(key.get_ref(), number),
                toml::Value::Float(number) => params.set(key.get_ref(), number),
                toml::Value::Table(table) => {
                    let range = range(table).ok_or_else(|| {
                        let message = format!(
                            "`{}` is not a range: write {{ from = 1, to = 9 }} or {{ one_of = [\"a\", \"b\"] }}",
                            key.get_ref()
                        );
                        self.error(value.span(), message)
                    })?;
                    of.push((key.get_ref().clone(), range));
                    continue;
                }
                _ => {
                    let message = format!("`{}` must be a number or a text", key.get_ref());
                    return self.fail(value.span(), message);
                }
            };
        }
        match (&case.most_updates, of.is_empty()) {
            (None, true) => Ok((params, None)),
            (Some(most_updates), false) => {
                let most_updates = *most_updates.get_ref();
                Ok((params, Some(Ranges { of, most_updates })))
            }
            (None, false) => self.fail(
                case.params.span(),
                "a case with ranges has `most_updates`, which bounds what a drawn one takes",
            ),
            (Some(most_updates), true) => self.fail(
                most_updates.span(),
                "`most_updates` is for cases with ranges; remove it, or write a range",
            ),
        }
    }

    fn points(&self, points: &Spanned<f64>) -> Result<f64, LabSpecError> {
        let value = *points.get_ref();
        if value.is_finite() && value >= 0.0 {
            return Ok(value);
        }
        let message = format!("points are {value}; they are 0 or more");
        self.fail(points.span(), message)
    }

    fn devices(&self, devices: Option<&Spanned<u32>>) -> Result<u32, LabSpecError> {
        let Some(devices) = devices else { return Ok(1) };
        let value = *devices.get_ref();
        if (1..=MAX_DEVICES).contains(&value) {
            return Ok(value);
        }
        let message = format!("devices are {value}; a case has 1 to {MAX_DEVICES}");
        self.fail(devices.span(), message)
    }

    fn each_device(&self, part: Option<&Spanned<f64>>) -> Result<Option<f64>, LabSpecError> {
        let Some(part) = part else { return Ok(None) };
        let value = *part.get_ref();
        if value > 0.0 && value <= 1.0 {
            return Ok(Some(value));
        }
        let message = format!(
            "each_device is {value}; it is a part of an equal share, above 0 and at most 1"
        );
        self.fail(part.span(), message)
    }

    fn performance(
        &self,
        entry: &TomlPerformance,
        lab: &Lab,
        cases: &[CaseSpec],
    ) -> Result<PerformanceSpec, LabSpecError> {
        let name = entry.case.get_ref();
        let Some(case) = cases.iter().find(|case| case.name == *name) else {
            let names = cases.iter().map(|case| case.name.as_str());
            return self.fail(entry.case.span(), CaseError::unknown("case", name, names));
        };
        if case.group != Group::Large {
            let message = format!(
                "case `{name}` is in group \"{}\"; only cases of group \"large\" are timed",
                case.group.name()
            );
            return self.fail(entry.case.span(), message);
        }
        let against = match (entry.against.get_ref().as_str(), &entry.variant) {
            // A student's copy of the course has no variants; its files name them all the same.
            ("reference", Some(variant)) if lab.variants.is_empty() => Against::Reference {
                variant: variant.get_ref().clone(),
            },
            ("reference", Some(variant)) => {
                let found = find_variant(&lab.variants, variant.get_ref())
                    .map_err(|error| self.error(variant.span(), error))?;
                Against::Reference {
                    variant: found.name.clone(),
                }
            }
            ("reference", None) => {
                let names: Vec<_> = lab.variants.iter().map(|variant| &*variant.name).collect();
                let message = format!(
                    "against \"reference\" needs a variant, one of: {}",
                    names.join(", ")
                );
                return self.fail(entry.against.span(), message);
            }
            ("limit", None) => Against::Limit,
            ("limit", Some(variant)) => {
                return self.fail(
                    variant.span(),
                    "against \"limit\" has no variant; remove it, or use \"reference\"",
                );
            }
            (other, _) => {
                let unknown = CaseError::unknown("comparison", other, ["reference", "limit"]);
                return self.fail(entry.against.span(), unknown);
            }
        };
        let (zero, full) = (*entry.zero.get_ref(), *entry.full.get_ref());
        if !(zero.is_finite() && zero >= 0.0) {
            let message = format!("zero is {zero}; a ratio is 0 or more");
            return self.fail(entry.zero.span(), message);
        }
        if !(full.is_finite() && zero < full) {
            let message = format!(
                "full is {full}; it must be above zero = {zero}, the ratio that earns nothing"
            );
            return self.fail(entry.full.span(), message);
        }
        Ok(PerformanceSpec {
            case: name.clone(),
            points: self.points(&entry.points)?,
            against,
            zero,
            full,
        })
    }
}

impl Checker<'_> {
    fn count(
        &self,
        entry: &TomlCount,
        cases: &[CaseSpec],
        others: &[CountSpec],
    ) -> Result<CountSpec, LabSpecError> {
        let (case, count) = (entry.case.get_ref(), entry.count.get_ref());
        let Some(spec) = cases.iter().find(|spec| spec.name == *case) else {
            let names = cases.iter().map(|spec| spec.name.as_str());
            return self.fail(entry.case.span(), CaseError::unknown("case", case, names));
        };
        if spec.group != Group::Small {
            let message = format!(
                "case `{case}` is in group \"{}\"; only cases of group \"small\" are counted: \
                 students can count these, and every grade has the same",
                spec.group.name()
            );
            return self.fail(entry.case.span(), message);
        }
        if COUNTS.iter().all(|known| known.name != count) {
            let names = COUNTS.iter().map(|known| known.name);
            return self.fail(
                entry.count.span(),
                CaseError::unknown("count", count, names),
            );
        }
        if others
            .iter()
            .any(|other| (&other.case, &other.count) == (case, count))
        {
            let message =
                format!("`{count}` of case `{case}` earns points already; once is enough");
            return self.fail(entry.count.span(), message);
        }
        let (full, zero) = (*entry.full.get_ref(), *entry.zero.get_ref());
        if zero <= full {
            let message = format!(
                "zero is {zero}; it must be above full = {full}, the count that earns everything"
            );
            return self.fail(entry.zero.span(), message);
        }
        Ok(CountSpec {
            case: case.clone(),
            count: count.clone(),
            points: self.points(&entry.points)?,
            full,
            zero,
        })
    }
}

/// The meaning of a table among the parameters.
fn range(table: &toml::Table) -> Option<DrawnFrom> {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    let ends = (table.get("from"), table.get("to"), table.get("one_of"));
    match ends {
        (Some(toml::Value::Integer(from)), Some(toml::Value::Integer(to)), None) => {
            let (from, to) = (u64::try_from(*from).ok()?, u64::try_from(*to).ok()?);
            (table.len() == 2 && from < to && to < MAX_DRAWN)
                .then_some(DrawnFrom::Whole { from, to })
        }
        (Some(toml::Value::Float(from)), Some(toml::Value::Float(to)), None) => {
            let (from, to) = (*from, *to);
            (table.len() == 2 && from < to && (to - from).is_finite())
                .then_some(DrawnFrom::Real { from, to })
        }
        (None, None, Some(toml::Value::Array(values))) => {
            let values: Option<Vec<String>> = values.iter().map(text).collect();
            let values = values.filter(|values| values.len() > 1)?;
            (table.len() == 1).then_some(DrawnFrom::OneOf(values))
        }
        _ => None,
    }
}

/// Where the parameter stands that the lab refuses, or else all of them.
fn place(case: &TomlCase, error: &CaseError) -> Range<usize> {
    let name = match error {
        CaseError::Unknown { name, .. } | CaseError::Invalid { name, .. } => name,
        _ => return case.params.span(),
    };
    let mut params = case.params.get_ref().iter();
    let named = params.find(|(key, value)| {
        key.get_ref() == name || value.get_ref().as_str() == Some(name.as_str())
    });
    named.map_or_else(|| case.params.span(), |(key, _)| key.span())
}
