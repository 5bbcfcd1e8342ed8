//! Loads, stores and atomics: where they go, what they move, what they cost.

use std::sync::atomic::Ordering::Relaxed;

use ptx::Space;

use crate::block::{BlockRunner, Stop, Warp};
use crate::check::race::Record;
use crate::coalesce::{SECTOR, atomic_wavefronts, lanes, sectors, wavefronts};
use crate::code::{Access, Address, AtomicAccess};
use crate::fault::{AccessKind, FaultKind, Location, Stray};
use crate::memory::global::Buffer;
use crate::memory::{NULL_LIMIT, PARAM_FRAMES, extend, space_of, window};
use crate::registers::{ALL, File, LANES, Registers, Row64, Slot};

/// The addresses of an instruction's lanes. Those of lanes outside the mask are meaningless.
pub(super) fn addresses(registers: &Registers, address: &Address) -> Row64 {
    let offset = address.offset as u64;
    match address.base.file {
        File::B64 => registers
            .r64(address.base.row)
            .map(|base| base.wrapping_add(offset)),
        _ => registers
            .r32(address.base.row)
            .map(|base| u64::from(base).wrapping_add(offset)),
    }
}

/// What the addresses of a mask have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) min: u64,
    pub(super) max: u64,
    /// All of the bits that some address has.
    bits: u64,
    /// All lanes are active and each starts where the one before ends.
    pub(super) contiguous: bool,
}

impl Span {
    #[inline]
    pub(super) fn of(addresses: &Row64, mask: u32, width: u32) -> Self {
        if mask == ALL {
            let mut gaps = 0;
            for lane in 0..LANES as u64 {
                gaps |= addresses[lane as usize]
                    .wrapping_sub(addresses[0])
                    .wrapping_sub(lane * u64::from(width));
            }
            let last = addresses[LANES - 1];
            if gaps == 0 && last >= addresses[0] {
                return Self {
                    min: addresses[0],
                    max: last,
                    bits: addresses[0],
                    contiguous: true,
                };
            }
        }
        let first = addresses[mask.trailing_zeros() as usize];
        let mut span = Self {
            min: first,
            max: first,
            bits: first,
            contiguous: false,
        };
        for (lane, &address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 1 {
                span.min = span.min.min(address);
                span.max = span.max.max(address);
                span.bits |= address;
            }
        }
        span
    }

    /// The same for those of the lanes that lie in one buffer.
    #[inline]
    fn restricted(self, mask: u32) -> Self {
        Self {
            contiguous: self.contiguous && mask == ALL,
            ..self
        }
    }

    #[inline]
    fn is_aligned(&self, width: u32) -> bool {
        self.bits & u64::from(width - 1) == 0
    }
}

/// One warp-wide access to one space.
pub(super) struct Request<'r> {
    pub(super) kind: AccessKind,
    pub(super) addresses: &'r Row64,
    pub(super) mask: u32,
    /// Bytes of a lane.
    pub(super) width: u32,
    pub(super) pc: u32,
    pub(super) strong: bool,
    pub(super) non_coherent: bool,
}

impl Request<'_> {
    pub(super) fn access(&self) -> crate::fault::Access {
        crate::fault::Access {
            kind: self.kind,
            bytes: self.width,
        }
    }
}

impl<'a> BlockRunner<'a> {
    /// Calls `f` with each space that the lanes of a generic access lie in, their addresses in it, and the lanes.
    fn by_space(
        &mut self,
        space: Space,
        addresses: Row64,
        mask: u32,
        mut f: impl FnMut(&mut Self, Space, &Row64, u32) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if space != Space::Generic {
            return f(self, space, &addresses, mask);
        }
        let mut rest = mask;
        while rest != 0 {
            let space = space_of(addresses[rest.trailing_zeros() as usize]);
            let here = lanes(rest)
                .filter(|&lane| space_of(addresses[lane]) == space)
                .fold(0, |mask, lane| mask | 1 << lane);
            let base = window(space);
            f(
                self,
                space,
                &addresses.map(|address| address.wrapping_sub(base)),
                here,
            )?;
            rest &= !here;
        }
        Ok(())
    }

    pub(super) fn check_alignment(
        &self,
        warp: &Warp,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        if span.is_aligned(request.width) {
            return Ok(());
        }
        let misaligned =
            |lane: &usize| !request.addresses[*lane].is_multiple_of(u64::from(request.width));
        let lane = lanes(request.mask).find(misaligned).unwrap_or(0);
        let address = request.addresses[lane];
        let buffer = self.launch.memory.find(address, 1);
        let kind = FaultKind::Misaligned {
            access: request.access(),
            address,
            location: buffer.map(|buffer| Location::Buffer {
                name: buffer.name.clone(),
                offset: address - buffer.base,
            }),
        };
        Err(self.fault(warp.thread(lane), request.pc, kind))
    }

    /// The fault of an access outside everything in global memory.
    /// An address near no buffer: perhaps the index wrapped at 2^32.
    fn wrapped(&self, address: u64, width: u32) -> Stray {
        const NEAR: u64 = 1 << 24;
        let meant = address.wrapping_sub(u64::from(width) << 32);
        match self.launch.memory.neighbour(meant) {
            Some(near) if !near.freed && meant.abs_diff(near.base) < near.bytes.max(NEAR) => {
                Stray::Wrapped {
                    name: near.name.to_owned(),
                    size: near.bytes,
                    offset: meant.wrapping_sub(near.base) as i64,
                }
            }
            _ => Stray::Nowhere { address },
        }
    }

    pub(super) fn stray(&self, warp: &Warp, request: &Request, lane: usize) -> Stop {
        let address = request.addresses[lane];
        let stray = if address < NULL_LIMIT {
            Stray::Null { address }
        } else {
            let memory = self.launch.memory;
            match memory.neighbour(address) {
                None => self.wrapped(address, request.width),
                Some(near) if near.freed => Stray::Freed {
                    name: near.name.to_owned(),
                    offset: address.saturating_sub(near.base),
                },
                Some(near) => Stray::Buffer {
                    name: near.name.to_owned(),
                    size: near.bytes,
                    offset: address.wrapping_sub(near.base) as i64,
                },
            }
        };
        let kind = FaultKind::OutOfBounds {
            access: request.access(),
            stray,
        };
        self.fault(warp.thread(lane), request.pc, kind)
    }

    /// The buffer of the first lane of `rest`, and all lanes of `rest` that lie in it.
    #[inline]
    pub(super) fn buffer(
        &self,
        warp: &Warp,
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
            return Err(self.stray(warp, request, first));
        };
        let inside = |lane: &usize| {
            let offset = request.addresses[*lane].wrapping_sub(buffer.base);
            offset < buffer.bytes && width <= buffer.bytes - offset
        };
        Ok((
            buffer,
            lanes(rest)
                .filter(inside)
                .fold(0, |mask, lane| mask | 1 << lane),
        ))
    }

    fn count_global(&mut self, tally: u32, request: &Request, span: &Span) {
        let touched = if span.contiguous {
            (span.max + u64::from(request.width) - 1) / SECTOR - span.min / SECTOR + 1
        } else {
            sectors(request.addresses, request.mask)
        };
        let bytes = u64::from(request.mask.count_ones() * request.width);
        let traffic = &mut self.tallies.traffic[tally as usize].global;
        traffic.requests += 1;
        traffic.sectors += touched;
        traffic.ideal_sectors += touched.min(bytes.div_ceil(SECTOR));
        traffic.bytes += bytes;
    }

    fn count_shared(&mut self, tally: u32, request: &Request, span: &Span) {
        let (taken, ideal) = match request.kind {
            AccessKind::Atomic => (atomic_wavefronts(request.addresses, request.mask), 1),
            _ if span.contiguous && request.width == 4 => (1, 1),
            _ => wavefronts(request.addresses, request.mask, request.width),
        };
        let traffic = &mut self.tallies.traffic[tally as usize].shared;
        traffic.requests += 1;
        traffic.wavefronts += taken;
        traffic.ideal_wavefronts += ideal;
        traffic.bytes += u64::from(request.mask.count_ones() * request.width);
    }

    /// Checks that all lanes lie in shared memory.
    pub(super) fn check_shared(
        &self,
        warp: &Warp,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let width = u64::from(request.width);
        if self.shared.contains(span.max, width) {
            return Ok(());
        }
        let outside = |lane: &usize| !self.shared.contains(request.addresses[*lane], width);
        let lane = lanes(request.mask).find(outside).unwrap_or(0);
        let stray = Stray::Shared {
            size: self.shared.bytes,
            offset: request.addresses[lane],
        };
        let kind = FaultKind::OutOfBounds {
            access: request.access(),
            stray,
        };
        Err(self.fault(warp.thread(lane), request.pc, kind))
    }

    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let all = addresses(&warp.registers, &access.address);
        if access.strong {
            warp.spins += 1;
            self.synchronized = true;
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

    fn load_global(
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

    fn load_shared(
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

    /// A load or store of local memory or parameters.
    fn access_lanes(
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

    /// Bytes of the launch's parameters, which exist.
    fn param(&self, offset: u64, bytes: u32) -> u64 {
        let mut value = [0; 8];
        let source = &self.launch.params[offset as usize..][..bytes as usize];
        value[..bytes as usize].copy_from_slice(source);
        u64::from_le_bytes(value)
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
            self.note_fence();
        }
        if access.strong {
            warp.spins += 1;
            self.synchronized = true;
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

    pub(super) fn check_writable(
        &self,
        warp: &Warp,
        request: &Request,
        buffer: &Buffer,
        mask: u32,
    ) -> Result<(), Stop> {
        if !buffer.read_only {
            return Ok(());
        }
        let what = format!("`{}`, which is constant", buffer.name);
        let kind = FaultKind::ReadOnly {
            access: request.access(),
            what,
        };
        Err(self.fault(warp.first_thread(mask), request.pc, kind))
    }

    fn store_global(
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

    fn store_shared(
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

    pub(super) fn atomic(
        &mut self,
        warp: &mut Warp,
        access: &AtomicAccess,
        mask: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let all = addresses(&warp.registers, &access.address);
        warp.spins += 1;
        self.synchronized = true;
        if access.release {
            self.note_fence();
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

    fn atomic_global(
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

    fn atomic_shared(
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

    /// The record of an access by the first thread of a warp.
    pub(super) fn record(&self, warp: &Warp, pc: u32, strong: bool) -> Record {
        Record {
            block: self.block_number(),
            clock: self.clocks.now(warp.index),
            pc,
            thread: warp.thread(0) as u16,
            strong,
            fences: self.fence_count.min(u8::MAX.into()) as u8,
        }
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
