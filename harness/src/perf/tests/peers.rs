//! Peers, in turns with the variants.

use host::{Case, Module, NamedBuffers};

use super::*;
use crate::perf::contender::{Peer, PlanRun, TimedRun, Trouble};
use crate::perf::results::{Correctness, Outcome};

/// Naive as somebody else writes it: half as fast, or broken, or not for this case.
struct Other {
    language: &'static str,
    broken: Option<fn() -> Trouble>,
}

impl Peer for Other {
    fn language(&self) -> &str {
        self.language
    }

    fn built_by(&self) -> &str {
        "otherc 1.0 -O3"
    }

    fn lab(&self) -> &str {
        "doubling"
    }

    fn variant(&self) -> &str {
        "twofold"
    }

    fn code_sha256(&self) -> Option<String> {
        Some("00".repeat(32))
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn Case,
        inputs: &'p NamedBuffers,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble> {
        if let Some(broken) = self.broken {
            return Err(broken());
        }
        let module = Module::new("other", ".version 6.0\n.target sm_50\n.address_size 64\n");
        let plan = case.record("naive")?;
        Ok(Box::new(PlanRun::prepare(device, &module, plan, inputs)?))
    }
}

#[test]
fn peers_are_timed_in_turns_checked_and_compared() {
    let peer = |language, broken| Box::new(Other { language, broken }) as Box<dyn Peer>;
    let peers = Peers {
        found: vec![
            peer("CUDA C++", None),
            peer(
                "Python",
                Some(|| Trouble::Unsuited("only even sizes".to_owned())),
            ),
            peer("Basic", Some(|| Trouble::Failed("it gave up".to_owned()))),
        ],
        missing: vec!["Fortran: no compiler".to_owned()],
    };
    let args = [&SMALL[..], &["--variant=naive,twofold"]].concat();
    let run = run_with(
        &testing::labs(),
        &testing::machine(),
        peers,
        &MadeUp::default(),
        &args,
    );
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
    let row = &run.rows()[2];
    assert_eq!(row.name(), "twofold, CUDA C++");
    let figures = row.figures().unwrap();
    assert_eq!(figures.result, Correctness::Equal);
    assert_eq!(figures.vs_variant.unwrap().interval, Some([0.5, 0.5]));
    assert!(matches!(run.rows()[3].outcome, Outcome::Skipped { .. }));
}
