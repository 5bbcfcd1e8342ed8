//! Special registers whose values the launch determines.

use crate::differential::{Class, Form, Operand, Row};

/// A special register as a function of the thread in the grid and the grid's blocks.
fn register(name: &str, f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Form {
    let body = format!("mov.u32 %x, {name}");
    let rows = vec![[0; 4]; 3 * Form::BLOCK];
    let all = move |rows: &[Row]| {
        let blocks = (rows.len() / Form::BLOCK) as u64;
        (0..rows.len())
            .map(|thread| [f(thread as u64, blocks)])
            .collect()
    };
    Form::together("special", name, [Operand::Pred], [Class::B32], 0, body, all).with_rows(rows)
}

pub(super) fn forms() -> Vec<Form> {
    const BLOCK: u64 = Form::BLOCK as u64;
    let mut all = vec![
        register("%tid.x", |thread, _| thread % BLOCK),
        register("%ntid.x", |_, _| BLOCK),
        register("%ctaid.x", |thread, _| thread / BLOCK),
        register("%nctaid.x", |_, blocks| blocks),
        register("%laneid", |thread, _| thread % 32),
        register("%lanemask_eq", |thread, _| 1 << (thread % 32)),
        register("%lanemask_le", |thread, _| (2 << (thread % 32)) - 1),
        register("%lanemask_lt", |thread, _| (1 << (thread % 32)) - 1),
        register("%lanemask_ge", |thread, _| u64::MAX << (thread % 32)),
        register("%lanemask_gt", |thread, _| (u64::MAX - 1) << (thread % 32)),
        register("%dynamic_smem_size", |_, _| 0),
        register("WARP_SZ", |_, _| 32),
    ];
    for axis in ["y", "z"] {
        all.push(register(&format!("%tid.{axis}"), |_, _| 0));
        all.push(register(&format!("%ntid.{axis}"), |_, _| 1));
        all.push(register(&format!("%ctaid.{axis}"), |_, _| 0));
        all.push(register(&format!("%nctaid.{axis}"), |_, _| 1));
    }
    let dynamic = register("%dynamic_smem_size", |_, _| 16 * BLOCK)
        .with_module(".extern .shared .align 16 .b8 dynamic[];");
    all.push(Form {
        name: "%dynamic_smem_size, with some".to_owned(),
        ..dynamic
    });
    all
}
