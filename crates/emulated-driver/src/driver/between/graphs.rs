//! Launches of graphs: their nodes as chains of commands.

use std::collections::HashMap;
use std::sync::Arc;

use command_order::{Chain, Commands, Moment, paths};

use crate::objects::graph::GraphWork;
use crate::objects::work::NodeOf;
use crate::site::Site;

/// The launches of graphs that have not ended.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    runs: HashMap<u64, Run>,
    last: u64,
    /// The chains of each graph, and when its latest launch has ended, by its number: a
    /// graph waits for its own launches.
    known: HashMap<u64, (Vec<Chain>, Moment)>,
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

impl Graphs {
    /// Begins the launch of a graph as work of a chain, or as a node of another launch; gives its
    /// number.
    pub(super) fn begin_run<L>(
        &mut self,
        commands: &mut Commands<L>,
        work: &Arc<GraphWork>,
        chain: Chain,
        node: Option<NodeOf>,
    ) -> u64 {
        let known = self.known.get(&work.id);
        if let Some((_, ended)) = known {
            commands.wait(chain, ended);
        }
        let paths = paths(&work.behind);
        let count = paths.iter().max().map_or(0, |last| last + 1);
        let known = known.map(|(chains, _)| chains.clone());
        let own: Vec<Chain> = match known.filter(|chains| chains.len() == count) {
            Some(chains) if count > 1 => chains,
            _ if count < 2 => vec![chain],
            _ => (0..count).map(|_| commands.chain()).collect(),
        };
        self.last += 1;
        let run = Run {
            work: Arc::clone(work),
            chains: paths.into_iter().map(|path| own[path]).collect(),
            own,
            start: commands.moment(chain),
            nodes: vec![None; work.work.len()],
            parent: match node {
                Some(NodeOf::Node(run, node)) => Some((run, node)),
                _ => None,
            },
        };
        self.runs.insert(self.last, run);
        self.last
    }

    /// The chain of a node, which waits for what the node does.
    pub(super) fn begin_node<L>(
        &mut self,
        commands: &mut Commands<L>,
        run: u64,
        node: usize,
    ) -> Option<Chain> {
        let run = self.runs.get(&run)?;
        let chain = *run.chains.get(node)?;
        commands.wait(chain, &run.start);
        for before in &run.work.behind[node] {
            if let Some(moment) = &run.nodes[*before] {
                commands.wait(chain, moment);
            }
        }
        Some(chain)
    }

    pub(super) fn end_node<L>(
        &mut self,
        commands: &Commands<L>,
        run: u64,
        node: usize,
        chain: Chain,
    ) {
        let moment = commands.moment(chain);
        if let Some(run) = self.runs.get_mut(&run) {
            run.nodes[node] = Some(moment);
        }
    }

    /// Ends a launch: its stream, or the node that it is, goes on behind all nodes.
    pub(super) fn end_run<L>(&mut self, commands: &mut Commands<L>, run: u64, chain: Chain) {
        let Some(run) = self.runs.remove(&run) else {
            return;
        };
        let chain = match run.parent {
            Some((outer, node)) => {
                { self.runs.get(&outer) }.map_or(chain, |outer| outer.chains[node])
            }
            None => chain,
        };
        for moment in run.nodes.iter().flatten() {
            commands.wait(chain, moment);
        }
        let moment = commands.moment(chain);
        self.known.insert(run.work.id, (run.own, moment));
        if let Some((outer, node)) = run.parent {
            self.end_node(commands, outer, node, chain);
        }
    }

    /// The number of a node, behind those of the nodes that the graphs around it are.
    pub(super) fn place(&self, run: u64, node: usize) -> Vec<usize> {
        let parent = self.runs.get(&run).and_then(|run| run.parent);
        let mut place = parent.map_or_else(Vec::new, |(outer, own)| self.place(outer, own));
        place.push(node);
        place
    }

    pub(super) fn site_of_node(&self, run: u64, node: usize) -> Option<Site> {
        let run = self.runs.get(&run)?;
        run.work.sites.get(node)?.clone()
    }
}
