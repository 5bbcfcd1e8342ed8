//! Where the lanes of a warp need not run apart.
//!
//! Lanes that run apart ([`Schedule`](crate::Schedule)) show what depends on which of them is
//! first. Where each way from a position leads to a barrier of the block or to the end, and no
//! thread learns of another on it, nothing does: accesses that lanes make there in common race, in
//! any order. Lanes *stay together* there, which takes half as many steps, and wait for those that
//! come later.

use crate::unset_values::facts::{Company, Facts, Flow};

/// The positions of a function at which lanes stay together.
pub(crate) fn stay_together(facts: &[Facts], is_kernel: bool) -> Vec<bool> {
    // Positions that lead to others, by where they lead, and those that are known to see others.
    let mut before = vec![Vec::new(); facts.len() + 1];
    let mut open = Vec::new();
    for (index, each) in facts.iter().enumerate() {
        let company = each.company;
        let returns = matches!(each.flow, Flow::End) && !is_kernel;
        if company == Company::Order || returns {
            open.push(index);
        }
        if company == Company::Barrier {
            continue;
        }
        if each.guard.is_some() || matches!(each.flow, Flow::Next) {
            before[index + 1].push(index);
        }
        match &each.flow {
            Flow::Branch(target) => before[*target as usize].push(index),
            Flow::Table(targets) => {
                for &target in targets.iter() {
                    before[target as usize].push(index);
                }
            }
            Flow::Next | Flow::End => {}
        }
    }
    if !is_kernel {
        // The caller goes on.
        open.push(facts.len());
    }
    let mut stay = vec![true; facts.len() + 1];
    while let Some(index) = open.pop() {
        if std::mem::replace(&mut stay[index], false) {
            open.append(&mut before[index]);
        }
    }
    stay
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(flow: Flow) -> Facts {
        Facts {
            flow,
            ..Facts::default()
        }
    }

    fn of(company: Company) -> Facts {
        Facts {
            company,
            ..Facts::default()
        }
    }

    fn guarded(flow: Flow) -> Facts {
        Facts {
            guard: Some(0),
            flow,
            ..Facts::default()
        }
    }

    #[test]
    fn lanes_stay_together_up_to_a_barrier_and_to_the_end() {
        let code = [
            plain(Flow::Next),
            of(Company::Order),
            plain(Flow::Next),
            guarded(Flow::Branch(2)),
            of(Company::Barrier),
            plain(Flow::Next),
            guarded(Flow::Branch(1)),
            plain(Flow::End),
        ];
        let stay = stay_together(&code, true);
        assert_eq!(
            stay,
            [false, false, true, true, true, false, false, true, true]
        );
    }

    #[test]
    fn the_end_of_a_function_is_not_the_end_of_the_thread() {
        let code = [
            plain(Flow::Next),
            of(Company::Barrier),
            plain(Flow::Table([0, 3].into())),
            plain(Flow::End),
        ];
        assert_eq!(stay_together(&code, true), [true; 5]);
        assert_eq!(
            stay_together(&code, false),
            [true, true, false, false, false]
        );
    }
}
