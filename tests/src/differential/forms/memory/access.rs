//! Widths, vectors, orders and cache operators of loads and stores.

use crate::differential::{Class, Form, Operand};

use super::place::{GENERIC_GLOBAL, GLOBAL, Place, SHARED};

/// The bits of `x` from bit `at` up, as many as `ty` has, extended by its sign to 64 bits.
pub(super) fn part(x: u64, at: u32, ty: &str) -> u64 {
    let shift = 64 - ty[1..].parse::<u32>().expect("a width");
    let x = x >> at << shift;
    match ty.starts_with('s') {
        true => (x as i64 >> shift) as u64,
        false => x >> shift,
    }
}

/// 64 bits stored; parts of them loaded into wider registers.
pub(super) fn extensions(place: Place) -> Vec<Form> {
    let Place {
        space,
        setup,
        address,
        ..
    } = place;
    let rows: [(Class, [(&str, u32); 4]); 4] = [
        (Class::B16, [("s8", 0), ("u8", 1), ("s16", 2), ("b8", 7)]),
        (Class::B32, [("s8", 3), ("u8", 7), ("s16", 6), ("u16", 4)]),
        (Class::B32, [("b32", 0), ("s32", 4), ("u32", 4), ("b8", 5)]),
        (Class::B64, [("s8", 7), ("s16", 2), ("s32", 4), ("u32", 4)]),
    ];
    let form = |(class, parts): (Class, [(&'static str, u32); 4])| {
        let load = |((ty, offset), to)| format!("ld{space}.{ty} {to}, [{address}+{offset}];");
        let loads: String = parts
            .into_iter()
            .zip(["%x", "%y", "%z", "%w"])
            .map(load)
            .collect();
        let body = format!("{setup} st{space}.b64 [{address}], %a; {loads}");
        let types = parts.map(|(ty, _)| format!(".{ty}")).concat();
        let name = format!("ld{space}{types} to {}, {}", class.name(), place.name);
        Form::new(
            "memory",
            name,
            [Operand::I64],
            [class; 4],
            body,
            move |[a]| parts.map(|(ty, offset)| part(a, 8 * offset, ty)),
        )
        .with_module(place.module)
    };
    rows.map(form).into()
}

/// Narrow stores into 64 bits.
pub(super) fn stores(place: Place) -> Vec<Form> {
    let Place {
        space,
        setup,
        address,
        ..
    } = place;
    let form = |(ty, offset, source): (&'static str, u32, Operand)| {
        let body = format!(
            "{setup} st{space}.b64 [{address}], %a; st{space}.{ty} [{address}+{offset}], %b; \
             ld{space}.b64 %x, [{address}]"
        );
        let name = format!(
            "st{space}.{ty} of {}, {}",
            source.class().name(),
            place.name
        );
        let bits = ty[1..].parse::<u32>().expect("a width");
        let mask = u64::MAX >> (64 - bits) << (8 * offset);
        Form::new(
            "memory",
            name,
            [Operand::I64, source],
            [Class::B64],
            body,
            move |[a, b]| [a & !mask | b << (8 * offset) & mask],
        )
        .with_module(place.module)
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
    .into()
}

/// Vectors stored, and loaded as such and one by one.
pub(super) fn vectors(place: Place) -> Vec<Form> {
    let Place {
        space,
        setup,
        address,
        ..
    } = place;
    let mut all = Vec::new();
    let types = [
        ("b8", Operand::I16),
        ("u16", Operand::I16),
        ("b32", Operand::I32),
        ("f32", Operand::F32),
        ("b64", Operand::I64),
        ("f64", Operand::F64),
    ];
    for (ty, operand) in types {
        let bits = ty[1..].parse::<u32>().expect("a width");
        let (bytes, class) = (bits / 8, operand.class());
        let mask = u64::MAX >> (64 - bits);
        let name = |n| format!("st{space}.v{n}.{ty} ld{space}.v{n}.{ty}, {}", place.name);
        // The second element, then the vector in reverse.
        let two = format!(
            "{setup} st{space}.v2.{ty} [{address}+16], {{%a, %b}}; ld{space}.{ty} %x, [{address}+{}]; \
             ld{space}.v2.{ty} {{%z, %y}}, [{address}+16]",
            16 + bytes
        );
        let sources = [operand.clone(), operand.clone()];
        all.push(
            Form::new(
                "memory",
                name(2),
                sources,
                [class; 3],
                two,
                move |[a, b]| [b & mask, b & mask, a & mask],
            )
            .with_module(place.module),
        );
        if bits == 64 {
            continue;
        }
        let four = format!(
            "{setup} st{space}.v4.{ty} [{address}], {{%a, %b, %c, %e}}; \
             ld{space}.v4.{ty} {{%w, %z, %y, %x}}, [{address}]; st{space}.{ty} [{address}+{bytes}], %a; \
             ld{space}.{ty} %x, [{address}+{bytes}]"
        );
        let sources = [(); 4].map(|_| operand.clone());
        all.push(
            Form::new(
                "memory",
                name(4),
                sources,
                [class; 4],
                four,
                move |[a, b, c, _]| [a, c, b, a].map(|x| x & mask),
            )
            .with_module(place.module),
        );
    }
    all
}

/// Orders, scopes, cache operators: one thread sees its own stores whatever they are.
pub(super) fn modifiers() -> Vec<Form> {
    let mut all = Vec::new();
    let pairs = [
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
    ];
    for (store, load) in pairs {
        let place = match store {
            _ if store.contains("shared") => SHARED,
            _ if store.contains("global") => GLOBAL,
            _ => GENERIC_GLOBAL,
        };
        let Place { setup, address, .. } = place;
        for ty in ["u32", "b64"] {
            let body = format!(
                "{setup} st{store}.{ty} [{address}+8], %a; ld{load}.{ty} %x, [{address}+8]"
            );
            let bits = ty[1..].parse().expect("a width");
            let operand = Operand::Int(bits);
            let class = operand.class();
            let name = format!("st{store}.{ty} ld{load}.{ty}");
            all.push(
                Form::new("memory", name, [operand], [class], body, |[a]| [a])
                    .with_module(place.module),
            );
        }
    }
    // Memory that the launch does not write.
    let sources = || [Operand::I64, Operand::I64];
    all.push(Form::new(
        "memory",
        "ld.global.nc.b64",
        sources(),
        [Class::B64; 2],
        "ld.global.nc.b64 %x, [%from]; ld.global.nc.b64 %y, [%from+8]",
        |ab| ab,
    ));
    all.push(Form::new(
        "memory",
        "ld.global.nc.v2.u64",
        sources(),
        [Class::B64; 2],
        "ld.global.nc.v2.u64 {%y, %x}, [%from]",
        |[a, b]| [b, a],
    ));
    all.push(Form::new(
        "memory",
        "ld.global.nc.u8",
        sources(),
        [Class::B32; 2],
        "ld.global.nc.u8 %x, [%from+3]; ld.global.nc.s16 %y, [%from+10]",
        |[a, b]| [part(a, 24, "u8"), part(b, 16, "s16")],
    ));
    all.push(Form::new(
        "memory",
        "ldu.global.b64",
        sources(),
        [Class::B64; 2],
        "ldu.global.b64 %x, [%from]; ldu.global.b64 %y, [%from+8]",
        |ab| ab,
    ));
    all
}
