//! Atomic operations.

use ptx::Space;

use super::request::{Request, Span, addresses};
use crate::block::{BlockRunner, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::AtomicAccess;
use crate::fault::AccessKind;

impl BlockRunner<'_> {
    pub(super) fn atomic(
        &mut self,
        warp: &mut Warp,
        access: &AtomicAccess,
        mask: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let all = addresses(&warp.registers, &access.address);
        self.note_strong(warp);
        if access.release {
            self.note_release(warp);
        }
        // Relaxed updates on all hosts, ordered here, so that fences of the program are those of the host.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.by_space(access.space, all, mask, |runner, space, addresses, mask| {
            let request = Request {
                kind: AccessKind::Atomic,
                addresses,
                mask,
                width: access.update.bytes(),
                pc,
                strong: true,
                non_coherent: false,
            };
            match space {
                Space::Shared => runner.atomic_shared(warp, access, &request),
                Space::Local | Space::Param => {
                    let reason = "an atomic operation on local memory or parameters";
                    Err(runner.unsupported(warp.first_thread(mask), pc, reason))
                }
                _ => runner.atomic_global(warp, access, &request),
            }
        })
    }

    pub(super) fn atomic_global(
        &mut self,
        warp: &mut Warp,
        access: &AtomicAccess,
        request: &Request,
    ) -> Result<(), Stop> {
        let span = Span::of(request.addresses, request.mask, request.width);
        self.check_alignment(warp, request, &span)?;
        let memory = self.launch.memory;
        let mut rest = request.mask;
        while rest != 0 {
            let (buffer, mask) = self.buffer(warp, request, rest, &span)?;
            rest &= !mask;
            let span = span.restricted(mask);
            self.check_writable(warp, request, buffer, mask)?;
            if self.launch.sanitize.uninitialized {
                self.check_written_global(warp, request, buffer, mask, &span)?;
            }
            if self.launch.sanitize.races {
                self.check_store_global(warp, request, buffer, mask, |_| true, |_| {})?;
            }
            for lane in lanes(mask) {
                let registers = &mut warp.registers;
                let b = registers.lane(access.b, lane);
                let c = access.c.map_or(0, |c| registers.lane(c, lane));
                let offset = request.addresses[lane] - buffer.base;
                let old = memory.update(buffer, offset, access.update, b, c);
                if let Some(dst) = access.dst {
                    registers.set_lane(dst, lane, old);
                }
            }
        }
        self.count_global(access.tally, request, &span);
        Ok(())
    }

    pub(super) fn atomic_shared(
        &mut self,
        warp: &mut Warp,
        access: &AtomicAccess,
        request: &Request,
    ) -> Result<(), Stop> {
        let span = Span::of(request.addresses, request.mask, request.width);
        self.check_alignment(warp, request, &span)?;
        self.check_shared(warp, request, &span)?;
        if self.launch.sanitize.uninitialized {
            self.check_written_shared(warp, request, &span)?;
        }
        if self.launch.sanitize.races {
            self.check_store_shared(warp, request, |_, _| true, |_, _| {})?;
        }
        self.count_shared(access.tally, request, &span);
        for lane in lanes(request.mask) {
            let registers = &mut warp.registers;
            let b = registers.lane(access.b, lane);
            let c = access.c.map_or(0, |c| registers.lane(c, lane));
            let address = request.addresses[lane];
            let old = self.shared.load(address, request.width);
            self.shared.store(
                address,
                request.width,
                access.update.apply(old, b, c, false),
            );
            if let Some(dst) = access.dst {
                registers.set_lane(dst, lane, old);
            }
        }
        Ok(())
    }
}
