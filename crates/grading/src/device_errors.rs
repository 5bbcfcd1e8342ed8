//! The meaning of a device's, plan's or module's error for a grade.

use device::Error;
use device::module::ModuleError;
use device::{DeviceError, DriverError, Fault, FaultKind, Location, ProgramFault};
use exit::ErrorKind;
use forge::Place;

use crate::outcome::{Failure, Kind, Memory, NoResult, Panic};

/// How a submission fails that met this error, or, where it may be right elsewhere, what kept that
/// from being decided. Another submission need not meet what this one does: it never takes points
/// out of the total.
impl From<Error> for NoResult {
    fn from(error: Error) -> NoResult {
        let message = error.to_string();
        let kind = match &error {
            Error::Module(ModuleError::BadPtx { .. }) => Kind::PtxInvalid,
            Error::Plan(_) | Error::Module(_) | Error::Validation(_) => Kind::PlanInvalid,
            Error::Device(DeviceError::Emulated { fault, .. }) => match &**fault {
                Fault::Unsupported(_) => {
                    return NoResult::undecided(format!("{message}; grade it on a GPU"));
                }
                Fault::Launch(_) => Kind::LaunchRefused,
                Fault::Program(program) => {
                    let first = message.lines().next().unwrap_or_default();
                    let what = format!("{first}: {}", program.kind);
                    let mut failure = Failure::new(of_program(&program.kind), what);
                    failure.panic = match &program.kind {
                        FaultKind::Trap => Some(Panic::Silent),
                        FaultKind::Assertion { .. } => Some(Panic::Told),
                        _ => None,
                    };
                    failure.memory = memory(&program.kind);
                    let failure = failure.with_places(places(program));
                    return failure.with_sanitizer(message).into();
                }
            },
            Error::Device(DeviceError::OutOfMemory {
                needed_bytes,
                device,
                free_bytes,
                total_bytes,
                ..
            }) => {
                return NoResult::undecided(format!(
                    "it needs {needed_bytes} bytes of device memory, and {device} has {free_bytes} of {total_bytes} free; \
                     end what else uses them, or grade it on a device with more"
                ));
            }
            Error::Device(DeviceError::WrongTarget {
                target,
                device,
                compute_capability: (major, minor),
                ..
            }) => {
                return NoResult::undecided(format!(
                    "the kernels are built for {target}, and {device} has compute capability {major}.{minor}; \
                     grade it on a GPU that runs them"
                ));
            }
            _ if error.kind() == ErrorKind::Needs => {
                return NoResult::undecided(format!("{message}; grade it on a GPU that runs it"));
            }
            Error::Device(DeviceError::Dependent(_)) => Kind::Race,
            Error::Device(DeviceError::LoadFailed { .. } | DeviceError::LaunchRefused { .. }) => {
                Kind::LaunchRefused
            }
            Error::Device(DeviceError::KernelFault { code, .. }) => match *code {
                DriverError::ILLEGAL_ADDRESS => Kind::OutOfBounds,
                DriverError::MISALIGNED_ADDRESS => Kind::Misaligned,
                _ => Kind::KernelFault,
            },
            other if other.kind() == ErrorKind::Submission => Kind::KernelFault,
            _ => return NoResult::undecided(message),
        };
        NoResult::failed(kind, message)
    }
}

/// The source lines of a fault, where the kernel's debug information has them.
pub fn places(fault: &ProgramFault) -> Vec<Place> {
    let places = fault.places().into_iter().filter_map(|place| {
        let source = place.source?;
        Some(Place::new(
            place.role,
            &*source.file,
            source.line,
            source.column,
        ))
    });
    places.collect()
}

fn of_program(kind: &FaultKind) -> Kind {
    match kind {
        FaultKind::OutOfBounds { .. } | FaultKind::ReadOnly { .. } => Kind::OutOfBounds,
        FaultKind::Misaligned { .. } => Kind::Misaligned,
        FaultKind::Uninitialized { .. } | FaultKind::UnsetValue { .. } => Kind::UninitializedRead,
        FaultKind::Race { .. }
        | FaultKind::StaleReadOnlyLoad { .. }
        | FaultKind::CopyUnderWay { .. }
        | FaultKind::CopyNotAwaited { .. }
        | FaultKind::MissingProxyFence { .. } => Kind::Race,
        FaultKind::PartialBarrier { .. }
        | FaultKind::DivergentBarrier { .. }
        | FaultKind::InvalidBarrier { .. }
        | FaultKind::BlockNotAlive { .. }
        | FaultKind::InactiveLanes { .. }
        | FaultKind::LaneNotInMask { .. }
        | FaultKind::ShuffleFromInactive { .. }
        | FaultKind::Deadlock { .. }
        // All blocks of the launch run, and all of them wait.
        | FaultKind::BlocksWait { waiting: 0, .. } => Kind::Barrier,
        FaultKind::FuelExhausted { .. } | FaultKind::BlocksWait { .. } => Kind::Deadline,
        _ => Kind::KernelFault,
    }
}

/// The memory of a race, and of accesses to what a copy has under way.
fn memory(kind: &FaultKind) -> Option<Memory> {
    let location = match kind {
        FaultKind::Race { location, .. }
        | FaultKind::StaleReadOnlyLoad { location, .. }
        | FaultKind::CopyUnderWay { location, .. }
        | FaultKind::CopyNotAwaited { location, .. }
        | FaultKind::MissingProxyFence { location, .. } => location,
        _ => return None,
    };
    Some(match location {
        Location::Buffer { .. } => Memory::Global,
        Location::Shared { .. } => Memory::Shared,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;

    fn undecided(error: DeviceError) -> String {
        match NoResult::from(Error::from(error)) {
            NoResult::Undecided { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_driver_s_code_says_what_a_kernel_did() {
        let kind = |code| {
            let error = DeviceError::KernelFault {
                place: "plan `p`: kernel `k`".to_owned(),
                code,
                // The words do not matter.
                what: "illegal address, not aligned".to_owned(),
            };
            Outcome::from(NoResult::from(Error::from(error))).kind()
        };
        assert_eq!(kind(DriverError::ILLEGAL_ADDRESS), Some(Kind::OutOfBounds));
        assert_eq!(
            kind(DriverError::MISALIGNED_ADDRESS),
            Some(Kind::Misaligned)
        );
        assert_eq!(kind(DriverError::LAUNCH_FAILED), Some(Kind::KernelFault));
    }

    #[test]
    fn what_the_machine_lacks_is_told_with_a_remedy() {
        insta::assert_snapshot!(undecided(DeviceError::OutOfMemory {
            plan: "large".to_owned(),
            needed_bytes: 3 << 30,
            device: "GPU 1".to_owned(),
            free_bytes: 1 << 30,
            total_bytes: 2 << 30,
        }), @"it needs 3221225472 bytes of device memory, and GPU 1 has 1073741824 of 2147483648 free; end what else uses them, or grade it on a device with more");
        insta::assert_snapshot!(undecided(DeviceError::WrongTarget {
            module: "submission".to_owned(),
            target: "sm_90".to_owned(),
            device: "GPU 1".to_owned(),
            compute_capability: (7, 5),
        }), @"the kernels are built for sm_90, and GPU 1 has compute capability 7.5; grade it on a GPU that runs them");
        let too_new = undecided(DeviceError::PtxTooNew {
            module: "submission".to_owned(),
            ptx: "9.9".to_owned(),
            driver_cuda: (12, 0),
        });
        insta::assert_snapshot!(too_new, @"module `submission`: PTX version 9.9 is newer than the driver, which supports CUDA 12.0; update the driver, or build the kernels for an older PTX version");
    }
}
