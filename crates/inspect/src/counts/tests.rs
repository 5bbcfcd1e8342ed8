use super::*;
use terminal::look::Look;
use test_lab::ptx::TRIPLING;

/// The ending and text of `harness counts` with these arguments, where no ptxas is installed.
fn counts(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: CountsArgs,
    }
    let nowhere = tempfile::tempdir().unwrap();
    let args = ["counts"].iter().chain(args);
    let args = <Parser as clap::Parser>::parse_from(args).args;
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let toolkit = Toolkit::in_folder(nowhere.path());
    let ending = run_on(&args, &[&TRIPLING], &toolkit, &mut out);
    drop(out);
    (ending, String::from_utf8(text).unwrap())
}

#[test]
fn counts_are_exact() {
    let (ending, text) = counts(&["tripling", "--variant=banked"]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text);
}

#[test]
fn what_grew_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts.json");
    let baseline = format!("--baseline={}", file.display());
    let args = ["tripling", "--variant=coalesced,banked", &baseline];
    let (ending, text) = counts(&[&args[..], &["--update"]].concat());
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(
        text.ends_with(&format!("wrote {}\n", file.display())),
        "{text}"
    );
    // The same at every run.
    let (ending, text) = counts(&args);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(
        text.contains("2 kernels: all counts as in the baseline"),
        "{text}"
    );
    // The baseline had fewer of one, more of another, and other kernels.
    let before = std::fs::read_to_string(&file).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&before).unwrap();
    let kernels = document["kernels"].as_array_mut().unwrap();
    kernels[0]["counts"]["instructions"] = 1000.into();
    kernels[0]["counts"]["sectors"] = 1_000_000.into();
    kernels[0]["counts"]["registers"] = 1.into();
    kernels[1]["kernel"] = "removed".into();
    std::fs::write(&file, document.to_string()).unwrap();
    let (ending, text) = counts(&args);
    assert_eq!(ending, Ok(Ending::Wrong));
    let (differences, _) = text.split_once("registers, spills and stack").unwrap();
    insta::assert_snapshot!(differences);
}

#[test]
fn a_file_of_ptx_has_the_counts_of_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.ptx");
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry one()\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 7;\n\tret;\n}\n";
    std::fs::write(&file, ptx).unwrap();
    let (ending, text) = counts(&[&file.display().to_string()]);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(
        text.contains("one\n    instructions in the text  2\n"),
        "{text}"
    );
    std::fs::write(&file, "no PTX").unwrap();
    assert!(matches!(
        counts(&[&file.display().to_string()]).0,
        Err(CommandError::Input(_))
    ));
}

#[test]
fn bad_baselines_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts.json");
    let refused = || {
        let baseline = format!("--baseline={}", file.display());
        let failure = counts(&["tripling", "--variant=coalesced", &baseline])
            .0
            .unwrap_err()
            .to_string();
        failure.replace(&format!("{}/", folder.path().display()), "")
    };
    insta::assert_snapshot!(refused(), @"counts.json: there is no such file; write it with --update");
    let refusal = |text: &str| {
        std::fs::write(&file, text).unwrap();
        refused()
    };
    insta::assert_snapshot!(refusal(r#"{"schema_version": 4, "command": "perf"}"#), @"counts.json: results of `harness perf`; write it with --update");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 1, "command": "counts"}"#), @"counts.json: damaged: missing field `of`; measure again");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 1, "command": "counts", "of": "wave2d", "case": "8x8", "kernels": []}"#), @"--baseline counts.json: has counts of wave2d 8x8, not of tripling 2 blocks");
}
