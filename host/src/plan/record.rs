//! Recording a plan.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::serial::SavedPlan;
use super::{Arg, BufferId, LaunchConfig, PlanError};
use crate::buffer::Element;
use crate::nearest::suggestion;

/// Who a buffer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Written by the caller before a run, read after it.
    Io,
    /// The plan's own; its contents before a run are undefined.
    Scratch,
}

/// A buffer that the plan needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Unique in the plan.
    pub name: String,
    /// What its elements are.
    pub element: Element,
    /// How many there are.
    pub len: u64,
    /// Who it is for.
    pub role: Role,
}

impl Buffer {
    /// Size in bytes.
    ///
    /// # Panics
    ///
    /// If it does not fit 64 bits: [`Plan::check`] refuses such a buffer first.
    pub fn bytes(&self) -> u64 {
        self.checked_bytes().expect("a checked plan")
    }

    fn checked_bytes(&self) -> Option<u64> {
        self.len
            .checked_mul(self.element.size() as u64)
            .filter(|&bytes| bytes <= isize::MAX as u64)
    }
}

/// A kernel launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch<'p> {
    /// The kernel's name in the PTX.
    pub kernel: &'p str,
    /// The same name as a small number: position in [`Plan::kernels`].
    pub kernel_index: usize,
    /// Grid, block, shared memory.
    pub config: LaunchConfig,
    /// In the order of the kernel's parameters.
    pub args: &'p [Arg],
}

/// A copy from one buffer to another, or within one; the two ranges do not overlap. In elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// Source.
    pub src: BufferId,
    /// First element read.
    pub src_start: u64,
    /// Destination; of the same type.
    pub dst: BufferId,
    /// First element written.
    pub dst_start: u64,
    /// How many elements.
    pub len: u64,
}

/// A whole buffer set to one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Destination.
    pub dst: BufferId,
    /// Value of each of its bytes.
    pub byte: u8,
}

/// One step of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'p> {
    /// A kernel launch.
    Launch(Launch<'p>),
    /// A copy between buffers.
    Copy(Copy),
    /// A buffer set to one byte.
    Fill(Fill),
}

/// A command as it is stored: names and arguments are kept once, aside, so that thousands are cheap.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored {
    Launch {
        kernel: u32,
        config: LaunchConfig,
        args: Range<u32>,
    },
    Copy(Copy),
    Fill(Fill),
}

/// Buffers, launches and copies, in order. See the [module](super)'s documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedPlan", into = "SavedPlan")]
pub struct Plan {
    /// Never 0, and unlike every other plan's in this process (but for clones, which have the same buffers).
    tag: u64,
    name: String,
    buffers: Vec<Buffer>,
    outputs: Vec<(String, BufferId)>,
    kernels: Vec<String>,
    kernel_index: HashMap<String, u32>,
    pub(super) commands: Vec<Stored>,
    pub(super) args: Vec<Arg>,
}

impl Plan {
    /// An empty plan.
    pub fn new(name: impl Into<String>) -> Plan {
        static NEXT_TAG: AtomicU64 = AtomicU64::new(1);
        Plan {
            tag: NEXT_TAG.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            buffers: Vec::new(),
            outputs: Vec::new(),
            kernels: Vec::new(),
            kernel_index: HashMap::new(),
            commands: Vec::new(),
            args: Vec::new(),
        }
    }

    /// Declares a buffer that the caller writes before a run and reads after it.
    ///
    /// Its name must be unique and its length at least 1, which [`Plan::check`] sees to.
    pub fn buffer(&mut self, name: impl Into<String>, element: Element, len: usize) -> BufferId {
        self.declare(name.into(), element, len as u64, Role::Io)
    }

    /// Declares a buffer whose contents are undefined before a run.
    pub fn scratch(&mut self, name: impl Into<String>, element: Element, len: usize) -> BufferId {
        self.declare(name.into(), element, len as u64, Role::Scratch)
    }

    pub(super) fn declare(
        &mut self,
        name: String,
        element: Element,
        len: u64,
        role: Role,
    ) -> BufferId {
        let index = u32::try_from(self.buffers.len()).expect("fewer than 2^32 buffers");
        self.buffers.push(Buffer {
            name,
            element,
            len,
            role,
        });
        BufferId {
            plan: self.tag,
            index,
        }
    }

    /// Declares that after a run this buffer holds the result of this name.
    pub fn output(&mut self, name: impl Into<String>, id: BufferId) {
        self.outputs.push((name.into(), id));
    }

    /// Records a launch.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: an empty grid or block, a buffer of another plan, an offset past a buffer's end.
    pub fn launch(
        &mut self,
        kernel: &str,
        config: LaunchConfig,
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("launch of `{kernel}`"));
        for (what, extents) in [("grid", config.grid), ("block", config.block)] {
            if extents.contains(&0) {
                return Err(PlanError::EmptyLaunch {
                    place: place(),
                    what,
                    extents,
                });
            }
        }
        let start = self.args.len();
        self.args.extend(args);
        if let Err(error) = self.check_args(start, kernel) {
            self.args.truncate(start);
            return Err(error);
        }
        let end = u32::try_from(self.args.len()).expect("fewer than 2^32 arguments");
        let kernel = self.intern(kernel);
        self.commands.push(Stored::Launch {
            kernel,
            config,
            args: start as u32..end,
        });
        Ok(())
    }

    fn check_args(&self, start: usize, kernel: &str) -> Result<(), PlanError> {
        for (position, arg) in self.args[start..].iter().enumerate() {
            let Some(id) = arg.buffer() else { continue };
            let place = || self.place(self.commands.len(), format_args!("launch of `{kernel}`"));
            let role = || format!("argument {position}");
            let buffer = self.own(id, place, role)?;
            match *arg {
                Arg::BufferAt { offset, .. } if offset > buffer.len => {
                    return Err(PlanError::OffsetOutOfBounds {
                        place: place(),
                        role: role(),
                        buffer: buffer.name.clone(),
                        offset,
                        len: buffer.len,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn intern(&mut self, kernel: &str) -> u32 {
        if let Some(&index) = self.kernel_index.get(kernel) {
            return index;
        }
        let index = u32::try_from(self.kernels.len()).expect("fewer than 2^32 kernels");
        self.kernels.push(kernel.to_owned());
        self.kernel_index.insert(kernel.to_owned(), index);
        index
    }

    /// Records a copy of a whole buffer to another of the same type and size.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: types or sizes that differ, a buffer of another plan, a copy onto itself.
    pub fn copy(&mut self, src: BufferId, dst: BufferId) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("copy"));
        let from = self.own(src, place, || "the source".to_owned())?;
        let to = self.own(dst, place, || "the destination".to_owned())?;
        if from.element == to.element && from.len != to.len {
            return Err(PlanError::CopySize {
                place: place(),
                src: from.name.clone(),
                src_len: from.len,
                dst: to.name.clone(),
                dst_len: to.len,
            });
        }
        let len = from.len;
        self.copy_range(src, 0, dst, 0, len)
    }

    /// Records a copy of `len` elements from element `src_start` of one buffer to element `dst_start` of another, or
    /// of the same one if the two ranges do not overlap. A copy of 0 elements records nothing.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: types that differ, ranges past a buffer's end or overlapping, a buffer of another plan.
    pub fn copy_range(
        &mut self,
        src: BufferId,
        src_start: u64,
        dst: BufferId,
        dst_start: u64,
        len: u64,
    ) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("copy"));
        let from = self.own(src, place, || "the source".to_owned())?;
        let to = self.own(dst, place, || "the destination".to_owned())?;
        if from.element != to.element {
            return Err(PlanError::CopyElement {
                place: place(),
                src: from.name.clone(),
                src_element: from.element,
                dst: to.name.clone(),
                dst_element: to.element,
            });
        }
        for (buffer, start) in [(from, src_start), (to, dst_start)] {
            if start.checked_add(len).is_none_or(|end| end > buffer.len) {
                return Err(PlanError::CopyOutOfBounds {
                    place: place(),
                    buffer: buffer.name.clone(),
                    start,
                    len,
                    buffer_len: buffer.len,
                });
            }
        }
        if len == 0 {
            return Ok(());
        }
        if src == dst && src_start.abs_diff(dst_start) < len {
            return Err(PlanError::CopyOverlap {
                place: place(),
                buffer: from.name.clone(),
                src_start,
                dst_start,
                len,
            });
        }
        self.commands.push(Stored::Copy(Copy {
            src,
            src_start,
            dst,
            dst_start,
            len,
        }));
        Ok(())
    }

    /// Records that every byte of a buffer is set to `byte`.
    ///
    /// # Errors
    ///
    /// [`PlanError::ForeignBuffer`].
    pub fn fill(&mut self, dst: BufferId, byte: u8) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("fill"));
        self.own(dst, place, || "the destination".to_owned())?;
        self.commands.push(Stored::Fill(Fill { dst, byte }));
        Ok(())
    }

    /// The plan's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its buffers, in the order of declaration.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The ids of its buffers, in the order of declaration.
    pub fn buffer_ids(&self) -> impl Iterator<Item = BufferId> + use<> {
        let plan = self.tag;
        (0..self.buffers.len() as u32).map(move |index| BufferId { plan, index })
    }

    /// What a buffer is.
    ///
    /// # Errors
    ///
    /// [`PlanError::ForeignBuffer`] if it belongs to another plan.
    pub fn buffer_info(&self, id: BufferId) -> Result<&Buffer, PlanError> {
        self.own(
            id,
            || format!("plan `{}`", self.name),
            || "what was asked for".to_owned(),
        )
    }

    /// The buffer of this name.
    ///
    /// # Errors
    ///
    /// [`PlanError::UnknownName`], with the nearest name.
    pub fn find_buffer(&self, name: &str) -> Result<BufferId, PlanError> {
        self.buffer_ids()
            .find(|id| self.buffers[id.index()].name == name)
            .ok_or_else(|| {
                self.unknown("buffer", name, self.buffers.iter().map(|b| b.name.as_str()))
            })
    }

    /// Its results: their names, and the buffers that hold them after a run.
    pub fn outputs(&self) -> &[(String, BufferId)] {
        &self.outputs
    }

    /// The buffer that holds this result after a run.
    ///
    /// # Errors
    ///
    /// [`PlanError::UnknownName`], with the nearest name.
    pub fn find_output(&self, name: &str) -> Result<BufferId, PlanError> {
        self.outputs
            .iter()
            .find(|(output, _)| output == name)
            .map(|&(_, id)| id)
            .ok_or_else(|| {
                self.unknown("output", name, self.outputs.iter().map(|(o, _)| o.as_str()))
            })
    }

    /// The names of the kernels that it launches, each once.
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// What it does, in order.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = Command<'_>> {
        self.commands.iter().map(|stored| match stored {
            Stored::Launch {
                kernel,
                config,
                args,
            } => Command::Launch(Launch {
                kernel: &self.kernels[*kernel as usize],
                kernel_index: *kernel as usize,
                config: *config,
                args: &self.args[args.start as usize..args.end as usize],
            }),
            Stored::Copy(copy) => Command::Copy(*copy),
            Stored::Fill(fill) => Command::Fill(*fill),
        })
    }

    /// Bytes of all its buffers.
    ///
    /// # Errors
    ///
    /// As [`Plan::check`].
    pub fn memory_bytes(&self) -> Result<u64, PlanError> {
        self.check()?;
        Ok(self.buffers.iter().map(Buffer::bytes).sum())
    }

    /// Checks what recording alone could not: names that are unique, buffers that are neither empty nor too large,
    /// outputs that are this plan's.
    ///
    /// # Errors
    ///
    /// The first such fault.
    pub fn check(&self) -> Result<(), PlanError> {
        let mut total: u64 = 0;
        for buffer in &self.buffers {
            if buffer.len == 0 {
                return Err(PlanError::EmptyBuffer {
                    plan: self.name.clone(),
                    buffer: buffer.name.clone(),
                });
            }
            let bytes = buffer.checked_bytes();
            total = match bytes.and_then(|bytes| total.checked_add(bytes)) {
                Some(total) => total,
                None => {
                    return Err(PlanError::BufferTooLarge {
                        plan: self.name.clone(),
                        buffer: buffer.name.clone(),
                        element: buffer.element,
                        len: buffer.len,
                    });
                }
            };
        }
        self.check_unique("buffer", self.buffers.iter().map(|b| b.name.as_str()))?;
        self.check_unique("output", self.outputs.iter().map(|(name, _)| name.as_str()))?;
        for (name, id) in &self.outputs {
            let place = || format!("plan `{}`", self.name);
            self.own(*id, place, || format!("output `{name}`"))?;
        }
        Ok(())
    }

    fn check_unique<'a>(
        &self,
        what: &'static str,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<(), PlanError> {
        let mut seen = HashSet::new();
        for name in names {
            if !seen.insert(name) {
                return Err(PlanError::DuplicateName {
                    plan: self.name.clone(),
                    what,
                    name: name.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The buffer, if it is this plan's.
    fn own(
        &self,
        id: BufferId,
        place: impl FnOnce() -> String,
        role: impl FnOnce() -> String,
    ) -> Result<&Buffer, PlanError> {
        match self.buffers.get(id.index()) {
            Some(buffer) if id.plan == self.tag => Ok(buffer),
            _ => Err(PlanError::ForeignBuffer {
                place: place(),
                role: role(),
            }),
        }
    }

    /// How messages name a command.
    pub(crate) fn place(&self, command: usize, what: std::fmt::Arguments<'_>) -> String {
        format!("plan `{}`, command {command} ({what})", self.name)
    }

    fn unknown<'a>(
        &self,
        what: &'static str,
        name: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> PlanError {
        PlanError::UnknownName {
            plan: self.name.clone(),
            what,
            name: name.to_owned(),
            suggestion: suggestion(name, names),
        }
    }
}
