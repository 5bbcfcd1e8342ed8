//! The order of runs within a turn.

use std::sync::Mutex;

use device::{BufferPool, Error, HostBuffer, KernelInfo, Module, NamedBuffers};
use device::{Preparation, Session, TimedSession, Timing};
use plan::{BufferId, Plan};

use device::telemetry::{About, Reading, ThrottleReason};

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

/// Reports the power cap, at clocks that count.
#[derive(Default)]
struct Capped(About);

impl Telemetry for Capped {
    fn about(&self) -> &About {
        &self.0
    }

    fn read(&self) -> Reading {
        Reading {
            sm_clock_mhz: Some(1900),
            throttled_by: Some([ThrottleReason::PowerCap].into()),
            ..Reading::default()
        }
    }
}

/// The order of three runs of five samples each, and whether any was timed in turns.
fn order(watch: &Watch) -> (String, bool) {
    let device = Noting {
        info: DeviceInfo::new(device::DeviceKind::Cuda, "Noting"),
        order: Mutex::default(),
    };
    let (inputs, memory) = (NamedBuffers::default(), BufferPool::default());
    let module = Module::new("none", ".version 6.0\n.target sm_50\n.address_size 64\n");
    let runs = ["a", "b", "c"].map(|name| {
        let plan = Plan::new(name);
        let run = TimedRun::prepare(&device, &module, plan, &inputs, &memory).unwrap();
        (run, watch.clone())
    });
    let settings = Settings {
        device_warm_up: Duration::ZERO,
        batch: None,
        ..Settings::quick().with_samples(5)
    };
    let stopwatch = Stopwatch::default();
    let timed = interleaved::time(runs.into(), &settings, 1, None, &stopwatch);
    let timed = timed.into_iter().map(Result::unwrap);
    let has_turns = timed.map(|timed| {
        assert_eq!(timed.figures.run.samples_s.len(), 5);
        !timed.turns_s.is_empty()
    });
    let has_turns = has_turns.collect::<Vec<_>>().contains(&true);
    (device.order.into_inner().unwrap(), has_turns)
}

#[test]
fn every_other_turn_goes_backwards() {
    let (order, has_turns) = order(&Watch::new(None));
    let (_, samples) = order.split_at(order.len() - 15);
    assert_eq!(samples, "abccbaabccbaabc", "{order}");
    assert!(has_turns);
}

/// What a run leaves of the clocks would be the next one's time.
#[test]
fn at_the_power_cap_each_run_has_the_device_for_itself() {
    let (order, has_turns) = order(&Watch::new(Some(Arc::new(Capped::default()))));
    // Many runs come before those that count.
    let mut groups: Vec<(char, usize)> = Vec::new();
    for name in order.chars() {
        match groups.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => groups.push((name, 1)),
        }
    }
    let alone: Vec<char> = { groups.iter() }
        .filter_map(|(name, count)| (*count > 50).then_some(*name))
        .collect();
    assert!(alone == ['a', 'b', 'c'], "{alone:?}");
    assert!(!has_turns);
}
