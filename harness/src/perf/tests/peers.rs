//! Peers, in turns with the variants.

use host::device::SharedMemory;
use host::{Case, Module, NamedBuffers};

use super::*;
use crate::perf::contender::{About, Peer, PlanRun, TimedRun, Trouble};
use crate::perf::results::{Correctness, Outcome};

/// Naive as somebody else writes it: half as fast, or broken, or not for this case.
struct Other {
    about: About,
    broken: Option<fn() -> Trouble>,
}

impl Peer for Other {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn Case,
        inputs: &'p NamedBuffers,
        memory: &SharedMemory,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble> {
        if let Some(broken) = self.broken {
            return Err(broken());
        }
        let module = Module::new("other", ".version 6.0\n.target sm_50\n.address_size 64\n");
        PlanRun::prepare(device, &module, case.record("naive")?, inputs, memory)
    }
}

#[test]
fn peers_are_timed_in_turns_checked_and_compared() {
    let peer = |language: &str, broken| -> Box<dyn Peer> {
        let about = About {
            language: language.to_owned(),
            built_by: "otherc 1.0 -O3".to_owned(),
            lab: "doubling",
            variant: "twofold",
            code_sha256: Some("00".repeat(32)),
        };
        Box::new(Other { about, broken })
    };
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
    let args = [&SMALL[..], &["--variant=naive,twofold", "--notes"]].concat();
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
