//! Large vectors of values that follow from their index.

use rayon::prelude::*;

use crate::buffer::{BufferError, Scalar};
use crate::memory::has_room;

/// Elements of one parallel task.
const TASK: usize = 1 << 16;

/// `len` elements, computed on all cores.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn filled<T: Scalar + Send>(
    len: usize,
    element: impl Fn(usize) -> T + Send + Sync,
) -> Result<Vec<T>, BufferError> {
    let mut values = reserved(len)?;
    (0..len)
        .into_par_iter()
        .with_min_len(TASK)
        .map(element)
        .collect_into_vec(&mut values);
    Ok(values)
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
    Ok(values)
}

/// `len` zeros.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn zeros<T: Scalar>(len: usize) -> Result<Vec<T>, BufferError> {
    let mut values = reserved(len)?;
    values.resize(len, T::zeroed());
    Ok(values)
}

/// The same elements again.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn copied<T: Scalar>(values: &[T]) -> Result<Vec<T>, BufferError> {
    let mut copy = reserved(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}
