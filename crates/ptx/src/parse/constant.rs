//! Constant expressions (PTX ISA, "Constant Expressions"): 64-bit integers with C's operators.
//!
//! Arithmetic is that of `.s64`; a value keeps no type of its own, so `/`, `%`, `>>` and
//! comparisons of numbers beyond 2^63 differ from the assembler's.

use super::cursor::{Cursor, Result};
use crate::error::Problem;
use crate::lex::Tok;

/// Parentheses and signs nest no deeper.
const MAX_DEPTH: u32 = 64;

/// Binary operators, from those that bind least. Of two with the same beginning, the longer first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
/// The level of products.
const PRODUCTS: usize = LEVELS.len() - 1;

/// An expression. `expected` names it in messages.
pub(super) fn expression(c: &mut Cursor<'_, '_>, expected: &str) -> Result<i64> {
    conditional(c, expected, 0)
}

/// Products and quotients: what a `+` or `-` before may add to something else.
pub(super) fn product(c: &mut Cursor<'_, '_>, expected: &str) -> Result<i64> {
    binary(c, expected, PRODUCTS, 0)
}

fn conditional(c: &mut Cursor<'_, '_>, expected: &str, depth: u32) -> Result<i64> {
    let condition = binary(c, expected, 0, depth)?;
    if !c.eat('?') {
        return Ok(condition);
    }
    let yes = conditional(c, expected, deeper(c, depth)?)?;
    c.punct(':')?;
    let no = conditional(c, expected, deeper(c, depth)?)?;
    Ok(if condition != 0 { yes } else { no })
}

fn binary(c: &mut Cursor<'_, '_>, expected: &str, level: usize, depth: u32) -> Result<i64> {
    let Some(operators) = LEVELS.get(level) else {
        return unary(c, expected, depth);
    };
    let mut left = binary(c, expected, level + 1, depth)?;
    while let Some(operator) = operators.iter().find(|operator| stands_here(c, operator)) {
        let pos = c.pos();
        operator.chars().for_each(|_| {
            c.bump();
        });
        let right = binary(c, expected, level + 1, depth)?;
        left = apply(operator, left, right)
            .ok_or_else(|| Problem::invalid(pos, "a constant is divided by 0"))?;
    }
    Ok(left)
}

/// True if the operator is next, and not the first half of a longer one.
fn stands_here(c: &Cursor<'_, '_>, operator: &str) -> bool {
    // `%` begins the names of registers too: between spaces it is a word.
    if operator == "%" {
        return c.tok() == Tok::Word("%");
    }
    let mut characters = operator.chars().enumerate();
    if !characters.all(|(ahead, character)| c.peek(ahead) == Tok::Punct(character)) {
        return false;
    }
    let doubled = matches!(operator, "|" | "&" | "<" | ">");
    !(doubled && c.peek(1) == c.tok())
}

fn apply(operator: &str, a: i64, b: i64) -> Option<i64> {
    let shift = u32::try_from(b).ok().filter(|&n| n < 64);
    Some(match operator {
        "||" => i64::from(a != 0 || b != 0),
        "&&" => i64::from(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "<<" => shift.map_or(0, |n| a << n),
        ">>" => a >> shift.unwrap_or(63),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if b != 0 => a.wrapping_div(b),
        "%" if b != 0 => a.wrapping_rem(b),
        _ => return None,
    })
}

fn unary(c: &mut Cursor<'_, '_>, expected: &str, depth: u32) -> Result<i64> {
    let inner = deeper(c, depth)?;
    match c.tok() {
        Tok::Punct(sign @ ('-' | '+' | '~' | '!')) => {
            c.bump();
            let value = unary(c, expected, inner)?;
            Ok(match sign {
                '-' => value.wrapping_neg(),
                '~' => !value,
                '!' => i64::from(value == 0),
                _ => value,
            })
        }
        Tok::Punct('(') => {
            c.bump();
            if let Tok::Dot("s64" | "u64") = c.tok() {
                c.bump();
                c.punct(')')?;
                return unary(c, expected, inner);
            }
            let value = conditional(c, expected, inner)?;
            c.punct(')')?;
            Ok(value)
        }
        Tok::Int(value) => {
            c.bump();
            Ok(value as i64)
        }
        Tok::Word("WARP_SZ") => {
            c.bump();
            Ok(32)
        }
        _ => Err(c.expected(expected)),
    }
}

fn deeper(c: &Cursor<'_, '_>, depth: u32) -> Result<u32> {
    if depth == MAX_DEPTH {
        let message = format!("a constant expression nests deeper than {MAX_DEPTH}");
        return Err(Problem::invalid(c.pos(), message));
    }
    Ok(depth + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::lex;

    fn value(text: &str) -> i64 {
        let tokens = lex(text).unwrap();
        let mut c = Cursor::new(text, &tokens);
        let value = expression(&mut c, "a number").unwrap();
        assert_eq!(c.tok(), Tok::End, "{text}");
        value
    }

    #[test]
    fn operators_bind_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("-8 / 2 - 1", -5),
            ("17 % 5", 2),
            ("1 << 4 | 3", 19),
            ("6 & 3 ^ 1", 3),
            ("~0 == -1", 1),
            ("!3 || 0", 0),
            ("2 > 1 && 1 >= 2", 0),
            ("1 < 2 ? 4 : 5", 4),
            ("(.s64) 0xFFFFFFFFFFFFFFFF >> 1", -1),
            ("WARP_SZ - 1", 31),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_an_error() {
        for (text, message) in [
            ("1 / 0", "a constant is divided by 0"),
            ("1 +", "expected a number, found the end of the text"),
            ("(1", "expected `)`, found the end of the text"),
        ] {
            let tokens = lex(text).unwrap();
            let problem = expression(&mut Cursor::new(text, &tokens), "a number").unwrap_err();
            assert_eq!(problem.into_error(text).kind.to_string(), message);
        }
        let deep = "(".repeat(100_000);
        let tokens = lex(&deep).unwrap();
        assert!(expression(&mut Cursor::new(&deep, &tokens), "a number").is_err());
    }
}
