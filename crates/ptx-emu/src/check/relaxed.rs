//! Weak loads that count as relaxed: of words that the same function updates by an atomic
//! afterwards.
//!
//! By the letter of PTX, a weak load and an atomic of another thread race ("Data-races"). Two
//! idioms of the CUDA programming guide do so, and are right on every GPU:
//!
//! - a loop of `cas` begins with a plain load of the word (`atomicAdd` of doubles). A value that is
//!   not the word's any more makes the first `cas` fail, and so does no harm;
//! - a plain load says whether an atomic on the same word is worth while: "is there something on
//!   the stack?". The atomic looks again.
//!
//! A load is taken for such a one if an atomic names the same word (register and offset, be it by a
//! sum in another register) further down, and if what it loads goes nowhere but into arithmetic,
//! conditions, and atomics on that word; or if it is what a `cas` of the word compares with. It
//! counts as relaxed: it races with weak stores as before, and threads may learn of each other by
//! it, so that results are compared in several orders.
//!
//! Where a `cas` of a word is meant for a part of it ([`Strength::suits`]), the load before it is
//! of the whole word too, and other threads may store to the rest by weak stores. In a kernel that
//! accesses parts of words, a load whose value a `cas` compares is not checked: the `cas` is, for
//! the part that it is of.
//!
//! [`Strength::suits`]: crate::check::race::Strength::suits

use std::collections::{HashMap, HashSet};

use crate::address_origin::Makes;
use crate::registers::Slot;
use crate::unset_values::facts::{Facts, Rule, Word, WordAccess};

/// The positions of these loads among the instructions of a function, and whether a `cas` compares
/// what they load; among the latter those that are strong as they stand. `numbers` are
/// those that are operands.
pub(crate) fn relaxed_loads(
    facts: &[Facts],
    numbers: impl FnOnce() -> HashMap<Slot, i64>,
) -> Vec<(usize, bool)> {
    let of = |is_load: bool| {
        let words = facts.iter().filter_map(|each| each.word);
        words.filter(move |word| word.access.is_load() == is_load)
    };
    // Most functions have no such pair, and need no more work.
    let may_be_same = |a: &Word, b: &Word| (a.space, a.bytes) == (b.space, b.bytes);
    if !of(false).any(|update| of(true).any(|load| may_be_same(&load, &update))) {
        return Vec::new();
    }
    let uses = Uses::of(facts, &numbers());
    let words = || {
        let words = (0..).zip(&uses.words);
        words.filter_map(|(at, word)| Some((at, (*word)?)))
    };
    let updates: Vec<(usize, Word)> = words().filter(|(_, word)| !word.access.is_load()).collect();
    let loads = words().filter_map(|(at, word)| {
        let mut updates = updates.iter();
        if !word.access.is_load()
            || !updates.any(|(update, other)| *update > at && is_same(&word, other))
        {
            return None;
        }
        let guard = uses.guard(facts, at, &word)?;
        let is_compared = guard == Guard::Compared;
        let is_new = is_compared || word.access == WordAccess::WeakLoad;
        (is_new && uses.writes(word.address.base) <= 1).then_some((at, is_compared))
    });
    loads.collect()
}

/// The uses of the value of such a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// A `cas` of the word compares it with the word.
    Compared,
    /// It goes into arithmetic, conditions and atomics on the word alone.
    Looked,
}

/// True if both are of one word.
fn is_same(a: &Word, b: &Word) -> bool {
    (a.space, a.address, a.bytes) == (b.space, b.address, b.bytes)
}

/// The most sums of an address that are looked through.
const MAX_SUMS: usize = 8;

/// The instructions that read each register, and how many write it.
struct Uses {
    readers: HashMap<Slot, Vec<usize>>,
    writers: HashMap<Slot, usize>,
    /// The word that each instruction accesses. Its address has the first register of sums.
    words: Vec<Option<Word>>,
}

impl Uses {
    fn of(facts: &[Facts], numbers: &HashMap<Slot, i64>) -> Self {
        let constant = |slot: Slot| numbers.get(&slot).copied();
        let (mut readers, mut writers) = (HashMap::<_, Vec<_>>::new(), HashMap::new());
        for (at, each) in facts.iter().enumerate() {
            for slot in each.operands() {
                readers.entry(slot).or_default().push(at);
            }
            for &slot in each.writes.iter().flatten() {
                *writers.entry(slot).or_default() += 1;
            }
        }
        // The registers that are always another one and a number.
        let sum = |each: &Facts| {
            let &[Some(sum)] = &each.writes[..] else {
                return None;
            };
            let is_plain = each.guard.is_none() && writers.get(&sum) == Some(&1);
            let (base, number) = match (each.makes, &each.reads[..]) {
                (Makes::OneOf, &[base]) => (base, 0),
                (Makes::Sum, &[a, b]) => match (constant(a), constant(b)) {
                    (None, Some(number)) => (a, number),
                    (Some(number), None) => (b, number),
                    _ => return None,
                },
                _ => return None,
            };
            let is_register = base.class == sum.class && constant(base).is_none();
            (is_plain && is_register).then_some((sum, (base, number)))
        };
        let sums: HashMap<Slot, (Slot, i64)> = facts.iter().filter_map(sum).collect();
        let resolved = |word: Word| {
            let mut address = word.address;
            for _ in 0..MAX_SUMS {
                let Some((base, number)) = sums.get(&address.base) else {
                    break;
                };
                address.base = *base;
                address.offset = address.offset.wrapping_add(*number);
            }
            Word { address, ..word }
        };
        Self {
            words: facts.iter().map(|each| each.word.map(resolved)).collect(),
            readers,
            writers,
        }
    }

    /// How many instructions write a register: if one, it names the same word wherever it is read.
    fn writes(&self, slot: Slot) -> usize {
        self.writers.get(&slot).copied().unwrap_or_default()
    }

    /// The uses of the value that the load at a position gets, if it goes where the module says.
    fn guard(&self, facts: &[Facts], load: usize, word: &Word) -> Option<Guard> {
        let mut open: Vec<Slot> = facts[load].writes.iter().flatten().copied().collect();
        let mut reached: HashSet<Slot> = open.iter().copied().collect();
        let mut has_other_use = false;
        while let Some(slot) = open.pop() {
            for &at in self.readers.get(&slot).into_iter().flatten() {
                let reader = &facts[at];
                if let Some(other) = self.words[at].filter(|other| is_same(word, other)) {
                    let is_compared = reader.reads.first() == Some(&slot);
                    if other.access == WordAccess::CompareAndSwap && is_compared {
                        return Some(Guard::Compared);
                    }
                } else if matches!(reader.rule, Rule::Strict | Rule::Memory(_)) {
                    has_other_use = true;
                } else {
                    let written = reader.writes.iter().flatten().copied();
                    open.extend(written.filter(|&next| reached.insert(next)));
                }
            }
        }
        (!has_other_use).then_some(Guard::Looked)
    }
}
