//! Files that are right, and what is said of those that are not.

use std::collections::HashSet;

use super::*;

const GOOD: &str = r#"format_version = 1
lab = "wave2d"

[tolerance]
rule = "rounding"
factor = 4

[[case]]
name = "odd-37x53"
group = "small"
points = 2
params = { n_x = 37, n_y = 53, steps = 10, scene = "point-source", k = 0.3 }

[[case]]
name = "large-3201"
group = "large"
points = 0.5
[case.params]
n_x = 3201
n_y = 3201
steps = 12800

[[performance]]
case = "large-3201"
points = 40
against = "reference"
variant = "shmem"
zero = 0.2
full = 0.9
"#;

/// The error when `from` is replaced by `to` in a good file.
fn refused(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    let text = GOOD.replace(from, to);
    LabSpec::parse(&text, "lab.toml").unwrap_err().to_string()
}

#[test]
fn what_a_file_states() {
    let lab_spec = LabSpec::parse(GOOD, "lab.toml").unwrap();
    assert_eq!(lab_spec.lab.name, "wave2d");
    assert_eq!(lab_spec.tolerance, ToleranceRule::Rounding { factor: 4.0 });
    let [small, large] = &lab_spec.cases[..] else {
        panic!("{lab_spec:?}")
    };
    assert_eq!(
        (small.name.as_str(), small.group, small.points),
        ("odd-37x53", Group::Small, 2.0)
    );
    assert_eq!(large.group, Group::Large);
    assert_eq!(small.params.get("k"), Some("0.3"));
    let lab = host::find_lab("wave2d").unwrap();
    let case = small.with_seed(lab, 7).unwrap();
    assert_eq!(case.label(), "37x53, 10 steps, point-source, k = 0.3");
    assert_eq!(lab_spec.performance.len(), 1);
    assert_eq!(lab_spec.points(), 42.5);
}

#[test]
fn points_are_linear_between_zero_and_full() {
    let lab_spec = LabSpec::parse(GOOD, "lab.toml").unwrap();
    let earned = |ratio| lab_spec.performance[0].earned(ratio);
    assert_eq!([0.0, 0.1, 0.2].map(earned), [0.0; 3]);
    approx_eq(earned(0.55), 20.0);
    assert_eq!([0.9, 1.0, 7.0].map(earned), [40.0; 3]);
}

fn approx_eq(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn rounding_is_for_labs_that_round() {
    let of = |lab: &str, params: &str| {
        format!(
            "format_version = 1\nlab = \"{lab}\"\n[tolerance]\nrule = \"rounding\"\nfactor = 2\n[[case]]\nname = \"a\"\ngroup = \"small\"\npoints = 1\nparams = {params}\n"
        )
    };
    let refused = LabSpec::parse(&of("membench", "{ n = 8, x = 1 }"), "lab.toml");
    insta::assert_snapshot!(refused.unwrap_err(), @r#"lab.toml:4: lab membench computes with integers, which do not round; use rule "exact""#);
    LabSpec::parse(&of("matadd", "{ n_x = 8, n_y = 1 }"), "lab.toml").unwrap();
    // A lab says that it rounds if and only if it has an oracle.
    for lab in host::labs() {
        let case = &lab.small_cases()[0];
        let oracle = case.oracle_from(&case.inputs().unwrap(), &terminal::progress::NoProgress);
        assert_eq!(oracle.unwrap().is_some(), lab.rounds, "{}", lab.name);
    }
}

#[test]
fn every_lab_has_a_file() {
    let labs: Vec<_> = host::labs().iter().map(|lab| lab.name).collect();
    let files: Vec<_> = embedded_files().map(|(lab, ..)| lab).collect();
    assert_eq!(files, labs);
    for lab in labs {
        let lab_spec = embedded(lab).unwrap();
        assert_eq!(lab_spec.lab.name, lab, "{}", lab_spec.file);
        assert!(lab_spec.points() > 0.0, "{}", lab_spec.file);
    }
    insta::assert_snapshot!(embedded("wave3").unwrap_err(), @"unknown lab `wave3`; did you mean `wave3d`?");
}

/// A sequel has the problem of a lab, and its own name, cases and hints.
#[test]
fn sequels_are_known_by_their_own_names() {
    let labs = host::labs().len();
    let sequels: Vec<&str> = super::names().skip(labs).collect();
    assert_eq!(sequels, ["several-gpus", "stencil25-advanced"]);
    for name in sequels {
        let lab_spec = embedded(name).unwrap();
        assert_eq!(lab_spec.name, name);
        assert_eq!(lab_spec.points(), 100.0, "{name}");
        assert!(host::find_lab(name).is_err(), "{name}");
        assert_ne!(lab_spec.text, embedded(lab_spec.lab.name).unwrap().text);
        assert!(embedded_hints(name).unwrap().all().len() > 2, "{name}");
        // Students' files keep the name.
        assert_eq!(lab_spec.without_hidden_cases().unwrap().name, name);
    }
    let named = |name: &str| {
        let text = GOOD.replace("[tolerance]", &format!("name = \"{name}\"\n[tolerance]"));
        LabSpec::parse(&text, "lab.toml").map(|lab_spec| lab_spec.name)
    };
    assert_eq!(named("wave2d-in-april").unwrap(), "wave2d-in-april");
    insta::assert_snapshot!(named("../x").unwrap_err(), @"lab.toml:4: `../x` is not a name for a folder: letters, digits, `.`, `_` and `-`, at least one");
    insta::assert_snapshot!(named("wave3d").unwrap_err(), @"lab.toml:4: `wave3d` is a lab's name; leave it out, or name the folder");
}

#[test]
fn every_seed_gives_other_inputs_and_outputs() {
    for (lab, ..) in embedded_files() {
        let lab_spec = embedded(lab).unwrap().drawn(3);
        let lab = host::find_lab(lab).unwrap();
        for case in &lab_spec.cases {
            if case.group == Group::Large {
                continue;
            }
            // Seeds of 32 bits come from the upper half.
            let [one, other] = [1 << 32, 2 << 32].map(|seed| case.with_seed(lab, seed).unwrap());
            assert_ne!(one.inputs().unwrap(), other.inputs().unwrap());
            let [one, other] = [one, other].map(|seeded| {
                let outputs = seeded.reference(lab::Cpu::Parallel, &terminal::progress::NoProgress);
                outputs.unwrap()
            });
            // A single point between walls has one value, whatever it starts from.
            let is_tiny = one[0].1.len() <= 27;
            assert!(is_tiny || one != other, "{}", case.name);
        }
    }
}

/// A kernel that reads inputs cannot compute others from them: each of a key's 256 bits makes other
/// ones, so that no lab folds its key into a number that can be tried out.
#[test]
fn every_bit_of_a_key_gives_other_inputs() {
    for (name, ..) in embedded_files() {
        let lab_spec = embedded(name).unwrap();
        let small = &lab_spec.cases[0];
        let inputs = |key: [u8; 32]| {
            let case = small.with_seed(lab_spec.lab, Seed::Key(key)).unwrap();
            format!("{:?}", case.inputs().unwrap())
        };
        let mut seen = HashSet::from([inputs([0; 32])]);
        for bit in 0..256 {
            let mut key = [0; 32];
            key[bit / 8] = 1 << (bit % 8);
            assert!(seen.insert(inputs(key)), "{name}: bit {bit}");
        }
    }
}

/// Nothing overflows, at any scale that is drawn: a right program would lose the case.
#[test]
fn scaled_cases_have_finite_results() {
    for (name, ..) in embedded_files() {
        let lab_spec = embedded(name).unwrap();
        for draw in 0..6 {
            for spec in &lab_spec.drawn(draw).cases {
                let mut spec = spec.clone();
                if spec.group == Group::Large || spec.params.get("scale").is_none() {
                    continue;
                }
                for scale in [lab::MAX_SCALE, -lab::MAX_SCALE] {
                    spec.params.set("scale", scale);
                    let case = spec.with_seed(lab_spec.lab, Seed::Key([7; 32])).unwrap();
                    let inputs = case.inputs().unwrap();
                    let outputs = case.reference_from(
                        &inputs,
                        lab::Cpu::Parallel,
                        &terminal::progress::NoProgress,
                    );
                    let outputs = outputs.unwrap();
                    let checked = device::check::Expected::exact(outputs.clone()).check(&outputs);
                    assert!(checked.is_ok(), "{name} {spec:?}: {checked:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_toml() {
    insta::assert_snapshot!(refused("points = 40", "points = "), @"lab.toml:25: string values must be quoted, expected literal string");
    insta::assert_snapshot!(refused("points = 40\n", ""), @"lab.toml:23: missing field `points`");
    insta::assert_snapshot!(refused("points = 40", "points = \"many\""), @r#"lab.toml:25: invalid type: string "many", expected a number"#);
    insta::assert_snapshot!(refused("full = 0.9", "full = 0.9\nful = 1"), @"lab.toml:30: unknown field `ful`, expected one of `case`, `points`, `against`, `variant`, `zero`, `full`");
    insta::assert_snapshot!(refused("group = \"small\"", "groupe = \"small\""), @"lab.toml:10: unknown field `groupe`, expected one of `name`, `group`, `points`, `devices`, `most_updates`, `params`");
}

#[test]
fn versions_labs_and_rules() {
    insta::assert_snapshot!(refused("format_version = 1", "format_version = 2"), @"lab.toml:1: format_version is 2; this program reads 1");
    insta::assert_snapshot!(refused("lab = \"wave2d\"", "lab = \"wave2\""), @"lab.toml:2: unknown lab `wave2`; did you mean `wave2d`?");
    insta::assert_snapshot!(refused("rule = \"rounding\"", "rule = \"rounded\""), @"lab.toml:5: unknown rule `rounded`; there are: exact, rounding");
    insta::assert_snapshot!(refused("factor = 4", ""), @r#"lab.toml:5: rule "rounding" needs a factor: how many times the reference's own rounding noise is right"#);
    insta::assert_snapshot!(refused("factor = 4", "factor = 0.5"), @"lab.toml:6: factor is 0.5; it is between 1 and 1000000");
    insta::assert_snapshot!(refused("factor = 4", "factor = nan"), @"lab.toml:6: factor is NaN; it is between 1 and 1000000");
    insta::assert_snapshot!(refused("rule = \"rounding\"", "rule = \"exact\""), @r#"lab.toml:6: rule "exact" has no factor; remove it, or use rule "rounding""#);
}

#[test]
fn cases() {
    insta::assert_snapshot!(refused("name = \"large-3201\"", "name = \"odd-37x53\""), @"lab.toml:15: there are two cases `odd-37x53`; names are unique");
    insta::assert_snapshot!(refused("name = \"large-3201\"", "name = \"a/b\""), @"lab.toml:15: `a/b` is not a name for a case: letters, digits, `.`, `_` and `-`, at least one");
    insta::assert_snapshot!(refused("group = \"small\"", "group = \"tiny\""), @"lab.toml:10: unknown variant `tiny`, expected one of `small`, `large`, `hidden`");
    insta::assert_snapshot!(refused("points = 2", "points = -2"), @"lab.toml:11: points are -2; they are 0 or more");
    insta::assert_snapshot!(refused("points = 2", "points = inf"), @"lab.toml:11: points are inf; they are 0 or more");
    insta::assert_snapshot!(refused("n_x = 3201", "n_x = 1"), @"lab.toml:19: parameter `n_x` = `1`: a domain has at least 2 cells along each axis, its two borders");
    insta::assert_snapshot!(refused("n_x = 3201", "nx = 3201"), @"lab.toml:19: unknown parameter `nx`; did you mean `n_x`?");
    insta::assert_snapshot!(refused("n_x = 3201", "n_x = [1]"), @"lab.toml:19: `n_x` must be a number or a text");
    insta::assert_snapshot!(refused("scene = \"point-source\"", "scene = \"void\""), @"lab.toml:12: unknown scene `void`; there are: point-source, double-slit, elliptic-room, parabolic-mirror, empty-box");
    insta::assert_snapshot!(refused("n_y = 3201", "n_y = 3201\nseed = 4"), @"lab.toml:21: `seed` cannot be chosen: every sample's inputs follow from a fresh, secret seed");
    let none = "format_version = 1\nlab = \"matadd\"\ntolerance = { rule = \"exact\" }\n";
    insta::assert_snapshot!(LabSpec::parse(none, "lab.toml").unwrap_err(), @"lab.toml:1: there is no [[case]]; a lab grades at least one");
}

#[test]
fn performance() {
    insta::assert_snapshot!(refused("case = \"large-3201\"", "case = \"large\""), @"lab.toml:24: unknown case `large`; there are: odd-37x53, large-3201");
    insta::assert_snapshot!(refused("case = \"large-3201\"", "case = \"odd-37x53\""), @r#"lab.toml:24: case `odd-37x53` is in group "small"; only cases of group "large" are timed"#);
    insta::assert_snapshot!(refused("points = 40", "points = -1"), @"lab.toml:25: points are -1; they are 0 or more");
    insta::assert_snapshot!(refused("variant = \"shmem\"", "variant = \"smem\""), @"lab.toml:27: unknown variant `smem`; did you mean `shmem`?");
    insta::assert_snapshot!(refused("variant = \"shmem\"", ""), @r#"lab.toml:26: against "reference" needs a variant, one of: naive, single, shmem, fast, fast_exact, wavefront, wavefront_exact, resident"#);
    insta::assert_snapshot!(refused("against = \"reference\"", "against = \"limit\""), @r#"lab.toml:27: against "limit" has no variant; remove it, or use "reference""#);
    insta::assert_snapshot!(refused("against = \"reference\"", "against = \"me\""), @"lab.toml:26: unknown comparison `me`; there are: reference, limit");
    insta::assert_snapshot!(refused("zero = 0.2", "zero = 0.9"), @"lab.toml:29: full is 0.9; it must be above zero = 0.9, the ratio that earns nothing");
    insta::assert_snapshot!(refused("zero = 0.2", "zero = -0.2"), @"lab.toml:28: zero is -0.2; a ratio is 0 or more");
    let twice = GOOD.find("[[performance]]").unwrap();
    let text = format!("{GOOD}\n{}", &GOOD[twice..]);
    insta::assert_snapshot!(LabSpec::parse(&text, "lab.toml").unwrap_err(), @"lab.toml:32: case `large-3201` is compared with this already; once is enough");
}

#[test]
fn counts() {
    const COUNT: &str = r#"
[[count]]
case = "odd-37x53"
count = "global_sectors"
points = 5
full = 12000
zero = 20000
"#;
    let parse = |text: &str| LabSpec::parse(&format!("{GOOD}{text}"), "lab.toml");
    let lab_spec = parse(COUNT).unwrap();
    assert_eq!(lab_spec.points(), 47.5);
    let [counted] = &lab_spec.counted[..] else {
        panic!("{lab_spec:?}")
    };
    assert_eq!((counted.full, counted.zero), (12_000, 20_000));
    // Students have it too.
    assert_eq!(
        lab_spec.without_hidden_cases().unwrap().counted,
        lab_spec.counted
    );
    let refused = |from: &str, to: &str| parse(&COUNT.replace(from, to)).unwrap_err().to_string();
    insta::assert_snapshot!(refused("odd-37x53", "odd"), @"lab.toml:32: unknown case `odd`; there are: odd-37x53, large-3201");
    insta::assert_snapshot!(refused("odd-37x53", "large-3201"), @r#"lab.toml:32: case `large-3201` is in group "large"; only cases of group "small" are counted: students can count these, and every grade has the same"#);
    insta::assert_snapshot!(refused("global_sectors", "sectors"), @"lab.toml:33: unknown count `sectors`; there are: launches, thread_instructions, warp_instructions, global_sectors, ideal_global_sectors, bank_conflicts, divergent_branches, barriers, local_bytes");
    insta::assert_snapshot!(refused("zero = 20000", "zero = 12000"), @"lab.toml:36: zero is 12000; it must be above full = 12000, the count that earns everything");
    insta::assert_snapshot!(refused("points = 5", "points = -5"), @"lab.toml:34: points are -5; they are 0 or more");
    insta::assert_snapshot!(refused("full = 12000", "full = 0.5"), @"lab.toml:35: invalid type: floating point `0.5`, expected a whole number, 0 or more");
    insta::assert_snapshot!(parse(&COUNT.repeat(2)).unwrap_err(), @"lab.toml:40: `global_sectors` of case `odd-37x53` earns points already; once is enough");
}

#[test]
fn inputs_that_no_seed_changes_are_refused() {
    let text = r#"format_version = 1
lab = "wave3d"
tolerance = { rule = "exact" }
[[case]]
name = "pulse"
group = "small"
points = 1
params = { start = "pulse" }
"#;
    insta::assert_snapshot!(LabSpec::parse(text, "lab.toml").unwrap_err(), @"lab.toml:8: parameter `start` = `pulse`: a seed is only for random fields");
}

#[test]
fn what_is_drawn_follows_from_a_number_and_stays_within_its_ranges() {
    let text = DRAWN;
    let lab_spec = LabSpec::parse(text, "lab.toml").unwrap();
    assert!(lab_spec.draws() && lab_spec.draw.is_none());
    let lab = host::find_lab("wave2d").unwrap();
    let (mut sizes, mut scenes) = (HashSet::new(), HashSet::new());
    let (mut below, mut above) = (0, 0);
    for draw in 0..200 {
        let drawn = lab_spec.drawn(draw);
        assert_eq!(drawn.draw, Some(draw));
        assert_eq!(drawn.cases, lab_spec.drawn(draw).cases);
        let params = &drawn.cases[0].params;
        let number = |name: &str| params.get(name).unwrap().parse::<f64>().unwrap();
        let [n_x, steps, first_step, k] = ["n_x", "steps", "first_step", "k"].map(number);
        assert!((2.0..=300.0).contains(&n_x) && (201.0..=900.0).contains(&steps));
        assert!((0.0..=1e9).contains(&first_step) && (0.05..=0.5).contains(&k));
        let case = drawn.cases[0].with_seed(lab, 1).unwrap();
        assert!(case.work().updates <= 100_000);
        sizes.insert(n_x as u32);
        scenes.insert(params.get("scene").unwrap().to_owned());
        below += u32::from(first_step < 1000.0);
        above += u32::from(first_step > 1e6);
        // A case without ranges is the same in every draw.
        assert_eq!(drawn.cases[1], lab_spec.cases[1]);
    }
    assert!(
        sizes.len() > 20 && scenes.len() == 2,
        "{sizes:?} {scenes:?}"
    );
    // Small numbers and great ones.
    assert!(below > 30 && above > 30, "{below} {above}");
    assert_eq!(
        LabSpec::parse(GOOD, "lab.toml").unwrap().drawn(3).draw,
        None
    );
}

const DRAWN: &str = r#"format_version = 1
lab = "wave2d"
tolerance = { rule = "exact" }
[[case]]
name = "drawn"
group = "hidden"
points = 2
most_updates = 100_000
params = { n_x = { from = 2, to = 300 }, n_y = 9, steps = { from = 201, to = 900 }, first_step = { from = 0, to = 1_000_000_000 }, k = { from = 0.05, to = 0.5 }, scene = { one_of = ["point-source", "double-slit"] } }
[[case]]
name = "fixed"
group = "small"
points = 2
params = { n_x = 3, n_y = 9, steps = 2 }
"#;

#[test]
fn ranges_that_make_no_sense_are_refused() {
    let refused = |from: &str, to: &str| {
        assert_eq!(DRAWN.matches(from).count(), 1, "{from}");
        let text = DRAWN.replace(from, to);
        LabSpec::parse(&text, "lab.toml").unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused("from = 2, to = 300", "from = 300, to = 2"), @r#"lab.toml:9: `n_x` is not a range: write { from = 1, to = 9 } or { one_of = ["a", "b"] }"#);
    insta::assert_snapshot!(refused("from = 2, to = 300", "from = 1, to = 300"), @"lab.toml:9: parameter `n_x` = `1`: a domain has at least 2 cells along each axis, its two borders");
    insta::assert_snapshot!(refused("from = 2, to = 300", "from = 2"), @r#"lab.toml:9: `n_x` is not a range: write { from = 1, to = 9 } or { one_of = ["a", "b"] }"#);
    insta::assert_snapshot!(refused(r#""double-slit"]"#, r#""double-slot"]"#), @"lab.toml:9: unknown scene `double-slot`; did you mean `double-slit`?");
    insta::assert_snapshot!(refused("100_000", "3_000"), @"lab.toml:9: only 0 of 100 draws have at most 3000 updates; state smaller ranges, or more updates");
    insta::assert_snapshot!(refused("most_updates = 100_000\n", ""), @"lab.toml:8: a case with ranges has `most_updates`, which bounds what a drawn one takes");
    insta::assert_snapshot!(refused("points = 2\nparams = { n_x = 3,", "points = 2\nparams = { n_x = { from = 3, to = 4 },"), @"lab.toml:14: a case with ranges has `most_updates`, which bounds what a drawn one takes");
    insta::assert_snapshot!(refused("group = \"hidden\"", "group = \"small\""), @r#"lab.toml:9: case `drawn` is in group "small"; only cases of group "hidden" have ranges"#);
    insta::assert_snapshot!(refused("name = \"fixed\"", "name = \"fixed\"\nmost_updates = 3"), @"lab.toml:12: `most_updates` is for cases with ranges; remove it, or write a range");
}

/// No size, number of steps or scene is safe: what every grade by the labs' own files has among its
/// hidden cases.
#[test]
fn every_draw_has_long_and_large_and_resumed_runs() {
    for (lab, ..) in embedded_files() {
        let lab_spec = embedded(lab).unwrap();
        assert!(lab_spec.draws(), "{lab}");
        let of_lab = host::find_lab(lab).unwrap();
        let results = |spec: &CaseSpec| {
            let case = spec.with_seed(of_lab, 1 << 32).unwrap();
            let outputs = case.reference(lab::Cpu::Parallel, &terminal::progress::NoProgress);
            outputs.unwrap()
        };
        for draw in 0..20 {
            let drawn = lab_spec.drawn(draw);
            let hidden: Vec<&CaseSpec> = drawn
                .cases
                .iter()
                .filter(|case| case.ranges.is_some())
                .collect();
            let number = |case: &CaseSpec, name: &str| -> u64 {
                let value = case.params.get(name).unwrap_or("0");
                value.parse().unwrap()
            };
            let any =
                |name: &str, least: u64| hidden.iter().any(|case| number(case, name) >= least);
            let (steps, resumed, extent, large) = match lab {
                "poisson" => ("iterations", false, "n", 41),
                "wave2d" => ("steps", true, "n_x", 30),
                "wave3d" => ("steps", true, "n_z", 30),
                "stencil25" => ("steps", true, "n_z", 33),
                "matadd" => ("", false, "n_x", 2000),
                "membench" => ("", false, "n", 100_000),
                other => panic!("say what a long run of lab {other} is"),
            };
            // One percent of 200 is two whole ones.
            assert!(steps.is_empty() || any(steps, 201), "{lab} {draw}");
            let sees_fewer = |long: &CaseSpec| {
                let all = number(long, steps);
                let mut fewer = long.clone();
                fewer.params.set(steps, all - all / 100);
                all > 200 && results(long) != results(&fewer)
            };
            let is_seen = || hidden.iter().any(|long| sees_fewer(long));
            assert!(steps.is_empty() || draw > 5 || is_seen(), "{lab} {draw}");
            assert!(!resumed || any("first_step", 1), "{lab} {draw}");
            assert!(any(extent, large), "{lab} {draw}");
        }
    }
}

/// A submission that is right in every visible case is right in hidden ones. They have other sizes,
/// and nothing else that no visible case has.
#[test]
fn visible_cases_have_what_hidden_ones_ask_for() {
    for lab_spec in super::names().map(|name| embedded(name).unwrap()) {
        let lab = lab_spec.lab;
        let of_group = |group: Group| {
            let cases = lab_spec.cases.iter();
            cases.filter(move |case| case.group == group)
        };
        let ranges = of_group(Group::Hidden).filter_map(|case| case.ranges.as_ref());
        for (name, range) in ranges.flat_map(|ranges| &ranges.of) {
            let parameters = lab.parameters.iter();
            let default = { parameters }.find(|parameter| parameter.name == name);
            let default = default.unwrap().default;
            let seen: HashSet<&str> = of_group(Group::Small)
                .map(|case| case.params.get(name).unwrap_or(default))
                .collect();
            let file = &lab_spec.file;
            let is_other = seen.iter().any(|value| *value != default);
            assert!(
                is_other,
                "{file}: `{name}` is {default} in all visible cases"
            );
            match range {
                Range::OneOf(values) => {
                    for value in values {
                        assert!(
                            seen.contains(&**value),
                            "{file}: no visible {name} = {value}"
                        );
                    }
                }
                Range::Whole { from: 0, .. } => {
                    assert!(seen.contains("0"), "{file}: no visible {name} = 0");
                }
                Range::Whole { .. } | Range::Real { .. } => {}
            }
        }
    }
}

#[test]
fn without_hidden_cases_the_rest_is_the_same() {
    for (lab, ..) in embedded_files() {
        let whole = embedded(lab).unwrap();
        let visible = whole.without_hidden_cases().unwrap();
        let rest = whole
            .cases
            .iter()
            .filter(|case| case.group != Group::Hidden);
        assert!(visible.cases.iter().eq(rest), "{lab}");
        assert_eq!(visible.performance, whole.performance);
        assert!(!visible.text.contains("hidden"), "{lab}");
        // As a worker reads it.
        let again = LabSpec::parse(&visible.text, &visible.file).unwrap();
        assert_eq!(again.text, visible.text);
        assert_eq!(again.cases, visible.cases);
    }
}
