//! Runs of a plan that are timed: by events, behind a gate, as a graph, in parts; with a cold L2;
//! from inputs that the GPU keeps.

use std::time::Instant;

use cust::event::{Event, EventFlags};

use super::{CudaSession, OUT_OF_MEMORY, Use};
use crate::gpus::commands::{MAX_NODES, Refused};
use crate::gpus::driver::stream::StreamRef;
use crate::gpus::driver::{call, check};
use crate::gpus::gate::Held;
use crate::gpus::graph::Graph;
use crate::gpus::memory::Memory;
use device::{Capture, DriverError, Error, Flushed, Launching, Segments, TimedSession, Timing};
use plan::BufferId;

/// Bytes that are left free when inputs are kept: graphs, modules and what flushes L2 need some
/// too.
const KEPT_FREE: usize = 1 << 30;

/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`: what our forwarding returns for a function that an
/// old driver lacks.
const FUNCTION_NOT_FOUND: u32 = 302;

impl CudaSession<'_> {
    /// Enqueues the plan once.
    fn enqueue(&mut self, by: Launching) -> Result<(), Error> {
        let stream = StreamRef::from(self.gpus[0].opened.stream());
        let enqueued = match (by, &self.graph) {
            (Launching::Graph, Some(graph)) => {
                let all = 0..self.commands.len();
                graph.replay(&self.commands, all, stream)
            }
            _ => self.commands.enqueue(stream),
        };
        self.check(enqueued)
    }

    /// Whether the driver accepts this many runs at once, without waiting for the device. Isolated
    /// sessions load their modules whole, and run once.
    fn fits_behind_gate(&self, runs: u32, by: Launching) -> bool {
        /// Streams accept some 1000 commands ahead.
        const MAX_COMMANDS: u64 = 256;
        let all = self.commands.len() as u64;
        let commands = match (by, &self.graph) {
            (Launching::Graph, Some(graph)) => {
                let (start, nodes) = (graph.range.start as u64, graph.range.len() as u64);
                start + (all - start) / nodes + (all - start) % nodes
            }
            _ => all,
        };
        (self.ran[by as usize] || matches!(self.memory, Use::Banded(_)))
            && u64::from(runs) * commands <= MAX_COMMANDS
    }
}

impl TimedSession for CudaSession<'_> {
    fn run_times(&mut self, runs: u32, by: Launching) -> Result<Timing, Error> {
        let opened = self.enter()?;
        let stream = opened.stream();
        let by = match self.graph {
            Some(_) => by,
            None => Launching::Stream,
        };
        let began = Instant::now();
        let held = if self.fits_behind_gate(runs, by) {
            opened.gate.hold(stream.into())
        } else {
            None
        };
        self.check(check("cuEventRecord", self.start.record(stream)))?;
        for _ in 0..runs {
            if let Err(error) = self.enqueue(by) {
                drop(held);
                // Accepted commands finish before their buffers can be freed.
                let _ = stream.synchronize();
                return Err(error);
            }
        }
        self.check(check("cuEventRecord", self.stop.record(stream)))?;
        let began = held.as_ref().map_or(began, Held::release);
        self.check(check("cuStreamSynchronize", stream.synchronize()))?;
        let host = began.elapsed();
        let elapsed = self.stop.elapsed(&self.start);
        let device = self.check(check("cuEventElapsedTime", elapsed))?;
        self.ran[by as usize] = true;
        Ok(Timing {
            device: Some(device),
            host,
        })
    }

    fn run_segments(&mut self, segments: u32) -> Result<Option<Segments>, Error> {
        let (commands, segments) = (self.commands.len(), segments as usize);
        if segments == 0 || commands < segments {
            return Ok(None);
        }
        let stream = self.enter()?.stream();
        let event = || check("cuEventCreate", Event::new(EventFlags::DEFAULT));
        let events: Result<Vec<Event>, DriverError> = (0..=segments).map(|_| event()).collect();
        let events = self.check(events)?;
        // A long plan goes by the graph of its repetitions, if it has one: parts are of whole
        // replays, the last with the rest.
        let (start, nodes) = match &self.graph {
            Some(Graph { range, .. }) if (commands - range.start) / range.len() >= segments => {
                (range.start, range.len())
            }
            _ => (0, 1),
        };
        let replays = (commands - start) / nodes;
        let end_of = |segment: usize| match segment {
            0 => 0,
            _ if segment == segments => commands,
            _ => self
                .commands
                .schedule
                .boundary(start + replays * segment / segments * nodes),
        };
        let ends: Vec<usize> = (0..=segments).map(end_of).collect();
        // Groups of independent commands stay whole.
        if !ends.is_sorted_by(|end, next| end < next) {
            return Ok(None);
        }
        let began = Instant::now();
        self.check(check("cuEventRecord", events[0].record(stream)))?;
        for (segment, behind) in (0..).zip(&events[1..]) {
            let range = ends[segment]..ends[segment + 1];
            let enqueued = match &self.graph {
                Some(graph) if nodes > 1 => graph.replay(&self.commands, range, stream.into()),
                _ => self.commands.enqueue_some(range, stream.into()),
            };
            let recorded = enqueued.and_then(|()| {
                check("cuEventRecord", behind.record(stream)).map_err(Refused::from)
            });
            if let Err(refused) = recorded {
                // Accepted commands finish before their buffers can be freed.
                let _ = stream.synchronize();
                return Err(self.failed(refused));
            }
        }
        self.check(check("cuStreamSynchronize", stream.synchronize()))?;
        let host = began.elapsed();
        let between = |first: &Event, last: &Event| {
            self.check(check("cuEventElapsedTime", last.elapsed(first)))
        };
        let device = Some(between(&events[0], &events[segments])?);
        let parts = (0..segments).map(|segment| {
            let done = ends[segment + 1] - ends[segment];
            let time = between(&events[segment], &events[segment + 1])?;
            Ok((done as u64, time))
        });
        Ok(Some(Segments {
            parts: parts.collect::<Result<_, Error>>()?,
            whole: Timing { device, host },
            by: match nodes {
                1 => Launching::Stream,
                _ => Launching::Graph,
            },
        }))
    }

    fn capture(&mut self) -> Result<Capture, Error> {
        if let Some(reason) = self.no_graph {
            let reason = reason.to_owned();
            return Ok(Capture::Stream { reason });
        }
        self.enter()?;
        if self.graph.is_none() {
            let Some(range) = self.commands.graph_range() else {
                let commands = self.commands.len();
                return Ok(Capture::Stream {
                    reason: format!(
                        "graphs are made of 1 to {MAX_NODES} commands; this plan has {commands}, and does not repeat"
                    ),
                });
            };
            match Graph::new(&self.commands, range) {
                Err(Refused::Driver {
                    cause,
                    position: None,
                }) if cause.code == FUNCTION_NOT_FOUND => {
                    return Ok(Capture::Stream {
                        reason: format!("the driver has no graphs: {cause}"),
                    });
                }
                made => self.graph = Some(self.check(made)?),
            }
        }
        let graph = self.graph.as_ref().expect("just made");
        Ok(Capture::Graph {
            nodes: graph.range.len() as u64,
            made_in: graph.made_in,
        })
    }

    fn flush(&mut self) -> Result<Flushed, Error> {
        let mut flushed = Flushed::NoCache;
        for gpu in &self.gpus {
            let info = &gpu.device.info;
            let l2_bytes = info.l2_bytes.unwrap_or(0);
            if l2_bytes > 0 {
                let bytes = self.check(gpu.device.enter()?.flush_l2(info, l2_bytes))?;
                flushed = Flushed::Cache { bytes };
            }
        }
        Ok(flushed)
    }

    fn keep(&mut self, id: BufferId) -> Result<(), Error> {
        let Use::Pool(pool) = &self.memory else {
            return Ok(());
        };
        for part in self.memory_of(id)? {
            let (from, opened) = self.enter_memory(part)?;
            let buffer = &self.plan.buffers()[part.index()];
            let bytes = buffer.bytes() as usize;
            if self.check(call::memory_info())?.0 < bytes + KEPT_FREE {
                return Ok(());
            }
            match pool.kept(buffer, || Memory::new(bytes, None)) {
                Err(cause) if cause.code == OUT_OF_MEMORY => return Ok(()),
                kept => {
                    let copied = self.check(kept)?.copy_from(from, opened.stream().into());
                    self.check(copied)?;
                }
            }
        }
        Ok(())
    }

    fn recall(&mut self, id: BufferId) -> Result<bool, Error> {
        let Use::Pool(pool) = &self.memory else {
            return Ok(false);
        };
        let kept = |part: &BufferId| pool.find_kept::<Memory>(&self.plan.buffers()[part.index()]);
        let ids = self.memory_of(id)?;
        let Some(kept) = ids.iter().map(kept).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        for (part, saved) in ids.into_iter().zip(kept) {
            let (to, opened) = self.enter_memory(part)?;
            self.check(to.copy_from(&saved, opened.stream().into()))?;
        }
        Ok(true)
    }

    fn digest(&mut self, id: BufferId) -> Result<Option<[u64; 2]>, Error> {
        self.plan.buffer_info(id)?;
        // A scattered buffer is not one memory.
        if self.plan.scattered(id).is_some() || !self.share.holds(&self.plan, id) {
            return Ok(None);
        }
        let number = self.plan.buffers()[id.index()].device - self.share.own.start;
        let (memory, opened) = self.enter_memory(id)?;
        let info = &self.gpus[number as usize].device.info;
        self.check(opened.digest(info, memory))
    }
}
