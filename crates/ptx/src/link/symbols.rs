//! The symbols of texts, and the definition of each.

use std::collections::{HashMap, HashSet};

use super::error::LinkError;
use crate::lex::{Tok, Token};
use crate::parse::declarations::{Declarations, Declared, What};
use crate::syntax::Linkage;

/// A part that has been read.
pub(super) struct Text<'a> {
    pub name: &'a str,
    pub source: &'a str,
    pub tokens: Vec<Token<'a>>,
    pub declarations: Declarations<'a>,
    /// Its symbols, in the order of first mention.
    pub symbols: Vec<Symbol<'a>>,
    /// Linked only where it defines what others lack.
    pub on_demand: bool,
}

/// A name of a text.
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    /// [`Linkage::Extern`] of one that the text does not define.
    pub linkage: Linkage,
    /// Its declarations: indices of [`Declarations::items`].
    pub items: Vec<usize>,
    /// The declaration that tells what it is: the definition, if there is one.
    pub told_by: usize,
    pub is_dynamic_shared: bool,
}

impl Symbol<'_> {
    /// Whether other texts know it by its name.
    pub fn is_shared(&self) -> bool {
        self.linkage != Linkage::Private && !self.is_dynamic_shared
    }

    fn defines(&self) -> bool {
        self.is_shared() && self.linkage != Linkage::Extern
    }
}

/// The symbols of a text.
pub(super) fn symbols<'a>(declarations: &Declarations<'a>) -> Vec<Symbol<'a>> {
    let aliases: HashSet<&str> = declarations.aliases.iter().map(|(name, _)| *name).collect();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut symbols: Vec<Symbol<'a>> = Vec::new();
    for (index, item) in declarations.items.iter().enumerate() {
        let place = *places.entry(item.name).or_insert(symbols.len());
        if place == symbols.len() {
            symbols.push(Symbol {
                name: item.name,
                linkage: Linkage::Extern,
                items: Vec::new(),
                told_by: index,
                is_dynamic_shared: item.is_dynamic_shared(),
            });
        }
        let symbol = &mut symbols[place];
        symbol.items.push(index);
        if item.is_defined || aliases.contains(item.name) {
            (symbol.linkage, symbol.told_by) = (item.linkage, index);
            // A body makes a definition of what is called one elsewhere.
            if symbol.linkage == Linkage::Extern {
                symbol.linkage = Linkage::Visible;
            }
        }
    }
    symbols
}

impl<'a> Text<'a> {
    pub fn what(&self, symbol: &Symbol<'_>) -> &What {
        &self.item(symbol.told_by).what
    }

    pub fn item(&self, index: usize) -> &Declared<'a> {
        &self.declarations.items[index]
    }

    /// How often each of these names is written in it.
    fn uses<'s>(&self, names: &HashSet<&'s str>) -> HashMap<&'s str, usize> {
        let mut uses = HashMap::new();
        for token in &self.tokens {
            if let Tok::Word(word) = token.tok
                && let Some(name) = names.get(word)
            {
                *uses.entry(*name).or_default() += 1;
            }
        }
        uses
    }

    /// The symbols that it uses, and that none of these definitions is for. A variable that is
    /// declared counts as used, a function only where its name is written again, as for the
    /// assembler.
    fn lacks(&self, definitions: &Definitions<'_>) -> Vec<&Symbol<'a>> {
        let open =
            |symbol: &&Symbol<'_>| symbol.is_shared() && !definitions.0.contains_key(symbol.name);
        let open: Vec<&Symbol<'a>> = self.symbols.iter().filter(open).collect();
        if open.is_empty() {
            return open;
        }
        let uses = self.uses(&open.iter().map(|symbol| symbol.name).collect());
        let is_used = |symbol: &&Symbol<'a>| match self.what(symbol) {
            What::Variable { .. } => true,
            What::Function { .. } => {
                uses.get(symbol.name).copied().unwrap_or(0) > symbol.items.len()
            }
        };
        open.into_iter().filter(is_used).collect()
    }
}

/// Where a symbol is defined.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    /// The index of the text.
    pub text: usize,
    /// The index of the symbol there.
    symbol: usize,
    pub linkage: Linkage,
}

/// The definition of each symbol that texts share.
#[derive(Default)]
pub(super) struct Definitions<'a>(HashMap<&'a str, Definition>);

impl<'a> Definitions<'a> {
    /// The definition of a symbol.
    pub fn of(&self, name: &str) -> Option<Definition> {
        self.0.get(name).copied()
    }

    /// Finds the definitions, and leaves out the texts that are linked on demand and that nothing
    /// demands.
    pub fn find(
        texts: &mut Vec<Text<'a>>,
        is_provided: &dyn Fn(&str) -> bool,
    ) -> Result<Definitions<'a>, LinkError> {
        loop {
            let definitions = Definitions::among(texts)?;
            let mut undefined: Vec<(&str, &str)> = Vec::new();
            for text in texts.iter().filter(|text| !text.on_demand) {
                for symbol in text.lacks(&definitions) {
                    if !is_provided(symbol.name) {
                        undefined.push((symbol.name, text.name));
                    }
                }
            }
            let wanted: HashSet<&str> = undefined.iter().map(|(name, _)| *name).collect();
            let helps = |text: &Text<'_>| {
                let mut symbols = text.symbols.iter();
                text.on_demand && symbols.any(|s| s.defines() && wanted.contains(s.name))
            };
            if let Some(member) = texts.iter().position(helps) {
                texts[member].on_demand = false;
                continue;
            }
            let mut told = HashSet::new();
            undefined.retain(|(name, _)| told.insert(*name));
            if !undefined.is_empty() {
                let owned = |(name, part): (&str, &str)| (name.to_owned(), part.to_owned());
                let symbols = undefined.into_iter().map(owned).collect();
                return Err(LinkError::Undefined { symbols });
            }
            texts.retain(|text| !text.on_demand);
            let left = Definitions::among(texts)?;
            left.check(texts)?;
            return Ok(left);
        }
    }

    /// The definitions in the texts that are linked in any case.
    fn among(texts: &[Text<'a>]) -> Result<Definitions<'a>, LinkError> {
        let mut definitions = Definitions::default();
        for (index, text) in texts.iter().enumerate().filter(|(_, text)| !text.on_demand) {
            for (place, symbol) in text.symbols.iter().enumerate() {
                if symbol.defines() {
                    let new = Definition {
                        text: index,
                        symbol: place,
                        linkage: symbol.linkage,
                    };
                    definitions.add(texts, new)?;
                }
            }
        }
        Ok(definitions)
    }

    fn add(&mut self, texts: &[Text<'a>], new: Definition) -> Result<(), LinkError> {
        let name = texts[new.text].symbols[new.symbol].name;
        let Some(old) = self.of(name) else {
            self.0.insert(name, new);
            return Ok(());
        };
        let (new_what, old_what) = (new.what(texts), old.what(texts));
        let duplicate = || LinkError::Duplicate {
            symbol: name.to_owned(),
            part: texts[new.text].name.to_owned(),
            first: texts[old.text].name.to_owned(),
        };
        let replaces = match (old.linkage, new.linkage) {
            (Linkage::Visible, Linkage::Visible) => return Err(duplicate()),
            // PTX ISA, `.common`: the largest, and one alone may have a value.
            (Linkage::Common, Linkage::Common) => {
                match (has_value(old_what), has_value(new_what)) {
                    (true, true) => return Err(duplicate()),
                    (false, false) => size(new_what) > size(old_what),
                    (_, new_has_value) => new_has_value,
                }
            }
            (Linkage::Common, _) => true,
            (Linkage::Weak, Linkage::Visible) => true,
            _ => false,
        };
        if replaces {
            self.0.insert(name, new);
        }
        Ok(())
    }

    /// Checks that all declarations agree with the definitions.
    fn check(&self, texts: &[Text<'a>]) -> Result<(), LinkError> {
        for text in texts {
            for symbol in text.symbols.iter().filter(|symbol| symbol.is_shared()) {
                let Some(definition) = self.of(symbol.name) else {
                    continue;
                };
                let (first, defined) = (&texts[definition.text], definition.what(texts));
                let new = text.what(symbol);
                let is_common = symbol.linkage == Linkage::Common;
                let has_definition = definition.linkage != Linkage::Common || has_value(defined);
                if is_common && has_definition && size(new) > size(defined) {
                    return Err(LinkError::LargerCommon {
                        symbol: symbol.name.to_owned(),
                        part: text.name.to_owned(),
                        first: first.name.to_owned(),
                    });
                }
                if let Some(what) = difference(new, defined, is_common) {
                    return Err(LinkError::Mismatch {
                        what,
                        symbol: symbol.name.to_owned(),
                        part: text.name.to_owned(),
                        first: first.name.to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}

impl Definition {
    fn what<'t>(&self, texts: &'t [Text<'_>]) -> &'t What {
        let text = &texts[self.text];
        text.what(&text.symbols[self.symbol])
    }
}

fn size(what: &What) -> u32 {
    match what {
        What::Variable { size, .. } => size.unwrap_or(0),
        What::Function { .. } => 0,
    }
}

fn has_value(what: &What) -> bool {
    matches!(
        what,
        What::Variable {
            has_value: true,
            ..
        }
    )
}

/// The property in which a declaration is not like the definition. Common variables may have
/// several sizes.
fn difference(new: &What, defined: &What, is_common: bool) -> Option<&'static str> {
    match (new, defined) {
        (
            What::Function { is_kernel, bytes },
            What::Function {
                is_kernel: defines_kernel,
                bytes: defined_bytes,
            },
        ) => {
            if is_kernel != defines_kernel {
                return Some("kind (`.entry` or `.func`)");
            }
            (bytes != defined_bytes).then_some("prototype")
        }
        (
            What::Variable {
                space,
                size,
                is_managed,
                ..
            },
            What::Variable {
                space: defined_space,
                size: defined_size,
                is_managed: defines_managed,
                ..
            },
        ) => {
            let sizes = size.zip(*defined_size);
            if space != defined_space {
                Some("memory space")
            } else if is_managed != defines_managed {
                Some("attribute `.managed`")
            } else if !is_common && sizes.is_some_and(|(one, other)| one != other) {
                Some("size")
            } else {
                None
            }
        }
        _ => Some("kind (variable or function)"),
    }
}
