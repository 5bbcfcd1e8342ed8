//! The linked text: the parts, token by token, with what linking changes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::symbols::{Definitions, Symbol, Text};
use super::target::Header;
use crate::lex::{Tok, Token};
use crate::parse::declarations::What;
use crate::syntax::Linkage;

/// The one section of a debugger that other code refers to: names of functions, for `.loc`.
const NAMES_OF_LOCS: &str = "debug_str";

/// Comments at the end of a text that state the parameters of its kernels.
const STATEMENTS: &str = "// cuda_std.";

/// The linked text.
pub(super) fn write(texts: &[Text<'_>], definitions: &Definitions<'_>, header: &Header) -> String {
    let mut shared = Shared::new(texts);
    let mut linked = String::new();
    for (index, text) in texts.iter().enumerate() {
        let mut edits = Edits::new(text);
        put_header(&mut edits, (index == 0).then_some(header));
        shared.choose_definitions(&mut edits, index, definitions);
        shared.rename(&mut edits);
        shared.number_files(&mut edits);
        if texts.len() > 1 {
            let sections = &text.declarations.sections;
            for (_, section) in sections.iter().filter(|(name, _)| *name != NAMES_OF_LOCS) {
                edits.delete(section.clone());
            }
        }
        edits.write(&mut linked);
        if !linked.ends_with('\n') {
            linked.push('\n');
        }
    }
    // They are read at the end of the whole.
    for text in &texts[..texts.len() - 1] {
        let last = text
            .source
            .lines()
            .rev()
            .take_while(|line| line.starts_with("//"));
        for line in last.filter(|line| line.starts_with(STATEMENTS)) {
            linked += line;
            linked.push('\n');
        }
    }
    linked
}

/// The changes to the tokens of a text.
struct Edits<'t, 'a> {
    text: &'t Text<'a>,
    deleted: Vec<bool>,
    /// By the index of a token.
    replaced: HashMap<usize, String>,
}

impl<'t, 'a> Edits<'t, 'a> {
    fn new(text: &'t Text<'a>) -> Self {
        Edits {
            text,
            deleted: vec![false; text.tokens.len()],
            replaced: HashMap::new(),
        }
    }

    fn delete(&mut self, tokens: Range<usize>) {
        self.deleted[tokens].fill(true);
    }

    fn replace(&mut self, token: usize, by: String) {
        self.replaced.insert(token, by);
    }

    /// Replaces tokens by one.
    fn replace_all(&mut self, tokens: Range<usize>, by: &str) {
        self.replace(tokens.start, by.to_owned());
        self.deleted[tokens.start] = false;
        self.delete(tokens.start + 1..tokens.end);
    }

    /// The token as it is written.
    fn written(&self, token: usize) -> &'a str {
        let Token { start, end, .. } = self.text.tokens[token];
        &self.text.source[start..end]
    }

    fn write(&self, into: &mut String) {
        let mut end = 0;
        let mut after_deleted = false;
        for (index, token) in self.text.tokens.iter().enumerate() {
            let blank = &self.text.source[end..token.start];
            let is_deleted = self.deleted[index];
            match (after_deleted, is_deleted) {
                // Lines stay lines.
                (true, true) => into.extend(blank.chars().filter(|c| *c == '\n')),
                (false, true) => *into += blank.trim_end_matches([' ', '\t']),
                // No token grows together with another.
                (true, false) if blank.is_empty() => into.push(' '),
                (_, false) => *into += blank,
            }
            if !is_deleted {
                *into += match self.replaced.get(&index) {
                    Some(by) => by,
                    None => self.written(index),
                };
            }
            (end, after_deleted) = (token.end, is_deleted);
        }
    }
}

/// The state that the parts have together, as far as they are written.
struct Shared<'a> {
    /// Names that no later text may use for something of its own.
    taken: HashSet<&'a str>,
    /// Words that no new name may be.
    words: HashSet<&'a str>,
    /// New names.
    given: HashSet<String>,
    /// Symbols that are declared or defined in what is written.
    declared: HashSet<&'a str>,
    /// The declarations of dynamic shared memory: as tokens.
    dynamic: HashMap<&'a str, Vec<Tok<'a>>>,
    /// Numbers of source files by the rest of their `.file`.
    files: HashMap<&'a str, u32>,
    next_file: u32,
}

impl<'a> Shared<'a> {
    fn new(texts: &[Text<'a>]) -> Shared<'a> {
        let symbols = texts.iter().flat_map(|text| &text.symbols);
        let tokens = texts.iter().flat_map(|text| &text.tokens);
        Shared {
            taken: symbols
                .filter(|symbol| symbol.is_shared())
                .map(|symbol| symbol.name)
                .collect(),
            words: tokens
                .filter_map(|token| match token.tok {
                    Tok::Word(word) if word.contains('$') => Some(word),
                    _ => None,
                })
                .collect(),
            given: HashSet::new(),
            declared: HashSet::new(),
            dynamic: HashMap::new(),
            files: HashMap::new(),
            next_file: 1,
        }
    }

    /// Leaves the definition of each shared symbol, and the declaration in front of it.
    fn choose_definitions(
        &mut self,
        edits: &mut Edits<'_, 'a>,
        index: usize,
        definitions: &Definitions<'_>,
    ) {
        let text = edits.text;
        for symbol in text.symbols.iter().filter(|symbol| symbol.is_shared()) {
            let definition = definitions.of(symbol.name);
            if definition.is_none_or(|definition| definition.text != index) {
                let linkage = definition.map(|definition| definition.linkage);
                self.reduce(edits, symbol, linkage);
            }
            self.declared.insert(symbol.name);
        }
    }

    /// A symbol that another text defines, or none: a declaration stays where it is the first.
    fn reduce(&self, edits: &mut Edits<'_, 'a>, symbol: &Symbol<'a>, linkage: Option<Linkage>) {
        let text = edits.text;
        let is_first = !self.declared.contains(symbol.name);
        for &place in &symbol.items {
            let item = text.item(place);
            let is_defined = item.is_defined;
            let stays = is_first
                && match item.what {
                    What::Function { is_kernel, .. } => !(is_kernel && is_defined),
                    // `.shared` variables are declared once.
                    What::Variable { space, .. } => {
                        !is_defined && (linkage.is_none() || space != crate::Space::Shared)
                    }
                };
            match (&item.what, stays) {
                (What::Variable { .. }, true) => {}
                (What::Variable { .. }, false) => delete_variable(edits, place),
                (What::Function { .. }, false) => edits.delete(item.statement.clone()),
                (What::Function { .. }, true) => {
                    let directive = match linkage {
                        Some(Linkage::Weak) => ".weak",
                        Some(_) => ".visible",
                        None => ".extern",
                    };
                    if item.directives.is_empty() {
                        let keyword = edits.written(item.statement.start);
                        edits.replace(item.statement.start, format!("{directive} {keyword}"));
                    } else {
                        edits.replace_all(item.directives.clone(), directive);
                    }
                    if !item.body.is_empty() {
                        edits.replace_all(item.body.clone(), ";");
                    }
                }
            }
        }
        let aliases = text.declarations.aliases.iter();
        for (_, statement) in aliases.filter(|(name, _)| *name == symbol.name) {
            edits.delete(statement.clone());
        }
    }

    /// Gives other names to what the text has for itself under names that are taken.
    fn rename(&mut self, edits: &mut Edits<'_, 'a>) {
        let text = edits.text;
        let mut names: HashMap<&str, String> = HashMap::new();
        let labels = labels(text);
        let private = text.symbols.iter().filter(|symbol| !symbol.is_shared());
        for (name, dynamic) in private
            .map(|symbol| (symbol.name, symbol.is_dynamic_shared.then_some(symbol)))
            .chain(labels.into_iter().map(|label| (label, None)))
        {
            let declared = dynamic.map(|symbol| {
                let tokens = &text.tokens[text.item(symbol.told_by).statement.clone()];
                tokens.iter().map(|token| token.tok).collect::<Vec<_>>()
            });
            if let Some(declared) = &declared
                && self.dynamic.get(name) == Some(declared)
            {
                for item in dynamic.into_iter().flat_map(|symbol| &symbol.items) {
                    edits.delete(text.item(*item).statement.clone());
                }
                continue;
            }
            if !self.taken.insert(name) {
                names.insert(name, self.fresh(name));
            } else if let Some(declared) = declared {
                self.dynamic.insert(name, declared);
            }
        }
        if names.is_empty() {
            return;
        }
        let bodies = text.declarations.items.iter().map(|item| &item.body);
        let bodies: Vec<_> = bodies.filter(|body| !body.is_empty()).collect();
        let hidden = |index: usize, word: &str| {
            let after = bodies.partition_point(|body| body.start <= index);
            let body = bodies[..after].last().filter(|body| body.contains(&index));
            body.is_some_and(|body| is_register_of(&text.tokens[(*body).clone()], word))
        };
        for (index, token) in text.tokens.iter().enumerate() {
            if let Tok::Word(word) = token.tok
                && let Some(name) = names.get(word)
                && !hidden(index, word)
            {
                edits.replaced.insert(index, name.clone());
            }
        }
    }

    /// A name that no text has.
    fn fresh(&mut self, name: &str) -> String {
        let mut names = (2..).map(|number: u32| format!("{name}${number}"));
        let is_fresh = |new: &String| !self.words.contains(&new[..]) && !self.given.contains(new);
        let fresh = names.find(is_fresh).unwrap_or_default();
        self.given.insert(fresh.clone());
        fresh
    }

    /// One table of source files.
    fn number_files(&mut self, edits: &mut Edits<'_, 'a>) {
        let text = edits.text;
        let mut numbers = HashMap::new();
        // The first text keeps its numbers.
        let is_first = self.files.is_empty();
        for (number, statement) in &text.declarations.files {
            let (rest, last) = (statement.start + 2, statement.end - 1);
            let path = &text.source[text.tokens[rest].start..text.tokens[last].end];
            let known = self.files.get(path).copied();
            let new = match known {
                Some(known) => known,
                None if is_first => *number,
                None => self.next_file,
            };
            self.next_file = self.next_file.max(new + 1);
            self.files.insert(path, new);
            numbers.insert(*number, new);
            match known {
                Some(_) => edits.delete(statement.clone()),
                None => edits.replace(statement.start + 1, new.to_string()),
            }
        }
        for (index, token) in text.tokens.iter().enumerate() {
            if matches!(token.tok, Tok::Dot("loc") | Tok::Word("inlined_at"))
                && let Some(Tok::Int(number)) = text.tokens.get(index + 1).map(|next| next.tok)
                && let Ok(number) = u32::try_from(number)
                && let Some(new) = numbers.get(&number).filter(|new| **new != number)
            {
                edits.replace(index + 1, new.to_string());
            }
        }
    }
}

/// Puts the header into the first text, and deletes those of the others.
fn put_header(edits: &mut Edits<'_, '_>, header: Option<&Header>) {
    let text = edits.text;
    let directives = &text.declarations.header;
    for directive in directives {
        edits.delete(directive.clone());
    }
    let (Some(Header { version, target }), [first, others @ ..]) = (header, &directives[..]) else {
        return;
    };
    let is = |name| move |of: &&Range<usize>| text.tokens[of.start].tok == Tok::Dot(name);
    let mut front = version.clone();
    for (name, content) in [
        ("target", &target[..]),
        ("address_size", ".address_size 64"),
    ] {
        match others.iter().find(is(name)) {
            Some(place) => edits.replace_all(place.clone(), content),
            None if content.is_empty() => {}
            None => front += &format!(" {content}"),
        }
    }
    edits.replace_all(first.clone(), &front);
}

/// Deletes a variable, and its statement if it has no other.
fn delete_variable(edits: &mut Edits<'_, '_>, place: usize) {
    let text = edits.text;
    let item = text.item(place);
    edits.delete(item.own.clone());
    let mates = || {
        let items = text.declarations.items.iter();
        items.filter(|other| other.statement == item.statement)
    };
    let is_deleted = |own: &Range<usize>| edits.deleted[own.start];
    let left: Vec<_> = mates()
        .map(|mate| &mate.own)
        .filter(|own| !is_deleted(own))
        .collect();
    let Some(last) = left.last().map(|own| own.end) else {
        edits.delete(item.statement.clone());
        return;
    };
    // A comma behind each one that is left, except the last.
    for mate in mates().filter(|mate| mate.own.end < item.statement.end - 1) {
        let comma = mate.own.end;
        edits.deleted[comma] = comma >= last || edits.deleted[mate.own.start];
    }
}

/// The labels of the sections that `.loc` refers to.
fn labels<'a>(text: &Text<'a>) -> Vec<&'a str> {
    let sections = text.declarations.sections.iter();
    let kept = sections.filter(|(name, _)| *name == NAMES_OF_LOCS);
    let tokens = kept.flat_map(|(_, section)| text.tokens[section.clone()].windows(2));
    let label = |pair: &[Token<'a>]| match (pair[0].tok, pair[1].tok) {
        (Tok::Word(word), Tok::Punct(':')) => Some(word),
        _ => None,
    };
    tokens.filter_map(label).collect()
}

/// Whether a body declares this name as one of many registers: `.reg .b32 r<4>` has an `r2`.
fn is_register_of(body: &[Token<'_>], name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.len() < name.len()
        && body
            .windows(2)
            .any(|pair| match (pair[0].tok, pair[1].tok) {
                (Tok::Word(word), Tok::Punct('<')) => {
                    word.starts_with(stem) && name.starts_with(word)
                }
                _ => false,
            })
}
