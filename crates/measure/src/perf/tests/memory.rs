//! A device whose memory does not hold everything at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use device::DeviceError;
use device::{DeviceKind, Error, HostBuffer, KernelInfo, Module, Preparation, Session};
use device::{TimedSession, Timing};
use plan::{BufferId, Plan};

use super::*;

/// A device that holds one plan at a time.
struct Cramped {
    inner: Box<dyn Device>,
    held: AtomicUsize,
}

struct Held<'d> {
    inner: Box<dyn Session + 'd>,
    held: &'d AtomicUsize,
}

impl Device for Cramped {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        if self.held.fetch_add(1, Ordering::Relaxed) > 0 {
            self.held.fetch_sub(1, Ordering::Relaxed);
            return Err(DeviceError::OutOfMemory {
                plan: plan.name().to_owned(),
                needed_bytes: 2,
                device: "Cramped".to_owned(),
                free_bytes: 1,
                total_bytes: 3,
            }
            .into());
        }
        Ok(Box::new(Held {
            inner: self.inner.prepare_as(module, plan, how)?,
            held: &self.held,
        }))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session for Held<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        self.inner.write(id, from)
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.inner.fill(id, byte)
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        self.inner.read(id)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.inner.run()
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.inner.kernel_info(kernel)
    }
}

impl TimedSession for Held<'_> {}

#[test]
fn what_does_not_fit_beside_the_others_is_timed_after_them() {
    let cramped = Cramped {
        inner: test_lab::device(),
        held: AtomicUsize::new(0),
    };
    let machine = Machine::new(vec![(DeviceKind::Cuda, Ok(vec![Box::new(cramped)]))]);
    let run = timed(
        &[&SMALL[..], &["--variant=naive,twofold"]].concat(),
        &machine,
    );
    assert_eq!(run.ending, Ok(Ending::Fine), "{}", run.text);
    assert_eq!(run.figures(1).compared.vs_first.unwrap().estimate, 2.0);
}
