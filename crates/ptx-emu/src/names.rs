//! The names of a program, as its author has written them.

use std::borrow::Cow;

use cpp_demangle::{DemangleOptions, Symbol};

/// The longest list of template arguments that a short name has.
const ARGUMENTS: usize = 24;

/// The short name of a function or a variable: as its author has written it, without the namespaces
/// and parameters that compilers of C++, Rust and Python (Numba) have made a part of it. Template
/// arguments stay where they are few. A name that nothing was done to is short already.
///
/// ```
/// use ptx_emu::short_name;
///
/// assert_eq!(short_name("saxpy"), "saxpy");
/// assert_eq!(short_name("_Z6reduceILj512EEvPfi"), "reduce<512>");
/// assert_eq!(short_name("_ZZ9transposePfE4tile"), "tile");
/// // Numba's, with its tags of versions and options.
/// let numbas = "_ZN8__main__9block_sumB2v1B4cw51E5ArrayIfLi1E1C7mutable7alignedE";
/// assert_eq!(short_name(numbas), "block_sum");
/// ```
#[must_use]
pub fn short_name(symbol: &str) -> Cow<'_, str> {
    let Some(readable) = readable_name(symbol) else {
        return Cow::Borrowed(symbol);
    };
    let last = last_part(&readable);
    let (name, arguments) = last.split_at(last.find('<').unwrap_or(last.len()));
    Cow::Owned(match arguments.chars().count() {
        0 => name.to_owned(),
        few if few <= ARGUMENTS => name.to_owned() + arguments,
        _ => format!("{name}<...>"),
    })
}

/// The name with its namespaces and template arguments, and without its parameters; `None` for one
/// that no compiler has mangled.
pub fn readable_name(symbol: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{rust:#}"));
    }
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .hide_expression_literal_types();
    Some(without_tags(&demangled(symbol, &options)?))
}

/// The types of a function's parameters, as compilers of C++ have made them a part of its name;
/// `None` for a name without them.
///
/// ```
/// use ptx_emu::parameter_types;
///
/// let types = parameter_types("_Z5scaleIfEvPT_PKS0_i").unwrap();
/// assert_eq!(types, ["float*", "float const*", "int"]);
/// assert_eq!(parameter_types("_Z4nonev").unwrap().len(), 0);
/// assert_eq!(parameter_types("saxpy"), None);
/// ```
pub fn parameter_types(symbol: &str) -> Option<Vec<String>> {
    let full = demangled(symbol, &DemangleOptions::new().no_return_type())?;
    let open = last_group(&full)?;
    let list = full[open + 1..].strip_suffix(')')?;
    let mut types = vec![String::new()];
    let mut depth = 0_i32;
    for letter in list.chars() {
        depth += i32::from("<([{".contains(letter)) - i32::from(">)]}".contains(letter));
        match (letter, types.last_mut()) {
            (',', _) if depth == 0 => types.push(String::new()),
            (_, Some(last)) => last.push(letter),
            (_, None) => {}
        }
    }
    let types = types.iter().map(|known| known.trim().to_owned());
    Some(types.filter(|known| !known.is_empty()).collect())
}

/// Where the parentheses begin that a name ends with.
fn last_group(name: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, letter) in name.char_indices().rev() {
        depth += i32::from(letter == ')') - i32::from(letter == '(');
        if depth == 0 {
            return (letter == '(').then_some(at);
        }
    }
    None
}

/// A name that a compiler of C++ has mangled, in words.
fn demangled(symbol: &str, options: &DemangleOptions) -> Option<String> {
    let parsed = symbol.starts_with("_Z").then(|| Symbol::new(symbol).ok());
    parsed??.demangle_with_options(options).ok()
}

/// The name without `[abi:...]`.
fn without_tags(name: &str) -> String {
    let mut parts = name.split("[abi:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        before + part.split_once(']').map_or("", |(_, rest)| rest)
    })
}

/// The part behind the last `::` that is in no parentheses or angle brackets.
fn last_part(name: &str) -> &str {
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ':' if depth == 0 && name[..at].ends_with(':') => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, short) in [
            ("_Z10oob_kernelPfi", "oob_kernel"),
            ("_ZN12_GLOBAL__N_16kernelEv", "kernel"),
            (
                "_ZN4core9panicking9panic_fmt17h1234567890abcdefE",
                "panic_fmt",
            ),
            (
                "_ZN3cub16_V_300500_SM_90018DeviceReduceKernelINS_6detail6reduce10policy_hubIfjN4cuda3std3__44plusIvEEE10Policy1000EN6thrust6detail15normal_iteratorINS9_10device_ptrIfEEEEjS7_fNS5_8identityEEEvT0_PT3_T1_NS_13GridEvenShareISK_EET2_T4_",
                "DeviceReduceKernel<...>",
            ),
            ("_Zbroken", "_Zbroken"),
            ("", ""),
        ] {
            assert_eq!(short_name(symbol), short);
        }
    }
}
