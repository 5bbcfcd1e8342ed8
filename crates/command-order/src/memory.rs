//! The latest accesses of every byte, and the conflicts of a new one with them.
//!
//! A page is parted into pieces: bytes that the same commands accessed in the same manner. A new
//! access parts those further that it lies in a part of. Where a program accesses buffers as a
//! whole there is one piece in a page, however many bytes lie apart between its accesses.

use std::collections::HashMap;
use std::ops::{BitOr, BitOrAssign, Range};

use foldhash::fast::FixedState;

use crate::bytes::{Bytes, PAGE_BYTES, PageBits};
use crate::clock::Stamp;

/// How a command accesses bytes: a set of manners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Manners(u8);

impl Manners {
    /// It reads them.
    pub const READS: Manners = Manners(1);
    /// It writes them.
    pub const WRITES: Manners = Manners(2);
    /// It reads them by accesses that may meet others of this kind: atomics, volatile and relaxed
    /// ones.
    pub const READS_STRONGLY: Manners = Manners(4);
    /// It writes them by such accesses.
    pub const WRITES_STRONGLY: Manners = Manners(8);

    /// The manners that conflict with one of these: one of the two writes, and not both are strong.
    fn against(self) -> u8 {
        const STRONG: u8 = 12;
        const WRITES: u8 = 10;
        const ALL: u8 = 15;
        let of = |manner: Manners, against: u8| {
            if self.0 & manner.0 == 0 { 0 } else { against }
        };
        of(Manners::READS, WRITES)
            | of(Manners::WRITES, ALL)
            | of(Manners::READS_STRONGLY, WRITES & !STRONG)
            | of(Manners::WRITES_STRONGLY, ALL & !STRONG)
    }

    /// Whether accesses in these manners to the same bytes need an order.
    #[must_use]
    pub fn conflict_with(self, other: Manners) -> bool {
        self.against() & other.0 != 0
    }

    /// Whether all that conflicts with the other conflicts with this.
    fn covers(self, other: Manners) -> bool {
        other.against() & !self.against() == 0
    }

    /// Whether this, a later access, may see what the other, a strong one, has written.
    fn sees(self, earlier: Manners) -> bool {
        self.0 & Manners::READS_STRONGLY.0 != 0 && earlier.0 & Manners::WRITES_STRONGLY.0 != 0
    }

    /// Whether it writes.
    #[must_use]
    pub fn write(self) -> bool {
        self.0 & (Manners::WRITES.0 | Manners::WRITES_STRONGLY.0) != 0
    }

    /// Whether it reads.
    #[must_use]
    pub fn read(self) -> bool {
        self.0 & (Manners::READS.0 | Manners::READS_STRONGLY.0) != 0
    }
}

impl BitOr for Manners {
    type Output = Manners;

    fn bitor(self, other: Manners) -> Manners {
        Manners(self.0 | other.0)
    }
}

impl BitOrAssign for Manners {
    fn bitor_assign(&mut self, other: Manners) {
        self.0 |= other.0;
    }
}

/// An access of a command to all bytes of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    stamp: Stamp,
    manners: Manners,
}

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    accesses: Vec<Access>,
}

/// A conflict of a command with an earlier one that nothing orders before it, in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The earlier command.
    pub earlier: Stamp,
    /// How that accesses the bytes.
    pub manners: Manners,
    /// How the later one does.
    pub by: Manners,
    /// The addresses of the first of the bytes, and behind the last.
    pub extent: Range<u64>,
    /// How many bytes there are.
    pub bytes: u64,
}

/// The latest accesses.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pages: HashMap<u64, Vec<Piece>, FixedState>,
}

/// A new access to some bytes.
pub(crate) struct New<'a, B, F> {
    /// The commands whose strong writes it may see.
    pub(crate) seen: &'a mut Vec<Stamp>,
    pub(crate) stamp: Stamp,
    pub(crate) manners: Manners,
    /// Whether an earlier command is done before this one.
    pub(crate) is_before: &'a B,
    pub(crate) found: &'a mut F,
}

impl Memory {
    pub(crate) fn clear(&mut self) {
        self.pages = HashMap::default();
    }

    /// Adds an access to a range of addresses.
    pub(crate) fn add_range<B, F>(&mut self, range: Range<u64>, new: &mut New<'_, B, F>)
    where
        B: Fn(Stamp) -> bool,
        F: FnMut(Conflict),
    {
        let mut at = range.start;
        while at < range.end {
            let page = at / PAGE_BYTES;
            let end = range.end.min((page + 1) * PAGE_BYTES);
            let bytes = Bytes::range(at % PAGE_BYTES..end - page * PAGE_BYTES);
            self.add(page, bytes, new);
            at = end;
        }
    }

    /// Adds an access to bytes of the page at an address.
    pub(crate) fn add_bits<B, F>(&mut self, address: u64, bits: &PageBits, new: &mut New<'_, B, F>)
    where
        B: Fn(Stamp) -> bool,
        F: FnMut(Conflict),
    {
        if let Some(bytes) = Bytes::of(bits) {
            self.add(address / PAGE_BYTES, bytes, new);
        }
    }

    fn add<B, F>(&mut self, page: u64, bytes: Bytes, new: &mut New<'_, B, F>)
    where
        B: Fn(Stamp) -> bool,
        F: FnMut(Conflict),
    {
        let pieces = self.pages.entry(page).or_default();
        let mut left = Some(bytes);
        let mut parted: Vec<Piece> = Vec::new();
        let mut index = 0;
        while index < pieces.len() {
            let Some(wanted) = &left else { break };
            let Some(common) = pieces[index].bytes.common(wanted) else {
                index += 1;
                continue;
            };
            left = wanted.without(&common);
            let before = pieces[index].accesses.clone();
            let accesses = new.meet(page, &common, before);
            if accesses == pieces[index].accesses {
                index += 1;
                continue;
            }
            match pieces[index].bytes.without(&common) {
                None => drop(pieces.swap_remove(index)),
                Some(rest) => {
                    pieces[index].bytes = rest;
                    index += 1;
                }
            }
            parted.push(Piece {
                bytes: common,
                accesses,
            });
        }
        if let Some(rest) = left {
            let access = Access {
                stamp: new.stamp,
                manners: new.manners,
            };
            parted.push(Piece {
                bytes: rest,
                accesses: vec![access],
            });
        }
        for piece in parted {
            let same = |known: &&mut Piece| known.accesses == piece.accesses;
            match pieces.iter_mut().find(same) {
                Some(known) => known.bytes = known.bytes.with(&piece.bytes),
                None => pieces.push(piece),
            }
        }
    }

    /// The conflicts of something with all accesses to a range, which are forgotten: the range is
    /// no memory any more.
    pub(crate) fn end<B, F>(&mut self, range: Range<u64>, is_before: &B, found: &mut F)
    where
        B: Fn(Stamp) -> bool,
        F: FnMut(Conflict),
    {
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        // A large buffer has more pages than were touched, if it was hardly used.
        let touched: Vec<u64> = if (self.pages.len() as u64) < pages.end - pages.start {
            let known = self.pages.keys().copied();
            known.filter(|page| pages.contains(page)).collect()
        } else {
            pages.collect()
        };
        for page in touched {
            let Some(pieces) = self.pages.get_mut(&page) else {
                continue;
            };
            let first = page * PAGE_BYTES;
            let own = Bytes::range(
                range.start.max(first) - first..range.end.min(first + PAGE_BYTES) - first,
            );
            pieces.retain_mut(|piece| {
                let Some(common) = piece.bytes.common(&own) else {
                    return true;
                };
                for access in piece
                    .accesses
                    .iter()
                    .filter(|access| !is_before(access.stamp))
                {
                    found(Conflict {
                        earlier: access.stamp,
                        manners: access.manners,
                        by: Manners::default(),
                        extent: moved(common.extent(), first),
                        bytes: common.count(),
                    });
                }
                match piece.bytes.without(&own) {
                    None => false,
                    Some(rest) => {
                        piece.bytes = rest;
                        true
                    }
                }
            });
            if pieces.is_empty() {
                self.pages.remove(&page);
            }
        }
    }

    /// The latest accesses to some of these bytes, each with those bytes.
    fn latest(&self, range: Range<u64>) -> impl Iterator<Item = (u64, Bytes, Access)> + '_ {
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        pages.flat_map(move |page| {
            let first = page * PAGE_BYTES;
            let own = Bytes::range(
                range.start.max(first) - first..range.end.min(first + PAGE_BYTES) - first,
            );
            let pieces = self.pages.get(&page).into_iter().flatten();
            pieces.flat_map(move |piece| {
                let common = piece.bytes.common(&own).into_iter();
                common.flat_map(move |bytes| {
                    let each = move |access: &Access| (first, bytes.clone(), *access);
                    piece.accesses.iter().map(each)
                })
            })
        })
    }

    /// The commands that have written one of these bytes latest, in any manner.
    pub(crate) fn writers(&self, range: Range<u64>) -> Vec<Stamp> {
        let written = { self.latest(range) }.filter(|(.., access)| access.manners.write());
        written.map(|(.., access)| access.stamp).collect()
    }

    /// The conflicts of an access in this manner to a range with the latest ones that are not done.
    pub(crate) fn conflicts(
        &self,
        manners: Manners,
        range: Range<u64>,
        is_done: impl Fn(Stamp) -> bool,
    ) -> Vec<Conflict> {
        let all = self
            .latest(range)
            .filter(|(.., access)| access.manners.conflict_with(manners) && !is_done(access.stamp));
        let conflicts = all.map(|(first, bytes, access)| Conflict {
            earlier: access.stamp,
            manners: access.manners,
            by: manners,
            extent: moved(bytes.extent(), first),
            bytes: bytes.count(),
        });
        conflicts.collect()
    }
}

fn moved(range: Range<u64>, by: u64) -> Range<u64> {
    range.start + by..range.end + by
}

impl<B, F> New<'_, B, F>
where
    B: Fn(Stamp) -> bool,
    F: FnMut(Conflict),
{
    /// Tells the conflicts with earlier accesses to these bytes, and gives those that a later
    /// access must be compared with, this one among them.
    ///
    /// One that is done before this one is left out if all that conflicts with it conflicts with
    /// this one: a later command that is not behind it is not behind this one either.
    fn meet(&mut self, page: u64, bytes: &Bytes, mut accesses: Vec<Access>) -> Vec<Access> {
        let own = self.stamp;
        let mut manners = self.manners;
        for access in &accesses {
            if access.stamp == own {
                manners |= access.manners;
            }
        }
        accesses.retain(|access| {
            if access.stamp == own {
                return false;
            }
            if (self.is_before)(access.stamp) {
                return !manners.covers(access.manners);
            }
            if self.manners.sees(access.manners) && !self.seen.contains(&access.stamp) {
                self.seen.push(access.stamp);
            }
            if self.manners.conflict_with(access.manners) {
                (self.found)(Conflict {
                    earlier: access.stamp,
                    manners: access.manners,
                    by: self.manners,
                    extent: moved(bytes.extent(), page * PAGE_BYTES),
                    bytes: bytes.count(),
                });
            }
            true
        });
        accesses.push(Access {
            stamp: own,
            manners,
        });
        accesses
    }
}
