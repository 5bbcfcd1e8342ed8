//! The order of runs within a turn.

use std::sync::Mutex;

use device::{BufferPool, Error, HostBuffer, KernelInfo, Module, NamedBuffers};
use device::{Preparation, Session, TimedSession, Timing};
use plan::{BufferId, Plan};

use super::*;
use crate::perf::interleaved;
use crate::perf::settings::Settings;
use crate::perf::stopwatch::Stopwatch;
use crate::perf::timed_run::TimedRun;
use crate::perf::watch::Watch;

/// A device that notes whose run comes when, by the name of its plan.
struct Noting {
    info: DeviceInfo,
    order: Mutex<String>,
}

struct NotingSession<'d> {
    device: &'d Noting,
    name: String,
}

impl Device for Noting {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare_as<'d>(
        &'d self,
        _: &Module,
        plan: &Plan,
        _: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        Ok(Box::new(NotingSession {
            device: self,
            name: plan.name().to_owned(),
        }))
    }
}

impl Session for NotingSession<'_> {
    fn write(&mut self, _: BufferId, _: &HostBuffer) -> Result<(), Error> {
        Ok(())
    }

    fn fill(&mut self, _: BufferId, _: u8) -> Result<(), Error> {
        Ok(())
    }

    fn read(&mut self, _: BufferId) -> Result<HostBuffer, Error> {
        Ok(HostBuffer::from(vec![0u32]))
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.device.order.lock().unwrap().push_str(&self.name);
        Ok(Timing {
            device: Some(Duration::from_millis(1)),
            host: Duration::from_millis(1),
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        unreachable!("no plan launches {kernel}")
    }
}

impl TimedSession for NotingSession<'_> {}

#[test]
fn every_other_turn_goes_backwards() {
    let device = Noting {
        info: DeviceInfo::new(device::DeviceKind::Cuda, "Noting"),
        order: Mutex::default(),
    };
    let (inputs, memory) = (NamedBuffers::default(), BufferPool::default());
    let module = Module::new("none", ".version 6.0\n.target sm_50\n.address_size 64\n");
    let runs = ["a", "b", "c"].map(|name| {
        let plan = Plan::new(name);
        let run = TimedRun::prepare(&device, &module, plan, &inputs, &memory).unwrap();
        (run, Watch::new(None))
    });
    let settings = Settings {
        device_warm_up: Duration::ZERO,
        batch: None,
        ..Settings::quick().with_samples(5)
    };
    let stopwatch = Stopwatch::default();
    let timed = interleaved::time(runs.into(), &settings, 1, None, &stopwatch);
    assert!(timed.into_iter().all(|timed| timed.is_ok()));
    let order = device.order.into_inner().unwrap();
    let (_, samples) = order.split_at(order.len() - 15);
    assert_eq!(samples, "abccbaabccbaabc", "{order}");
}
