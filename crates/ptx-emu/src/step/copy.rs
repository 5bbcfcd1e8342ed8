//! Asynchronous copies from global to shared memory.
//!
//! A copy is made when the thread waits for its group, the latest moment that PTX allows: a kernel that forgets to
//! wait reads memory that nothing has written.

use std::collections::VecDeque;

use super::request::{Request, Span, addresses};
use crate::block::{BlockRunner, Stop, Warp};
use crate::coalesce::{SECTOR, lanes, sectors, wavefronts};
use crate::code::{AsyncCopy, Op};
use crate::fault::AccessKind;
use crate::registers::{LANES, Row64};

/// One lane's copy.
#[derive(Clone, Copy, Debug)]
struct Copy {
    dst: u64,
    src: u64,
    bytes: u32,
    /// Bytes to read; the rest is zero.
    src_bytes: u32,
}

/// The copies that each lane has under way.
#[derive(Debug, Default)]
pub(crate) struct AsyncQueues {
    open: [Vec<Copy>; LANES],
    groups: [VecDeque<Vec<Copy>>; LANES],
}

impl BlockRunner<'_> {
    pub(super) fn async_copy(
        &mut self,
        warp: &mut Warp,
        op: &Op,
        active: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let mut queues = warp.copies.take().unwrap_or_default();
        let result = match op {
            Op::AsyncCopy(copy) => {
                self.issue(warp, copy, active, &mut queues);
                Ok(())
            }
            Op::AsyncCommit => {
                for lane in lanes(active) {
                    let group = std::mem::take(&mut queues.open[lane]);
                    queues.groups[lane].push_back(group);
                }
                Ok(())
            }
            Op::AsyncWait { pending } => self.wait(warp, *pending, active, pc, &mut queues),
            _ => unreachable!("not an asynchronous copy"),
        };
        warp.copies = Some(queues);
        result
    }

    fn issue(&mut self, warp: &Warp, copy: &AsyncCopy, active: u32, queues: &mut AsyncQueues) {
        let registers = &warp.registers;
        let dst = addresses(registers, &copy.dst);
        let src = addresses(registers, &copy.src);
        let ignored = copy
            .ignore_src
            .map_or(0, |flag| registers.pred(flag.slot) ^ flag.flip);
        for lane in lanes(active) {
            let wanted = copy
                .src_bytes
                .map_or(copy.bytes, |slot| registers.lane(slot, lane) as u32);
            let src_bytes = if ignored >> lane & 1 == 1 {
                0
            } else {
                wanted.min(copy.bytes)
            };
            queues.open[lane].push(Copy {
                dst: dst[lane],
                src: src[lane],
                bytes: copy.bytes,
                src_bytes,
            });
        }
        let traffic = &mut self.tallies.traffic[copy.tally as usize];
        let bytes = u64::from(active.count_ones() * copy.bytes);
        let touched = sectors(&src, active);
        traffic.global.requests += 1;
        traffic.global.sectors += touched;
        traffic.global.ideal_sectors += touched.min(bytes.div_ceil(SECTOR));
        traffic.global.bytes += bytes;
        let (taken, ideal) = wavefronts(&dst, active, copy.bytes);
        traffic.shared.requests += 1;
        traffic.shared.wavefronts += taken;
        traffic.shared.ideal_wavefronts += ideal;
        traffic.shared.bytes += bytes;
    }

    fn wait(
        &mut self,
        warp: &Warp,
        pending: Option<u32>,
        active: u32,
        pc: u32,
        queues: &mut AsyncQueues,
    ) -> Result<(), Stop> {
        for lane in lanes(active) {
            if pending.is_none() {
                let group = std::mem::take(&mut queues.open[lane]);
                queues.groups[lane].push_back(group);
            }
            while queues.groups[lane].len() > pending.unwrap_or(0) as usize {
                for copy in queues.groups[lane].pop_front().unwrap_or_default() {
                    self.copy(warp, lane, copy, pc)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a copy.
    fn copy(&mut self, warp: &Warp, lane: usize, copy: Copy, pc: u32) -> Result<(), Stop> {
        let launch = self.launch;
        let mask = 1 << lane;
        let mut data = [0u8; 16];
        if copy.src_bytes > 0 {
            let sources: Row64 = [copy.src; LANES];
            let whole = Request {
                kind: AccessKind::Load,
                addresses: &sources,
                mask,
                width: copy.bytes,
                pc,
                strong: false,
                non_coherent: false,
            };
            let span = Span::of(&sources, mask, copy.bytes);
            self.check_alignment(warp, &whole, &span)?;
            let request = Request {
                width: copy.src_bytes,
                ..whole
            };
            let (buffer, _) = self.buffer(warp, &request, mask, &span)?;
            if launch.sanitize.uninitialized {
                self.check_written_global(warp, &request, buffer, mask, &span)?;
            }
            if launch.sanitize.races {
                self.check_load_global(warp, &request, buffer, mask)?;
            }
            for (i, byte) in data[..copy.src_bytes as usize].iter_mut().enumerate() {
                *byte = buffer.load(copy.src - buffer.base + i as u64, 1) as u8;
            }
        }
        let targets: Row64 = [copy.dst; LANES];
        let request = Request {
            kind: AccessKind::Store,
            addresses: &targets,
            mask,
            width: copy.bytes,
            pc,
            strong: false,
            non_coherent: false,
        };
        let span = Span::of(&targets, mask, copy.bytes);
        self.check_alignment(warp, &request, &span)?;
        self.check_shared(warp, &request, &span)?;
        if launch.sanitize.races {
            self.check_store_shared(warp, &request, |_, _| true, |_, _| {})?;
        }
        if launch.sanitize.uninitialized {
            self.shared.written.mark(copy.dst, copy.bytes.into());
        }
        for (i, word) in data[..copy.bytes as usize].chunks_exact(4).enumerate() {
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            self.shared.store(copy.dst + 4 * i as u64, 4, value.into());
        }
        Ok(())
    }
}
