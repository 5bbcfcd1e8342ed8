//! A plan's commands, laid out so that executing one costs a driver call and nothing more.

use std::ffi::c_void;
use std::ptr;

use cust::sys::{self, CUdeviceptr, CUfunction, CUresult, CUstream};

use crate::device::layout::Layout;
use crate::plan::{BufferId, Command, LaunchConfig, Plan};

/// Commands with addresses in place of buffers.
#[derive(Debug)]
pub struct Launches {
    steps: Vec<Step>,
    /// For each argument of each launch, where its value lies in `values`.
    params: Vec<*mut c_void>,
    /// The arguments' bytes. Never changed once `params` points into it.
    _values: Vec<u64>,
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
    },
    Fill {
        dst: CUdeviceptr,
        byte: u8,
        bytes: usize,
    },
}

impl Launches {
    /// Lays out a plan. `address` gives each buffer's place in device memory, `functions` each of the plan's kernels.
    pub fn new(
        plan: &Plan,
        address: impl Fn(BufferId) -> CUdeviceptr,
        functions: &[CUfunction],
    ) -> Launches {
        let mut layout = Layout::default();
        let size = |id: BufferId| plan.buffers()[id.index()].element.size() as u64;
        let steps = plan
            .commands()
            .map(|command| match command {
                Command::Launch(launch) => {
                    let params = layout.starts.len();
                    for arg in launch.args {
                        layout.push(arg, plan, &address);
                    }
                    Step::Launch {
                        function: functions[launch.kernel_index],
                        config: launch.config,
                        params,
                    }
                }
                Command::Copy(copy) => Step::Copy {
                    dst: address(copy.dst) + copy.dst_start * size(copy.dst),
                    src: address(copy.src) + copy.src_start * size(copy.src),
                    bytes: (copy.len * size(copy.src)) as usize,
                },
                Command::Fill(fill) => Step::Fill {
                    dst: address(fill.dst),
                    byte: fill.byte,
                    bytes: plan.buffers()[fill.dst.index()].bytes() as usize,
                },
            })
            .collect();
        let Layout { mut values, starts } = layout;
        let base = values.as_mut_ptr();
        let params = starts
            .into_iter()
            .map(|start| {
                // SAFETY: every start is at most the number of values; one past the end is for structures of no bytes.
                unsafe { base.add(start) }.cast()
            })
            .collect();
        Launches {
            steps,
            params,
            _values: values,
        }
    }

    /// How many commands there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Enqueues every command. If the driver refuses one: its position, the driver's function and its result.
    ///
    /// # Safety
    ///
    /// The context of stream and functions is current. The plan was validated against the functions' module, and its
    /// buffers live until the stream has finished.
    pub unsafe fn enqueue(
        &mut self,
        stream: CUstream,
    ) -> Result<(), (usize, &'static str, CUresult)> {
        for (position, step) in self.steps.iter().enumerate() {
            let (function, result) = match *step {
                Step::Launch {
                    function,
                    config,
                    params,
                } => {
                    let [grid_x, grid_y, grid_z] = config.grid;
                    let [block_x, block_y, block_z] = config.block;
                    // SAFETY: a validated launch has as many arguments as the kernel has parameters, of their sizes;
                    // the driver reads them before it returns. A kernel without parameters reads nothing.
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
                            self.params.as_mut_ptr().add(params),
                            ptr::null_mut(),
                        )
                    };
                    ("cuLaunchKernel", result)
                }
                Step::Copy { dst, src, bytes } => {
                    // SAFETY: a validated copy stays within both buffers, which do not overlap there.
                    let result = unsafe { sys::cuMemcpyDtoDAsync_v2(dst, src, bytes, stream) };
                    ("cuMemcpyDtoDAsync", result)
                }
                Step::Fill { dst, byte, bytes } => {
                    // SAFETY: the buffer has so many bytes.
                    let result = unsafe { sys::cuMemsetD8Async(dst, byte, bytes, stream) };
                    ("cuMemsetD8Async", result)
                }
            };
            if result != CUresult::CUDA_SUCCESS {
                return Err((position, function, result));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, args};

    #[test]
    fn every_parameter_points_at_its_value() {
        let mut plan = Plan::new("p");
        let u = plan.buffer("u", Element::F32, 10);
        for step in 0..100u32 {
            plan.launch("k", LaunchConfig::new(1, 1), args![u, step])
                .unwrap();
        }
        let launches = Launches::new(&plan, |_| 0xabc0, &[ptr::null_mut()]);
        for (step, step_params) in launches.params.chunks(2).enumerate() {
            // SAFETY: the pointers point into the values, which live.
            let values = unsafe { (*step_params[0].cast::<u64>(), *step_params[1].cast::<u32>()) };
            assert_eq!(values, (0xabc0, step as u32));
        }
    }
}
