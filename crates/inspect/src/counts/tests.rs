use super::*;
use terminal::look::Look;
use test_lab::ptx::TRIPLING;

/// The ending and text of `harness counts` with these arguments, where no ptxas is installed.
fn counts(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    let nowhere = tempfile::tempdir().unwrap();
    counts_with(args, &Toolkit::in_folder(nowhere.path()))
}

fn counts_with(args: &[&str], toolkit: &Toolkit) -> (Result<Ending, CommandError>, String) {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: CountsArgs,
    }
    let args = ["counts"].iter().chain(args);
    let args = <Parser as clap::Parser>::parse_from(args).args;
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = run_on(&args, &[&TRIPLING], Submitted::NONE, toolkit, &mut out);
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
    let (again, again_text) = counts(&args);
    assert_eq!(again, Ok(Ending::Fine));
    assert!(
        again_text.contains("2 kernels: all counts as in the baseline"),
        "{again_text}"
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
    let (changed, changed_text) = counts(&args);
    assert_eq!(changed, Ok(Ending::Wrong));
    let (differences, _) = changed_text
        .split_once("registers, spills and stack")
        .unwrap();
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
}

/// The ending of `harness counts FILE.ptx` of a text, and what it says without the file's name.
fn counts_of_text(ptx: &str) -> (Result<Ending, String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.ptx").display().to_string();
    std::fs::write(&file, ptx).unwrap();
    let (ending, text) = counts(&[&file]);
    let own = |said: &str| said.replace(&file, "one.ptx");
    (ending.map_err(|e| own(&e.to_string())), own(&text))
}

#[test]
fn a_text_is_counted_by_instructions_and_not_by_lines() {
    let ptx = ".version 8.0 .target sm_90 .address_size 64\n/* .entry ghost() { ret; } */\n\
        .visible .entry\tone() { .reg .b32 %r<3>; mov.u32 %r1, 7; add.u32\n%r2,\n%r1, 1; ret; }\n\
        .entry\n two() { ret; }\n";
    let (ending, text) = counts_of_text(ptx);
    assert_eq!(ending, Ok(Ending::Fine));
    let kernels =
        "one\n    instructions in the text  3\n\n  two\n    instructions in the text  1\n";
    assert!(text.contains(kernels), "{text}");
}

/// An assembler takes more than the emulated device does: the first ones had textures of their own.
#[test]
fn a_text_that_the_emulated_device_refuses_is_counted_all_the_same() {
    let ptx = ".version 1.4\n.target sm_13\n.tex .u64 t;\n\
        .entry one() { tex.1d.v4.f32.s32 {a, b, c, d}, [t, {e}]; ret; }\n";
    let (ending, text) = counts_of_text(ptx);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("instructions in the text  2\n"), "{text}");
    let note = "the emulated device does not take this text: module `one.ptx` is not PTX";
    assert!(words(&text).contains(note), "{text}");
}

/// The text in one line, with single blanks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_text_without_kernels_to_count_is_refused() {
    let refused = |ptx: &str| counts_of_text(ptx).0.unwrap_err();
    insta::assert_snapshot!(refused("no PTX"), @r"
    one.ptx:1:1: expected `.version`, found `no`
    1 | no PTX
      | ^^
    ");
    insta::assert_snapshot!(refused(".version 8.0\n.entry k() { ret;"), @r"
    one.ptx:2:18: expected `}` to close the `{` at 2:12, found the end of the text
    2 | .entry k() { ret;
      |                  ^
    ");
    insta::assert_snapshot!(refused(".version 8.0\n.func f() { ret; }\n.entry k();"), @"one.ptx: defines no kernel, an `.entry` with a body");
}

/// As where a kernel calls a function that calls itself.
// The toolkit is a shell script here.
#[test]
#[cfg(unix)]
fn a_stack_without_a_bound_is_unknown_and_more_than_any_that_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [ptx, baseline] = ["one.ptx", "counts.json"].map(file);
    std::fs::write(&ptx, ".version 8.0\n.target sm_90\n.entry rec() { ret; }\n").unwrap();
    let counted = |warning: &str, args: &[&str]| {
        let told = format!(
            "{warning}\nptxas info    : Compiling entry function 'rec' for 'sm_90'\n\
             ptxas info    : Function properties for rec\n\
             \x20   8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Used 24 registers, used 0 barriers\n\
             ptxas info    : Function properties for f\n\
             \x20   24 bytes stack frame, 20 bytes spill stores, 20 bytes spill loads\n"
        );
        crate::toolkit::fake(
            folder.path(),
            "ptxas",
            &format!("cat >&2 <<'END'\n{told}END\n: > \"$7\""),
        );
        counts_with(
            &[&[ptx.as_str()], args].concat(),
            &Toolkit::in_folder(folder.path()),
        )
    };
    let update = [&*format!("--baseline={baseline}"), "--update"];
    let (_, text) = counted("", &update);
    assert!(
        words(&text).contains("spilled bytes 40 stack bytes 8"),
        "{text}"
    );
    let warning =
        "ptxas warning : Stack size for entry function 'rec' cannot be statically determined";
    let (ending, said) = counted(warning, &[]);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(
        words(&said).contains("spilled bytes at least 40 stack bytes unknown"),
        "{said}"
    );
    let (compared, grown) = counted(warning, &update[..1]);
    assert_eq!(compared, Ok(Ending::Wrong));
    assert!(
        grown.contains("more   rec: stack bytes: 8 -> unknown"),
        "{grown}"
    );
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
