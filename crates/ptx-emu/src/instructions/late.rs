//! Strong accesses in orders in which stores arrive late: see `views`.

use std::cell::{Cell, RefCell};

use super::elements::Elements;
use crate::access::Region;
use crate::memory::byte_mask;
use crate::registers::Registers;
use crate::request::Request;
use crate::runner::BlockRunner;
use crate::views::{Map, Place, Reach, Reader, Views};

impl<'a> BlockRunner<'a> {
    /// The views that an access to this kind of memory follows, if it is a strong one.
    #[inline(always)]
    pub(super) fn views_of<R: Region>(&self, request: &Request) -> Option<&'a Views> {
        let views = self.launch.views.as_ref().filter(|_| request.strong)?;
        // Blocks of a cluster share their memory.
        let is_common = R::IS_GLOBAL || !R::IS_OWN && self.launch.cluster_blocks() == 1;
        is_common.then_some(views)
    }

    /// A warp of the running block.
    pub(crate) fn reader(&self, warp: usize) -> Reader {
        (self.block.index, warp)
    }

    /// Where a word of this kind of memory lies.
    pub(super) fn place<R: Region>(&self, address: u64, bytes: u32) -> Place {
        Place {
            block: (!R::IS_GLOBAL).then_some(self.block.index),
            address,
            bytes,
        }
    }

    /// Notes that a warp of the running block has waited for others.
    pub(crate) fn see_all(&self, warp: usize) {
        if let Some(views) = &self.launch.views {
            views.see_all(self.reader(warp));
        }
    }
}

/// Loads each element from a message that the warp may read.
#[inline(never)]
pub(super) fn load<R: Region>(
    elements: &Elements,
    (views, acquires): (&Views, Option<Reach>),
    runner: &mut BlockRunner,
    registers: &mut Registers,
    region: &R,
    request: &Request,
) {
    let (by, bytes) = (runner.reader(request.warp), elements.bytes);
    let is_late = Cell::new(false);
    // Lanes that load one word together see one value, as hardware has it.
    let seen: RefCell<Map<Place, u64>> = RefCell::default();
    elements.gather(registers, request.mask, |lane, k| {
        let address = request.addresses[lane] + k;
        let latest = region.load_strong(lane, address - region.base(), bytes);
        let place = runner.place::<R>(address, bytes);
        let choose = || views.load(by, place, latest, acquires);
        let value = *seen.borrow_mut().entry(place).or_insert_with(choose);
        is_late.set(is_late.get() || value != latest);
        value
    });
    runner.turn.has_read_late |= is_late.get();
}

/// Notes that the words which are about to be stored have new values, and older ones that others
/// may still read.
#[inline(never)]
pub(super) fn store<R: Region>(
    elements: &Elements,
    (views, releases): (&Views, Option<Reach>),
    runner: &BlockRunner,
    registers: &Registers,
    region: &R,
    request: &Request,
) {
    let (by, bytes) = (runner.reader(request.warp), elements.bytes);
    // Several lanes may store to one word.
    let mut stored: Map<Place, u64> = Map::default();
    elements.scatter(registers, request.mask, |lane, k, value| {
        let address = request.addresses[lane] + k;
        let place = runner.place::<R>(address, bytes);
        let new = value & byte_mask(bytes);
        let before = stored.insert(place, new);
        let old = before.unwrap_or_else(|| region.load(lane, address - region.base(), bytes));
        views.store(by, place, (old, new), releases);
    });
}
