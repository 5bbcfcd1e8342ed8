//! Accesses to the shared memory of the blocks of a cluster: the running one's own, and that of
//! others.

use ptx::Space;

use super::Action;
use crate::cluster::state::Visit;
use crate::fault::{FaultKind, Lifetime, Stop, Stray};
use crate::memory::rank_of;
use crate::registers::{lanes, lanes_where};
use crate::request::{Request, Span};
use crate::runner::BlockRunner;
use crate::warp::Warp;

impl BlockRunner<'_> {
    /// Accesses shared memory by addresses in the cluster's window, block by block.
    pub(super) fn access_cluster(
        &mut self,
        warp: &mut Warp,
        tally: u32,
        request: &Request,
        action: &impl Action,
    ) -> Result<(), Stop> {
        let mut rest = request.mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let (rank, _) = rank_of(request.addresses[first]);
            let mask = lanes_where(rest, |lane| rank_of(request.addresses[lane]).0 == rank);
            rest &= !mask;
            let part = Request { mask, ..*request };
            match rank {
                None => self.access_space(warp, Space::Shared, tally, &part, action)?,
                Some(rank) => self.access_other(warp, rank, tally, &part, action)?,
            }
        }
        Ok(())
    }

    /// Accesses the shared memory of another block of the cluster.
    fn access_other(
        &mut self,
        warp: &mut Warp,
        rank: u32,
        tally: u32,
        request: &Request,
        action: &impl Action,
    ) -> Result<(), Stop> {
        let lane = request.mask.trailing_zeros() as usize;
        let blocks = self.cluster.blocks.len() as u32;
        if rank >= blocks {
            return Err(self.out_of_bounds(request, lane, Stray::Cluster { rank, blocks }));
        }
        let rank = rank as usize;
        self.check_alive(request, rank)?;
        let request = &Request {
            addresses: &request.addresses.map(|address| rank_of(address).1),
            ..*request
        };
        let span = Span::of(request.addresses, request.mask, request.width);
        self.check_alignment(request, &span, Some(&self.cluster.memories[rank]))?;
        let width = u64::from(request.width);
        let memory = &self.cluster.memories[rank];
        if !memory.contains(span.max, width) {
            let outside = |each: &usize| !memory.contains(request.addresses[*each], width);
            let lane = lanes(request.mask).find(outside).unwrap_or(lane);
            let stray = Stray::Shared {
                size: memory.bytes,
                offset: request.addresses[lane],
            };
            return Err(self.out_of_bounds(request, lane, stray));
        }
        if let Some(claims) = &memory.claims {
            self.check_claims(warp, memory, claims, request, &span)?;
        }
        if self.launch.sanitize.races {
            let visit = Visit {
                warp: self.warp_number(self.recorded_warp(request.warp)),
                record: self.record(request),
                access: request.access(),
            };
            self.cluster.note_visit(rank, visit);
        }
        let mut taken = std::mem::take(&mut self.cluster.memories[rank]);
        let result = action.run(self, &mut warp.registers, &mut taken, request, &span);
        self.cluster.memories[rank] = taken;
        result?;
        let traffic = &mut self.tallies.traffic(tally).distributed;
        traffic.requests += 1;
        traffic.bytes += request.bytes();
        Ok(())
    }

    /// Checks that the block of that rank has started and has not ended.
    pub(crate) fn check_alive(&self, request: &Request, rank: usize) -> Result<(), Stop> {
        let lifetime = if self.cluster.ended[rank] {
            Lifetime::HasEnded
        } else if self.launch.sanitize.races && !self.block.has_met_cluster {
            Lifetime::MayNotHaveStarted
        } else {
            return Ok(());
        };
        let kind = FaultKind::BlockNotAlive {
            access: request.access(),
            block: self.launch.view(self.cluster.blocks[rank]).block,
            lifetime,
        };
        let lane = request.mask.trailing_zeros() as usize;
        Err(self.fault(request.thread(lane), request.pc, kind))
    }
}
