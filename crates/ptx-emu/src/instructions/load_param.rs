//! Loads of a launch's parameters.

use super::elements::Elements;
use crate::access::ParamRegion;
use crate::fault::{self, AccessKind, FaultKind, Stop, Stray};
use crate::memory::{Words, extend};
use crate::runner::{At, BlockRunner, Execute, Next};
use crate::warp::Warp;

/// A load from a fixed offset of the launch's parameters.
#[derive(Debug)]
pub(super) struct LoadParam {
    pub(super) offset: u32,
    pub(super) elements: Elements,
    pub(super) tally: u32,
}

impl Execute for LoadParam {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let params = runner.params();
        let (size, width) = (params.len() as u64, self.elements.width());
        if u64::from(self.offset) + u64::from(width) > size {
            let offset = self.offset.into();
            let kind = FaultKind::OutOfBounds {
                access: fault::Access {
                    kind: AccessKind::Load,
                    bytes: width,
                },
                stray: Stray::Param { size, offset },
            };
            return Err(runner.fault(warp.first_thread(at.active), at.pc, kind));
        }
        let bytes = self.elements.bytes;
        for (k, slot) in self.elements.registers.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let offset = u64::from(self.offset) + k as u64 * u64::from(bytes);
            let value = ParamRegion(params).load(0, offset, bytes);
            let value = extend(value, bytes, self.elements.is_signed);
            warp.registers.fill(slot, at.active, value);
        }
        runner.tallies.traffic(self.tally).param_bytes += u64::from(at.active.count_ones() * width);
        Ok(Next::Step)
    }

    fn is_quiet(&self) -> bool {
        true
    }
}
