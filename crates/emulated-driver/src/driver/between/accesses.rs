//! The bytes that commands access.

use std::ops::Range;

use command_order::{Chain, Manners, PAGE_BYTES, PageBits, Stamp};

use super::super::Driver;
use super::{Begun, Between, told};
use crate::code::Outcome;
use crate::objects::copy::Fill;
use crate::objects::memory::Kind;
use crate::objects::work::Work;

const _: () = assert!(PAGE_BYTES == ptx_emu::PAGE_BYTES);

/// The memory that an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryOf {
    Device,
    Managed,
    /// Page-locked memory of the host.
    Pinned,
    Pageable,
}

/// For what a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostWaits {
    UntilDone,
    /// Until the stream has done its earlier work, and the copy has left pageable memory.
    UntilStaged,
    Never,
}

/// Where the values of conditional handles are for the order of commands: no memory is there.
const CONDITIONS: u64 = 1 << 62;

/// The bytes that stand for the value of a conditional handle.
fn condition(handle: u64) -> Range<u64> {
    let start = CONDITIONS + 8 * handle;
    start..start + 4
}

/// The conditional handle whose value bytes stand for, if they do.
pub(super) fn condition_at(address: u64) -> Option<u64> {
    (address >= CONDITIONS).then(|| (address - CONDITIONS) / 8)
}

/// Conditional nodes of graphs. Their values are between kernels and nodes as memory is.
impl Between {
    /// A kernel has set the values of handles. Two kernels that set one do not race: which of them
    /// is the last may not matter.
    pub(in crate::driver) fn sets(&mut self, begun: Option<&Begun>, handles: &[u64]) {
        if let Some(stamp) = begun.and_then(|begun| begun.stamp) {
            for handle in handles {
                self.commands
                    .access(stamp, Manners::WRITES_STRONGLY, condition(*handle));
            }
        }
    }

    /// A conditional node looks at the value of its handle.
    pub(in crate::driver) fn looks_at(&mut self, begun: Option<&Begun>, handle: u64) {
        if let Some(stamp) = begun.and_then(|begun| begun.stamp) {
            self.commands
                .access(stamp, Manners::READS, condition(handle));
        }
    }
}

impl Driver {
    pub(crate) fn memory_of(&self, address: u64) -> MemoryOf {
        match self.allocation(address).map(|(_, known)| known.kind) {
            Some(Kind::Device | Kind::Variable) => MemoryOf::Device,
            Some(Kind::Managed) => MemoryOf::Managed,
            Some(Kind::Host | Kind::Registered) => MemoryOf::Pinned,
            None if self.of_graph(address).is_some() => MemoryOf::Device,
            None => MemoryOf::Pageable,
        }
    }

    /// For what a call that copies or fills waits, without a stream: see `mod.rs`.
    pub(crate) fn waits_for(&self, work: &Work) -> HostWaits {
        let memory = |address| self.memory_of(address);
        match work {
            Work::Copy(copy) => match (memory(copy.from.address), memory(copy.to.address)) {
                (MemoryOf::Device, MemoryOf::Device) => HostWaits::Never,
                (MemoryOf::Pageable, MemoryOf::Device) => HostWaits::UntilStaged,
                _ => HostWaits::UntilDone,
            },
            Work::Fill(fill) if memory(fill.to) == MemoryOf::Device => HostWaits::Never,
            _ => HostWaits::UntilDone,
        }
    }

    /// Notes what a command has accessed. Memory that is the program's own alone is not looked at.
    pub(super) fn note_accesses(&mut self, work: &Work, chain: Chain, stamp: Stamp) -> Outcome {
        match work {
            Work::Launch(_) => return self.note_pages(chain, stamp),
            Work::Copy(copy) | Work::Staged(copy, _) if !copy.is_empty() => {
                for (from, to) in copy.rows() {
                    self.note_range(stamp, Manners::READS, from..from + copy.width);
                    self.note_range(stamp, Manners::WRITES, to..to + copy.width);
                }
            }
            Work::Fill(fill) => {
                for row in rows(fill) {
                    self.note_range(stamp, Manners::WRITES, row);
                }
            }
            Work::WriteValue { address, bytes, .. } => {
                let word = *address..address + u64::from(*bytes);
                self.note_range(stamp, Manners::WRITES_STRONGLY, word);
                if self.memory_of(*address) != MemoryOf::Device {
                    // The host may wait for the value.
                    self.between.commands.host_waits_for(chain);
                }
            }
            Work::WaitValue { address, bytes, .. } => {
                let word = *address..address + u64::from(*bytes);
                self.note_range(stamp, Manners::READS_STRONGLY, word);
            }
            _ => {}
        }
        Ok(())
    }

    fn note_range(&mut self, stamp: Stamp, manners: Manners, range: Range<u64>) {
        if self.overlaps(range.start, range.end - range.start) {
            self.between.commands.access(stamp, manners, range);
        }
    }

    /// Notes what the latest launch has accessed, of the program's allocations: the emulator has
    /// memory of its own, as for `malloc`.
    fn note_pages(&mut self, chain: Chain, stamp: Stamp) -> Outcome {
        let own_device = self.device_of_command(stamp);
        let Driver {
            machine,
            allocations,
            between,
            ..
        } = self;
        let mut known = 0..0;
        let mut tells_host = false;
        // Pages of memory that the host has too, of which the kernel accesses every byte.
        let mut whole: Vec<(u64, bool)> = Vec::new();
        // An access to memory of another device.
        let mut foreign = None;
        machine.take_accessed_pages(|page| {
            let own = page.address..page.address + PAGE_BYTES;
            if !(known.start <= own.start && own.end <= known.end) {
                let before = allocations.range(..own.end).next_back();
                let Some((start, allocation)) =
                    before.filter(|(start, allocation)| *start + allocation.bytes > own.start)
                else {
                    return;
                };
                known = *start..start + allocation.bytes;
            }
            let manners = match (page.writes, page.is_strong) {
                (false, false) => Manners::READS,
                (true, false) => Manners::WRITES,
                (false, true) => Manners::READS_STRONGLY,
                (true, true) => Manners::WRITES_STRONGLY,
            };
            let commands = &mut between.commands;
            commands.access_bits(stamp, manners, page.address, &page.bytes);
            let found = allocations.get(&known.start);
            if foreign.is_none() && found.is_some_and(|found| Some(found.device) != own_device) {
                let first = page.bytes.iter().position(|word| *word != 0).unwrap_or(0);
                let bit = page.bytes[first].trailing_zeros();
                foreign = Some((
                    page.address + 64 * first as u64 + u64::from(bit),
                    page.writes,
                ));
            }
            let kind = found.map(|allocation| allocation.kind);
            if matches!(kind, None | Some(Kind::Device | Kind::Variable)) {
                return;
            }
            tells_host |= manners == Manners::WRITES_STRONGLY;
            if !page.is_strong && has_all(&page.bytes, known.end.min(own.end) - own.start) {
                whole.push((own.start, page.writes));
            }
        });
        if tells_host {
            between.commands.host_waits_for(chain);
        }
        // One that has fences may tell the host by a store of any kind.
        let label = self.between.commands.label(stamp);
        let tells_host = tells_host || label.is_some_and(told::has_fences);
        for (first, is_written) in whole.into_iter().filter(|_| !tells_host) {
            self.guard_range(stamp, is_written, &(first..first + PAGE_BYTES));
        }
        match foreign {
            Some((address, writes)) => self.refuse_foreign(stamp, address, writes),
            None => Ok(()),
        }
    }

    /// Guards memory of the host that a command in a stream accesses, which the host has not waited
    /// for when the call returns.
    pub(super) fn guard_against_host(&mut self, work: &Work, stamp: Stamp) {
        let is_of_host = |address| {
            matches!(
                self.memory_of(address),
                MemoryOf::Pinned | MemoryOf::Pageable
            )
        };
        let ranges: Vec<(bool, Range<u64>)> = match work {
            // A copy from host to host is done when its call returns.
            Work::Copy(copy)
                if copy.is_empty()
                    || is_of_host(copy.from.address) && is_of_host(copy.to.address) =>
            {
                return;
            }
            Work::Copy(copy) => {
                let sides = |(from, to)| {
                    [
                        (false, from..from + copy.width),
                        (true, to..to + copy.width),
                    ]
                };
                copy.rows().flat_map(sides).collect()
            }
            Work::Fill(fill) => rows(fill).map(|row| (true, row)).collect(),
            _ => return,
        };
        for (is_written, range) in ranges {
            self.guard_range(stamp, is_written, &range);
        }
    }
}

/// Whether the first bytes of a page are all there.
fn has_all(bits: &PageBits, count: u64) -> bool {
    let whole = (count / 64) as usize;
    let rest = (1u64 << (count % 64)) - 1;
    bits[..whole].iter().all(|word| *word == u64::MAX) && (rest == 0 || bits[whole] & rest == rest)
}

fn rows(fill: &Fill) -> impl Iterator<Item = Range<u64>> + use<> {
    let Fill {
        to,
        pitch,
        element,
        width,
        height,
        ..
    } = *fill;
    let bytes = width * element;
    let rows = if bytes == 0 { 0 } else { height };
    (0..rows).map(move |row| to + row * pitch..to + row * pitch + bytes)
}
