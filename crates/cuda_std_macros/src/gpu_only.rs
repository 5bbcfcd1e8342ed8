//! `#[gpu_only]`: a function that panics off the GPU.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ItemFn, Result};

pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let mut on_host = function.clone();
    // The ABI may be one that the host does not have.
    on_host.sig.abi = None;
    let name = function.sig.ident.to_string();
    on_host.block = syn::parse_quote!({ ::cuda_std::gpu_only(#name) });
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #function

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables, unused_mut)]
        #on_host
    })
}
