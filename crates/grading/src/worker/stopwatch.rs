//! How long a worker has been at work.

use std::time::{Duration, Instant};

use crate::processes::processor_time;

/// The time that a deadline is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The time that passes.
    Wall,
    /// The time that passes, but at most the processor time of the worker: what else a busy machine
    /// does is not counted. For workers that compute all the time. One that waits is given
    /// [`MAX_BUSY`] times as long.
    Work,
}

/// How much slower than a quiet machine a busy one may be.
const MAX_BUSY: u32 = 20;

/// The time since it was made.
pub struct Stopwatch {
    clock: Clock,
    worker: u32,
    began: Instant,
    /// The worker's processor time at that moment.
    used: Option<Duration>,
}

impl Stopwatch {
    /// Watches the process with this number.
    pub fn begin(clock: Clock, worker: u32) -> Stopwatch {
        Stopwatch {
            clock,
            worker,
            began: Instant::now(),
            used: match clock {
                Clock::Wall => None,
                Clock::Work => processor_time(worker),
            },
        }
    }

    /// By the clock.
    pub fn elapsed(&self) -> Duration {
        let wall = self.began.elapsed();
        match self.clock {
            Clock::Wall => wall,
            Clock::Work => {
                let now = processor_time(self.worker);
                // Where the system does not say, or says that the process has ended.
                let work = self
                    .used
                    .zip(now)
                    .map_or(wall, |(then, now)| now.saturating_sub(then));
                wall.min(work.max(wall / MAX_BUSY))
            }
        }
    }
}
