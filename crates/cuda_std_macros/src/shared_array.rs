//! `shared_array!`: a static that `cuda_builder` moves into shared memory.
//!
//! The section name is the mark by which `cuda_builder` knows it (`ir::SHARED_SECTION` there).

use proc_macro2::TokenStream;
use quote::quote;
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

pub fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let SharedArray { element, length } = syn::parse2(input)?;
    Ok(quote! {{
        #[cfg(target_arch = "nvptx64")]
        {
            #[unsafe(link_section = ".cuda_std.shared")]
            static mut __CUDA_STD_SHARED: ::core::mem::MaybeUninit<[#element; #length]> =
                ::core::mem::MaybeUninit::uninit();
            (&raw mut __CUDA_STD_SHARED).cast::<#element>()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            const _: usize = ::core::mem::size_of::<[#element; #length]>();
            ::cuda_std::gpu_only::<*mut #element>("shared_array!")
        }
    }})
}
