//! Conditional nodes of graphs: which of their bodies run is decided by a value that kernels set.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use super::Handle;
use crate::code::{Code, Outcome};

/// `CUgraphConditionalNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchKind {
    /// The first body if the value is not 0, or else the second, if there is one.
    If,
    /// The body again and again, as long as the value is not 0.
    While,
    /// The body of this number, if there is one.
    Switch,
}

impl BranchKind {
    /// The kind of a number, with so many bodies.
    pub(crate) fn of(number: c_int, bodies: c_uint) -> Outcome<BranchKind> {
        match (number, bodies) {
            (0, 1 | 2) => Ok(BranchKind::If),
            (1, 1) => Ok(BranchKind::While),
            (2, 1..) => Ok(BranchKind::Switch),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// The number of the body that a value chooses; perhaps there is none of this number.
    pub(crate) fn chosen(self, value: u32) -> usize {
        match self {
            BranchKind::If | BranchKind::While => usize::from(value == 0),
            BranchKind::Switch => value as usize,
        }
    }
}

/// A handle by which kernels set the value of a conditional node.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) handle: u64,
    pub(crate) context: Handle,
    /// The value at the beginning of each launch.
    pub(crate) default: Option<u32>,
}

/// The conditional handles of a graph that is launched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) handles: Arc<BTreeSet<u64>>,
    /// Their values at the beginning of a launch.
    pub(crate) defaults: Vec<(u64, Option<u32>)>,
}

impl Conditions {
    pub(crate) fn of(known: &[Condition]) -> Conditions {
        Conditions {
            handles: Arc::new(known.iter().map(|one| one.handle).collect()),
            defaults: known.iter().map(|one| (one.handle, one.default)).collect(),
        }
    }
}

/// The value of a conditional handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) value: u32,
    /// The launch under way, by its default or a kernel, has set it. Before that it is undefined.
    pub(crate) is_set: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_chooses_a_body() {
        for (kind, value, expected) in [
            (BranchKind::If, 5, 0),
            (BranchKind::If, 0, 1),
            (BranchKind::While, 1, 0),
            (BranchKind::While, 0, 1),
            (BranchKind::Switch, 2, 2),
        ] {
            assert_eq!(kind.chosen(value), expected, "{kind:?} at {value}");
        }
    }

    #[test]
    fn kinds_have_numbers_of_bodies() {
        for (number, bodies, is_one) in [
            (0, 1, true),
            (0, 2, true),
            (0, 3, false),
            (0, 0, false),
            (1, 1, true),
            (1, 2, false),
            (2, 0, false),
            (2, 9, true),
            (5, 1, false),
        ] {
            let kind = BranchKind::of(number, bodies);
            assert_eq!(kind.is_ok(), is_one, "{number} with {bodies}");
        }
    }
}
