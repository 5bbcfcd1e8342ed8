//! The mistake that a page opens at.

use ptx_emu::{ProgramFault, Recording};
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
}

impl Mistake {
    /// The fault that ended the launch of a recording.
    pub fn fault(recording: &Recording, fault: &ProgramFault) -> Mistake {
        Mistake {
            text: fault.to_string(),
            step: recording.fault_step(fault),
            other: recording.earlier_step(fault),
        }
    }

    /// A byte of a buffer that has a wrong value after the launch.
    pub fn value(recording: &Recording, text: String, buffer: &str, byte: u64) -> Mistake {
        Mistake {
            text,
            step: recording.last_store(buffer, byte),
            other: None,
        }
    }
}
