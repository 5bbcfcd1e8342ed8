//! The checks that hardware makes of an access: its alignment, and that it stays inside its memory.

use ptx::Space;

use super::region::Region;
use crate::address_origin::ArrayBounds;
use crate::check::race::Strength;
use crate::config::Sanitize;
use crate::fault::{FaultKind, Location, Stop, Stray, WidenedLoad};
use crate::memory::global::{Buffer, State};
use crate::memory::shared::SharedMemory;
use crate::memory::{NULL_LIMIT, rank_of};
use crate::registers::{lanes, lanes_where};
use crate::request::{Request, Span};
use crate::runner::{BlockRunner, Op};

impl<'a> BlockRunner<'a> {
    /// Checks that every lane's address is a multiple of the width. `shared`: the shared memory
    /// that the addresses are offsets in, if they are.
    pub(crate) fn check_alignment(
        &self,
        request: &Request,
        span: &Span,
        shared: Option<&SharedMemory>,
    ) -> Result<(), Stop> {
        if span.is_aligned(request.width) {
            return Ok(());
        }
        let misaligned =
            |lane: &usize| !request.addresses[*lane].is_multiple_of(u64::from(request.width));
        let lane = lanes(request.mask).find(misaligned).unwrap_or(0);
        let address = request.addresses[lane];
        let location = match shared {
            Some(shared) => Some(shared.location(self.launch, address)),
            None => {
                let buffer = self.launch.memory.find(address, 1);
                buffer.map(|buffer| Location::Buffer {
                    name: buffer.name.clone(),
                    offset: buffer.place(address - buffer.base),
                })
            }
        };
        let kind = FaultKind::Misaligned {
            access: request.access(),
            address,
            location,
        };
        Err(self.fault(request.thread(lane), request.pc, kind))
    }

    /// The buffer of the first lane of `rest`, and all lanes of `rest` that lie in it.
    #[inline]
    pub(crate) fn buffer(
        &self,
        request: &Request,
        rest: u32,
        span: &Span,
    ) -> Result<(&'a Buffer, u32), Stop> {
        let memory = self.launch.memory;
        let width = u64::from(request.width);
        // An address so high that the sum wraps is in no buffer.
        if let Some(bytes) = (span.max - span.min).checked_add(width)
            && let Some(buffer) = memory.find(span.min, bytes)
        {
            return Ok((buffer, rest));
        }
        let first = rest.trailing_zeros() as usize;
        let Some(buffer) = memory.find(request.addresses[first], width) else {
            return match self.rest_of_word(request, first) {
                Some(buffer) => Ok((buffer, 1 << first)),
                None => Err(self.stray(request, first)),
            };
        };
        let inside = |lane: usize| buffer.holds(request.addresses[lane], width);
        Ok((buffer, lanes_where(rest, inside)))
    }

    /// The buffer whose last word an atomic that may be of a part of it goes to, past the buffer's
    /// end: the word has memory. A buffer of one `AtomicBool` has one byte.
    fn rest_of_word(&self, request: &Request, lane: usize) -> Option<&'a Buffer> {
        if !self.may_be_of_part(request) {
            return None;
        }
        let address = request.addresses[lane];
        let buffer = self.launch.memory.find(address, 1)?;
        let end = buffer.bytes.next_multiple_of(Strength::WORD.into());
        (address - buffer.base + u64::from(request.width) <= end).then_some(buffer)
    }

    fn may_be_of_part(&self, request: &Request) -> bool {
        let info = &self.launch.code.infos[request.pc as usize];
        info.strength.is_of_part
    }

    /// Checks that all lanes lie in shared memory, and in the array that the address is of.
    pub(crate) fn check_shared(&self, request: &Request, span: &Span) -> Result<(), Stop> {
        let width = u64::from(request.width);
        if self.block.shared.contains(span.max, width) {
            return match self.launch.code.infos[request.pc as usize].base.array {
                Some(array)
                    if !array.contains(span.min, span.max, width)
                        && self.launch.sanitize != Sanitize::NONE =>
                {
                    Err(self.beside_array(request, array))
                }
                _ => Ok(()),
            };
        }
        let outside = |lane: &usize| {
            let address = request.addresses[*lane];
            !self.block.shared.contains(address, width) && !self.is_granted(request, address)
        };
        let Some(lane) = lanes(request.mask).find(outside) else {
            return Ok(());
        };
        let stray = match rank_of(request.addresses[lane]) {
            (Some(rank), _) if (rank as usize) < self.cluster.blocks.len() => {
                Stray::OtherBlock { rank }
            }
            _ => Stray::Shared {
                size: self.block.shared.bytes,
                offset: request.addresses[lane],
            },
        };
        Err(self.out_of_bounds(request, lane, stray))
    }

    /// True of an access past the end of shared memory that its author need not know of. Another
    /// one that hardware makes too is right where nothing is checked.
    fn is_granted(&self, request: &Request, offset: u64) -> bool {
        let shared = &self.block.shared;
        if !shared.reaches(offset, request.width.into()) {
            return false;
        }
        let starts_within = |bytes: u32| shared.contains(offset, bytes.into());
        if self.may_be_of_part(request) && starts_within(1) {
            return true;
        }
        let element = match &self.launch.code.insts[request.pc as usize].op {
            Op::Other(op) => op.element_bytes(),
            _ => None,
        };
        let is_widened = element.is_some_and(starts_within);
        if is_widened {
            let launch = self.launch;
            launch.widened_load.note(self.block.index, || WidenedLoad {
                kernel: launch.kernel_name().to_owned(),
                bytes: request.width,
                offset,
                size: shared.bytes,
                place: launch.code.infos[request.pc as usize].position.clone(),
            });
        }
        is_widened || self.launch.sanitize == Sanitize::NONE
    }

    /// The fault of an access beside the shared array that its address is of.
    fn beside_array(&self, request: &Request, array: ArrayBounds) -> Stop {
        let width = u64::from(request.width);
        let outside = |lane: &usize| {
            let address = request.addresses[*lane];
            !array.contains(address, address, width)
        };
        let lane = lanes(request.mask).find(outside).unwrap_or(0);
        let address = request.addresses[lane];
        let name_at = |at: u64| match self.block.shared.location(self.launch, at) {
            Location::Shared { variable, .. } => variable,
            _ => None,
        };
        let stray = Stray::SharedArray {
            name: name_at(array.start.into()).unwrap_or_default(),
            size: array.bytes(),
            offset: address as i64 - i64::from(array.start),
            other: name_at(address),
        };
        self.out_of_bounds(request, lane, stray)
    }

    /// Checks that a buffer may be stored to.
    pub(crate) fn check_writable(&self, request: &Request, buffer: &Buffer) -> Result<(), Stop> {
        if !buffer.read_only {
            return Ok(());
        }
        Err(self.read_only(request, format!("`{}`, which is constant", buffer.name)))
    }

    /// The fault of a store to what must not change.
    pub(super) fn read_only(&self, request: &Request, what: String) -> Stop {
        let access = request.access();
        let lane = request.mask.trailing_zeros() as usize;
        let kind = FaultKind::ReadOnly { access, what };
        self.fault(request.thread(lane), request.pc, kind)
    }

    /// The fault of a lane's access beyond its memory.
    pub(crate) fn out_of_bounds(&self, request: &Request, lane: usize, stray: Stray) -> Stop {
        let access = request.access();
        let kind = FaultKind::OutOfBounds { access, stray };
        self.fault(request.thread(lane), request.pc, kind)
    }

    /// The fault of an access outside everything in global memory.
    fn stray(&self, request: &Request, lane: usize) -> Stop {
        let address = request.addresses[lane];
        let base = self.launch.code.infos[request.pc as usize].base;
        let stray = match base.space {
            Some(space) if address < NULL_LIMIT => {
                let is_shared = space == Space::Shared;
                Stray::Offset {
                    address,
                    space: if is_shared { "shared" } else { "local" },
                    location: is_shared.then(|| self.block.shared.location(self.launch, address)),
                }
            }
            None if address < NULL_LIMIT => Stray::Null { address },
            _ => self.beside_buffers(address, request.width),
        };
        self.out_of_bounds(request, lane, stray)
    }

    /// An address in no buffer, beside the nearest one.
    pub(crate) fn beside_buffers(&self, address: u64, width: u32) -> Stray {
        match self.launch.memory.neighbour(address) {
            None => self.wrapped(address, width),
            Some(near) => {
                let name = near.name.to_owned();
                let offset = address.saturating_sub(near.base);
                match near.state {
                    State::Freed => Stray::Freed { name, offset },
                    State::Reserved => Stray::Reserved { name, offset },
                    State::Live => Stray::Buffer {
                        name,
                        size: near.bytes,
                        offset: address.wrapping_sub(near.base) as i64,
                    },
                }
            }
        }
    }

    /// An address near no buffer: perhaps the index wrapped at 2^32.
    fn wrapped(&self, address: u64, width: u32) -> Stray {
        const NEAR: u64 = 1 << 24;
        let meant = address.wrapping_sub(u64::from(width) << 32);
        match self.launch.memory.neighbour(meant) {
            Some(near)
                if near.state == State::Live
                    && meant.abs_diff(near.base) < near.bytes.max(NEAR) =>
            {
                Stray::Wrapped {
                    name: near.name.to_owned(),
                    size: near.bytes,
                    offset: meant.wrapping_sub(near.base) as i64,
                }
            }
            _ => Stray::Nowhere { address },
        }
    }
}
