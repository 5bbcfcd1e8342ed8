//! The arguments of a launch, checked against the kernel's parameters.
//!
//! PTX knows how wide a parameter is, and whether it is a float, an integer or a pointer. Of what a
//! pointer points to it knows the alignment alone.

use crate::program::{Function, Param, ParamType};
use crate::types::ScalarType;

/// The type of an argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// A pointer, to elements of any type. It fills one parameter.
    Pointer,
    /// A slice of such elements. It fills two parameters: pointer and number of elements, of 64
    /// bits each.
    Slice(Element),
    /// A number: an integer or a float.
    Number(ScalarType),
    /// A structure of this many bytes, passed by value.
    Bytes(u64),
}

/// The elements of a slice.
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
    #[error("{}", count(*args, *filled, *params))]
    Count {
        /// Arguments.
        args: usize,
        /// Parameters that they fill.
        filled: usize,
        /// Parameters of the kernel.
        params: usize,
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
fn count(args: usize, filled: usize, params: usize) -> String {
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
    /// Checks the arguments of a launch of this kernel.
    ///
    /// # Errors
    /// [`ArgsError::Count`], else [`ArgsError::Type`] of the first argument that does not fit.
    pub fn check_args(&self, args: &[ArgType]) -> Result<(), ArgsError> {
        let filled: usize = args.iter().map(|arg| arg.values().count()).sum();
        if filled != self.params.len() {
            return Err(ArgsError::Count {
                args: args.len(),
                filled,
                params: self.params.len(),
            });
        }
        let given = args
            .iter()
            .enumerate()
            .flat_map(|(position, arg)| arg.values().map(move |value| (position, value)));
        for ((position, (given, bytes)), (index, param)) in
            given.zip(self.params.iter().enumerate())
        {
            let takes = param.kind();
            let fits = match given {
                Kind::Pointer => matches!(takes, Kind::Pointer | Kind::Integer | Kind::Bits),
                Kind::Bytes => takes == Kind::Bytes,
                number => takes == number || takes == Kind::Bits,
            };
            let arg = &args[position];
            let wrong = |arg, expected| ArgsError::Type {
                position,
                arg,
                param: index,
                expected,
            };
            if !fits || bytes != u64::from(param.size()) {
                return Err(wrong(arg.describe(given), param.describe()));
            }
            if given == Kind::Pointer
                && let Some((given, expected)) = arg.other_elements(param)
            {
                return Err(wrong(given, expected));
            }
        }
        Ok(())
    }
}

impl ArgType {
    /// The one or two parameters that it fills: kind, and size in bytes.
    fn values(&self) -> impl Iterator<Item = (Kind, u64)> + use<> {
        let (first, second) = match *self {
            ArgType::Pointer => ((Kind::Pointer, 8), None),
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
            (ArgType::Slice(_), _) => "a slice, whose length (u64) comes second".to_owned(),
            (ArgType::Pointer, _) => "a buffer".to_owned(),
            (ArgType::Bytes(size), _) => format!("a structure of {}", bytes(*size)),
            (ArgType::Number(ty), _) => ty.name().replace('s', "i"),
        }
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
