//! Reading a plan, and the checks of a complete plan.

use std::collections::HashSet;
use std::ops::Range;

use crate::command::Stored;
use crate::limits::MAX_DEVICES;
use crate::suggestion;
use crate::{Buffer, BufferId, Command, Launch, Plan, PlanError};

impl Plan {
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

    /// The buffer with this id.
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

    /// Its commands, in order.
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

    /// Ranges of commands that are independent of each other ([`Plan::independent`]), in order,
    /// each of two commands at least.
    pub fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// The commands in parts that follow one after the other: each group of independent ones, and
    /// each other command by itself.
    pub fn stages(&self) -> impl Iterator<Item = Range<usize>> {
        let (mut groups, mut at) = (self.groups.iter().peekable(), 0);
        std::iter::from_fn(move || {
            let stage = match groups.next_if(|group| group.start == at) {
                Some(group) => group.clone(),
                None => at..at + 1,
            };
            at = stage.end;
            (at <= self.commands.len()).then_some(stage)
        })
    }

    /// Bytes of all its buffers, on all devices.
    ///
    /// # Errors
    ///
    /// As [`Plan::check`].
    pub fn memory_bytes(&self) -> Result<u64, PlanError> {
        self.check()?;
        Ok((0..self.devices())
            .map(|device| self.bytes_on(device))
            .sum())
    }

    /// How many devices it needs: one more than the highest number of one.
    pub fn devices(&self) -> u32 {
        self.in_memory()
            .map(|id| self.buffers[id.index()].device + 1)
            .max()
            .unwrap_or(1)
    }

    /// The buffers that have memory of their own: all but those that are scattered.
    pub fn in_memory(&self) -> impl Iterator<Item = BufferId> {
        self.buffer_ids().filter(|&id| self.scattered(id).is_none())
    }

    /// Bytes of the buffers of a checked plan on this device.
    ///
    /// # Panics
    ///
    /// If one has more than fit in 63 bits: [`Plan::check`] refuses such a buffer.
    pub fn bytes_on(&self, device: u32) -> u64 {
        let buffers = self.in_memory().map(|id| &self.buffers[id.index()]);
        let here = buffers.filter(|buffer| buffer.device == device);
        here.map(Buffer::bytes).sum()
    }

    /// Checks what recording cannot. Names are unique, no longer than 200 bytes and without control
    /// characters; buffers have elements and are not too large, and outputs are this plan's.
    ///
    /// # Errors
    ///
    /// The first such fault.
    pub fn check(&self) -> Result<(), PlanError> {
        self.check_names()?;
        let mut total: u64 = 0;
        for buffer in &self.buffers {
            if buffer.len == 0 {
                return Err(PlanError::EmptyBuffer {
                    plan: self.name.clone(),
                    buffer: buffer.name.clone(),
                });
            }
            if buffer.device >= MAX_DEVICES {
                return Err(PlanError::DeviceNumber {
                    plan: self.name.clone(),
                    buffer: buffer.name.clone(),
                    device: buffer.device,
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

    /// Checks that no name is too long to be quoted, or has control characters.
    pub(crate) fn check_names(&self) -> Result<(), PlanError> {
        self.check_name("the plan", &self.name)?;
        for buffer in &self.buffers {
            self.check_name("a buffer", &buffer.name)?;
        }
        for (name, _) in &self.outputs {
            self.check_name("an output", name)?;
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
