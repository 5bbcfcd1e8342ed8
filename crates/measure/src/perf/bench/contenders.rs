//! Contenders, which take turns: variants, caps of registers, peers, numbers of devices.

use device::{Device, DeviceInfo, Module};
use lab::{LabCase, Variant};
use units::count;

use super::Bench;
use crate::perf::own_limit::Launched;
use crate::perf::timed_run::{About, Peer};
use crate::register_cap::{RegisterCap, capped};
use results::DeviceRecord;
use select::devices::Named;

/// The subject of a row: a variant as it is, a variant under a cap of registers, or a peer; on a
/// case, and on a number of devices.
#[derive(Clone, Copy)]
pub struct Contender<'b> {
    pub variant: &'static Variant,
    /// The variant in the shape in which it is launched.
    pub launched: &'static Variant,
    pub peer: Option<&'b dyn Peer>,
    pub cap: Option<RegisterCap>,
    pub case: &'b dyn LabCase,
    /// Its place on the axis of devices, where rows differ by it.
    pub on: Option<&'b OnGpus>,
}

/// A case on a number of devices, and the variant there.
pub struct OnGpus {
    pub gpus: u32,
    pub variant: &'static Variant,
    pub case: Box<dyn LabCase>,
    /// The work of a run, from which its rate follows.
    pub done: f64,
}

impl Contender<'_> {
    pub fn about(&self) -> Option<&About> {
        self.peer.map(|peer| peer.about())
    }

    pub fn name(&self) -> String {
        match (self.about(), self.gpus()) {
            (Some(about), _) => format!("{} ({})", self.variant.name, about.language),
            (None, Some(gpus)) => format!("{} on {}", self.row_name(), count(gpus as usize, "GPU")),
            (None, None) => self.row_name(),
        }
    }

    /// Its row's name: `naive @ 80 registers`.
    pub fn row_name(&self) -> String {
        let name = &self.variant.name;
        self.cap
            .map_or_else(|| name.clone(), |cap| format!("{name} @ {cap}"))
    }

    /// The module under its cap, if it has one.
    pub fn capped(&self, module: &Module) -> Option<Module> {
        Some(capped(module, self.cap?))
    }

    /// Whether it is a variant of ours, without a cap.
    pub fn is_plain(&self) -> bool {
        self.peer.is_none() && self.cap.is_none()
    }

    /// The number of devices, where rows differ by it.
    pub fn gpus(&self) -> Option<u32> {
        Some(self.on?.gpus)
    }
}

impl Bench<'_> {
    /// One for every number of devices; or else every variant on the one device, with its caps and
    /// peers behind it.
    pub(super) fn contenders(&self, device: &dyn Device) -> Vec<Contender<'_>> {
        let info = device.info();
        if !self.gpus.is_empty() {
            let on_gpus = self.gpus.iter().map(|on| Contender {
                on: Some(on),
                ..self.plain(on.variant, on.case.as_ref(), info, on.gpus)
            });
            return on_gpus.collect();
        }
        let mut contenders = Vec::new();
        for &variant in &self.variants {
            let plain = self.plain(variant, self.case.as_ref(), info, 1);
            let peers = self
                .peers
                .iter()
                .copied()
                .filter(|peer| peer.about().variant == variant.base());
            contenders.push(plain);
            contenders.extend(self.caps.iter().map(|&cap| Contender {
                cap: Some(cap),
                ..plain
            }));
            contenders.extend(peers.map(|peer| Contender {
                peer: Some(peer),
                ..plain
            }));
        }
        contenders
    }

    /// The variants of ours as they are launched on a device.
    pub(super) fn launched(&self, named: Named<'_>, record: &DeviceRecord) -> Vec<Launched> {
        let contenders = self.contenders(named.device).into_iter();
        let ours = contenders.filter(Contender::is_plain);
        let launched = ours.map(|one| Launched {
            device: named.name.to_string(),
            variant: one.launched,
            info: record.info.clone(),
        });
        launched.collect()
    }

    /// A variant in the shape that was found for this number of devices.
    fn plain<'b>(
        &self,
        variant: &'static Variant,
        case: &'b dyn LabCase,
        info: &DeviceInfo,
        gpus: u32,
    ) -> Contender<'b> {
        Contender {
            variant,
            launched: self
                .tuned
                .shape(self.lab, variant, case, info, gpus)
                .launched,
            peer: None,
            cap: None,
            case,
            on: None,
        }
    }
}
