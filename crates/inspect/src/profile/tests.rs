use super::*;
use terminal::look::Look;
use test_lab::ptx::{SOURCE, TRIPLING};

/// A folder with the lab's source.
fn source_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(SOURCE);
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let text = "let value = x[index];\n\ty[index] = value; // na\u{ef}ve, and so long that not all of it is shown\n";
    std::fs::write(file, text).unwrap();
    folder
}

/// The ending and text of `harness profile tripling` with these arguments.
fn profiled(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    let folder = source_folder();
    let args = ["profile", "tripling"].iter().chain(args);
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: ProfileArgs,
    }
    let args = <Parser as clap::Parser>::parse_from(args).args;
    let device = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    let mut sources = Sources::in_folders([folder.path().to_owned()]);
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = run_on(
        &args,
        &[&TRIPLING],
        Submitted::NONE,
        &device,
        &mut sources,
        &mut out,
    );
    drop(out);
    (ending, String::from_utf8(text).unwrap())
}

/// The document that `--json` writes.
fn document(args: &[&str]) -> serde_json::Value {
    let (ending, text) = profiled(&[args, &["--json"]].concat());
    ending.unwrap();
    serde_json::from_str(&text).unwrap()
}

// Two blocks of 64 threads are 4 warps. Coalesced, 32 neighbouring values of 4 bytes are 4 sectors.
#[test]
fn coalesced() {
    let (ending, text) = profiled(&["--variant=coalesced"]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text);
}

// A warp gets four of the eight values of each of 8 sectors: half of what moves is used.
#[test]
fn scattered() {
    let document = document(&["--variant=scattered"]);
    let kernel = &document["variants"][0]["kernels"][0];
    for traffic in ["global_loads", "global_stores"] {
        let traffic = &kernel["counts"][traffic];
        assert_eq!(traffic["requests"], 4);
        assert_eq!(traffic["sectors"], 4 * 8);
        assert_eq!(traffic["ideal_sectors"], 4 * 4);
        assert_eq!(traffic["bytes"], 4 * 32 * 4);
    }
    let (_, text) = profiled(&["--variant=scattered"]);
    let summary = text.lines().rfind(|line| line.starts_with("  scattered"));
    assert!(summary.unwrap().contains(" 16.0 "), "{text}");
}

// All 32 lanes in one bank: 32 passes where one would do, for the store and for the load.
#[test]
fn banked() {
    let (ending, text) = profiled(&["--variant=banked", "--lines=2"]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text);
}

// Every warp's only branch that can diverge does; the odd lanes then run alone.
#[test]
fn divergent() {
    let document = document(&["--variant=divergent"]);
    let counts = &document["variants"][0]["kernels"][0]["counts"];
    assert_eq!(counts["branches"], 4);
    assert_eq!(counts["divergent_branches"], 4);
}

#[test]
fn what_goes_wrong_is_said_and_the_rest_goes_on() {
    let (ending, text) = profiled(&["--variant=stray,wrong,coalesced", "--lines=0"]);
    assert_eq!(ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(text);
}

#[test]
fn json_has_every_count() {
    let document = document(&["--variant=coalesced"]);
    assert_eq!(document["command"], "profile");
    assert_eq!(document["case"], "2 blocks");
    assert_eq!(document["updates"], 128);
    let variant = &document["variants"][0];
    assert_eq!(variant["outcome"], "counted");
    assert_eq!(variant["mismatch"], serde_json::Value::Null);
    let kernel = &variant["kernels"][0];
    let line = &kernel["lines"][0];
    assert_eq!((&line["file"], &line["line"]), (&SOURCE.into(), &1.into()));
    assert_eq!(line["text"], "let value = x[index];");
    assert_eq!(line["ptx_lines"].as_array().unwrap().len(), 3);
    insta::assert_snapshot!(serde_json::to_string_pretty(&kernel["counts"]).unwrap());
}

#[test]
fn lines_and_classes_add_up() {
    let document = document(&["--case=12 blocks", "--variant=coalesced,scattered,banked"]);
    for variant in document["variants"].as_array().unwrap() {
        let kernel = &variant["kernels"][0];
        let sum = |parts: &serde_json::Value, pick: &dyn Fn(&serde_json::Value) -> u64| {
            parts.as_array().unwrap().iter().map(pick).sum::<u64>()
        };
        for by in ["by_warps", "by_threads"] {
            let all = kernel["counts"]["instructions"][by].as_u64().unwrap();
            let classes = sum(&kernel["counts"]["classes"], &|class| {
                class[by].as_u64().unwrap()
            });
            let lines = sum(&kernel["lines"], &|line| {
                line["counts"]["instructions"][by].as_u64().unwrap()
            });
            assert_eq!([classes, lines], [all, all]);
        }
    }
}

#[test]
fn cases_by_label() {
    let label = |args: &[&str]| {
        let (ending, text) = profiled(&[args, &["--variant=coalesced"]].concat());
        ending.map(|_| text.lines().next().unwrap().to_owned())
    };
    assert_eq!(label(&[]).unwrap(), "tripling  2 blocks");
    assert_eq!(label(&["--case=2 blocks"]).unwrap(), "tripling  2 blocks");
    assert_eq!(label(&["--case=128"]).unwrap(), "tripling  128 blocks");
    let own = label(&["--param=blocks=3"]);
    assert_eq!(own.unwrap(), "tripling  3 blocks");
    insta::assert_snapshot!(label(&["--case=12"]).unwrap_err(), @"--case 12: 2 cases of tripling have this in their label, `12 blocks` and `128 blocks`; write more of it");
    insta::assert_snapshot!(label(&["--case=block"]).unwrap_err(), @"--case block: 4 cases of tripling have this in their label, `1 blocks` and `2 blocks` among them; write more of it");
    let failure = label(&["--case=200x200"]).unwrap_err();
    insta::assert_snapshot!(failure, @"--case 200x200: no case of tripling has this label; `harness list tripling` shows them all");
    assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
}

/// The built-in kernels: only what no compiler changes.
#[test]
fn a_real_lab() {
    let args = ProfileArgs {
        lab: "wave2d".to_owned(),
        case: Some("37x53, 10 steps".to_owned()),
        lines: 10,
        ..ProfileArgs::default()
    };
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = run(&args, host::labs(), Submitted::NONE, &mut out);
    assert_eq!(ending, Ok(Ending::Fine));
    drop(out);
    let text = String::from_utf8(text).unwrap();
    assert!(text.is_ascii(), "{text}");
    let launches = "wave2d_naive  10 launches, 530 blocks, 67,840 threads";
    assert!(text.contains(launches), "{text}");
    let file = "wave2d/naive/kernels.rs:";
    assert!(text.contains(file), "{text}");
    // The line that reads neighbours, found in the source.
    assert!(text.contains("let last = |i: usize|"), "{text}");
    // Code that is inlined out of `core` counts for the line that calls it.
    assert!(!text.contains("src/ops/arith.rs"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[test]
fn the_code_is_that_of_the_variants_kernels_alone() {
    let (ending, text) = profiled(&["--variant=coalesced", "--ptx"]);
    assert_eq!(ending, Ok(Ending::Fine));
    assert_eq!(text.matches(".entry").count(), 1, "{text}");
    let (_, both) = profiled(&["--variant=coalesced,scattered", "--ptx"]);
    assert_eq!(both.matches(".entry").count(), 2, "{both}");
    assert!(both.starts_with("coalesced\n\n"), "{both}");
}
