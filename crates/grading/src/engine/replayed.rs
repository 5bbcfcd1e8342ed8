//! The page that replays a case: the fault, or the launch that stored the first wrong value.
//!
//! The case runs once more for it, on the emulated device, after the verdict. Nothing of it counts.

use std::collections::BTreeMap;
use std::time::Duration;

use device::{Facts, Replay, Wish, WrongValue};
use lab::LabCase;
use replay::Mistake;
use serde::{Deserialize, Serialize};

use super::case::{CaseWork, SampleInputs};
use super::options::Replays;
use crate::lab_spec::Group;
use crate::outcome::{Category, NoResult};
use crate::report::CaseGrade;

/// A page that is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskedReplay {
    /// Its extent.
    pub wish: Wish,
    /// The sample that failed, if that is known.
    pub sample: Option<u32>,
    /// The submission's files, by the names that its program has of them. The page shows no others.
    pub sources: BTreeMap<String, String>,
}

/// The case to replay, and the extent of its page: of the small ones the first with a fault, else
/// the first that is wrong, else the first.
pub fn chosen<'g>(
    cases: &'g [CaseGrade],
    replays: &'g Replays,
) -> Option<(&'g CaseGrade, &'g Wish)> {
    let (wish, is_wrong) = match replays {
        Replays::None => return None,
        Replays::Wrong(wish) => (wish, true),
        Replays::All(wish) => (wish, false),
    };
    let small = cases.iter().filter(|case| case.group == Group::Small);
    let (rank, case) = small
        .map(|case| {
            let rank = match case.status.failure() {
                Some(failure) if failure.category == Category::Faulted => 0,
                Some(failure) if failure.category == Category::Wrong => 1,
                // The others have not run.
                Some(_) => 3,
                None => 2,
            };
            (rank, case)
        })
        .min_by_key(|(rank, _)| *rank)?;
    (!is_wrong || rank < 2).then_some((case, wish))
}

impl CaseWork<'_> {
    /// The page. `purpose` is that of the inputs.
    ///
    /// # Errors
    ///
    /// Why the case cannot be run once more.
    pub fn replay(&mut self, asked: &AskedReplay, purpose: &str) -> Result<String, NoResult> {
        let samples = match asked.sample {
            Some(sample) => sample..sample + 1,
            None => 0..self.orders.count(),
        };
        let mut first = None;
        for sample in samples {
            let of = self.inputs(purpose, sample)?;
            let replay = self.recorded(asked, &of)?;
            let case = of.case;
            match replay {
                Some(replay) if replay.mistake.is_some() => {
                    return Ok(self.page(&replay, asked, case.as_ref()));
                }
                right => first = first.or(right.zip(Some(case))),
            }
        }
        let (replay, case) = first.ok_or_else(|| {
            NoResult::undecided("no launch of the case has the blocks that are asked for")
        })?;
        Ok(self.page(&replay, asked, case.as_ref()))
    }

    /// Runs a sample, and again if a value is wrong, to find the launch that stored it.
    fn recorded(
        &mut self,
        asked: &AskedReplay,
        of: &SampleInputs,
    ) -> Result<Option<Replay>, NoResult> {
        let device = self.setup.device;
        device.record(asked.wish.clone(), None);
        let ran = self.submission(of, Duration::ZERO);
        let first = device.take_replay();
        let Ok(ran) = ran else {
            return Ok(first);
        };
        let (expected, _) = self.expected(of)?;
        let wrong = expected.check(&ran.outputs).err();
        let wrong = wrong.and_then(|error| {
            let text = error.located(|buffer, index| of.case.locate(buffer, index));
            WrongValue::first(self.setup.subject.plan, &error, &text)
        });
        let Some(wrong) = wrong else {
            return Ok(first);
        };
        let text = wrong.text.clone();
        device.record(asked.wish.clone(), Some(wrong));
        let ended = self.submission(of, Duration::ZERO);
        let stored = device.take_replay().filter(|_| ended.is_ok());
        // Where nothing stored it, there is a message and no place to open at.
        Ok(stored.or(first.map(|first| Replay {
            mistake: Some(Mistake::nowhere(format!(
                "{text}; no launch stores to that element"
            ))),
            ..first
        })))
    }

    fn page(&self, replay: &Replay, asked: &AskedReplay, case: &dyn LabCase) -> String {
        let axes = lab::axes(self.setup.subject.plan, case);
        replay.page(&Facts {
            text: &|path| asked.sources.get(path).cloned(),
            axes: &|name| axes.get(name).cloned().unwrap_or_default(),
        })
    }
}
