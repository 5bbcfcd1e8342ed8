//! Advice where memory is short: the largest case that fits.

use device::DeviceError;
use device::memory::available_bytes;
use device::{BufferError, Error};
use lab::{Lab, Variant};

use exit::CommandError;

/// The host holds a case about so often at once: inputs, the reference's fields, what is expected,
/// what was read.
const HOST_COPIES: u64 = 4;

/// Bytes that a plan's buffers may have instead, if the error is of memory that is short.
pub fn room_bytes(error: &Error) -> Option<u64> {
    match error {
        Error::Device(DeviceError::OutOfMemory { free_bytes, .. }) => Some(*free_bytes),
        Error::Buffer(BufferError::OutOfMemory { .. }) => Some(available_bytes()? / HOST_COPIES),
        _ => None,
    }
}

/// The error's text; if memory is short, with the largest case that fits: with this variant, or
/// with the lab's own buffers alone.
pub fn explained(error: &Error, lab: &Lab, variant: Option<&Variant>) -> String {
    let fits = room_bytes(error).and_then(|bytes| lab.largest_within(variant, bytes));
    match fits {
        Some(fits) => format!("{error}; what fits: {fits}"),
        None => error.to_string(),
    }
}

/// The error that ends a command; where the machine is at fault, with the text of [`explained`].
pub fn failure(error: Error, lab: &Lab, variant: Option<&Variant>) -> CommandError {
    let text = explained(&error, lab, variant);
    match CommandError::from(error) {
        CommandError::Environment(_) => CommandError::Environment(text),
        other => other,
    }
}
