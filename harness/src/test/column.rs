//! What is tested: one column of the report each.

use host::Variant;

use crate::devices::{Chosen, Named, Wanted};

/// A variant on a device, or the parallel CPU reference.
#[derive(Clone, Copy)]
pub enum Subject<'m> {
    /// The parallel CPU reference, which must equal the serial one.
    Parallel,
    /// A variant on a device.
    Variant(Named<'m>, Variant),
}

/// A column.
#[derive(Clone, Copy)]
pub struct Column<'m> {
    /// The device's name.
    pub device: Wanted,
    /// The variant's name.
    pub variant: &'static str,
    /// What to run.
    pub subject: Subject<'m>,
}

/// The columns for these devices and variants, device by device.
pub fn columns<'m>(chosen: &Chosen<'m>, variants: &[Variant]) -> Vec<Column<'m>> {
    let cpu = chosen.cpu.then_some(Column {
        device: Wanted::Cpu,
        variant: "parallel",
        subject: Subject::Parallel,
    });
    let devices = chosen.devices.iter().flat_map(|&named| {
        variants.iter().map(move |&variant| Column {
            device: named.name,
            variant: variant.name,
            subject: Subject::Variant(named, variant),
        })
    });
    cpu.into_iter().chain(devices).collect()
}
