//! Typed, contiguous host memory, which is written to a device's buffers and read back from them.

use bytemuck::Pod;
use rayon::prelude::*;
use thiserror::Error;

use crate::memory::{has_room, prefer_large_pages};

pub use plan::Element;

/// Bytes of one parallel task: a whole number of elements of any type.
const TASK_BYTES: usize = 1 << 20;

/// A Rust type that a buffer can hold.
pub trait Scalar: Pod {
    /// Its name in a plan.
    const ELEMENT: Element;
}

/// Buffers with their names in a plan.
pub type NamedBuffers = Vec<(String, HostBuffer)>;

/// Buffers with these names.
pub fn named<const N: usize>(buffers: [(&str, HostBuffer); N]) -> NamedBuffers {
    let named = buffers.map(|(name, buffer)| (name.to_owned(), buffer));
    named.into()
}

/// The elements of the buffer of this name.
///
/// # Errors
///
/// [`BufferError::Missing`], [`BufferError::WrongElement`].
pub fn elements<'b, T: Scalar>(
    buffers: &'b NamedBuffers,
    name: &str,
) -> Result<&'b [T], BufferError> {
    let named = buffers.iter().find(|(other, _)| other == name);
    let (_, buffer) = named.ok_or_else(|| BufferError::Missing {
        name: name.to_owned(),
    })?;
    buffer.as_slice()
}

/// Removes the buffer of this name.
///
/// # Errors
///
/// [`BufferError::Missing`].
pub fn take(buffers: &mut NamedBuffers, name: &str) -> Result<HostBuffer, BufferError> {
    let position = buffers
        .iter()
        .position(|(other, _)| other == name)
        .ok_or_else(|| BufferError::Missing {
            name: name.to_owned(),
        })?;
    Ok(buffers.swap_remove(position).1)
}

/// Copies of those buffers that `is_wanted` names.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn copies(
    buffers: &NamedBuffers,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<NamedBuffers, BufferError> {
    let wanted = buffers.iter().filter(|(name, _)| is_wanted(name));
    wanted
        .map(|(name, buffer)| Ok((name.clone(), buffer.copied()?)))
        .collect()
}

/// Frees the buffers, on as many cores as there are buffers: the system takes a while to take back
/// gigabytes.
pub fn free(buffers: NamedBuffers) {
    buffers.into_par_iter().for_each(drop);
}

/// Adds the buffers, and replaces those of the same names.
pub fn replace(buffers: &mut NamedBuffers, with: NamedBuffers) {
    for (name, buffer) in with {
        match buffers.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = buffer,
            None => buffers.push((name, buffer)),
        }
    }
}

/// A host buffer that does not fit its use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BufferError {
    /// The elements have another type.
    #[error("a buffer of {actual} was read as {asked}")]
    WrongElement {
        /// The buffer's type.
        actual: Element,
        /// The type asked for.
        asked: Element,
    },
    /// The bytes are not a whole number of elements.
    #[error("{bytes} bytes are not a whole number of {element} elements ({} bytes each)", element.size())]
    RaggedBytes {
        /// How many bytes there are.
        bytes: usize,
        /// The type that they should have.
        element: Element,
    },
    /// No buffer has this name.
    #[error("there is no buffer `{name}`")]
    Missing {
        /// As asked for.
        name: String,
    },
    /// The host has no memory for it.
    #[error("out of host memory: {len} elements of {element} ({} bytes); use a smaller case", *len as u128 * element.size() as u128)]
    OutOfMemory {
        /// Elements asked for.
        len: usize,
        /// Their type.
        element: Element,
    },
}

/// An owned array of one [`Element`] type.
#[derive(Debug, Clone, PartialEq)]
pub struct HostBuffer {
    data: Data,
}

macro_rules! elements {
    ($($variant:ident $type:ty),* $(,)?) => {
        #[derive(Debug, Clone, PartialEq)]
        enum Data {
            $($variant(Vec<$type>),)*
        }

        $(
            impl Scalar for $type {
                const ELEMENT: Element = Element::$variant;
            }

            impl From<Vec<$type>> for HostBuffer {
                fn from(values: Vec<$type>) -> HostBuffer {
                    HostBuffer { data: Data::$variant(values) }
                }
            }

            impl TryFrom<HostBuffer> for Vec<$type> {
                type Error = BufferError;

                fn try_from(buffer: HostBuffer) -> Result<Vec<$type>, BufferError> {
                    match buffer.data {
                        Data::$variant(values) => Ok(values),
                        _ => Err(BufferError::WrongElement {
                            actual: buffer.element(),
                            asked: Element::$variant,
                        }),
                    }
                }
            }
        )*

        impl HostBuffer {
            /// `len` elements whose bytes are all 0.
            ///
            /// # Errors
            ///
            /// [`BufferError::OutOfMemory`].
            pub fn zeroed(element: Element, len: usize) -> Result<HostBuffer, BufferError> {
                match element {
                    $(Element::$variant => {
                        let values: Vec<$type> = zeros(len)?;
                        Ok(values.into())
                    })*
                }
            }

            /// The type of the elements.
            pub fn element(&self) -> Element {
                match &self.data {
                    $(Data::$variant(_) => Element::$variant,)*
                }
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                match &self.data {
                    $(Data::$variant(values) => values.len(),)*
                }
            }

            /// The elements' bytes, in the machine's byte order (little-endian on every CUDA host).
            pub fn bytes(&self) -> &[u8] {
                match &self.data {
                    $(Data::$variant(values) => bytemuck::cast_slice(values),)*
                }
            }

            /// The elements' bytes, to be written.
            pub fn bytes_mut(&mut self) -> &mut [u8] {
                match &mut self.data {
                    $(Data::$variant(values) => bytemuck::cast_slice_mut(values),)*
                }
            }
        }
    };
}

elements!(F32 f32, F64 f64, U32 u32, I32 i32, U64 u64, I64 i64, U8 u8);

impl HostBuffer {
    /// A buffer with these bytes.
    ///
    /// # Errors
    ///
    /// [`BufferError::RaggedBytes`] if they are not a whole number of elements;
    /// [`BufferError::OutOfMemory`].
    pub fn from_bytes(element: Element, bytes: &[u8]) -> Result<HostBuffer, BufferError> {
        if !bytes.len().is_multiple_of(element.size()) {
            return Err(BufferError::RaggedBytes {
                bytes: bytes.len(),
                element,
            });
        }
        let mut buffer = HostBuffer::zeroed(element, bytes.len() / element.size())?;
        buffer.bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }

    /// A copy of the elements, made on all cores.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn copied(&self) -> Result<HostBuffer, BufferError> {
        let mut copy = HostBuffer::zeroed(self.element(), self.len())?;
        copy.bytes_mut()
            .par_chunks_mut(TASK_BYTES)
            .zip(self.bytes().par_chunks(TASK_BYTES))
            .for_each(|(to, from)| to.copy_from_slice(from));
        Ok(copy)
    }

    /// Whether both hold the same type, and the same bits; compared on all cores.
    pub fn is_same(&self, other: &HostBuffer) -> bool {
        let chunks = |buffer| HostBuffer::bytes(buffer).par_chunks(TASK_BYTES);
        (self.element(), self.len()) == (other.element(), other.len())
            && chunks(self).zip(chunks(other)).all(|(a, b)| a == b)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements.
    ///
    /// # Errors
    ///
    /// [`BufferError::WrongElement`] if they are not of type `T`.
    pub fn as_slice<T: Scalar>(&self) -> Result<&[T], BufferError> {
        self.expect_element(T::ELEMENT)?;
        Ok(bytemuck::cast_slice(self.bytes()))
    }

    /// The elements, to be changed.
    ///
    /// # Errors
    ///
    /// [`BufferError::WrongElement`] if they are not of type `T`.
    pub fn as_mut_slice<T: Scalar>(&mut self) -> Result<&mut [T], BufferError> {
        self.expect_element(T::ELEMENT)?;
        Ok(bytemuck::cast_slice_mut(self.bytes_mut()))
    }

    fn expect_element(&self, asked: Element) -> Result<(), BufferError> {
        let actual = self.element();
        if actual == asked {
            Ok(())
        } else {
            Err(BufferError::WrongElement { actual, asked })
        }
    }
}

/// An empty vector with room for `len` elements.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn reserved<T: Scalar>(len: usize) -> Result<Vec<T>, BufferError> {
    let refused = || BufferError::OutOfMemory {
        len,
        element: T::ELEMENT,
    };
    if !has_room(len as u128 * size_of::<T>() as u128) {
        return Err(refused());
    }
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| refused())?;
    prefer_large_pages(&values);
    Ok(values)
}

/// `len` zeros.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn zeros<T: Scalar>(len: usize) -> Result<Vec<T>, BufferError> {
    let refused = || BufferError::OutOfMemory {
        len,
        element: T::ELEMENT,
    };
    if !has_room(len as u128 * size_of::<T>() as u128) {
        return Err(refused());
    }
    // Pages that the system has zeroed are not written again: buffers of gigabytes are made for
    // every run.
    let values = bytemuck::try_zeroed_vec(len).map_err(|()| refused())?;
    prefer_large_pages(&values);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let buffer = HostBuffer::from(vec![1.5f64, -0.0, f64::NAN]);
        let copy = HostBuffer::from_bytes(Element::F64, buffer.bytes()).unwrap();
        assert_eq!(copy.bytes(), buffer.bytes());
        assert_eq!((copy.element(), copy.len()), (Element::F64, 3));
    }

    #[test]
    fn another_type_is_refused() {
        let mut buffer = HostBuffer::from(vec![1u32, 2]);
        assert_eq!(buffer.as_slice::<u32>().unwrap(), [1, 2]);
        let wrong = BufferError::WrongElement {
            actual: Element::U32,
            asked: Element::F32,
        };
        assert_eq!(buffer.as_slice::<f32>().unwrap_err(), wrong);
        assert_eq!(buffer.as_mut_slice::<f32>().unwrap_err(), wrong);
    }

    #[test]
    fn ragged_bytes_are_refused() {
        let error = HostBuffer::from_bytes(Element::U64, &[0; 12]).unwrap_err();
        insta::assert_snapshot!(error, @"12 bytes are not a whole number of u64 elements (8 bytes each)");
    }

    #[test]
    fn absurd_sizes_are_an_error() {
        let error = HostBuffer::zeroed(Element::F64, usize::MAX / 2).unwrap_err();
        insta::assert_snapshot!(error, @"out of host memory: 9223372036854775807 elements of f64 (73786976294838206456 bytes); use a smaller case");
    }
}
