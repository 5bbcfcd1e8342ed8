//! A plan on a machine of its own: its memory, its commands, its counts.

mod accesses;
mod origins;

use std::sync::Arc;
use std::time::Instant;

use ptx_emu::{
    Counts, DeviceLimits, Fault, FaultKind, LaunchReport, LoadedModule, Machine, Options,
    OutOfMemory,
};

pub(super) use origins::Origins;

use super::EmulatedDevice;
use super::replayed::{BytePlace, WrongValue};
use crate::buffer::HostBuffer;
use crate::device_error::DeviceError;
use crate::error::Error;
use crate::info::{KernelInfo, STACK_BYTES, Timing};
use crate::memory::available_bytes;
use crate::module::Module;
use crate::params::Params;
use crate::pieces::{Piece, Pieces, own_pieces};
use crate::preparation::Order;
use crate::report::KernelReport;
use crate::share::{Role, Share};
use crate::traits::{POISON, Session, TimedSession, check_buffer};
use crate::validate::ValidationError;
use plan::{BufferId, Command, Copy, Launch, Plan};

/// A plan on a machine of its own.
pub struct EmulatedSession<'d> {
    device: &'d EmulatedDevice,
    pub(super) machine: Machine,
    /// For each device, with variables of its own.
    modules: Vec<LoadedModule>,
    /// Shared, so that a run can walk it while the rest changes.
    plan: Arc<Plan>,
    /// Address of each buffer; 0 for those that are scattered.
    pub(super) addresses: Vec<u64>,
    reports: Vec<KernelReport>,
    /// Notes on the launches that compute results, if they are asked for.
    pub(super) origins: Option<Origins>,
}

impl<'d> EmulatedSession<'d> {
    /// Prepares a validated plan.
    pub fn new(
        device: &'d EmulatedDevice,
        module: &Module,
        plan: &Plan,
        order: Option<Order>,
    ) -> Result<EmulatedSession<'d>, Error> {
        let executable = Arc::clone(module.executable()?);
        let limits = DeviceLimits {
            stack_bytes: STACK_BYTES as u64,
            ..DeviceLimits::of(device.info.limits.compute_capability)
        };
        let mut machine = Machine::new(limits, device.options_in(order));
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
            origins: None,
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
        for part in self.device.share.memory_of(&self.plan, id) {
            let bytes = self.plan.buffers()[part.index()].bytes() as usize;
            self.machine
                .write(self.addresses[part.index()], &vec![byte; bytes])
                .expect("a buffer of the plan");
        }
    }

    /// No kernel has run yet.
    pub fn clear_reports(&mut self) {
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

    /// Whether a launch with this fault is the sample of one whose blocks communicate, and has come
    /// to the sample's end.
    fn ends_sample(&self, kernel: &str, fault: &Fault) -> bool {
        let is_out_of_fuel = match fault {
            Fault::Program(fault) => matches!(fault.kind, FaultKind::FuelExhausted { .. }),
            _ => false,
        };
        self.device.options.most_blocks.is_some()
            && is_out_of_fuel
            && self.modules[0].executable().blocks_communicate(kernel)
    }

    /// Executes a command, or launches of one kernel and configuration at once.
    fn execute(&mut self, commands: &[(usize, Command<'_>)]) -> Result<(), DeviceError> {
        let (position, command) = commands[0];
        match command {
            Command::Launch(first) => {
                let launches: Vec<_> = commands
                    .iter()
                    .filter_map(|(_, each)| match each {
                        Command::Launch(launch) => {
                            let device = each.device(self.plan.buffers()) as usize;
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
                let is_whole = self.device.sampling.whole.contains(kernel);
                let sampling = is_whole.then(|| self.machine.options().clone());
                if let Some(options) = sampling.clone() {
                    self.machine.set_options(Options {
                        most_blocks: None,
                        ..options
                    });
                }
                let (plan, addresses, share) = (&self.plan, &self.addresses, &self.device.share);
                let (ended, printed) = self.device.replays.launch(
                    &mut self.machine,
                    self.modules[0].executable(),
                    config.grid,
                    |wrong| place_of(wrong, plan, share, addresses),
                    |machine| machine.launch_together(&launches, kernel, &config),
                );
                if let Some(options) = sampling {
                    self.machine.set_options(options);
                }
                self.device.show(printed);
                let mut report = match ended {
                    Ok(report) => report,
                    Err(fault) if self.ends_sample(kernel, &fault) => return Ok(()),
                    Err(fault) => {
                        let launch = format_args!("launch of `{kernel}`");
                        return Err(DeviceError::Emulated {
                            place: self.plan.place(position, launch),
                            fault: Box::new(fault),
                        });
                    }
                };
                // From a sample's counts those of the whole launch follow.
                if self.device.options.most_blocks.is_some() {
                    let of_one = u64::try_from(first.config.blocks()).unwrap_or(u64::MAX);
                    report.extrapolate(of_one.saturating_mul(commands.len() as u64));
                }
                let counted = &mut self.reports[first.kernel_index];
                counted.launches += commands.len() as u64;
                counted.total.add(&report);
            }
            Command::Copy(copy) => {
                let size = self.plan.buffers()[copy.src.index()].element.size() as u64;
                let most = self.device.sampling.copied_bytes;
                if most.is_some_and(|most| copy.len * size > most) {
                    return Ok(());
                }
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

/// The place of a wrong value, if it is in this process's memory.
fn place_of(
    wrong: &WrongValue,
    plan: &Plan,
    share: &Share,
    addresses: &[u64],
) -> Option<BytePlace> {
    let id = plan.find_buffer(&wrong.buffer).ok()?;
    let pieces = own_pieces(plan, share, id, Pieces::Owned).into_iter();
    let mut found = pieces.filter(|piece| piece.whole.contains(&(wrong.byte as usize)));
    let Piece {
        part,
        offset,
        whole,
    } = found.next()?;
    let byte = offset + wrong.byte - whole.start as u64;
    Some(BytePlace {
        address: addresses[part.index()] + byte,
        buffer: plan.buffers()[part.index()].name.clone(),
        byte,
    })
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
        for part in self.device.share.memory_of(&self.plan, id) {
            let is_buffer = self.machine.poison(self.addresses[part.index()], POISON);
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
