//! The mistakes that students make in a window of 80 x 24, and the key for everything.

use super::*;
use crate::watch::compiler::tests::TYPO;

/// The page in a window of 80 x 24.
fn page(screen: &Screen) -> String {
    sized(screen, 80, 24)
}

/// A function's name that is mistyped.
fn typo() -> Failure {
    Failure::new(Kind::CompileError, TYPO)
}

/// cuda_std's message for a kernel that is not `unsafe`: its title is long.
fn not_unsafe() -> Failure {
    Failure::new(
        Kind::CompileError,
        "kernels.rs does not compile:
error: a kernel must be `unsafe`: nothing checks that the host passes pointers and sizes that fit
  --> kernels.rs:20:5
   |
20 | pub fn matadd(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
   |     ^^
",
    )
}

#[test]
fn a_compilers_suggestion_is_on_the_page() {
    let text = page(&shown([refused(typo())]));
    assert!(text.contains("help: a function with a similar name exists"));
    assert!(text.contains("block_dim_x() + thread") && text.contains("next: "));
    assert_snapshot!(text);
}

#[test]
fn a_long_title_is_wrapped() {
    let text = page(&shown([refused(not_unsafe())]));
    assert!(text.contains("pointers and") && text.contains("sizes that fit"));
    assert_snapshot!(text);
}

#[test]
fn both_sides_of_a_race_and_the_hint_outlive_the_rest() {
    let mut screen = shown([report(&[
        ("one-step", race()),
        ("long-row", wrong()),
        ("double-slit", race()),
    ])]);
    screen.hint();
    for rows in [24, 20] {
        let text = sized(&screen, 80, rows);
        for kept in ["earlier store at kernels.rs:6", "hint 1", "next: "] {
            assert!(text.contains(kept), "{kept} in {rows} rows:\n{text}");
        }
        assert!(text.contains(">   6 |") && text.contains(">   7 |"));
    }
    assert_snapshot!(page(&screen));
    assert_snapshot!("in_20_rows", sized(&screen, 80, 20));
}

#[test]
fn one_key_shows_everything_page_by_page() {
    let failing = [
        ("one-step", race()),
        ("long-row", wrong()),
        ("double-slit", out_of_bounds()),
    ];
    let mut screen = shown([report(&failing)]);
    let short = page(&screen);
    screen.all();
    let first = page(&screen);
    assert_snapshot!(first);
    screen.all();
    let second = page(&screen);
    assert_snapshot!("second_page", second);
    // All that there is to say is on one of them.
    screen.all();
    let all = first + &second + &page(&screen);
    for said in [
        "(PTX line 44)",
        "0x3fa00000",
        "index 768, length 768",
        "  resumed ",
    ] {
        assert!(all.contains(said), "{said}");
    }
    screen.all();
    assert_eq!(page(&screen), short);
    // A verdict is worth more than the page that was open.
    screen.all();
    screen.show(report(&failing), &files(), Duration::ZERO);
    assert!(!page(&screen).contains("page 1"));
    // In a high window there is one page.
    screen.all();
    assert!(sized(&screen, 80, 99).contains("waiting for a save; a shows what matters most"));
    screen.all();
    assert!(!sized(&screen, 80, 99).contains("matters most"));
}

#[test]
fn printed_text_is_shown_and_stays_with_the_points() {
    let mut graded = report(&[("one-step", race())]);
    graded.printed = "BLOCK = (32, 8)\n".to_owned();
    let lines: Vec<String> = (0..20)
        .map(|x| format!("left = {x}\tu = 0.5\x1b[2J"))
        .collect();
    for case in &mut graded.cases {
        case.printed = lines.join("\n");
    }
    let screen = shown([graded]);
    let text = page(&screen);
    assert!(
        text.contains("BLOCK = (32, 8)") && text.contains("left = 2 "),
        "{text}"
    );
    assert!(
        text.contains("earlier store at") && text.contains("next: "),
        "{text}"
    );
    assert_snapshot!(text);
    // A pipe has room for all of it.
    let block = screen.block(Look::PLAIN, 80).join("\n");
    assert!(block.contains("left = 19 ") && !block.contains('\x1b'));
}
