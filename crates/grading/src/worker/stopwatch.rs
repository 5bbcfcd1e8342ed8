//! How long a worker has been at work.

use std::time::{Duration, Instant};

/// The time that a deadline is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The time that passes.
    Wall,
    /// The same, but at most the processor time of the worker: what else a busy machine does is
    /// not counted. For workers that compute all the time. One that waits is given [`MAX_BUSY`]
    /// times as long.
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

/// The processor time of a process, all its threads together. None where the system does not say.
#[cfg(target_os = "linux")]
fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may have spaces. After it come the fields from the third on
    // (proc_pid_stat(5)): the times are the 14th and the 15th.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || times.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

#[cfg(not(target_os = "linux"))]
fn processor_time(_: u32) -> Option<Duration> {
    None
}
