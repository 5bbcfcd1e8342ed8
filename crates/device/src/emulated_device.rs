//! The emulated device: plans on the PTX interpreter, with every access checked and every
//! instruction counted.

pub mod stores;

use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ptx_emu::{
    Accessed, Counts, DeviceLimits, LaunchReport, LoadedModule, Machine, Options, OutOfMemory,
    Printed, Schedule,
};

use super::conflict::{Conflict, Group, Place};
use super::params::Params;
use super::pieces::{Piece, Pieces, own_pieces};
use super::share::{Role, Share};
use crate::buffer::HostBuffer;
use crate::device_error::DeviceError;
use crate::error::Error;
use crate::info::{DeviceInfo, DeviceKind, KernelInfo, Timing};
use crate::memory::available_bytes;
use crate::module::Module;
use crate::preparation::{Order, Preparation};
use crate::report::KernelReport;
use crate::traits::{Device, POISON, Session, TimedSession, check_buffer};
use crate::validate::{ValidationError, validate, validate_devices};
use plan::{BufferId, Command, Copy, Launch, Plan};
use ranks::Link;

/// The PTX interpreter as a device. Its limits are those of compute capability 9.0.
pub struct EmulatedDevice {
    info: DeviceInfo,
    options: Options,
    share: Share,
    /// For each device of this process, to those of others.
    links: Vec<Arc<dyn Link>>,
    has_peer_access: bool,
    /// The text that kernels have printed, where it is kept.
    printed: Option<Mutex<Printed>>,
}

impl std::fmt::Debug for EmulatedDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmulatedDevice")
            .field("info", &self.info)
            .field("options", &self.options)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

impl EmulatedDevice {
    /// With these checks, this order of execution, this bound on endless loops.
    pub fn new(options: Options) -> EmulatedDevice {
        let info = DeviceInfo {
            memory_bytes: Some(DeviceLimits::default().global_bytes),
            ..DeviceInfo::new(DeviceKind::Emulated, "PTX interpreter")
        };
        EmulatedDevice {
            info,
            options,
            share: Share::whole(1),
            links: Vec::new(),
            has_peer_access: true,
            printed: None,
        }
    }

    /// Emulates this number of devices, numbered from 0, each with a memory of its own and peer
    /// access to the others'.
    pub fn with_devices(mut self, devices: u32) -> EmulatedDevice {
        self.share = Share::whole(devices.max(1));
        self
    }

    /// Emulates those devices that are this process's, of a plan that several processes run. There
    /// is a link for each of them.
    pub fn with_share(mut self, share: Share, links: Vec<Arc<dyn Link>>) -> EmulatedDevice {
        assert_eq!(share.own.len(), links.len(), "each device has a link");
        (self.share, self.links) = (share, links);
        self
    }

    /// Keeps what kernels print for [`Device::take_printed`]. Otherwise it goes to standard output
    /// after each launch, as a GPU's driver writes it.
    pub fn keeping_printed(mut self) -> EmulatedDevice {
        self.printed = Some(Mutex::default());
        self
    }

    /// Keeps or writes what a launch has printed.
    fn show(&self, printed: Printed) {
        if printed == Printed::default() {
            return;
        }
        let Some(kept) = &self.printed else {
            let end = if printed.is_cut {
                "\n(more is left out)\n"
            } else {
                ""
            };
            // A reader that is gone misses nothing.
            let _ = std::io::stdout().write_all((printed.text + end).as_bytes());
            return;
        };
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(printed);
    }

    /// Takes peer access away: a kernel cannot reach the memory of another device.
    pub fn without_peer_access(mut self) -> EmulatedDevice {
        self.has_peer_access = false;
        self
    }

    /// Sets the compute capability, major and minor: the device runs the module for such devices,
    /// and has clusters if they do.
    pub fn with_capability(mut self, capability: (u32, u32)) -> EmulatedDevice {
        self.info.limits.compute_capability = capability;
        self
    }

    /// The orders that a plan runs in if what it computes may depend on them: that of the options,
    /// and one of each kind of random ones (see [`Schedule::Random`]).
    const ORDERS: u32 = 9;

    /// The orders of a plan whose kernels update memory by atomics that give the same in any order:
    /// that of the options, and a random one. Other accesses beside them may not.
    const ORDERS_OF_UPDATES: u32 = 2;

    /// How it executes kernels.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How it executes them in this order.
    fn options_in(&self, order: Option<Order>) -> Options {
        let options = self.options.clone();
        let Some(Order { number, seed }) = order else {
            return options;
        };
        let schedule = match number.checked_sub(1) {
            None => options.schedule,
            Some(other) => Schedule::Random {
                seed: seed & !7 | u64::from(other & 7),
            },
        };
        Options {
            schedule,
            seed,
            ..options
        }
    }
}

impl Default for EmulatedDevice {
    /// With every check on.
    fn default() -> EmulatedDevice {
        EmulatedDevice::new(Options::default())
    }
}

impl Device for EmulatedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Every access is checked, and every session has memory and variables of its own: each is
    /// isolated.
    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        let module = validate(module, plan, &self.info.limits)?;
        let reaches = |from, to| {
            self.has_peer_access && (self.share.has(from) == self.share.has(to) || from == to)
        };
        validate_devices(plan, self.share.all, reaches)?;
        Ok(Box::new(EmulatedSession::new(
            self, module, plan, how.order,
        )?))
    }

    fn count(&self) -> u32 {
        self.share.all
    }

    fn orders(&self, module: &Module, plan: &Plan) -> u32 {
        let Ok(executable) = module.executable() else {
            return 1;
        };
        let any = |has: &dyn Fn(&str) -> bool| plan.kernels().iter().any(|kernel| has(kernel));
        if any(&|kernel| executable.depends_on_order(kernel)) {
            Self::ORDERS
        } else if any(&|kernel| executable.updates_memory(kernel)) {
            Self::ORDERS_OF_UPDATES
        } else {
            1
        }
    }

    fn take_printed(&self) -> Printed {
        let kept = self.printed.as_ref().map(|kept| kept.lock());
        kept.map_or_else(Printed::default, |kept| {
            std::mem::take(&mut *kept.unwrap_or_else(PoisonError::into_inner))
        })
    }
}

/// A plan on a machine of its own.
struct EmulatedSession<'d> {
    device: &'d EmulatedDevice,
    machine: Machine,
    /// For each device, with variables of its own.
    modules: Vec<LoadedModule>,
    /// Shared, so that a run can walk it while the rest changes.
    plan: Arc<Plan>,
    /// Address of each buffer; 0 for those that are scattered.
    addresses: Vec<u64>,
    reports: Vec<KernelReport>,
}

impl<'d> EmulatedSession<'d> {
    /// Prepares a validated plan.
    fn new(
        device: &'d EmulatedDevice,
        module: &Module,
        plan: &Plan,
        order: Option<Order>,
    ) -> Result<EmulatedSession<'d>, Error> {
        let executable = Arc::clone(module.executable()?);
        let mut machine = Machine::new(DeviceLimits::default(), device.options_in(order));
        plan.check()?;
        let needed_bytes = device.share.own.clone().map(|own| plan.bytes_on(own)).sum();
        let total_bytes = device.info.memory_bytes.unwrap_or(u64::MAX);
        let out_of_memory = |free_bytes| DeviceError::OutOfMemory {
            plan: plan.name().to_owned(),
            needed_bytes,
            device: device.info.name.clone(),
            free_bytes,
            total_bytes,
        };
        // The device's memory is the host's, which may have less left.
        let free_bytes = available_bytes().map_or(total_bytes, |bytes| bytes.min(total_bytes));
        if needed_bytes > free_bytes {
            return Err(out_of_memory(free_bytes).into());
        }
        let refused = |error: OutOfMemory| out_of_memory(error.capacity - error.used);
        let modules = (0..plan.devices())
            .map(|_| machine.load(Arc::clone(&executable)))
            .collect::<Result<_, _>>()
            .map_err(refused)?;
        let mut addresses = vec![0; plan.buffers().len()];
        for id in plan.in_memory().filter(|&id| device.share.holds(plan, id)) {
            let buffer = &plan.buffers()[id.index()];
            let allocated = machine.allocate(buffer.bytes(), &buffer.name);
            addresses[id.index()] = allocated.map_err(refused)?;
        }
        Ok(EmulatedSession {
            device,
            machine,
            modules,
            plan: Arc::new(plan.clone()),
            addresses,
            reports: Vec::new(),
        })
    }

    /// The parameter block of a launch.
    fn params(&self, launch: &Launch<'_>) -> Vec<u8> {
        let mut params = Params::default();
        for arg in launch.args {
            params.push(arg, &self.plan, |id| self.addresses[id.index()]);
        }
        let kernel = self.kernel(launch.kernel);
        let values: &[u8] = bytemuck::cast_slice(&params.values);
        let mut block = vec![0; kernel.kernel_param_bytes as usize];
        for (param, start) in kernel.params.iter().zip(params.starts) {
            let (offset, size) = (param.offset as usize, param.size() as usize);
            block[offset..offset + size].copy_from_slice(&values[8 * start..][..size]);
        }
        block
    }

    fn kernel(&self, name: &str) -> &ptx::Function {
        self.modules[0]
            .program()
            .kernel(name)
            .expect("a validated plan launches kernels of its module")
    }

    /// Sends or receives what a copy between two processes copies.
    fn transfer(&mut self, copy: Copy, role: Role) -> Result<(), Error> {
        let size = self.plan.buffers()[copy.src.index()].element.size() as u64;
        let mut bytes = vec![0; (copy.len * size) as usize];
        let link =
            |device: u32| &self.device.links[(device - self.device.share.own.start) as usize];
        let in_plan = "a validated copy lies within its buffers";
        match role {
            Role::Send { from, to } => {
                let src = self.addresses[copy.src.index()] + copy.src_start * size;
                self.machine.read(src, &mut bytes).expect(in_plan);
                link(from).send(to as usize, &bytes)?;
            }
            Role::Receive { from, to } => {
                link(to).receive(from as usize, &mut bytes)?;
                let dst = self.addresses[copy.dst.index()] + copy.dst_start * size;
                self.machine.write(dst, &bytes).expect(in_plan);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets every byte of a buffer of the plan.
    fn set(&mut self, id: BufferId, byte: u8) {
        for id in self.device.share.memory_of(&self.plan, id) {
            let bytes = self.plan.buffers()[id.index()].bytes() as usize;
            self.machine
                .write(self.addresses[id.index()], &vec![byte; bytes])
                .expect("a buffer of the plan");
        }
    }

    /// Executes a command where others may run on other devices, and checks that it accesses what
    /// it states.
    fn execute_stated(&mut self, position: usize, command: Command<'_>) -> Result<(), Error> {
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
        self.machine.watch_accesses();
        let executed = self.execute(commands);
        let accessed = self.machine.take_accesses();
        executed?;
        if self.modules.len() > 1 {
            self.check_stated(commands, &accessed)?;
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
    fn execute_independent(
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
        let mut group = Group::default();
        for &mut (position, command) in commands {
            let mut accessed = self.execute_watched(&[(position, command)])?;
            if self.device.options.sanitize.races {
                accessed.extend(self.moved(command));
            }
            for (address, Accessed { read, written }) in accessed {
                self.add(&mut group, position, address, &read, &written)?;
            }
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

    /// Adds what a command accesses of the buffer at this address to what its group has accessed.
    fn add(
        &self,
        group: &mut Group,
        command: usize,
        address: u64,
        read: &[Range<u64>],
        written: &[Range<u64>],
    ) -> Result<(), DeviceError> {
        let mut buffers = self.addresses.iter().zip(self.plan.buffers());
        let (name, element_bytes) = match buffers.find(|&(&start, _)| start == address) {
            Some((_, buffer)) => (buffer.name.as_str(), buffer.element.size() as u64),
            None => {
                let mut variables = self.modules[0].program().globals.iter();
                let is_here = |name| {
                    let mut here = self.modules.iter().filter_map(|module| module.global(name));
                    here.any(|at| at.0 == address)
                };
                let variable = variables.find(|variable| is_here(&variable.name));
                (variable.map_or("?", |variable| &variable.name), 1)
            }
        };
        let place = Place {
            address,
            element_bytes,
        };
        group
            .add(command, &place, read, written)
            .map_err(|conflict| {
                let Conflict {
                    element,
                    this,
                    other,
                } = conflict;
                Box::new(self.plan.dependence(name, element, other, this)).into()
            })
    }

    /// No kernel has run yet.
    fn clear_reports(&mut self) {
        let empty = |kernel: &String| KernelReport {
            launches: 0,
            total: LaunchReport {
                kernel: kernel.clone(),
                blocks: 0,
                threads: 0,
                counts: Counts::default(),
                instructions: Vec::new(),
                early_exit: None,
                widened_load: None,
            },
        };
        self.reports = self.plan.kernels().iter().map(empty).collect();
    }

    /// Executes a command, or launches of one kernel and configuration at once.
    fn execute(&mut self, commands: &[(usize, Command<'_>)]) -> Result<(), DeviceError> {
        let (position, command) = commands[0];
        match command {
            Command::Launch(first) => {
                let launches: Vec<_> = commands
                    .iter()
                    .filter_map(|(_, command)| match command {
                        Command::Launch(launch) => {
                            let device = command.device(self.plan.buffers()) as usize;
                            Some((self.modules[device].clone(), self.params(launch)))
                        }
                        _ => None,
                    })
                    .collect();
                let config = ptx_emu::LaunchConfig {
                    grid: first.config.grid,
                    block: first.config.block,
                    shared_mem_bytes: first.config.shared_mem_bytes,
                    cluster: first.config.cluster,
                };
                let kernel = first.kernel;
                let ended = self.machine.launch_together(&launches, kernel, &config);
                self.device.show(self.machine.take_printed());
                let report = ended.map_err(|fault| DeviceError::Emulated {
                    place: self
                        .plan
                        .place(position, format_args!("launch of `{kernel}`")),
                    fault: Box::new(fault),
                })?;
                let kernel = &mut self.reports[first.kernel_index];
                kernel.launches += commands.len() as u64;
                kernel.total.add(&report);
            }
            Command::Copy(copy) => {
                let size = self.plan.buffers()[copy.src.index()].element.size() as u64;
                let src = self.addresses[copy.src.index()] + copy.src_start * size;
                let dst = self.addresses[copy.dst.index()] + copy.dst_start * size;
                self.machine
                    .copy(src, dst, (copy.len * size) as usize)
                    .expect("a validated copy lies within its buffers");
            }
            Command::Fill(fill) => self.set(fill.dst, fill.byte),
        }
        Ok(())
    }
}

impl Session for EmulatedSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        check_buffer(&self.plan, id, from)?;
        for Piece {
            part,
            offset,
            whole,
        } in own_pieces(&self.plan, &self.device.share, id, Pieces::Held)
        {
            self.machine
                .write(self.addresses[part.index()] + offset, &from.bytes()[whole])
                .expect("a buffer of the plan");
        }
        Ok(())
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.plan.buffer_info(id)?;
        self.set(id, byte);
        Ok(())
    }

    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.plan.buffer_info(id)?;
        for id in self.device.share.memory_of(&self.plan, id) {
            let is_buffer = self.machine.poison(self.addresses[id.index()], POISON);
            assert!(is_buffer, "a buffer of the plan");
        }
        Ok(())
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        let buffer = self.plan.buffer_info(id)?;
        let mut to = HostBuffer::zeroed(buffer.element, buffer.len as usize)?;
        for Piece {
            part,
            offset,
            whole,
        } in own_pieces(&self.plan, &self.device.share, id, Pieces::Owned)
        {
            self.machine
                .read(
                    self.addresses[part.index()] + offset,
                    &mut to.bytes_mut()[whole],
                )
                .expect("a buffer of the plan");
        }
        Ok(to)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.clear_reports();
        let began = Instant::now();
        let plan = Arc::clone(&self.plan);
        let mut commands = plan.commands().enumerate();
        for stage in plan.stages() {
            let mut stage: Vec<(usize, Command<'_>)> =
                commands.by_ref().take(stage.len()).collect();
            match stage[..] {
                [(position, command)] => self.execute_stated(position, command)?,
                _ => self.execute_independent(&mut stage)?,
            }
        }
        Ok(Timing {
            device: None,
            host: began.elapsed(),
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        if !self.plan.kernels().iter().any(|name| name == kernel) {
            return Err(ValidationError::not_launched(&self.plan, kernel).into());
        }
        let function = self.kernel(kernel);
        let limit = self.device.info.limits.threads_per_block;
        let bound = function.max_threads.map_or(limit, |extents| {
            extents.iter().fold(1u32, |all, &n| all.saturating_mul(n))
        });
        Ok(KernelInfo {
            name: kernel.to_owned(),
            registers: None,
            local_bytes: function.local_bytes,
            spills: None,
            static_shared_bytes: function.shared_bytes,
            max_threads_per_block: bound.min(limit),
            blocks_per_multiprocessor: None,
            occupancy: None,
        })
    }

    fn reports(&self) -> &[KernelReport] {
        &self.reports
    }
}

/// It has no clock, no graphs and no caches.
impl TimedSession for EmulatedSession<'_> {}
