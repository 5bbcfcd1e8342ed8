//! `#[address_space]`: a static that `cuda_builder` moves into a state space of PTX.
//!
//! `cuda_builder` recognises the static by its section name (`ir::SPACES` there).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, ItemStatic, Result, StaticMutability};

const USAGE: &str = "expected `#[address_space(shared)]`, `#[address_space(constant)]` or \
                     `#[address_space(global)]`";

pub fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let space: Ident = syn::parse2(attribute).map_err(|error| Error::new(error.span(), USAGE))?;
    let item: ItemStatic = syn::parse2(item)
        .map_err(|error| Error::new(error.span(), "`#[address_space]` is for a `static`"))?;
    let is_mutable = matches!(item.mutability, StaticMutability::Mut(_));
    let section = match space.to_string().as_str() {
        "global" => return Ok(quote!(#item)),
        "shared" if !is_mutable => {
            return Err(Error::new_spanned(
                item.static_token,
                "shared memory has no value before a thread writes one: write `static mut`, of `MaybeUninit`s",
            ));
        }
        "shared" if !names_maybe_uninit(&item) => {
            return Err(Error::new_spanned(
                item.ty,
                "shared memory is not initialised, whatever value the `static` has: take \
                 `[MaybeUninit<f32>; N]` with the value `[MaybeUninit::uninit(); N]`, or `shared_array![f32; N]`",
            ));
        }
        "shared" => ".cuda_std.shared",
        "constant" if is_mutable => {
            return Err(Error::new_spanned(
                item.mutability,
                "constant memory does not change: write `static`",
            ));
        }
        "constant" => ".cuda_std.constant",
        "local" => {
            return Err(Error::new(
                space.span(),
                "local memory is that of a thread's own variables: write `let`",
            ));
        }
        _ => return Err(Error::new(space.span(), USAGE)),
    };
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
        #item
    })
}

/// Whether the type's text has `MaybeUninit`, under that name.
fn names_maybe_uninit(item: &ItemStatic) -> bool {
    let ty = &item.ty;
    quote!(#ty).to_string().contains("MaybeUninit")
}
