//! The registers that carry a function's values across a point, at least: a smallest cut.
//!
//! Whatever a compiler keeps at a point, everything made before it that is needed after it must
//! follow from that. So on each way from a value that is made before the point, and cannot be made
//! later, to a use that cannot be made earlier, a value is kept.

use std::collections::{HashMap, VecDeque};

use super::uses::{User, Uses};
use super::values::{FREE, Id, Made, Point, Values};
use crate::liveness::Liveness;

/// Points at which this is computed, those with most live values.
const MAX_POINTS: usize = 12;
/// Nodes of a graph: a point with more says nothing.
const MAX_NODES: usize = 1 << 17;
const ENDLESS: u32 = u32::MAX / 2;

/// The most halves of registers that any point needs.
pub(super) fn most_halves(values: &Values, liveness: &Liveness) -> u32 {
    let uses = Uses::of(values, liveness);
    let mut points: Vec<(u32, &Point)> = values
        .points
        .iter()
        .map(|point| {
            let live = point.live.iter().filter(|id| uses.is_useful[**id as usize]);
            (
                live.map(|id| values.values[*id as usize].halves).sum(),
                point,
            )
        })
        .collect();
    points.sort_by_key(|(halves, point)| (std::cmp::Reverse(*halves), point.at));
    let mut most = 0;
    for (live, point) in points.into_iter().take(MAX_POINTS) {
        if live <= most {
            break;
        }
        most = most.max(Cut::new(values, &uses, liveness, point).halves());
    }
    most
}

/// The nodes from which control may come to this one.
fn leads_to(values: &Values, to: u32) -> Vec<bool> {
    let mut leads = vec![false; values.predecessors.len()];
    let mut open = vec![to];
    while let Some(node) = open.pop() {
        for &before in &values.predecessors[node as usize] {
            if !std::mem::replace(&mut leads[before as usize], true) {
                open.push(before);
            }
        }
    }
    leads
}

/// A value before or after a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Instance {
    Before(Id),
    After(Id),
}

/// The graph for a point.
struct Cut<'a> {
    values: &'a Values,
    uses: &'a Uses,
    liveness: &'a Liveness,
    point: &'a Point,
    /// Instances that have a node; node n enters at 2n + 2 and leaves at 2n + 3. 0 is the source,
    /// 1 the end.
    nodes: HashMap<Instance, u32>,
    /// Where each edge leads and its rest of capacity; the edge behind, of even and odd, is the
    /// opposite one.
    edges: Vec<(u32, u32)>,
    /// By place.
    leaving: Vec<Vec<u32>>,
    /// The nodes that control enters behind the point before a live value is made again.
    ways: HashMap<Id, Vec<bool>>,
    /// The nodes from which control may come to the point.
    leads_back: Vec<bool>,
    is_late: HashMap<Id, bool>,
    /// Instances that are still to be followed.
    open: Vec<Instance>,
}

const SOURCE: u32 = 0;
const END: u32 = 1;

impl<'a> Cut<'a> {
    fn new(values: &'a Values, uses: &'a Uses, liveness: &'a Liveness, point: &'a Point) -> Self {
        Self {
            values,
            uses,
            liveness,
            point,
            nodes: HashMap::new(),
            edges: Vec::new(),
            leaving: vec![Vec::new(); 2],
            ways: HashMap::new(),
            leads_back: leads_to(values, point.node),
            is_late: HashMap::new(),
            open: Vec::new(),
        }
    }

    fn halves(mut self) -> u32 {
        for &id in &self.point.live {
            if id != FREE && self.uses.is_useful[id as usize] {
                let ways = self.ways_of(id);
                self.ways.insert(id, ways);
            }
        }
        let mut live: Vec<Id> = self.ways.keys().copied().collect();
        live.sort_unstable();
        for &id in &live {
            self.node(Instance::Before(id));
        }
        while let Some(instance) = self.open.pop() {
            if self.nodes.len() > MAX_NODES {
                return 0;
            }
            match instance {
                Instance::Before(id) => {
                    self.follow_back(id);
                    if self.ways.contains_key(&id) {
                        self.follow_uses(id, true);
                    }
                }
                Instance::After(id) => self.follow_uses(id, false),
            }
        }
        self.flow()
    }

    /// The nodes that control enters from the point on, before it makes the value again.
    fn ways_of(&self, id: Id) -> Vec<bool> {
        let made_in = self.values.values[id as usize].node as usize;
        let mut entered = vec![false; self.liveness.nodes.len()];
        let mut open = vec![self.point.node as usize];
        while let Some(node) = open.pop() {
            for &next in &self.liveness.nodes[node].successors {
                if next != made_in && !std::mem::replace(&mut entered[next], true) {
                    open.push(next);
                }
            }
        }
        entered
    }

    /// Whether control comes here with a live value as it is at the point.
    fn sees(&self, live: Id, (node, at): (u32, usize)) -> bool {
        let Some(entered) = self.ways.get(&live) else {
            return false;
        };
        entered[node as usize] || node == self.point.node && at >= self.point.at
    }

    fn place(&self, id: Id) -> (u32, usize) {
        let value = &self.values.values[id as usize];
        (value.node, value.at)
    }

    /// Whether a value that is made after the point cannot be made before it.
    fn is_late(&mut self, first: Id) -> bool {
        // Depth first, without recursion: a chain of values may be long.
        let mut open = vec![(first, false)];
        while let Some((id, is_done)) = open.pop() {
            if self.is_late.contains_key(&id) {
                continue;
            }
            let value = &self.values.values[id as usize];
            let starts_round =
                value.made == Made::Met && self.values.starts_rounds[value.node as usize];
            let known = match value.made {
                Made::Free => Some(false),
                Made::Loaded | Made::Once => Some(true),
                Made::Met if starts_round => Some(true),
                Made::Pure | Made::Float | Made::Met => None,
            };
            if let Some(is_late) = known {
                self.is_late.insert(id, is_late);
                continue;
            }
            let place = (value.node, value.at);
            let after: Vec<Id> = (0..)
                .zip(&value.operands)
                .filter(|(nth, operand)| !self.is_before(**operand, id, *nth, place))
                .map(|(_, operand)| *operand)
                .collect();
            if is_done {
                let is_late = after
                    .iter()
                    .any(|made| self.is_late.get(made) == Some(&true));
                self.is_late.insert(id, is_late);
            } else {
                open.push((id, true));
                open.extend(after.into_iter().map(|made| (made, false)));
            }
        }
        self.is_late[&first]
    }

    /// Whether the nth operand of a value that is made after the point is as it is at the point.
    fn is_before(&self, operand: Id, user: Id, nth: usize, place: (u32, usize)) -> bool {
        if operand == FREE {
            return true;
        }
        if self.values.values[user as usize].made != Made::Met {
            return self.sees(operand, place);
        }
        // It comes from the end of a node.
        let before = &self.values.predecessors[place.0 as usize];
        before
            .get(nth)
            .is_some_and(|&before| self.sees(operand, (before, usize::MAX)))
    }

    /// The number of an instance.
    fn node(&mut self, instance: Instance) -> u32 {
        let next = self.nodes.len() as u32;
        if let Some(&node) = self.nodes.get(&instance) {
            return node;
        }
        self.nodes.insert(instance, next);
        self.open.push(instance);
        self.leaving.extend([Vec::new(), Vec::new()]);
        let (Instance::Before(id) | Instance::After(id)) = instance;
        let halves = self.values.values[id as usize].halves;
        self.edge(2 * next + 2, 2 * next + 3, halves);
        next
    }

    fn edge(&mut self, from: u32, to: u32, capacity: u32) {
        let edge = self.edges.len() as u32;
        self.edges.extend([(to, capacity), (from, 0)]);
        self.leaving[from as usize].push(edge);
        self.leaving[to as usize].push(edge + 1);
    }

    /// Follows a value to what it is made of.
    fn follow_back(&mut self, id: Id) {
        let node = self.nodes[&Instance::Before(id)];
        let value = &self.values.values[id as usize];
        let stays = match value.made {
            Made::Free => return,
            Made::Once => true,
            Made::Loaded => {
                let mut versions = (0..2).filter(|&memory| value.loads[memory]);
                versions.any(|memory| value.versions[memory] != self.point.versions[memory])
                    || self.is_used_in_round(id)
            }
            Made::Met if self.uses.is_carried[id as usize] => true,
            Made::Pure | Made::Float | Made::Met => {
                for &operand in &value.operands {
                    if operand != FREE {
                        let from = self.node(Instance::Before(operand));
                        self.edge(2 * from + 3, 2 * node + 2, ENDLESS);
                    }
                }
                return;
            }
        };
        if stays {
            self.edge(SOURCE, 2 * node + 2, ENDLESS);
        }
    }

    /// Whether each round behind the point uses a value that is made before the loop.
    fn is_used_in_round(&self, id: Id) -> bool {
        self.point.is_round
            && self
                .ways
                .get(&id)
                .is_some_and(|ways| ways[self.point.node as usize])
            && self.uses.users[id as usize].iter().any(|user| {
                let place = match *user {
                    User::Value(user) => self.place(user),
                    User::Sink(sink) => {
                        let sink = &self.values.sinks[sink as usize];
                        (sink.node, sink.at)
                    }
                };
                self.sees(id, place) && self.leads_back[place.0 as usize]
            })
    }

    /// Follows a value, as it is at the point or made after it, to its uses.
    fn follow_uses(&mut self, id: Id, is_live: bool) {
        let instance = if is_live {
            Instance::Before(id)
        } else {
            Instance::After(id)
        };
        let leaves = 2 * self.nodes[&instance] + 3;
        let uses = self.uses;
        for user in &uses.users[id as usize] {
            match *user {
                User::Sink(sink) => {
                    let sink = &self.values.sinks[sink as usize];
                    if !is_live || self.sees(id, (sink.node, sink.at)) {
                        self.edge(leaves, END, ENDLESS);
                    }
                }
                User::Value(user) => {
                    if !uses.is_useful[user as usize] {
                        continue;
                    }
                    let place = self.place(user);
                    let values = self.values;
                    let operands = &values.values[user as usize].operands;
                    let is_seen = !is_live
                        || (0..).zip(operands).any(|(nth, operand)| {
                            *operand == id && self.is_before(id, user, nth, place)
                        });
                    if !is_seen {
                        continue;
                    }
                    if self.is_late(user) {
                        self.edge(leaves, END, ENDLESS);
                    } else {
                        let to = self.node(Instance::After(user));
                        self.edge(leaves, 2 * to + 2, ENDLESS);
                    }
                }
            }
        }
    }

    /// The greatest flow from the source to the end, which is the smallest cut.
    fn flow(&mut self) -> u32 {
        let mut flow = 0;
        loop {
            let mut from: Vec<u32> = vec![u32::MAX; self.leaving.len()];
            let mut open = VecDeque::from([SOURCE]);
            while let Some(place) = open.pop_front() {
                if place == END {
                    break;
                }
                for &edge in &self.leaving[place as usize] {
                    let (to, capacity) = self.edges[edge as usize];
                    if capacity > 0 && to != SOURCE && from[to as usize] == u32::MAX {
                        from[to as usize] = edge;
                        open.push_back(to);
                    }
                }
            }
            if from[END as usize] == u32::MAX {
                return flow;
            }
            let mut way = Vec::new();
            let mut place = END;
            while place != SOURCE {
                let edge = from[place as usize];
                way.push(edge as usize);
                place = self.edges[edge as usize ^ 1].0;
            }
            let least = way
                .iter()
                .map(|&edge| self.edges[edge].1)
                .min()
                .unwrap_or(0);
            for edge in way {
                self.edges[edge].1 -= least;
                self.edges[edge ^ 1].1 += least;
            }
            flow += least;
            if flow >= ENDLESS / 4 {
                return 0;
            }
        }
    }
}
