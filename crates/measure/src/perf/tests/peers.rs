//! Peers, in turns with the variants.

use device::BufferPool;
use device::{Module, NamedBuffers};
use lab::{LabCase, Variant};

use super::*;
use crate::perf::timed_run::{About, Peer, RunError, TimedRun};
use results::{Correctness, Language, Outcome, Row};

/// As somebody else writes it: half as fast, or broken, or not for this case.
struct Other {
    about: About,
    /// The plan that it runs, if it is not the variant's.
    plan: Option<&'static str>,
    broken: Option<fn() -> RunError>,
}

impl Peer for Other {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn LabCase,
        launched: &Variant,
        inputs: &'p NamedBuffers,
        memory: &BufferPool,
    ) -> Result<TimedRun<'p>, RunError> {
        if let Some(broken) = self.broken {
            return Err(broken());
        }
        let module = Module::new("other", ".version 6.0\n.target sm_50\n.address_size 64\n");
        let plan = match self.plan {
            Some(name) => test_lab::DOUBLING.find(name).unwrap().record(case)?,
            None => launched.record(case)?,
        };
        TimedRun::prepare(device, &module, plan, inputs, memory)
    }
}

#[test]
fn peers_are_timed_in_turns_checked_and_compared() {
    let peer = |language: &str, broken| -> Box<dyn Peer> {
        let about = About {
            language: language.to_owned().into(),
            built_by: "otherc 1.0 -O3".to_owned(),
            lab: "doubling",
            variant: "twofold",
            code_sha256: Some("00".repeat(32)),
            rounds_differently: false,
        };
        Box::new(Other {
            about,
            plan: Some("naive"),
            broken,
        })
    };
    let peers = Peers {
        found: vec![
            peer("CUDA C++", None),
            peer(
                "Python",
                Some(|| RunError::Unsuited("only even sizes".to_owned())),
            ),
            peer("Basic", Some(|| RunError::Failed("it gave up".to_owned()))),
        ],
        missing: vec!["Fortran: no compiler".to_owned()],
    };
    let args = [&SMALL[..], &["--variant=naive,twofold", "--notes"]].concat();
    let run = run_with(
        &test_lab::labs(),
        &test_lab::machine(),
        peers,
        &MadeUp::default(),
        &args,
    );
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
    let row = &run.rows()[2];
    assert_eq!(row.name(), "twofold, CUDA C++");
    let figures = row.figures().unwrap();
    assert_eq!(figures.judgement.result, Correctness::Equal);
    assert_eq!(
        figures.compared.vs_variant.unwrap().interval,
        Some([0.5, 0.5])
    );
    assert!(matches!(run.rows()[3].outcome, Outcome::Skipped { .. }));
}

#[test]
fn what_rounds_differently_is_not_called_wrong() {
    let peer = |rounds_differently| -> Box<dyn Peer> {
        let about = About {
            language: format!("CUDA C++, {rounds_differently}").into(),
            built_by: "otherc 1.0 -ffast-math".to_owned(),
            lab: "doubling",
            variant: "naive",
            code_sha256: None,
            rounds_differently,
        };
        Box::new(Other {
            about,
            plan: Some("off-by-one"),
            broken: None,
        })
    };
    let peers = Peers {
        found: vec![peer(true), peer(false)],
        missing: Vec::new(),
    };
    let args = [&SMALL[..], &["--variant=naive"]].concat();
    let run = run_with(
        &test_lab::labs(),
        &test_lab::machine(),
        peers,
        &MadeUp::default(),
        &args,
    );
    let results = [0, 1, 2].map(|row| run.figures(row).judgement.result);
    let expected = [
        Correctness::Equal,
        Correctness::Unchecked,
        Correctness::Wrong,
    ];
    assert_eq!(results, expected);
    let said = run.figures(1).judgement.mismatch.as_deref();
    assert_eq!(
        said,
        Some("unchecked: it rounds differently from the reference")
    );
}

#[test]
fn a_peer_is_launched_in_the_shape_that_was_found_for_its_variant() {
    let run = with_peer_of_twofold("twofold");
    let rows = run.rows();
    let shapes: Vec<_> = rows.iter().map(|row| row.shape.as_deref()).collect();
    assert_eq!(shapes, [Some("x4"), Some("x4")]);
    let times = [0, 1].map(|row| run.figures(row).run.median_s);
    assert_eq!(times[0], times[1]);
    // Said once, not for the peer as well.
    assert!(run.text.contains("tuned: twofold: "), "{}", run.text);
}

#[test]
fn a_shape_that_was_named_has_its_variants_peers() {
    let run = with_peer_of_twofold("twofold@x1");
    let names: Vec<String> = run.rows().iter().map(Row::name).collect();
    assert_eq!(names, ["twofold@x1", "twofold@x1, CUDA C++"]);
    let times = [0, 1].map(|row| run.figures(row).run.median_s);
    assert_eq!(times[0], times[1]);
    assert!(run.figures(1).compared.vs_variant.is_some());
}

/// Times this variant, beside one in another language of the variant `twofold`, for which shape
/// `x4` was found.
fn with_peer_of_twofold(variant: &str) -> Run {
    let about = About {
        language: Language::cuda_cpp([]),
        built_by: "otherc 1.0 -O3".to_owned(),
        lab: "doubling",
        variant: "twofold",
        code_sha256: None,
        rounds_differently: false,
    };
    let peers = Peers {
        found: vec![Box::new(Other {
            about,
            plan: None,
            broken: None,
        })],
        missing: Vec::new(),
    };
    let flag = format!("--variant={variant}");
    run_tuned(
        &test_lab::labs(),
        &test_lab::machine(),
        peers,
        &MadeUp::default(),
        &table_with_x4(),
        &[&SMALL[..], &[&flag]].concat(),
    )
}
