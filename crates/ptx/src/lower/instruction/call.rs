//! Calls: what moves between the frames of caller and callee.

use super::context::{Context, Lowered, Stop};
use super::operand::Width;
use crate::ast::{self, Operand as Syntax, OperandKind, Operands};
use crate::error::{ErrorKind, Raw};
use crate::lower::scope::Local;
use crate::lower::signature;
use crate::program::*;

pub(super) fn lower<'a>(c: &mut Context<'_, '_, 'a>, inst: &ast::Inst<'a>) -> Lowered<Op> {
    let uniform = c.flag("uni");
    c.operands(0..=0, "no")?;
    let Operands::Call {
        returns,
        callee,
        args,
        table,
    } = &inst.operands
    else {
        return Err(c.unsupported("this form"));
    };
    let OperandKind::Name(name, None) = callee.kind else {
        return Err(c.unexpected(callee, "a function"));
    };
    let (target, params, results) = match c.body.resolve(name) {
        Some(Local::Variable(Symbol::Function(id))) => {
            let function = c.body.program.function(id);
            if function.is_kernel {
                return Err(c.unsupported("a kernel as callee"));
            }
            (
                CallTarget::Function(id),
                function.params.clone(),
                function.returns.clone(),
            )
        }
        Some(Local::Reg(RegClass::B64, Some(slot))) => {
            let Some(prototype) = table.and_then(|t| c.body.prototype(t.text)) else {
                return Err(c.unsupported("an address without `.callprototype`"));
            };
            let layout = signature::signature(&prototype.params, &prototype.returns)?;
            (
                CallTarget::Indirect(Reg {
                    class: RegClass::B64,
                    slot,
                }),
                layout.params,
                layout.returns,
            )
        }
        Some(_) => return Err(c.unexpected(callee, "a function")),
        None => {
            let kind = ErrorKind::Unknown {
                what: "function",
                name: name.to_string(),
            };
            return Err(Raw::new(callee.pos, kind).into());
        }
    };
    count(callee, name, "arguments", params.len(), args.len())?;
    count(callee, name, "results", results.len(), returns.len())?;
    let args = args
        .iter()
        .zip(&params)
        .map(|(a, p)| argument(c, a, p))
        .collect::<Lowered<Vec<_>>>()?;
    let mut moved = Vec::new();
    for (operand, param) in returns.iter().zip(&results) {
        moved.extend(result(c, operand, param)?);
    }
    Ok(Op::Call(Box::new(Call {
        target,
        args,
        results: moved,
        uniform,
    })))
}

fn count(
    callee: &Syntax<'_>,
    name: &str,
    what: &str,
    expected: usize,
    found: usize,
) -> Lowered<()> {
    if expected == found {
        return Ok(());
    }
    let message = format!("the number of {what} of `{name}` is {expected}, found {found}");
    Err(Raw::new(callee.pos, ErrorKind::Invalid(message)).into())
}

/// The scalar type that a parameter is passed by value as.
fn scalar(param: &Param) -> Option<ScalarType> {
    match param.ty {
        ParamType::Scalar(ty) => Some(ty),
        ParamType::Bytes(_) => None,
    }
}

fn argument<'a>(
    c: &mut Context<'_, '_, 'a>,
    operand: &Syntax<'a>,
    param: &Param,
) -> Lowered<Argument> {
    if let OperandKind::Name(name, None) = operand.kind
        && let Some(Local::Param(symbol, size)) = c.body.resolve(name)
    {
        let Symbol::FrameParam(from) = symbol else {
            return Err(c.unsupported("a kernel parameter as argument"));
        };
        same_size(operand, name, size, param)?;
        return Ok(match (param.register, scalar(param)) {
            (Some(_), _) => return Err(c.unsupported("a `.param` argument for a `.reg` parameter")),
            (None, _) => Argument::Bytes {
                from,
                to: param.offset,
                size,
            },
        });
    }
    let Some(ty) = scalar(param) else {
        return Err(c.unexpected(operand, "a `.param` variable"));
    };
    let from = c.value(operand, ty, Width::Exact)?;
    Ok(match param.register {
        Some(to) => Argument::Register { from, to },
        None => Argument::Value {
            from,
            to: param.offset,
            ty,
        },
    })
}

fn result<'a>(
    c: &mut Context<'_, '_, 'a>,
    operand: &Syntax<'a>,
    param: &Param,
) -> Lowered<Option<CallResult>> {
    if let OperandKind::Sink = operand.kind {
        return Ok(None);
    }
    if let OperandKind::Name(name, None) = operand.kind
        && let Some(Local::Param(symbol, size)) = c.body.resolve(name)
    {
        let (Symbol::FrameParam(to), None) = (symbol, param.register) else {
            return Err(c.unsupported("this result"));
        };
        same_size(operand, name, size, param)?;
        return Ok(Some(CallResult::Bytes {
            from: param.offset,
            to,
            size,
        }));
    }
    let Some(ty) = scalar(param) else {
        return Err(c.unexpected(operand, "a `.param` variable"));
    };
    let to = c.register(operand, ty, Width::Exact)?;
    Ok(Some(match param.register {
        Some(from) => CallResult::Register { from, to },
        None => CallResult::Value {
            from: param.offset,
            to,
            ty,
        },
    }))
}

fn same_size(operand: &Syntax<'_>, name: &str, size: u32, param: &Param) -> Result<(), Stop> {
    if size == param.size() {
        return Ok(());
    }
    let message = format!(
        "`{name}` has {size} bytes, but parameter `{}` has {}",
        param.name,
        param.size()
    );
    Err(Raw::new(operand.pos, ErrorKind::Invalid(message)).into())
}
