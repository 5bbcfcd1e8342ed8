//! The tables of fields in `docs/reference` are those of the types that write and read the files.
//!
//! A page has a pair of comments per type, `<!-- fields of TYPE in FILE -->` and `<!-- end -->`.
//! Between them are the type's fields with their documentation, by
//!
//! ```text
//! BLESS=1 cargo test -p test-support --test reference
//! ```
//!
//! Without `BLESS` the test fails where a page is stale. It always fails where a field has no
//! documentation, or a type of a field is on none of the pages. The sources are read line by line,
//! as `rustfmt` leaves them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 4] = [
    "lab-toml.md",
    "report-json.md",
    "perf-json.md",
    "replay-json.md",
];

/// Types whose JSON is plain, or described in words: what the tables call them.
const KNOWN: &[(&str, &str)] = &[
    ("Kind", "[a kind of failure](failures.md)"),
    (
        "Pattern",
        "[a pattern](failures.md#patterns-of-wrong-values)",
    ),
    ("Duration", "object: `secs`, `nanos`"),
    ("toml::Value", "value or range"),
    ("Seconds", "by `Phase`: number"),
    ("CaseLabel", "text"),
    ("Language", "text"),
    (
        "Written",
        "list: which of `registers`, from 0, and its values",
    ),
    ("Values", "values"),
    ("&'static str", "text"),
];

/// A field of a struct, or a variant of an enum with its fields.
#[derive(Default)]
struct Part {
    name: String,
    ty: String,
    docs: String,
    attributes: String,
    fields: Vec<Part>,
}

/// A type, as its source has it.
struct Item {
    docs: String,
    attributes: String,
    is_enum: bool,
    parts: Vec<Part>,
}

fn docs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// The value of a serde attribute: `rename = "value"`.
fn attribute<'t>(attributes: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = attributes;
    while let Some((before, after)) = rest.split_once(&format!("{name} = \"")) {
        if before.ends_with(['(', ' ']) {
            return after.split('"').next();
        }
        rest = after;
    }
    None
}

/// `NotMade` as `not_made`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// Documentation as a page has it, on one line.
fn plain(docs: &str) -> String {
    let first = docs.trim().split("\n\n").next().unwrap_or_default();
    let text = first.replace('\n', " ").replace('|', "\\|");
    // Links to items become their names; a missing value is JSON's.
    let text = text
        .replace("[`", "`")
        .replace("`]", "`")
        .replace("`None`", "`null`");
    text.replace("`crate::", "`")
}

/// Reads the parts at this depth of indentation, up to the closing brace before it.
fn parts<'l>(lines: &mut impl Iterator<Item = &'l str>, depth: usize) -> Vec<Part> {
    let indent = " ".repeat(4 * depth);
    let mut found = Vec::new();
    let mut part = Part::default();
    while let Some(line) = lines.next() {
        let Some(code) = line.strip_prefix(&indent) else {
            // An empty line, or the end.
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        if let Some(docs) = code.strip_prefix("///") {
            part.docs += docs.strip_prefix(' ').unwrap_or(docs);
            part.docs.push('\n');
        } else if code.starts_with("#[") {
            part.attributes += code;
            // A long one has several lines.
            while !part.attributes.ends_with(']') {
                part.attributes += lines.next().expect("the end of an attribute").trim();
            }
        } else if code.starts_with("//") {
            continue;
        } else if let Some(name) = code.strip_suffix(" {") {
            part.name = name.to_owned();
            part.fields = parts(lines, depth + 1);
            found.push(std::mem::take(&mut part));
        } else if let Some((name, fields)) = code.split_once(" { ") {
            // A variant on one line.
            part.name = name.to_owned();
            let fields = fields
                .trim_end_matches(" },")
                .split(", ")
                .filter_map(|field| field.split_once(": "));
            part.fields = fields
                .map(|(field, ty)| Part {
                    name: field.to_owned(),
                    ty: ty.to_owned(),
                    ..Part::default()
                })
                .collect();
            found.push(std::mem::take(&mut part));
        } else {
            let code = code.trim_start_matches("pub ").trim_end_matches(',');
            let (name, ty) = match code.split_once(": ") {
                Some(field) => field,
                // A variant, of a type or of none.
                None => code
                    .trim_end_matches(')')
                    .split_once('(')
                    .unwrap_or((code, "")),
            };
            (part.name, part.ty) = (name.to_owned(), ty.to_owned());
            found.push(std::mem::take(&mut part));
        }
    }
    found
}

/// The type of this name in a source.
fn item(source: &str, name: &str) -> Option<Item> {
    let lines: Vec<&str> = source.lines().collect();
    let declares = |line: &str, word: &str| {
        let line = line
            .strip_prefix("pub ")
            .or(line.strip_prefix("pub(crate) "));
        line.is_some_and(|line| line == format!("{word} {name} {{"))
    };
    let is_private = |line: &str| line == format!("struct {name} {{");
    let at = lines
        .iter()
        .position(|line| declares(line, "struct") || declares(line, "enum") || is_private(line))?;
    let before = lines[..at].iter().rev();
    let mut above: Vec<&str> = before
        .take_while(|line| line.starts_with("///") || line.starts_with("#["))
        .copied()
        .collect();
    above.reverse();
    let (docs, attributes): (Vec<&str>, Vec<&str>) =
        above.into_iter().partition(|line| line.starts_with("///"));
    let docs = docs.iter().map(|line| line[3..].trim_start());
    Some(Item {
        docs: docs.collect::<Vec<_>>().join("\n"),
        attributes: attributes.concat(),
        is_enum: lines[at].contains("enum "),
        parts: parts(&mut lines[at + 1..].iter().copied(), 1),
    })
}

/// The types that the pages describe.
struct Pages {
    /// The page and the name of each type.
    types: Vec<(&'static str, String)>,
    /// The faults that were found.
    faults: Vec<String>,
}

impl Pages {
    /// A type as JSON has it.
    fn json(&mut self, page: &str, ty: &str) -> String {
        let inner = |outer: &str| ty.strip_prefix(outer)?.strip_suffix('>');
        if let Some(of) = inner("Option<") {
            // TOML has no `null`.
            let missing = if page == "lab-toml.md" {
                ", or left out"
            } else {
                " or `null`"
            };
            return format!("{}{missing}", self.json(page, of));
        }
        if let Some(of) = inner("Box<").or(inner("Spanned<")) {
            return self.json(page, of);
        }
        if let Some(of) = inner("Vec<").or(inner("BTreeSet<")) {
            return format!("list: {}", self.json(page, of));
        }
        if let Some(inner) = inner("BTreeMap<") {
            let (_, value) = inner.split_once(", ").expect("key and value");
            return format!("by name: {}", self.json(page, value));
        }
        if let Some((ty, count)) = ty.trim_matches(['[', ']']).split_once("; ") {
            return format!("{count} of: {}", self.json(page, ty));
        }
        if let Some(pair) = ty.strip_prefix('(') {
            let types: Vec<String> = pair
                .trim_end_matches(')')
                .split(", ")
                .map(|one| self.json(page, one))
                .collect();
            return format!("list: {}", types.join(", "));
        }
        match ty {
            "String" | "PathBuf" => return "text".to_owned(),
            "bool" => return "`true` or `false`".to_owned(),
            "f64" | "f32" | "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => {
                return "number".to_owned();
            }
            _ => {}
        }
        if let Some((_, words)) = KNOWN.iter().find(|(name, _)| *name == ty) {
            return (*words).to_owned();
        }
        let of_type: Vec<&str> = self
            .types
            .iter()
            .filter(|(_, name)| name == ty)
            .map(|(of, _)| *of)
            .collect();
        match of_type.first() {
            _ if of_type.contains(&page) => format!("`{ty}`"),
            Some(other) => format!("[`{ty}`]({other})"),
            None => {
                self.faults.push(format!("{page} has no table of `{ty}`"));
                ty.to_owned()
            }
        }
    }

    /// Rows of fields, below `prefix`.
    fn rows(&mut self, page: &str, of: &str, parts: &[Part]) -> String {
        let mut rows = String::new();
        // JSON has no fields that are skipped.
        let written = parts
            .iter()
            .filter(|part| !part.attributes.contains("serde(skip)"));
        for part in written {
            let name = attribute(&part.attributes, "rename").unwrap_or(&part.name);
            let docs = plain(&part.docs);
            let ty = self.json(page, &part.ty);
            let is_flat = part.attributes.contains("flatten");
            if docs.is_empty() && !is_flat {
                self.faults
                    .push(format!("`{of}::{name}` has no documentation"));
            }
            let is_left_out = part.attributes.contains("skip_serializing_if");
            let name = if is_flat {
                format!("fields of {ty}")
            } else {
                format!("`{name}`")
            };
            let ty = match (is_flat, is_left_out) {
                (true, _) => String::new(),
                (_, true) => format!("{}, or left out", ty.trim_end_matches(" or `null`")),
                _ => ty,
            };
            let _ = writeln!(rows, "| {name} | {ty} | {docs} |");
        }
        rows
    }

    /// The table of a type.
    fn table(&mut self, page: &str, name: &str, item: &Item) -> String {
        let mut table = format!("**`{name}`**");
        if !item.docs.is_empty() {
            let _ = write!(table, ": {}", plain(&item.docs));
        }
        if !item.is_enum {
            let rows = self.rows(page, name, &item.parts);
            return format!("{table}\n\n| field | type | |\n|---|---|---|\n{rows}");
        }
        let rename = attribute(&item.attributes, "rename_all");
        let tag = attribute(&item.attributes, "tag");
        table += "\n\n| value | | |\n|---|---|---|\n";
        for variant in &item.parts {
            let own = attribute(&variant.attributes, "rename").map(str::to_owned);
            let code = own.unwrap_or_else(|| match rename {
                Some("snake_case") => snake(&variant.name),
                Some("lowercase") => variant.name.to_lowercase(),
                _ => variant.name.clone(),
            });
            let fields: Vec<String> = { variant.fields.iter() }
                .map(|field| {
                    let docs = plain(&field.docs);
                    let docs = docs.trim_end_matches('.');
                    let ty = self.json(page, &field.ty);
                    if docs.is_empty() {
                        return format!("`{}` ({ty})", field.name);
                    }
                    format!("`{}` ({ty}): {docs}", field.name)
                })
                .collect();
            let mut with = fields.join("; ");
            if !variant.ty.is_empty() {
                with = format!("fields of {}", self.json(page, &variant.ty));
            }
            let value = match tag {
                Some(tag) => format!("`\"{tag}\": \"{code}\"`"),
                None if with.is_empty() => format!("`\"{code}\"`"),
                None => format!("`{{\"{code}\": {{...}}}}`"),
            };
            let docs = plain(&variant.docs);
            if docs.is_empty() {
                self.faults
                    .push(format!("`{name}::{}` has no documentation", variant.name));
            }
            let _ = writeln!(table, "| {value} | {with} | {docs} |");
        }
        table
    }
}

const OPEN: &str = "<!-- fields of ";
const CLOSE: &str = "<!-- end -->";

/// The page's text with new tables.
fn renewed(pages: &mut Pages, page: &str, text: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (marker, after) = after.split_once(" -->\n").expect("the end of a comment");
        let (name, file) = marker.split_once(" in ").expect("TYPE in FILE");
        let (_, after) = after.split_once(CLOSE).expect("the end of a table");
        let source = sources.entry(file.to_owned()).or_insert_with(|| {
            fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
        });
        let item = item(source, name).unwrap_or_else(|| panic!("{file} has no type {name}"));
        let table = pages.table(page, name, &item);
        let _ = write!(out, "{before}{OPEN}{marker} -->\n\n{table}\n{CLOSE}");
        rest = after;
    }
    out + rest
}

#[test]
fn tables_of_fields_are_those_of_the_types() {
    let texts = PAGES.map(|page| fs::read_to_string(docs_folder().join(page)).unwrap());
    let types = PAGES.into_iter().zip(&texts).flat_map(|(page, text)| {
        let markers = text.split(OPEN).skip(1);
        markers.map(move |marker| (page, marker.split(' ').next().unwrap().to_owned()))
    });
    let mut pages = Pages {
        types: types.collect(),
        faults: Vec::new(),
    };
    assert!(pages.types.len() > 30, "{} types", pages.types.len());
    let new: Vec<String> = PAGES
        .into_iter()
        .zip(&texts)
        .map(|(page, text)| renewed(&mut pages, page, text))
        .collect();
    assert!(pages.faults.is_empty(), "{}", pages.faults.join("\n"));
    for ((page, old), text) in PAGES.into_iter().zip(&texts).zip(&new) {
        if std::env::var_os("BLESS").is_some() {
            fs::write(docs_folder().join(page), text).unwrap();
        } else {
            assert!(
                old == text,
                "docs/reference/{page} is stale: run this test with BLESS=1"
            );
        }
    }
}

/// The reader itself, on a source of every form.
#[test]
fn a_source_becomes_a_table() {
    let source = "\
/// Some [`Thing`],
/// in two lines.
///
/// More of it.
#[derive(Serialize)]
#[serde(tag = \"kind\", rename_all = \"snake_case\")]
pub enum Thing {
    /// Nothing.
    NotMade,
    /// One.
    Made {
        /// Why.
        reason: Option<String>,
    },
    /// Half of it.
    Short { step: u32, name: String },
}

struct Other {
    /// Its name; `None` if unknown.
    #[serde(default, rename = \"called\", skip_serializing_if = \"Option::is_none\")]
    pub name: Option<Vec<u32>>,
    #[serde(flatten)]
    thing: Thing,
    #[serde(skip)]
    page: Page,
    count: u32,
}
";
    let mut pages = Pages {
        types: vec![("a.md", "Thing".to_owned())],
        faults: Vec::new(),
    };
    let thing = item(source, "Thing").unwrap();
    assert_eq!(
        pages.table("a.md", "Thing", &thing),
        "**`Thing`**: Some `Thing`, in two lines.\n\n| value | | |\n|---|---|---|\n\
         | `\"kind\": \"not_made\"` |  | Nothing. |\n\
         | `\"kind\": \"made\"` | `reason` (text or `null`): Why | One. |\n\
         | `\"kind\": \"short\"` | `step` (number); `name` (text) | Half of it. |\n"
    );
    assert!(pages.faults.is_empty());
    let other = item(source, "Other").unwrap();
    assert_eq!(
        pages.table("b.md", "Other", &other),
        "**`Other`**\n\n| field | type | |\n|---|---|---|\n\
         | `called` | list: number, or left out | Its name; `null` if unknown. |\n\
         | fields of [`Thing`](a.md) |  |  |\n| `count` | number |  |\n"
    );
    assert_eq!(pages.faults, ["`Other::count` has no documentation"]);
    assert!(item(source, "Third").is_none());
}
