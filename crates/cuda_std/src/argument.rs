//! The types that a kernel takes by value.

/// A type whose bits the host copies into a kernel's parameter, or into the elements of a slice:
/// any that is `Copy`. `#[kernel]` asks for it.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take `{Self}`, which is not `Copy`: the host copies the bits of an argument",
    label = "not `Copy`",
    note = "derive it for a type of your own: `#[derive(Clone, Copy)]`, and `#[repr(C)]` for its layout",
    note = "`Vec`, `Box` and `String` hold an address of the host's memory: take `&[T]`, and pass a buffer"
)]
pub trait KernelArgument {}

// Otherwise the message would be about `Copy` alone.
#[diagnostic::do_not_recommend]
impl<T: Copy> KernelArgument for T {}
