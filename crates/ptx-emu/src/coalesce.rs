//! How hardware serves the lanes of one memory instruction.
//!
//! # Global memory
//! A request touches whole sectors of 32 bytes; a sector counts once however many lanes use it.
//!
//! # Shared memory
//! 32 banks of 4 bytes, word `w` in bank `w % 32`. One pass serves one word of every bank, to any
//! number of lanes (broadcast). Accesses of up to 4 bytes a lane are served for the whole warp at
//! once, of 8 bytes for each half warp, of 16 bytes for each quarter warp. Lanes that are inactive
//! take no part; a group without active lanes takes no pass. A group takes as many passes as the
//! most loaded bank has distinct words. (CUDA C++ Programming Guide, "Shared memory"; CUDA C++ Best
//! Practices Guide, "Shared memory and memory banks".) Atomics are passes over lanes that share a
//! word, too: each pass updates a word once.

use std::collections::HashMap;

use crate::registers::{LANES, Row64, lanes};

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 32;
const BANKS: u32 = 32;

/// Distinct sectors of the lanes in `mask`. Accesses are aligned, so a lane lies in one sector.
pub(crate) fn sectors(addresses: &Row64, mask: u32) -> u64 {
    let mut count = 0;
    let mut last = u64::MAX;
    let mut rest = mask;
    while rest != 0 {
        let sector = addresses[rest.trailing_zeros() as usize] / SECTOR;
        if sector != last {
            if sector < last && count > 0 {
                return sectors_unordered(addresses, mask);
            }
            count += 1;
            last = sector;
        }
        rest &= rest - 1;
    }
    count
}

fn sectors_unordered(addresses: &Row64, mask: u32) -> u64 {
    let mut distinct = Few::<u64>::default();
    let sectors = lanes(mask).map(|lane| addresses[lane] / SECTOR);
    sectors.filter(|&sector| distinct.insert(sector)).count() as u64
}

/// A set of up to 32 numbers: each is in the first free place from that of its last bits on.
struct Few<T> {
    places: [T; 2 * LANES],
    /// A bit for each place that is taken.
    taken: u64,
}

impl<T: Copy + Default> Default for Few<T> {
    #[inline(always)]
    fn default() -> Self {
        Self {
            places: [T::default(); 2 * LANES],
            taken: 0,
        }
    }
}

impl<T: Copy + PartialEq + Into<u64>> Few<T> {
    /// Adds a number; false if it is there.
    #[inline(always)]
    fn insert(&mut self, number: T) -> bool {
        let count = self.places.len();
        let first = number.into() as usize;
        for place in (0..count).map(|step| first.wrapping_add(step) % count) {
            if self.taken >> place & 1 == 0 {
                self.taken |= 1 << place;
                self.places[place] = number;
                return true;
            }
            if self.places[place] == number {
                return false;
            }
        }
        true
    }
}

/// A set of sectors: for each page of 128 that has some, a bit each.
#[derive(Debug, Default)]
pub(crate) struct SectorSet {
    pages: HashMap<u64, u128>,
}

impl SectorSet {
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }

    /// Adds those of the lanes in `mask`, and says how many are new. Accesses are aligned, so a
    /// lane lies in one sector.
    pub(crate) fn add(&mut self, addresses: &Row64, mask: u32) -> u64 {
        let mut new = 0;
        let mut rest = mask;
        while rest != 0 {
            let sector = |lane: u32| addresses[lane as usize] / SECTOR;
            // The lanes from the first on that are in its page, together.
            let page = sector(rest.trailing_zeros()) / 128;
            let mut bits = 0_u128;
            while rest != 0 && sector(rest.trailing_zeros()) / 128 == page {
                bits |= 1 << (sector(rest.trailing_zeros()) % 128);
                rest &= rest - 1;
            }
            let known = self.pages.entry(page).or_default();
            new += u64::from((bits & !*known).count_ones());
            *known |= bits;
        }
        new
    }
}

/// The lanes of a mask that are served at once, group by group.
fn served_at_once(mask: u32, width: u32) -> impl Iterator<Item = u32> {
    let lanes_at_once = match width {
        0..=4 => 32,
        5..=8 => 16,
        9..=16 => 8,
        _ => 4,
    };
    let group = u32::MAX >> (32 - lanes_at_once);
    let groups = (0..32)
        .step_by(lanes_at_once)
        .map(move |first| mask & group << first);
    groups.filter(|some| *some != 0)
}

/// Passes over the banks that lanes need without conflicts.
pub(crate) fn ideal_wavefronts(mask: u32, width: u32) -> u64 {
    served_at_once(mask, width).count() as u64
}

/// Passes over the banks: those taken, and those that the same lanes need without conflicts.
pub(crate) fn wavefronts(addresses: &Row64, mask: u32, width: u32) -> (u64, u64) {
    let words = width.div_ceil(4);
    let taken = served_at_once(mask, width).map(|group| group_wavefronts(addresses, group, words));
    (taken.sum(), ideal_wavefronts(mask, width))
}

/// Passes for lanes served at once; each lane accesses `words` words.
fn group_wavefronts(addresses: &Row64, group: u32, words: u32) -> u64 {
    let mut first = [0u32; BANKS as usize];
    let mut used = 0u32;
    for lane in lanes(group) {
        let word = (addresses[lane] >> 2) as u32;
        for each in word..word + words {
            let bank = each % BANKS;
            if used >> bank & 1 == 0 {
                used |= 1 << bank;
                first[bank as usize] = each;
            } else if first[bank as usize] != each {
                return conflicting_wavefronts(addresses, group, words);
            }
        }
    }
    1
}

/// Lanes served at once access 32 words at most.
fn conflicting_wavefronts(addresses: &Row64, group: u32, words: u32) -> u64 {
    let mut distinct = Few::<u32>::default();
    let mut loads = [0u8; BANKS as usize];
    for lane in lanes(group) {
        let word = (addresses[lane] >> 2) as u32;
        for each in word..word + words {
            loads[(each % BANKS) as usize] += u8::from(distinct.insert(each));
        }
    }
    loads.into_iter().max().unwrap_or(0).into()
}

/// Passes of an atomic on shared memory: the most updates that one bank has.
pub(crate) fn atomic_wavefronts(addresses: &Row64, mask: u32) -> u64 {
    let mut loads = [0; BANKS as usize];
    for lane in lanes(mask) {
        loads[((addresses[lane] >> 2) % u64::from(BANKS)) as usize] += 1;
    }
    loads.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> Row64 {
        std::array::from_fn(|lane| lane as u64 * stride)
    }

    #[test]
    fn sectors_of_strides() {
        assert_eq!(sectors(&strided(4), u32::MAX), 4);
        assert_eq!(sectors(&strided(8), u32::MAX), 8);
        assert_eq!(sectors(&strided(32), u32::MAX), 32);
        assert_eq!(sectors(&strided(128), u32::MAX), 32);
        assert_eq!(sectors(&strided(0), u32::MAX), 1);
        assert_eq!(sectors(&strided(4), 0xffff), 2);
        // Shifted by one element: one sector more.
        assert_eq!(sectors(&strided(4).map(|a| a + 4), u32::MAX), 5);
    }

    #[test]
    fn sectors_in_any_order() {
        let mut reversed = strided(4);
        reversed.reverse();
        assert_eq!(sectors(&reversed, u32::MAX), 4);
        let alternating = std::array::from_fn(|lane| lane as u64 % 2 * 4096);
        assert_eq!(sectors(&alternating, u32::MAX), 2);
        // All have the last bits in common.
        let mut far = strided(SECTOR * 64);
        far.swap(0, 31);
        assert_eq!(sectors(&far, u32::MAX), 32);
    }

    #[test]
    fn a_sector_is_new_once() {
        let mut set = SectorSet::default();
        assert_eq!(set.add(&strided(4), u32::MAX), 4);
        assert_eq!(set.add(&strided(4), 0xff), 0);
        assert_eq!(set.add(&strided(4).map(|a| a + 4), u32::MAX), 1);
        // Pages of 4 KiB, back and forth; one of the sectors is there already.
        let pages = std::array::from_fn(|lane| lane as u64 % 2 * 4096 + lane as u64 / 2 * 128);
        assert_eq!(set.add(&pages, u32::MAX), 30);
        assert_eq!(set.add(&pages, u32::MAX), 0);
        set.clear();
        assert_eq!(set.add(&pages, u32::MAX), 32);
    }

    #[test]
    fn bank_conflicts_of_words() {
        assert_eq!(wavefronts(&strided(4), u32::MAX, 4), (1, 1));
        assert_eq!(wavefronts(&strided(8), u32::MAX, 4), (2, 1));
        assert_eq!(wavefronts(&strided(12), u32::MAX, 4), (1, 1));
        assert_eq!(wavefronts(&strided(128), u32::MAX, 4), (32, 1));
        assert_eq!(wavefronts(&strided(132), u32::MAX, 4), (1, 1));
        assert_eq!(wavefronts(&strided(0), u32::MAX, 4), (1, 1));
        // Bytes of one word are a broadcast.
        assert_eq!(wavefronts(&strided(1), u32::MAX, 1), (1, 1));
        assert_eq!(wavefronts(&strided(128), 0b11, 4), (2, 1));
    }

    #[test]
    fn bank_conflicts_of_wide_accesses() {
        assert_eq!(wavefronts(&strided(8), u32::MAX, 8), (2, 2));
        assert_eq!(wavefronts(&strided(16), u32::MAX, 8), (4, 2));
        assert_eq!(wavefronts(&strided(16), u32::MAX, 16), (4, 4));
        assert_eq!(wavefronts(&strided(32), u32::MAX, 16), (8, 4));
        assert_eq!(wavefronts(&strided(8), 0xffff, 8), (1, 1));
    }

    #[test]
    fn atomics_serialise_on_a_word() {
        assert_eq!(atomic_wavefronts(&strided(0), u32::MAX), 32);
        assert_eq!(atomic_wavefronts(&strided(4), u32::MAX), 1);
    }
}
