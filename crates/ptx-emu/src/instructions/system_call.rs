//! Calls of functions that the driver defines (PTX ISA, "System calls"): `vprintf`; `__assertfail`,
//! which is behind `assert` in CUDA C++ and panics of kernels in Rust; `malloc` and `free`. And
//! `cudaGraphSetConditional` (CUDA Programming Guide, "Conditional Graph Nodes").
//!
//! They read the memory of the thread, its block and the device past the checks of races, and none
//! of it is counted.

use ptx::Space;

use super::call::Call;
use super::control::blamed;
use crate::conditions::HandleProblem;
use crate::config::Sanitize;
use crate::fault::{AccessKind, Fault, FaultKind, Stop, Stray};
use crate::memory::heap::Heap;
use crate::memory::{Words, space_of, window};
use crate::printf::{self, Argument};
use crate::registers::{LANES, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next};
use crate::warp::{Frame, Warp};

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 4096;

/// The result of `vprintf` where the text is not kept: -2, an error of the system.
const NOT_KEPT: u64 = 0xffff_fffe;

/// A function of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Vprintf,
    AssertFail,
    Malloc,
    Free,
    SetCondition,
}

impl System {
    /// The function of that name, with these numbers of arguments and results.
    pub(super) fn find(name: &str, args: usize, results: usize) -> Option<System> {
        match (name, args, results) {
            ("vprintf", 2, 1) => Some(System::Vprintf),
            ("__assertfail", 5, 0) => Some(System::AssertFail),
            ("malloc", 1, 1) => Some(System::Malloc),
            ("free", 1, 0) => Some(System::Free),
            ("cudaGraphSetConditional", 2, 0) => Some(System::SetCondition),
            _ => None,
        }
    }
}

/// A call of one.
#[derive(Debug)]
pub(super) struct SystemCall {
    pub(super) system: System,
    pub(super) call: Call,
}

impl Execute for SystemCall {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let frame = warp.frames[warp.groups[at.group].frame as usize];
        let most_bytes = runner.launch.printed.most_bytes;
        for lane in lanes(at.active) {
            if self.system == System::Vprintf && runner.cluster.printed.is_full(most_bytes) {
                self.call.return_value(warp, frame, lane, NOT_KEPT);
                continue;
            }
            let memory = Memory {
                runner,
                warp,
                frame,
                lane,
                pc: at.pc,
            };
            let args = self.call.arguments(memory.warp, frame, lane);
            match self.system {
                System::Vprintf => {
                    let format = memory.text(args[0])?;
                    let (text, count) = printf::format(&format, |argument, offset| {
                        memory.argument(argument, args[1].wrapping_add(offset))
                    })?;
                    runner.cluster.printed.push(&text);
                    self.call.return_value(warp, frame, lane, count);
                }
                System::Malloc => {
                    let heap = runner.launch.heap;
                    let address = heap.map_or(0, |heap| heap.allocate(args[0]));
                    self.call.return_value(warp, frame, lane, address);
                }
                System::Free => {
                    let (heap, address) = (runner.launch.heap, args[0]);
                    let free = |own: &Heap| own.free(runner.launch.memory, address);
                    if address != 0 && !heap.is_some_and(free) {
                        let kind = FaultKind::BadFree { address };
                        return Err(runner.fault(warp.thread(lane), at.pc, kind));
                    }
                }
                System::SetCondition => {
                    let handle = args[0];
                    match runner.launch.condition_handles.problem(handle) {
                        None => drop(runner.cluster.conditions.insert(handle, args[1] as u32)),
                        // A launch that is repeated without checks goes on as on a GPU.
                        Some(HandleProblem::OfOtherGraph)
                            if runner.launch.sanitize == Sanitize::NONE => {}
                        Some(problem) => {
                            let kind = FaultKind::BadCondition { handle, problem };
                            return Err(runner.fault(warp.thread(lane), at.pc, kind));
                        }
                    }
                }
                System::AssertFail => {
                    let [message, file, function] = [args[0], args[1], args[3]];
                    let kind = FaultKind::Assertion {
                        message: utf8(memory.text(message)?),
                        function: utf8(memory.text(function)?),
                    };
                    let file = utf8(memory.text(file)?);
                    let pc = blamed(runner, warp, at.group);
                    let mut stop = runner.fault(warp.thread(lane), pc, kind);
                    if let Fault::Program(fault) = &mut *stop {
                        fault.place.state(file, args[2] as u32);
                    }
                    return Err(stop);
                }
            }
        }
        Ok(Next::Step)
    }
}

fn utf8(text: Vec<u8>) -> String {
    String::from_utf8_lossy(&text).into_owned()
}

/// Memory as a thread sees it.
struct Memory<'r, 'l> {
    runner: &'r BlockRunner<'l>,
    warp: &'r Warp,
    frame: Frame,
    lane: usize,
    pc: u32,
}

impl Memory<'_, '_> {
    /// The text at a generic address, up to its zero byte.
    fn text(&self, address: u64) -> Result<Vec<u8>, Stop> {
        let mut text = Vec::new();
        while text.len() < MAX_TEXT {
            match self.byte(address.wrapping_add(text.len() as u64))? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    /// An argument of `vprintf` at a generic address.
    fn argument(&self, argument: Argument, address: u64) -> Result<printf::Value, Stop> {
        let mut bits = 0;
        for byte in 0..u64::from(argument.bytes()) {
            bits |= u64::from(self.byte(address.wrapping_add(byte))?) << (8 * byte);
        }
        Ok(match argument {
            Argument::Text => printf::Value::Text(self.text(bits)?),
            _ => printf::Value::Bits(bits),
        })
    }

    /// The byte at a generic address.
    fn byte(&self, address: u64) -> Result<u8, Stop> {
        let Self { runner, warp, .. } = self;
        let space = space_of(address);
        let offset = address.wrapping_sub(window(space));
        let request = Request {
            kind: AccessKind::Load,
            addresses: &[offset; LANES],
            mask: 1 << self.lane,
            width: 1,
            pc: self.pc,
            warp: warp.index,
            strong: false,
            non_coherent: false,
        };
        let span = Span::of(request.addresses, request.mask, 1);
        let stray = |stray| Err(runner.out_of_bounds(&request, self.lane, stray));
        Ok(match space {
            Space::Local => {
                let size = self.frame.local.1;
                if offset >= size {
                    return stray(Stray::Local { size, offset });
                }
                warp.local.load(self.lane, offset, 1) as u8
            }
            Space::Shared => {
                runner.check_shared(&request, &span)?;
                runner.block.shared.load(self.lane, offset, 1) as u8
            }
            Space::Param => match runner.params().get(offset as usize) {
                Some(byte) => *byte,
                None => {
                    let size = runner.params().len() as u64;
                    return stray(Stray::Param { size, offset });
                }
            },
            _ => {
                let (buffer, _) = runner.buffer(&request, request.mask, &span)?;
                buffer.load(self.lane, offset - buffer.base, 1) as u8
            }
        })
    }
}
