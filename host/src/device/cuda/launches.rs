//! A plan's commands, laid out so that executing one costs a driver call and nothing more.

use std::ffi::c_void;
use std::ptr;

use cust::sys::{self, CUdeviceptr, CUfunction, CUresult, CUstream};

use crate::plan::{Arg, BufferId, Command, LaunchConfig, Plan};

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

/// Argument values in words of 8 bytes, and where each starts.
#[derive(Debug, Default)]
struct Layout {
    values: Vec<u64>,
    starts: Vec<usize>,
}

impl Layout {
    fn push(&mut self, arg: &Arg, plan: &Plan, address: impl Fn(BufferId) -> CUdeviceptr) {
        let buffer = |id: BufferId| &plan.buffers()[id.index()];
        match *arg {
            Arg::Buffer(id) => self.word(address(id)),
            Arg::Slice(id) => {
                self.word(address(id));
                self.word(buffer(id).len);
            }
            Arg::BufferAt { id, offset } => {
                self.word(address(id) + offset * buffer(id).element.size() as u64);
            }
            // The low bytes of a word are the value's: CUDA hosts are little-endian.
            Arg::U8(value) => self.word(value.into()),
            Arg::U32(value) => self.word(value.into()),
            Arg::I32(value) => self.word(value as u32 as u64),
            Arg::U64(value) => self.word(value),
            Arg::I64(value) => self.word(value as u64),
            Arg::F32(value) => self.word(value.to_bits().into()),
            Arg::F64(value) => self.word(value.to_bits()),
            Arg::Bytes(ref bytes) => {
                self.starts.push(self.values.len());
                for chunk in bytes.chunks(8) {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    self.values.push(u64::from_ne_bytes(word));
                }
            }
        }
    }

    fn word(&mut self, value: u64) {
        self.starts.push(self.values.len());
        self.values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, args};

    #[test]
    fn arguments_are_laid_out_in_order() {
        let mut plan = Plan::new("p");
        let u = plan.buffer("u", Element::F32, 10);
        let v = plan.buffer("v", Element::F64, 20);
        let args = args![
            v,
            u.slice(),
            v.at(3),
            -1i32,
            1.0f32,
            vec![1u8, 2, 3, 4, 5, 6, 7, 8, 9],
            7u8
        ];
        let mut layout = Layout::default();
        for arg in &args {
            layout.push(arg, &plan, |id| 0x1000 * (1 + id.index() as u64));
        }
        let expected = [
            0x2000,
            0x1000,
            10,
            0x2000 + 24,
            0xffff_ffff,
            0x3f80_0000,
            0x0807_0605_0403_0201,
            9,
            7,
        ];
        assert_eq!(layout.values, expected);
        assert_eq!(layout.starts, [0, 1, 2, 3, 4, 5, 6, 8]);
    }

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
