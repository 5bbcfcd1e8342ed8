//! Declarations, parameter lists and initialisers.

use super::constant;
use super::cursor::{Cursor, Result};
use crate::error::Problem;
use crate::lex::Tok;
use crate::syntax::{Init, Literal, Name, Storage, Variable};
use crate::types::{ScalarType, Space};

/// Initialisers nest no deeper than the dimensions of an array.
const MAX_DEPTH: u32 = 16;

/// The part of a declaration before the names.
struct Head {
    storage: Storage,
    align: Option<u32>,
    ty: ScalarType,
    vector: u32,
    pointer: Option<(Option<Space>, Option<u32>)>,
    /// A texture, sampler or surface.
    is_opaque: bool,
    is_managed: bool,
}

/// `.space .align n .type a, b[4] = {..};`, from the space to the semicolon.
pub(super) fn declaration<'a>(
    c: &mut Cursor<'_, 'a>,
    is_extern: bool,
    mut push: impl FnMut(Variable<'a>),
) -> Result<()> {
    let head = head(c)?;
    loop {
        let mut variable = declarator(c, &head)?;
        variable.is_extern = is_extern;
        if c.eat('=') {
            if !matches!(head.storage, Storage::In(Space::Global | Space::Const)) {
                // PTX ISA, "Initializers".
                let message = format!(
                    "`{}` has an initial value: only .global and .const variables may have one; store it where the kernel begins",
                    variable.name.text
                );
                return Err(Problem::invalid(variable.name.pos, message));
            }
            if is_extern {
                let message = format!(
                    "`{}` is .extern and has an initial value: that belongs to its definition",
                    variable.name.text
                );
                return Err(Problem::invalid(variable.name.pos, message));
            }
            if head.is_opaque {
                c.skip_braces()?
            } else {
                variable.init = Some(init(c, 0)?)
            }
        }
        push(variable);
        if c.eat(';') {
            return Ok(());
        }
        if !c.eat(',') {
            return Err(c.expected("`,`, `=` or `;`"));
        }
    }
}

/// `( .param .u64 a, .reg .b32 b )`; nothing if the parenthesis is absent.
pub(super) fn parameters<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Variable<'a>>> {
    let mut params = Vec::new();
    if !c.eat('(') || c.eat(')') {
        return Ok(params);
    }
    loop {
        let Tok::Dot("param" | "reg") = c.tok() else {
            return Err(c.expected("`.param` or `.reg`"));
        };
        let head = head(c)?;
        params.push(declarator(c, &head)?);
        if c.eat(')') {
            return Ok(params);
        }
        if !c.eat(',') {
            return Err(c.expected("`,` or `)`"));
        }
    }
}

fn head(c: &mut Cursor<'_, '_>) -> Result<Head> {
    let pos = c.pos();
    let storage = match c.tok() {
        Tok::Dot("reg") => Storage::Reg,
        Tok::Dot(name) => Storage::In(space(name).ok_or_else(|| c.expected("a state space"))?),
        _ => return Err(c.expected("a state space")),
    };
    c.bump();
    let (mut align, mut ty, mut vector, mut pointer) = (None, None, 1, None);
    let mut is_opaque = false;
    let mut is_managed = false;
    loop {
        is_managed |= c.attributes()?;
        match c.tok() {
            Tok::Dot("align") => {
                c.bump();
                let value = Some(c.alignment()?);
                match &mut pointer {
                    Some((_, pointee_align)) => *pointee_align = value,
                    None => align = value,
                }
                continue;
            }
            Tok::Dot("ptr") => pointer = Some((None, None)),
            // Instructions on them are not modelled: their variables are only placed.
            Tok::Dot("texref" | "samplerref" | "surfref") if ty.is_none() => {
                (ty, is_opaque) = (Some(ScalarType::B64), true);
            }
            Tok::Dot("v2") => vector = 2,
            Tok::Dot("v4") => vector = 4,
            Tok::Dot("v8") => vector = 8,
            Tok::Dot(name) => match (ScalarType::from_name(name), space(name), &mut pointer) {
                (Some(found), _, _) if ty.is_none() => ty = Some(found),
                (_, Some(found), Some((pointee_space, _))) => *pointee_space = Some(found),
                _ => return Err(c.expected("a type")),
            },
            _ => break,
        }
        c.bump();
    }
    let ty = ty.ok_or_else(|| c.expected("a type"))?;
    if let Some(message) = no_such_variable(storage, vector, ty) {
        return Err(Problem::invalid(pos, message));
    }
    Ok(Head {
        storage,
        align,
        ty,
        vector,
        pointer,
        is_opaque,
        is_managed,
    })
}

/// Why PTX has no variable of this type there (PTX ISA, "Alternate Floating-Point Data Formats",
/// "Vectors"): no driver loads it.
fn no_such_variable(storage: Storage, vector: u32, ty: ScalarType) -> Option<String> {
    let is_memory = matches!(storage, Storage::In(_));
    match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => Some(format!(
            "PTX has no variables of type {ty}, only instructions: declare it .b{}",
            ty.bits()
        )),
        ScalarType::Pred if is_memory => {
            Some("PTX has no predicates in memory: .pred is for registers".to_string())
        }
        _ if vector == 1 => None,
        ScalarType::Pred => Some("PTX has no vectors of predicates".to_string()),
        _ if vector > 4 || vector * ty.bytes() > 16 => Some(format!(
            "PTX has no variables of type .v{vector} {ty}: at most 4 elements and 16 bytes"
        )),
        _ => None,
    }
}

fn declarator<'a>(c: &mut Cursor<'_, 'a>, head: &Head) -> Result<Variable<'a>> {
    let name = c.word("a name")?;
    let mut count = None;
    if c.eat('<') {
        count = Some(c.int("a number of registers")?);
        c.punct('>')?;
    }
    let mut dims = Vec::new();
    while c.eat('[') {
        dims.push(if c.is(']') {
            None
        } else {
            let pos = c.pos();
            let length = constant::expression(c, "an array length or `]`")?;
            let length = u64::try_from(length);
            Some(length.map_err(|_| Problem::invalid(pos, "an array length is below 0"))?)
        });
        c.punct(']')?;
    }
    Ok(Variable {
        name,
        storage: head.storage,
        is_extern: false,
        align: head.align,
        ty: head.ty,
        vector: head.vector,
        count,
        dims,
        init: None,
        pointer: head.pointer,
        is_managed: head.is_managed,
    })
}

fn init<'a>(c: &mut Cursor<'_, 'a>, depth: u32) -> Result<Init<'a>> {
    let pos = c.pos();
    if !c.eat('{') {
        return element(c);
    }
    if depth == MAX_DEPTH {
        let message = format!("initialiser nests deeper than {MAX_DEPTH}");
        return Err(Problem::invalid(pos, message));
    }
    let mut list = Vec::new();
    while !c.eat('}') {
        list.push(init(c, depth + 1)?);
        if !c.is('}') && !c.eat(',') {
            return Err(c.expected("`,` or `}`"));
        }
    }
    Ok(Init::List(list, pos))
}

/// A number, `symbol+addend`, `generic(symbol)+addend`, or `mask(symbol)`.
fn element<'a>(c: &mut Cursor<'_, 'a>) -> Result<Init<'a>> {
    let pos = c.pos();
    if let (Tok::Int(mask), Tok::Punct('(')) = (c.tok(), c.peek(1)) {
        c.bump();
        c.bump();
        let (name, generic) = symbol(c)?;
        let addend = addend(c)?;
        c.punct(')')?;
        return Ok(Init::Symbol {
            name,
            addend,
            generic,
            mask: Some(mask),
        });
    }
    if let Tok::Word(_) = c.tok() {
        let (name, generic) = symbol(c)?;
        return Ok(Init::Symbol {
            name,
            addend: addend(c)?,
            generic,
            mask: None,
        });
    }
    Ok(Init::Number(literal(c, "a number, a symbol or `{`")?, pos))
}

fn symbol<'a>(c: &mut Cursor<'_, 'a>) -> Result<(Name<'a>, bool)> {
    let name = c.word("a symbol")?;
    if name.text != "generic" || !c.eat('(') {
        return Ok((name, false));
    }
    let inner = c.word("a symbol")?;
    c.punct(')')?;
    Ok((inner, true))
}

/// `+n`, `-n`, `+-n`, any number of them, or nothing.
pub(super) fn addend(c: &mut Cursor<'_, '_>) -> Result<i64> {
    let mut sum = 0i64;
    loop {
        let negative = match c.tok() {
            Tok::Punct('+') => false,
            Tok::Punct('-') => true,
            _ => return Ok(sum),
        };
        c.bump();
        let value = constant::product(c, "a byte offset")?;
        sum = if negative {
            sum.wrapping_sub(value)
        } else {
            sum.wrapping_add(value)
        };
    }
}

/// A floating-point number with an optional sign, or a constant expression of integers.
pub(super) fn literal(c: &mut Cursor<'_, '_>, expected: &str) -> Result<Literal> {
    let negative = c.is('-');
    let number = c.peek(usize::from(negative));
    let literal = match number {
        Tok::Single(bits) => Literal::Single(bits ^ (u32::from(negative) << 31)),
        Tok::Double(bits) => Literal::Double(bits ^ (u64::from(negative) << 63)),
        _ => return Ok(Literal::Int(constant::expression(c, expected)? as u64)),
    };
    if negative {
        c.bump();
    }
    c.bump();
    Ok(literal)
}

/// The state space of that name; `.shared::cta` is `.shared`.
fn space(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" => Space::Param,
        _ => return None,
    })
}
