//! Misuse of `#[kernel]` and `shared_array!`, with the exact messages: `tests/ui/*.stderr`.

#[test]
fn misuse_is_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/good.rs");
    cases.compile_fail("tests/ui/bad_*.rs");
}
