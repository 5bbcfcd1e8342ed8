//! The buffers and runs of one plan.

mod timed;

use std::rc::Rc;

use cust::event::{Event, EventFlags};
use cust::sys::CUfunction_attribute as FunctionAttribute;

use super::commands::{Commands, Refused, Wire};
use super::driver::stream::StreamRef;
use super::driver::{call, check};
use super::gpu::Opened;
use super::graph::Graph;
use super::kernels::Gpu;
use super::memory::{Bands, Memory};
use super::nccl;
use super::staging::is_large;
use super::streams::StreamSet;
use device::pieces::{Pieces, own_pieces};
use device::validate::ValidationError;
use device::{
    BufferPool, Buffers, DeviceError, Error, HostBuffer, KernelInfo, Launching, Session, Share,
    Stray, TimedSession, Timing, check_buffer,
};
use plan::{BufferId, Command, Launch, Plan};

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: u32 = 2;

/// Whose memory a session uses.
pub enum Use {
    /// Its own.
    Own,
    /// Its own, between bands, since the plan is not trusted.
    Banded(Bands),
    /// A pool's, which several sessions use.
    Pool(BufferPool),
}

impl Use {
    /// For a session that is to have these buffers.
    pub fn of(buffers: &Buffers) -> Use {
        match buffers {
            Buffers::Own => Use::Own,
            Buffers::Pool(pool) => Use::Pool(pool.clone()),
            Buffers::Isolated => Use::Banded(Bands::new()),
        }
    }
}

/// A plan on a GPU.
pub struct CudaSession<'d> {
    /// This process's, from the first of its share on.
    gpus: Vec<Gpu<'d>>,
    share: Share,
    plan: Plan,
    commands: Commands<'d>,
    /// Made by [`TimedSession::capture`].
    graph: Option<Graph>,
    /// Why it may have none.
    no_graph: Option<&'static str>,
    /// Whether it ran by stream, and by its graph. In the first run the driver may have to wait for
    /// the device.
    ran: [bool; 2],
    /// None for those that are scattered.
    buffers: Vec<Option<Rc<Memory>>>,
    memory: Use,
    start: Event,
    stop: Event,
}

impl<'d> CudaSession<'d> {
    /// Prepares a validated plan on as many GPUs as it needs.
    pub fn new(
        gpus: Vec<Gpu<'d>>,
        share: Share,
        wire: Option<Wire<'d>>,
        plan: &Plan,
        memory: Use,
    ) -> Result<CudaSession<'d>, Error> {
        let buffers = allocate(&gpus, &share, plan, &memory)?;
        let address = |id: BufferId| buffers[id.index()].as_ref().map_or(0, |own| own.address());
        let event =
            || check("cuEventCreate", Event::new(EventFlags::DEFAULT)).map_err(DeviceError::from);
        let function = |device: u32, kernel: usize| {
            gpus[(device - share.own.start) as usize].kernels[kernel].raw()
        };
        // SAFETY: the plan was validated, and `allocate` gave each buffer its bytes. The session
        // keeps kernels and memory, and waits for what it has enqueued.
        let mut commands = unsafe { Commands::new(plan, &share, address, function) };
        commands.wire = wire;
        let contexts = gpus.iter().map(|gpu| gpu.opened.context()).collect();
        commands.streams =
            StreamSet::new(&commands.schedule, contexts).map_err(DeviceError::from)?;
        gpus[0].device.enter()?;
        Ok(CudaSession {
            commands,
            graph: None,
            no_graph: None,
            ran: [false; 2],
            start: event()?,
            stop: event()?,
            plan: plan.clone(),
            buffers,
            memory,
            gpus,
            share,
        })
    }

    /// Makes [`TimedSession::capture`] give this reason instead of a graph.
    pub fn forbid_graphs(&mut self, reason: &'static str) {
        self.no_graph = Some(reason);
    }

    /// The first GPU, on which runs begin and end. Its context becomes current.
    fn enter(&self) -> Result<&'d Opened, DeviceError> {
        for gpu in &self.gpus[1..] {
            // One that is lost is no longer to be had.
            gpu.device.enter()?;
        }
        self.gpus[0].device.enter()
    }

    /// The memory of a buffer that is not scattered, and its GPU, whose context becomes current.
    fn enter_memory(&self, id: BufferId) -> Result<(&Rc<Memory>, &'d Opened), DeviceError> {
        let device = self.plan.buffers()[id.index()].device - self.share.own.start;
        let opened = self.gpus[device as usize].device.enter()?;
        let memory = self.buffers[id.index()].as_ref();
        Ok((memory.expect("a buffer in memory"), opened))
    }

    /// Buffers of this process that have the memory of this one.
    fn memory_of(&self, id: BufferId) -> Result<Vec<BufferId>, Error> {
        self.plan.buffer_info(id)?;
        Ok(self.share.memory_of(&self.plan, id))
    }

    /// A result of the driver, with the plan in the error.
    fn check<T>(&self, result: Result<T, impl Into<Refused>>) -> Result<T, Error> {
        result.map_err(|refused| self.failed(refused.into()))
    }

    fn failed(&self, refused: Refused) -> Error {
        let (cause, position) = match refused {
            Refused::Driver { cause, position } => (cause, position),
            Refused::Wire(error) => {
                // The buffers may be freed next.
                nccl::settle();
                return error.into();
            }
        };
        // Of several GPUs, the module of the one with a message.
        let has_panicked = |gpu: &&Gpu| gpu.module.panic().is_some();
        let gpu = self.gpus.iter().find(has_panicked).unwrap_or(&self.gpus[0]);
        let failed = self.gpus[0].device.failed(&self.plan, &gpu.module, cause);
        match (failed, position) {
            (DeviceError::Driver(why), Some(position)) => DeviceError::LaunchRefused {
                place: self.place(position),
                cause: why,
            },
            (error, _) => error,
        }
        .into()
    }

    /// Names a command of the plan, and what the driver may have refused of it.
    fn place(&self, position: usize) -> String {
        match self.plan.commands().nth(position) {
            Some(Command::Launch(Launch { kernel, config, .. })) => self.plan.place(
                position,
                format_args!(
                    "launch of `{kernel}`, grid {:?}, block {:?}, {} bytes of shared memory{}",
                    config.grid,
                    config.block,
                    config.shared_mem_bytes,
                    match config.cluster {
                        [1, 1, 1] => String::new(),
                        cluster => format!(", clusters of {cluster:?} blocks"),
                    }
                ),
            ),
            Some(Command::Copy(_)) => self.plan.place(position, format_args!("copy")),
            _ => self.plan.place(position, format_args!("fill")),
        }
    }
}

impl Session for CudaSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        check_buffer(&self.plan, id, from)?;
        for piece in own_pieces(&self.plan, &self.share, id, Pieces::Held) {
            let (buffer, opened) = self.enter_memory(piece.part)?;
            let (offset, from) = (piece.offset as usize, &from.bytes()[piece.whole]);
            let stream = StreamRef::from(opened.stream());
            let written = if is_large(from.len()) {
                opened.staged(|staging| staging.write(buffer, offset, from, stream))
            } else {
                buffer.write(offset, from)
            };
            self.check(written)?;
        }
        Ok(())
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        for part in self.memory_of(id)? {
            let (buffer, opened) = self.enter_memory(part)?;
            self.check(buffer.fill(byte, opened.stream().into()))?;
        }
        Ok(())
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        let buffer = self.plan.buffer_info(id)?;
        let mut to = HostBuffer::zeroed(buffer.element, buffer.len as usize)?;
        self.read_into(id, &mut to)?;
        Ok(to)
    }

    fn read_into(&mut self, id: BufferId, to: &mut HostBuffer) -> Result<(), Error> {
        check_buffer(&self.plan, id, to)?;
        for piece in own_pieces(&self.plan, &self.share, id, Pieces::Owned) {
            let (buffer, opened) = self.enter_memory(piece.part)?;
            let (offset, to) = (piece.offset as usize, &mut to.bytes_mut()[piece.whole]);
            let stream = StreamRef::from(opened.stream());
            let read = if is_large(to.len()) {
                opened.staged(|staging| staging.read(to, buffer, offset, stream))
            } else {
                buffer.read(offset, to)
            };
            self.check(read)?;
        }
        Ok(())
    }

    /// Large buffers are compared as they arrive, and no further than they are equal.
    fn holds(&mut self, id: BufferId, expected: &HostBuffer) -> Result<bool, Error> {
        check_buffer(&self.plan, id, expected)?;
        if !is_large(expected.bytes().len()) {
            return Ok(self.read(id)?.is_same(expected));
        }
        for piece in own_pieces(&self.plan, &self.share, id, Pieces::Owned) {
            let (buffer, opened) = self.enter_memory(piece.part)?;
            let (offset, expected) = (piece.offset as usize, &expected.bytes()[piece.whole]);
            let stream = StreamRef::from(opened.stream());
            let holds = opened.staged(|staging| staging.holds(expected, buffer, offset, stream));
            if !self.check(holds)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.run_times(1, Launching::Stream)
    }

    fn strays(&mut self) -> Result<Vec<Stray>, Error> {
        let Use::Banded(bands) = &self.memory else {
            return Ok(Vec::new());
        };
        let mut strays = Vec::new();
        for id in self
            .plan
            .in_memory()
            .filter(|&id| self.share.holds(&self.plan, id))
        {
            let (memory, _) = self.enter_memory(id)?;
            let name = &self.plan.buffers()[id.index()].name;
            strays.append(&mut self.check(memory.strays(name, bands))?);
        }
        Ok(strays)
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        let (launch, device) = self
            .plan
            .commands()
            .find_map(|command| match command {
                Command::Launch(launch) if launch.kernel == kernel => {
                    Some((launch, command.device(self.plan.buffers())))
                }
                _ => None,
            })
            .ok_or_else(|| ValidationError::not_launched(&self.plan, kernel))?;
        // All GPUs have all kernels, not only the one that launches this one first.
        let gpu = device
            .checked_sub(self.share.own.start)
            .and_then(|device| self.gpus.get(device as usize))
            .unwrap_or(&self.gpus[0]);
        gpu.device.enter()?;
        let found = &gpu.kernels[launch.kernel_index];
        let get = |which| self.check(found.attribute(which));
        let threads = launch.config.threads_per_block() as u32;
        let blocks = self.check(found.blocks_per_multiprocessor(&launch.config))?;
        let resident = blocks * threads.next_multiple_of(32);
        Ok(KernelInfo {
            name: kernel.to_owned(),
            registers: Some(get(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?),
            local_bytes: get(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            spills: gpu.module.spills(kernel),
            static_shared_bytes: get(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            max_threads_per_block: get(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            blocks_per_multiprocessor: Some(blocks),
            occupancy: Some(
                f64::from(resident) / f64::from(gpu.device.threads_per_multiprocessor.max(1)),
            ),
        })
    }
}

impl Drop for CudaSession<'_> {
    fn drop(&mut self) {
        // Buffers are freed in the current context; nothing is in flight, since `run` waits.
        for (buffer, memory) in self.plan.buffers().iter().zip(&mut self.buffers) {
            if let Some(memory) = memory.take() {
                let device = buffer.device - self.share.own.start;
                let _ = self.gpus[device as usize].device.enter();
                drop(memory);
            }
        }
        let _ = self.gpus[0].device.enter();
    }
}

/// The memory of each buffer that this process holds.
fn allocate(
    gpus: &[Gpu<'_>],
    share: &Share,
    plan: &Plan,
    memory: &Use,
) -> Result<Vec<Option<Rc<Memory>>>, Error> {
    let mut all = vec![None; plan.buffers().len()];
    for (number, gpu) in share.own.clone().zip(gpus) {
        gpu.device.enter()?;
        let (free, total) = call::memory_info().map_err(DeviceError::from)?;
        for id in plan.in_memory() {
            let buffer = &plan.buffers()[id.index()];
            if buffer.device != number {
                continue;
            }
            let bytes = buffer.bytes() as usize;
            let made = match memory {
                Use::Own => Memory::new(bytes, None).map(Rc::new),
                Use::Banded(bands) => Memory::new(bytes, Some(bands)).map(Rc::new),
                Use::Pool(pool) => pool.buffer(buffer, || Memory::new(bytes, None)),
            };
            let made = made.map_err(|cause| match cause.code {
                OUT_OF_MEMORY => DeviceError::OutOfMemory {
                    plan: plan.name().to_owned(),
                    needed_bytes: plan.bytes_on(number),
                    device: gpu.device.named(gpus.len() > 1),
                    free_bytes: free as u64,
                    total_bytes: total as u64,
                },
                _ => DeviceError::from(cause),
            })?;
            all[id.index()] = Some(made);
        }
    }
    Ok(all)
}
