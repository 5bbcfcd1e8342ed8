//! Large vectors of values that follow from their index.

use rayon::prelude::*;

use device::buffer::{BufferError, Scalar};

pub(crate) use device::buffer::{reserved, zeros};

/// Elements of one parallel task.
pub(crate) const TASK: usize = 1 << 16;

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

/// A copy of the elements, made on all cores.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn copied<T: Scalar + Send + Sync>(values: &[T]) -> Result<Vec<T>, BufferError> {
    filled(values.len(), |index| values[index])
}
