//! Loads and stores of what a thread has of its own: local memory and parameters.

use ptx::Space;

use super::request::{Request, Span};
use crate::block::{BlockRunner, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::Access;
use crate::fault::{AccessKind, FaultKind, Stray};
use crate::memory::{PARAM_FRAMES, extend};

impl BlockRunner<'_> {
    /// A load or store of local memory or parameters.
    pub(super) fn access_lanes(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        request: &Request,
        space: Space,
    ) -> Result<(), Stop> {
        let span = Span::of(request.addresses, request.mask, request.width);
        self.check_alignment(warp, request, &span)?;
        let frame = warp
            .groups
            .iter()
            .find(|group| group.mask & request.mask != 0);
        let frame = warp.frames[frame.map_or(0, |group| group.frame) as usize];
        let width = u64::from(request.width);
        for lane in lanes(request.mask) {
            let address = request.addresses[lane];
            let in_frames = space == Space::Param && address >= PARAM_FRAMES;
            let (offset, size) = match space {
                Space::Local => (address, frame.local.1),
                _ if in_frames => (address - PARAM_FRAMES, frame.params.1),
                _ => (address, self.launch.params.len() as u64),
            };
            if offset > size || width > size - offset {
                let stray = match space {
                    Space::Local => Stray::Local { size, offset },
                    _ => Stray::Param { size, offset },
                };
                let kind = FaultKind::OutOfBounds {
                    access: request.access(),
                    stray,
                };
                return Err(self.fault(warp.thread(lane), request.pc, kind));
            }
            if request.kind == AccessKind::Store && space == Space::Param && !in_frames {
                let what = "the kernel's parameters".to_owned();
                let kind = FaultKind::ReadOnly {
                    access: request.access(),
                    what,
                };
                return Err(self.fault(warp.thread(lane), request.pc, kind));
            }
            for (k, slot) in access.elements.iter().enumerate() {
                let Some(slot) = *slot else { continue };
                let at = offset + k as u64 * u64::from(access.bytes);
                let memory = if space == Space::Local {
                    &mut warp.local
                } else {
                    &mut warp.params
                };
                match request.kind {
                    AccessKind::Store => {
                        memory.store(lane, at, access.bytes, warp.registers.lane(slot, lane));
                    }
                    _ => {
                        let value = match space == Space::Local || in_frames {
                            true => memory.load(lane, at, access.bytes),
                            false => self.param(at, access.bytes),
                        };
                        let value = extend(value, access.bytes, access.signed);
                        warp.registers.set_lane(slot, lane, value);
                    }
                }
            }
        }
        let bytes = u64::from(request.mask.count_ones()) * width;
        let traffic = &mut self.tallies.traffic[access.tally as usize];
        match space {
            Space::Local => traffic.local_bytes += bytes,
            _ => traffic.param_bytes += bytes,
        }
        Ok(())
    }
}
