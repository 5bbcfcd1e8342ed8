//! A plan: its parts, and how they are named.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::command::Stored;
use crate::{Arg, Buffer, BufferId, PlanError, Scattered, Target};

/// Buffers, launches and copies, in order. See the [crate]'s documentation.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Never 0, and unlike every other plan's in this process, except clones and plans made by
    /// [`Plan::map`], which have the same buffers.
    pub(crate) tag: u64,
    pub(crate) name: String,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) outputs: Vec<(String, BufferId)>,
    pub(crate) kernels: Vec<String>,
    pub(crate) kernel_index: HashMap<String, u32>,
    pub(crate) commands: Vec<Stored>,
    pub(crate) args: Vec<Arg>,
    /// The machine to run on.
    pub(crate) target: Target,
    /// Buffers that have no memory of their own.
    pub(crate) scattered: Vec<Scattered>,
    /// Ranges of commands that are independent of each other; each of two at least, in order,
    /// apart.
    pub(crate) groups: Vec<Range<usize>>,
    /// The first command of the group that is being recorded.
    pub(crate) group_start: Option<usize>,
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
            target: Target::from(1),
            scattered: Vec::new(),
            groups: Vec::new(),
            group_start: None,
        }
    }

    /// Sets the number of devices that the machine has.
    pub fn with_available_devices(self, devices: u32) -> Plan {
        let target = Target {
            devices,
            ..self.target
        };
        self.for_target(target)
    }

    /// Sets the machine that the plan is for.
    pub(crate) fn for_target(self, target: Target) -> Plan {
        Plan {
            target: Target {
                devices: target.devices.max(1),
                multiprocessors: target.multiprocessors.max(1),
                ..target
            },
            ..self
        }
    }

    /// The number of devices to run on: at least 1. A solution may use all of them, or fewer.
    pub fn available_devices(&self) -> u32 {
        self.target.devices
    }

    /// The number of multiprocessors of a device. A solution may cut its launches so that blocks
    /// fill them; a plan that is recorded without a GPU at hand is for those of an H100.
    pub fn multiprocessors(&self) -> u32 {
        self.target.multiprocessors
    }

    /// Adds a buffer.
    pub(crate) fn declare(&mut self, buffer: Buffer) -> BufferId {
        let index = u32::try_from(self.buffers.len()).expect("fewer than 2^32 buffers");
        self.buffers.push(buffer);
        BufferId {
            plan: self.tag,
            index,
        }
    }

    /// The buffer, if it is this plan's.
    pub(crate) fn own(
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

    /// How messages name a command of the plan: `command 3 (launch of `step`)`.
    ///
    /// # Panics
    ///
    /// If the plan has no such command.
    pub fn describe(&self, command: usize) -> String {
        match &self.commands[command] {
            Stored::Launch { kernel, .. } => {
                let kernel = &self.kernels[*kernel as usize];
                format!("command {command} (launch of `{kernel}`)")
            }
            Stored::Copy(_) => format!("command {command} (copy)"),
            Stored::Fill(_) => format!("command {command} (fill)"),
        }
    }

    /// How messages name the place of a command that is being recorded, or of what is told of it.
    pub fn place(&self, command: usize, what: std::fmt::Arguments<'_>) -> String {
        format!("plan `{}`, command {command} ({what})", self.name)
    }
}
