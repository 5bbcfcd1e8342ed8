//! Buffers and runs of one plan.

use std::sync::Arc;
use std::time::Instant;

use ptx_emu::{DeviceLimits, Fault, LoadedModule, Machine, OutOfMemory};

use super::{EmulatedDevice, KernelReport};
use crate::buffer::HostBuffer;
use crate::device::layout::Layout;
use crate::device::traits::expect_like;
use crate::device::{Device, DeviceError, KernelInfo, POISON, Session, Timing};
use crate::error::Error;
use crate::memory::available_bytes;
use crate::module::Module;
use crate::plan::{BufferId, Command, Launch, Plan};
use crate::validate::ValidationError;

/// A plan on a machine of its own.
pub struct EmulatedSession<'d> {
    device: &'d EmulatedDevice,
    machine: Machine,
    module: LoadedModule,
    plan: Arc<Plan>,
    /// Address of each buffer.
    addresses: Vec<u64>,
    reports: Vec<KernelReport>,
}

impl<'d> EmulatedSession<'d> {
    /// Prepares a validated plan.
    pub fn new(
        device: &'d EmulatedDevice,
        module: &Module,
        plan: &Plan,
    ) -> Result<EmulatedSession<'d>, Error> {
        let executable = Arc::clone(module.executable()?);
        let mut machine = Machine::new(DeviceLimits::default(), device.options().clone());
        let needed_bytes = plan.memory_bytes()?;
        let total_bytes = device.info().memory_bytes.unwrap_or(u64::MAX);
        let refused = |free_bytes| DeviceError::OutOfMemory {
            plan: plan.name().to_owned(),
            needed_bytes,
            device: device.info().name.clone(),
            free_bytes,
            total_bytes,
        };
        // The host's memory is the device's: what it no longer has cannot be given.
        let has_bytes = available_bytes().map_or(total_bytes, |bytes| bytes.min(total_bytes));
        if needed_bytes > has_bytes {
            return Err(refused(has_bytes).into());
        }
        let refused = |error: OutOfMemory| refused(error.capacity - error.used);
        let loaded = machine.load(executable).map_err(refused)?;
        let addresses = plan
            .buffers()
            .iter()
            .map(|buffer| {
                machine
                    .allocate(buffer.bytes(), &buffer.name)
                    .map_err(refused)
            })
            .collect::<Result<Vec<u64>, DeviceError>>()?;
        Ok(EmulatedSession {
            device,
            machine,
            module: loaded,
            plan: Arc::new(plan.clone()),
            addresses,
            reports: Vec::new(),
        })
    }

    fn execute(&mut self, position: usize, command: Command<'_>) -> Result<(), DeviceError> {
        let size = |id: BufferId| self.plan.buffers()[id.index()].element.size() as u64;
        match command {
            Command::Launch(launch) => {
                let params = self.params(&launch);
                let config = ptx_emu::LaunchConfig {
                    grid: launch.config.grid,
                    block: launch.config.block,
                    shared_mem_bytes: launch.config.shared_mem_bytes,
                };
                let report = self
                    .machine
                    .launch(&self.module, launch.kernel, &config, &params)
                    .map_err(|fault| self.failed(position, &launch, fault))?;
                self.reports[launch.kernel_index].add(report);
            }
            Command::Copy(copy) => {
                let src = self.addresses[copy.src.index()] + copy.src_start * size(copy.src);
                let dst = self.addresses[copy.dst.index()] + copy.dst_start * size(copy.dst);
                let bytes = (copy.len * size(copy.src)) as usize;
                self.machine
                    .copy(src, dst, bytes)
                    .expect("a validated copy lies within its buffers");
            }
            Command::Fill(fill) => self.set(fill.dst, fill.byte),
        }
        Ok(())
    }

    /// The parameter block of a launch.
    fn params(&self, launch: &Launch<'_>) -> Vec<u8> {
        let mut layout = Layout::default();
        for arg in launch.args {
            layout.push(arg, &self.plan, |id| self.addresses[id.index()]);
        }
        let kernel = self.kernel(launch.kernel);
        let values: &[u8] = bytemuck::cast_slice(&layout.values);
        let mut params = vec![0; kernel.kernel_param_bytes as usize];
        for (param, start) in kernel.params.iter().zip(layout.starts) {
            let (offset, size) = (param.offset as usize, param.size() as usize);
            params[offset..offset + size].copy_from_slice(&values[8 * start..][..size]);
        }
        params
    }

    fn kernel(&self, name: &str) -> &ptx::Function {
        self.module
            .program()
            .kernel(name)
            .expect("a validated plan launches kernels of its module")
    }

    fn failed(&self, position: usize, launch: &Launch<'_>, fault: Fault) -> DeviceError {
        DeviceError::Emulated {
            place: self
                .plan
                .place(position, format_args!("launch of `{}`", launch.kernel)),
            fault: Box::new(fault),
        }
    }

    fn set(&mut self, id: BufferId, byte: u8) {
        let bytes = self.plan.buffers()[id.index()].bytes() as usize;
        self.machine
            .write(self.addresses[id.index()], &vec![byte; bytes])
            .expect("a buffer of the plan");
    }
}

impl Session for EmulatedSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        expect_like(&self.plan, id, from)?;
        self.machine
            .write(self.addresses[id.index()], from.bytes())
            .expect("a buffer of the plan");
        Ok(())
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.plan.buffer_info(id)?;
        self.set(id, byte);
        Ok(())
    }

    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.plan.buffer_info(id)?;
        let is_there = self.machine.poison(self.addresses[id.index()], POISON);
        assert!(is_there, "a buffer of the plan");
        Ok(())
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        let buffer = self.plan.buffer_info(id)?;
        let mut to = HostBuffer::zeroed(buffer.element, buffer.len as usize)?;
        self.machine
            .read(self.addresses[id.index()], to.bytes_mut())
            .expect("a buffer of the plan");
        Ok(to)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        let kernels = self.plan.kernels().iter();
        self.reports = kernels.map(|kernel| KernelReport::new(kernel)).collect();
        let began = Instant::now();
        let plan = Arc::clone(&self.plan);
        for (position, command) in plan.commands().enumerate() {
            self.execute(position, command)?;
        }
        Ok(Timing {
            device: None,
            host: began.elapsed(),
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        if !self
            .plan
            .kernels()
            .iter()
            .any(|launched| launched == kernel)
        {
            return Err(ValidationError::not_launched(&self.plan, kernel).into());
        }
        let function = self.kernel(kernel);
        let limit = self.device.info().limits.threads_per_block;
        let bound = function.max_threads.map_or(limit, |extents| {
            extents.iter().fold(1u32, |all, &n| all.saturating_mul(n))
        });
        Ok(KernelInfo {
            name: kernel.to_owned(),
            registers: None,
            local_bytes: function.local_bytes,
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
