//! Typed arguments of launches, and the typed buffers that they point to.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::panic::Location;

use bytemuck::Pod;
use ptx::{ArgType, ArgsError, Element, Function, ScalarType};

use crate::machine::{InvalidCopy, Machine};
use crate::memory::global::OutOfMemory;

/// Elements in the memory of a [`Machine`]: see [`Machine::buffer`].
///
/// Two copies of it are the same memory, which lives as long as the machine, or until
/// [`Machine::free`] with its address.
#[derive(Debug)]
pub struct Buffer<T> {
    address: u64,
    len: usize,
    elements: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl Machine {
    /// Device memory with a copy of these elements. Messages name it by the line of this call.
    ///
    /// # Errors
    /// If the device does not have that much memory left.
    #[track_caller]
    pub fn buffer<T: Pod>(&mut self, elements: &[T]) -> Result<Buffer<T>, OutOfMemory> {
        let buffer = self.uninitialized(elements.len())?;
        let written = self.write(buffer.address, bytemuck::cast_slice(elements));
        written.expect("the buffer has room for its elements");
        Ok(buffer)
    }

    /// Device memory for `len` elements. A kernel that reads one before it writes it is at fault.
    /// Messages name the memory by the line of this call.
    ///
    /// # Errors
    /// If the device does not have that much memory left.
    #[track_caller]
    pub fn uninitialized<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>, OutOfMemory> {
        let at = Location::caller();
        let element = short_name::<T>();
        let name = format!("{len} x {element} of {}:{}", at.file(), at.line());
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        Ok(Buffer {
            address: self.allocate(bytes, &name)?,
            len,
            elements: PhantomData,
        })
    }
}

impl<T> Buffer<T> {
    /// The address of its first element.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its elements as a Rust slice, `&[T]` of the kernel: two parameters of the PTX entry, pointer
    /// and number of elements.
    pub fn slice(&self) -> Arg {
        let mut bytes = self.address.to_le_bytes().to_vec();
        bytes.extend((self.len as u64).to_le_bytes());
        Arg {
            ty: ArgType::Slice(element::<T>()),
            bytes,
        }
    }

    /// A pointer to one of its elements, or to the end.
    ///
    /// # Panics
    /// If `index` exceeds the number of elements.
    pub fn at(&self, index: usize) -> Arg {
        assert!(
            index <= self.len,
            "element {index} of a buffer of {}",
            self.len
        );
        let address = self.address + (index * size_of::<T>()) as u64;
        Arg {
            ty: ArgType::Pointer(element::<T>()),
            bytes: address.to_le_bytes().to_vec(),
        }
    }
}

impl<T: Pod> Buffer<T> {
    /// Copies the elements to the host. Those that nothing has written are zero.
    ///
    /// # Errors
    /// If the buffer is not one of this machine, or was freed.
    pub fn to_vec(&self, machine: &Machine) -> Result<Vec<T>, InvalidCopy> {
        let mut elements = vec![T::zeroed(); self.len];
        machine.read(self.address, bytemuck::cast_slice_mut(&mut elements))?;
        Ok(elements)
    }
}

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    ty: ArgType,
    /// The values of its parameters, one after the other.
    bytes: Vec<u8>,
}

impl Arg {
    /// A `#[repr(C)]` structure passed by value.
    pub fn structure<T: Pod>(value: T) -> Arg {
        Arg {
            ty: ArgType::Bytes(size_of::<T>() as u64),
            bytes: bytemuck::bytes_of(&value).to_vec(),
        }
    }

    fn number(ty: ScalarType, bytes: &[u8]) -> Arg {
        Arg {
            ty: ArgType::Number(ty),
            bytes: bytes.to_vec(),
        }
    }
}

/// A pointer to the first element.
impl<T> From<&Buffer<T>> for Arg {
    fn from(buffer: &Buffer<T>) -> Arg {
        buffer.at(0)
    }
}

/// A pointer to the first element, as plans pass it.
impl<T> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Arg {
        buffer.at(0)
    }
}

macro_rules! numbers {
    ($($type:ty = $name:ident),* $(,)?) => {
        $(impl From<$type> for Arg {
            fn from(value: $type) -> Arg {
                Arg::number(ScalarType::$name, &value.to_le_bytes())
            }
        })*
    };
}

numbers!(
    u8 = U8,
    u16 = U16,
    u32 = U32,
    u64 = U64,
    usize = U64,
    i8 = S8,
    i16 = S16,
    i32 = S32,
    i64 = S64,
    isize = S64,
    f32 = F32,
    f64 = F64
);

/// As a byte.
impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        u8::from(value).into()
    }
}

/// The arguments of a launch, each through `Into<`[`Arg`]`>`: a number by value, `&buffer` as a
/// pointer, `buffer.slice()` as a Rust slice, `buffer.at(4)` as a pointer to an element,
/// [`Arg::structure`] by value.
///
/// ```
/// # use ptx_emu::{Machine, args};
/// # let mut machine = Machine::default();
/// let x = machine.buffer(&[1.0f32; 8])?;
/// let y = machine.uninitialized::<f32>(8)?;
/// let all = args![2.0f32, x.slice(), &y, y.at(4), 8u32];
/// assert_eq!(all.len(), 5);
/// # Ok::<(), ptx_emu::OutOfMemory>(())
/// ```
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        [$($crate::Arg::from($arg)),*]
    };
}

/// The parameters of a launch: arguments of [`args!`], which are checked against the kernel's, or
/// the bytes of the parameter block, each parameter at its offset in the kernel's signature,
/// little-endian.
pub trait Params {
    /// The parameter block for this kernel.
    ///
    /// # Errors
    /// Arguments that do not fit the kernel's parameters.
    fn block(&self, kernel: &Function) -> Result<Cow<'_, [u8]>, ArgsError>;
}

impl Params for [Arg] {
    fn block(&self, kernel: &Function) -> Result<Cow<'_, [u8]>, ArgsError> {
        let types: Vec<ArgType> = self.iter().map(|arg| arg.ty).collect();
        kernel.check_args(&types)?;
        let mut block = vec![0; kernel.kernel_param_bytes as usize];
        let mut values = self.iter().flat_map(|arg| &arg.bytes);
        for param in &kernel.params {
            let place = &mut block[param.offset as usize..][..param.size() as usize];
            for (byte, value) in place.iter_mut().zip(values.by_ref()) {
                *byte = *value;
            }
        }
        Ok(block.into())
    }
}

impl Params for [u8] {
    fn block(&self, _kernel: &Function) -> Result<Cow<'_, [u8]>, ArgsError> {
        Ok(self.into())
    }
}

impl<T, const N: usize> Params for [T; N]
where
    [T]: Params,
{
    fn block(&self, kernel: &Function) -> Result<Cow<'_, [u8]>, ArgsError> {
        self.as_slice().block(kernel)
    }
}

impl<T> Params for Vec<T>
where
    [T]: Params,
{
    fn block(&self, kernel: &Function) -> Result<Cow<'_, [u8]>, ArgsError> {
        self.as_slice().block(kernel)
    }
}

impl<P: Params + ?Sized> Params for &P {
    fn block(&self, kernel: &Function) -> Result<Cow<'_, [u8]>, ArgsError> {
        (**self).block(kernel)
    }
}

fn element<T>() -> Element {
    Element {
        name: short_name::<T>(),
        align: align_of::<T>() as u32,
    }
}

/// The type's name without the modules in front of it.
fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    if name.contains('<') {
        name
    } else {
        name.rsplit("::").next().unwrap_or(name)
    }
}
