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
