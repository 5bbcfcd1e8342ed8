//! Whether commands that are recorded as independent are so: none of them writes an element that
//! another reads or writes.
//!
//! For each element that a group accesses, it is remembered which command writes it, and two that
//! read it: a third reader adds nothing, since the writer differs from one of the two. The order in
//! which the commands run does not matter then.

use std::collections::HashMap;
use std::ops::Range;

use plan::Does;

/// The accesses of the commands of one group, up to now.
#[derive(Debug, Default)]
pub struct Group {
    /// By the buffer's address.
    buffers: HashMap<u64, Vec<Known>>,
}

/// The commands that access an element: positions in the plan, from 1; 0 means none.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    writer: u32,
    readers: [u32; 2],
}

/// A buffer as the device has it.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Where it begins.
    pub address: u64,
    /// Bytes of each.
    pub element_bytes: u64,
}

/// An element that two commands access, one of them to write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// The element.
    pub element: u64,
    /// The access of the command that was added last.
    pub this: Does,
    /// The access of the other.
    pub other: Does,
}

impl Group {
    /// Adds what a command reads and writes of a buffer, in bytes from its start. Gives the first
    /// element that an earlier command must not have accessed.
    pub fn add(
        &mut self,
        command: usize,
        place: &Place,
        read: &[Range<u64>],
        written: &[Range<u64>],
    ) -> Result<(), Conflict> {
        if read.is_empty() && written.is_empty() {
            return Ok(());
        }
        let me = command as u32 + 1;
        let elements = |bytes: &Range<u64>| {
            let first = bytes.start / place.element_bytes;
            first as usize..bytes.end.div_ceil(place.element_bytes) as usize
        };
        let known = self.buffers.entry(place.address).or_default();
        let ends = [read.last(), written.last()].into_iter().flatten();
        let end = ends.map(|bytes| elements(bytes).end).max().unwrap_or(0);
        known.resize(end.max(known.len()), Known::default());
        let conflict = |element: usize, writes, other: u32, other_writes| Conflict {
            element: element as u64,
            this: Does { command, writes },
            other: Does {
                command: other as usize - 1,
                writes: other_writes,
            },
        };
        for element in written.iter().flat_map(elements) {
            let known = &mut known[element];
            if known.writer != 0 && known.writer != me {
                return Err(conflict(element, true, known.writer, true));
            }
            let reader = known
                .readers
                .into_iter()
                .find(|&reader| reader != 0 && reader != me);
            if let Some(reader) = reader {
                return Err(conflict(element, true, reader, false));
            }
            known.writer = me;
        }
        for element in read.iter().flat_map(elements) {
            let known = &mut known[element];
            if known.writer != 0 && known.writer != me {
                return Err(conflict(element, false, known.writer, true));
            }
            match known.readers {
                [0, _] => known.readers[0] = me,
                [first, 0] if first != me => known.readers[1] = me,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges are meant")]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        address: 0x100,
        element_bytes: 4,
    };

    #[test]
    fn one_command_may_do_what_it_likes_and_many_may_read() {
        let mut group = Group::default();
        group.add(4, &PLACE, &[0..8], &[4..8]).unwrap();
        group.add(4, &PLACE, &[4..8], &[0..8]).unwrap();
        for command in [0, 7, 9, 11] {
            group.add(command, &PLACE, &[8..16, 24..32], &[]).unwrap();
        }
        group.add(9, &PLACE, &[], &[16..24]).unwrap();
        let elsewhere = Place {
            address: 0x200,
            ..PLACE
        };
        group.add(9, &elsewhere, &[], &[0..32]).unwrap();
    }

    #[test]
    fn conflicts_are_found_in_either_order() {
        let does = |command, writes| Does { command, writes };
        let found = |first: (&[Range<u64>], &[Range<u64>]),
                     second: (&[Range<u64>], &[Range<u64>])| {
            let mut group = Group::default();
            group.add(1, &PLACE, first.0, first.1).unwrap();
            let conflict = group.add(2, &PLACE, second.0, second.1).unwrap_err();
            (conflict.element, conflict.other, conflict.this)
        };
        // A byte of an element is as good as all of it.
        let (read, written) = (&[5..6, 28..32][..], &[31..32][..]);
        assert_eq!(
            found((read, &[]), (&[], written)),
            (7, does(1, false), does(2, true))
        );
        assert_eq!(
            found((&[], written), (read, &[])),
            (7, does(1, true), does(2, false))
        );
        assert_eq!(
            found((&[], written), (&[], written)),
            (7, does(1, true), does(2, true))
        );
    }

    #[test]
    fn one_of_two_readers_is_found_by_the_other() {
        for writer in [3, 5] {
            let mut group = Group::default();
            for reader in [3, 5, 6] {
                group.add(reader, &PLACE, &[0..4], &[]).unwrap();
            }
            let conflict = group.add(writer, &PLACE, &[], &[0..4]).unwrap_err();
            assert_ne!(conflict.other.command, writer);
        }
    }
}
