//! Which of a plan's devices are this process's.

use std::ops::Range;

use plan::{BufferId, Command, Plan};

/// The devices of this process among those of all that run a plan. Each process executes the
/// commands of its own; a copy between two processes is a send in one and a receive in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// This process's.
    pub own: Range<u32>,
    /// How many there are in all processes.
    pub all: u32,
}

/// A process's part in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// All of it, on this of its devices, by number in the plan.
    Execute(u32),
    /// It sends what device `from` has to device `to` of another process.
    Send {
        /// Its own.
        from: u32,
        /// The other's.
        to: u32,
    },
    /// It receives for its device `to` what device `from` of another process sends.
    Receive {
        /// The other's.
        from: u32,
        /// Its own.
        to: u32,
    },
    /// Nothing: another process executes it.
    Nothing,
}

impl Share {
    /// The share of a process that has all of `all` devices.
    pub fn whole(all: u32) -> Share {
        Share { own: 0..all, all }
    }

    /// Whether a device is this process's.
    pub fn has(&self, device: u32) -> bool {
        self.own.contains(&device)
    }

    /// Whether a buffer, which is not scattered, is in this process's memory.
    pub fn holds(&self, plan: &Plan, id: BufferId) -> bool {
        self.has(plan.buffers()[id.index()].device)
    }

    /// The buffers in this process's memory that have that of a buffer of the plan.
    pub fn memory_of(&self, plan: &Plan, id: BufferId) -> Vec<BufferId> {
        let mut memory = plan.memory_of(id);
        memory.retain(|&part| self.holds(plan, part));
        memory
    }

    /// This process's part in a command of the plan.
    pub fn role(&self, plan: &Plan, command: &Command<'_>) -> Role {
        let device = command.device(plan.buffers());
        let Command::Copy(copy) = command else {
            return if self.has(device) {
                Role::Execute(device)
            } else {
                Role::Nothing
            };
        };
        let (from, to) = (device, plan.buffers()[copy.dst.index()].device);
        match (self.has(from), self.has(to)) {
            (true, true) => Role::Execute(from),
            (true, false) => Role::Send { from, to },
            (false, true) => Role::Receive { from, to },
            (false, false) => Role::Nothing,
        }
    }
}
