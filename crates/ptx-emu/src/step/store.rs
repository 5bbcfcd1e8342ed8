//! Stores.

use std::sync::atomic::Ordering::Relaxed;

use ptx::Space;

use super::request::{Request, Span, addresses};
use crate::block::{BlockRunner, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::Access;
use crate::fault::AccessKind;
use crate::registers::{File, LANES, Registers, Slot};

impl BlockRunner<'_> {
    pub(super) fn store(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let all = addresses(&warp.registers, &access.address);
        if access.release {
            std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
            self.note_release(warp);
        }
        if access.strong {
            self.note_strong(warp);
        }
        self.by_space(access.space, all, mask, |runner, space, addresses, mask| {
            let request = Request {
                kind: AccessKind::Store,
                addresses,
                mask,
                width: access.width(),
                pc,
                strong: access.strong,
                non_coherent: false,
            };
            match space {
                Space::Shared => runner.store_shared(warp, access, &request),
                Space::Local | Space::Param => runner.access_lanes(warp, access, &request, space),
                _ => runner.store_global(warp, access, &request),
            }
        })
    }

    pub(super) fn store_global(
        &mut self,
        warp: &mut Warp,
        access: &Access,
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
            let registers = &warp.registers;
            let offset = |lane: usize| request.addresses[lane] - buffer.base;
            if self.launch.sanitize.races {
                self.store_global_checked(warp, access, request, buffer, mask)?;
            } else {
                match (access.bytes, &access.elements[..]) {
                    (
                        4,
                        [
                            Some(Slot {
                                file: File::B32,
                                row,
                            }),
                        ],
                    ) => {
                        let row = registers.r32(*row);
                        if span.contiguous {
                            let start = (offset(0) >> 2) as usize;
                            let words = &buffer.words()[start..start + LANES];
                            for (value, word) in row.iter().zip(words) {
                                word.store(*value, Relaxed);
                            }
                        } else {
                            for lane in lanes(mask) {
                                let word = &buffer.words()[(offset(lane) >> 2) as usize];
                                word.store(row[lane], Relaxed);
                            }
                        }
                    }
                    (
                        8,
                        [
                            Some(Slot {
                                file: File::B64,
                                row,
                            }),
                        ],
                    ) if !access.strong => {
                        let row = registers.r64(*row);
                        for lane in lanes(mask) {
                            buffer.store(offset(lane), 8, row[lane]);
                        }
                    }
                    _ if access.strong => scatter(registers, access, mask, |lane, k, value| {
                        memory.store_strong(buffer, offset(lane) + k, access.bytes, value);
                    }),
                    _ => scatter(registers, access, mask, |lane, k, value| {
                        buffer.store(offset(lane) + k, access.bytes, value);
                    }),
                }
            }
            if self.launch.sanitize.uninitialized {
                if span.contiguous {
                    buffer
                        .written
                        .mark(offset(0), LANES as u64 * u64::from(request.width));
                } else {
                    for lane in lanes(mask) {
                        buffer.written.mark(offset(lane), request.width.into());
                    }
                }
            }
        }
        self.count_global(access.tally, request, &span);
        Ok(())
    }

    pub(super) fn store_shared(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        request: &Request,
    ) -> Result<(), Stop> {
        let span = Span::of(request.addresses, request.mask, request.width);
        self.check_alignment(warp, request, &span)?;
        self.check_shared(warp, request, &span)?;
        self.count_shared(access.tally, request, &span);
        if self.launch.sanitize.uninitialized {
            if span.contiguous {
                self.shared
                    .written
                    .mark(span.min, LANES as u64 * u64::from(request.width));
            } else {
                for lane in lanes(request.mask) {
                    self.shared
                        .written
                        .mark(request.addresses[lane], request.width.into());
                }
            }
        }
        if self.launch.sanitize.races {
            return self.store_shared_checked(warp, access, request);
        }
        let (shared, registers) = (&mut self.shared, &warp.registers);
        match (access.bytes, &access.elements[..]) {
            (
                4,
                [
                    Some(Slot {
                        file: File::B32,
                        row,
                    }),
                ],
            ) => {
                let row = registers.r32(*row);
                if span.contiguous {
                    let start = (span.min >> 2) as usize;
                    shared.words_mut()[start..start + LANES].copy_from_slice(row);
                } else {
                    for lane in lanes(request.mask) {
                        shared.words_mut()[(request.addresses[lane] >> 2) as usize] = row[lane];
                    }
                }
            }
            _ => scatter(registers, access, request.mask, |lane, k, value| {
                shared.store(request.addresses[lane] + k, access.bytes, value);
            }),
        }
        Ok(())
    }
}

/// Stores every element of every lane: `store(lane, byte offset in the lane's access, value)`.
#[inline(always)]
fn scatter(
    registers: &Registers,
    access: &Access,
    mask: u32,
    mut store: impl FnMut(usize, u64, u64),
) {
    for lane in lanes(mask) {
        store_lane(registers, access, lane, |k, value| store(lane, k, value));
    }
}

/// Stores every element of a lane.
#[inline(always)]
pub(super) fn store_lane(
    registers: &Registers,
    access: &Access,
    lane: usize,
    mut store: impl FnMut(u64, u64),
) {
    for (k, slot) in access.elements.iter().enumerate() {
        if let Some(slot) = *slot {
            store(
                k as u64 * u64::from(access.bytes),
                registers.lane(slot, lane),
            );
        }
    }
}
