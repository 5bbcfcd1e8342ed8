//! Writes random functions, the same for host and device: `RANDOM_FUNCTIONS` of them (200), of the
//! seed `RANDOM_SEED` (1).
//!
//! A function takes two numbers of 64 bits, and gives one that depends on all its variables. Its
//! statements are assignments to variables of all types, branches and loops. Every second function
//! calls the library too. No operation panics or depends on the bits of NaN.

mod library;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

fn main() {
    let number = |name: &str, default: u64| {
        println!("cargo::rerun-if-env-changed={name}");
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let (count, seed) = (number("RANDOM_FUNCTIONS", 200), number("RANDOM_SEED", 1));
    let mut source = String::new();
    let mut alike: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for function in 0..count {
        let mut writer = Writer {
            random: Random(seed.wrapping_mul(0x1_0000_0001).wrapping_add(function)),
            source: String::new(),
            depth: 1,
            calls_library: function % 2 == 1,
            large: Large::default(),
        };
        writer.function(function);
        source += &writer.source;
        alike.entry(writer.large).or_default().push(function);
    }
    let kernels: Vec<&[u64]> = alike
        .values()
        .flat_map(|functions| functions.chunks(per_kernel(count)))
        .collect();
    let mut on_host = String::new();
    for (kernel_number, functions) in kernels.iter().enumerate() {
        source += &kernel(kernel_number, functions);
        writeln!(on_host, "    (&{functions:?}, of_{kernel_number}),").unwrap();
    }
    writeln!(
        source,
        "/// By number of the kernel: its functions, and what calls one of them on the host.
pub static ON_HOST: &[(&[u64], fn(u64, u64, u64) -> u64)] = &[\n{on_host}];"
    )
    .unwrap();
    println!("cargo::rerun-if-changed=build");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("random.rs"), source).expect("cargo's folder");
}

/// How many functions one kernel calls. It is a module of its own, whose PTX has some 600 KB: a
/// GPU's driver takes minutes for 10 MB. What goes beyond the default `count` is for the emulated
/// device, and few modules are compiled faster, since each has its own copy of the library.
fn per_kernel(count: u64) -> usize {
    (count / 10).max(20) as usize
}

/// A kernel of these functions, and the function that calls one of them.
fn kernel(number: usize, functions: &[u64]) -> String {
    let arms: String = functions
        .iter()
        .map(|function| format!("        {function} => f{function}(a, b),\n"))
        .collect();
    format!(
        "#[kernel]
pub unsafe fn random_{number}(function: u64, a: &[u64], b: &[u64], out: *mut u64) {{
    let i = thread::index_1d() as usize;
    if i < a.len() {{
        unsafe {{ *out.add(i) = of_{number}(function, a[i], b[i]) }};
    }}
}}

fn of_{number}(function: u64, a: u64, b: u64) -> u64 {{
    match function {{\n{arms}        _ => 0,
    }}
}}

"
    )
}

/// Large parts of the library. A module has a copy of each that its functions call, so functions
/// that call the same parts share modules.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Large {
    /// Text of floats, and floats of text.
    floats: bool,
    /// `Debug`, and text of characters.
    debug: bool,
}

/// Numbers of a fixed seed (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators").
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len() as u64) as usize]
    }
}

const INTEGERS: [&str; 10] = [
    "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128",
];
/// LLVM's NVPTX back end cannot convert between these and floats: it ends with "unsupported library
/// call operation".
const WIDE: [&str; 2] = ["u128", "i128"];
const FLOATS: [&str; 2] = ["f32", "f64"];

struct Writer {
    random: Random,
    source: String,
    depth: usize,
    calls_library: bool,
    large: Large,
}

impl Writer {
    fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        writeln!(self.source, "{indent}{text}").unwrap();
    }

    fn function(&mut self, number: u64) {
        writeln!(self.source, "#[inline(never)]").unwrap();
        writeln!(self.source, "pub fn f{number}(a: u64, b: u64) -> u64 {{").unwrap();
        for (i, ty) in INTEGERS.iter().enumerate() {
            let from = ["a", "b", "a ^ b", "a.wrapping_add(b)"][i % 4];
            self.line(&format!("let mut v_{ty} = ({from}) as {ty};"));
        }
        self.line("let mut v_f32 = (a as i32) as f32 / 65536.0;");
        self.line("let mut v_f64 = (b as i64) as f64 / 4294967296.0;");
        self.line("let mut array = [a as u32, b as u32, (a >> 32) as u32, (b >> 32) as u32];");
        self.line("let mut pair = (a as i16, b as f32);");
        if self.calls_library {
            self.library_variables();
        }
        for _ in 0..3 + self.random.below(5) {
            self.statement();
        }
        self.line("let mut hash = Hash(14695981039346656037);");
        for ty in INTEGERS {
            self.line(&format!("hash.add(v_{ty} as u128);"));
        }
        self.line("hash.add(u128::from(bits_f32(v_f32)));");
        self.line("hash.add(u128::from(bits_f64(v_f64)));");
        self.line("array.iter().for_each(|&word| hash.add(u128::from(word)));");
        self.line("hash.add(pair.0 as u128);");
        self.line("hash.add(u128::from(bits_f32(pair.1)));");
        if self.calls_library {
            self.library_hash();
        }
        self.line("hash.0");
        self.source += "}\n\n";
    }

    fn statement(&mut self) {
        if self.calls_library && self.random.below(2) == 0 {
            return self.library_statement();
        }
        let may_nest = self.depth < 3;
        match self.random.below(if may_nest { 12 } else { 8 }) {
            0..=4 => {
                let ty = self.random.of(&INTEGERS);
                let value = self.integer(ty, 2);
                self.line(&format!("v_{ty} = {value};"));
            }
            5 | 6 => {
                let ty = self.random.of(&FLOATS);
                let value = self.float(ty, 2);
                self.line(&format!("v_{ty} = {value};"));
            }
            7 => {
                let index = self.integer("u32", 2);
                let value = self.integer("u32", 2);
                self.line(&format!("array[({index}) as usize % 4] = {value};"));
                let first = self.integer("i16", 2);
                self.line(&format!("pair = ({first}, v_f32);"));
            }
            8 | 9 => {
                let condition = self.condition();
                self.line(&format!("if {condition} {{"));
                self.block();
                self.line("} else {");
                self.block();
                self.line("}");
            }
            10 => {
                let count = self.integer("u32", 1);
                self.line(&format!("for i in 0..({count}) % 7 {{"));
                self.depth += 1;
                self.line("v_u32 = v_u32.wrapping_add(i);");
                self.depth -= 1;
                self.block();
                self.line("}");
            }
            _ => {
                let value = self.integer("u8", 2);
                self.line(&format!("match ({value}) % 5 {{"));
                for arm in ["0", "1 | 3", "_"] {
                    self.line(&format!("    {arm} => {{"));
                    self.depth += 1;
                    self.block();
                    self.depth -= 1;
                    self.line("    }");
                }
                self.line("}");
            }
        }
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.random.below(3) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn condition(&mut self) -> String {
        let comparison = self.random.of(&["<", "<=", "==", "!=", ">", ">="]);
        if self.random.below(3) == 0 {
            let ty = self.random.of(&FLOATS);
            let (a, b) = (self.float(ty, 2), self.float(ty, 2));
            return format!("({a}) {comparison} ({b})");
        }
        let ty = self.random.of(&INTEGERS);
        let (a, b) = (self.integer(ty, 2), self.integer(ty, 2));
        format!("({a}) {comparison} ({b})")
    }

    /// An expression of an integer type.
    fn integer(&mut self, ty: &str, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(4) {
                0 => format!("({}i64 as {ty})", self.random.next() as i64),
                _ => format!("v_{ty}"),
            };
        }
        let a = self.integer(ty, depth - 1);
        match self.random.below(14) {
            0..=3 => {
                let b = self.integer(ty, depth - 1);
                let name = self.random.of(&["add", "sub", "mul", "add", "sub"]);
                format!("({a}).wrapping_{name}({b})")
            }
            4 => {
                let b = self.integer(ty, depth - 1);
                let name = self.random.of(&["wrapping_div", "wrapping_rem"]);
                format!("({a}).{name}(({b}) | 1)")
            }
            5 => {
                let b = self.integer(ty, depth - 1);
                let operator = self.random.of(&["&", "|", "^"]);
                format!("(({a}) {operator} ({b}))")
            }
            6 => {
                let b = self.integer("u32", depth - 1);
                let name = self.random.of(&[
                    "wrapping_shl",
                    "wrapping_shr",
                    "rotate_left",
                    "rotate_right",
                ]);
                format!("({a}).{name}(({b}) % 131)")
            }
            7 => {
                let name = self.random.of(&["swap_bytes", "reverse_bits"]);
                format!("({a}).{name}()")
            }
            8 => {
                let name = self
                    .random
                    .of(&["leading_zeros", "trailing_zeros", "count_ones"]);
                format!("(({a}).{name}() as {ty})")
            }
            9 => {
                let b = self.integer(ty, depth - 1);
                let name = self.random.of(&[
                    "saturating_add",
                    "saturating_sub",
                    "saturating_mul",
                    "min",
                    "max",
                ]);
                format!("({a}).{name}({b})")
            }
            10 => {
                let b = self.integer(ty, depth - 1);
                let name = self.random.of(&["add", "sub", "mul"]);
                format!("({a}).checked_{name}({b}).unwrap_or(v_{ty})")
            }
            11 => {
                let other = self.random.of(&INTEGERS);
                let b = self.integer(other, depth - 1);
                format!("(({b}) as {ty})")
            }
            12 if !WIDE.contains(&ty) => {
                let other = self.random.of(&FLOATS);
                let b = self.float(other, depth - 1);
                format!("(({b}) as {ty})")
            }
            _ => {
                let index = self.integer("u32", depth - 1);
                format!("(array[({index}) as usize % 4] as {ty})")
            }
        }
    }

    /// An expression of a type of floats.
    fn float(&mut self, ty: &str, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(4) {
                0 => format!(
                    "{}.{}{ty}",
                    self.random.below(1000),
                    self.random.below(1000)
                ),
                _ => format!("v_{ty}"),
            };
        }
        let a = self.float(ty, depth - 1);
        match self.random.below(12) {
            0..=4 => {
                let b = self.float(ty, depth - 1);
                let operator = self.random.of(&["+", "-", "*", "/", "%"]);
                format!("(({a}) {operator} ({b}))")
            }
            5 => {
                let (b, c) = (self.float(ty, depth - 1), self.float(ty, depth - 1));
                format!("GpuFloat::mul_add({a}, {b}, {c})")
            }
            6 | 7 => {
                let name = self.random.of(&["sqrt", "floor", "ceil", "trunc", "round"]);
                format!("GpuFloat::{name}({a})")
            }
            8 => {
                let b = self.float(ty, depth - 1);
                let name = self.random.of(&["min", "max"]);
                // Of 0 and -0, either may come out.
                format!("{ty}::{name}({a}, ({b}) + 0.5)")
            }
            9 => format!("(-({a}))"),
            10 => {
                let other = self.random.of(&FLOATS);
                let b = self.float(other, depth - 1);
                format!("(({b}) as {ty})")
            }
            _ => {
                let other = self.random.of(&INTEGERS[..8]);
                let b = self.integer(other, depth - 1);
                format!("(({b}) as {ty})")
            }
        }
    }
}
