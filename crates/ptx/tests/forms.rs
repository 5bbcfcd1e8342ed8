//! Every form of every instruction that is modelled, beside what it is lowered to.
//!
//! `data/forms.ptx` assembles with ptxas 13.5 for sm_90, so the left side is PTX; the right side was checked against
//! the PTX ISA by reading.

mod common;

use ptx::Program;

#[test]
fn each_form_is_lowered_as_recorded() {
    let program = Program::parse(include_str!("data/forms.ptx")).unwrap();
    common::assert_well_formed(&program);
    assert_eq!(common::unsupported(&program), [""; 0]);
    let kernel = program.kernel("forms").unwrap();
    let mut table = String::new();
    for inst in &kernel.instructions {
        let text = program.line(inst.pos.line).unwrap().trim();
        let guard = inst.guard.map(|g| format!("{g:?} ")).unwrap_or_default();
        table.push_str(&compact(&format!("{text}\n    {guard}{:?}\n", inst.op)));
    }
    insta::assert_snapshot!("forms", table);
}

/// Shortens the debug forms of registers and operands.
fn compact(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("Reg { class: ") {
        out.push_str(before.strip_suffix("Reg(").unwrap_or(before));
        let (class, after) = after.split_once(", slot: ").unwrap();
        let (slot, after) = after.split_once(" }").unwrap();
        out.push_str(&format!("{class}:{slot}"));
        rest = if before.ends_with("Reg(") {
            after.strip_prefix(')').unwrap()
        } else {
            after
        };
    }
    out + rest
}
