//! Misuse of `#[kernel]` and `shared_array!`, with the exact messages: `tests/ui/kernel/*.stderr`.

#[test]
fn misuse_is_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/kernel/good.rs");
    cases.compile_fail("ui/kernel/bad_*.rs");
}
