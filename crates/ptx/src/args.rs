//! The arguments of a launch, checked against the kernel's parameters.
//!
//! PTX knows how wide a parameter is, and whether it is a float, an integer or a pointer. Of what a
//! pointer points to it knows the alignment alone. Where the text states the parameters of the
//! source ([`Function::source_params`]), arguments are checked against their types first.

use crate::program::{Function, Param, ParamType, SourceParam};
use crate::types::ScalarType;

/// The type of an argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// A pointer to such elements. It fills one parameter.
    Pointer(Element),
    /// A slice of such elements. It fills two parameters: pointer and number of elements, of 64
    /// bits each.
    Slice(Element),
    /// A number: an integer or a float.
    Number(ScalarType),
    /// A structure of this many bytes, passed by value.
    Bytes(u64),
}

/// The elements of a buffer or slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Rust's name of the type.
    pub name: &'static str,
    /// Alignment in bytes.
    pub align: u32,
}

/// Arguments that do not fit the kernel's parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
    /// Too few or too many.
    #[error("{}", count(*args, *filled, *params, takes))]
    Count {
        /// Arguments.
        args: usize,
        /// Parameters that they fill.
        filled: usize,
        /// Parameters of the kernel.
        params: usize,
        /// Its parameters in the source, if they are known: `x: &[f32]`.
        takes: Vec<String>,
    },
    /// One of the wrong type.
    #[error(
        "argument {} of `args!`, counted from 1, is {arg}, but the kernel takes {expected} there",
        position + 1
    )]
    Type {
        /// Which argument, from 0.
        position: usize,
        /// The argument.
        arg: String,
        /// Which parameter of the PTX entry, from 0.
        param: usize,
        /// Its type.
        expected: String,
    },
}

/// Parameters of the PTX entry are more than those that its author wrote, so how a slice counts is
/// said too.
fn count(args: usize, filled: usize, params: usize, takes: &[String]) -> String {
    if !takes.is_empty() {
        let s = if args == 1 { "" } else { "s" };
        let (number, all) = (takes.len(), takes.join(", "));
        return format!("`args!` has {args} argument{s}, but the kernel takes {number}: {all}");
    }
    let has = match args {
        0 => "`args!` is empty".to_owned(),
        1 => "`args!` has 1 argument, which fills".to_owned(),
        _ => format!("`args!` has {args} arguments, which fill"),
    };
    let parameters = if params == 1 {
        "parameter"
    } else {
        "parameters"
    };
    match filled {
        0 => format!("{has}, but the kernel has {params} {parameters} (a slice fills two)"),
        _ if filled < params => {
            format!("{has} {filled} of the kernel's {params} {parameters} (a slice fills two)")
        }
        _ => {
            format!("{has} {filled}, but the kernel has {params} {parameters} (a slice fills two)")
        }
    }
}

/// The kind of value that an argument puts into a parameter, or a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pointer,
    /// Of 64 bits, it may be a pointer: not every compiler marks its pointers.
    Integer,
    Float,
    /// Untyped bits.
    Bits,
    /// A structure passed by value.
    Bytes,
}

impl Function {
    /// The parameter that the author wrote for this one of [`Function::params`], alone or with
    /// another. `None` where the text does not state those.
    pub fn source_param(&self, index: usize) -> Option<&SourceParam> {
        let mut filled = 0;
        self.source_params().iter().find(|param| {
            filled += param.fills();
            index < filled
        })
    }

    /// Checks the arguments of a launch of this kernel.
    ///
    /// # Errors
    /// [`ArgsError::Count`], else [`ArgsError::Type`] of the first argument that does not fit.
    pub fn check_args(&self, args: &[ArgType]) -> Result<(), ArgsError> {
        let filled: usize = args.iter().map(|arg| arg.values().count()).sum();
        let source = self.source_params();
        if args.len() == source.len() {
            check_source(args, source)?;
        }
        if filled != self.params.len() {
            return Err(ArgsError::Count {
                args: args.len(),
                filled,
                params: self.params.len(),
                takes: source.iter().map(ToString::to_string).collect(),
            });
        }
        let values = args
            .iter()
            .enumerate()
            .flat_map(|(position, arg)| arg.values().map(move |value| (position, value)));
        for ((position, (given, bytes)), (index, param)) in
            values.zip(self.params.iter().enumerate())
        {
            let takes = param.kind();
            let fits = match given {
                Kind::Pointer => matches!(takes, Kind::Pointer | Kind::Integer | Kind::Bits),
                Kind::Bytes => takes == Kind::Bytes,
                number => takes == number || takes == Kind::Bits,
            };
            let arg = &args[position];
            let wrong = |has, expected| ArgsError::Type {
                position,
                arg: has,
                param: index,
                expected,
            };
            if !fits || bytes != u64::from(param.size()) {
                return Err(wrong(arg.describe(given), param.describe()));
            }
            if given == Kind::Pointer
                && let Some((has, expected)) = arg.other_elements(param)
            {
                return Err(wrong(has, expected));
            }
        }
        Ok(())
    }
}

/// Checks arguments against the types of as many parameters in the source.
fn check_source(args: &[ArgType], source: &[SourceParam]) -> Result<(), ArgsError> {
    let mut index = 0;
    for (position, (arg, param)) in args.iter().zip(source).enumerate() {
        if let Some(arg) = arg.other_type(&param.ty) {
            return Err(ArgsError::Type {
                position,
                arg,
                param: index,
                expected: param.to_string(),
            });
        }
        index += param.fills();
    }
    Ok(())
}

/// The numbers of Rust that are types of parameters and elements.
fn number(ty: &str) -> Option<ScalarType> {
    Some(match ty {
        "u8" => ScalarType::U8,
        "u16" => ScalarType::U16,
        "u32" => ScalarType::U32,
        "u64" | "usize" => ScalarType::U64,
        "i8" => ScalarType::S8,
        "i16" => ScalarType::S16,
        "i32" => ScalarType::S32,
        "i64" | "isize" => ScalarType::S64,
        "f32" => ScalarType::F32,
        "f64" => ScalarType::F64,
        _ => return None,
    })
}

/// The elements of a type of slice. `&[T; N]` is a pointer.
fn slice_of(ty: &str) -> Option<&str> {
    let elements = ty.strip_prefix("&[")?.strip_suffix(']')?;
    (!elements.contains(';')).then_some(elements)
}

/// Whether two numbers have the same bits: integers of one width do, signed or not.
fn are_alike(a: ScalarType, b: ScalarType) -> bool {
    a.bytes() == b.bytes() && a.is_float() == b.is_float()
}

impl ArgType {
    /// The argument as messages name it, if it is surely not of this type of Rust's. Of types
    /// other than numbers, pointers and slices nothing is known.
    fn other_type(&self, ty: &str) -> Option<String> {
        let slice = slice_of(ty);
        let pointer = ["*const ", "*mut ", "&"]
            .iter()
            .find_map(|start| ty.strip_prefix(start));
        match (*self, slice, pointer) {
            (ArgType::Slice(has), Some(wants), _) => has
                .is_other(wants)
                .then(|| format!("a slice of {}", has.name)),
            (ArgType::Pointer(has), Some(_), _) => Some(format!(
                "a buffer of {}, which is a slice with `.slice()`",
                has.name
            )),
            // Through a pointer, integers of another width may be meant.
            (ArgType::Pointer(has), None, Some(wants)) => (has.is_other(wants)
                && [has.name, wants]
                    .into_iter()
                    .any(|element| element.starts_with('f')))
            .then(|| format!("a buffer of {}", has.name)),
            (ArgType::Slice(has), None, Some(_)) => Some(format!(
                "a slice of {}, which is a pointer without `.slice()`",
                has.name
            )),
            (ArgType::Number(has), None, None) => {
                let wants = number(ty)?;
                (!are_alike(has, wants)).then(|| self.describe(Kind::Bits))
            }
            // An address, as a number.
            (ArgType::Number(ScalarType::U64), None, Some(_)) => None,
            (ArgType::Pointer(_), None, None) if number(ty) == Some(ScalarType::U64) => None,
            (_, None, None) => {
                number(ty)?;
                Some(self.describe(Kind::Bits))
            }
            _ => Some(self.describe(Kind::Bits)),
        }
    }

    /// The one or two parameters that it fills: kind, and size in bytes.
    fn values(&self) -> impl Iterator<Item = (Kind, u64)> + use<> {
        let (first, second) = match *self {
            ArgType::Pointer(_) => ((Kind::Pointer, 8), None),
            ArgType::Slice(_) => ((Kind::Pointer, 8), Some((Kind::Integer, 8))),
            ArgType::Number(ty) if ty.is_float() => ((Kind::Float, ty.bytes().into()), None),
            ArgType::Number(ty) => ((Kind::Integer, ty.bytes().into()), None),
            ArgType::Bytes(bytes) => ((Kind::Bytes, bytes), None),
        };
        std::iter::once(first).chain(second)
    }

    /// Itself, and what the parameter takes instead, if it is a slice of elements that cannot be
    /// the parameter's: a type has one alignment.
    fn other_elements(&self, param: &Param) -> Option<(String, String)> {
        let (ArgType::Slice(element), Some(wanted)) = (self, &param.pointer) else {
            return None;
        };
        // rustc writes 1 where it knows nothing.
        if [1, element.align].contains(&wanted.align) {
            return None;
        }
        let like = match wanted.align {
            2 => ", such as f16,",
            4 => ", such as f32,",
            8 => ", such as f64,",
            _ => "",
        };
        let (has, wants) = (element.align.into(), wanted.align.into());
        Some((
            format!("a slice of {}, aligned to {}", element.name, bytes(has)),
            format!("elements aligned to {}{like}", bytes(wants)),
        ))
    }

    /// As messages name it: all of it, or the part that puts such a value into a parameter.
    fn describe(&self, value: Kind) -> String {
        match (self, value) {
            (ArgType::Slice(_), Kind::Pointer) => "a slice, whose pointer comes first".to_owned(),
            (ArgType::Slice(element), Kind::Bits) => format!("a slice of {}", element.name),
            (ArgType::Slice(_), _) => "a slice, whose length (u64) comes second".to_owned(),
            (ArgType::Pointer(element), Kind::Bits) => format!("a buffer of {}", element.name),
            (ArgType::Pointer(_), _) => "a buffer".to_owned(),
            (ArgType::Bytes(size), _) => format!("a structure of {}", bytes(*size)),
            (ArgType::Number(ty), _) => ty.name().replace('s', "i"),
        }
    }
}

impl Element {
    /// Whether elements of this type of Rust's are surely others. Bytes may be parts of any.
    fn is_other(&self, ty: &str) -> bool {
        match (number(self.name), number(ty)) {
            (Some(has), Some(wants)) => wants.bytes() > 1 && !are_alike(has, wants),
            _ => false,
        }
    }
}

impl SourceParam {
    /// How many parameters of the PTX entry it is.
    fn fills(&self) -> usize {
        1 + usize::from(slice_of(&self.ty).is_some())
    }
}

impl std::fmt::Display for SourceParam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}: {}`", self.name, self.ty)
    }
}

impl Param {
    fn kind(&self) -> Kind {
        use ScalarType::*;
        match self.ty {
            ParamType::Bytes(_) => Kind::Bytes,
            ParamType::Scalar(_) if self.pointer.is_some() => Kind::Pointer,
            ParamType::Scalar(U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64) => Kind::Integer,
            ParamType::Scalar(F16 | Bf16 | F32 | F64) => Kind::Float,
            ParamType::Scalar(_) => Kind::Bits,
        }
    }

    fn describe(&self) -> String {
        let bits = self.size() * 8;
        let article = if bits == 8 { "an" } else { "a" };
        match self.kind() {
            Kind::Pointer => "a pointer".to_owned(),
            Kind::Integer if bits == 64 => "a 64-bit integer or a pointer".to_owned(),
            Kind::Integer => format!("{article} {bits}-bit integer"),
            Kind::Float => format!("f{bits}"),
            Kind::Bits => format!("{article} {bits}-bit value"),
            Kind::Bytes => format!("a structure of {}", bytes(self.size().into())),
        }
    }
}

fn bytes(number: u64) -> String {
    format!("{number} byte{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The refusal of an argument for the second of two parameters of the source.
    fn refused(ty: &str, arg: ArgType) -> Option<String> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .f32 a, .param .u64 x, \
             .param .u64 n) {{ ret; }}\n// cuda_std.parameters k~a: f32~x: {ty}\n"
        );
        let program = crate::Program::read(&text, |body| {
            while body.next_instruction()?.is_some() {}
            Ok(())
        })
        .unwrap();
        let kernel = program.kernel("k").unwrap();
        let error = kernel.check_args(&[ArgType::Number(ScalarType::F32), arg]);
        error.err().map(|error| error.to_string())
    }

    const F32: Element = Element {
        name: "f32",
        align: 4,
    };
    const U32: Element = Element {
        name: "u32",
        align: 4,
    };

    #[test]
    fn both_types_are_named() {
        let message = |is: &str, takes: &str| {
            Some(format!(
                "argument 2 of `args!`, counted from 1, is {is}, but the kernel takes `x: {takes}` there"
            ))
        };
        assert_eq!(refused("&[f32]", ArgType::Slice(F32)), None);
        assert_eq!(
            refused("&[f32]", ArgType::Slice(U32)),
            message("a slice of u32", "&[f32]")
        );
        assert_eq!(
            refused("&[f32]", ArgType::Pointer(F32)),
            message(
                "a buffer of f32, which is a slice with `.slice()`",
                "&[f32]"
            )
        );
        assert_eq!(
            refused("*mut f32", ArgType::Pointer(U32)),
            message("a buffer of u32", "*mut f32")
        );
        assert_eq!(
            refused("*mut f32", ArgType::Slice(F32)),
            message(
                "a slice of f32, which is a pointer without `.slice()`",
                "*mut f32"
            )
        );
        assert_eq!(
            refused("u32", ArgType::Number(ScalarType::F32)),
            message("f32", "u32")
        );
        assert_eq!(
            refused("f64", ArgType::Pointer(F32)),
            message("a buffer of f32", "f64")
        );
    }

    /// An argument that is not refused by its type is then one of too few.
    #[test]
    fn types_that_are_not_known_are_not_refused() {
        let all = "`args!` has 2 arguments, but the kernel takes 2: `a: f32`, `x: ";
        for (ty, arg) in [
            ("*mut u8", ArgType::Pointer(F32)),
            ("*mut i32", ArgType::Pointer(U32)),
            ("*const u64", ArgType::Pointer(U32)),
            ("u64", ArgType::Pointer(F32)),
            ("*const Point", ArgType::Pointer(F32)),
            ("&[f32; 4]", ArgType::Pointer(F32)),
            ("*mut f32", ArgType::Number(ScalarType::U64)),
            ("usize", ArgType::Number(ScalarType::S64)),
            ("Scene", ArgType::Bytes(12)),
        ] {
            let refused = refused(ty, arg).unwrap();
            assert!(refused.starts_with(all), "{ty}: {refused}");
        }
    }
}
