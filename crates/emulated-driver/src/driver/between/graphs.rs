//! Launches of graphs: their nodes as chains of commands.

use std::collections::HashMap;
use std::sync::Arc;

use command_order::{Chain, Moment, paths};

use super::{Begun, Between};
use crate::objects::graph::GraphWork;
use crate::objects::work::NodeOf;
use crate::site::Site;

/// The launches of graphs that have not ended.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    runs: HashMap<u64, Run>,
    last: u64,
    /// The chains of each graph, and when its latest launch has ended, by the place of its work: a
    /// graph waits for its own launches.
    known: HashMap<usize, (Vec<Chain>, Moment)>,
}

/// A launch of a graph.
#[derive(Debug)]
struct Run {
    work: Arc<GraphWork>,
    /// The chain of each node. A graph that is one path is part of its stream's chain.
    chains: Vec<Chain>,
    own: Vec<Chain>,
    start: Moment,
    /// When each node has ended.
    nodes: Vec<Option<Moment>>,
    /// The node of another launch that this one is.
    parent: Option<(u64, usize)>,
}

impl Between {
    /// Begins the launch of a graph as work of a chain; gives its number.
    pub(crate) fn begin_run(&mut self, work: &Arc<GraphWork>, begun: &Begun) -> u64 {
        let commands = &mut self.commands;
        let known = self.graphs.known.get(&id(work));
        if let Some((_, ended)) = known {
            commands.wait(begun.chain, ended);
        }
        let paths = paths(&work.behind);
        let count = paths.iter().max().map_or(0, |last| last + 1);
        let known = known.map(|(chains, _)| chains.clone());
        let own: Vec<Chain> = match known.filter(|chains| chains.len() == count) {
            Some(chains) if count > 1 => chains,
            _ if count < 2 => vec![begun.chain],
            _ => (0..count).map(|_| commands.chain()).collect(),
        };
        self.graphs.last += 1;
        let run = Run {
            work: Arc::clone(work),
            chains: paths.into_iter().map(|path| own[path]).collect(),
            own,
            start: commands.moment(begun.chain),
            nodes: vec![None; work.work.len()],
            parent: match begun.node {
                Some(NodeOf::Node(run, node)) => Some((run, node)),
                _ => None,
            },
        };
        self.graphs.runs.insert(self.graphs.last, run);
        self.graphs.last
    }

    /// The chain of a node, which waits for what the node does.
    pub(super) fn begin_node(&mut self, run: u64, node: usize) -> Option<Chain> {
        let run = self.graphs.runs.get(&run)?;
        let chain = *run.chains.get(node)?;
        self.commands.wait(chain, &run.start);
        for before in &run.work.behind[node] {
            if let Some(moment) = &run.nodes[*before] {
                self.commands.wait(chain, moment);
            }
        }
        Some(chain)
    }

    pub(super) fn end_node(&mut self, run: u64, node: usize, chain: Chain) {
        let moment = self.commands.moment(chain);
        if let Some(run) = self.graphs.runs.get_mut(&run) {
            run.nodes[node] = Some(moment);
        }
    }

    /// Ends a launch: its stream, or the node that it is, goes on behind all nodes.
    pub(super) fn end_run(&mut self, run: u64, chain: Chain) {
        let Some(run) = self.graphs.runs.remove(&run) else {
            return;
        };
        let chain = match run.parent {
            Some((outer, node)) => {
                { self.graphs.runs.get(&outer) }.map_or(chain, |outer| outer.chains[node])
            }
            None => chain,
        };
        for moment in run.nodes.iter().flatten() {
            self.commands.wait(chain, moment);
        }
        let moment = self.commands.moment(chain);
        self.graphs.known.insert(id(&run.work), (run.own, moment));
        if let Some((outer, node)) = run.parent {
            self.end_node(outer, node, chain);
        }
    }

    pub(super) fn site_of_node(&self, run: u64, node: usize) -> Option<Site> {
        let run = self.graphs.runs.get(&run)?;
        run.work.sites.get(node)?.clone()
    }
}

/// A graph that can be launched has its work at one place. One that was changed is another.
fn id(work: &Arc<GraphWork>) -> usize {
    Arc::as_ptr(work) as usize
}
