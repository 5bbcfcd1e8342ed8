//! What a device's error means for a grade.

use host::device::DeviceError;
use host::device::{Fault, FaultKind};
use host::validate::ValidationError;
use host::{Error, ErrorKind};

use crate::grade::kind::Kind;
use crate::grade::verdict::Failing;

/// How a submission fails that met this error, or, where it is not at fault, what the machine lacks.
pub fn failing(error: &Error) -> Result<Failing, String> {
    let message = error.to_string();
    let kind = match error {
        Error::Validation(ValidationError::BadPtx { .. }) => Kind::PtxInvalid,
        Error::Plan(_) | Error::Validation(_) => Kind::PlanInvalid,
        Error::Device(DeviceError::Emulated { fault, .. }) => match &**fault {
            Fault::Unsupported(_) => return Err(message),
            Fault::Launch(_) => Kind::LaunchRefused,
            Fault::Program(program) => {
                let kind = of_program(&program.kind);
                let first = message.lines().next().unwrap_or_default().to_owned();
                let what = format!("{first}: {}", program.kind);
                return Ok(Failing::new(kind, what).with_sanitizer(message));
            }
        },
        Error::Device(DeviceError::LoadFailed { .. } | DeviceError::LaunchRefused { .. }) => {
            Kind::LaunchRefused
        }
        Error::Device(DeviceError::KernelFault { what, .. }) => {
            if what.contains("illegal address") {
                Kind::OutOfBounds
            } else if what.contains("not aligned") {
                Kind::Misaligned
            } else {
                Kind::KernelFault
            }
        }
        other if other.kind() == ErrorKind::Submission => Kind::KernelFault,
        _ => return Err(message),
    };
    Ok(Failing::new(kind, message))
}

fn of_program(kind: &FaultKind) -> Kind {
    match kind {
        FaultKind::OutOfBounds { .. } | FaultKind::ReadOnly { .. } => Kind::OutOfBounds,
        FaultKind::Misaligned { .. } => Kind::Misaligned,
        FaultKind::Uninitialized { .. } => Kind::UninitializedRead,
        FaultKind::Race { .. } | FaultKind::StaleReadOnlyLoad { .. } => Kind::Race,
        FaultKind::PartialBarrier { .. }
        | FaultKind::DivergentBarrier { .. }
        | FaultKind::InvalidBarrier { .. }
        | FaultKind::Deadlock { .. } => Kind::Barrier,
        FaultKind::FuelExhausted { .. } => Kind::Deadline,
        _ => Kind::KernelFault,
    }
}
