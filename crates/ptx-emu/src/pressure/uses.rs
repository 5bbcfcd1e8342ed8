//! The uses of values, and the values that a loop carries from round to round.

use std::collections::HashSet;

use super::values::{FREE, Id, Made, OF_LANE, Value, Values};
use crate::liveness::Liveness;

/// A use of a value: by another value, or by a sink.
#[derive(Clone, Copy, Debug)]
pub(super) enum User {
    Value(Id),
    Sink(u32),
}

/// The uses of a function's values.
#[derive(Debug)]
pub(super) struct Uses {
    /// By value.
    pub(super) users: Vec<Vec<User>>,
    /// Whether something depends on a value.
    pub(super) is_useful: Vec<bool>,
    /// Whether a value is carried from round to round of a loop, and no compiler can tell it from
    /// the number of the round.
    pub(super) is_carried: Vec<bool>,
}

impl Uses {
    pub(super) fn of(values: &Values, liveness: &Liveness) -> Self {
        let count = values.values.len();
        let mut users = vec![Vec::new(); count];
        for (id, value) in (0..).zip(&values.values) {
            for &operand in &value.operands {
                users[operand as usize].push(User::Value(id));
            }
        }
        let mut is_useful = vec![false; count];
        let mut open: Vec<Id> = Vec::new();
        for (index, sink) in (0..).zip(&values.sinks) {
            for &operand in &sink.operands {
                users[operand as usize].push(User::Sink(index));
            }
            open.extend(&sink.operands);
        }
        while let Some(id) = open.pop() {
            if id != FREE && !std::mem::replace(&mut is_useful[id as usize], true) {
                open.extend(&values.values[id as usize].operands);
            }
        }
        Self {
            is_carried: carried(values, liveness, &is_useful),
            users,
            is_useful,
        }
    }
}

/// The number of the circle that each of `count` things is in, if it is in one. Things follow each
/// other.
fn circles<'a, I: Iterator<Item = usize> + 'a>(
    count: usize,
    next: impl Fn(usize) -> I,
) -> Vec<Option<u32>> {
    // Tarjan's strongly connected components.
    let mut found = vec![None; count];
    let (mut index, mut low) = (vec![u32::MAX; count], vec![0; count]);
    let mut is_on = vec![false; count];
    let mut stack = Vec::new();
    let mut counter = 0;
    for first in 0..count {
        if index[first] != u32::MAX {
            continue;
        }
        let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = Some(first);
        loop {
            if let Some(thing) = enter.take() {
                (index[thing], low[thing]) = (counter, counter);
                counter += 1;
                stack.push(thing);
                is_on[thing] = true;
                way.push((thing, next(thing).collect()));
            }
            let Some(&mut (thing, ref mut rest)) = way.last_mut() else {
                break;
            };
            if let Some(other) = rest.pop() {
                if index[other] == u32::MAX {
                    enter = Some(other);
                } else if is_on[other] {
                    low[thing] = low[thing].min(index[other]);
                }
                continue;
            }
            way.pop();
            if let Some((before, _)) = way.last() {
                low[*before] = low[*before].min(low[thing]);
            }
            if low[thing] == index[thing] {
                let from = stack.iter().rposition(|&other| other == thing);
                let members = stack.split_off(from.expect("it is on the stack"));
                let is_circle = members.len() > 1 || next(thing).any(|other| other == thing);
                for member in members {
                    is_on[member] = false;
                    found[member] = is_circle.then_some(index[thing]);
                }
            }
        }
    }
    found
}

/// The values that start a round, follow from what they were in the round before, and from
/// floating-point arithmetic or from what a round loads.
fn carried(values: &Values, liveness: &Liveness, is_useful: &[bool]) -> Vec<bool> {
    let loops = circles(liveness.nodes.len(), |node| {
        liveness.nodes[node].successors.iter().copied()
    });
    let all = &values.values;
    let circle_of = circles(all.len(), |id| {
        let operands = all[id].operands.iter().map(|operand| *operand as usize);
        operands.filter(|operand| is_useful[*operand])
    });
    let in_loop = |id: Id| loops[all[id as usize].node as usize];
    // These follow from something that the same loop loads.
    let mut varies: Vec<bool> = (0..)
        .zip(all)
        .map(|(id, value)| matches!(value.made, Made::Loaded | Made::Once) && in_loop(id).is_some())
        .collect();
    spread(all, &mut varies, |operand, id| {
        in_loop(id).is_some() && in_loop(operand) == in_loop(id)
    });
    // These differ from thread to thread, as far as data decides.
    let mut differs: Vec<bool> = (0..)
        .zip(all)
        .map(|(id, value)| id == OF_LANE || matches!(value.made, Made::Loaded | Made::Once))
        .collect();
    spread(all, &mut differs, |_, _| true);
    let starts_round =
        |value: &Value| value.made == Made::Met && values.starts_rounds[value.node as usize];
    let mut hard = HashSet::new();
    for (id, value) in (0_u32..).zip(all) {
        let Some(circle) = circle_of[id as usize] else {
            continue;
        };
        let enters = |operand: &Id| {
            circle_of[*operand as usize] != Some(circle)
                && varies[*operand as usize]
                && in_loop(*operand) == in_loop(id)
        };
        if value.made == Made::Float
            || matches!(value.made, Made::Loaded | Made::Once)
            || !starts_round(value) && value.operands.iter().any(enters)
        {
            hard.insert(circle);
        }
    }
    (0..)
        .zip(all)
        .map(|(id, value): (usize, _)| {
            differs[id]
                && starts_round(value)
                && circle_of[id].is_some_and(|circle| hard.contains(&circle))
        })
        .collect()
}

/// Adds all that follows from the values that have a property, by operands that hand it on.
fn spread(all: &[Value], has: &mut [bool], hands_on: impl Fn(Id, Id) -> bool) {
    loop {
        let mut changed = false;
        for (id, value) in (0..).zip(all) {
            let gets = |operand: &Id| has[*operand as usize] && hands_on(*operand, id);
            if !has[id as usize] && value.operands.iter().any(gets) {
                has[id as usize] = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}
