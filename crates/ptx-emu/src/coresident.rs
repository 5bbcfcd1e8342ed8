//! Co-resident blocks: blocks that communicate through memory are run together, as many as the
//! device holds, on one host thread, in turns.
//!
//! A GPU starts as many blocks as it holds
//! ([`DeviceLimits::resident_blocks`](crate::DeviceLimits::resident_blocks)), and another whenever
//! one ends; so a block may wait for others that run, and not for one that has not started. Here a
//! cluster starts when those before it have ended or polled (atomics, strong accesses, fences,
//! sleeps), and its turn lasts until it does either. Where turns are stepwise, each poll ends the
//! turn, so that all others come between it and the next. Where they are short, chance decides who
//! is next, and starts clusters before others poll.
//!
//! Clusters of other kernels run one after the other, or on several host threads (`launch`). Where
//! one of these waits by weak loads, it and those that have not started go on here.
//!
//! Whose turn it is follows from the schedule alone, so that the same blocks see the same on every
//! machine.
//!
//! # Blocks that wait in vain
//!
//! If all that run are parked (module `spin`), or poll for many instructions together, and none
//! changes anything that another could wait for or computes for long without a poll, they wait for
//! a block that cannot start or for something that no block does.
//!
//! # The laggard
//!
//! In one kind of order, a cluster has its turns only when all others have ended or are parked, or
//! have done nothing but poll for long. So a wait that ends by itself ends too early.

use crate::chance;
use crate::cluster::{ClusterRunner, Progress, Waits};
use crate::config::Schedule;
use crate::fault::Stop;
use crate::order::Order;
use crate::runner::LaunchContext;
use crate::tally::Tallies;
use crate::turn::{Turns, laggard, laggards};

/// Polls that end a turn of a warp; `LONG_PATIENCE` of them do so now and then in a sequential
/// order, where a cluster that polls without waiting for another is to end before others come
/// between.
const BLOCK_PATIENCE: u32 = 16;
const LONG_PATIENCE: u32 = 1024;
/// Longest turn of a cluster, in turns of its warps, where turns are short.
const SHORT_TURN: u32 = 8;
/// Warp instructions of the others, without a change, after which the laggard has a turn.
const PATIENCE_WITH_OTHERS: u64 = 1 << 18;
/// Warp instructions without a change after which the blocks wait in vain: of all together, and at
/// least of each cluster.
const IN_VAIN: (u64, u64) = (2_000_000, 1 << 16);

/// A cluster that runs.
struct Running<'a> {
    runner: ClusterRunner<'a>,
    /// Its place in the order of starts.
    place: u64,
    /// Warp instructions executed since the last change by any cluster, if that is still the change
    /// of this number.
    idle: u64,
    change: u64,
    /// The value of [`Coresident::steps`] when it last had a turn and could not use it.
    stuck_at: Option<u64>,
}

/// The clusters of a launch.
struct Coresident<'a> {
    launch: &'a LaunchContext<'a>,
    order: &'a Order,
    turns: Turns,
    random: fastrand::Rng,
    /// The most clusters that run at once.
    capacity: usize,
    running: Vec<Running<'a>>,
    /// Runners of clusters that have ended.
    spare: Vec<ClusterRunner<'a>>,
    /// Clusters that have started.
    started: u64,
    tallies: Tallies,
    /// The number of changes, and warp instructions of all since the last.
    changes: u64,
    idle: u64,
    /// Turns in which something was executed.
    steps: u64,
    /// The place of the laggard, if there is one, and `idle` at its latest turn.
    laggard: Option<u64>,
    lagged: u64,
}

/// Runs the clusters of the order from `started` on, and those before that wait: each has its place
/// in the order of starts.
pub(crate) fn run<'a>(
    launch: &'a LaunchContext<'a>,
    order: &'a Order,
    started: u64,
    waiting: Vec<(u64, ClusterRunner<'a>)>,
) -> Result<Tallies, Stop> {
    let turns = Turns::of(launch.schedule);
    let (seed, number) = match launch.schedule {
        Schedule::InOrder => (0, 0),
        Schedule::Random { seed } if turns == Turns::Laggard => laggards(seed),
        Schedule::Random { seed } => (seed, 0),
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let blocks = order.len();
    let laggard = (turns == Turns::Laggard).then(|| laggard(number, random.u64(0..blocks), blocks));
    let mut coresident = Coresident {
        launch,
        order,
        turns,
        random,
        capacity: resident_clusters(launch) as usize,
        running: Vec::new(),
        spare: Vec::new(),
        started,
        tallies: launch.code.tallies(launch.kernel),
        changes: 0,
        idle: 0,
        steps: 0,
        laggard,
        lagged: 0,
    };
    for (place, runner) in waiting {
        coresident.take_over(place, runner);
    }
    let ended = match coresident.turns {
        Turns::Short => coresident.run_by_chance(),
        _ => coresident.run_in_order(),
    };
    for mut running in coresident.running {
        running.runner.leave(running.place);
    }
    ended.map(|()| coresident.tallies)
}

/// Clusters that the devices hold at once.
fn resident_clusters(launch: &LaunchContext) -> u64 {
    (launch.resident / u64::from(launch.cluster_blocks())).max(1) * launch.devices()
}

impl<'a> Coresident<'a> {
    /// Runs the clusters in turn, in the order of their start.
    fn run_in_order(&mut self) -> Result<(), Stop> {
        loop {
            let (mut index, steps) = (0, self.steps);
            while index < self.running.len() || self.start() {
                let is_laggard = self.laggard == Some(self.running[index].place);
                if is_laggard || !self.take_turn(index, u32::MAX)? {
                    index += 1;
                }
            }
            if self.running.is_empty() || self.launch.attempt.has_failed() {
                return Ok(());
            }
            let mut running = self.running.iter();
            let laggard = running.position(|running| self.laggard == Some(running.place));
            let is_due =
                self.steps == steps || self.idle.saturating_sub(self.lagged) > PATIENCE_WITH_OTHERS;
            if let Some(last) = laggard.filter(|_| is_due) {
                self.lagged = self.idle;
                self.take_turn(last, u32::MAX)?;
            }
        }
    }

    /// Runs the clusters as chance has it.
    fn run_by_chance(&mut self) -> Result<(), Stop> {
        loop {
            if (self.running.is_empty() || self.random.u8(..) < 64) && self.start() {
                continue;
            }
            if self.running.is_empty() || self.launch.attempt.has_failed() {
                return Ok(());
            }
            let index = chance::below(&mut self.random, self.running.len());
            let sweeps = self.random.u32(1..=SHORT_TURN);
            self.take_turn(index, sweeps)?;
        }
    }

    /// Starts a cluster, as the last; false if none is left, or no more can run.
    fn start(&mut self) -> bool {
        if self.started == self.order.len() || self.running.len() == self.capacity {
            return false;
        }
        let mut runner = self.spare.pop().unwrap_or_else(|| {
            let mut runner = ClusterRunner::new(self.launch);
            if self.turns != Turns::Stepwise {
                runner.give_way(BLOCK_PATIENCE);
            }
            runner
        });
        runner.has_company = true;
        runner.start(self.order.at(self.started));
        self.started += 1;
        self.take_in(self.started - 1, runner);
        true
    }

    /// Goes on with a cluster that has run alone until now.
    fn take_over(&mut self, place: u64, mut runner: ClusterRunner<'a>) {
        if self.turns != Turns::Stepwise {
            runner.give_way(BLOCK_PATIENCE);
        }
        self.take_in(place, runner);
    }

    fn take_in(&mut self, place: u64, runner: ClusterRunner<'a>) {
        self.note_change();
        self.running.push(Running {
            runner,
            place,
            idle: 0,
            change: self.changes,
            stuck_at: None,
        });
    }

    /// Runs a cluster until it ends or polls, or for `sweeps` turns of its warps; true if it has
    /// ended.
    fn take_turn(&mut self, index: usize, sweeps: u32) -> Result<bool, Stop> {
        let runner = &mut self.running[index].runner;
        if self.turns == Turns::Sequential {
            let is_long = self.random.u8(..) < 16;
            runner.give_way(if is_long {
                LONG_PATIENCE
            } else {
                BLOCK_PATIENCE
            });
        }
        let before = Done::by(runner);
        let patience = u64::from(runner.blocks()[0].turn.patience);
        let mut has_ended = false;
        for _ in 0..sweeps {
            let executed = Done::by(runner).executed;
            has_ended = runner.sweep(&mut self.tallies)? == Progress::Ended;
            let now = Done::by(runner);
            let waits = now.executed == executed || now.polls - before.polls >= patience;
            if has_ended || waits {
                break;
            }
        }
        let after = Done::by(runner);
        let executed = after.executed - before.executed;
        self.steps += u64::from(executed > 0 || has_ended);
        if has_ended {
            self.note_change();
            self.launch.attempt.note_end();
            let mut ended = self.running.remove(index);
            ended.runner.leave(ended.place);
            self.spare.push(ended.runner);
            return Ok(true);
        }
        if executed == 0 {
            return self.note_stuck(index).map(|()| false);
        }
        self.running[index].stuck_at = None;
        if (after.changes, after.computed) != (before.changes, before.computed) {
            self.note_change();
        } else {
            self.note_idle(index, executed)?;
        }
        Ok(false)
    }

    fn note_change(&mut self) {
        self.changes += 1;
        (self.idle, self.lagged) = (0, 0);
    }

    /// Notes that a cluster could not use its turn: nothing has changed that it waits for.
    fn note_stuck(&mut self, index: usize) -> Result<(), Stop> {
        let steps = Some(self.steps);
        self.running[index].stuck_at = steps;
        let may_start = self.started < self.order.len() && self.running.len() < self.capacity;
        let is_stuck = |running: &Running| running.stuck_at == steps;
        if may_start || !self.running.iter().all(is_stuck) {
            Ok(())
        } else {
            Err(self.wait_in_vain(index))
        }
    }

    /// Notes that a cluster has only polled.
    fn note_idle(&mut self, index: usize, executed: u64) -> Result<(), Stop> {
        let running = &mut self.running[index];
        if running.change != self.changes {
            (running.change, running.idle) = (self.changes, 0);
        }
        running.idle += executed;
        self.idle += executed;
        let (of_all, of_each) = IN_VAIN;
        if self.idle < of_all {
            return Ok(());
        }
        let changes = self.changes;
        let only_waits = |one: &Running| {
            let polls = one.change == changes && one.idle >= of_each;
            polls || one.stuck_at.is_some()
        };
        if self.running.iter().all(only_waits) {
            Err(self.wait_in_vain(index))
        } else {
            Ok(())
        }
    }

    /// The fault of blocks that only poll, seen by a cluster.
    fn wait_in_vain(&self, index: usize) -> Stop {
        let in_cluster = u64::from(self.launch.cluster_blocks());
        let waits = Waits {
            running: self.running.len() as u64 * in_cluster,
            waiting: (self.order.all() - self.started) * in_cluster,
            resident: resident_clusters(self.launch) * in_cluster,
        };
        self.running[index].runner.waits_in_vain(waits)
    }
}

/// The progress of a cluster.
#[derive(Clone, Copy)]
struct Done {
    executed: u64,
    polls: u64,
    changes: u64,
    computed: u64,
}

impl Done {
    fn by(runner: &ClusterRunner) -> Self {
        let none = Self {
            executed: 0,
            polls: 0,
            changes: 0,
            computed: 0,
        };
        runner.blocks().iter().fold(none, |sum, block| Self {
            executed: sum.executed + block.turn.executed,
            polls: sum.polls + block.turn.polls,
            changes: sum.changes + block.turn.changes,
            computed: sum.computed + block.turn.computed,
        })
    }
}
