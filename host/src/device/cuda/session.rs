//! Buffers and runs of one plan.

use std::sync::Arc;
use std::time::Instant;

use cust::event::{Event, EventFlags};
use cust::sys::{self, CUfunction, CUfunction_attribute as FunctionAttribute};

use super::fault::{refusal_remedy, suspects};
use super::graph::{self, Graph, NotMade};
use super::hold::Held;
use super::launches::Launches;
use super::loaded::{LoadedModule, function_attribute};
use super::memory::{Bands, Memory};
use super::open::{CudaDevice, Opened};
use crate::buffer::HostBuffer;
use crate::device::traits::expect_like;
use crate::device::{
    Capture, Device, DeviceError, DriverError, Flushed, KernelInfo, Launching, Session, Stray,
    Timing,
};
use crate::driver::{check, check_cust};
use crate::error::Error;
use crate::plan::{BufferId, Command, Launch, Plan};
use crate::validate::ValidationError;

/// Shared memory, static and dynamic, that every launch may use without asking.
const DEFAULT_SHARED_MEM_BYTES: u32 = 48 * 1024;

/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`: what our forwarding answers for a function that an old driver lacks.
const FUNCTION_NOT_FOUND: u32 = 302;

/// A plan on a GPU.
pub struct CudaSession<'d> {
    device: &'d CudaDevice,
    opened: &'d Opened,
    plan: Plan,
    functions: Vec<CUfunction>,
    launches: Launches,
    /// Made by [`Session::capture`].
    graph: Option<Graph>,
    /// It ran by stream, and by its graph. The first time the driver may have to wait for the device.
    ran: [bool; 2],
    buffers: Vec<Memory>,
    /// Around each buffer, where whoever prepared the plan does not trust it.
    bands: Option<Bands>,
    start: Event,
    stop: Event,
    /// The functions are this module's.
    _module: Arc<LoadedModule>,
}

impl<'d> CudaSession<'d> {
    /// Prepares a validated plan. The device's context is current.
    pub fn new(
        device: &'d CudaDevice,
        opened: &'d Opened,
        module: Arc<LoadedModule>,
        plan: &Plan,
        bands: Option<Bands>,
    ) -> Result<CudaSession<'d>, Error> {
        let functions = plan
            .kernels()
            .iter()
            .map(|kernel| module.function(kernel))
            .collect::<Result<Vec<CUfunction>, DriverError>>()
            .map_err(DeviceError::from)?;
        allow_shared_memory(plan, &functions).map_err(DeviceError::from)?;
        let buffers = allocate(device, plan, bands.as_ref())?;
        let address = |id: BufferId| buffers[id.index()].address();
        let event = || check_cust("cuEventCreate", Event::new(EventFlags::DEFAULT));
        Ok(CudaSession {
            device,
            opened,
            launches: Launches::new(plan, address, &functions),
            graph: None,
            ran: [false; 2],
            functions,
            start: event().map_err(DeviceError::from)?,
            stop: event().map_err(DeviceError::from)?,
            plan: plan.clone(),
            buffers,
            bands,
            _module: module,
        })
    }

    fn failed(&self, cause: DriverError) -> Error {
        self.device
            .failed(self.plan.name(), &suspects(&self.plan), cause)
            .into()
    }

    /// The error for a command that the driver did not take.
    fn refused(&self, position: usize, cause: DriverError) -> Error {
        match self
            .device
            .failed(self.plan.name(), &suspects(&self.plan), cause)
        {
            DeviceError::Driver(cause) => {
                let place = match self.plan.commands().nth(position) {
                    Some(Command::Launch(launch)) => self.plan.place(
                        position,
                        format_args!(
                            "launch of `{}`, grid {:?}, block {:?}, {} bytes of shared memory",
                            launch.kernel,
                            launch.config.grid,
                            launch.config.block,
                            launch.config.shared_mem_bytes
                        ),
                    ),
                    Some(Command::Copy(_)) => self.plan.place(position, format_args!("copy")),
                    _ => self.plan.place(position, format_args!("fill")),
                };
                let remedy = refusal_remedy(cause.code).to_owned();
                DeviceError::LaunchRefused {
                    place,
                    cause,
                    remedy,
                }
                .into()
            }
            other => other.into(),
        }
    }

    /// Enqueues the plan once.
    fn enqueue(&mut self, by: Launching) -> Result<(), Error> {
        let stream = self.opened.stream.as_inner();
        if let (Launching::Graph, Some(graph)) = (by, &self.graph) {
            // SAFETY: as below.
            return unsafe { graph.enqueue(stream) }.map_err(|cause| self.failed(cause));
        }
        // SAFETY: the context is current, the plan was validated, the buffers are this session's.
        let enqueued = unsafe { self.launches.enqueue(stream) };
        enqueued.map_err(|(position, function, result)| {
            let cause = check(function, result).expect_err("a refusal");
            self.refused(position, cause)
        })
    }

    /// Whether the driver takes so many runs at once, without waiting for the device. Isolated sessions load their modules
    /// whole, and run once.
    fn fits_behind_gate(&self, runs: u32, by: Launching) -> bool {
        /// Streams take some 1000 commands ahead.
        const MOST_COMMANDS: u64 = 256;
        let commands = match by {
            Launching::Graph => 1,
            Launching::Stream => self.launches.len() as u64,
        };
        (self.ran[by as usize] || self.bands.is_some())
            && u64::from(runs) * commands <= MOST_COMMANDS
    }

    fn first_launch(&self, kernel: &str) -> Result<Launch<'_>, ValidationError> {
        self.plan
            .commands()
            .find_map(|command| match command {
                Command::Launch(launch) if launch.kernel == kernel => Some(launch),
                _ => None,
            })
            .ok_or_else(|| ValidationError::not_launched(&self.plan, kernel))
    }
}

impl Session for CudaSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        expect_like(&self.plan, id, from)?;
        self.device.enter()?;
        let written = self.buffers[id.index()].write(from.bytes());
        written.map_err(|cause| self.failed(cause))
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.plan.buffer_info(id)?;
        self.device.enter()?;
        let buffer = &self.buffers[id.index()];
        // SAFETY: the buffer has so many bytes, and the context is current.
        let result = unsafe {
            sys::cuMemsetD8Async(
                buffer.address(),
                byte,
                buffer.bytes(),
                self.opened.stream.as_inner(),
            )
        };
        check("cuMemsetD8Async", result)
            .and_then(|()| check_cust("cuStreamSynchronize", self.opened.stream.synchronize()))
            .map_err(|cause| self.failed(cause))
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        let buffer = self.plan.buffer_info(id)?;
        let mut to = HostBuffer::zeroed(buffer.element, buffer.len as usize)?;
        self.device.enter()?;
        let read = self.buffers[id.index()].read(to.bytes_mut());
        read.map_err(|cause| self.failed(cause))?;
        Ok(to)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.run_times(1, Launching::Stream)
    }

    fn run_times(&mut self, runs: u32, by: Launching) -> Result<Timing, Error> {
        self.device.enter()?;
        let opened = self.opened;
        let stream = &opened.stream;
        let by = if self.graph.is_some() {
            by
        } else {
            Launching::Stream
        };
        let began = Instant::now();
        let held = if self.fits_behind_gate(runs, by) {
            opened.gate.hold(stream.as_inner())
        } else {
            None
        };
        let recorded = check_cust("cuEventRecord", self.start.record(stream));
        recorded.map_err(|cause| self.failed(cause))?;
        for _ in 0..runs {
            if let Err(error) = self.enqueue(by) {
                drop(held);
                // What was accepted finishes before anyone may free its buffers.
                let _ = stream.synchronize();
                return Err(error);
            }
        }
        let recorded = check_cust("cuEventRecord", self.stop.record(stream));
        recorded.map_err(|cause| self.failed(cause))?;
        let began = held.as_ref().map_or(began, Held::release);
        let finished = check_cust("cuStreamSynchronize", stream.synchronize());
        finished.map_err(|cause| self.failed(cause))?;
        let host = began.elapsed();
        let elapsed = check_cust("cuEventElapsedTime", self.stop.elapsed(&self.start));
        let device = elapsed.map_err(|cause| self.failed(cause))?;
        self.ran[by as usize] = true;
        Ok(Timing {
            device: Some(device),
            host,
        })
    }

    fn strays(&mut self) -> Result<Vec<Stray>, Error> {
        let Some(bands) = &self.bands else {
            return Ok(Vec::new());
        };
        self.device.enter()?;
        let mut strays = Vec::new();
        for (memory, buffer) in self.buffers.iter().zip(self.plan.buffers()) {
            let found = memory.strays(&buffer.name, bands);
            strays.append(&mut found.map_err(|cause| self.failed(cause))?);
        }
        Ok(strays)
    }

    fn capture(&mut self) -> Result<Capture, Error> {
        let commands = self.launches.len();
        if commands == 0 || commands > graph::MAX_NODES {
            let most = graph::MAX_NODES;
            return Ok(Capture::Stream {
                reason: format!(
                    "graphs are made of 1 to {most} commands, and this plan has {commands}"
                ),
            });
        }
        self.device.enter()?;
        if self.graph.is_none() {
            // SAFETY: the context is current, the plan was validated, the buffers are this session's, as is the graph.
            match unsafe { Graph::new(&mut self.launches) } {
                Ok(graph) => self.graph = Some(graph),
                Err(NotMade::Refused(position, cause)) => return Err(self.refused(position, cause)),
                Err(NotMade::Failed(cause)) if cause.code == FUNCTION_NOT_FOUND => {
                    return Ok(Capture::Stream {
                        reason: format!("the driver has no graphs: {cause}"),
                    });
                }
                Err(NotMade::Failed(cause)) => return Err(self.failed(cause)),
            }
        }
        let graph = self.graph.as_ref().expect("just made");
        Ok(Capture::Graph {
            nodes: graph.nodes,
            made_in: graph.made_in,
        })
    }

    fn flush(&mut self) -> Result<Flushed, Error> {
        let l2_bytes = self.device.info().l2_bytes.unwrap_or(0);
        if l2_bytes == 0 {
            return Ok(Flushed::NoCache);
        }
        self.device.enter()?;
        let bytes = self
            .opened
            .flush_l2(l2_bytes)
            .map_err(|cause| self.failed(cause))?;
        Ok(Flushed::Cache { bytes })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        let launch = self.first_launch(kernel)?;
        self.device.enter()?;
        let function = self.functions[launch.kernel_index];
        let get = |which| function_attribute(function, which).map_err(|cause| self.failed(cause));
        let threads = launch.config.threads_per_block() as u32;
        let mut blocks = 0;
        // SAFETY: `blocks` may be written, and the function is of a loaded module.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                threads as i32,
                launch.config.shared_mem_bytes as usize,
            )
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", result)
            .map_err(|cause| self.failed(cause))?;
        let blocks = blocks.max(0) as u32;
        let resident = blocks * threads.next_multiple_of(32);
        Ok(KernelInfo {
            name: kernel.to_owned(),
            registers: Some(get(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?),
            local_bytes: get(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            static_shared_bytes: get(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            max_threads_per_block: get(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            blocks_per_multiprocessor: Some(blocks),
            occupancy: Some(
                f64::from(resident) / f64::from(self.device.threads_per_multiprocessor.max(1)),
            ),
        })
    }
}

impl Drop for CudaSession<'_> {
    fn drop(&mut self) {
        // Buffers are freed in the current context; nothing is in flight, since `run` waits.
        let _ = self.device.enter();
    }
}

/// Launches with more dynamic shared memory than the default need it to be asked for, once for each kernel.
fn allow_shared_memory(plan: &Plan, functions: &[CUfunction]) -> Result<(), DriverError> {
    let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let mut most = vec![0; functions.len()];
    for command in plan.commands() {
        if let Command::Launch(launch) = command {
            let bytes = &mut most[launch.kernel_index];
            *bytes = launch.config.shared_mem_bytes.max(*bytes);
        }
    }
    let static_bytes = FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    for (&function, &bytes) in functions.iter().zip(&most) {
        if bytes + function_attribute(function, static_bytes)? > DEFAULT_SHARED_MEM_BYTES {
            // Another session may launch the same kernel with more: never lower its limit.
            let bytes = bytes.max(function_attribute(function, which)?);
            // SAFETY: the function is of a loaded module, whose context is current.
            unsafe {
                check(
                    "cuFuncSetAttribute",
                    sys::cuFuncSetAttribute(function, which, bytes as i32),
                )?;
            }
        }
    }
    Ok(())
}

fn allocate(device: &CudaDevice, plan: &Plan, bands: Option<&Bands>) -> Result<Vec<Memory>, Error> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both may be written, and the context is current.
    let result = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
    check("cuMemGetInfo", result).map_err(DeviceError::from)?;
    let needed_bytes = plan.memory_bytes()?;
    plan.buffers()
        .iter()
        .map(|buffer| {
            Memory::new(buffer.bytes() as usize, bands).map_err(|cause| {
                const OUT_OF_MEMORY: u32 = 2;
                if cause.code == OUT_OF_MEMORY {
                    DeviceError::OutOfMemory {
                        plan: plan.name().to_owned(),
                        needed_bytes,
                        device: device.info().name.clone(),
                        free_bytes: free as u64,
                        total_bytes: total as u64,
                    }
                } else {
                    cause.into()
                }
                .into()
            })
        })
        .collect()
}
