//! Which cases the emulated device looks at before a GPU grades them, and what comes of it: see [`super::checks`].

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use host::Lab;

use super::checks::Extent;
use super::child::{Deadlines, Ended};
use super::requests::Requests;
use super::runner::{Runner, died};
use crate::course::{CaseSpec, Group};
use crate::devices::Wanted;
use crate::failure::Failure;
use crate::grade::Category;
use crate::grade::verdict::{Checks, Failing, Status};

/// What came of looking at a case on the emulated device.
pub(super) enum Look {
    /// It found nothing, or could not look.
    Clean(Checks),
    /// It found this, which fails the case.
    Fault(Checks, Failing),
    /// All of it ran, and values are wrong like this: the case fails even if the GPU has them right.
    Wrong(Failing),
}

impl Look {
    /// Whether it was made, as the report has it.
    pub(super) fn checks(self) -> Checks {
        match self {
            Look::Clean(checks) | Look::Fault(checks, _) => checks,
            Look::Wrong(_) => Checks::Whole,
        }
    }
}

/// How a case fails that the GPU has right and the emulated device wrong.
pub(super) fn right_by_luck(wrong: &Failing) -> Failing {
    Failing {
        message: format!(
            "{}; right on the GPU by luck: the result depends on which thread is first (`--device emulated` says more)",
            wrong.message
        ),
        ..wrong.clone()
    }
}

/// Looks at the cases of one submission.
pub(super) struct Looking<'a> {
    pub requests: &'a Requests<'a>,
    pub runner: &'a dyn Runner,
    /// How long, at all of them together.
    pub at_most: Duration,
}

impl Looking<'_> {
    /// What the emulated device finds in these cases of a lab; the quick ones first, each of which `tell` is told.
    pub fn at(
        &self,
        mut cases: Vec<&CaseSpec>,
        lab: &dyn Lab,
        tell: &mut dyn FnMut(&str),
    ) -> Result<BTreeMap<String, Look>, Failure> {
        cases.sort_by_cached_key(|spec| {
            let updates = spec.with_seed(lab, 0).map(|case| case.work("").updates);
            (spec.group == Group::Large, updates.unwrap_or(u64::MAX))
        });
        let began = Instant::now();
        let mut looks = BTreeMap::new();
        for spec in cases {
            let left = self.at_most.saturating_sub(began.elapsed());
            let look = if left.is_zero() {
                Look::Clean(self.not_in_time())
            } else {
                tell(&spec.name);
                self.look(spec, left)?
            };
            looks.insert(spec.name.clone(), look);
        }
        Ok(looks)
    }

    fn look(&self, spec: &CaseSpec, left: Duration) -> Result<Look, Failure> {
        let extent = Extent::of(spec.group);
        let deadlines = Deadlines {
            submission: left,
            ours: left,
        };
        let made = match extent {
            Extent::Whole => Checks::Whole,
            Extent::Sampled => Checks::Sampled,
        };
        let request = self.requests.of(spec, Wanted::Emulated, Some(extent));
        let not_made = |reason| Look::Clean(Checks::NotMade { reason });
        let found = |failing: Failing| {
            let failing = failing.with_device(Wanted::Emulated.to_string());
            match failing.category {
                Category::Wrong => Look::Wrong(failing),
                _ => Look::Fault(made.clone(), failing),
            }
        };
        Ok(match self.runner.run(&request, &deadlines)? {
            Ended::Answer(answer) => match answer.status {
                Status::Failed(failing) => found(failing),
                Status::Passed => Look::Clean(made),
                Status::NotGradedHere { reason } => not_made(reason),
            },
            Ended::Failed(failing) => found(*failing),
            Ended::Lacking(reason) => not_made(reason),
            Ended::TimedOut(_) => Look::Clean(self.not_in_time()),
            Ended::Died { how, said, .. } => not_made(died(&how, &said)),
        })
    }

    fn not_in_time(&self) -> Checks {
        Checks::NotMade {
            reason: format!(
                "the emulated device looks at a submission for {} s, and was not done by then",
                self.at_most.as_secs_f64()
            ),
        }
    }
}
