//! Fences: `fence`, `membar`. The order by fences and strong accesses.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::sync::atomic::fence;

use ptx::Space;

use crate::counts::InstructionClass;
use crate::fault::Stop;
use crate::read::{Read, Reader, other};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::views::{self, Reach};
use crate::warp::Warp;

/// `fence`, `membar`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let (mut acquires, mut releases, mut is_total) = (true, true, true);
    let device = if r.opcode == "membar" {
        r.need("level", &[("cta", false), ("gl", true), ("sys", true)])?
    } else if r.has("tensormap::generic") {
        return tensor_maps(r);
    } else if let Some(fence) = proxy(r)? {
        return other(fence);
    } else {
        let order = r.choice(&[
            ("sc", (true, true, true)),
            ("acq_rel", (true, true, false)),
            ("acquire", (true, false, false)),
            ("release", (false, true, false)),
        ]);
        (acquires, releases, is_total) = order.unwrap_or((true, true, false));
        let scope = r.scope();
        r.done()?;
        scope.ok_or_else(|| r.missing("scope"))?
    };
    r.operands(0)?;
    r.function.orders_blocks |= device;
    r.exchange.orders = true;
    other(Fence {
        device,
        acquires,
        releases,
        is_total,
    })
}

/// `fence.proxy.tensormap::generic`: maps are read as they are, so that it orders as other fences
/// do.
fn tensor_maps(r: &mut Reader) -> Read<Op> {
    r.has("proxy");
    let acquires = r.need("order", &[("acquire", true), ("release", false)])?;
    let device = r.scope().ok_or_else(|| r.missing("scope"))?;
    r.operands(if acquires { 2 } else { 0 })?;
    if acquires {
        r.address(Space::Generic)?;
        r.constant()?;
    }
    r.function.orders_blocks |= device;
    r.exchange.orders = true;
    other(Fence {
        device,
        acquires,
        releases: !acquires,
        is_total: false,
    })
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
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, _: At) -> Result<Next, Stop> {
        if self.of_global && runner.launch.sanitize.races {
            let number = runner.warp_number(warp.index);
            let known = runner.sanitizer.clocks.known(number);
            runner.launch.proxies.publish(runner.numbered(&known));
            let time = runner.sanitizer.clocks.synchronized(number);
            runner.launch.proxied_until.fetch_max(time, Relaxed);
        }
        let shows_objects = self.of_shared || !self.of_global;
        if let Some(claims) = &mut runner.block.shared.claims {
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
pub(super) struct Fence {
    /// Among blocks, not only within the block.
    device: bool,
    acquires: bool,
    releases: bool,
    /// One of an order that all warps see: `fence.sc`, `membar`.
    is_total: bool,
}

impl Fence {
    /// One that shows to others what the warp did before: to other blocks, or to its own alone.
    pub(super) fn releasing(device: bool) -> Self {
        Self {
            device,
            acquires: false,
            releases: true,
            is_total: false,
        }
    }
}

impl Execute for Fence {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, _: At) -> Result<Next, Stop> {
        fence(Ordering::SeqCst);
        runner.note_poll(warp, 1);
        if self.acquires {
            runner.note_acquire(warp, self.device);
        }
        if self.releases {
            runner.note_release(warp, self.device);
        }
        if let Some(views) = &runner.launch.views {
            let reach = Reach::of(self.device);
            let ordering = views::Ordering::of(reach, self.acquires, self.releases);
            views.fence(runner.reader(warp.index), ordering, self.is_total);
        }
        Ok(Next::Step)
    }

    fn is_quiet(&self) -> bool {
        true
    }
}

impl BlockRunner<'_> {
    /// Notes something that may be part of waiting for others, with a weight.
    pub(super) fn note_poll(&mut self, warp: &mut Warp, weight: u32) {
        warp.spins += weight;
        self.turn.polls += 1;
    }

    /// Notes a strong load or an atomic, which may see what others released: a fence behind it
    /// orders that.
    pub(super) fn note_observed(&mut self, warp: &Warp, space: Space) {
        if self.launch.sanitize.races {
            let time = match space {
                Space::Shared => 0,
                _ => self.launch.fences.now(),
            };
            self.sanitizer
                .clocks
                .observe(self.warp_number(warp.index), time);
        }
    }

    /// Notes a fence that acquires, or a load or an atomic that does.
    pub(super) fn note_acquire(&mut self, warp: &Warp, device: bool) {
        if self.launch.sanitize.races {
            self.sanitizer
                .clocks
                .acquire(self.warp_number(warp.index), device);
        }
    }

    /// Notes a fence that releases, or a store or an atomic that does.
    pub(super) fn note_release(&mut self, warp: &Warp, device: bool) {
        if !self.launch.sanitize.races {
            return;
        }
        let number = self.warp_number(warp.index);
        self.sanitizer.clocks.release(number, device);
        if let Some(views) = &self.launch.views {
            let known = self.numbered(self.sanitizer.clocks.seen(number));
            let known = known.map(|(block, of_block, clock)| ((block, of_block), clock));
            let own = (self.reader(warp.index), self.sanitizer.clocks.now(number));
            views.note_release(own.0, known.chain([own]));
        }
    }

    /// Notes an atomic or a strong store to a space: other blocks that see it see what the warp
    /// knows to be fenced.
    pub(super) fn publish(&mut self, warp: &Warp, space: Space) {
        if space == Space::Shared || !self.launch.sanitize.races {
            return;
        }
        let fenced = self.sanitizer.clocks.fenced(self.warp_number(warp.index));
        self.launch.fences.publish(self.numbered(fenced));
    }

    /// Numbers for each warp of the cluster, with the block and the warp in it.
    fn numbered(&self, clocks: &[u32]) -> impl Iterator<Item = (u64, usize, u32)> {
        let (warps, of_block) = (self.launch.block_warps(), self.launch.block_clocks());
        let numbered = clocks.iter().enumerate().map(move |(number, &clock)| {
            let block = self.cluster.blocks[number / of_block];
            (block, number % of_block, clock)
        });
        // Asynchronous stores are to memory that no other cluster has.
        numbered.filter(move |&(_, warp, _)| warp < warps)
    }
}
