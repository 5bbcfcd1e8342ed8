//! A plan has a limit, and says so before it fills the memory.

use plan::{Element, LaunchConfig, Plan, PlanError, args};

#[test]
fn a_billion_launches_are_refused_in_time() {
    let mut plan = Plan::new("endless");
    let u = plan.buffer("u", Element::F32, 8);
    let config = LaunchConfig::new(1, 1);
    let error = (0..1_000_000_000u32)
        .find_map(|step| plan.launch("k", config, args![u, step]).err())
        .unwrap();
    insta::assert_snapshot!(error, @"plan `endless` has more than 1048576 launches, copies and fills; let each launch do more");
    assert!(matches!(plan.fill(u, 0), Err(PlanError::TooLarge { .. })));
    assert_eq!(plan.commands().count(), 1 << 20);
}

#[test]
fn a_launch_without_end_is_refused() {
    let mut plan = Plan::new("long");
    let config = LaunchConfig::new(1, 1);
    let endless = std::iter::repeat(0u32.into());
    let error = plan.launch("k", config, endless).unwrap_err();
    insta::assert_snapshot!(error, @"plan `long` has more than 1024 arguments of a launch; let each launch do more");
    assert_eq!(plan.commands().count(), 0);
}

/// Names are quoted in messages, and compared with others.
#[test]
fn names_without_end_are_refused() {
    let long = "x".repeat(2_000_000);
    let mut plan = Plan::new("long");
    let config = LaunchConfig::new(0, 1);
    let error = plan.launch(&long, config, []).unwrap_err();
    insta::assert_snapshot!(error, @"plan `long`: the name of a kernel, `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`, has 2000000 bytes; names have at most 200");
    plan.launch(&long[..200], LaunchConfig::new(1, 1), [])
        .unwrap();
    let saved = serde_json::to_string(&plan).unwrap();
    plan.check().unwrap();
    let mut other = plan.clone();
    other.buffer(&long, Element::F32, 8);
    insta::assert_snapshot!(other.check().unwrap_err(), @"plan `long`: the name of a buffer, `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`, has 2000000 bytes; names have at most 200");
    let mut output = plan.clone();
    let u = output.buffer("u", Element::F32, 8);
    output.output(&long, u);
    insta::assert_snapshot!(output.check().unwrap_err(), @"plan `long`: the name of an output, `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`, has 2000000 bytes; names have at most 200");
    plan.rename(&long);
    insta::assert_snapshot!(plan.check().unwrap_err(), @"plan `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`: the name of the plan, `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`, has 2000000 bytes; names have at most 200");

    // A file may come from anywhere.
    serde_json::from_str::<Plan>(&saved).unwrap();
    for name in ["long", &long[..200]] {
        let forged = saved.replace(&format!("\"{name}\""), &format!("{long:?}"));
        assert_ne!(forged, saved);
        let refused = serde_json::from_str::<Plan>(&forged).unwrap_err();
        assert!(
            refused.to_string().contains("has 2000000 bytes"),
            "{refused}"
        );
        assert!(refused.to_string().len() < 500);
    }
}

/// Names are shown in terminals, pages and spreadsheets.
#[test]
fn names_with_control_characters_are_refused() {
    let mut plan = Plan::new("named");
    let config = LaunchConfig::new(1, 1);
    let error = plan.launch("k\u{1b}[2J", config, []).unwrap_err();
    insta::assert_snapshot!(error, @r"plan `named`: the name of a kernel, `k\u{1b}[2J`, has control characters; write letters, digits and signs");
    // Letters of any script are letters, and a space of any kind is one.
    plan.launch("größe", config, []).unwrap();
    for space in ["\u{a0}", "\u{3000}"] {
        let mut other = plan.clone();
        other.launch(&format!("a{space}b"), config, []).unwrap();
        other.check().unwrap();
    }
    let saved = serde_json::to_string(&plan).unwrap();
    for control in [
        "\n", "\r", "\u{202e}", "\u{200b}", "\u{9b}", "\u{61c}", "\u{ad}",
    ] {
        let mut other = plan.clone();
        other.buffer(format!("u{control}v"), Element::F32, 8);
        assert!(matches!(
            other.check(),
            Err(PlanError::ControlInName {
                what: "a buffer",
                ..
            })
        ));
        // A file may come from anywhere.
        for name in ["named", "größe"] {
            let escaped = serde_json::to_string(&format!("a{control}b")).unwrap();
            let forged = saved.replace(&format!("\"{name}\""), &escaped);
            assert_ne!(forged, saved);
            let refused = serde_json::from_str::<Plan>(&forged).unwrap_err();
            assert!(
                refused.to_string().contains("control characters"),
                "{refused}"
            );
        }
    }
}
