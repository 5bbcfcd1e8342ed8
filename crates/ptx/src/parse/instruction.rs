//! Instructions: guard, opcode, modifiers, operands.

use super::constant;
use super::cursor::{Cursor, Result};
use super::variable::{addend, literal};
use crate::lex::Tok;
use crate::syntax::{AddressBase, Inst, Operand, OperandKind, Operands};

/// One instruction, to its semicolon.
pub(super) fn instruction<'a>(c: &mut Cursor<'_, 'a>) -> Result<Inst<'a>> {
    let mut guard = None;
    if c.eat('@') {
        let negated = c.eat('!');
        guard = Some((c.word("a predicate")?, negated));
    }
    let start = c.token().start;
    let opcode = c.word("an instruction")?;
    let mut modifiers = Vec::new();
    while let Tok::Dot(name) = c.tok() {
        modifiers.push(name);
        c.bump();
    }
    // The operands of `call` alone have a syntax of their own. The parser knows no other opcode.
    let operands = match if opcode.text == "call" {
        call(c)
    } else {
        list(c)
    } {
        Ok(operands) if c.is(';') => operands,
        result => {
            let error = result.err().unwrap_or_else(|| c.expected("`,` or `;`"));
            // Instructions that are not modelled have operands of any syntax: keep the text, and
            // decide later.
            let mut depth = 0usize;
            while !(depth == 0 && c.is(';')) {
                match c.tok() {
                    Tok::Punct('{') => depth += 1,
                    Tok::Punct('}') if depth > 0 => depth -= 1,
                    Tok::Punct('}') | Tok::End => return Err(error),
                    _ => {}
                }
                c.bump();
            }
            Operands::Malformed(error)
        }
    };
    let text = c.text(start, c.previous_end());
    c.punct(';')?;
    Ok(Inst {
        guard,
        opcode,
        modifiers,
        operands,
        used_bytes: None,
        text,
    })
}

fn list<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operands<'a>> {
    let mut operands = Vec::new();
    if !c.is(';') {
        operands = comma_separated(c)?;
    }
    Ok(Operands::List(operands))
}

fn comma_separated<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Operand<'a>>> {
    let mut operands = vec![operand(c)?];
    while c.eat(',') {
        operands.push(operand(c)?);
    }
    Ok(operands)
}

/// `(returns), callee, (args), table`.
fn call<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operands<'a>> {
    let mut returns = Vec::new();
    if c.is('(') {
        returns = parenthesised(c)?;
        c.punct(',')?;
    }
    let callee = operand(c)?;
    let (mut args, mut table) = (Vec::new(), None);
    if c.eat(',') {
        if c.is('(') {
            args = parenthesised(c)?;
            if c.eat(',') {
                table = Some(c.word("a prototype")?);
            }
        } else {
            table = Some(c.word("`(` or a prototype")?);
        }
    }
    Ok(Operands::Call {
        returns,
        callee,
        args,
        table,
    })
}

fn parenthesised<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Operand<'a>>> {
    c.punct('(')?;
    if c.eat(')') {
        return Ok(Vec::new());
    }
    let operands = comma_separated(c)?;
    if !c.eat(')') {
        return Err(c.expected("`,` or `)`"));
    }
    Ok(operands)
}

fn operand<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operand<'a>> {
    let pos = c.pos();
    let kind = match c.tok() {
        Tok::Punct('{') => {
            c.bump();
            let vector = elements(c)?;
            if c.eat('|') {
                OperandKind::Resident(vector, c.word("a predicate")?.text)
            } else {
                OperandKind::Vector(vector)
            }
        }
        Tok::Punct('[') => {
            c.bump();
            let address = match c.tok() {
                Tok::Word(name) => {
                    c.bump();
                    if c.eat(',') {
                        OperandKind::Image(name, coordinates(c)?)
                    } else {
                        OperandKind::Address(AddressBase::Name(name), addend(c)?)
                    }
                }
                _ => OperandKind::Address(
                    AddressBase::Absolute,
                    constant::expression(c, "a register, a symbol or an address")?,
                ),
            };
            if !c.eat(']') {
                return Err(c.expected("`+` or `]`"));
            }
            address
        }
        Tok::Punct('!') if matches!(c.peek(1), Tok::Word(_)) => {
            c.bump();
            OperandKind::Not(c.word("a predicate")?.text)
        }
        _ => return scalar(c),
    };
    Ok(Operand { kind, pos })
}

/// Those of a vector, behind its `{`.
fn elements<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Operand<'a>>> {
    let mut elements = Vec::new();
    loop {
        elements.push(scalar(c)?);
        if c.eat('}') {
            return Ok(elements);
        }
        if !c.eat(',') {
            return Err(c.expected("`,` or `}`"));
        }
    }
}

/// Those of a texture or surface: a vector, or the only one.
fn coordinates<'a>(c: &mut Cursor<'_, 'a>) -> Result<Vec<Operand<'a>>> {
    if c.eat('{') {
        elements(c)
    } else {
        Ok(vec![scalar(c)?])
    }
}

/// A name, a number or `_`.
fn scalar<'a>(c: &mut Cursor<'_, 'a>) -> Result<Operand<'a>> {
    let pos = c.pos();
    let name = match c.tok() {
        Tok::Word(name) if name != "WARP_SZ" => name,
        _ => {
            return Ok(Operand {
                kind: OperandKind::Literal(literal(c, "an operand")?),
                pos,
            });
        }
    };
    c.bump();
    let kind = match c.tok() {
        Tok::Punct('|') => {
            c.bump();
            OperandKind::Pair(name, c.word("a predicate")?.text)
        }
        Tok::Dot(component) => {
            c.bump();
            OperandKind::Name(name, Some(component))
        }
        Tok::Punct('+' | '-') => OperandKind::Offset(name, addend(c)?),
        Tok::Punct('[') => {
            c.bump();
            let index = constant::expression(c, "a constant index")?;
            c.punct(']')?;
            OperandKind::Element(name, index)
        }
        _ if name == "_" => OperandKind::Sink,
        _ => OperandKind::Name(name, None),
    };
    Ok(Operand { kind, pos })
}
