//! What a form consists of.

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
    /// Its name in a declaration.
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

    /// Its bits.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

type Each = Box<dyn Fn(Row) -> Row + Send + Sync>;
type Together = Box<dyn Fn(&[Row]) -> Vec<Row> + Send + Sync>;
type Within = Box<dyn Fn(Row) -> Target + Send + Sync>;

/// What the results should be, evaluated in Rust.
pub enum Expect {
    /// Each thread's results follow from its own sources.
    Each(Each),
    /// The results of this many neighbouring threads (0: of all) follow from all their sources.
    Together(usize, Together),
    /// The only result is an approximation.
    Within(Within),
}

/// An instruction with its type and modifiers, ready to be tried.
///
/// The text of `body` finds the sources in `%a %b %c %e` and leaves the results in `%x %y %z %w`. It may use
/// `%thread` (thread in the block, 32 bits), `%lane`, `%scratch` (64-bit generic-free global address of the thread's own
/// [`Form::SCRATCH_BYTES`]), `%pool` (global address of the whole scratch memory, which begins as zeros), and the
/// temporaries `%p0`.., `%h0`.., `%r0`.., `%d0`.. .
pub struct Form {
    /// The family.
    pub group: &'static str,
    /// The instruction as it is written.
    pub name: String,
    /// Where the sources come from.
    pub sources: Vec<Operand>,
    /// The files of the results.
    pub results: Vec<Class>,
    /// Text of the kernel.
    pub body: String,
    /// Text of a second kernel, launched after the first; the results are then taken from it alone.
    pub collect: Option<String>,
    /// Text in front of the kernel.
    pub module: String,
    /// Sources, in place of combinations of the operands' values; a multiple of [`Form::BLOCK`].
    pub rows: Option<Vec<Row>>,
    /// What the results should be.
    pub expect: Expect,
}

impl Form {
    /// Threads of a block.
    pub const BLOCK: usize = 128;
    /// Global memory that each thread has to itself.
    pub const SCRATCH_BYTES: usize = 64;

    /// A form whose results follow from each thread's own sources.
    pub fn new<const N: usize, const M: usize>(
        group: &'static str,
        name: impl Into<String>,
        sources: [Operand; N],
        results: [Class; M],
        body: impl Into<String>,
        f: impl Fn([u64; N]) -> [u64; M] + Send + Sync + 'static,
    ) -> Form {
        let each = move |row: Row| {
            let results = f(std::array::from_fn(|i| row[i]));
            std::array::from_fn(|i| results.get(i).copied().unwrap_or(0))
        };
        Form {
            group,
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

    /// A form of one instruction whose text is its name, `%x` and the sources.
    pub fn simple<const N: usize>(
        group: &'static str,
        name: impl Into<String>,
        sources: [Operand; N],
        result: Class,
        f: impl Fn([u64; N]) -> u64 + Send + Sync + 'static,
    ) -> Form {
        let name = name.into();
        let body = format!("{name} %x{};", &", %a, %b, %c, %e"[..4 * N]);
        Form::new(group, name, sources, [result], body, move |row| [f(row)])
    }

    /// A form of one instruction whose result is an approximation.
    pub fn approximate<const N: usize>(
        name: impl Into<String>,
        sources: [Operand; N],
        result: Class,
        f: impl Fn([u64; N]) -> Target + Send + Sync + 'static,
    ) -> Form {
        let form = Form::simple("approximate", name, sources, result, |_| 0);
        let within = move |row: Row| f(std::array::from_fn(|i| row[i]));
        Form {
            expect: Expect::Within(Box::new(within)),
            ..form
        }
    }

    /// A form whose results follow from the sources of `threads` neighbouring threads.
    pub fn together<const N: usize, const M: usize>(
        group: &'static str,
        name: impl Into<String>,
        sources: [Operand; N],
        results: [Class; M],
        threads: usize,
        body: impl Into<String>,
        f: impl Fn(&[Row]) -> Vec<[u64; M]> + Send + Sync + 'static,
    ) -> Form {
        let form = Form::new(group, name, sources, results, body, |_| [0; M]);
        let all = move |rows: &[Row]| {
            let results = f(rows);
            let widen = |r: [u64; M]| std::array::from_fn(|i| r.get(i).copied().unwrap_or(0));
            results.into_iter().map(widen).collect()
        };
        Form {
            expect: Expect::Together(threads, Box::new(all)),
            ..form
        }
    }

    /// The same with text in front of the kernel.
    pub fn with_module(self, module: impl Into<String>) -> Form {
        Form {
            module: module.into(),
            ..self
        }
    }

    /// The same with these sources.
    pub fn with_rows(self, rows: Vec<Row>) -> Form {
        assert!(!rows.is_empty() && rows.len().is_multiple_of(Form::BLOCK));
        Form {
            rows: Some(rows),
            ..self
        }
    }

    /// The same with a second kernel.
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
        match self.module.contains(".extern .shared") {
            true => 16 * Form::BLOCK as u32,
            false => 0,
        }
    }

    /// The instruction without types and modifiers.
    pub fn opcode(&self) -> &str {
        let end = self.name.find(['.', ' ', ',']).unwrap_or(self.name.len());
        &self.name[..end]
    }
}
