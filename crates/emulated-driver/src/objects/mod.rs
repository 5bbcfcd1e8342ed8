//! The objects that a program has handles of. They are data, and know nothing of the driver.

pub(crate) mod branch;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod graph;
pub(crate) mod graph_memory;
pub(crate) mod late;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod order;
pub(crate) mod reference;
pub(crate) mod stream;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod user_object;
pub(crate) mod work;

/// An opaque handle: context, stream, function, and so on. They are numbers, not addresses, so that
/// a wrong one is an error.
pub(crate) type Handle = usize;

/// A function of the program, which a stream or the end of an object calls.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut std::ffi::c_void);
