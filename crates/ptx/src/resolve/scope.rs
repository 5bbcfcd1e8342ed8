//! Names inside a body.
//!
//! Braces open a scope; names are looked up from the innermost outwards. Register slots are given
//! out on first use, so that `.reg .b32 %r<100000>` costs nothing for registers that no instruction
//! names.

use std::collections::HashMap;

use super::names::duplicate;
use crate::error::Problem;
use crate::program::{Label, Symbol};
use crate::syntax::{Name, Prototype, Stmt};
use crate::types::{Pos, RegClass};

/// The meaning of a name that a body declares.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    /// A register; its slot once an instruction names it.
    Reg(RegClass, Option<u32>),
    /// A vector register with this many components; the slot of the first, once an instruction
    /// names it.
    Vector(RegClass, u32, Option<u32>),
    /// A register of a kind that is not modelled.
    UnsupportedReg(&'static str),
    /// A `.param` variable with its size.
    Param(Symbol, u32),
    /// A variable, with the bytes of an element if it is an array.
    Variable(Symbol, Option<u32>),
}

/// Digits of `u64::MAX`.
const MAX_DIGITS: usize = 20;

/// `.reg .b32 %r<10>`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub local: Local,
    pub count: u64,
}

#[derive(Default)]
pub(super) struct Scope<'a> {
    pub names: HashMap<&'a str, (Local, Pos)>,
    pub ranges: HashMap<&'a str, (Range, Pos)>,
    /// Index into [`Labels::scopes`].
    pub labels: usize,
    /// Top of the parameter frame when the scope was opened.
    pub param_top: u32,
}

impl<'a> Scope<'a> {
    /// Declares a name.
    pub fn declare(&mut self, name: Name<'a>, local: Local) -> Result<(), Problem> {
        if let Some((_, first)) = self.range_of(name.text) {
            return Err(duplicate("name", name, first));
        }
        match self.names.insert(name.text, (local, name.pos)) {
            Some((_, first)) => Err(duplicate("name", name, first)),
            None => Ok(()),
        }
    }

    /// Declares a range of registers.
    pub fn declare_range(&mut self, prefix: Name<'a>, range: Range) -> Result<(), Problem> {
        let pos = prefix.pos;
        if let Some((_, first)) = self.ranges.insert(prefix.text, (range, pos)) {
            return Err(duplicate("name", prefix, first));
        }
        // Names from other ranges are there too: two ranges may have names in common.
        let mut named = self.names.iter();
        let taken = named.find(|(name, (_, first))| {
            let is_in = || name.starts_with(prefix.text) && self.range_of(name).is_some();
            let from_range = self.ranges.values().any(|(_, at)| at == first);
            !from_range && is_in()
        });
        match taken {
            Some((&text, (_, first))) => Err(duplicate("name", Name { text, pos }, *first)),
            None => Ok(()),
        }
    }

    /// The name, if this scope declares it.
    pub fn find(&mut self, name: &'a str) -> Option<&mut Local> {
        if !self.names.contains_key(name) {
            let (range, pos) = self.range_of(name)?;
            self.names.insert(name, (range.local, pos));
        }
        self.names.get_mut(name).map(|(local, _)| local)
    }

    /// The range that `name` is `prefix` and number of. A prefix may itself end in digits.
    fn range_of(&self, name: &str) -> Option<(Range, Pos)> {
        // A count has no more digits.
        let last = name.bytes().rev().take(MAX_DIGITS);
        let digits = last.take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, number) = name.split_at(split);
            let (range, pos) = self.ranges.get(prefix)?;
            let canonical = number.len() == 1 || !number.starts_with('0');
            let number: u64 = number.parse().ok()?;
            (canonical && number < range.count).then_some((*range, *pos))
        })
    }
}

/// Labels, tables and prototypes of a body: they may be used before they are declared, so they are
/// collected first.
#[derive(Default)]
pub(super) struct Labels<'s, 'a> {
    /// One entry for each scope, in the order of their opening braces.
    pub scopes: Vec<ScopeLabels<'s, 'a>>,
    /// Every label in order of position.
    pub all: Vec<Label>,
    /// Number of instructions.
    pub instructions: u32,
}

#[derive(Default)]
pub(super) struct ScopeLabels<'s, 'a> {
    pub positions: HashMap<&'a str, (u32, Pos)>,
    pub tables: HashMap<&'a str, &'s [Name<'a>]>,
    pub prototypes: HashMap<&'a str, &'s Prototype<'a>>,
}

impl<'s, 'a> Labels<'s, 'a> {
    pub fn collect(stmts: &'s [Stmt<'a>]) -> Result<Self, Problem> {
        let mut labels = Labels::default();
        labels.scope(stmts)?;
        Ok(labels)
    }

    fn scope(&mut self, stmts: &'s [Stmt<'a>]) -> Result<(), Problem> {
        let scope = self.scopes.len();
        self.scopes.push(ScopeLabels::default());
        for stmt in stmts {
            match stmt {
                Stmt::Label(name) => {
                    let target = self.instructions;
                    if let Some((_, first)) = self.scopes[scope]
                        .positions
                        .insert(name.text, (target, name.pos))
                    {
                        return Err(duplicate("label", *name, first));
                    }
                    self.all.push(Label {
                        name: name.text.to_string(),
                        target,
                    });
                }
                Stmt::Inst(_) => self.instructions += 1,
                Stmt::Block(inner) => self.scope(inner)?,
                Stmt::BranchTargets(name, targets) => {
                    self.scopes[scope].tables.insert(name.text, targets);
                }
                Stmt::Prototype(prototype) => {
                    self.scopes[scope]
                        .prototypes
                        .insert(prototype.label.text, prototype);
                }
                Stmt::Variable(_) | Stmt::Loc(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_prefix_and_a_number() {
        let long = "1".repeat(1_000_000);
        let (other, longer) = (format!("%x{long}"), format!("{long}7"));
        let mut scope = Scope::default();
        let pos = Pos { line: 1, column: 1 };
        let ranges = [("%r", u64::MAX), ("%r111", 10), (&long[..], 10)];
        for (prefix, count) in ranges {
            let local = Local::Reg(RegClass::B32, None);
            scope.ranges.insert(prefix, (Range { local, count }, pos));
        }
        // All prefixes of a long name, each to its end, would take minutes.
        for (name, is_declared) in [
            ("%r0", true),
            ("%r01", false),
            ("%r1119", true),
            ("%r18446744073709551614", true),
            ("%r18446744073709551615", false),
            ("%r118446744073709551614", false),
            (&longer, true),
            (&other, false),
        ] {
            assert_eq!(scope.find(name).is_some(), is_declared, "{:.30}", name);
        }
    }
}
