//! Fences: `fence`, `membar`. What fences and strong accesses order.

use std::sync::atomic::{Ordering, fence};

use ptx::Space;

use crate::block::{At, BlockRunner, Execute, Next, Op, Stop};
use crate::counts::InstructionClass;
use crate::read::{Read, Reader, other};
use crate::warp::Warp;

/// `fence`, `membar`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let device = if r.opcode == "membar" {
        r.need("level", &[("cta", false), ("gl", true), ("sys", true)])?
    } else if let Some(fence) = proxy(r)? {
        return other(fence);
    } else {
        r.choice(&["sc", "acq_rel", "acquire", "release"].map(|order| (order, ())));
        let scope = r.scope();
        r.done()?;
        scope.ok_or_else(|| r.missing("scope"))?
    };
    r.operands(0)?;
    r.function.orders_blocks |= device;
    r.function.exchange.orders = true;
    other(Fence { device })
}

/// `fence.proxy.async`, `fence.mbarrier_init`, if it is one of these.
fn proxy(r: &mut Reader) -> Read<Option<ProxyFence>> {
    let is_init = r.has("mbarrier_init");
    if is_init {
        r.need("`.release`", &[("release", ())])?;
        r.need("`.cluster`", &[("cluster", ())])?;
    } else if !r.has("proxy") {
        return Ok(None);
    } else {
        r.need("`.async`", &[("async", ())])?;
    }
    let space = if is_init { None } else { r.space() };
    r.operands(0)?;
    Ok(Some(ProxyFence {
        of_shared: !is_init && space != Some(Space::Global),
        of_global: !is_init && matches!(space, None | Some(Space::Global)),
    }))
}

/// Shows the asynchronous proxy what has been stored to memory, and objects of `mbarrier`.
#[derive(Debug)]
struct ProxyFence {
    of_shared: bool,
    of_global: bool,
}

impl Execute for ProxyFence {
    fn execute(&self, runner: &mut BlockRunner, _: &mut Warp, _: At) -> Result<Next, Stop> {
        if self.of_global {
            runner.launch.has_proxy_fence.store(true, Ordering::Relaxed);
        }
        let shows_objects = self.of_shared || !self.of_global;
        if let Some(claims) = &mut runner.shared.claims {
            if self.of_shared {
                claims.note_fence();
            }
            if shows_objects {
                let barriers = claims.barriers.values_mut();
                barriers.for_each(|barrier| barrier.is_fenced = true);
            }
        }
        Ok(Next::Step)
    }
}

#[derive(Debug)]
struct Fence {
    /// Among blocks, not only within the block.
    device: bool,
}

impl Execute for Fence {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, _: At) -> Result<Next, Stop> {
        fence(Ordering::SeqCst);
        runner.note_poll(warp, 1);
        if runner.launch.sanitize.races {
            runner.clocks.release(runner.warp_number(warp.index));
        }
        if self.device {
            runner.note_fence();
        }
        Ok(Next::Step)
    }
}

impl BlockRunner<'_> {
    /// Notes something that may be part of waiting for others, with a weight.
    pub(crate) fn note_poll(&mut self, warp: &mut Warp, weight: u32) {
        warp.spins += weight;
        self.polls += 1;
    }

    /// Notes a strong access, which may have seen what others released.
    pub(crate) fn note_strong(&mut self, warp: &mut Warp) {
        self.note_poll(warp, 1);
        self.synchronized = self.launch.fences.now();
        if self.launch.sanitize.races {
            self.clocks.acquire(self.warp_number(warp.index));
        }
    }

    /// Notes a releasing access.
    pub(crate) fn note_release(&mut self, warp: &Warp) {
        if self.launch.sanitize.races {
            self.clocks.release(self.warp_number(warp.index));
        }
        self.note_fence();
    }

    /// Notes that the block's earlier accesses are ordered before what other blocks do after seeing its later ones.
    fn note_fence(&mut self) {
        self.fence_count = self.fence_count.saturating_add(1);
    }

    /// Notes an atomic or a strong store to a space: other blocks that see it see all before the block's last fence.
    pub(crate) fn publish(&mut self, space: Space) {
        if space != Space::Shared {
            self.launch.fences.publish(self.block, self.fence_count);
        }
    }
}
