//! Work that several workers share, and results in order.
//!
//! A worker has a device of its own and does one piece of work at a time: so no device ever has two
//! at once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use exit::CommandError;

/// A piece of work that failed, after which no other was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Its number.
    pub item: usize,
    /// How many were done, those included that were already begun elsewhere.
    pub done: usize,
    /// Why it failed.
    pub failure: CommandError,
}

/// Calls `work` with the number of a worker and of an item, for all items of each group; `show`
/// gets the results in order of the items' numbers, each as soon as those before it are there, and
/// how many are done.
///
/// The items of a group are done by one worker, one after the other. Groups are begun in order,
/// each by the worker that is free first.
///
/// # Errors
///
/// The first failure of `work`: no item is begun after it, and what others are busy with is done
/// and shown. Or that of `show`.
pub fn share<T: Send>(
    workers: usize,
    groups: Vec<Vec<usize>>,
    work: &(dyn Fn(usize, usize) -> Result<T, CommandError> + Sync),
    show: &mut dyn FnMut(&T, usize) -> Result<(), CommandError>,
) -> Result<Result<Vec<T>, Stopped>, CommandError> {
    let mut order: Vec<usize> = groups.iter().flatten().copied().collect();
    order.sort_unstable();
    let groups = Mutex::new(groups.into_iter());
    let is_stopped = AtomicBool::new(false);
    let begin = || {
        let mut groups = groups.lock().expect("no worker panics with it");
        groups.next()
    };
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (sender, begin, is_stopped) = (sender.clone(), &begin, &is_stopped);
            scope.spawn(move || {
                while let Some(group) = begin() {
                    for item in group {
                        if is_stopped.load(Ordering::Relaxed) {
                            return;
                        }
                        let result = work(worker, item);
                        if result.is_err() {
                            is_stopped.store(true, Ordering::Relaxed);
                        }
                        // Nobody listens any more if a result could not be shown.
                        let _ = sender.send((item, result));
                    }
                }
            });
        }
        drop(sender);
        let stop = |failure| {
            is_stopped.store(true, Ordering::Relaxed);
            failure
        };
        let mut waiting = BTreeMap::new();
        let mut shown = Vec::new();
        let mut first_failure = None;
        let mut done = 0;
        for (item, result) in results {
            match result {
                Ok(result) => {
                    waiting.insert(item, result);
                    done += 1;
                }
                Err(failure) => {
                    first_failure.get_or_insert((item, failure));
                }
            }
            while let Some(next) = order.get(shown.len())
                && let Some(ready) = waiting.remove(next)
            {
                show(&ready, done).map_err(stop)?;
                shown.push(ready);
            }
        }
        let Some((item, failure)) = first_failure else {
            return Ok(Ok(shown));
        };
        for result in waiting.values() {
            show(result, done)?;
        }
        Ok(Err(Stopped {
            item,
            done,
            failure,
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::thread::sleep;
    use std::time::Duration;

    fn alone(items: usize) -> Vec<Vec<usize>> {
        (0..items).map(|item| vec![item]).collect()
    }

    #[test]
    fn two_workers_are_busy_at_once_each_with_one_item() {
        // Both are needed to get past it: one worker alone would wait for ever.
        let both = Barrier::new(2);
        let busy = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let work = |worker: usize, item: usize| {
            let before = busy[worker].fetch_add(1, Ordering::SeqCst);
            assert_eq!(before, 0, "worker {worker} has two items");
            both.wait();
            sleep(Duration::from_millis(5));
            busy[worker].fetch_sub(1, Ordering::SeqCst);
            Ok((worker, item))
        };
        let mut seen = Vec::new();
        let mut show = |result: &(usize, usize), _| {
            seen.push(result.1);
            Ok(())
        };
        let done = share(2, alone(4), &work, &mut show).unwrap().unwrap();
        assert_eq!(seen, [0, 1, 2, 3]);
        let by_first = done.iter().filter(|(worker, _)| *worker == 0).count();
        assert_eq!(by_first, 2);
    }

    #[test]
    fn results_are_shown_in_order_however_long_each_takes() {
        let work = |_: usize, item: usize| {
            sleep(Duration::from_millis(if item == 0 { 40 } else { 1 }));
            Ok(item)
        };
        let mut seen = Vec::new();
        let mut show = |item: &usize, done: usize| {
            seen.push((*item, done));
            Ok(())
        };
        let groups = vec![vec![0], vec![1, 3], vec![2]];
        let done = share(2, groups, &work, &mut show).unwrap().unwrap();
        assert_eq!(done, [0, 1, 2, 3]);
        assert_eq!(seen, [(0, 4), (1, 4), (2, 4), (3, 4)]);
    }

    #[test]
    fn a_group_has_one_worker() {
        let work = |worker: usize, item: usize| {
            sleep(Duration::from_millis(2));
            Ok((worker, item))
        };
        let groups = vec![vec![0, 2, 4], vec![1], vec![3]];
        let done = share(2, groups, &work, &mut |_, _| Ok(()))
            .unwrap()
            .unwrap();
        assert!(done[0].0 == done[2].0 && done[2].0 == done[4].0, "{done:?}");
    }

    #[test]
    fn after_a_failure_nothing_is_begun_and_what_is_done_is_shown() {
        let both = Barrier::new(2);
        let work = |_: usize, item: usize| {
            if item < 2 {
                both.wait();
            }
            if item == 0 {
                return Err(CommandError::Environment("lost".to_owned()));
            }
            sleep(Duration::from_millis(50));
            Ok(item)
        };
        let mut seen = Vec::new();
        let mut show = |item: &usize, _| {
            seen.push(*item);
            Ok(())
        };
        let stopped = share(2, alone(4), &work, &mut show).unwrap().unwrap_err();
        assert_eq!((stopped.item, stopped.done), (0, 1));
        assert_eq!(
            stopped.failure,
            CommandError::Environment("lost".to_owned())
        );
        assert_eq!(seen, [1]);
    }

    #[test]
    fn what_cannot_be_shown_ends_the_work() {
        let begun = AtomicUsize::new(0);
        let work = |_: usize, item: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_millis(20));
            Ok(item)
        };
        let full = CommandError::Environment("disk full".to_owned());
        let mut show = |_: &usize, _| Err(full.clone());
        assert_eq!(share(1, alone(50), &work, &mut show), Err(full.clone()));
        assert!(begun.load(Ordering::SeqCst) < 50);
    }
}
