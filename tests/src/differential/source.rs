//! The PTX text of a form.

use std::fmt::Write;

use super::{Class, Form};

const SOURCES: [&str; 4] = ["%a", "%b", "%c", "%e"];
const RESULTS: [&str; 4] = ["%x", "%y", "%z", "%w"];

/// The form's module: the kernel `apply`, and `collect` if it has one. Both take the operands, the results and the
/// scratch memory, as 64-bit pointers to 64-bit values.
pub fn module_text(form: &Form) -> String {
    let mut text = format!(
        "// {}\n.version 8.3\n.target sm_90\n.address_size 64\n\n{}\n",
        form.name, form.module
    );
    let has_collect = form.collect.is_some();
    text += &kernel(form, "apply", &form.body, !has_collect);
    if let Some(collect) = &form.collect {
        text += &kernel(form, "collect", collect, true);
    }
    text
}

fn kernel(form: &Form, name: &str, body: &str, stores: bool) -> String {
    let mut text = format!(
        ".visible .entry {name}(.param .u64 operands, .param .u64 results, .param .u64 scratch)\n{{\n"
    );
    text += "\t.reg .pred %p<8>;\n\t.reg .b16 %h<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %d<16>;\n";
    text += "\t.reg .b32 %index, %thread, %lane, %low;\n\t.reg .b64 %from, %to, %pool, %scratch, %value;\n";
    for (source, register) in form.sources.iter().zip(SOURCES) {
        let _ = writeln!(text, "\t.reg .{} {register};", source.class().name());
    }
    for (class, register) in form.results.iter().zip(RESULTS) {
        let _ = writeln!(text, "\t.reg .{} {register};", class.name());
    }
    text += "\tmov.u32 %thread, %tid.x;\n\tmov.u32 %lane, %laneid;\n\tmov.u32 %low, %ctaid.x;\n";
    let _ = writeln!(text, "\tmad.lo.u32 %index, %low, {}, %thread;", Form::BLOCK);
    text += "\tld.param.u64 %from, [operands];\n\tcvta.to.global.u64 %from, %from;\n";
    let _ = writeln!(
        text,
        "\tmad.wide.u32 %from, %index, {}, %from;",
        8 * form.sources.len()
    );
    if form.uses_scratch() {
        text += "\tld.param.u64 %pool, [scratch];\n\tcvta.to.global.u64 %pool, %pool;\n";
        let _ = writeln!(
            text,
            "\tmad.wide.u32 %scratch, %index, {}, %pool;",
            Form::SCRATCH_BYTES
        );
    }
    for (i, (source, register)) in form.sources.iter().zip(SOURCES).enumerate() {
        load(&mut text, source.class(), register, 8 * i);
    }
    for line in body.split(';').map(str::trim) {
        let (line, closes) = match line.strip_prefix('}') {
            Some(rest) => (rest.trim(), true),
            None => (line, false),
        };
        if closes {
            text += "\t}\n";
        }
        // A label takes no semicolon.
        let end = if line.ends_with(':') { "" } else { ";" };
        if !line.is_empty() {
            let _ = writeln!(text, "\t{line}{end}");
        }
    }
    if stores {
        text += "\tld.param.u64 %to, [results];\n\tcvta.to.global.u64 %to, %to;\n";
        let _ = writeln!(
            text,
            "\tmad.wide.u32 %to, %index, {}, %to;",
            8 * form.results.len()
        );
        for (i, (class, register)) in form.results.iter().zip(RESULTS).enumerate() {
            store(&mut text, *class, register, 8 * i);
        }
    }
    text += "\tret;\n}\n";
    text
}

fn load(text: &mut String, class: Class, register: &str, offset: usize) {
    let _ = match class {
        Class::B64 => writeln!(text, "\tld.global.b64 {register}, [%from+{offset}];"),
        Class::B32 => writeln!(text, "\tld.global.b32 {register}, [%from+{offset}];"),
        Class::B16 => writeln!(text, "\tld.global.b16 {register}, [%from+{offset}];"),
        Class::Pred => writeln!(
            text,
            "\tld.global.b32 %low, [%from+{offset}];\n\tsetp.ne.u32 {register}, %low, 0;"
        ),
    };
}

fn store(text: &mut String, class: Class, register: &str, offset: usize) {
    let _ = match class {
        Class::B64 => writeln!(text, "\tmov.b64 %value, {register};"),
        Class::B32 => writeln!(text, "\tcvt.u64.u32 %value, {register};"),
        Class::B16 => writeln!(text, "\tcvt.u64.u16 %value, {register};"),
        Class::Pred => writeln!(text, "\tselp.u64 %value, 1, 0, {register};"),
    };
    let _ = writeln!(text, "\tst.global.u64 [%to+{offset}], %value;");
}
