//! Accesses of a warp to memory, in any space.
//!
//! - `bounds`: alignment and bounds;
//! - `claims`: what ordinary accesses must leave alone;
//! - `cluster`: shared memory of other blocks of the cluster;
//! - `region`: memory that one access may lie in;
//! - `segments`: the lanes of an access whose memory the shadow remembers together;
//! - `shadow`: the checks against the shadow of races;
//! - `written`: those against the shadow of what has been written.
//!
//! An [`Action`] says what an instruction does to the regions that its lanes' addresses lie in;
//! [`BlockRunner::access`] finds them.

mod bounds;
mod claims;
mod cluster;
mod region;
mod segments;
mod shadow;
mod written;

use ptx::{RegClass, Space};

use crate::fault::{AccessKind, Stop, Stray};
use crate::memory::{CONST_WINDOW, PARAM_FRAMES, space_of, window};
use crate::registers::{Address, Registers, Row64, lanes, lanes_where};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner};
use crate::warp::Warp;
pub(crate) use claims::{MBARRIER_BYTES, words};
use region::LaneRegion;
pub(crate) use region::{GlobalRegion, ParamRegion, Region};
pub(crate) use written::Unwritten;

/// The effect of an instruction on memory.
pub(crate) trait Action {
    /// Does it to one region, in which all lanes of the request lie, aligned. `span` is that of the
    /// addresses.
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop>;
}

/// How an instruction accesses memory.
#[derive(Clone, Debug)]
pub(crate) struct MemoryAccess {
    pub(crate) kind: AccessKind,
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// Bytes that one lane moves.
    pub(crate) width: u32,
    /// Not weak: may meet other strong accesses without a race.
    pub(crate) strong: bool,
    /// Through the read-only path.
    pub(crate) non_coherent: bool,
    /// Index of the instruction's memory count.
    pub(crate) tally: u32,
}

impl MemoryAccess {
    /// The generic address of one in its space.
    pub(crate) fn generic(&self, address: u64) -> u64 {
        match self.space {
            Space::Generic => address,
            space => address.wrapping_add(window(space)),
        }
    }
}

impl BlockRunner<'_> {
    /// Does something to the memory that the lanes' addresses lie in, space by space if they are
    /// generic.
    pub(crate) fn access(
        &mut self,
        warp: &mut Warp,
        at: At,
        access: &MemoryAccess,
        action: &impl Action,
    ) -> Result<(), Stop> {
        let mut addresses = warp.registers.addresses(&access.address);
        if !matches!(access.space, Space::Local | Space::Param | Space::Const) {
            warp.acted |= at.active;
            let group = warp.groups.get(at.group);
            self.sanitizer.barrier = group.map_or(0, |group| group.way.barrier);
        } else if access.space == Space::Const && access.address.base.class != RegClass::B64 {
            addresses = addresses.map(|address| CONST_WINDOW + address);
        }
        let request = Request {
            kind: access.kind,
            addresses: &addresses,
            mask: at.active,
            width: access.width,
            pc: at.pc,
            warp: warp.index,
            strong: access.strong && !self.is_plain(at.pc),
            non_coherent: access.non_coherent,
        };
        if access.space == Space::SharedCluster {
            return self.access_cluster(warp, access.tally, &request, action);
        }
        if access.space != Space::Generic {
            return self.access_space(warp, access.space, access.tally, &request, action);
        }
        let mut rest = at.active;
        while rest != 0 {
            let space = space_of(addresses[rest.trailing_zeros() as usize]);
            let mask = lanes_where(rest, |lane| space_of(addresses[lane]) == space);
            rest &= !mask;
            let base = window(space);
            let part = Request {
                addresses: &addresses.map(|address| address.wrapping_sub(base)),
                mask,
                ..request
            };
            match space {
                Space::Shared => self.access_cluster(warp, access.tally, &part, action)?,
                _ => self.access_space(warp, space, access.tally, &part, action)?,
            }
        }
        Ok(())
    }

    /// True of an access that is strong by `.volatile` alone, where that counts as plain.
    fn is_plain(&self, pc: u32) -> bool {
        let launch = self.launch;
        launch.volatile_is_plain && launch.code.infos[pc as usize].strength.is_volatile
    }

    /// Does something to global memory at addresses that are not an operand's.
    pub(crate) fn access_global(
        &mut self,
        warp: &mut Warp,
        at: At,
        (kind, addresses, width): (AccessKind, &Row64, u32),
        tally: u32,
        action: &impl Action,
    ) -> Result<(), Stop> {
        warp.acted |= at.active;
        let group = warp.groups.get(at.group);
        self.sanitizer.barrier = group.map_or(0, |group| group.way.barrier);
        let request = Request::weak(kind, addresses, at.active, width, at.pc, warp.index);
        self.access_space(warp, Space::Global, tally, &request, action)
    }

    fn access_space(
        &mut self,
        warp: &mut Warp,
        space: Space,
        tally: u32,
        request: &Request,
        action: &impl Action,
    ) -> Result<(), Stop> {
        let span = Span::of(request.addresses, request.mask, request.width);
        let is_shared = matches!(space, Space::Shared | Space::SharedCluster);
        let shared = is_shared.then_some(&self.block.shared);
        self.check_alignment(request, &span, shared)?;
        match space {
            Space::Shared | Space::SharedCluster => {
                if self.records {
                    self.note_access(Space::Shared, request, None);
                }
                self.check_shared(request, &span)?;
                if self.block.shared.claims.is_some() {
                    self.meet_claims(warp, request, &span)?;
                }
                let mut taken = std::mem::take(&mut self.block.shared);
                let result = action.run(self, &mut warp.registers, &mut taken, request, &span);
                self.block.shared = taken;
                result?;
                request.count_shared(&mut self.tallies.traffic(tally).shared, &span);
            }
            Space::Local | Space::Param => {
                if self.records {
                    self.note_access(space, request, None);
                }
                self.access_own(warp, space, request, &span, action)?;
                let traffic = self.tallies.traffic(tally);
                match space {
                    Space::Local => traffic.local_bytes += request.bytes(),
                    _ => traffic.param_bytes += request.bytes(),
                }
            }
            Space::Generic | Space::Global | Space::Const => {
                if !self.sanitizer.leaving.is_empty() {
                    self.check_leaving(request, &span)?;
                }
                let mut rest = request.mask;
                while rest != 0 {
                    let (buffer, mask) = self.buffer(request, rest, &span)?;
                    rest &= !mask;
                    let part = Request { mask, ..*request };
                    if self.records {
                        self.note_access(Space::Global, &part, Some(buffer));
                    }
                    if request.kind != AccessKind::Load {
                        self.check_writable(&part, buffer)?;
                    }
                    let mut region = GlobalRegion::new(buffer, self.launch);
                    buffer.note(&part, &span);
                    action.run(self, &mut warp.registers, &mut region, &part, &span)?;
                }
                let traffic = &mut self.tallies.traffic(tally).global;
                request.count_global(traffic, &span, self.loaded.as_mut());
            }
        }
        Ok(())
    }

    /// Accesses what a thread has of its own: local memory, the parameters of its frame, and those
    /// of the launch.
    fn access_own(
        &mut self,
        warp: &mut Warp,
        space: Space,
        request: &Request,
        span: &Span,
        action: &impl Action,
    ) -> Result<(), Stop> {
        let mut groups = warp.groups.iter();
        let group = groups.find(|group| group.mask & request.mask != 0);
        let frame = warp.frames[group.map_or(0, |group| group.frame) as usize];
        let params = self.params();
        let in_frame = lanes_where(request.mask, |lane| {
            space == Space::Param && request.addresses[lane] >= PARAM_FRAMES
        });
        for lane in lanes(request.mask) {
            let address = request.addresses[lane];
            let (offset, size) = match space {
                Space::Local => (address, frame.local.1),
                _ if in_frame >> lane & 1 == 1 => (address - PARAM_FRAMES, frame.params.1),
                _ => (address, params.len() as u64),
            };
            if offset > size || u64::from(request.width) > size - offset {
                let stray = match space {
                    Space::Local => Stray::Local { size, offset },
                    _ => Stray::Param { size, offset },
                };
                return Err(self.out_of_bounds(request, lane, stray));
            }
        }
        let of_launch = Request {
            mask: request.mask & !in_frame,
            ..*request
        };
        let of_frame = Request {
            mask: in_frame,
            ..*request
        };
        let registers = &mut warp.registers;
        if of_launch.mask != 0 {
            match space {
                Space::Local => {
                    let (memory, base) = (&mut warp.local, 0);
                    let mut region = LaneRegion { memory, base };
                    action.run(self, registers, &mut region, &of_launch, span)?;
                }
                _ if request.kind != AccessKind::Load => {
                    let what = "the kernel's parameters".to_owned();
                    return Err(self.read_only(&of_launch, what));
                }
                _ => action.run(self, registers, &mut ParamRegion(params), &of_launch, span)?,
            }
        }
        if of_frame.mask != 0 {
            let (memory, base) = (&mut warp.params, PARAM_FRAMES);
            let mut region = LaneRegion { memory, base };
            action.run(self, registers, &mut region, &of_frame, span)?;
        }
        Ok(())
    }
}
