//! `shared_array!`: a static that `cuda_builder` moves into shared memory.
//!
//! `cuda_builder` recognises the static by its section name (`ir::SHARED_SECTION` there). The
//! emulated device reads the line in its name.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Token, Type};

struct SharedArray {
    element: Type,
    length: Expr,
}

impl Parse for SharedArray {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let usage = |e: syn::Error| {
            syn::Error::new(
                e.span(),
                "expected `shared_array![T; N]`, e.g. `shared_array![f32; 256]`",
            )
        };
        let element = input.parse().map_err(usage)?;
        input.parse::<Token![;]>().map_err(usage)?;
        let length = input.parse().map_err(usage)?;
        if !input.is_empty() {
            return Err(usage(input.error("")));
        }
        Ok(Self { element, length })
    }
}

pub fn expand(input: TokenStream, line: usize) -> syn::Result<TokenStream> {
    let SharedArray { element, length } = syn::parse2(input)?;
    let name = format_ident!("__CUDA_STD_SHARED_{line}");
    Ok(quote! {{
        #[cfg(target_arch = "nvptx64")]
        {
            #[unsafe(link_section = ".cuda_std.shared")]
            static mut #name: ::core::mem::MaybeUninit<[#element; #length]> =
                ::core::mem::MaybeUninit::uninit();
            (&raw mut #name).cast::<#element>()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            const _: usize = ::core::mem::size_of::<[#element; #length]>();
            ::cuda_std::gpu_only::<*mut #element>("shared_array!")
        }
    }})
}
