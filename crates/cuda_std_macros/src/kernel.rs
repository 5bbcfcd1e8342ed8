//! `#[kernel]`: checks the signature and writes the PTX entry point.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Error, Expr, FnArg, Ident, ItemFn, LitInt, LitStr, Pat, Result, ReturnType, Token, Type,
    Visibility,
};

use crate::requires::Condition;

/// The user's bounds: `.maxntid`, `.minnctapersm`, `.maxnreg`, `.reqnctapercluster`, and the oldest
/// devices that have the kernel.
#[derive(Default)]
struct LaunchBounds {
    max_threads: Option<u32>,
    min_blocks: Option<u32>,
    max_registers: Option<u32>,
    cluster: Option<[u32; 3]>,
    /// The compute capability's target feature of rustc.
    capability: Option<&'static str>,
    /// Whether a panic is an error of the build.
    no_panic: bool,
    /// Conditions on the arguments.
    requires: Vec<Expr>,
}

/// Compute capabilities that a kernel may need, and rustc's target feature of each.
const CAPABILITIES: [(&str, &str); 6] = [
    ("8.0", "sm_80"),
    ("8.6", "sm_86"),
    ("8.9", "sm_89"),
    ("9.0", "sm_90"),
    ("10.0", "sm_100"),
    ("12.0", "sm_120"),
];

/// The target features of devices with clusters.
const WITH_CLUSTERS: [&str; 3] = ["sm_90", "sm_100", "sm_120"];

impl LaunchBounds {
    fn parse(attribute: TokenStream) -> Result<Self> {
        let mut bounds = Self::default();
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("max_threads") {
                // 1024 is the limit of every GPU to date (CUDA programming guide, compute
                // capabilities).
                set_once(&mut bounds.max_threads, &meta, 1024)
            } else if meta.path.is_ident("min_blocks") {
                // 32 is the most blocks that any multiprocessor holds.
                set_once(&mut bounds.min_blocks, &meta, 32)
            } else if meta.path.is_ident("max_registers") {
                // 255 is the limit of every GPU to date.
                set_once(&mut bounds.max_registers, &meta, 255)
            } else if meta.path.is_ident("cluster") {
                set_cluster(&mut bounds.cluster, &meta)
            } else if meta.path.is_ident("capability") {
                set_capability(&mut bounds.capability, &meta)
            } else if meta.path.is_ident("no_panic") {
                bounds.no_panic = true;
                Ok(())
            } else if meta.path.is_ident("requires") {
                let conditions;
                syn::parenthesized!(conditions in meta.input);
                let given = Punctuated::<Expr, Token![,]>::parse_terminated(&conditions)?;
                bounds.requires.extend(given);
                Ok(())
            } else {
                Err(meta.error(
                    "unknown launch bound; expected `max_threads = N`, `min_blocks = N`, `max_registers = N`, \
                     `cluster = (X, Y, Z)`, `capability = \"9.0\"`, `no_panic` or \
                     `requires(n <= x.len())`",
                ))
            }
        });
        parser.parse2(attribute.clone())?;
        if bounds.min_blocks.is_some() && bounds.max_threads.is_none() {
            return Err(Error::new(
                attribute.span(),
                "`min_blocks` needs `max_threads`: registers are divided among threads, so PTX gives \
                 `.minnctapersm` a meaning only beside `.maxntid`",
            ));
        }
        if bounds.min_blocks.is_some() && bounds.max_registers.is_some() {
            return Err(Error::new(
                attribute.span(),
                "`min_blocks` and `max_registers` both limit registers; give one of them",
            ));
        }
        let has_clusters = |feature| WITH_CLUSTERS.contains(&feature);
        if bounds.cluster.is_some() && !bounds.capability.is_some_and(has_clusters) {
            return Err(Error::new(
                attribute.span(),
                "`cluster` needs `capability = \"9.0\"`: older devices have no clusters",
            ));
        }
        Ok(bounds)
    }

    /// The section name that tells `cuda_builder` the bounds (`ir::BOUNDS_SECTION` there), the
    /// parameters as they are written, and the conditions.
    fn section(&self, parameters: &[String], conditions: &[Condition]) -> Option<String> {
        let [x, y, z] = self.cluster.unwrap_or_default();
        let [threads, blocks, registers] =
            [self.max_threads, self.min_blocks, self.max_registers].map(Option::unwrap_or_default);
        // 0 means that the user gave no bound.
        let all = [threads, blocks, registers, x, y, z];
        let text = all.map(|bound| bound.to_string()).join(".");
        let no_panic = if self.no_panic { ".no_panic" } else { "" };
        let capability = self
            .capability
            .map(|feature| format!(".{feature}"))
            .unwrap_or_default();
        let written: String = parameters
            .iter()
            .map(|parameter| format!("~{parameter}"))
            .collect();
        let conditions: String = conditions
            .iter()
            .map(|condition| format!("|{}", condition.on_host))
            .collect();
        let marks = no_panic.to_owned() + &capability + &written + &conditions;
        let is_given = !marks.is_empty() || all.iter().any(|&bound| bound > 0);
        is_given.then(|| format!(".cuda_std.launch_bounds.{text}{marks}"))
    }
}

/// `cluster = (X, Y, Z)`.
fn set_cluster(slot: &mut Option<[u32; 3]>, meta: &ParseNestedMeta) -> Result<()> {
    let value = meta.value()?;
    let extents;
    syn::parenthesized!(extents in value);
    let given: Vec<LitInt> = Punctuated::<LitInt, Token![,]>::parse_terminated(&extents)?
        .into_iter()
        .collect();
    let mut cluster = [1; 3];
    if given.is_empty() || given.len() > 3 {
        return Err(
            meta.error("`cluster` has one to three extents, in blocks: `cluster = (2, 1, 1)`")
        );
    }
    for (extent, literal) in cluster.iter_mut().zip(&given) {
        *extent = literal.base10_parse()?;
    }
    let blocks = cluster.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
    // 16 is the limit of every GPU to date.
    if !blocks.is_some_and(|blocks| (1..=16).contains(&blocks)) {
        return Err(meta.error("`cluster` must have 1 to 16 blocks in all"));
    }
    if slot.replace(cluster).is_some() {
        return Err(meta.error("`cluster` given twice"));
    }
    Ok(())
}

/// `capability = "9.0"`.
fn set_capability(slot: &mut Option<&'static str>, meta: &ParseNestedMeta) -> Result<()> {
    let literal: LitStr = meta.value()?.parse()?;
    let known = CAPABILITIES
        .iter()
        .find(|(capability, _)| *capability == literal.value());
    let Some((_, feature)) = known else {
        let all = CAPABILITIES.map(|(capability, _)| format!("\"{capability}\""));
        return Err(Error::new(
            literal.span(),
            format!("`capability` is one of {}", all.join(", ")),
        ));
    };
    if slot.replace(feature).is_some() {
        return Err(meta.error("`capability` given twice"));
    }
    Ok(())
}

fn set_once(slot: &mut Option<u32>, meta: &ParseNestedMeta, most: u32) -> Result<()> {
    let name = meta.path.require_ident()?;
    let literal: LitInt = meta.value()?.parse()?;
    let value: u32 = literal.base10_parse()?;
    if !(1..=most).contains(&value) {
        return Err(Error::new(
            literal.span(),
            format!("`{name}` is {value}, outside 1 to {most}"),
        ));
    }
    if slot.replace(value).is_some() {
        return Err(meta.error(format!("`{name}` given twice")));
    }
    Ok(())
}

pub fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let bounds = LaunchBounds::parse(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    check_signature(&function)?;

    let mut parameters = Vec::new();
    let mut prologue = Vec::new();
    let mut by_value = Vec::new();
    let mut alignments = Vec::new();
    let mut named = Vec::new();
    for argument in &function.sig.inputs {
        let parameter = Parameter::parse(argument)?;
        by_value.extend(parameter.by_value().cloned());
        alignments.extend(parameter.check_alignment(&function.sig.ident));
        parameter.lower(&mut parameters, &mut prologue);
        if let FnArg::Typed(typed) = argument {
            // The value, or of a slice its length.
            named.push((&*typed.pat, &*typed.ty, parameters.len() - 1));
        }
    }
    let conditions = bounds
        .requires
        .iter()
        .map(|condition| Condition::new(condition, &named))
        .collect::<Result<Vec<_>>>()?;
    for Condition { on_device, .. } in &conditions {
        prologue.push(quote! {
            // SAFETY: the caller's: the launch has been checked.
            unsafe { ::core::hint::assert_unchecked(#on_device) };
        });
    }

    let name = &function.sig.ident;
    let attributes = &function.attrs;
    let visibility = &function.vis;
    // The statements, not the block: rustc would call its braces within another block unnecessary.
    let body = &function.block.stmts;
    let written: Vec<String> = named
        .iter()
        .map(|(pattern, ty, _)| format!("{}: {}", text(pattern), text(ty)))
        .collect();
    let section = bounds
        .section(&written, &conditions)
        .map(|section| quote!(#[unsafe(link_section = #section)]));
    // On the host nothing calls a kernel, and an inline function is compiled where it is called.
    let has_own = attributes.iter().any(|own| own.path().is_ident("inline"));
    let unused = (!has_own).then(|| quote!(#[inline]));
    let device = match bounds.capability {
        None => quote!(target_arch = "nvptx64"),
        Some(feature) => quote!(all(target_arch = "nvptx64", target_feature = #feature)),
    };
    Ok(quote! {
        #[cfg(#device)]
        #(#attributes)*
        #[unsafe(no_mangle)]
        #section
        #[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
        #visibility unsafe extern "ptx-kernel" fn #name(#(#parameters),*) {
            #(#prologue)*
            #(#body)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #unused
        #[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
        #function

        #(#alignments)*

        const _: () = {
            #[allow(dead_code)]
            fn copied_from_the_host<T: ::cuda_std::KernelArgument>() {}
            #[allow(dead_code)]
            fn check() {
                #(copied_from_the_host::<#by_value>();)*
            }
        };
    })
}

/// Tokens as an author writes them in a type: `*mut [f32; 4]`.
fn text(tokens: &impl quote::ToTokens) -> String {
    let tokens = tokens.to_token_stream().to_string();
    let mut text = tokens.split_whitespace().collect::<Vec<_>>().join(" ");
    for tight in ["& ", "* ", "[ ", "< ", ":: ", "( "] {
        text = text.replace(tight, tight.trim_end());
    }
    for tight in [" ]", " <", " >", " ;", " ,", " ::", " )"] {
        text = text.replace(tight, tight.trim_start());
    }
    // The only lifetime that a kernel can name says nothing.
    text.replace("&'static ", "&")
}

/// The longest name, in bytes, as in a plan (`plan::Plan::launch`): tools take names on their
/// command lines.
const MAX_NAME_BYTES: usize = 200;

fn check_signature(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let refuse = |span: Span, message: &str| Err(Error::new(span, message));
    let name = signature.ident.to_string();
    let bytes = name.len();
    if !name.is_ascii() {
        return Err(Error::new(
            signature.ident.span(),
            format!("a kernel's name has letters from a to z, digits and `_`; `{name}` has others"),
        ));
    }
    if bytes > MAX_NAME_BYTES {
        return Err(Error::new(
            signature.ident.span(),
            format!("a kernel's name has at most {MAX_NAME_BYTES} letters, this one has {bytes}"),
        ));
    }
    if !matches!(function.vis, Visibility::Public(_)) {
        return refuse(
            signature.fn_token.span,
            "a kernel must be `pub`: the host looks it up by name",
        );
    }
    if signature.unsafety.is_none() {
        return refuse(
            signature.fn_token.span,
            "a kernel must be `unsafe`: nothing checks that the host passes pointers and sizes that are right",
        );
    }
    if let Some(token) = &signature.asyncness {
        return refuse(token.span, "a kernel cannot be `async`");
    }
    if let Some(token) = &signature.constness {
        return refuse(token.span, "a kernel cannot be `const`");
    }
    if let Some(abi) = &signature.abi {
        return refuse(abi.span(), "`#[kernel]` sets the ABI; leave `extern` out");
    }
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        return refuse(
            signature.generics.span(),
            "a kernel cannot be generic: its name in PTX stands for one function; \
             call a generic function from one kernel for each type",
        );
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        return refuse(
            ty.span(),
            "a kernel returns nothing; write results through a `*mut T` parameter",
        );
    }
    Ok(())
}

/// The largest alignment, in bytes, of a parameter that is passed by value.
const MAX_ALIGNMENT: usize = 16;

/// One parameter as the user wrote it.
enum Parameter<'a> {
    Slice {
        pattern: &'a Pat,
        name: Ident,
        element: &'a Type,
    },
    Reference {
        pattern: &'a Pat,
        target: &'a Type,
    },
    Value {
        pattern: &'a Pat,
        ty: &'a Type,
    },
}

impl<'a> Parameter<'a> {
    fn parse(argument: &'a FnArg) -> Result<Self> {
        let FnArg::Typed(argument) = argument else {
            return Err(Error::new(
                argument.span(),
                "a kernel is a free function: it has no `self`",
            ));
        };
        let pattern = &*argument.pat;
        let Pat::Ident(binding) = pattern else {
            return Err(Error::new(
                pattern.span(),
                "a kernel's parameter needs a plain name",
            ));
        };
        let ty = &*argument.ty;
        match ty {
            Type::Reference(reference) if reference.mutability.is_some() => Err(Error::new(
                ty.span(),
                "a kernel cannot take `&mut`: every thread of the grid would hold the same exclusive \
                 reference; take `*mut T` and give each thread elements of its own",
            )),
            Type::Reference(reference) => match &*reference.elem {
                Type::Slice(slice) => Ok(Self::Slice {
                    pattern,
                    name: format_ident!("{}", binding.ident),
                    element: &slice.elem,
                }),
                Type::Path(path) if path.path.is_ident("str") => Err(Error::new(
                    ty.span(),
                    "a kernel cannot take `&str`; take `&[u8]`",
                )),
                Type::TraitObject(_) | Type::ImplTrait(_) => Err(Error::new(
                    ty.span(),
                    "a kernel cannot take a trait object: its vtable would hold host addresses",
                )),
                target => Ok(Self::Reference { pattern, target }),
            },
            Type::Ptr(pointer) if matches!(*pointer.elem, Type::Slice(_)) => Err(Error::new(
                ty.span(),
                "a kernel cannot take a pointer to a slice; take `*mut T` and the length",
            )),
            Type::ImplTrait(_) => Err(Error::new(
                ty.span(),
                "a kernel cannot be generic: name the type",
            )),
            Type::Tuple(_) => Err(Error::new(
                ty.span(),
                "a tuple has no fixed layout; take its parts, or a `#[repr(C)]` struct",
            )),
            Type::Path(path) if path.path.is_ident("char") || path.path.is_ident("bool") => {
                let (name, other) = if path.path.is_ident("bool") {
                    ("bool", "u8")
                } else {
                    ("char", "u32")
                };
                Err(Error::new(
                    ty.span(),
                    format!(
                        "a kernel cannot take `{name}`: not every bit pattern is a value of it, and nothing checks \
                         what the host passes; take `{other}`"
                    ),
                ))
            }
            _ => Ok(Self::Value { pattern, ty }),
        }
    }

    /// The type whose bits the host copies into the parameter, unless it is a pointer.
    fn by_value(&self) -> Option<&'a Type> {
        match self {
            Self::Value { ty, .. } => Some(ty),
            Self::Slice { element, .. } => Some(element),
            Self::Reference { .. } => None,
        }
    }

    /// The check that rustc can pass the parameter. Where a type is aligned to more than
    /// [`MAX_ALIGNMENT`], rustc's ABI for kernels ends the compiler, and names no parameter.
    fn check_alignment(&self, kernel: &Ident) -> Option<TokenStream> {
        let Self::Value { pattern, ty } = self else {
            return None;
        };
        let (pattern, written) = (text(pattern), text(ty));
        let message = format!(
            "the type of `{pattern}: {written}` of kernel `{kernel}` is aligned to more than {MAX_ALIGNMENT} bytes, the \
             most of a parameter: take a pointer, `{pattern}: *const {written}`, to a buffer that holds it"
        );
        Some(quote_spanned! { ty.span() =>
            const _: () = ::core::assert!(::core::mem::align_of::<#ty>() <= #MAX_ALIGNMENT, #message);
        })
    }

    /// Appends the PTX parameters, and the statements that rebuild the Rust one from them.
    fn lower(&self, parameters: &mut Vec<TokenStream>, prologue: &mut Vec<TokenStream>) {
        match self {
            Self::Slice {
                pattern,
                name,
                element,
            } => {
                // Mixed-site names cannot meet those that the user's code mentions.
                let pointer = format_ident!("{name}_pointer", span = Span::mixed_site());
                let length = format_ident!("{name}_length", span = Span::mixed_site());
                // A reference to an empty array carries alignment and read-only to LLVM but, unlike
                // `&T`, does not claim that an element is there to be loaded early.
                parameters.push(quote!(#pointer: &'static [#element; 0]));
                parameters.push(quote!(#length: usize));
                prologue.push(quote! {
                    // SAFETY: the launch passes a pointer to `length` elements that live,
                    // unchanged, until the launch is over: the caller's obligation for a `&[T]`
                    // parameter.
                    let #pattern: &[#element] =
                        unsafe { ::core::slice::from_raw_parts(#pointer.as_ptr(), #length) };
                });
            }
            Self::Reference { pattern, target } => {
                parameters.push(quote!(#pattern: &'static #target));
            }
            Self::Value { pattern, ty } => parameters.push(quote!(#pattern: #ty)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_as_they_are_written() {
        for ty in [
            "f32",
            "&[f32]",
            "*mut [f32; 4]",
            "*const u8",
            "&Scene<2>",
            "a::B<'static, u32>",
        ] {
            assert_eq!(text(&syn::parse_str::<Type>(ty).unwrap()), ty);
        }
        let ty: Type = syn::parse_quote!(&'static [u8]);
        assert_eq!(text(&ty), "&[u8]");
    }
}
