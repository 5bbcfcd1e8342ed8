//! Readings at regular times, and what follows from them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Reading, Telemetry, ThrottleReason};

/// Reads a GPU's telemetry in a thread of its own until it is stopped.
pub struct Recorder {
    /// Dropped to end the thread.
    stop: Sender<()>,
    thread: JoinHandle<Trace>,
}

impl Recorder {
    /// Takes the first reading now, and one each `period` from then on. 20 to 50 ms are short
    /// enough, since a GPU's power counters change no faster. A reading takes well under a
    /// millisecond of a CPU.
    pub fn start(telemetry: Arc<dyn Telemetry>, period: Duration) -> Recorder {
        let (stop, stopped) = mpsc::channel();
        let began = Instant::now();
        let thread = thread::spawn(move || {
            let mut trace = Trace {
                began,
                samples: Vec::new(),
            };
            let mut next = began;
            loop {
                let at = Instant::now();
                trace.push(at, telemetry.read());
                // A slow reading delays the next ones; they do not pile up.
                next = (next + period).max(Instant::now());
                let wait = next.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    trace.push(Instant::now(), telemetry.read());
                    return trace;
                }
            }
        });
        Recorder { stop, thread }
    }

    /// Takes a last reading, and returns them all.
    ///
    /// # Panics
    ///
    /// If the telemetry panicked.
    pub fn stop(self) -> Trace {
        drop(self.stop);
        self.thread.join().expect("a reading panicked")
    }
}

/// One reading of many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Since the recorder was started.
    pub at_s: f64,
    /// The GPU's values.
    #[serde(flatten)]
    pub reading: Reading,
}

/// The readings of a recorder.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// When the recorder was started.
    pub began: Instant,
    /// In the order taken; [`Recorder::stop`] returns at least two.
    pub samples: Vec<Sample>,
}

impl Trace {
    fn push(&mut self, at: Instant, reading: Reading) {
        self.samples.push(Sample {
            at_s: (at - self.began).as_secs_f64(),
            reading,
        });
    }

    /// The samples taken in a span of time, with one more on each side if there is one.
    pub fn between(&self, from: Instant, to: Instant) -> Trace {
        let since = |at: Instant| at.saturating_duration_since(self.began).as_secs_f64();
        let (from, to) = (since(from), since(to));
        let first = self.samples.partition_point(|sample| sample.at_s < from);
        let end = self.samples.partition_point(|sample| sample.at_s <= to);
        let range = first.saturating_sub(1)..(end + 1).min(self.samples.len());
        Trace {
            began: self.began,
            samples: self.samples[range].to_vec(),
        }
    }

    /// Energy drawn from the first sample to the last: by the GPU's counter, or else as the
    /// integral of its power.
    pub fn energy_j(&self) -> Option<f64> {
        let (first, last) = (self.samples.first()?, self.samples.last()?);
        let counted = last.reading.energy_j.zip(first.reading.energy_j);
        if let Some((end_j, start_j)) = counted {
            return Some(end_j - start_j);
        }
        let pairs = self.samples.windows(2).map(|pair| {
            let seconds = pair[1].at_s - pair[0].at_s;
            let watts = pair[0].reading.power_w.zip(pair[1].reading.power_w);
            watts.map(|(a, b)| seconds * (a + b) / 2.0)
        });
        pairs.sum()
    }

    /// Mean power, from the first sample to the last.
    pub fn mean_power_w(&self) -> Option<f64> {
        let seconds = self.samples.last()?.at_s - self.samples.first()?.at_s;
        (seconds > 0.0).then_some(self.energy_j()? / seconds)
    }

    /// The lowest and highest value of a quantity, among the samples that have it.
    pub fn range<T: PartialOrd + Copy>(
        &self,
        of: impl Fn(&Reading) -> Option<T>,
    ) -> Option<(T, T)> {
        let values = self.samples.iter().filter_map(|sample| of(&sample.reading));
        values.fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((
                if value < low { value } else { low },
                if value > high { value } else { high },
            )),
        })
    }

    /// Every reason that lowered the clocks in some sample, idleness and chosen clocks apart.
    pub fn throttled_by(&self) -> BTreeSet<ThrottleReason> {
        let reasons = self
            .samples
            .iter()
            .filter_map(|sample| sample.reading.throttled_by.as_ref());
        reasons
            .flatten()
            .copied()
            .filter(|reason| reason.slows())
            .collect()
    }
}
