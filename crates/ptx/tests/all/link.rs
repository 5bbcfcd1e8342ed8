//! Several texts to one: what is said of texts that do not go together is what `nvlink` 13.5 says
//! of them, in other words.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use ptx::{LinkError, LinkPart, Program, link};

const HEADER: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// A part that a program names itself.
fn part<'a>(name: &'a str, text: &'a str) -> LinkPart<'a> {
    LinkPart {
        name,
        text,
        on_demand: false,
    }
}

/// Links texts without headers, which are called `1`, `2`, ...
fn linked(bodies: &[&str]) -> Result<String, LinkError> {
    let texts: Vec<String> = bodies
        .iter()
        .map(|body| format!("{HEADER}{body}"))
        .collect();
    let names: Vec<String> = (1..=bodies.len())
        .map(|number| number.to_string())
        .collect();
    let parts = names.iter().zip(&texts);
    let parts: Vec<_> = parts.map(|(name, text)| part(name, text)).collect();
    let linked = link(&parts, |name| name == "vprintf")?;
    if let Err(error) = Program::read(&linked, |_| Ok(())) {
        panic!("{error}\n{linked}");
    }
    Ok(linked)
}

const CALLS_F: &str = ".extern .func (.param .b32 r) f(.param .b32 a);
.visible .entry k() {
    .param .b32 x;
    .param .b32 y;
    call.uni (y), f, (x);
    ret;
}";
const USES_V: &str =
    ".extern .global .b32 v;\n.visible .entry k() { .reg .b32 %r; ld.global.b32 %r, [v]; ret; }";

/// A function `f` with a linking directive, which returns a number.
fn f(directive: &str, number: u32) -> String {
    format!(
        "{directive} .func (.param .b32 r) f(.param .b32 a) {{ st.param.b32 [r], {number}; ret; }}"
    )
}

#[test]
fn functions_and_variables_have_one_definition() {
    let [strong, other, weak, weak_other, private] = [
        (".visible", 1),
        (".visible", 2),
        (".weak", 3),
        (".weak", 4),
        ("", 5),
    ]
    .map(|(directive, number)| f(directive, number));
    let (strong, other, weak, weak_other, private) = (
        &strong[..],
        &other[..],
        &weak[..],
        &weak_other[..],
        &private[..],
    );
    let wide = ".visible .func f(.param .b64 a) { ret; }";
    let kernel = ".visible .entry f() { ret; }";
    let [v1, v2] = [
        ".visible .global .b32 v = 1;",
        ".visible .global .b32 v = 2;",
    ];
    let alias = ".visible .func (.param .b32 r) g(.param .b32 a) { st.param.b32 [r], 6; ret; }
.visible .func (.param .b32 r) f(.param .b32 a);
.alias f, g;";
    let open =
        ".extern .global .b32 v[];\n.visible .entry e() { .reg .b64 %r; mov.b64 %r, v; ret; }";
    // Each with a text that the linked one has, or with the error.
    for (bodies, expected) in [
        (&[CALLS_F, strong][..], Ok("[r], 1")),
        (&[strong, CALLS_F], Ok("[r], 1")),
        (&[CALLS_F, strong, weak], Ok("[r], 1")),
        (&[weak, strong, CALLS_F], Ok("[r], 1")),
        (&[CALLS_F, weak, weak_other], Ok("[r], 3")),
        (&[CALLS_F, alias], Ok("[r], 6")),
        (&[alias, weak, CALLS_F], Ok("[r], 6")),
        (&[CALLS_F], Err("undefined reference to `f` in `1`")),
        (
            &[CALLS_F, private],
            Err("undefined reference to `f` in `1`"),
        ),
        (
            &[CALLS_F, strong, other],
            Err("multiple definition of `f` in `3`, first defined in `2`"),
        ),
        (
            &[alias, strong],
            Err("multiple definition of `f` in `2`, first defined in `1`"),
        ),
        (
            &[CALLS_F, wide],
            Err("the prototype of `f` in `1` is not that in `2`"),
        ),
        (
            &[weak, wide],
            Err("the prototype of `f` in `1` is not that in `2`"),
        ),
        (
            &[CALLS_F, kernel],
            Err("the kind (`.entry` or `.func`) of `f` in `1` is not that in `2`"),
        ),
        (
            &[CALLS_F, ".visible .global .b32 f;"],
            Err("the kind (variable or function) of `f` in `1` is not that in `2`"),
        ),
        (
            &[kernel, kernel],
            Err("multiple definition of `f` in `2`, first defined in `1`"),
        ),
        (&[USES_V, v1], Ok("v = 1")),
        (&[".weak .global .b32 v = 3;", v1, USES_V], Ok("v = 1")),
        (
            &[v1, v2],
            Err("multiple definition of `v` in `2`, first defined in `1`"),
        ),
        (&[USES_V], Err("undefined reference to `v` in `1`")),
        (
            &[USES_V, ".visible .const .b32 v = 1;"],
            Err("the memory space of `v` in `1` is not that in `2`"),
        ),
        (
            &[v1, ".extern .global .b8 v[16];"],
            Err("the size of `v` in `2` is not that in `1`"),
        ),
        (&[v1, open], Ok("v = 1")),
        (
            &[".visible .global .attribute(.managed) .b32 v;", USES_V],
            Err("the attribute `.managed` of `v` in `2` is not that in `1`"),
        ),
        // Of common variables the largest.
        (
            &[".common .global .b32 v;", ".common .global .b64 v;"],
            Ok(".b64 v"),
        ),
        (&[".common .global .b32 v;", v1, USES_V], Ok("v = 1")),
        (
            &[v1, ".common .global .b64 v;"],
            Err("the common symbol `v` in `2` is larger than its definition with a value in `1`"),
        ),
        (
            &[".common .global .b64 v;", ".common .global .b32 v = 7;"],
            Err("the common symbol `v` in `1` is larger than its definition with a value in `2`"),
        ),
        (
            &[".common .global .b32 v = 7;", ".common .global .b32 v = 7;"],
            Err("multiple definition of `v` in `2`, first defined in `1`"),
        ),
        // A function counts as used where it is called, a variable where it is declared.
        (
            &[".extern .func g();\n.extern .global .b32 v;"],
            Err("undefined reference to `v` in `1`"),
        ),
        (
            &[".extern .func g();\n.visible .entry k() { ret; }"],
            Ok(".extern .func g"),
        ),
        (
            &[
                ".visible .shared .b32 s;",
                ".extern .shared .b32 s;\n.visible .entry e() { .reg .b32 %r; mov.b32 %r, s; ret; }",
            ],
            Ok(".shared .b32 s"),
        ),
        (
            &[
                ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.visible .entry e() { .param .b64 a; .param .b32 r; call (r), vprintf, (a, a); ret; }",
            ],
            Ok(".extern .func (.param .b32 r) vprintf"),
        ),
    ] {
        match (linked(bodies), expected) {
            (Ok(text), Ok(has)) => assert!(text.contains(has), "{bodies:?}\n{text}"),
            (Err(error), Err(says)) => assert_eq!(error.to_string(), says, "{bodies:?}"),
            (found, _) => panic!("{bodies:?}: {found:?}"),
        }
    }
}

#[test]
fn one_text_comes_of_two() {
    let first = "\
.extern .func (.param .b32 r) f(
    .param .b32 a
);
.global .align 4 .u32 hidden = 5;
.extern .shared .align 4 .b8 dynamic[];
.visible .entry k() {
    .reg .b32 %r<2>;
    .loc 1 7 3
    .loc 2 9 1, function_name $L__info_string0, inlined_at 1 7 3
    ld.global.u32 %r1, [hidden]; // helped by helper
    { .param .b32 x; .param .b32 y; call.uni (y), f, (x); }
    mov.u32 %r1, dynamic;
    ret;
}
.file 1 \"/a/first.cu\"
.file 2 \"/a/common.h\", 12, 34
.section .debug_str { $L__info_string0: .b8 102, 0 }
";
    let second = "\
.version 8.5
.target sm_80
.address_size 64
.global .align 4 .u32 hidden = 1, other = 2;
.extern .shared .align 16 .b8 dynamic[];
.func helper() { ret; }
.visible .func (.param .b32 r) f(.param .b32 a) {
    .reg .b32 %r<2>;
    .reg .b64 hidden2;
    .loc 1 3 1
    .loc 2 9 1, function_name $L__info_string0, inlined_at 1 3 1
    ld.global.u32 %r1, [hidden];
    mov.u32 %r1, dynamic;
    call.uni helper;
    ret;
}
.file 1 \"/a/second.cu\"
.file 2 \"/a/common.h\", 12, 34
.section .debug_info { .b32 .debug_abbrev }
.section .debug_str { $L__info_string0: .b8 103, 0 }
";
    let first = format!("{HEADER}{first}");
    let linked = link(&[part("1", &first), part("2", second)], |_| false).unwrap();
    insta::assert_snapshot!(linked);
    // Lines stay lines.
    let lines = first.lines().count();
    for (number, line) in first.lines().chain(second.lines()).enumerate() {
        let same = line.contains("ld.global") || line.contains("call.uni");
        if same && !line.contains("hidden") {
            assert_eq!(linked.lines().nth(number), Some(line), "{lines} {number}");
        }
    }
    let program = Program::read(&linked, |body| {
        while body.next_instruction()?.is_some() {}
        Ok(())
    })
    .unwrap();
    assert_eq!(program.refused().count(), 0);
    assert_eq!(program.dynamic_shared.len(), 2);
}

#[test]
fn private_names_do_not_meet() {
    let private = |number: u32| {
        format!(
            ".global .b32 x1 = {number};\n.global .b64 p[2] = {{generic(x1), x1+4}};\n.func f$2() {{ ret; }}\n\
             .func f() {{ .reg .b32 x<2>; .reg .b32 %r; ld.global.b32 %r, [x0]; mov.b32 x1, 0; call.uni f$2; ret; }}\n\
             .visible .entry k{number}() {{ .reg .b32 %r; ld.global.b32 %r, [x1]; call.uni f; ret; }}"
        )
    };
    let shared = ".visible .global .b32 x1 = 9;\n.visible .global .b32 x0;";
    let use_shared = ".extern .global .b32 x1;\n.visible .entry e() { .reg .b32 %r; ld.global.b32 %r, [x1]; ret; }";
    let (one, two) = (private(1), private(2));
    let text = linked(&[&one, &two, shared, use_shared]).unwrap();
    let of = |kernel: &str| text.lines().find(|line| line.contains(kernel)).unwrap();
    // The register keeps its name.
    assert_eq!(text.matches("mov.b32 x1, 0").count(), 2);
    assert!(of("entry k1").contains("[x1$2]; call.uni f;"), "{text}");
    assert!(of("entry k2").contains("[x1$3]; call.uni f$3;"), "{text}");
    assert!(of("entry e()").contains("[x1];"), "{text}");
    assert!(text.contains("p$2[2] = {generic(x1$3), x1$3+4}"), "{text}");
}

#[test]
fn of_several_variables_in_a_statement_each_is_by_itself() {
    let first = ".weak .global .b32 a=1,b=2,c = 3, d;";
    for (second, left) in [
        ("a = 5", "b = 2, c = 3, d;"),
        ("b = 5", "a = 1,  c = 3, d;"),
        ("d = 5", "a = 1, b = 2, c = 3 ;"),
        ("c = 5, d = 6", "a = 1, b = 2 ;"),
        ("b = 5, d = 6", "a = 1,  c = 3 ;"),
        ("a = 5, b = 6, c = 7, d = 8", ""),
    ] {
        let second = format!(".visible .global .b32 {second};");
        let text = linked(&[first, &second]).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<String>();
        let expected = match left {
            "" => String::new(),
            others => words(&format!(".weak .global .b32 {others}")),
        };
        let line = text.lines().nth(3).unwrap();
        assert_eq!(words(line), expected, "{text}");
    }
}

#[test]
fn members_of_a_library_are_linked_on_demand() {
    let whole = |body: &str| format!("{HEADER}{body}");
    let main = whole(CALLS_F);
    let f = whole(
        ".extern .func g();
.visible .func (.param .b32 r) f(.param .b32 a) { call.uni g; ret; }",
    );
    let (g, unused) = (
        whole(".visible .func g() { ret; }"),
        whole(".visible .entry k() { ret; }"),
    );
    let member = |name, text| LinkPart {
        on_demand: true,
        ..part(name, text)
    };
    let parts = [
        member("g", &g),
        part("main", &main),
        member("unused", &unused),
        member("f", &f),
    ];
    let linked = link(&parts, |_| false).unwrap();
    assert_eq!(linked.matches(".entry").count(), 1, "{linked}");
    assert_eq!(
        linked.matches("{ call.uni g; ret; }").count(),
        1,
        "{linked}"
    );
    let error = link(&parts[1..], |_| false).unwrap_err();
    assert_eq!(error.to_string(), "undefined reference to `g` in `f`");
}

#[test]
fn a_linked_text_is_for_the_newest_architecture() {
    let header = |version: &str, target: &str| {
        format!(".version {version}\n.target {target}\n.address_size 64\n")
    };
    let target = |first: &str, second: &str| {
        let (first, second) = (header("7.0", first), header("8.6", second));
        let linked = link(&[part("1", &first), part("2", &second)], |_| false)?;
        assert!(linked.starts_with(".version 8.6\n"), "{linked}");
        Ok::<_, LinkError>(linked.lines().nth(1).unwrap().to_owned())
    };
    for (first, second, expected) in [
        ("sm_70", "sm_90", "sm_90"),
        ("sm_90, debug", "sm_80", "sm_90, debug"),
        ("sm_90a", "sm_90", "sm_90a"),
        ("sm_80", "sm_90a", "sm_90a"),
        ("sm_100f", "sm_103", "sm_103"),
        ("sm_100a", "sm_100f", "sm_100a"),
    ] {
        let found = target(first, second);
        assert_eq!(found, Ok(format!(".target {expected}")), "{first} {second}");
    }
    assert_eq!(
        target("sm_90a", "sm_100").unwrap_err().to_string(),
        "`1` is for sm_90a and `2` for sm_100: no device runs both; compile them for one"
    );
    assert!(target("sm_100f", "sm_120").is_err());
}

#[test]
fn a_part_that_is_wrong_is_named() {
    let small = ".version 8.3 .target sm_90 .address_size 32";
    let error = link(&[part("small.ptx", small)], |_| false).unwrap_err();
    let said =
        "`small.ptx` cannot be linked: 1:42: modules with 32-bit addresses are not supported";
    assert!(error.to_string().starts_with(said), "{error}");
    assert_eq!(link(&[], |_| false), Err(LinkError::Nothing));
}

#[test]
fn parameters_that_are_stated_at_the_end_stay_there() {
    let text = |kernel: &str| {
        format!(
            "{HEADER}.visible .entry {kernel}(.param .u64 p) {{ ret; }}\n// cuda_std.parameters {kernel}~a: f32\n"
        )
    };
    let (one, two) = (text("one"), text("two"));
    let linked = link(&[part("1", &one), part("2", &two)], |_| false).unwrap();
    let program = Program::read(&linked, |_| Ok(())).unwrap();
    for kernel in ["one", "two"] {
        assert_eq!(program.kernel(kernel).unwrap().source_params().len(), 1);
    }
}

/// A text that takes part in everything that the linker does.
const FULL: &str = ".version 8.3 .target sm_90, debug .address_size 64
.extern .func g();
.global .align 4 .u32 hidden = 5,b[3] = {1, 2, 3},c;
.weak .global .b32 w=1,x,y;
.common .global .b32 q;
.extern .shared .align 4 .b8 dynamic[];
.weak .func helper() { ret; }
.func other();
.alias other, helper;
.weak .entry k() {
 .reg .b32 %r<2>;
 .loc 2 9 1, function_name $L__info_string0, inlined_at 1 7 3
 ld.global.u32 %r1, [hidden]; call.uni other; call.uni g; mov.u32 %r1, dynamic; ret;
}
.file 1 \"/a.cu\" .file 2 \"/b.h\", 12, 34
.section .debug_info { .b32 .debug_abbrev }
.section .debug_str { $L__info_string0: .b8 102, 0 }
.visible .func f1() { ret; }";

proptest! {
    /// Words are left out, changed or moved: what the linker takes and gives is PTX, or it says
    /// what is wrong.
    #[test]
    fn parts_that_are_ptx_are_so_together(edits in vec((0..3usize, 0..3u32, any::<Index>(), any::<Index>()), 0..4)) {
        let mut parts = [1, 2, 3].map(|number| {
            let text = FULL.replace("f1", &format!("f{number}"));
            let words = text.split_inclusive(|c: char| " \n;,{}()[]=".contains(c));
            words.map(str::to_owned).collect::<Vec<_>>()
        });
        for (place, kind, from, to) in edits {
            let words = &mut parts[place];
            let (from, to) = (from.index(words.len()), to.index(words.len()));
            match kind {
                0 => {
                    words.remove(from);
                }
                1 => words.swap(from, to),
                _ => words[from] = words[to].clone(),
            }
        }
        let texts = parts.map(|words| words.concat());
        let is_ptx = |text: &str| Program::read(text, |_| Ok(())).is_ok();
        let all = texts.each_ref().map(|text| part("part", text));
        if let Ok(linked) = link(&all, |_| true)
            && texts.iter().all(|text| is_ptx(text))
        {
            prop_assert!(is_ptx(&linked), "{linked}");
        }
    }
}
