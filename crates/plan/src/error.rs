//! Errors of recording a plan.

use thiserror::Error;

use crate::Element;
use crate::limits::MAX_NAME_BYTES;
use crate::nearest::shortened;

/// A plan that is invalid on every device. `place` names plan, command and kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Blocks cannot cover a size of 0, and blocks of size 0 cannot cover anything.
    #[error(
        "cannot cover {threads:?} threads with blocks of {block:?}: every extent must be at least 1"
    )]
    NothingToCover {
        /// Threads wanted.
        threads: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
    /// A buffer id of another plan.
    #[error(
        "{place}: {role} is a buffer of another plan; use the ids that this plan's `buffer` and `scratch` returned"
    )]
    ForeignBuffer {
        /// The place.
        place: String,
        /// Which argument, or which end of a copy.
        role: String,
    },
    /// A grid, block or cluster with an extent of 0.
    #[error("{place}: {what} {extents:?} is empty; every extent must be at least 1")]
    EmptyLaunch {
        /// The place.
        place: String,
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// As recorded.
        extents: [u32; 3],
    },
    /// A pointer past the buffer's end.
    #[error("{place}: {role} starts at element {offset} of buffer `{buffer}`, which has {len}")]
    OffsetOutOfBounds {
        /// The place.
        place: String,
        /// Which argument.
        role: String,
        /// The buffer's name.
        buffer: String,
        /// In elements.
        offset: u64,
        /// The buffer's elements.
        len: u64,
    },
    /// A slice past the buffer's end.
    #[error("{place}: {role} is elements {start}..{} of buffer `{buffer}`, which has {buffer_len}", u128::from(*start) + u128::from(*len))]
    SliceOutOfBounds {
        /// The place.
        place: String,
        /// Which argument.
        role: String,
        /// The buffer's name.
        buffer: String,
        /// First element.
        start: u64,
        /// How many elements.
        len: u64,
        /// The buffer's elements.
        buffer_len: u64,
    },
    /// A copy between buffers of different types.
    #[error(
        "{place}: source `{src}` holds {src_element}, destination `{dst}` holds {dst_element}; a copy needs the same type"
    )]
    CopyElement {
        /// The place.
        place: String,
        /// Source buffer.
        src: String,
        /// Its type.
        src_element: Element,
        /// Destination buffer.
        dst: String,
        /// Its type.
        dst_element: Element,
    },
    /// A whole-buffer copy between buffers of different sizes.
    #[error(
        "{place}: source `{src}` has {src_len} elements, destination `{dst}` has {dst_len}; copy a range with `copy_range`"
    )]
    CopySize {
        /// The place.
        place: String,
        /// Source buffer.
        src: String,
        /// Its elements.
        src_len: u64,
        /// Destination buffer.
        dst: String,
        /// Its elements.
        dst_len: u64,
    },
    /// A copy past the end of a buffer.
    #[error("{place}: elements {start}..{} of buffer `{buffer}` are out of bounds: it has {buffer_len}", u128::from(*start) + u128::from(*len))]
    CopyOutOfBounds {
        /// The place.
        place: String,
        /// The buffer.
        buffer: String,
        /// First element.
        start: u64,
        /// Elements copied.
        len: u64,
        /// The buffer's elements.
        buffer_len: u64,
    },
    /// A copy onto itself.
    #[error(
        "{place}: source elements {src_start}.. and destination elements {dst_start}.. ({len} each) of buffer `{buffer}` overlap; copy through a scratch buffer"
    )]
    CopyOverlap {
        /// The place.
        place: String,
        /// The buffer.
        buffer: String,
        /// First source element.
        src_start: u64,
        /// First destination element.
        dst_start: u64,
        /// Elements copied.
        len: u64,
    },
    /// A buffer without elements.
    #[error("plan `{plan}`: buffer `{buffer}` has 0 elements; every buffer needs at least 1")]
    EmptyBuffer {
        /// The plan.
        plan: String,
        /// The buffer.
        buffer: String,
    },
    /// A buffer whose size in bytes cannot be addressed.
    #[error("plan `{plan}`: buffer `{buffer}` of {len} {element} elements is too large: {} bytes; use a smaller case", u128::from(*len) * element.size() as u128)]
    BufferTooLarge {
        /// The plan.
        plan: String,
        /// The buffer.
        buffer: String,
        /// Its type.
        element: Element,
        /// Its elements.
        len: u64,
    },
    /// Two buffers, or two outputs, of the same name.
    #[error("plan `{plan}` has two {what}s named `{name}`; give each its own name")]
    DuplicateName {
        /// The plan.
        plan: String,
        /// `buffer` or `output`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that no message could quote.
    #[error(
        "plan `{}`: the name of {what}, `{}`, has {} bytes; names have at most {MAX_NAME_BYTES}",
        shortened(.plan), shortened(.name), .name.len()
    )]
    LongName {
        /// The plan.
        plan: String,
        /// `the plan`, `a kernel`, `a buffer` or `an output`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name with characters that a terminal would obey, or that reorder text.
    #[error(
        "plan `{}`: the name of {what}, `{}`, has control characters; write letters, digits and signs",
        .plan.escape_debug(), .name.escape_debug()
    )]
    ControlInName {
        /// The plan.
        plan: String,
        /// As in [`PlanError::LongName`].
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A command that names a buffer which has no memory of its own.
    #[error(
        "{place}: {role} is `{buffer}`, which is scattered over devices; use the part that the device has"
    )]
    ScatteredBuffer {
        /// The place.
        place: String,
        /// Which argument, or which end of a copy.
        role: String,
        /// The buffer.
        buffer: String,
    },
    /// A buffer that cannot be scattered so.
    #[error("plan `{plan}`: buffer `{buffer}` cannot be scattered: {reason}")]
    Scatter {
        /// The plan.
        plan: String,
        /// The buffer.
        buffer: String,
        /// The reason.
        reason: String,
    },
    /// A device with a number that no machine has.
    #[error(
        "plan `{plan}`: buffer `{buffer}` is on device {device}; devices have numbers below {}",
        crate::MAX_DEVICES
    )]
    DeviceNumber {
        /// The plan.
        plan: String,
        /// The buffer.
        buffer: String,
        /// Its device.
        device: u32,
    },
    /// Commands that are recorded as independent, and are not.
    #[error(transparent)]
    Dependent(#[from] Box<Dependence>),
    /// A name that no buffer has.
    #[error("plan `{plan}` has no {what} named `{name}`; {suggestion}")]
    UnknownName {
        /// The plan.
        plan: String,
        /// `buffer` or `output`.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The nearest name, or all of them.
        suggestion: String,
    },
    /// A plan with more commands or arguments than it may have.
    #[error("plan `{plan}` has more than {limit} {what}; let each launch do more")]
    TooLarge {
        /// The plan.
        plan: String,
        /// The kind of thing.
        what: &'static str,
        /// The maximum.
        limit: usize,
    },
    /// A problem that the solution does not support.
    #[error("the solution refuses this problem: {reason}")]
    Unsupported {
        /// The solution's reason.
        reason: String,
    },
    /// A saved plan that refers to what it does not have.
    #[error("saved plan `{plan}` is broken: {reason}")]
    Malformed {
        /// The plan.
        plan: String,
        /// The reason.
        reason: String,
    },
}

impl PlanError {
    /// For a solution that does not support a problem.
    pub fn unsupported(reason: impl Into<String>) -> PlanError {
        PlanError::Unsupported {
            reason: reason.into(),
        }
    }
}

/// Two commands of a plan that are recorded as independent, with
/// [`Plan::independent`](crate::Plan::independent), though one writes what the other accesses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "plan `{plan}`: {} and {} are recorded as independent, but {}; record them one after the other",
    .commands[0], .commands[1], self.conflict()
)]
pub struct Dependence {
    /// The plan.
    pub plan: String,
    /// The two commands in the plan's order, as [`Plan::describe`](crate::Plan::describe) has them.
    pub commands: [String; 2],
    /// The buffer.
    pub buffer: String,
    /// The first element found that both access.
    pub element: u64,
    /// Which of them writes it; the other, if not both, reads it.
    pub writes: [bool; 2],
}

impl Dependence {
    fn conflict(&self) -> String {
        let element = format!("element {} of buffer `{}`", self.element, self.buffer);
        match self.writes {
            [true, true] => format!("both write {element}"),
            [true, false] => format!("the first writes {element}, which the second reads"),
            [false, _] => format!("the first reads {element}, which the second writes"),
        }
    }
}
