//! Memory that graphs allocate and free.
//!
//! The addresses of an allocation node are reserved when it is added, and memory is there while a
//! launch has allocated it. Whether a call may launch or free is decided by the calls before it;
//! when a stream comes to the node is another matter. What a GPU's driver answers was seen on an
//! H200 (driver 580): until the first launch, the address is not that of memory to any function.

use std::collections::BTreeSet;

use super::{DEVICE_BYTES, Driver};
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::graph::{At, GraphWork};
use crate::objects::graph_memory::{Access, Freed, GraphMemory};
use crate::objects::memory::Kind;
use crate::objects::work::Work;
use crate::settings::Settings;
use crate::site::Site;

impl Driver {
    /// Adds a node to a graph that allocates memory of a device; gives the node and the address.
    pub(crate) fn add_allocation(
        &mut self,
        at: At,
        bytes: usize,
        device: i32,
        access: Box<[Access]>,
    ) -> Outcome<(Handle, u64)> {
        let context = self.live_context()?;
        self.device(device)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if bytes as u64 > DEVICE_BYTES {
            return Err(Code::OUT_OF_MEMORY);
        }
        let name = self.name("allocation");
        let address = self.machine.reserve(bytes as u64, &name);
        let graph = at.graph;
        let node = self.add_node(at, Work::Make(address))?;
        let pool = self.new_pool(device);
        let allowed = access.iter().filter(|[_, _, flags]| *flags != 0);
        self.pool(pool)?.allowed = allowed.map(|[_, other, _]| *other).collect();
        let memory = GraphMemory {
            bytes: bytes as u64,
            context,
            device,
            graph,
            pool,
            access,
            site: Settings::get().leaks.then(Site::here),
            freed: None,
            is_held: false,
        };
        self.graph_memory.insert(address, memory);
        Ok((node, address))
    }

    /// Adds a node to a graph that frees what an allocation node has allocated.
    pub(crate) fn add_free(&mut self, at: At, address: u64) -> Outcome<Handle> {
        let known = { self.graph_memory.get(&address) }.ok_or(Code::INVALID_VALUE)?;
        let freed = match (known.graph == at.graph, known.freed) {
            (true, None) => Freed::Here,
            (false, None | Some(Freed::InOtherGraphs)) => Freed::InOtherGraphs,
            _ => return Err(Code::INVALID_VALUE),
        };
        let node = self.add_node(at, Work::Free(address))?;
        if let Some(memory) = self.graph_memory.get_mut(&address) {
            memory.freed = Some(freed);
        }
        Ok(node)
    }

    /// The memory of a graph that an address is in.
    pub(crate) fn of_graph(&self, address: u64) -> Option<(u64, &GraphMemory)> {
        let (start, known) = self.graph_memory.range(..=address).next_back()?;
        (address - start < known.bytes).then_some((*start, known))
    }

    /// Whether bytes lie in memory that is there when streams come to what is sent now, or to the
    /// node that a stream records now.
    pub(crate) fn will_have(&self, address: u64, bytes: u64) -> bool {
        self.has(address, bytes)
            || self.of_graph(address).is_some_and(|(start, known)| {
                let is_inside = bytes <= known.bytes - (address - start);
                is_inside && (known.is_held || !self.captures.is_empty())
            })
    }

    /// Takes note that a call frees memory in the order of a stream; false if there is none.
    pub(crate) fn is_freed_by_call(&mut self, address: u64) -> bool {
        match self.graph_memory.get_mut(&address) {
            Some(known) => std::mem::replace(&mut known.is_held, false),
            None => {
                { self.allocations.get(&address) }.is_some_and(|known| known.kind == Kind::Device)
            }
        }
    }

    /// Takes note of what a launch allocates and frees. Gives what is to be freed before it, if its
    /// graph does so on launch.
    pub(crate) fn memory_is_launched(
        &mut self,
        work: &GraphWork,
        frees_on_launch: bool,
    ) -> Outcome<Vec<u64>> {
        let made: BTreeSet<u64> = work.makes().collect();
        let is_held =
            |address: &u64| { self.graph_memory.get(address) }.is_some_and(|it| it.is_held);
        let left: Vec<u64> = made.iter().copied().filter(is_held).collect();
        // It would have an allocation twice, or free what is not there.
        let frees_nothing = work
            .frees()
            .any(|address| !made.contains(&address) && !is_held(&address));
        if !left.is_empty() && !frees_on_launch || frees_nothing {
            return Err(Code::INVALID_VALUE);
        }
        let all = made.into_iter().map(|address| (address, true));
        for (address, stays) in all.chain(work.frees().map(|address| (address, false))) {
            if let Some(known) = self.graph_memory.get_mut(&address) {
                known.is_held = stays;
            }
        }
        Ok(left)
    }

    /// Whether a stream has still to free some of this memory by the order of a call. A GPU's
    /// driver lets a launch that allocates it again wait for that.
    pub(crate) fn is_yet_to_free(&self, work: &GraphWork) -> bool {
        let mut items = self.queues.streams.values().flatten();
        items.any(|item| match item.work {
            Work::Free(address) => work.makes().any(|made| made == address),
            _ => false,
        })
    }

    /// Does what an allocation node does.
    pub(super) fn make(&mut self, address: u64) -> Outcome {
        let known = { self.graph_memory.get(&address) }.ok_or(Code::INVALID_VALUE)?;
        let (bytes, context, device) = (known.bytes, known.context, known.device);
        let (pool, site) = (known.pool, known.site.clone());
        if bytes > DEVICE_BYTES - self.device(device)?.used_bytes {
            return Err(Code::OUT_OF_MEMORY);
        }
        let is_new = self.machine.allocate_reserved(address);
        // It is still there if streams free it in an order that nothing gives them.
        if !is_new.map_err(|_| Code::OUT_OF_MEMORY)? {
            return Ok(());
        }
        self.note(address, bytes as usize, Kind::Device, context, Some(pool))?;
        if let Some(site) = site {
            self.made_at.insert(address, site);
        }
        let device = self.device(device)?;
        device.used_bytes += bytes;
        device.of_graphs.add(bytes);
        Ok(())
    }
}
