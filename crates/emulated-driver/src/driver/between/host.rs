//! Accesses of the host to page-locked and managed memory, while a command that accesses it is not
//! known to be done.
//!
//! Such memory is guarded (`guard.rs`) from the command on until the host waits for it: pages of an
//! allocation whose bytes the command accesses all, so that every access of the program to them
//! races; those that it only reads, against writes. Rule: asynchronous commands may be under way
//! when their call returns, and managed memory that a kernel accesses is the host's again when it
//! has synchronised (Programming Guide, 2.3 "Asynchronous Execution", and "Unified Memory").
//!
//! Memory that the program has registered is its own, and not guarded.

use std::ops::Range;

use command_order::{Manners, Stamp};
use rustix::param::page_size;

use super::super::{Driver, is_device_address};
use super::guards::Guard;
use super::{Between, told};
use crate::guard::{self, Did, Met};
use crate::objects::memory::{Allocation, Kind};
use crate::report::{self, Side};
use crate::settings::Settings;

/// The kind of the fault, as records have it.
const KIND: &str = "race with the host";

const RULE: &str = "rule: a command may be under way when its call has returned, until the host \
                    has synchronised (CUDA Programming Guide, 2.3 \"Asynchronous Execution\")";

/// Whether an allocation is one that can be guarded.
fn is_guarded(address: u64, allocation: &Allocation) -> bool {
    matches!(allocation.kind, Kind::Host | Kind::Managed) && is_device_address(address)
}

/// The pages of an allocation.
fn pages_of(address: u64, allocation: &Allocation) -> Range<u64> {
    address..(address + allocation.bytes).next_multiple_of(page_size() as u64)
}

impl Driver {
    /// Notes memory that may be guarded.
    pub(crate) fn may_guard(&mut self, address: u64) {
        let Some(known) = self.allocations.get(&address) else {
            return;
        };
        if Settings::get().host_accesses && is_guarded(address, known) {
            guard::add(&pages_of(address, known));
            // Without a second stream too, the host may be early.
            self.compare_commands();
        }
    }

    /// Ends that of memory, which is to be freed.
    pub(crate) fn forget_guards(&mut self, range: &Range<u64>) {
        self.between.guards.forget(range);
        guard::remove(range.start);
    }

    /// Guards what a copy or a fill in a stream accesses: bytes that lie together.
    pub(super) fn guard_range(&mut self, stamp: Stamp, is_written: bool, range: &Range<u64>) {
        let Some((address, known)) = self.allocation(range.start) else {
            return;
        };
        if !Settings::get().host_accesses || !is_guarded(address, known) {
            return;
        }
        let page = page_size() as u64;
        let end = address + known.bytes;
        // The rest of its last page is not of another allocation.
        let last = if range.end >= end {
            end.next_multiple_of(page)
        } else {
            range.end / page * page
        };
        let pages = range.start.next_multiple_of(page)..last;
        if !pages.is_empty() && !self.between.commands.is_known(stamp) {
            self.between.guards.add(&Guard {
                pages,
                is_written,
                stamp,
            });
        }
    }

    /// Guards nothing that there is now.
    pub(crate) fn open_all(&mut self) {
        self.between.guards.open_all();
    }

    /// Closes memory again that a command of its own has opened.
    pub(crate) fn close_again(&mut self) {
        for start in guard::take_opened() {
            if let Some(known) = self.allocations.get(&start) {
                self.between.guards.close(&pages_of(start, known));
            }
        }
    }

    /// Opens what is guarded for commands that the host knows to be done.
    pub(super) fn open_known(&mut self) {
        let Between {
            guards, commands, ..
        } = &mut self.between;
        guards.open_done(|stamp| commands.is_known(stamp));
    }

    /// Tells the accesses of the program that have met a guard.
    pub(crate) fn tell_host_accesses(&mut self) {
        for met in guard::take_met() {
            self.tell_host_access(&met);
        }
    }

    fn tell_host_access(&mut self, met: &Met) {
        let manners = match met.did {
            Did::Write => Manners::WRITES,
            Did::Read | Did::Either => Manners::READS,
        };
        let byte = met.address..met.address + 1;
        let commands = &self.between.commands;
        let conflicts = commands.conflicts_of_host(manners, byte);
        let earlier = conflicts
            .first()
            .and_then(|found| Some((found.manners, commands.label(found.earlier)?.clone())));
        let Some((theirs, label)) = earlier else {
            return;
        };
        let Some((buffer, allocation)) = self.allocation(met.address) else {
            return;
        };
        let bytes = allocation.bytes;
        let place = met
            .site
            .place()
            .map_or(String::new(), |place| format!(" at {place}"));
        let name = told::name(&label);
        let key = (name.clone(), format!("the host{place}"), buffer);
        if !self.between.told.insert(key) {
            return;
        }
        let does = match met.did {
            Did::Read => "reads",
            Did::Write => "writes",
            Did::Either => "accesses",
        };
        let at = met.address - buffer;
        let named = self.machine.buffer_at(buffer).unwrap_or("a buffer");
        let between = &self.between;
        let (theirs, stream) = (told::verb(theirs), between.stream_name(label.sent.lane));
        let mut lines = vec![
            format!(
                "{KIND}: the program {does} memory that {name} {theirs}, and has not waited for it"
            ),
            format!("byte {at} of {named}, {bytes} bytes at {buffer:#x}"),
        ];
        lines.extend(between.lines_of("first", &label));
        lines.push(format!("then: the program itself{place}"));
        lines.push(format!(
            "to order them: call cudaStreamSynchronize for {stream} behind {}, or cudaEventSynchronize for an event that is recorded there",
            told::short(&label)
        ));
        lines.push(RULE.to_owned());
        let line = met.site.line();
        let then = line.map(|line| Side { role: "then", line });
        let places = then.into_iter().chain(told::side("first", &label));
        report::command_fault(&told::fault_of(&label, KIND, &lines, places.collect()));
    }
}
