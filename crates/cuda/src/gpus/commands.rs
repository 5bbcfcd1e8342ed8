//! A plan's commands in the form that the driver takes: enqueued one by one, or captured as a graph
//! and replayed with one call. Everything is laid out beforehand, so that executing a command costs
//! a driver call and nothing more.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::time::Duration;

use cust::sys::{CUdeviceptr, CUfunction};

use super::driver::call;
use super::driver::stream::StreamRef;
use super::nccl::{Comm, Nccl, NcclError};
use super::schedule::Schedule;
use super::streams::{StreamSet, Work};
use device::DriverError;
use device::params::Params;
use device::share::{Role, Share};
use plan::{BufferId, Command, LaunchConfig, Plan};

/// The longest plan that becomes a graph as a whole. A node takes some 3 to 8 us to make (H100,
/// driver 580). A longer plan becomes a graph of some repetitions, if it repeats.
pub const MAX_NODES: usize = 65_536;

/// About how many nodes the graph of a plan that repeats has: one launch costs little beside them.
const REPEATED_NODES: usize = 4096;

/// The largest number of commands before the first repetition: copies and the like.
const MAX_BEFORE: usize = 8;

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

/// The way to devices of other processes.
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

/// Commands with addresses instead of buffers.
#[derive(Debug)]
pub struct Commands<'d> {
    steps: Vec<Step>,
    /// For each argument of each launch, the address of its value in `values`.
    params: Vec<*mut c_void>,
    /// The arguments' bytes. Never changed once `params` points into it.
    values: Vec<u64>,
    /// Which stream each runs on, and when.
    pub schedule: Schedule,
    /// The schedule's streams; none until they are made.
    pub streams: StreamSet<'d>,
    /// The way that sends and receives take, if there are any.
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
    /// Lays out a plan. `address` gives each buffer's address in device memory, `function` a kernel
    /// as the device of this number has it, by its position in [`Plan::kernels`].
    ///
    /// # Safety
    ///
    /// The plan was validated against the kernels' module. Each address is that of device memory
    /// with all bytes of the buffer. Kernels and memory stay until everything has finished that
    /// these commands, or a graph of them, have enqueued.
    pub unsafe fn new(
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
            // At most one past the end, for structures of no bytes.
            .map(|start| base.wrapping_add(start).cast())
            .collect();
        Commands {
            steps,
            params,
            values,
            schedule: Schedule::new(plan, share),
            streams: StreamSet::default(),
            wire: None,
        }
    }

    /// Number of commands.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The addresses of all arguments' values, in order.
    #[cfg(test)]
    pub fn params(&self) -> &[*mut c_void] {
        &self.params
    }

    /// The commands of a graph: all of them or, of a long plan, some repetitions of what it repeats
    /// after a few commands. `None` for a long plan that does not repeat.
    pub fn graph_range(&self) -> Option<Range<usize>> {
        match self.len() {
            0 => None,
            len @ ..=MAX_NODES => Some(0..len),
            len => {
                let keys = self.keys();
                let starts =
                    (0..=MAX_BEFORE).filter(|&start| self.schedule.boundary(start) == start);
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
                    let shape = config
                        .grid
                        .into_iter()
                        .chain(config.block)
                        .chain(config.cluster)
                        .chain([config.shared_mem_bytes])
                        .map(u64::from);
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
            if let Some(group) = self.schedule.group_of(position) {
                key.extend([position - group.start, group.len()].map(|number| number as u64));
            }
            let next = known.len();
            keys.push(*known.entry(key).or_insert(next));
        }
        keys
    }

    /// Enqueues every command.
    pub fn enqueue(&self, stream: StreamRef<'_>) -> Result<(), Refused> {
        self.enqueue_some(0..self.len(), stream)
    }

    /// Enqueues the commands of this range, which begins and ends at a [`Schedule::boundary`]. The
    /// context of the stream, which is the first device's, is current.
    pub fn enqueue_some(&self, range: Range<usize>, stream: StreamRef<'_>) -> Result<(), Refused> {
        self.streams
            .run(&self.schedule, range, stream, |work| match work {
                Work::Commands(part, on) => self.enqueue_each(part, on),
                Work::Transfers(wires) => self.transfer(wires),
            })
    }

    /// Enqueues the commands of this range, one after another.
    fn enqueue_each(&self, range: Range<usize>, stream: StreamRef<'_>) -> Result<(), Refused> {
        for position in range {
            self.enqueue_one(position, stream)?;
        }
        Ok(())
    }

    /// Enqueues sends and receives that start together, each on its stream.
    fn transfer(&self, wires: &[(usize, StreamRef<'_>)]) -> Result<(), Refused> {
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
                let stream = stream.raw().cast();
                // SAFETY: a validated copy stays within its buffers. By the contract of `new`, they
                // stay until the stream has finished. By the schedule's events, other commands that
                // access these elements come before or after.
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
    fn enqueue_one(&self, position: usize, stream: StreamRef<'_>) -> Result<(), Refused> {
        let enqueued = match self.steps[position] {
            Step::Launch {
                function,
                config,
                params,
            } => {
                let params = &self.params[params..];
                // SAFETY: a validated launch has as many arguments as the kernel has parameters, of
                // their sizes, and `new` has laid them out. By the contract of `new`, kernel and
                // memory stay until the stream has finished.
                unsafe { call::launch(function, &config, stream, params) }
            }
            Step::Copy {
                dst,
                src,
                bytes,
                are_of_one_device: true,
            } => {
                // SAFETY: a validated copy stays within its buffers, and does not overlap itself.
                // By the contract of `new`, they stay until the stream has finished.
                unsafe { call::copy_on_device(dst, src, bytes, stream) }
            }
            Step::Copy {
                dst, src, bytes, ..
            } => {
                // SAFETY: a validated copy stays within its buffers. By the contract of `new`, they
                // stay until the stream has finished.
                unsafe { call::copy_between_devices(dst, src, bytes, stream) }
            }
            Step::Fill { dst, byte, bytes } => {
                // SAFETY: the buffer has these bytes. By the contract of `new`, they stay until the
                // stream has finished.
                unsafe { call::fill(dst, byte, bytes, stream) }
            }
            Step::Transfer { .. } | Step::Nothing => return Ok(()),
        };
        enqueued.map_err(|cause| Refused::Driver {
            cause,
            position: Some(position),
        })
    }
}

/// The least number of elements after which the sequence repeats: all of them, if it does not. The
/// last repetition may be cut short. By the failure function of Knuth, Morris and Pratt (SIAM J.
/// Comput. 6(2), 1977).
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
