//! Kernels that access memory of another device, to which their own has no access.
//!
//! Rule: memory of a peer is accessible once `cuCtxEnablePeerAccess` has allowed it ("all
//! allocations from `peerContext` will immediately be accessible by the current context"), and
//! memory of a pool once `cuMemPoolSetAccess` has. A GPU gives such a kernel
//! `CUDA_ERROR_ILLEGAL_ADDRESS` (two H200, driver 580). Memory of another context of the same
//! device a kernel may access there, and copies between devices need no permission.

use command_order::Stamp;

use super::super::Driver;
use super::told;
use crate::code::{Code, Outcome};
use crate::objects::memory::{Allocation, Kind};
use crate::report;
use crate::settings::Settings;

/// The kind of the fault, as records have it.
const KIND: &str = "memory of another device";

impl Driver {
    /// Whether a device may access an allocation.
    pub(crate) fn may_access(&self, device: i32, known: &Allocation) -> bool {
        if known.device == device || known.kind != Kind::Device {
            return true;
        }
        if let Some(pool) = known.pool {
            return { self.pools.get(&pool) }.is_none_or(|pool| pool.allowed.contains(&device));
        }
        let is_allowed =
            |peer| { self.contexts.get(peer) }.is_some_and(|peer| peer.device == known.device);
        let mut own = { self.contexts.values() }.filter(|context| context.device == device);
        own.any(|context| context.peers.iter().any(is_allowed))
    }

    /// The device that a command runs on.
    pub(super) fn device_of_command(&self, stamp: Stamp) -> Option<i32> {
        let context = self.between.commands.label(stamp)?.sent.lane.key.context;
        Some(self.contexts.get(&context)?.device)
    }

    /// Tells that a kernel has accessed memory that its device may not, at an address.
    pub(super) fn refuse_foreign(&mut self, stamp: Stamp, address: u64, writes: bool) -> Outcome {
        let label = self.between.commands.label(stamp).cloned();
        let found = self
            .allocation(address)
            .map(|(start, known)| (start, *known));
        let (Some(label), Some((start, known))) = (label, found) else {
            return Ok(());
        };
        let own = self.device_of(label.sent.lane.key.context)?;
        if self.may_access(own, &known) {
            return Ok(());
        }
        let does = if writes { "writes" } else { "reads" };
        let buffer = self.machine.buffer_at(start).unwrap_or("a buffer");
        let name = told::name(&label);
        let theirs = known.device;
        let way = match known.pool {
            Some(_) => format!("let device {own} access the memory's pool (cudaMemPoolSetAccess)"),
            None => format!(
                "call cudaDeviceEnablePeerAccess({theirs}, 0) while device {own} is current, or copy the memory to it (cudaMemcpyPeer)"
            ),
        };
        let mut lines = vec![
            format!(
                "{KIND}: {name} on device {own} {does} memory of device {theirs}, to which it has no access"
            ),
            format!(
                "byte {} of {buffer}, {} bytes at {start:#x}",
                address - start,
                known.bytes
            ),
        ];
        lines.extend(self.between.lines_of("launch", &label));
        lines.push(format!("to allow it: {way}"));
        lines.push("rule: a device may access memory of another one when that was enabled (CUDA Programming Guide, \"Peer-to-Peer Memory Access\")".to_owned());
        let places = told::side("launch", &label).into_iter().collect();
        let fault = told::fault_of(&label, KIND, &lines, places);
        if self.between.told.insert((name, KIND.to_owned(), start)) {
            report::command_fault(&fault);
        }
        if Settings::get().goes_on {
            return Ok(());
        }
        Err(Code::ILLEGAL_ADDRESS)
    }
}
