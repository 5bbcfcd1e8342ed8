//! Loads and stores in every state space, address conversion, asynchronous copies, fences.

use crate::differential::{Class, Form, Operand};

/// A place where a thread has its own 64 bytes, and the code for its address.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The text after `ld` and `st`; empty for generic addresses.
    space: &'static str,
    /// The name in tables.
    pub name: &'static str,
    /// Makes the address in `address`.
    setup: &'static str,
    /// The register that holds it.
    address: &'static str,
    /// Declarations in front of the kernel.
    pub module: &'static str,
}

const TILE: &str = ".shared .align 16 .b8 tile[8192];";

pub(super) const GLOBAL: Place = Place {
    space: ".global",
    name: "global",
    setup: "",
    address: "%scratch",
    module: "",
};

pub(super) const SHARED: Place = Place {
    space: ".shared",
    name: "shared",
    setup: "mov.u32 %r15, tile; mad.lo.u32 %r15, %thread, 64, %r15;",
    address: "%r15",
    module: TILE,
};

pub(super) const GENERIC_GLOBAL: Place = Place {
    space: "",
    name: "generic to global",
    setup: "cvta.global.u64 %d15, %scratch;",
    address: "%d15",
    module: "",
};

pub(super) const GENERIC_SHARED: Place = Place {
    space: "",
    name: "generic to shared",
    setup: "mov.u64 %d15, tile; cvta.shared.u64 %d15, %d15; mad.wide.u32 %d15, %thread, 64, %d15;",
    address: "%d15",
    module: TILE,
};

const LOCAL: Place = Place {
    space: ".local",
    name: "local",
    setup: ".local .align 16 .b8 depot[64]; mov.u64 %d15, depot;",
    address: "%d15",
    module: "",
};

const GENERIC_LOCAL: Place = Place {
    space: "",
    name: "generic to local",
    setup: ".local .align 16 .b8 depot[64]; mov.u64 %d15, depot; cvta.local.u64 %d15, %d15;",
    address: "%d15",
    module: "",
};

impl Place {
    /// A form in this place. In its name and body, `$` means the space and `@` the address.
    pub fn form<const N: usize, const M: usize>(
        self,
        name: &str,
        sources: [Operand; N],
        results: [Class; M],
        body: &str,
        f: impl Fn([u64; N]) -> [u64; M] + Send + Sync + 'static,
    ) -> Form {
        let text = |text: &str| text.replace('$', self.space).replace('@', self.address);
        let name = format!("{}, {}", text(name), self.name);
        let body = format!("{} {}", self.setup, text(body));
        Form::new(name, sources, results, body, f).with_module(self.module)
    }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for place in [
        GLOBAL,
        SHARED,
        GENERIC_GLOBAL,
        GENERIC_SHARED,
        LOCAL,
        GENERIC_LOCAL,
    ] {
        all.extend(extensions(place));
        all.extend(stores(place));
        all.extend(vectors(place));
    }
    all.extend(modifiers());
    all.extend(read_only());
    all.extend(variables());
    for place in [GENERIC_GLOBAL, GENERIC_SHARED, GENERIC_LOCAL] {
        all.extend(addresses(place));
    }
    all.extend(copies());
    all.extend(hints());
    all
}

fn width(ty: &str) -> u32 {
    ty[1..].parse().expect("a width")
}

/// The bits of `x` from bit `at` up, as many as `ty` has, extended by its sign to 64 bits.
fn part(x: u64, at: u32, ty: &str) -> u64 {
    super::number(x >> at, width(ty), ty.starts_with('s')) as u64
}

/// Stores 64 bits, and loads parts of them into wider registers.
fn extensions(place: Place) -> [Form; 4] {
    let form = |class: Class, parts: [(&'static str, u32); 4]| {
        let loads: String = parts
            .into_iter()
            .zip(["%x", "%y", "%z", "%w"])
            .map(|((ty, offset), to)| format!("ld$.{ty} {to}, [@+{offset}];"))
            .collect();
        let types = parts.map(|(ty, _)| format!(".{ty}")).concat();
        let name = format!("ld${types} to {}", class.name());
        let body = format!("st$.b64 [@], %a; {loads}");
        place.form(&name, [Operand::I64], [class; 4], &body, move |[a]| {
            parts.map(|(ty, offset)| part(a, 8 * offset, ty))
        })
    };
    [
        form(Class::B16, [("s8", 0), ("u8", 1), ("s16", 2), ("b8", 7)]),
        form(Class::B32, [("s8", 3), ("u8", 7), ("s16", 6), ("u16", 4)]),
        form(Class::B32, [("b32", 0), ("s32", 4), ("u32", 4), ("b8", 5)]),
        form(Class::B64, [("s8", 7), ("s16", 2), ("s32", 4), ("u32", 4)]),
    ]
}

/// Stores narrow values into 64 bits.
fn stores(place: Place) -> [Form; 10] {
    let form = |(ty, offset, source): (&str, u32, Operand)| {
        let name = format!("st$.{ty} of {}", source.class().name());
        let body = format!("st$.b64 [@], %a; st$.{ty} [@+{offset}], %b; ld$.b64 %x, [@]");
        let mask = u64::MAX >> (64 - width(ty)) << (8 * offset);
        let sources = [Operand::I64, source];
        place.form(&name, sources, [Class::B64], &body, move |[a, b]| {
            [a & !mask | b << (8 * offset) & mask]
        })
    };
    [
        ("b8", 1, Operand::I16),
        ("u8", 3, Operand::I32),
        ("s8", 7, Operand::I64),
        ("b16", 2, Operand::I16),
        ("u16", 4, Operand::I32),
        ("s16", 6, Operand::I64),
        ("b32", 4, Operand::I32),
        ("u32", 0, Operand::I64),
        ("f32", 4, Operand::F32),
        ("f64", 0, Operand::F64),
    ]
    .map(form)
}

/// Stores vectors, and loads them as vectors and element by element.
fn vectors(place: Place) -> Vec<Form> {
    let mut all = Vec::new();
    for (ty, operand) in [
        ("b8", Operand::I16),
        ("u16", Operand::I16),
        ("b32", Operand::I32),
        ("f32", Operand::F32),
        ("b64", Operand::I64),
        ("f64", Operand::F64),
    ] {
        let (bytes, class, mask) = (width(ty) / 8, operand.class(), u64::MAX >> (64 - width(ty)));
        let name = |n| format!("st$.v{n}.{ty} ld$.v{n}.{ty}");
        // The second element, then the vector in reverse.
        let body = format!(
            "st$.v2.{ty} [@+16], {{%a, %b}}; ld$.{ty} %x, [@+{}]; ld$.v2.{ty} {{%z, %y}}, [@+16]",
            16 + bytes
        );
        let sources = [operand.clone(), operand.clone()];
        all.push(
            place.form(&name(2), sources, [class; 3], &body, move |[a, b]| {
                [b, b, a].map(|x| x & mask)
            }),
        );
        if bytes == 8 {
            continue;
        }
        let of_four = format!(
            "st$.v4.{ty} [@], {{%a, %b, %c, %e}}; ld$.v4.{ty} {{%w, %z, %y, %x}}, [@]; st$.{ty} [@+{bytes}], %a; \
             ld$.{ty} %x, [@+{bytes}]"
        );
        let four = [(); 4].map(|()| operand.clone());
        all.push(
            place.form(&name(4), four, [class; 4], &of_four, move |[a, b, c, _]| {
                [a, c, b, a].map(|x| x & mask)
            }),
        );
    }
    all
}

/// Orders, scopes, cache operators: one thread sees its own stores with any of them.
fn modifiers() -> Vec<Form> {
    let mut all = Vec::new();
    for (store, load) in [
        (".weak.global", ".weak.global"),
        (".volatile.global", ".volatile.global"),
        (".volatile.shared", ".volatile.shared"),
        (".volatile", ".volatile"),
        (".relaxed.cta.global", ".relaxed.cta.global"),
        (".relaxed.gpu.global", ".relaxed.gpu.global"),
        (".relaxed.sys.global", ".relaxed.sys.global"),
        (".relaxed.cluster.global", ".relaxed.cluster.global"),
        (".relaxed.cta.shared", ".relaxed.cta.shared"),
        (".release.gpu.global", ".acquire.gpu.global"),
        (".release.sys", ".acquire.sys"),
        (".release.cta.shared", ".acquire.cta.shared"),
        (".global.wb", ".global.ca"),
        (".global.cg", ".global.cg"),
        (".global.cs", ".global.cs"),
        (".global.wt", ".global.cv"),
        (".global", ".global.lu"),
        (".global.L1::evict_last", ".global.L1::evict_first"),
        (".global.L1::no_allocate", ".global.L1::no_allocate"),
        (".global", ".global.L2::128B"),
        (".global", ".global.ca.L2::256B"),
    ] {
        let place = match store {
            _ if store.contains("shared") => SHARED,
            _ if store.contains("global") => GLOBAL,
            _ => GENERIC_GLOBAL,
        };
        let Place {
            setup,
            address,
            module,
            ..
        } = place;
        for (ty, operand) in [("u32", Operand::I32), ("b64", Operand::I64)] {
            let name = format!("st{store}.{ty} ld{load}.{ty}");
            let body = format!(
                "{setup} st{store}.{ty} [{address}+8], %a; ld{load}.{ty} %x, [{address}+8]"
            );
            let class = operand.class();
            all.push(Form::new(name, [operand], [class], body, |[a]| [a]).with_module(module));
        }
    }
    all
}

/// Loads from memory that the launch does not write.
fn read_only() -> [Form; 4] {
    let form = |name: &str, class: Class, body: &str, f: fn([u64; 2]) -> [u64; 2]| {
        Form::new(name, [Operand::I64, Operand::I64], [class; 2], body, f)
    };
    let [nc, ldu] = ["ld.global.nc", "ldu.global"].map(|ld| {
        form(
            &format!("{ld}.b64"),
            Class::B64,
            &format!("{ld}.b64 %x, [%from]; {ld}.b64 %y, [%from+8]"),
            |ab| ab,
        )
    });
    let vector = "ld.global.nc.v2.u64 {%y, %x}, [%from]";
    let narrow = "ld.global.nc.u8 %x, [%from+3]; ld.global.nc.s16 %y, [%from+10]";
    [
        nc,
        ldu,
        form("ld.global.nc.v2.u64", Class::B64, vector, |[a, b]| [b, a]),
        form("ld.global.nc.u8", Class::B32, narrow, |[a, b]| {
            [part(a, 24, "u8"), part(b, 16, "s16")]
        }),
    ]
}

const WORDS: [u64; 4] = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 1, u64::MAX];

/// Variables with initial values, and the addresses of variables.
fn variables() -> [Form; 5] {
    let values = WORDS.map(|word| format!("{word:#x}")).join(", ");
    let module = format!(
        ".const .align 8 .u64 lookup[4] = {{{values}}};\n.global .align 8 .u64 table[4] = {{{values}}};\n\
         .global .align 4 .b8 bytes[8] = {{1, 2, 0xff, 0x80}};"
    );
    let form = |name: &str, body: &str, f: fn(u64, usize) -> [u64; 2]| {
        let index = Operand::Of(Class::B32, vec![0, 1, 2, 3]);
        Form::new(name, [index], [Class::B64; 2], body, move |[a]| {
            f(WORDS[a as usize], a as usize)
        })
        .with_module(module.clone())
    };
    let dynamic = "mov.u32 %r0, dynamic; mad.lo.u32 %r0, %thread, 16, %r0; st.shared.u32 [%r0+12], %a; \
                   ld.shared.u32 %x, [%r0+12]";
    let name = "st.shared.u32 of dynamic shared memory";
    [
        form(
            "ld.const.u64",
            "mov.u64 %d0, lookup; mad.wide.u32 %d0, %a, 8, %d0; ld.const.u64 %x, [%d0]; ld.const.u64 %y, [lookup+8]",
            |word, _| [word, WORDS[1]],
        ),
        form(
            "ld.u64, generic to const",
            "mov.u64 %d0, lookup; cvta.const.u64 %d0, %d0; mad.wide.u32 %d0, %a, 8, %d0; ld.u64 %x, [%d0]; \
             ld.s8 %y, [%d0+7]",
            |word, _| [word, part(word, 56, "s8")],
        ),
        form(
            "ld.global.u64 of a variable",
            "mov.u64 %d0, table; mad.wide.u32 %d0, %a, 8, %d0; ld.global.u64 %x, [%d0]; ld.global.s32 %y, [table+12]",
            |word, _| [word, part(WORDS[1], 32, "s32")],
        ),
        form(
            "ld.global.u8 of a variable",
            "mov.u64 %d0, bytes; cvt.u64.u32 %d1, %a; add.u64 %d0, %d0, %d1; ld.global.u8 %x, [%d0]; \
             ld.global.u32 %y, [bytes+4]",
            |_, index| [[1, 2, 0xff, 0x80][index], 0],
        ),
        Form::new(name, [Operand::I32], [Class::B32], dynamic, |[a]| [a])
            .with_module(".extern .shared .align 16 .b8 dynamic[];"),
    ]
}

/// `cvta` there and back, `isspacep`.
fn addresses(place: Place) -> [Form; 2] {
    let Place {
        name,
        setup,
        address,
        module,
        ..
    } = place;
    let space = name.rsplit(' ').next().expect("a space");
    let there_and_back = format!(
        "{setup} st.b64 [{address}+8], %a; cvta.to.{space}.u64 %d0, {address}; ld.{space}.b64 %x, [%d0+8]"
    );
    let which = format!(
        "{setup} isspacep.global %x, {address}; isspacep.shared %y, {address}; isspacep.local %z, {address}; \
         isspacep.const %w, {address}"
    );
    let expected = ["global", "shared", "local", "const"].map(|other| u64::from(other == space));
    let conversion = format!("cvta.to.{space}.u64");
    let converted = Form::new(
        conversion,
        [Operand::I64],
        [Class::B64],
        there_and_back,
        |[a]| [a],
    );
    let question = format!("isspacep, an address in {space}");
    let asked = Form::new(
        question,
        [Operand::Pred],
        [Class::Pred; 4],
        which,
        move |_| expected,
    );
    [converted, asked].map(|form| form.with_module(module))
}

/// `cp.async`: whole, in part, not at all. The copy's destination begins as ones. The operands are
/// its source, 16 bytes per thread.
fn copies() -> Vec<Form> {
    fn form<const N: usize>(
        name: &str,
        sources: [Operand; N],
        copy: &str,
        f: impl Fn([u64; N]) -> [u64; 2] + Send + Sync + 'static,
    ) -> Form {
        let body = format!(
            "{} mov.b64 %d0, -1; st.shared.v2.b64 [%r15], {{%d0, %d0}}; {copy} ld.shared.v2.b64 {{%x, %y}}, [%r15]",
            SHARED.setup
        );
        Form::new(name, sources, [Class::B64; 2], body, f).with_module(TILE)
    }
    let mut all = Vec::new();
    for (op, bytes) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        let name = format!("cp.async.{op}.shared.global of {bytes}");
        let copy = format!(
            "cp.async.{op}.shared.global [%r15], [%from], {bytes}; cp.async.commit_group; cp.async.wait_group 0;"
        );
        let sources = [Operand::I64, Operand::I64];
        all.push(form(&name, sources, &copy, move |[a, b]| match bytes {
            4 => [a & 0xffff_ffff | 0xffff_ffff << 32, u64::MAX],
            8 => [a, u64::MAX],
            _ => [a, b],
        }));
    }
    // Four sources, so that each thread's 16 bytes are aligned.
    let four = |counts: Vec<u64>| {
        [
            Operand::I64,
            Operand::I64,
            Operand::Of(Class::B32, counts),
            Operand::Pred,
        ]
    };
    let name = "cp.async.cg.shared.global, src-size";
    let copy = "cp.async.cg.shared.global [%r15], [%from], 16, %c; cp.async.wait_all;";
    all.push(form(
        name,
        four((0..=16).collect()),
        copy,
        |[a, b, n, _]| {
            let source = u128::from(b) << 64 | u128::from(a);
            let kept = if n == 16 {
                source
            } else {
                source & ((1 << (8 * n)) - 1)
            };
            [kept as u64, (kept >> 64) as u64]
        },
    ));
    let ignoring = "cp.async.ca.shared.global, ignore-src";
    let ignoring_copy = "cp.async.ca.shared.global [%r15], [%from], 16, %e; cp.async.wait_all;";
    all.push(form(
        ignoring,
        four(vec![0]),
        ignoring_copy,
        |[a, b, _, ignored]| {
            if ignored == 1 { [0, 0] } else { [a, b] }
        },
    ));
    all
}

/// Instructions that change no value.
fn hints() -> [Form; 12] {
    let form = |line: &str| {
        let body = format!("cvta.global.u64 %d0, %from; {line}; add.u32 %x, %a, 1");
        Form::new(line, [Operand::I32], [Class::B32], body, |[a]| [a + 1])
    };
    [
        "prefetch.global.L1 [%from]",
        "prefetch.global.L2 [%from]",
        "prefetchu.L1 [%d0]",
        "fence.sc.sys",
        "fence.sc.gpu",
        "fence.acq_rel.cta",
        "fence.acq_rel.cluster",
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "nanosleep.u32 20",
        "cp.async.wait_all",
    ]
    .map(form)
}
