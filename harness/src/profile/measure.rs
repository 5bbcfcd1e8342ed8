//! Running one variant on the device that counts.

use host::run::{outputs, reset};
use host::{Case, Device, Error, ErrorKind, Lab, NamedBuffers, Variant};

use super::kernel::KernelProfile;
use super::report::{Outcome, VariantProfile};
use super::source::Sources;
use crate::failure::Failure;
use crate::memory_advice;
use crate::test::explain;

/// Profiles a variant, and compares its result with the reference: figures of a wrong kernel say little.
///
/// # Errors
///
/// Cases that cannot be recorded, and bugs of ours. A kernel that fails is an [`Outcome`].
pub fn profile(
    device: &dyn Device,
    lab: &dyn Lab,
    case: &dyn Case,
    variant: Variant,
    expected: &NamedBuffers,
    sources: &mut Sources,
) -> Result<VariantProfile, Failure> {
    let outcome = match counted(device, lab, case, variant, sources) {
        Ok((kernels, got)) => Outcome::Counted {
            kernels,
            mismatch: case
                .check(variant.name, expected, &got)
                .err()
                .map(|error| explain(case, &error)),
        },
        Err(error) => {
            let message = memory_advice::explained(&error, case, variant.name);
            match error.kind() {
                ErrorKind::Submission => Outcome::Failed { message },
                ErrorKind::Environment => Outcome::Lacking { message },
                ErrorKind::Input | ErrorKind::Bug => return Err(error.into()),
            }
        }
    };
    let work = case.work(variant.name);
    Ok(VariantProfile::new(variant, work, outcome))
}

fn counted(
    device: &dyn Device,
    lab: &dyn Lab,
    case: &dyn Case,
    variant: Variant,
    sources: &mut Sources,
) -> Result<(Vec<KernelProfile>, NamedBuffers), Error> {
    let plan = case.record(variant.name)?;
    let mut session = device.prepare(lab.module(), &plan)?;
    reset(session.as_mut(), &plan, &case.inputs()?)?;
    session.run()?;
    let kernels = session.reports().iter();
    let kernels = kernels
        .map(|report| KernelProfile::new(report, sources))
        .collect();
    Ok((kernels, outputs(session.as_mut(), &plan)?))
}
