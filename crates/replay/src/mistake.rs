//! The mistake that a page opens at.

use ptx_emu::{FaultKind, ProgramFault, Recording, number_in};
use serde::{Deserialize, Serialize};

/// A mistake of a launch, and its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// The message.
    pub text: String,
    /// The step that ended with the fault, or stored the wrong value, from 0; none if it was not
    /// recorded.
    pub step: Option<usize>,
    /// The step of the earlier access of a race.
    pub other: Option<usize>,
    /// The lane that made the mistake, and that of the earlier access of a race.
    pub lanes: Vec<u32>,
}

impl Mistake {
    /// The fault that ended the launch of a recording.
    pub fn fault(recording: &Recording, fault: &ProgramFault) -> Mistake {
        let earlier = match &fault.kind {
            FaultKind::Race { earlier, .. } => Some(earlier.thread),
            _ => None,
        };
        let lanes = std::iter::once(fault.thread).chain(earlier);
        let lanes = lanes.map(|thread| (number_in(recording.block, thread.thread) % 32) as u32);
        Mistake {
            text: fault.to_string(),
            step: recording.fault_step(fault),
            other: recording.earlier_step(fault),
            lanes: lanes.collect(),
        }
    }

    /// A mistake that no step of the recording made.
    pub fn nowhere(text: String) -> Mistake {
        Mistake {
            text,
            step: None,
            other: None,
            lanes: Vec::new(),
        }
    }

    /// A byte of a buffer that has a wrong value after the launch.
    pub fn value(recording: &Recording, text: String, buffer: &str, byte: u64) -> Mistake {
        let step = recording.last_store(buffer, byte);
        let accesses = step
            .iter()
            .flat_map(|step| &recording.steps[*step].accesses);
        let lanes = accesses.map(|access| access.lanes_at(byte));
        let lane = lanes.filter(|lanes| *lanes != 0).map(u32::trailing_zeros);
        Mistake {
            text,
            step,
            other: None,
            lanes: lane.take(1).collect(),
        }
    }
}
