//! The checks of what commands access: a launch no more than it states, and commands that are
//! recorded as independent nothing that another of them writes.

use command_order::{Commands, Conflict, Manners};
use ptx_emu::{Accessed, Schedule};

use super::EmulatedSession;
use crate::device_error::DeviceError;
use crate::error::Error;
use crate::share::Role;
use plan::{Command, Dependence, Does};

impl EmulatedSession<'_> {
    /// Executes a command where others may run on other devices, and checks that it accesses what
    /// it states.
    pub fn execute_stated(&mut self, position: usize, command: Command<'_>) -> Result<(), Error> {
        match (self.device.share.role(&self.plan, &command), command) {
            (Role::Nothing, _) => return Ok(()),
            (role @ (Role::Send { .. } | Role::Receive { .. }), Command::Copy(copy)) => {
                return self.transfer(copy, role);
            }
            _ => {}
        }
        match self.modules.len() {
            1 => self.execute(&[(position, command)])?,
            _ => drop(self.execute_watched(&[(position, command)])?),
        }
        Ok(())
    }

    /// Executes launches at once, or one command, and returns what they have accessed, where races
    /// are looked for. On several devices, checks that they access what they state.
    fn execute_watched(
        &mut self,
        commands: &[(usize, Command<'_>)],
    ) -> Result<Vec<(u64, Accessed)>, DeviceError> {
        if !self.device.options.sanitize.races {
            self.execute(commands)?;
            return Ok(Vec::new());
        }
        let held = self.origins.is_some().then(|| self.held(commands));
        self.machine.watch_accesses();
        let executed = self.execute(commands);
        let accessed = self.machine.take_accesses();
        executed?;
        if self.modules.len() > 1 {
            self.check_stated(commands, &accessed)?;
        }
        if let Some(held) = held {
            self.note_origins(commands, &accessed, &held);
        }
        Ok(accessed)
    }

    /// Checks that a launch, or launches at once, have accessed no other elements than their
    /// arguments state.
    fn check_stated(
        &self,
        commands: &[(usize, Command<'_>)],
        accessed: &[(u64, Accessed)],
    ) -> Result<(), DeviceError> {
        let (position, Command::Launch(launch)) = commands[0] else {
            return Ok(());
        };
        for (address, Accessed { read, written }) in accessed {
            let mut ids = self.plan.buffer_ids();
            let Some(id) = ids.find(|id| self.addresses[id.index()] == *address) else {
                continue;
            };
            let buffer = &self.plan.buffers()[id.index()];
            let all = commands.iter();
            let bounds = all.flat_map(|(_, command)| command.bounds(self.plan.buffers()));
            let stated: Vec<_> = bounds.filter(|bound| bound.0 == id).collect();
            let size = buffer.element.size() as u64;
            for (ranges, writes) in [(read, false), (written, true)] {
                let outside = ranges.iter().find_map(|bytes| {
                    let mut elements = bytes.start / size..bytes.end.div_ceil(size);
                    elements.find(|element| {
                        let mut stated = stated.iter();
                        !stated.any(|(_, range, may_write)| {
                            range.contains(element) && *may_write >= writes
                        })
                    })
                });
                if let Some(element) = outside {
                    let stated: Vec<String> = stated
                        .iter()
                        .map(|(_, range, may_write)| {
                            let use_of = if *may_write { "pointer to" } else { "slice of" };
                            format!("{use_of} {}..{}", range.start, range.end)
                        })
                        .collect();
                    return Err(DeviceError::Unstated {
                        place: self
                            .plan
                            .place(position, format_args!("launch of `{}`", launch.kernel)),
                        buffer: buffer.name.clone(),
                        element,
                        writes,
                        stated: stated.join(", "),
                    });
                }
            }
        }
        Ok(())
    }

    /// Executes commands that are recorded as independent, one after another: in the plan's order,
    /// or in a random one where blocks run so. Checks that none writes what another reads or
    /// writes, where races are looked for.
    pub(super) fn execute_independent(
        &mut self,
        commands: &mut Vec<(usize, Command<'_>)>,
    ) -> Result<(), Error> {
        let (first, _) = commands[0];
        // Sends before receives, so that no two processes wait for each other.
        for sends in [true, false] {
            for &(_, command) in commands.iter() {
                let role = self.device.share.role(&self.plan, &command);
                if let Command::Copy(copy) = command
                    && matches!(role, Role::Send { .. }) == sends
                {
                    self.transfer(copy, role)?;
                }
            }
        }
        let share = &self.device.share;
        commands.retain(|(_, command)| matches!(share.role(&self.plan, command), Role::Execute(_)));
        if let Schedule::Random { seed } = self.machine.options().schedule {
            fastrand::Rng::with_seed(seed ^ first as u64).shuffle(commands);
        }
        if self.may_wait(commands) {
            self.execute_watched(commands)?;
            return Ok(());
        }
        let mut group = Commands::default();
        for &mut (position, command) in commands {
            let mut accessed = self.execute_watched(&[(position, command)])?;
            if self.device.options.sanitize.races {
                accessed.extend(self.moved(command));
            }
            self.check_independent(&mut group, position, &accessed)?;
        }
        Ok(())
    }

    /// Whether commands are launches of one kernel that may wait for each other. They run at once,
    /// and the check of races is the only one of what they access in common.
    fn may_wait(&self, commands: &[(usize, Command<'_>)]) -> bool {
        let launched = |(_, command): &(usize, Command<'_>)| match command {
            Command::Launch(launch) => Some((launch.kernel.to_owned(), launch.config)),
            _ => None,
        };
        let mut launches = commands.iter().map(launched);
        launches.next().flatten().is_some_and(|first| {
            let executable = self.modules[0].executable();
            commands.len() > 1
                && executable.depends_on_order(&first.0)
                && launches.all(|other| other.as_ref() == Some(&first))
        })
    }

    /// The accesses of a copy or fill, by the buffer's address.
    fn moved(&self, command: Command<'_>) -> impl Iterator<Item = (u64, Accessed)> {
        let moved = command.moved(self.plan.buffers());
        moved.map(|(id, elements, writes)| {
            let size = self.plan.buffers()[id.index()].element.size() as u64;
            let mut accessed = Accessed::default();
            let ranges = if writes {
                &mut accessed.written
            } else {
                &mut accessed.read
            };
            ranges.push(elements.start * size..elements.end * size);
            (self.addresses[id.index()], accessed)
        })
    }

    /// Adds a command to its group, each of which may run at any time, and checks that none writes
    /// an element that another accesses: a byte of an element is as good as all of it.
    fn check_independent(
        &self,
        group: &mut Commands<usize>,
        position: usize,
        accessed: &[(u64, Accessed)],
    ) -> Result<(), DeviceError> {
        let (chain, sent) = (group.chain(), group.host());
        let command = group.begin(chain, &sent, position);
        for &(
            address,
            Accessed {
                ref read,
                ref written,
            },
        ) in accessed
        {
            let (_, size) = self.named(address);
            for (ranges, manners) in [(written, Manners::WRITES), (read, Manners::READS)] {
                for bytes in ranges {
                    let elements = bytes.start / size..bytes.end.div_ceil(size);
                    let all = address + elements.start * size..address + elements.end * size;
                    group.access(command, manners, all);
                }
            }
        }
        match group.end().conflicts.first() {
            Some(conflict) => {
                let earlier = *group.label(conflict.earlier).expect("all are kept");
                let starts = accessed.iter().map(|(start, _)| *start);
                let start = starts.filter(|start| *start <= conflict.extent.start).max();
                let start = start.expect("this command has met it");
                Err(Box::new(self.dependence(conflict, start, earlier, position)).into())
            }
            None => Ok(()),
        }
    }

    /// A conflict of two commands in the buffer at an address, as the plan's author knows it.
    fn dependence(
        &self,
        conflict: &Conflict,
        start: u64,
        earlier: usize,
        later: usize,
    ) -> Dependence {
        let does = |command, manners: Manners| Does {
            command,
            writes: manners.write(),
        };
        let (name, size) = self.named(start);
        self.plan.dependence(
            name,
            (conflict.extent.start - start) / size,
            does(earlier, conflict.manners),
            does(later, conflict.by),
        )
    }

    /// The name of the buffer or variable at this address, and bytes of an element.
    fn named(&self, address: u64) -> (&str, u64) {
        let mut buffers = self.addresses.iter().zip(self.plan.buffers());
        if let Some((_, buffer)) = buffers.find(|&(&start, _)| start == address) {
            return (buffer.name.as_str(), buffer.element.size() as u64);
        }
        let mut variables = self.modules[0].program().globals.iter();
        let is_here = |name| {
            let mut here = self.modules.iter().filter_map(|module| module.global(name));
            here.any(|at| at.0 == address)
        };
        let variable = variables.find(|variable| is_here(&variable.name));
        (variable.map_or("?", |variable| &variable.name), 1)
    }
}
