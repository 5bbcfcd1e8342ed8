//! Statements that call the library: slices, sorts, iterators, text, and pointers that move.
//!
//! The host's `core` and that of kernels may be of two versions. So nothing depends on what the
//! documentation leaves open, such as the order of what a selection leaves beside its element.

use crate::Writer;

/// Keys of sorts: functions that keep different numbers different, so that the order is whole.
const KEYS: [&str; 3] = ["rotated", "multiplied", "flipped"];

/// Texts to parse: numbers, those that are too large, and what is none.
const TEXTS: &str = r#"["12", "-7", "+3", "x", "99999999999", "", "1e3", "-0.125", "255", "3.4028235e38", "0x1f", "7f"]"#;

impl Writer {
    /// The variables of functions that call the library.
    pub fn library_variables(&mut self) {
        self.line("let (mut longs, mut words, mut bytes, mut floats) = arrays(a, b);");
        self.line("let mut text = Text::new();");
    }

    /// Adds these variables to the hash.
    pub fn library_hash(&mut self) {
        self.line("hash.0 = hash_arrays(hash.0, &(longs, words, bytes, floats), &text);");
    }

    /// A statement that calls the library.
    pub fn library_statement(&mut self) {
        match self.random.below(16) {
            0 | 1 => self.sort(),
            2 => self.search(),
            3 => self.parts(),
            4 | 5 => self.iterators(),
            6 => self.format(),
            7 => self.parse(),
            8 => self.character(),
            9 => {
                let (index, value) = (self.integer("u32", 1), self.integer("i16", 1));
                self.line(&format!(
                    "floats[({index}) as usize % 24] = ({value}) as f32;"
                ));
                let byte = self.integer("i8", 2);
                self.line(&format!("bytes[({index}) as usize % 24] = {byte};"));
            }
            10 => self.merge(),
            _ => self.pointers(),
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    /// An index below `n`.
    fn index(&mut self, n: u64) -> String {
        let index = self.integer("u32", 1);
        format!("({index}) as usize % {n}")
    }

    fn sort(&mut self) {
        let start = self.below(6);
        let case = self.below(8);
        let mut call = |name: &str, array: &str| {
            self.line(&format!("{name}(&mut {array}[{start}..]);"));
        };
        match case {
            0 | 1 => call("sort", "longs"),
            2 => call("sort_down", "longs"),
            3 => {
                let key = self.random.of(&KEYS);
                self.line(&format!("sort_by_key(&mut longs[{start}..], {key});"));
            }
            4 => call("sort", "bytes"),
            5 => call("sort_floats", "floats"),
            6 => {
                self.line("words.sort_unstable_by(|x, y| y.rotate_left(9).cmp(&x.rotate_left(9)));")
            }
            _ => {
                let index = self.index(24);
                self.line(&format!("v_u64 ^= select(&mut longs, {index});"));
                self.line("sort(&mut longs);");
            }
        }
    }

    fn search(&mut self) {
        match self.below(4) {
            0 => {
                let index = self.index(24);
                self.line("sort(&mut longs);");
                self.line(&format!(
                    "let key = longs[{index}].wrapping_add(v_u64 & 1);"
                ));
                self.line("v_u32 ^= longs.binary_search(&key).is_ok() as u32;");
                self.line(
                    "v_u32 = v_u32.wrapping_add(longs.partition_point(|&x| x < key) as u32);",
                );
            }
            1 => {
                let value = self.integer("i8", 1);
                self.line("sort(&mut bytes);");
                self.line(&format!("let key = {value};"));
                self.line("v_i8 = v_i8.wrapping_add(bytes.binary_search_by(|x| x.cmp(&key)).is_ok() as i8);");
            }
            2 => {
                let count = self.index(25);
                let name = self.random.of(&["rotate_left", "rotate_right"]);
                self.line(&format!("longs.{name}({count});"));
                let below = self.index(13);
                self.line(&format!("words.{name}({below});"));
            }
            _ => {
                let value = self.integer("u32", 1);
                self.line(&format!("v_u32 ^= words.contains(&({value})) as u32;"));
                self.line("v_u16 ^= words.starts_with(&[v_u32]) as u16 + (words[1..] > words[..11]) as u16;");
                self.line("words.swap(v_u8 as usize % 12, v_u16 as usize % 12);");
            }
        }
    }

    fn parts(&mut self) {
        let size = self.index(5);
        match self.below(5) {
            0 => {
                let name = self
                    .random
                    .of(&["chunks", "rchunks", "chunks_exact", "windows"]);
                self.line(&format!("for part in words.{name}(1 + {size}) {{"));
                self.line("    v_u32 = part.iter().fold(v_u32.rotate_left(3), |x, &y| x.wrapping_add(y));");
                self.line("}");
            }
            1 => {
                let name = self
                    .random
                    .of(&["chunks_mut", "rchunks_mut", "chunks_exact_mut"]);
                self.line(&format!(
                    "longs.{name}(1 + {size}).for_each(|part| part.reverse());"
                ));
            }
            2 => {
                let middle = self.index(25);
                self.line(&format!(
                    "let (left, right) = longs.split_at_mut({middle});"
                ));
                self.line("for (x, y) in left.iter_mut().zip(right.iter_mut().rev()) { core::mem::swap(x, y); }");
            }
            3 => {
                let (from, to) = (self.index(12), self.index(13));
                self.line(&format!("let (from, to) = ({from}, {to});"));
                self.line("words.copy_within(from.min(to)..to, 0);");
                self.line("if let Some(part) = words.get_mut(from..to) { part.fill(v_u32); }");
            }
            _ => {
                self.line("for part in bytes.split(|byte| byte % 3 == 0) {");
                self.line("    v_i8 = v_i8.wrapping_mul(3).wrapping_add(part.len() as i8);");
                self.line("}");
            }
        }
    }

    fn iterators(&mut self) {
        let mut chain = String::from("words.iter().copied()");
        for _ in 0..1 + self.below(4) {
            let n = self.below(6);
            let value = self.integer("u32", 1);
            chain += &match self.below(14) {
                0 => ".rev()".to_owned(),
                1 => format!(".skip({n})"),
                2 => format!(".take({})", n + 3),
                3 => format!(".step_by({})", n % 3 + 1),
                4 => format!(".filter(|x| x % 7 != {n})"),
                5 => format!(".map(|x| x.wrapping_mul(3) ^ ({value}))"),
                6 => ".zip(longs).map(|(x, y)| x ^ y as u32)".to_owned(),
                7 => ".enumerate().map(|(i, x)| x.rotate_left(i as u32))".to_owned(),
                8 => format!(".chain([({value})])"),
                9 => format!(".skip_while(|x| x % 5 == {})", n % 5),
                10 => format!(".take_while(|x| x % 11 != {n})"),
                11 => ".scan(1u32, |sum, x| { *sum = sum.wrapping_add(x); Some(*sum) })".to_owned(),
                12 => ".filter_map(|x| x.checked_sub(3))".to_owned(),
                _ => ".flat_map(|x| [x, x >> 7])".to_owned(),
            };
        }
        let chain = reversible(&chain);
        let end = self.random.of(&[
            "fold(7u32, |x, y| x.rotate_left(5) ^ y)",
            "max().unwrap_or(1)",
            "min().unwrap_or(2)",
            "position(|x| x % 4 == 1).map_or(99, |i| i as u32)",
            "count() as u32",
            "last().unwrap_or(3)",
            "nth(2).unwrap_or(4)",
            "any(|x| x % 9 == 2) as u32",
            "all(|x| x % 9 != 2) as u32",
            "reduce(|x, y| x.wrapping_mul(31).wrapping_add(y)).unwrap_or(5)",
            "min_by_key(|x| x.rotate_left(13)).unwrap_or(6)",
        ]);
        self.line(&format!("v_u32 = v_u32.wrapping_add({chain}.{end});"));
    }

    fn format(&mut self) {
        let ty = self.random.of(&crate::INTEGERS);
        let value = self.integer(ty, 1);
        let form = self.random.of(&[
            "{}", "{:?}", "{:>7}", "{:<5}|", "{:^9}", "{:+}", "{:08}", "{:x}", "{:#X}", "{:#b}",
            "{:o}", "{:#010x}",
        ]);
        match self.below(6) {
            0..=2 => self.line(&format!("let _ = write!(text, \"{form}\", {value});")),
            3 => {
                self.large.floats = true;
                let float = self.random.of(&crate::FLOATS);
                let number = self.float(float, 1);
                let shape = self.random.of(&["{}", "{:.3}", "{:e}", "{:?}", "{:+.1}"]);
                self.line(&format!("let _ = write!(text, \"{shape}\", {number});"));
            }
            case => {
                self.large.debug = true;
                self.line(match case {
                    4 => "let _ = write!(text, \"{:?}\", (pair.0, &words[..2], Some(v_i8), v_u8 > 9));",
                    _ => "let _ = write!(text, \"{:>4}{:?}\", [\"a\", \"bc\", \"d\\n\"][v_u8 as usize % 3], v_i8.checked_abs());",
                });
            }
        }
    }

    fn parse(&mut self) {
        match self.below(4) {
            0 => {
                let ty = self.random.of(&crate::INTEGERS);
                let value = self.integer(ty, 1);
                self.line("text.clear();");
                self.line(&format!("let _ = write!(text, \"{{}}\", {value});"));
                let other = self.random.of(&crate::INTEGERS);
                self.line(&format!(
                    "v_{other} = text.as_str().parse::<{other}>().unwrap_or(v_{other}.wrapping_add(1));"
                ));
            }
            1 => {
                let ty = self.random.of(&crate::INTEGERS);
                let index = self.index(12);
                self.line(&format!(
                    "v_{ty} = {TEXTS}[{index}].parse::<{ty}>().unwrap_or(!v_{ty});"
                ));
            }
            2 => {
                self.large.floats = true;
                let ty = self.random.of(&crate::FLOATS);
                let index = self.index(12);
                self.line(&format!(
                    "v_{ty} = {TEXTS}[{index}].parse::<{ty}>().unwrap_or(0.5);"
                ));
            }
            _ => {
                let (index, radix) = (self.index(12), self.below(35) + 2);
                self.line(&format!(
                    "v_i32 = i32::from_str_radix({TEXTS}[{index}], {radix}).unwrap_or_else(|e| (*e.kind() == core::num::IntErrorKind::Empty) as i32);"
                ));
            }
        }
    }

    fn character(&mut self) {
        let value = self.integer("u32", 1);
        self.line(&format!(
            "let c = char::from_u32(({value}) % 0x250).unwrap_or('x');"
        ));
        match self.below(5) {
            0 => {
                self.large.debug = true;
                self.line("let _ = write!(text, \"{c}{:?}{}\", c, c.to_ascii_uppercase());");
            }
            1 => self.line("v_u8 ^= c.is_alphabetic() as u8 + 2 * c.is_numeric() as u8 + 4 * c.is_uppercase() as u8;"),
            2 => self.line("v_u32 ^= c.to_digit(36).unwrap_or(40) + c.len_utf8() as u32;"),
            3 => self.line("c.to_lowercase().chain(c.to_uppercase()).for_each(|c| v_u32 = v_u32.wrapping_mul(31) ^ c as u32);"),
            _ => {
                self.line("let mut place = [0; 4];");
                self.line("let _ = write!(text, \"{}\", c.encode_utf8(&mut place));");
                self.line("v_u32 ^= text.as_str().chars().rev().step_by(2).fold(7u32, |x, c| x.rotate_left(5) ^ c as u32);");
                self.line("v_u16 ^= text.as_str().char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(i, _)| i as u16).fold(0, |x, y| x ^ y);");
            }
        }
    }

    /// Two sorted halves to one, without branches: each pointer moves by a bool.
    fn merge(&mut self) {
        let comparison = self.random.of(&["<", "<=", ">", ">="]);
        // A loop of constant length is unrolled.
        let steps = match self.below(6) {
            0 | 1 => "v_u8 % 13".to_owned(),
            constant => constant.to_string(),
        };
        for line in [
            "unsafe {".to_owned(),
            "    let (mut left, mut right) = (longs.as_ptr(), longs.as_ptr().add(12));".to_owned(),
            "    let (mut low, mut high) = (longs.as_ptr().add(11), longs.as_ptr().add(23));"
                .to_owned(),
            format!("    for _ in 0..{steps} {{"),
            format!("        let c = *left {comparison} *right;"),
            "        v_u64 = v_u64.rotate_left(7) ^ if c { *left } else { *right };".to_owned(),
            "        left = left.add(c as usize);".to_owned(),
            "        right = right.add(!c as usize);".to_owned(),
            format!("        let c = *low {comparison} *high;"),
            "        v_i64 = v_i64.rotate_left(9) ^ if c { *low } else { *high } as i64;"
                .to_owned(),
            "        low = low.sub(!c as usize);".to_owned(),
            "        high = high.sub(c as usize);".to_owned(),
            "    }".to_owned(),
            "}".to_owned(),
        ] {
            self.line(&line);
        }
    }

    /// Two elements of a table at indices that are related, and narrow.
    fn pointers(&mut self) {
        let element = self.random.of(&["U8", "U16", "U32", "U64", "THREE"]);
        let load = |at: &str| match element {
            "THREE" => format!("u64::from((*table.{at})[2])"),
            _ => format!("(*table.{at}) as u64"),
        };
        let (first, second) = match self.random.below(6) {
            0 | 1 => {
                let condition = self.condition();
                self.line(&format!("let (c, d) = ({condition}, v_i8 < v_i16 as i8);"));
                let other = self.random.of(&["!c", "!c", "d", "(c ^ d)"]);
                let names = ["add", "sub"];
                let (name, other_name) = (self.random.of(&names), self.random.of(&names));
                (
                    format!("{name}(c as usize)"),
                    format!("{other_name}({other} as usize)"),
                )
            }
            2 | 3 => {
                let value = self.integer("i8", 1);
                let change = self.random.of(&[
                    "i.wrapping_add(3)",
                    "i.wrapping_sub(100)",
                    "i.wrapping_mul(3)",
                    "i.wrapping_neg()",
                    "i ^ -128",
                    "i.wrapping_add(v_i8)",
                    "v_i8",
                    "!i",
                ]);
                self.line(&format!("let i = {value};"));
                self.line(&format!("let j = {change};"));
                self.line("v_i8 = v_i8.wrapping_mul(5).wrapping_add(j.wrapping_sub(i));");
                (
                    "offset(i as isize)".to_owned(),
                    "offset(j as isize)".to_owned(),
                )
            }
            4 => {
                let value = self.integer("i16", 1);
                let add = self.random.below(60_000);
                self.line(&format!("let i = ({value}) % 64;"));
                self.line(&format!(
                    "let j = i.wrapping_add({add}u16 as i16).wrapping_add(i) >> 8;"
                ));
                (
                    "offset(i as isize)".to_owned(),
                    "offset(j as isize)".to_owned(),
                )
            }
            _ => {
                let value = self.integer("u8", 1);
                let change = self
                    .random
                    .of(&["i.wrapping_add(200)", "i.wrapping_mul(5)", "!i"]);
                self.line(&format!("let i = {value};"));
                self.line(&format!("let j = {change};"));
                (
                    "add(i as usize).sub(128)".to_owned(),
                    "add(j as usize).sub(128)".to_owned(),
                )
            }
        };
        let (at, other) = (self.random.below(16), self.random.below(16));
        let (first, second) = (
            load(&format!("add({at}).{first}")),
            load(&format!("add({other}).{second}")),
        );
        self.line(&format!(
            "let table = {element}.as_ptr().wrapping_add(256);"
        ));
        self.line(&format!(
            "let (first, second) = unsafe {{ ({first}, {second}) }};"
        ));
        self.line("v_u64 = v_u64.rotate_left(11) ^ first.wrapping_mul(3) ^ second;");
    }
}

/// The chain, which is reversed only where its length is known.
fn reversible(chain: &str) -> String {
    const FORWARD_ONLY: [&str; 6] = [
        ".filter",
        ".chain",
        ".skip_while",
        ".take_while",
        ".scan",
        ".flat_map",
    ];
    let starts = FORWARD_ONLY.iter().filter_map(|name| chain.find(name));
    let first = starts.min();
    match first {
        Some(at) => chain[..at].to_owned() + &chain[at..].replace(".rev()", ""),
        None => chain.to_owned(),
    }
}
