//! The parts of a form, and its PTX text.

use std::fmt::Write;

use super::{Operand, Target};

/// The values of one thread: sources or results. Those that a form does not have are 0.
pub type Row = [u64; 4];

/// The file that a register lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One bit.
    Pred,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl Class {
    /// The class's name in a declaration.
    pub fn name(self) -> &'static str {
        match self {
            Class::Pred => "pred",
            Class::B16 => "b16",
            Class::B32 => "b32",
            Class::B64 => "b64",
        }
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Class::Pred => 1,
            Class::B16 => 16,
            Class::B32 => 32,
            Class::B64 => 64,
        }
    }

    /// A mask of the class's bits.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

type Each = Box<dyn Fn(Row) -> Row + Send + Sync>;
type Together = Box<dyn Fn(&[Row]) -> Vec<Row> + Send + Sync>;
type Within = Box<dyn Fn(Row) -> Target + Send + Sync>;

/// The expected results, evaluated in Rust.
pub enum Expect {
    /// Each thread's results follow from its own sources.
    Each(Each),
    /// The results of this number of neighbouring threads (0: of all) follow from all their
    /// sources.
    Together(usize, Together),
    /// The only result is an approximation.
    Within(Within),
}

/// An instruction with its type and modifiers, for a test.
///
/// The text of `body` finds the sources in `%a %b %c %e` and leaves the results in `%x %y %z %w`.
/// It may use `%thread` (thread in the block, 32 bits), `%lane`, `%scratch` (64-bit generic-free
/// global address of the thread's own [`Form::SCRATCH_BYTES`]), `%pool` (global address of the
/// whole scratch memory, which begins as zeros), and the temporaries `%p0`.., `%h0`.., `%r0`..,
/// `%d0`.. .
pub struct Form {
    /// The family, which [`all`](super::all) sets.
    pub group: &'static str,
    /// The instruction as it is written.
    pub name: String,
    /// The operands that give the sources.
    pub sources: Vec<Operand>,
    /// The files of the results.
    pub results: Vec<Class>,
    /// Text of the kernel.
    pub body: String,
    /// Text of a second kernel, launched after the first. The results then come only from it.
    pub collect: Option<String>,
    /// Text in front of the kernel.
    pub module: String,
    /// Sources instead of combinations of the operands' values; a multiple of [`Form::BLOCK`].
    pub rows: Option<Vec<Row>>,
    /// The expected results.
    pub expect: Expect,
}

impl Form {
    /// Threads of a block.
    pub const BLOCK: usize = 128;
    /// Global memory that each thread has to itself.
    pub const SCRATCH_BYTES: usize = 64;

    /// A form whose results follow from each thread's own sources.
    pub fn new<const N: usize, const M: usize>(
        name: impl Into<String>,
        sources: [Operand; N],
        results: [Class; M],
        body: impl Into<String>,
        f: impl Fn([u64; N]) -> [u64; M] + Send + Sync + 'static,
    ) -> Form {
        let each = move |row: Row| {
            let values = f(std::array::from_fn(|i| row[i]));
            std::array::from_fn(|i| values.get(i).copied().unwrap_or(0))
        };
        Form {
            group: "",
            name: name.into(),
            sources: sources.into(),
            results: results.into(),
            body: body.into(),
            collect: None,
            module: String::new(),
            rows: None,
            expect: Expect::Each(Box::new(each)),
        }
    }

    /// A form of one instruction whose text is its name, `%x` and the sources. The result is in a
    /// register like the first source's.
    pub fn simple<const N: usize>(
        name: impl Into<String>,
        sources: [Operand; N],
        f: impl Fn([u64; N]) -> u64 + Send + Sync + 'static,
    ) -> Form {
        let name = name.into();
        let body = format!("{name} %x{};", &", %a, %b, %c, %e"[..4 * N]);
        let result = sources[0].class();
        Form::new(name, sources, [result], body, move |row| [f(row)])
    }

    /// Puts the only result in another register.
    pub fn to(self, result: Class) -> Form {
        Form {
            results: vec![result],
            ..self
        }
    }

    /// Replaces the text of the instructions.
    pub fn with_body(self, body: impl Into<String>) -> Form {
        Form {
            body: body.into(),
            ..self
        }
    }

    /// A form of one instruction whose result is an approximation.
    pub fn approximate<const N: usize>(
        name: impl Into<String>,
        sources: [Operand; N],
        f: impl Fn([u64; N]) -> Target + Send + Sync + 'static,
    ) -> Form {
        let form = Form::simple(name, sources, |_| 0);
        let within = move |row: Row| f(std::array::from_fn(|i| row[i]));
        Form {
            expect: Expect::Within(Box::new(within)),
            ..form
        }
    }

    /// A form whose results follow from the sources of `threads` neighbouring threads.
    pub fn together<const N: usize, const M: usize>(
        name: impl Into<String>,
        sources: [Operand; N],
        results: [Class; M],
        threads: usize,
        body: impl Into<String>,
        f: impl Fn(&[Row]) -> Vec<[u64; M]> + Send + Sync + 'static,
    ) -> Form {
        let form = Form::new(name, sources, results, body, |_| [0; M]);
        let all = move |rows: &[Row]| {
            let values = f(rows);
            let widen = |r: [u64; M]| std::array::from_fn(|i| r.get(i).copied().unwrap_or(0));
            values.into_iter().map(widen).collect()
        };
        Form {
            expect: Expect::Together(threads, Box::new(all)),
            ..form
        }
    }

    /// Puts text in front of the kernel.
    pub fn with_module(self, module: impl Into<String>) -> Form {
        Form {
            module: module.into(),
            ..self
        }
    }

    /// Runs it with these sources.
    pub fn with_rows(self, rows: Vec<Row>) -> Form {
        assert!(!rows.is_empty() && rows.len().is_multiple_of(Form::BLOCK));
        Form {
            rows: Some(rows),
            ..self
        }
    }

    /// Adds a second kernel.
    pub fn with_collect(self, body: impl Into<String>) -> Form {
        Form {
            collect: Some(body.into()),
            ..self
        }
    }

    /// Whether the kernels use scratch memory.
    pub fn uses_scratch(&self) -> bool {
        let uses = |text: &str| text.contains("%scratch") || text.contains("%pool");
        uses(&self.body) || self.collect.as_deref().is_some_and(uses)
    }

    /// Dynamic shared memory of a block: none, unless the module declares some.
    pub fn dynamic_shared_bytes(&self) -> u32 {
        if self.module.contains(".extern .shared") {
            16 * Form::BLOCK as u32
        } else {
            0
        }
    }

    /// The instruction without types and modifiers.
    pub fn opcode(&self) -> &str {
        let end = self.name.find(['.', ' ', ',']).unwrap_or(self.name.len());
        &self.name[..end]
    }
}

const SOURCES: [&str; 4] = ["%a", "%b", "%c", "%e"];
const RESULTS: [&str; 4] = ["%x", "%y", "%z", "%w"];

/// The form's module: the kernel `apply`, and `collect` if it has one. Both take the operands, the
/// results and the scratch memory, as 64-bit pointers to 64-bit values.
pub fn module_text(form: &Form) -> String {
    let mut text = format!(
        "// {}\n.version 8.4\n.target sm_90\n.address_size 64\n\n{}\n",
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
