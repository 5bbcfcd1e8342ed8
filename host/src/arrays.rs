//! The arrays of a case as a plan's buffers of the same names.

use device::buffer::{NamedBuffers, elements, take};
use device::error::Error;
use device::{BufferError, HostBuffer};

use crate::fill::filled;

/// Gives a struct of arrays, whose fields have the names of their buffers, the ways from and to
/// these: `named_arrays!(Fields<T> of T { u0, u1 })`.
macro_rules! named_arrays {
    ($arrays:ident $(<$t:ident>)? of $element:ty { $($name:ident),+ }) => {
        impl $(<$t>)? $arrays $(<$t>)? {
            /// The arrays, each made from the name of its buffer.
            pub(crate) fn each(
                mut array: impl FnMut(&'static str) -> Result<Vec<$element>, device::Error>,
            ) -> Result<Self, device::Error> {
                Ok($arrays { $($name: array(stringify!($name))?),+ })
            }

            /// The buffers that hold them.
            pub(crate) fn into_buffers(self) -> device::NamedBuffers
            where
                device::HostBuffer: From<Vec<$element>>,
            {
                device::buffer::named([$((stringify!($name), self.$name.into())),+])
            }
        }
    };
}
pub(crate) use named_arrays;

/// The array of a buffer, which is taken out of the others.
pub fn taken<T>(buffers: &mut NamedBuffers, name: &str) -> Result<Vec<T>, Error>
where
    Vec<T>: TryFrom<HostBuffer, Error = BufferError>,
{
    Ok(take(buffers, name)?.try_into()?)
}

/// The numbers of a buffer of `f32`, in twice as many bits.
pub fn wide(buffers: &NamedBuffers, name: &str) -> Result<Vec<f64>, Error> {
    let values: &[f32] = elements(buffers, name)?;
    Ok(filled(values.len(), |index| values[index].into())?)
}
