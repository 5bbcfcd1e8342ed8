//! `dbg!`: a value with its place and its text, by `println!` of `cuda_std`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, Result};

/// The expansion of `dbg!(input)` in this file and line.
pub fn expand(input: TokenStream, file: &str, line: usize) -> Result<TokenStream> {
    let usage = |error: Error| Error::new(error.span(), "expected a value, e.g. `dbg!(x[i])`");
    let value: Expr = syn::parse2(input).map_err(usage)?;
    let plain = format!("[{file}:{line}] {} = ", quote!(#value));
    let format = plain.replace('{', "{{").replace('}', "}}") + "{:?}";
    Ok(quote! {
        match #value {
            value => {
                ::cuda_std::println!(#format, value);
                value
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_place_and_value() {
        let expanded = expand("S { x : 1 }.x".parse().unwrap(), "src/lib.rs", 7)
            .unwrap()
            .to_string();
        let format = r#""[src/lib.rs:7] S {{ x : 1 }} . x = {:?}""#;
        assert!(expanded.contains(format), "{expanded}");
        assert!(expand("1, 2".parse().unwrap(), "", 1).is_err());
    }
}
