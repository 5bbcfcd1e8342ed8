//! `#[kernel(requires(...))]`: conditions on the arguments of a launch.
//!
//! The kernel assumes them, and the text that `device` checks before a launch is part of the PTX
//! (`device`'s module `validate::requires` reads it).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{BinOp, Error, Expr, Lit, Pat, Result, Type};

/// A condition as the device computes it, and as the host does.
pub struct Condition {
    /// An expression of type `bool`.
    pub on_device: TokenStream,
    /// Operands before their operators, and the source text behind a semicolon.
    pub on_host: String,
}

/// The kernel's parameters: names, and the PTX parameter that holds the value or the length.
pub type Parameters<'a> = [(&'a Pat, &'a Type, usize)];

impl Condition {
    pub fn new(expression: &Expr, parameters: &Parameters) -> Result<Self> {
        let mut on_host = Vec::new();
        let on_device = translate(expression, parameters, &mut on_host)?;
        // On one line, as a comment in PTX is.
        let text = quote!(#expression).to_string();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self {
            on_device,
            on_host: format!("{};{text}", on_host.join(" ")),
        })
    }
}

const USAGE: &str = "a condition compares integer parameters, lengths of slices (`x.len()`) and numbers, with `+ - * / %`, \
                     and joins comparisons by `&&`";

/// The expression in `usize`, and its operations for the host at the end of `on_host`.
fn translate(
    expression: &Expr,
    parameters: &Parameters,
    on_host: &mut Vec<String>,
) -> Result<TokenStream> {
    let refuse = || Err(Error::new_spanned(expression, USAGE));
    let parameter = |name: &Expr| {
        let Expr::Path(path) = name else { return None };
        let ident = path.path.get_ident()?;
        parameters
            .iter()
            .find_map(|(pattern, ty, index)| match pattern {
                Pat::Ident(pattern) if pattern.ident == *ident => {
                    Some((ident.clone(), *ty, *index))
                }
                _ => None,
            })
    };
    match expression {
        Expr::Paren(inner) => translate(&inner.expr, parameters, on_host),
        // Everything is computed as `usize`.
        Expr::Cast(cast) => translate(&cast.expr, parameters, on_host),
        Expr::Lit(literal) => {
            let Lit::Int(number) = &literal.lit else {
                return refuse();
            };
            let number: u64 = number.base10_parse()?;
            on_host.push(format!("L{number}"));
            Ok(quote!((#number as usize)))
        }
        Expr::Path(_) => match parameter(expression) {
            Some((name, Type::Path(_), index)) => {
                on_host.push(format!("P{index}={name}"));
                Ok(quote!((#name as usize)))
            }
            _ => refuse(),
        },
        Expr::MethodCall(call) if call.method == "len" && call.args.is_empty() => {
            match parameter(&call.receiver) {
                Some((name, Type::Reference(_), index)) => {
                    on_host.push(format!("P{index}={name}.len()"));
                    Ok(quote!(#name.len()))
                }
                _ => refuse(),
            }
        }
        Expr::Binary(binary) => {
            let operator = match binary.op {
                BinOp::Add(_) => "+",
                BinOp::Sub(_) => "-",
                BinOp::Mul(_) => "*",
                BinOp::Div(_) => "/",
                BinOp::Rem(_) => "%",
                BinOp::Eq(_) => "==",
                BinOp::Ne(_) => "!=",
                BinOp::Lt(_) => "<",
                BinOp::Le(_) => "<=",
                BinOp::Gt(_) => ">",
                BinOp::Ge(_) => ">=",
                BinOp::And(_) => "&&",
                _ => return refuse(),
            };
            let left = translate(&binary.left, parameters, on_host)?;
            let right = translate(&binary.right, parameters, on_host)?;
            on_host.push(operator.to_owned());
            let token = &binary.op;
            Ok(quote!((#left #token #right)))
        }
        _ => refuse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Result<String> {
        let function: syn::ItemFn =
            syn::parse_str("fn k(n: u32, x: &[f32], y: *mut f32) {}").unwrap();
        let indices = [0, 2, 3];
        let parameters: Vec<_> = function
            .sig
            .inputs
            .iter()
            .zip(indices)
            .map(|(input, index)| match input {
                syn::FnArg::Typed(typed) => (&*typed.pat, &*typed.ty, index),
                syn::FnArg::Receiver(_) => unreachable!(),
            })
            .collect();
        Condition::new(&syn::parse_str(text)?, &parameters).map(|condition| condition.on_host)
    }

    #[test]
    fn operands_come_before_their_operators() {
        let text = condition("n as usize * 2 <= x.len() && n > 0").unwrap();
        let (operations, source) = text.split_once(';').unwrap();
        assert_eq!(operations, "P0=n L2 * P2=x.len() <= P0=n L0 > &&");
        assert_eq!(source, "n as usize * 2 <= x . len () && n > 0");
    }

    #[test]
    fn other_expressions_are_refused() {
        for text in [
            "y > 0",
            "n < m",
            "n < 1.5",
            "x.len() | 1 == 1",
            "f(n) == 1",
            "x[0] < n",
        ] {
            assert_eq!(condition(text).unwrap_err().to_string(), USAGE, "{text}");
        }
    }
}
