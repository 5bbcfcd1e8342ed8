//! Branches, tables of branches, calls, guards.

use crate::differential::{Class, Form, Operand};

const FUNCTIONS: &str = "\
.func (.param .b32 result) mix(.param .b32 value, .param .align 16 .b8 pair[16])
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %d<4>;
	ld.param.b32 %r0, [value];
	ld.param.v2.b64 {%d0, %d1}, [pair];
	setp.eq.u32 %p0, %r0, 0;
	@%p0 bra nothing;
	cvt.u32.u64 %r1, %d0;
	mad.lo.u32 %r0, %r0, 3, %r1;
	cvt.u32.u64 %r1, %d1;
	xor.b32 %r0, %r0, %r1;
	st.param.b32 [result], %r0;
	ret;
nothing:
	mov.u32 %r0, 7;
	st.param.b32 [result], %r0;
	ret;
}
.func (.reg .b32 sum) by_register(.reg .b32 a, .reg .b32 b)
{
	add.u32 sum, a, b;
	ret;
}
.func (.param .b32 result) twice(.param .b32 value)
{
	.reg .b32 %r<2>;
	ld.param.b32 %r0, [value];
	shl.b32 %r0, %r0, 1;
	st.param.b32 [result], %r0;
	ret;
}
.func (.param .b32 result) negated(.param .b32 value)
{
	.reg .b32 %r<2>;
	ld.param.b32 %r0, [value];
	neg.s32 %r0, %r0;
	st.param.b32 [result], %r0;
	ret;
}
.func (.param .b32 result) triangle(.param .b32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	ld.param.b32 %r0, [n];
	mov.u32 %r1, 0;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 bra end;
	sub.u32 %r2, %r0, 1;
	{
	.param .b32 next;
	.param .b32 sum;
	st.param.b32 [next], %r2;
	call.uni (sum), triangle, (next);
	ld.param.b32 %r1, [sum];
	}
	add.u32 %r1, %r1, %r0;
end:
	st.param.b32 [result], %r1;
	ret;
}
";

/// One word in, one word out, in parameter space.
fn call_of(function: &str) -> String {
    format!(
        "{{ .param .b32 value; .param .b32 result; st.param.b32 [value], %a; \
         call.uni (result), {function}, (value); ld.param.b32 %x, [result]; }}"
    )
}

/// A form of one result, a word.
fn word<const N: usize>(
    name: &str,
    sources: [Operand; N],
    body: impl Into<String>,
    f: impl Fn([u64; N]) -> u64 + Send + Sync + 'static,
) -> Form {
    Form::new(name, sources, [Class::B32], body, move |values| [f(values)])
}

/// Words from 0.
fn below(end: u64) -> Operand {
    Operand::Of(Class::B32, (0..end).collect())
}

pub(super) fn forms() -> Vec<Form> {
    calls().into_iter().chain(branches()).collect()
}

fn branches() -> [Form; 4] {
    let collatz = "mov.u32 %x, 0; again: setp.le.u32 %p0, %a, 1; @%p0 bra done; add.u32 %x, %x, 1; \
                   and.b32 %r0, %a, 1; setp.eq.u32 %p1, %r0, 0; @%p1 bra even; mad.lo.u32 %a, %a, 3, 1; \
                   bra.uni again; even: shr.u32 %a, %a, 1; bra again; done:";
    let collatz = word(
        "bra, a loop of each lane's length",
        [below(40)],
        collatz,
        |[a]| {
            let (mut steps, mut n) = (0, a);
            while n > 1 {
                n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
                steps += 1;
            }
            steps
        },
    );
    let table = "and.b32 %r0, %a, 3; switch: .branchtargets zero, one, two, one; brx.idx %r0, switch; \
                 zero: mov.u32 %x, 10; bra done; one: add.u32 %x, %a, 1; bra done; two: not.b32 %x, %a; done:";
    let table = word("brx.idx", [Operand::I32], table, |[a]| {
        [10, a + 1, !a, a + 1][(a & 3) as usize]
    });
    let guards = "setp.lt.s32 %p0, %a, 0; mov.u32 %x, 1; @%p0 mov.u32 %x, 2; @!%p0 add.u32 %x, %x, %a; \
                  @%p0 mul.lo.u32 %x, %x, %a";
    let guards = word(
        "@%p, guarded instructions",
        [Operand::I32],
        guards,
        |[a]| {
            if (a as i32) < 0 { 2 * a } else { 1 + a }
        },
    );
    let exits = "and.b32 %r0, %a, 1; setp.eq.u32 %p0, %r0, 0; @%p0 exit; st.global.u32 [%scratch], %a; \
                 setp.lt.s32 %p0, %a, 0; @%p0 ret; st.global.u32 [%scratch+4], %a";
    let collect = "ld.global.u32 %x, [%scratch]; ld.global.u32 %y, [%scratch+4]";
    let sources = [Operand::I32];
    let exits = Form::new("exit, ret", sources, [Class::B32; 2], exits, |[a]| {
        match (a & 1, a as i32) {
            (0, _) => [0, 0],
            (_, ..0) => [a, 0],
            _ => [a, a],
        }
    });
    [collatz, table, guards, exits.with_collect(collect)]
}

fn calls() -> [Form; 5] {
    let two = || [Operand::I32, Operand::I32];
    let mix = "{ .param .b32 value; .param .align 16 .b8 pair[16]; .param .b32 result; \
               st.param.b32 [value], %a; st.param.v2.b64 [pair], {%b, %c}; \
               call.uni (result), mix, (value, pair); ld.param.b32 %x, [result]; }";
    let sources = [Operand::I32, Operand::I64, Operand::I64];
    let mixed = word(
        "call.uni, a structure by value",
        sources,
        mix,
        |[a, b, c]| match a {
            0 => 7,
            _ => a.wrapping_mul(3).wrapping_add(b) ^ c,
        },
    );
    let by_register = "call (%x), by_register, (%a, %b)";
    let by_register = word("call, by register", two(), by_register, |[a, b]| a + b);
    let triangle = call_of("triangle");
    let recursive = word("call, recursive", [below(12)], triangle, |[n]| {
        n * (n + 1) / 2
    });
    let indirect = "signature: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 %d0, twice; \
                    mov.u64 %d1, negated; and.b32 %r0, %b, 1; setp.eq.u32 %p0, %r0, 0; selp.b64 %d2, %d0, %d1, %p0; \
                    { .param .b32 value; .param .b32 result; st.param.b32 [value], %a; \
                    call (result), %d2, (value), signature; ld.param.b32 %x, [result]; }";
    let indirect = word("call, indirect", two(), indirect, |[a, b]| match b & 1 {
        0 => a << 1,
        _ => a.wrapping_neg(),
    });
    let divergent = format!(
        "mov.u32 %x, 5; setp.lt.s32 %p0, %a, 0; @%p0 bra done; {} done:",
        call_of("twice")
    );
    let by_some_lanes = word("call by some lanes", [Operand::I32], divergent, |[a]| {
        if (a as i32) < 0 { 5 } else { a << 1 }
    });
    [mixed, by_register, recursive, indirect, by_some_lanes].map(|form| form.with_module(FUNCTIONS))
}
