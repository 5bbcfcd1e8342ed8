//! A plan's commands in the form that the driver takes: enqueued one by one, or captured as a graph and replayed with one
//! call. Everything is laid out beforehand, so that executing a command costs a driver call and nothing more.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::time::{Duration, Instant};

use cust::sys::{
    self, CUdeviceptr, CUfunction, CUgraph, CUgraphExec, CUresult, CUstream, CUstreamCaptureMode,
};

use super::fan::{Fan, SideStream};
use super::lanes::{Batch, Contexts, Lanes};
use crate::device_error::DriverError;
use crate::driver::{check, launch_cluster};
use crate::nccl::{Comm, Nccl, NcclError};
use crate::params::Params;
use crate::share::{Role, Share};
use plan::{BufferId, Command, LaunchConfig, Plan};

/// The longest plan that becomes a graph as a whole. A node takes some 3 to 8 us to make (H100, driver 580). A longer plan
/// becomes a graph of some repetitions, if it repeats.
pub const MAX_NODES: usize = 32_768;

/// About so many nodes has the graph of a plan that repeats: launching it costs little beside them.
const REPEATED_NODES: usize = 4096;

/// The most commands before the first repetition: copies and the like.
const MOST_BEFORE: usize = 8;

/// A failure to enqueue or capture commands.
#[derive(Debug)]
pub enum Refused {
    /// By the driver.
    Driver {
        /// Its result.
        cause: DriverError,
        /// The command that it refused, if one was at fault.
        position: Option<usize>,
    },
    /// By NCCL.
    Wire(NcclError),
}

impl From<DriverError> for Refused {
    fn from(cause: DriverError) -> Refused {
        Refused::Driver {
            cause,
            position: None,
        }
    }
}

/// What devices of other processes are reached through.
#[derive(Debug, Clone, Copy)]
pub struct Wire<'d> {
    /// The library.
    pub nccl: Nccl,
    /// This process's devices as members.
    pub comms: &'d [Comm],
    /// The number of the first of them in the plan.
    pub first: u32,
    /// How long others may take to send or receive.
    pub longest: Duration,
}

/// Commands with addresses in place of buffers.
#[derive(Debug)]
pub struct Commands<'d> {
    steps: Vec<Step>,
    /// For each argument of each launch, the address of its value in `values`.
    params: Vec<*mut c_void>,
    /// The arguments' bytes. Never changed once `params` points into it.
    values: Vec<u64>,
    /// Ranges of commands that are independent of each other.
    groups: Vec<Range<usize>>,
    /// What these run on at once. Without it they run one after another.
    pub fan: Fan,
    /// What all run on, if they are of several devices.
    pub lanes: Option<(Lanes, Contexts<'d>)>,
    /// What sends and receives go through, if there are any.
    pub wire: Option<Wire<'d>>,
}

#[derive(Debug)]
enum Step {
    Launch {
        function: CUfunction,
        config: LaunchConfig,
        /// The launch's first entry in `params`.
        params: usize,
    },
    Copy {
        dst: CUdeviceptr,
        src: CUdeviceptr,
        bytes: usize,
        are_of_one_device: bool,
    },
    Fill {
        dst: CUdeviceptr,
        byte: u8,
        bytes: usize,
    },
    /// To or from a device of another process.
    Transfer {
        role: Role,
        address: CUdeviceptr,
        bytes: usize,
    },
    /// Another process's.
    Nothing,
}

impl<'d> Commands<'d> {
    /// Lays out a plan. `address` gives each buffer's address in device memory, `function` a kernel as the device of this number has it, by its
    /// position in [`Plan::kernels`].
    pub fn new(
        plan: &Plan,
        share: &Share,
        address: impl Fn(BufferId) -> CUdeviceptr,
        function: impl Fn(u32, usize) -> CUfunction,
    ) -> Commands<'d> {
        let mut all = Params::default();
        let size = |id: BufferId| plan.buffers()[id.index()].element.size() as u64;
        let steps = plan
            .commands()
            .map(|command| match (share.role(plan, &command), command) {
                (Role::Nothing, _) => Step::Nothing,
                (role @ (Role::Send { .. } | Role::Receive { .. }), Command::Copy(copy)) => {
                    let (id, start) = match role {
                        Role::Send { .. } => (copy.src, copy.src_start),
                        _ => (copy.dst, copy.dst_start),
                    };
                    Step::Transfer {
                        role,
                        address: address(id) + start * size(id),
                        bytes: (copy.len * size(id)) as usize,
                    }
                }
                (_, Command::Launch(launch)) => {
                    let params = all.starts.len();
                    for arg in launch.args {
                        all.push(arg, plan, &address);
                    }
                    Step::Launch {
                        function: function(command.device(plan.buffers()), launch.kernel_index),
                        config: launch.config,
                        params,
                    }
                }
                (_, Command::Copy(copy)) => Step::Copy {
                    dst: address(copy.dst) + copy.dst_start * size(copy.dst),
                    src: address(copy.src) + copy.src_start * size(copy.src),
                    bytes: (copy.len * size(copy.src)) as usize,
                    are_of_one_device: {
                        let device = |id: BufferId| plan.buffers()[id.index()].device;
                        device(copy.src) == device(copy.dst)
                    },
                },
                (_, Command::Fill(fill)) => Step::Fill {
                    dst: address(fill.dst),
                    byte: fill.byte,
                    bytes: plan.buffers()[fill.dst.index()].bytes() as usize,
                },
            })
            .collect();
        let Params { mut values, starts } = all;
        let base = values.as_mut_ptr();
        let params = starts
            .into_iter()
            .map(|start| {
                // SAFETY: every start is at most the number of values; one past the end is for structures of no bytes.
                unsafe { base.add(start) }.cast()
            })
            .collect();
        Commands {
            steps,
            params,
            values,
            groups: plan.groups().to_vec(),
            fan: Fan::default(),
            lanes: None,
            wire: None,
        }
    }

    /// Number of commands.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Commands of the largest group of independent ones; 0 without groups.
    pub fn largest_group(&self) -> usize {
        let lens = self.groups.iter().map(ExactSizeIterator::len);
        lens.max().unwrap_or(0)
    }

    /// The group that a command belongs to.
    fn group_of(&self, position: usize) -> Option<&Range<usize>> {
        let after = self.groups.partition_point(|group| group.start <= position);
        let group = self.groups.get(after.checked_sub(1)?)?;
        group.contains(&position).then_some(group)
    }

    /// Where the plan can be parted: this position, or the end of the group that it would part.
    pub fn boundary(&self, position: usize) -> usize {
        match self.group_of(position) {
            Some(group) if group.start < position => group.end,
            _ => position,
        }
    }

    /// The addresses of all arguments' values, in order.
    #[cfg(test)]
    pub fn params(&self) -> &[*mut c_void] {
        &self.params
    }

    /// The commands of a graph: all of them or, of a long plan, some repetitions of what it repeats after a few commands. `None`
    /// for a long plan that does not repeat.
    pub fn graph_range(&self) -> Option<Range<usize>> {
        match self.len() {
            0 => None,
            len @ ..=MAX_NODES => Some(0..len),
            len => {
                let keys = self.keys();
                let starts = (0..=MOST_BEFORE).filter(|&start| self.boundary(start) == start);
                let ranges = starts.map(|start| {
                    let period = period(&keys[start..]);
                    let repeated = period * (REPEATED_NODES / period).max(1);
                    start..start + repeated
                });
                let fits = |range: &Range<usize>| {
                    range.len() <= MAX_NODES && range.len() <= (len - range.start) / 2
                };
                { ranges }.find(fits)
            }
        }
    }

    /// For each command, a number: the same for commands that do the same.
    fn keys(&self) -> Vec<usize> {
        let base = self.values.as_ptr() as usize;
        let value_of = |param: *mut c_void| (param as usize - base) / size_of::<u64>();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut keys = Vec::with_capacity(self.steps.len());
        let launches = self.steps.iter().filter_map(|step| match step {
            Step::Launch { params, .. } => Some(*params),
            _ => None,
        });
        // The arguments of a launch end where those of the next begin.
        let mut ends = launches.skip(1).chain([self.params.len()]);
        for (position, step) in self.steps.iter().enumerate() {
            let mut key: Vec<u64> = match *step {
                Step::Launch {
                    function,
                    config,
                    params,
                } => {
                    let end = ends.next().expect("every launch has an end");
                    let value = |at: usize| {
                        let param = self.params.get(at);
                        param.map_or(self.values.len(), |param| value_of(*param))
                    };
                    let values = &self.values[value(params)..value(end)];
                    let shape = config.grid.into_iter().chain(config.block);
                    let shape = shape.chain(config.cluster);
                    let shape = shape.chain([config.shared_mem_bytes]).map(u64::from);
                    let head = [0, function as u64].into_iter().chain(shape);
                    head.chain(values.iter().copied()).collect()
                }
                Step::Copy {
                    dst, src, bytes, ..
                } => vec![1, dst, src, bytes as u64],
                Step::Fill { dst, byte, bytes } => vec![2, dst, byte.into(), bytes as u64],
                // Plans over several processes go by stream.
                Step::Transfer { .. } | Step::Nothing => vec![3, position as u64],
            };
            if let Some(group) = self.group_of(position) {
                key.extend([position - group.start, group.len()].map(|number| number as u64));
            }
            let next = known.len();
            keys.push(*known.entry(key).or_insert(next));
        }
        keys
    }

    /// Enqueues every command.
    ///
    /// # Safety
    ///
    /// As [`Commands::enqueue_some`].
    pub unsafe fn enqueue(&mut self, stream: CUstream) -> Result<(), Refused> {
        // SAFETY: the caller's.
        unsafe { self.enqueue_some(0..self.len(), stream) }
    }

    /// Enqueues the commands of this range, those that are independent on several streams.
    ///
    /// # Safety
    ///
    /// The context of stream and functions is current. The plan was validated against the functions' module, and its
    /// buffers live until the stream has finished.
    pub unsafe fn enqueue_some(
        &mut self,
        range: Range<usize>,
        stream: CUstream,
    ) -> Result<(), Refused> {
        if let Some((lanes, contexts)) = self.lanes.take() {
            // SAFETY: the caller's.
            let enqueued = unsafe {
                lanes.run(range, stream, &contexts, |batch| match batch {
                    Batch::One(position, stream) => self.enqueue_one(position, stream),
                    Batch::Wires(wires) => self.transfer(wires),
                })
            };
            self.lanes = Some((lanes, contexts));
            return enqueued;
        }
        let mut at = range.start;
        while at < range.end {
            let group = self.group_of(at).map(|group| at..group.end.min(range.end));
            let part = group.clone().unwrap_or_else(|| {
                let next = self.groups.partition_point(|group| group.start <= at);
                let next = self.groups.get(next).map_or(range.end, |group| group.start);
                at..next.min(range.end)
            });
            at = part.end;
            if group.is_none() {
                // SAFETY: the caller's.
                unsafe { self.enqueue_each(part, stream) }?;
                continue;
            }
            // SAFETY: the caller's.
            let streams = unsafe { self.fan.fork(stream, part.len()) }?;
            let mut lanes = part.zip(streams.iter().cycle());
            let enqueued = lanes.try_for_each(|(position, &stream)| {
                // SAFETY: the caller's; the stream waits for what is enqueued before.
                unsafe { self.enqueue_each(position..position + 1, stream) }
            });
            // After a failure, too: the caller waits for its own stream alone.
            // SAFETY: the caller's.
            let joined = unsafe { self.fan.join(&streams) };
            enqueued?;
            joined?;
        }
        Ok(())
    }

    /// Enqueues the commands of this range, one after another.
    ///
    /// # Safety
    ///
    /// As [`Commands::enqueue_some`].
    unsafe fn enqueue_each(
        &mut self,
        range: Range<usize>,
        stream: CUstream,
    ) -> Result<(), Refused> {
        for position in range {
            // SAFETY: the caller's.
            unsafe { self.enqueue_one(position, stream) }?;
        }
        Ok(())
    }

    /// Enqueues sends and receives that start together, each on its stream.
    ///
    /// # Safety
    ///
    /// As [`Commands::enqueue_some`].
    unsafe fn transfer(&self, wires: &[(usize, CUstream)]) -> Result<(), Refused> {
        let wire = self
            .wire
            .expect("a plan with other processes' devices has a wire");
        let comm = |device: u32| &wire.comms[(device - wire.first) as usize];
        let grouped = wire.nccl.group(wire.longest, |group| {
            for &(position, stream) in wires {
                let Step::Transfer {
                    role,
                    address,
                    bytes,
                } = self.steps[position]
                else {
                    continue;
                };
                let stream = stream.cast();
                // SAFETY: a validated copy stays within its buffers, which live as long as the stream; other commands of the plan that access these
                // elements come before or after by events.
                unsafe {
                    match role {
                        Role::Send { from, to } => {
                            group.send(comm(from), address, bytes, to as usize, stream)?;
                        }
                        Role::Receive { from, to } => {
                            group.receive(comm(to), address, bytes, from as usize, stream)?;
                        }
                        Role::Execute(_) | Role::Nothing => {}
                    }
                }
            }
            Ok(())
        });
        grouped.map_err(Refused::Wire)
    }

    /// Enqueues a command.
    ///
    /// # Safety
    ///
    /// As [`Commands::enqueue_some`].
    unsafe fn enqueue_one(&mut self, position: usize, stream: CUstream) -> Result<(), Refused> {
        let (function, result) = match self.steps[position] {
            Step::Launch {
                function,
                config,
                params,
            } => {
                // SAFETY: there is an address for each argument of each launch.
                let params = unsafe { self.params.as_mut_ptr().add(params) };
                // SAFETY: a validated launch has as many arguments as the kernel has parameters, of their sizes;
                // the driver reads them before it returns. A kernel without parameters reads nothing.
                unsafe { launch(function, &config, stream, params) }
            }
            Step::Copy {
                dst,
                src,
                bytes,
                are_of_one_device,
            } => {
                // SAFETY: a validated copy stays within both buffers, which do not overlap there.
                unsafe { copy(dst, src, bytes, are_of_one_device, stream) }
            }
            Step::Fill { dst, byte, bytes } => {
                // SAFETY: the buffer has this many bytes.
                let result = unsafe { sys::cuMemsetD8Async(dst, byte, bytes, stream) };
                ("cuMemsetD8Async", result)
            }
            Step::Transfer { .. } | Step::Nothing => return Ok(()),
        };
        check(function, result).map_err(|cause| Refused::Driver {
            cause,
            position: Some(position),
        })
    }
}

/// Enqueues a copy, within a device or between two. Returns the name of the driver's function with its result.
///
/// # Safety
///
/// Both addresses have this many bytes, which do not overlap; the stream is of the source's device.
unsafe fn copy(
    dst: CUdeviceptr,
    src: CUdeviceptr,
    bytes: usize,
    are_of_one_device: bool,
    stream: CUstream,
) -> (&'static str, CUresult) {
    // SAFETY: the caller's.
    unsafe {
        match are_of_one_device {
            true => {
                let result = sys::cuMemcpyDtoDAsync_v2(dst, src, bytes, stream);
                ("cuMemcpyDtoDAsync", result)
            }
            // The addresses say which devices. Unlike cuMemcpyPeerAsync, it can be captured.
            false => {
                let result = sys::cuMemcpyAsync(dst, src, bytes, stream);
                ("cuMemcpyAsync", result)
            }
        }
    }
}

/// Enqueues a launch. Returns the name of the driver's function with its result.
///
/// # Safety
///
/// Function and stream are of the current context; `params` are the addresses of as many values as the kernel has parameters.
unsafe fn launch(
    function: CUfunction,
    config: &LaunchConfig,
    stream: CUstream,
    params: *mut *mut c_void,
) -> (&'static str, CUresult) {
    if config.cluster != [1; 3] {
        // SAFETY: the caller's.
        let result = unsafe { launch_cluster(function, config, stream, params) };
        return ("cuLaunchKernelEx", result);
    }
    let [grid_x, grid_y, grid_z] = config.grid;
    let [block_x, block_y, block_z] = config.block;
    // SAFETY: the caller's.
    let result = unsafe {
        sys::cuLaunchKernel(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            config.shared_mem_bytes,
            stream,
            params,
            ptr::null_mut(),
        )
    };
    ("cuLaunchKernel", result)
}

/// The least number of elements after which the sequence repeats: all of them, if it does not. The last repetition may be cut
/// short. By the failure function of Knuth, Morris and Pratt (SIAM J. Comput. 6(2), 1977).
fn period(keys: &[usize]) -> usize {
    let mut borders = vec![0; keys.len()];
    let mut border = 0;
    for at in 1..keys.len() {
        while border > 0 && keys[at] != keys[border] {
            border = borders[border - 1];
        }
        border += usize::from(keys[at] == keys[border]);
        borders[at] = border;
    }
    keys.len() - borders.last().copied().unwrap_or(0)
}

/// An instantiated graph; destroyed when dropped.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraphExec,
    /// Its commands.
    pub range: Range<usize>,
    /// How long capture and instantiation took.
    pub made_in: Duration,
}

impl Graph {
    /// Captures these commands in their order and instantiates them.
    ///
    /// # Safety
    ///
    /// As [`Commands::enqueue`], with the graph's replays in place of the stream.
    pub unsafe fn new(commands: &mut Commands<'_>, range: Range<usize>) -> Result<Graph, Refused> {
        let began = Instant::now();
        // Nothing ever runs on it.
        let stream = SideStream::new()?;
        // SAFETY: the stream is this function's own. It does not wait for the legacy stream, so that what other threads do
        // there meanwhile does not end the capture.
        let begun = unsafe {
            sys::cuStreamBeginCapture_v2(
                stream.0,
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            )
        };
        check("cuStreamBeginCapture", begun)?;
        // SAFETY: the caller's; nothing runs yet.
        let enqueued = unsafe { commands.enqueue_some(range.clone(), stream.0) };
        let mut template = Template(ptr::null_mut());
        // SAFETY: the stream is capturing, and the graph may be written.
        let ended = unsafe { sys::cuStreamEndCapture(stream.0, &mut template.0) };
        enqueued?;
        check("cuStreamEndCapture", ended)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the graph was just captured.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, template.0, 0) };
        check("cuGraphInstantiate", made)?;
        Ok(Graph {
            raw,
            range,
            made_in: began.elapsed(),
        })
    }

    /// Enqueues all commands.
    ///
    /// # Safety
    ///
    /// As [`Commands::enqueue`].
    pub unsafe fn enqueue(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: the caller's.
        let result = unsafe { sys::cuGraphLaunch(self.raw, stream) };
        check("cuGraphLaunch", result)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing replays it any more. A failure means that the context is gone, and the graph with it.
        unsafe {
            let _ = sys::cuGraphExecDestroy(self.raw);
        }
    }
}

/// The captured graph, from which another is instantiated.
struct Template(CUgraph);

impl Drop for Template {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: an instantiated graph does not need it.
            unsafe {
                let _ = sys::cuGraphDestroy(self.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods() {
        assert_eq!(period(&[]), 0);
        assert_eq!(period(&[1]), 1);
        assert_eq!(period(&[1, 1, 1]), 1);
        assert_eq!(period(&[1, 2, 3]), 3);
        assert_eq!(period(&[1, 2, 1, 2, 1]), 2);
        assert_eq!(period(&[1, 2, 1, 1, 2, 1, 1, 2]), 3);
        assert_eq!(period(&[1, 1, 2, 1, 1, 1]), 4);
    }
}
