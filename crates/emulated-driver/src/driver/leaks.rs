//! Memory that a program has not freed when its context or its process ends, and memory that it
//! frees twice.

use std::collections::BTreeMap;
use std::sync::TryLockError;

use super::{DRIVER, Driver, late, with};
use crate::caller;
use crate::objects::Handle;
use crate::objects::memory::Kind;
use crate::report::{self, CommandFault, Side};
use crate::settings::Settings;
use crate::site::Site;

/// The kind of the fault, as records have it.
const KIND: &str = "memory not freed";

/// Allocations that were made at one place.
struct Group {
    site: Site,
    allocations: u64,
    bytes: u64,
}

impl Driver {
    /// Notes where memory was allocated, if it is to be told where it was not freed.
    pub(super) fn note_allocation(&mut self, address: u64) {
        self.freed.remove(&address);
        if Settings::get().leaks {
            self.made_at.insert(address, Site::here());
        }
    }

    /// Tells the memory of a context, or of all, that was not freed: once for each place that
    /// allocated some.
    pub(super) fn tell_leaks(&mut self, context: Option<Handle>) {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for (address, site) in &self.made_at {
            let known = self.allocations.get(address).filter(|known| {
                let is_asked_for = context.is_none_or(|context| known.context == context);
                is_asked_for && matches!(known.kind, Kind::Device | Kind::Managed | Kind::Host)
            });
            let Some(known) = known else { continue };
            let place = site.place().unwrap_or_default();
            let group = groups.entry(place).or_insert_with(|| Group {
                site: site.clone(),
                allocations: 0,
                bytes: 0,
            });
            group.allocations += 1;
            group.bytes += known.bytes;
        }
        for (place, group) in groups {
            let Group {
                site,
                allocations,
                bytes,
            } = group;
            let what = match allocations {
                1 => format!("an allocation of {bytes} bytes"),
                _ => format!("{allocations} allocations of {bytes} bytes in all"),
            };
            let made = match place.as_str() {
                "" => String::new(),
                place => format!(", made at {place},"),
            };
            let end = match context {
                Some(_) => "when its context ended",
                None => "when the program ended",
            };
            let line = site.line();
            report::command_fault(&CommandFault {
                command: String::new(),
                grid: [0; 3],
                block: [0; 3],
                kind: KIND,
                text: format!("{KIND}: {what}{made} {end}"),
                places: { line.map(|line| Side { role: "made", line }) }
                    .into_iter()
                    .collect(),
            });
        }
    }

    /// Notes that memory is freed that was freed before.
    pub(crate) fn note_second_free(&self, address: u64) {
        if self.freed.contains(&address) {
            report::note(&format!(
                "memory freed twice: {address:#x} was freed before, so that this call gives \
                 CUDA_ERROR_INVALID_VALUE. Let one owner free it, or set the pointer to null"
            ));
        }
    }
}

/// The end of the process, behind what its other libraries and its own objects free.
extern "C" fn end() {
    // A process that was forked has its parent's memory.
    if !caller::is_starter() {
        return;
    }
    // A thread that holds the lock now has not come to an end.
    if matches!(DRIVER.try_lock(), Err(TryLockError::WouldBlock)) {
        return;
    }
    if Settings::get().late.is_some() {
        late::end();
    }
    let _ = with(|driver| {
        driver.tell_host_accesses();
        if Settings::get().leaks {
            driver.tell_leaks(None);
        }
        Ok(())
    });
}

#[used]
// SAFETY: the section has functions without arguments, which the system calls when it ends the
// library.
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = end;
