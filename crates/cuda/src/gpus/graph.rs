//! A plan's commands as a graph, which is replayed with one call to the driver.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::commands::{Commands, Refused};
use super::driver::graph::ExecutableGraph;
use super::driver::stream::StreamRef;
use device::DriverError;

/// Some of a plan's commands as a graph.
#[derive(Debug)]
pub struct Graph {
    executable: ExecutableGraph,
    /// Its commands.
    pub range: Range<usize>,
    /// How long capture and instantiation took.
    pub made_in: Duration,
}

impl Graph {
    /// Captures these commands in their order and instantiates them.
    pub fn new(commands: &Commands<'_>, range: Range<usize>) -> Result<Graph, Refused> {
        let began = Instant::now();
        let enqueue = |stream: StreamRef<'_>| commands.enqueue_some(range.clone(), stream);
        let executable =
            ExecutableGraph::capture(commands.schedule.has_priorities_in_graphs(), enqueue)?;
        Ok(Graph {
            executable,
            range,
            made_in: began.elapsed(),
        })
    }

    /// Enqueues all its commands.
    fn enqueue(&self, stream: StreamRef<'_>) -> Result<(), DriverError> {
        // SAFETY: the graph's nodes use what its commands use. By the contract of `Commands::new`,
        // kernels and memory stay until a graph of the commands has finished.
        unsafe { self.executable.launch(stream) }
    }

    /// Enqueues a range of the plan's commands: as replays of the graph where its repetitions are,
    /// and one by one before and after them.
    pub fn replay(
        &self,
        commands: &Commands<'_>,
        range: Range<usize>,
        stream: StreamRef<'_>,
    ) -> Result<(), Refused> {
        let mut at = self.range.start.clamp(range.start, range.end);
        commands.enqueue_some(range.start..at, stream)?;
        while at + self.range.len() <= range.end {
            self.enqueue(stream)?;
            at += self.range.len();
        }
        commands.enqueue_some(at..range.end, stream)
    }
}
