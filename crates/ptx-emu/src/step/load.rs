//! Loads.

use std::sync::atomic::Ordering::Relaxed;

use ptx::Space;

use super::request::{Request, Span, addresses};
use crate::block::{BlockRunner, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::Access;
use crate::fault::{AccessKind, FaultKind, Stray};
use crate::memory::extend;
use crate::registers::{ALL, File, LANES, Registers, Slot};

impl BlockRunner<'_> {
    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let all = addresses(&warp.registers, &access.address);
        if access.strong {
            self.note_strong(warp);
        }
        self.by_space(access.space, all, mask, |runner, space, addresses, mask| {
            let request = Request {
                kind: AccessKind::Load,
                addresses,
                mask,
                width: access.width(),
                pc,
                strong: access.strong,
                non_coherent: access.non_coherent,
            };
            match space {
                Space::Shared => runner.load_shared(warp, access, &request),
                Space::Local | Space::Param => runner.access_lanes(warp, access, &request, space),
                _ => runner.load_global(warp, access, &request),
            }
        })?;
        if access.acquire {
            std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        }
        Ok(())
    }

    pub(super) fn load_global(
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
            if self.launch.sanitize.uninitialized {
                self.check_written_global(warp, request, buffer, mask, &span)?;
            }
            if self.launch.sanitize.races {
                self.check_load_global(warp, request, buffer, mask)?;
            }
            let registers = &mut warp.registers;
            let offset = |lane: usize| request.addresses[lane] - buffer.base;
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
                    let row = registers.r32_mut(*row);
                    if span.contiguous {
                        let start = (offset(0) >> 2) as usize;
                        let words = &buffer.words()[start..start + LANES];
                        for (value, word) in row.iter_mut().zip(words) {
                            *value = word.load(Relaxed);
                        }
                    } else {
                        for lane in lanes(mask) {
                            row[lane] = buffer.words()[(offset(lane) >> 2) as usize].load(Relaxed);
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
                    let row = registers.r64_mut(*row);
                    for lane in lanes(mask) {
                        row[lane] = buffer.load(offset(lane), 8);
                    }
                }
                _ if access.strong => gather(registers, access, mask, |lane, k| {
                    memory.load_strong(buffer, offset(lane) + k, access.bytes)
                }),
                _ => gather(registers, access, mask, |lane, k| {
                    buffer.load(offset(lane) + k, access.bytes)
                }),
            }
        }
        self.count_global(access.tally, request, &span);
        Ok(())
    }

    pub(super) fn load_shared(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        request: &Request,
    ) -> Result<(), Stop> {
        let span = Span::of(request.addresses, request.mask, request.width);
        self.check_alignment(warp, request, &span)?;
        self.check_shared(warp, request, &span)?;
        if self.launch.sanitize.uninitialized {
            self.check_written_shared(warp, request, &span)?;
        }
        if self.launch.sanitize.races {
            self.check_load_shared(warp, request)?;
        }
        self.count_shared(access.tally, request, &span);
        let (shared, registers) = (&self.shared, &mut warp.registers);
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
                let row = registers.r32_mut(*row);
                if span.contiguous {
                    let start = (span.min >> 2) as usize;
                    row.copy_from_slice(&shared.words()[start..start + LANES]);
                } else {
                    for lane in lanes(request.mask) {
                        row[lane] = shared.words()[(request.addresses[lane] >> 2) as usize];
                    }
                }
            }
            _ => gather(registers, access, request.mask, |lane, k| {
                shared.load(request.addresses[lane] + k, access.bytes)
            }),
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of the instruction")]
    pub(super) fn load_param(
        &mut self,
        warp: &mut Warp,
        active: u32,
        pc: u32,
        offset: u32,
        bytes: u32,
        signed: bool,
        dst: &[Option<Slot>],
    ) -> Result<(), Stop> {
        let size = self.launch.params.len() as u64;
        let width = bytes * dst.len() as u32;
        if u64::from(offset) + u64::from(width) > size {
            let kind = FaultKind::OutOfBounds {
                access: crate::fault::Access {
                    kind: AccessKind::Load,
                    bytes: width,
                },
                stray: Stray::Param {
                    size,
                    offset: offset.into(),
                },
            };
            return Err(self.fault(warp.first_thread(active), pc, kind));
        }
        for (k, slot) in dst.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let at = u64::from(offset) + k as u64 * u64::from(bytes);
            let value = extend(self.param(at, bytes), bytes, signed);
            match (slot.file, active) {
                (File::B64, ALL) => *warp.registers.r64_mut(slot.row) = [value; LANES],
                (File::B32, ALL) => *warp.registers.r32_mut(slot.row) = [value as u32; LANES],
                _ => lanes(active).for_each(|lane| warp.registers.set_lane(slot, lane, value)),
            }
        }
        Ok(())
    }

    /// Bytes of the launch's parameters, which exist.
    pub(super) fn param(&self, offset: u64, bytes: u32) -> u64 {
        let mut value = [0; 8];
        let source = &self.launch.params[offset as usize..][..bytes as usize];
        value[..bytes as usize].copy_from_slice(source);
        u64::from_le_bytes(value)
    }
}

/// Loads every element of every lane: `load(lane, byte offset in the lane's access)`.
#[inline(always)]
fn gather(registers: &mut Registers, access: &Access, mask: u32, load: impl Fn(usize, u64) -> u64) {
    for (k, slot) in access.elements.iter().enumerate() {
        let Some(slot) = *slot else { continue };
        let k = k as u64 * u64::from(access.bytes);
        if slot.file == File::B32 && access.bytes == 4 {
            let row = registers.r32_mut(slot.row);
            for lane in lanes(mask) {
                row[lane] = load(lane, k) as u32;
            }
        } else {
            for lane in lanes(mask) {
                let value = extend(load(lane, k), access.bytes, access.signed);
                registers.set_lane(slot, lane, value);
            }
        }
    }
}
