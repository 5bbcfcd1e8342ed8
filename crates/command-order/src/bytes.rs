//! Sets of bytes of a page.

use std::ops::Range;

/// Bytes of a page of addresses.
pub const PAGE_BYTES: u64 = 4096;

const WORDS: usize = PAGE_BYTES as usize / 64;

/// A bit for each byte of a page.
pub type PageBits = [u64; WORDS];

/// Bytes of a page. A range where they lie together, which is how most commands access memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    Range(u32, u32),
    Bits(Box<PageBits>),
}

/// The bits of a word that lie in a range of a page's bytes.
fn mask(word: usize, start: u32, end: u32) -> u64 {
    let first = 64 * word as u32;
    let (from, to) = (start.max(first) - first, end.min(first + 64));
    if from >= 64 || to <= first + from {
        return 0;
    }
    let count = to - first - from;
    (u64::MAX >> (64 - count)) << from
}

impl Bytes {
    /// The whole page, or a part of it: `range` is not empty, and ends with the page at most.
    pub(crate) fn range(range: Range<u64>) -> Bytes {
        debug_assert!(range.start < range.end && range.end <= PAGE_BYTES);
        Bytes::Range(range.start as u32, range.end as u32)
    }

    /// The bytes of these bits; `None` if there are none.
    pub(crate) fn of(bits: &PageBits) -> Option<Bytes> {
        let first = bits.iter().position(|word| *word != 0)?;
        let last = bits.iter().rposition(|word| *word != 0)?;
        let start = 64 * first as u32 + bits[first].trailing_zeros();
        let end = 64 * (last as u32 + 1) - bits[last].leading_zeros();
        let lies_together = (first..=last).all(|word| bits[word] == mask(word, start, end));
        Some(if lies_together {
            Bytes::Range(start, end)
        } else {
            Bytes::Bits(Box::new(*bits))
        })
    }

    fn bits(&self) -> PageBits {
        match self {
            Bytes::Range(start, end) => std::array::from_fn(|word| mask(word, *start, *end)),
            Bytes::Bits(bits) => **bits,
        }
    }

    fn combined(&self, other: &Bytes, with: impl Fn(u64, u64) -> u64) -> Option<Bytes> {
        let (mut bits, others) = (self.bits(), other.bits());
        for (word, second) in bits.iter_mut().zip(others) {
            *word = with(*word, second);
        }
        Bytes::of(&bits)
    }

    /// The bytes of both; `None` if there are none.
    pub(crate) fn common(&self, other: &Bytes) -> Option<Bytes> {
        match (self, other) {
            (Bytes::Range(start, end), Bytes::Range(from, to)) => {
                let (first, last) = (*start.max(from), *end.min(to));
                (first < last).then_some(Bytes::Range(first, last))
            }
            _ => self.combined(other, |one, two| one & two),
        }
    }

    /// The bytes that another has not; `None` if there are none.
    pub(crate) fn without(&self, other: &Bytes) -> Option<Bytes> {
        if let (&Bytes::Range(start, end), &Bytes::Range(from, to)) = (self, other) {
            let (has_left, has_right) = (start < from, to < end);
            if to <= start || end <= from {
                return Some(self.clone());
            }
            match (has_left, has_right) {
                (false, false) => return None,
                (true, false) => return Some(Bytes::Range(start, from)),
                (false, true) => return Some(Bytes::Range(to, end)),
                (true, true) => {}
            }
        }
        self.combined(other, |one, two| one & !two)
    }

    /// The bytes of one or the other.
    pub(crate) fn with(&self, other: &Bytes) -> Bytes {
        if let (&Bytes::Range(start, end), &Bytes::Range(from, to)) = (self, other)
            && start <= to
            && from <= end
        {
            return Bytes::Range(start.min(from), end.max(to));
        }
        let both = self.combined(other, |one, two| one | two);
        both.unwrap_or_else(|| self.clone())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Bytes::Range(start, end) => u64::from(end - start),
            Bytes::Bits(bits) => bits.iter().map(|word| u64::from(word.count_ones())).sum(),
        }
    }

    /// The first, and the one behind the last.
    pub(crate) fn extent(&self) -> Range<u64> {
        match self {
            Bytes::Range(start, end) => u64::from(*start)..u64::from(*end),
            Bytes::Bits(bits) => {
                let first = bits.iter().position(|word| *word != 0).unwrap_or(0);
                let last = bits.iter().rposition(|word| *word != 0).unwrap_or(0);
                let start = 64 * first as u64 + u64::from(bits[first].trailing_zeros());
                start..64 * (last as u64 + 1) - u64::from(bits[last].leading_zeros())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that lie apart, and the numbers of them.
    fn any() -> impl Strategy<Value = Vec<u32>> {
        let ranges = proptest::collection::vec((0u32..4096, 1u32..300), 1..4);
        ranges.prop_map(|ranges| {
            let mut all: Vec<u32> = ranges
                .into_iter()
                .flat_map(|(start, count)| start..(start + count).min(4096))
                .collect();
            all.sort_unstable();
            all.dedup();
            all
        })
    }

    fn set(numbers: &[u32]) -> Option<Bytes> {
        let mut bits = [0; WORDS];
        for number in numbers {
            bits[*number as usize / 64] |= 1 << (number % 64);
        }
        Bytes::of(&bits)
    }

    proptest! {
        #[test]
        fn sets_are_as_those_of_numbers(one in any(), other in any()) {
            let (a, b) = (set(&one).unwrap(), set(&other).unwrap());
            let both: Vec<u32> = one.iter().copied().filter(|at| other.contains(at)).collect();
            let rest: Vec<u32> = one.iter().copied().filter(|at| !other.contains(at)).collect();
            let mut all = [one.clone(), other.clone()].concat();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(a.common(&b), set(&both));
            prop_assert_eq!(a.without(&b), set(&rest));
            prop_assert_eq!(Some(a.with(&b)), set(&all));
            prop_assert_eq!(a.count(), one.len() as u64);
            prop_assert_eq!(a.extent(), u64::from(one[0])..u64::from(one[one.len() - 1]) + 1);
        }
    }
}
