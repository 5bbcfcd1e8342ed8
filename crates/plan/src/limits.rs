//! The sizes that a plan cannot exceed.

/// Devices have numbers below this.
pub const MAX_DEVICES: u32 = 1 << 16;

/// The maximum number of launches, copies and fills of a plan: a second of launches alone.
pub(crate) const MAX_COMMANDS: usize = 1 << 20;

/// The maximum number of arguments of one launch. A kernel's parameters have no more than 4 KiB
/// together.
pub(crate) const MAX_ARGS: usize = 1 << 10;

/// The maximum number of arguments of all launches together.
pub(crate) const MAX_ARGS_TOGETHER: usize = 1 << 24;

/// The maximum length of a name in bytes: of a plan, a buffer, an output or a kernel. `#[kernel]`
/// has the same limit.
pub(crate) const MAX_NAME_BYTES: usize = 200;

/// The maximum number of parts of a buffer.
pub(crate) const MAX_PARTS: usize = 1 << 12;

/// The maximum number of scattered buffers of a plan.
pub(crate) const MAX_SCATTERED: usize = 1 << 10;
