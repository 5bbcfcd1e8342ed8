//! `print!` and `println!`: a format of Rust's to pieces of C's, which `cuda_std::io` puts together
//! once it knows the types of the values.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, LitStr, Token};

/// The most values that a call prints.
const MAX_VALUES: usize = 12;

struct Call {
    format: LitStr,
    values: Vec<Value>,
}

/// A value after the format: `x` or `name = x`.
struct Value {
    name: Option<Ident>,
    value: Expr,
}

impl Parse for Value {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut name = None;
        if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            name = Some(input.parse()?);
            input.parse::<Token![=]>()?;
        }
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

impl Parse for Call {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let format = input.parse().map_err(|error: syn::Error| {
            syn::Error::new(error.span(), "expected a format, e.g. `\"x is {}\", x`")
        })?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        let values = Punctuated::<Value, Token![,]>::parse_terminated(input)?
            .into_iter()
            .collect();
        Ok(Self { format, values })
    }
}

/// The expansion; `end` follows the text.
pub fn expand(input: TokenStream, end: &str) -> syn::Result<TokenStream> {
    let input = if input.is_empty() { quote!("") } else { input };
    let Call { format, mut values } = syn::parse2(input.clone())?;
    let text = format.value() + end;
    let pieces = pieces(&text, &mut values, format.span())?;
    if values.len() > MAX_VALUES {
        let message = format!("at most {MAX_VALUES} values are printed at once");
        return Err(syn::Error::new(format.span(), message));
    }
    let values = values.iter().map(|value| &value.value);
    Ok(quote! {{
        #[cfg(target_arch = "nvptx64")]
        {
            struct Format;
            impl ::cuda_std::io::Format for Format {
                const PIECES: &'static [::cuda_std::io::Piece] = &[#(#pieces),*];
            }
            ::cuda_std::io::print::<Format, _>((#(&(#values),)*))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            ::cuda_std::io::print_on_host(::core::format_args!("{}{}", ::core::format_args!(#input), #end))
        }
    }})
}

/// The pieces of a format. Values that it names and the call does not give are added; each value
/// that it prints a second time is added once more, so that pieces print them in their order.
fn pieces(text: &str, values: &mut Vec<Value>, span: Span) -> syn::Result<Vec<TokenStream>> {
    let refused = |message: String| syn::Error::new(span, message);
    let given = values.len();
    let mut printed: Vec<Expr> = Vec::new();
    let mut is_used = vec![false; given];
    let (mut pieces, mut plain, mut next) = (Vec::new(), String::new(), 0);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
            plain.push(first);
            rest = after;
        } else if first == '{' {
            let (inside, after) = rest[1..]
                .split_once('}')
                .ok_or_else(|| refused("a `{` without its `}`".to_owned()))?;
            rest = after;
            let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
            let name = name.trim();
            let named = |value: &Value| value.name.as_ref().is_some_and(|own| own == name);
            let number = match name.parse::<usize>() {
                Ok(number) => Some(number),
                Err(_) if name.is_empty() => {
                    next += 1;
                    Some(next - 1)
                }
                Err(_) => values.iter().position(named),
            };
            printed.push(match number {
                Some(number) if number < given => {
                    is_used[number] = true;
                    values[number].value.clone()
                }
                Some(number) => {
                    return Err(refused(format!(
                        "the format prints value {number}, and {given} are given"
                    )));
                }
                None => {
                    let name: Ident = syn::parse_str(name)
                        .map_err(|_| refused(format!("`{{{inside}}}` names no value")))?;
                    syn::parse_quote_spanned!(span=> #name)
                }
            });
            pieces.push(quote!(::cuda_std::io::Piece::Text(#plain)));
            plain.clear();
            pieces.push(value(spec).ok_or_else(|| {
                refused(format!(
                    "`{{{inside}}}` is more than kernels print: `{{}}`, `{{:?}}`, `{{:x}}`, `{{:e}}`, with a width and a \
                     precision as in `{{:8.3}}`"
                ))
            })?);
        } else if first == '}' {
            return Err(refused("a `}` without its `{`".to_owned()));
        } else {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    pieces.push(quote!(::cuda_std::io::Piece::Text(#plain)));
    if let Some(unused) = is_used.iter().position(|used| !used) {
        return Err(refused(format!("value {unused} is printed nowhere")));
    }
    let printed = printed.into_iter();
    *values = printed.map(|value| Value { name: None, value }).collect();
    Ok(pieces)
}

/// The piece for a value with what follows the colon: `[<|>][+][#][0][width][.precision][type]`.
fn value(spec: &str) -> Option<TokenStream> {
    let mut rest = spec.trim_end();
    let mut flags = String::new();
    for (rust, c) in [("<", "-"), (">", ""), ("+", "+"), ("#", "#"), ("0", "0")] {
        if let Some(after) = rest.strip_prefix(rust) {
            flags += c;
            rest = after;
        }
    }
    let digits = |text: &mut &str| {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, after) = text.split_at(end);
        *text = after;
        digits.to_owned()
    };
    flags += &digits(&mut rest);
    let mut has_precision = false;
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        has_precision = true;
        flags = format!("{flags}.{}", digits(&mut rest));
    }
    let style = match rest {
        "" | "?" if has_precision => quote!(Decimals),
        "" => quote!(Display),
        "?" => quote!(Debug),
        "x" => quote!(Hex),
        "X" => quote!(UpperHex),
        "o" => quote!(Octal),
        "e" => quote!(Exponent),
        "E" => quote!(UpperExponent),
        _ => return None,
    };
    Some(quote! {
        ::cuda_std::io::Piece::Value { flags: #flags, style: ::cuda_std::io::Style::#style }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(input: &str) -> Result<String, String> {
        let input: TokenStream = input.parse().unwrap();
        let expanded = expand(input, "\n").map_err(|error| error.to_string())?;
        Ok(expanded.to_string().replace(":: cuda_std :: io :: ", ""))
    }

    #[test]
    fn formats_become_pieces() {
        let text = expanded(r#""{{x}} is {:8.3}, {k}, {1:?}, {0:+e} %", x, 2 * y"#).unwrap();
        for piece in [
            r#"Piece :: Text ("{x} is ")"#,
            r#"Piece :: Value { flags : "8.3" , style : Style :: Decimals }"#,
            r#"Piece :: Value { flags : "" , style : Style :: Display }"#,
            r#"Piece :: Value { flags : "" , style : Style :: Debug }"#,
            r#"Piece :: Value { flags : "+" , style : Style :: Exponent }"#,
            r#"Piece :: Text (" %\n")"#,
            "(& (x) , & (k) , & (2 * y) , & (x) ,)",
        ] {
            assert!(text.contains(piece), "{piece}\n{text}");
        }
        assert!(expanded("").unwrap().contains(r#"Text ("\n")"#));
        assert!(
            expanded(r#""{n:<5x}", n = 3"#)
                .unwrap()
                .contains("(& (3) ,)")
        );
    }

    #[test]
    fn mistakes_are_explained() {
        let refused = |input: &str| expanded(input).unwrap_err();
        assert_eq!(
            refused(r#""{} {}", x"#),
            "the format prints value 1, and 1 are given"
        );
        assert_eq!(refused(r#""{}", x, y"#), "value 1 is printed nowhere");
        assert_eq!(refused(r#""{x:^8}""#).split(':').next(), Some("`{x"));
        assert_eq!(refused(r#""{""#), "a `{` without its `}`");
        assert_eq!(refused("x"), "expected a format, e.g. `\"x is {}\", x`");
    }
}
