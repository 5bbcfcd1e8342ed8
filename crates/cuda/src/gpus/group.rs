//! Several GPUs as one device, for plans over several devices.

use std::sync::Arc;
use std::time::Duration;

use cust::context::{Context, CurrentContext};
use cust::sys::CUdevice_P2PAttribute as P2pAttribute;

use super::commands::Wire;
use super::driver::{call, check};
use super::gpu::CudaDevice;
use super::kernels::Gpu;
use super::nccl::{self, Comm, Member, Nccl, UniqueId};
use super::session::{CudaSession, Use};
use crate::Link;
use device::validate::{validate, validate_devices};
use device::{
    Device, DeviceError, DeviceInfo, DriverError, Error, Module, Preparation, Share, TimedSession,
};
use plan::Plan;

/// GPUs of this machine: a plan's device 0 is the first of them. Kernels reach the memory of every
/// other GPU where the driver allows it; a copy between two that do not goes through the host's
/// memory.
#[derive(Debug)]
pub struct CudaGroup {
    gpus: Vec<CudaDevice>,
    /// For each GPU, which others its kernels reach.
    reaches: Vec<Vec<bool>>,
    share: Share,
    /// The way to other processes' GPUs. The code that aborts it has it, too.
    wire: Option<(Nccl, Arc<Vec<Comm>>)>,
}

/// How long GPUs of other processes may take to send or receive.
const LONGEST: Duration = Duration::from_secs(60);

impl CudaGroup {
    /// A group of these GPUs, at least one. Their contexts are made, and peer access is enabled.
    ///
    /// # Errors
    ///
    /// Errors of the driver.
    ///
    /// # Panics
    ///
    /// Without a GPU.
    pub fn new(gpus: Vec<CudaDevice>) -> Result<CudaGroup, DeviceError> {
        assert!(!gpus.is_empty(), "a group has a GPU");
        let opened: Result<Vec<_>, DeviceError> = gpus.iter().map(CudaDevice::enter).collect();
        let opened = opened?;
        let of = |from: usize| {
            let reaches = opened.iter().enumerate().map(|(to, other)| {
                Ok(from == to || reach(opened[from].context(), other.context())?)
            });
            reaches.collect::<Result<Vec<bool>, DriverError>>()
        };
        let reaches = (0..gpus.len())
            .map(of)
            .collect::<Result<_, DriverError>>()?;
        Ok(CudaGroup {
            share: Share::whole(gpus.len() as u32),
            gpus,
            reaches,
            wire: None,
        })
    }

    /// The group as a share of the GPUs of several processes, which reach each other through NCCL.
    /// Returns when all have joined.
    ///
    /// # Errors
    ///
    /// [`Error::Exchange`] without NCCL, or if the others do not join; [`Error::Ranks`] if one is
    /// lost.
    pub fn among(mut self, share: Share, ranks: &ranks::Session) -> Result<CudaGroup, Error> {
        let nccl = Nccl::open(None)?;
        let id = match ranks.rank() {
            0 => nccl.unique_id()?.to_vec(),
            _ => Vec::new(),
        };
        let id = ranks.broadcast(&id)?;
        let id = UniqueId::try_from(&id[..]).expect("rank 0 sends an id");
        for gpu in &self.gpus {
            gpu.enter()?;
        }
        let mut enters: Vec<_> = self
            .gpus
            .iter()
            .map(|gpu| {
                move || {
                    // A context that was current can be made so again.
                    let _ = gpu.enter();
                }
            })
            .collect();
        let mut members: Vec<Member<'_>> = share
            .own
            .clone()
            .zip(&mut enters)
            .map(|(rank, enter)| Member {
                rank: rank as usize,
                enter,
            })
            .collect();
        let comms = Comm::init_several(&nccl, share.all as usize, &id, &mut members, LONGEST)?;
        let comms = Arc::new(comms);
        let to_abort = Arc::downgrade(&comms);
        // Operations that wait for a lost rank would wait for ever.
        ranks.on_loss(move |why| {
            if let Some(alive) = to_abort.upgrade() {
                let of_ranks: Vec<&Comm> = alive.iter().collect();
                nccl::abort(&of_ranks, why);
            }
        });
        (self.share, self.wire) = (share, Some((nccl, comms)));
        Ok(self)
    }

    /// The GPUs, in the order of a plan's numbers.
    pub fn gpus(&self) -> &[CudaDevice] {
        &self.gpus
    }

    /// How two of its GPUs are joined, by their numbers in the group.
    ///
    /// # Errors
    ///
    /// Errors of the driver.
    pub fn link(&self, from: usize, to: usize) -> Result<Link, DeviceError> {
        if !self.reaches[from][to] {
            return Ok(Link::Staged);
        }
        let which = P2pAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
        let (from, to) = (self.gpus[from].raw(), self.gpus[to].raw());
        Ok(Link::Peer {
            has_atomics: call::p2p_attribute(which, from, to)? != 0,
        })
    }
}

/// Lets kernels of the first context reach the memory of the second, if the devices can. `false` if
/// they cannot.
fn reach(from: &Context, to: &Context) -> Result<bool, DriverError> {
    /// The context has this access already.
    const ALREADY: u32 = 704;
    /// The devices cannot.
    const UNSUPPORTED: u32 = 217;
    check("cuCtxSetCurrent", CurrentContext::set_current(from))?;
    match call::enable_peer_access(to) {
        Err(cause) if cause.code == UNSUPPORTED => Ok(false),
        Err(cause) if cause.code != ALREADY => Err(cause),
        _ => Ok(true),
    }
}

impl Drop for CudaGroup {
    fn drop(&mut self) {
        if self.wire.is_some() {
            // The contexts may be gone next.
            nccl::settle();
        }
    }
}

impl Device for CudaGroup {
    fn info(&self) -> &DeviceInfo {
        &self.gpus[0].info
    }

    fn count(&self) -> u32 {
        self.share.all
    }

    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        let memory = Use::of(&how.buffers);
        let own = |device: u32| Some(device.checked_sub(self.share.own.start)? as usize);
        validate_devices(plan, self.count(), |from, to| {
            let reaches = own(from).and_then(|from| self.reaches.get(from));
            match reaches {
                Some(reaches) => own(to).and_then(|to| reaches.get(to)) == Some(&true),
                // The process that has the first checks it.
                None => !self.share.has(to),
            }
        })?;
        let (share, needed) = match self.wire {
            Some(_) => (self.share.clone(), self.gpus.len()),
            None => (Share::whole(plan.devices()), plan.devices() as usize),
        };
        let mut gpus = Vec::new();
        for device in &self.gpus[..needed] {
            let module = validate(module, plan, &device.info.limits)?;
            let opened = device.enter()?;
            gpus.push(Gpu::new(
                device,
                opened,
                device.load_for(module, &memory)?,
                plan,
            )?);
        }
        let wire = self.wire.as_ref().map(|(nccl, comms)| Wire {
            nccl: *nccl,
            comms,
            first: share.own.start,
            longest: LONGEST,
        });
        let mut session = CudaSession::new(gpus, share, wire, plan, memory)?;
        if wire.is_some() {
            session.forbid_graphs("sends and receives between processes go by stream");
        } else if self.reaches.iter().flatten().any(|reaches| !reaches) {
            session.forbid_graphs("a graph has no copies between GPUs without peer access");
        }
        Ok(Box::new(session))
    }
}
