//! The outcomes that the page shows: of its kernels, of the reader's, of launches that make no
//! sense.

use live::{Answer, EXAMPLES, FUEL, Launch, Made, Request, Switch, answer, run};

/// The launch of an example with these choices.
fn example(name: &str, choices: &[usize]) -> (Launch, Made) {
    let answer = run(&Request::Example {
        name: name.to_owned(),
        choices: choices.to_vec(),
        order: 0,
    });
    let both = answer.launch.zip(answer.made);
    both.unwrap_or_else(|| panic!("{name} {choices:?}: {:?}", answer.error))
}

/// The fault of an example, without the numbers of PTX lines, which depend on the compiler.
fn fault(name: &str, choices: &[usize]) -> String {
    let fault = example(name, choices).1.fault.expect("it has a fault");
    let mut parts = fault.split(" (PTX line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

/// The launch of a kernel of the reader's.
fn own(ptx: &str, launch: &Launch) -> Answer {
    run(&Request::Own {
        ptx: ptx.to_owned(),
        launch: launch.clone(),
    })
}

/// A launch of one warp.
fn warp(arguments: &str) -> Launch {
    Launch {
        grid: "1".to_owned(),
        block: "32".to_owned(),
        arguments: arguments.to_owned(),
        steps: 100,
        ..Launch::default()
    }
}

/// A kernel with this body and a parameter `out`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry own(.param .u64 out)\n{{\n    .reg .b64 %rd<4>;\n    .reg .b32 %r<4>;\n    ld.param.u64 %rd1, [out];\n{body}\n    ret;\n}}\n"
    )
}

/// Why a launch is not made.
fn error(ptx: &str, launch: Launch) -> String {
    let answer = own(ptx, &launch);
    assert!(answer.made.is_none());
    answer.error.expect("it is not launched")
}

/// All choices of switches.
fn all_choices(switches: &[Switch]) -> Vec<Vec<usize>> {
    switches.iter().fold(vec![Vec::new()], |before, switch| {
        let longer = |choices: Vec<usize>| {
            (0..switch.options.len()).map(move |at| [choices.as_slice(), &[at]].concat())
        };
        before.into_iter().flat_map(longer).collect()
    })
}

#[test]
fn each_kernel_runs_with_each_choice() {
    for kernel in EXAMPLES {
        for choices in all_choices(kernel.switches) {
            let (launch, made) = example(kernel.name, &choices);
            // With a counted launch or a fault, never both.
            assert_ne!(made.fault.is_some(), made.counts.is_some());
            // The reader's own text has no sources, so its page is shorter; all else is alike.
            let without = own(live::KERNELS, &launch).made.expect("it runs");
            assert!(made.page.len() > without.page.len());
            let page = String::new();
            assert_eq!(
                Made {
                    page: page.clone(),
                    ..made
                },
                Made { page, ..without }
            );
        }
    }
}

#[test]
fn faults_of_lab_0() {
    insta::assert_snapshot!(fault("add", &[1, 0]), @r"
    out of bounds: load of 4 bytes at offset 800 of buffer `add_param_0` (800 bytes) reaches 4 bytes past its end (index 200, length 200)
      in kernel `add` at crates/live/kernels/src/add.rs:17, block (3, 0, 0), thread (8, 0, 0)
    ");
    insta::assert_snapshot!(fault("reverse", &[0, 0]), @r"
    race in shared memory: store of element 32 (byte 128) of the shared array made in line 15 (`live_kernels::reverse::reverse`) and an earlier load by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `reverse` at crates/live/kernels/src/reverse.rs:20, block (0, 0, 0), thread (32, 0, 0)
      earlier load at crates/live/kernels/src/reverse.rs:30, block (0, 0, 0), thread (31, 0, 0)
    ");
    insta::assert_snapshot!(fault("reverse", &[2, 0]), @r"
    race in shared memory: load of element 7 (byte 28) of the shared array made in line 15 (`live_kernels::reverse::reverse`) and an earlier store by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `reverse` at crates/live/kernels/src/reverse.rs:30, block (3, 0, 0), thread (56, 0, 0)
      earlier store at crates/live/kernels/src/reverse.rs:20, block (3, 0, 0), thread (7, 0, 0)
      8 threads wait for barrier 0 at crates/live/kernels/src/reverse.rs:22 (first: thread (0, 0, 0)); this thread has gone past it
    ");
}

#[test]
fn faults_of_the_figures() {
    insta::assert_snapshot!(fault("grid", &[2, 1]), @r"
    race in global memory: store of byte 32 of buffer `grid_param_0` and an earlier store by another block: nothing orders the blocks of one launch
      in kernel `grid` at crates/live/kernels/src/grid.rs:20, block (2, 0, 0), thread (2, 0, 0)
      earlier store at crates/live/kernels/src/grid.rs:20, block (0, 0, 0), thread (0, 1, 0)
    ");
    insta::assert_snapshot!(fault("mirror", &[1, 1]), @r"
    race in shared memory: load of element 31 (byte 124) of the shared array made in line 13 (`live_kernels::mirror::mirror`) and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `mirror` at crates/live/kernels/src/mirror.rs:20, block (0, 0, 0), thread (0, 0, 0)
      earlier store at crates/live/kernels/src/mirror.rs:15, block (0, 0, 0), thread (31, 0, 0)
    ");
    insta::assert_snapshot!(fault("stage", &[3, 2]), @r"
    out of bounds: store of 4 bytes at offset 256 of shared memory (256 bytes) reaches 4 bytes past its end (index 64, length 64)
      in kernel `stage` at crates/live/kernels/src/stage.rs:17, block (0, 0, 0), thread (64, 0, 0)
    ");
}

/// The figures' numbers, as the page shows them.
#[test]
fn switches_change_what_their_figures_say() {
    let counts = |name, choice| example(name, &[choice, 0]).1.counts.expect("no fault");
    let sectors = [0, 1, 2, 3].map(|stride| counts("strided", stride).sectors);
    assert_eq!(sectors, [32, 48, 144, 144]);
    let warps = [0, 1, 2].map(|by| counts("diverge", by).warp_instructions);
    assert!(
        warps[0] > warps[2] * 3 / 2 && warps[1] > warps[2] * 3 / 2,
        "{warps:?}"
    );
    let held = [0, 1, 2].map(|shared| example("stage", &[shared, 0]).1.room.warps);
    assert_eq!(held, [64, 26, 4]);
}

#[test]
fn what_cannot_be_launched_is_told() {
    let right = kernel("    st.global.u32 [%rd1], 1;");
    insta::assert_snapshot!(error(&kernel("    st.global.u32 [%rd1 1;"), warp("u32[1]=0")), @r"
    9:25: expected `+` or `]`, found `1`
    9 |     st.global.u32 [%rd1 1;
      |                         ^
    ");
    insta::assert_snapshot!(error("", warp("")), @r"
    1:1: expected `.version`, found the end of the text
    1 |
      | ^
    ");
    insta::assert_snapshot!(error(&right, warp("")), @"kernel `own` takes 1 argument, not 0");
    insta::assert_snapshot!(error(&right, warp("u32[99999999]=0")), @"argument u32[99999999]=0: the emulated device cannot allocate 399999996 bytes for `out`: 0 of 268435456 bytes are in use");
    let named = |name: &str| Launch {
        kernel: name.to_owned(),
        ..warp("u32[1]=0")
    };
    insta::assert_snapshot!(error(&right, named("others")), @"the module has no kernel `others`; it has `own`");
    let shaped = |grid: &str, block: &str| Launch {
        grid: grid.to_owned(),
        block: block.to_owned(),
        ..warp("u32[1]=0")
    };
    insta::assert_snapshot!(error(&right, shaped("1", "1025")), @"launch of `own`: block [1025, 1, 1] exceeds the device's limit [1024, 1024, 64] in x");
    insta::assert_snapshot!(error(&right, shaped("99999,99999", "32")), @"the launch has 319,993,600,032 threads, and this page runs at most 1,048,576; `emulate` runs more");
    insta::assert_snapshot!(error(&right, shaped("1,x", "32")), @"grid: write whole numbers, 1 or more: X,Y,Z");
    let blocks = Launch {
        blocks: vec![4],
        ..warp("u32[1]=0")
    };
    insta::assert_snapshot!(error(&right, blocks), @"there is no block 4: the grid has 1 block");
}

#[test]
fn an_endless_loop_ends() {
    let endless = kernel("$again:\n    bra $again;");
    let answer = own(&endless, &warp("u32[1]=0"));
    let made = answer.made.expect("it was launched");
    let fault = made.fault.expect("it does not end by itself");
    assert!(
        fault.contains(&format!("executed {FUEL} warp instructions")),
        "{fault}"
    );
    assert_eq!(
        made.extent,
        "100 steps of 1 block, the last; --replay-steps takes more"
    );
    assert_eq!(
        answer.command.as_deref(),
        Some(
            "emulate kernels.ptx --kernel own --grid 1 --block 32 --counts --replay replay.html --replay-steps 100 u32[1]=0"
        )
    );
}

#[test]
fn questions_and_answers_are_json() {
    let examples = answer(r#"{"ask":"examples"}"#);
    assert!(examples.starts_with(r#"{"examples":[{"name":"add""#));
    let made = answer(r#"{"ask":"example","name":"strided","choices":[0,1],"order":3}"#);
    assert!(
        made.contains(r#""error":null"#) && made.contains(r#""sectors":16"#),
        "{made:.300}"
    );
    insta::assert_snapshot!(answer(r#"{"ask":"example","name":"strided","choices":[9,1],"order":3}"#), @r#"{"launch":null,"command":null,"error":"`strided` has no choice [9, 1]","made":null}"#);
    insta::assert_snapshot!(answer(r#"{"ask":"example","name":"none","choices":[],"order":0}"#), @r#"{"launch":null,"command":null,"error":"there is no example `none`","made":null}"#);
    insta::assert_snapshot!(answer("no question"), @r#"{"launch":null,"command":null,"error":"the request: expected ident at line 1 column 2","made":null}"#);
}

/// The text's words, one blank apart.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A page of the book.
fn page(name: &str) -> String {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The page on races shows two of these faults, and the lines of the kernel that the first is of.
#[test]
fn the_page_on_races_shows_what_its_links_do() {
    let races = page("races.md");
    for (name, choices) in [("mirror", [1, 1]), ("grid", [2, 1])] {
        let shown = fault(name, &choices);
        assert!(flat(&races).contains(&flat(&shown)), "{shown}");
        let [first, second] = choices;
        let link = format!("`live.html#{name}={first},{second}`");
        assert!(races.contains(&link), "{link}");
    }
    let mirror = EXAMPLES.iter().find(|example| example.name == "mirror");
    let source = mirror.expect("an example").source;
    let mut lines = 0;
    for block in races.split("```rust\n").skip(1) {
        for line in block.split("```").next().unwrap_or_default().lines() {
            lines += 1;
            assert!(source.lines().any(|it| it.trim() == line.trim()), "{line}");
        }
    }
    assert_eq!(lines, 9);
}

/// A lesson's page has the heading that it links to.
#[test]
fn the_pages_of_the_examples_exist() {
    for example in EXAMPLES {
        let (file, anchor) = example.page.split_once('#').unwrap_or((example.page, ""));
        let text = page(&file.replace(".html", ".md"));
        let mut headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        let anchored = |heading: &str| {
            let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
            let heading = heading.to_lowercase().replace('`', "");
            heading
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        };
        let has = anchor.is_empty() || headings.any(|heading| anchored(heading) == anchor);
        assert!(
            has,
            "{}: {} has no such heading",
            example.name, example.page
        );
    }
}
