//! Strong stores that arrive late: older values that a strong load may still see.
//!
//! The memory model of PTX ("Memory Consistency Model") orders relaxed and volatile accesses to one
//! word, and those to several only by fences, atomics and barriers. A GPU uses that freedom: a load
//! may overtake a store before it, and two stores may arrive in either order. An emulator that
//! performs one access after the other shows none of it, so that a program which needs a fence and
//! has none is right in every order of its threads.
//!
//! In some orders ([`Views::of`]) the launch remembers, for each word that
//! strong stores and atomics have changed, its last values: the *messages* of the word, in their
//! order.
//! A warp knows, for each word, the oldest message that it may still read: its *view*. For each
//! other warp the view has the clock below which its accesses come before those of this one: so
//! the race check knows whether the flag that a warp has read comes from the warp whose accesses it
//! takes as ordered ([`Views::orders`]). A view grows
//!
//! - by its own accesses: a warp reads nothing older than what it has stored or read;
//! - by acquiring: a message carries the view that its writer had released, by a fence before the
//!   store or by the store itself. A load that acquires takes it over, and a relaxed one when a
//!   fence follows;
//! - by `fence.sc`, which takes over what all such fences before it knew;
//! - by a barrier of the block, for all of its warps; and by every other way to wait, entirely.
//!
//! An atomic reads the newest message, and passes on what that has released (a *release
//! sequence*). One that returns a value counts as `acq_rel`, and the lanes of a warp have one view:
//! both are stricter than PTX, so that nothing is seen that a GPU may not show. Words that are
//! accessed in different widths have no messages. Weak accesses are the race check's: they see
//! memory as it is.

use std::collections::{HashMap as StdMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;

use crate::config::Schedule;
use crate::turn::KIND;

/// A map that is asked at every access.
pub(crate) type Map<K, V> = StdMap<K, V, FixedState>;

/// Messages of a word that are kept.
const KEPT: usize = 8;
/// Words that have messages at once. With one more, all begin again: what is in memory is all
/// that there is to read.
const WORDS: usize = 1024;

/// Warps whose accesses are told apart. With one more, the race check asks nothing here.
const WARPS: usize = 2048;

/// Numbers that only grow, 0 at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row(Vec<u32>);

impl Row {
    fn of(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn raise(&mut self, index: usize, least: u32) {
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] = self.0[index].max(least);
    }

    fn join(&mut self, other: &Row) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &least) in self.0.iter_mut().zip(&other.0) {
            *own = least.max(*own);
        }
    }
}

/// How far one sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct View {
    /// By word, the position of the oldest message that may be read.
    words: Row,
    /// By warp, the clock below which its accesses are ordered before.
    clocks: Row,
    /// Something else than words with messages had a part in it, so that more may be ordered.
    is_open: bool,
}

impl View {
    fn join(&mut self, other: &View) {
        self.words.join(&other.words);
        self.clocks.join(&other.clocks);
        self.is_open |= other.is_open;
    }
}

/// Where a word lies: the block whose shared memory it is in, if it is in any, and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) block: Option<u64>,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

impl Place {
    /// The aligned 8 bytes that it is in.
    fn unit(&self) -> (Option<u64>, u64) {
        (self.block, self.address / 8)
    }
}

/// A warp: its block, and its number there.
pub(crate) type Reader = (u64, usize);

/// For whom a fence or an access acquires or releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The own block: `.cta`.
    Block,
    /// All blocks: every wider scope.
    Device,
}

impl Reach {
    /// That of a scope.
    pub(crate) fn of(has_blocks: bool) -> Reach {
        if has_blocks {
            Reach::Device
        } else {
            Reach::Block
        }
    }
}

/// The order that an access or a fence makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ordering {
    pub(crate) acquires: Option<Reach>,
    pub(crate) releases: Option<Reach>,
}

impl Ordering {
    /// That of something which acquires, releases, or both, for these blocks.
    pub(crate) fn of(reach: Reach, acquires: bool, releases: bool) -> Ordering {
        Ordering {
            acquires: acquires.then_some(reach),
            releases: releases.then_some(reach),
        }
    }
}

/// The views that a writer has released: to all blocks, and to the own one, which is never less.
#[derive(Clone, Debug, Default)]
struct Released {
    to_all: Option<Arc<View>>,
    to_block: Option<Arc<View>>,
}

impl Released {
    fn all(view: View) -> Released {
        let view = Some(Arc::new(view));
        Released {
            to_all: view.clone(),
            to_block: view,
        }
    }

    /// Releases a view to some.
    fn release(&mut self, seen: &View, reach: Reach) {
        let view = Some(Arc::new(seen.clone()));
        if reach == Reach::Device {
            self.to_all = view.clone();
        }
        self.to_block = view;
    }

    fn joined(self, other: Released) -> Released {
        let both = |a: Option<Arc<View>>, b: Option<Arc<View>>| match (a, b) {
            (Some(a), Some(b)) if !Arc::ptr_eq(&a, &b) => {
                let mut both = (*a).clone();
                both.join(&b);
                Some(Arc::new(both))
            }
            (a, b) => a.or(b),
        };
        Released {
            to_all: both(self.to_all, other.to_all),
            to_block: both(self.to_block, other.to_block),
        }
    }
}

#[derive(Clone, Debug)]
struct Message {
    value: u64,
    /// The block of its writer; `None` if several blocks, or none, have a part in it.
    block: Option<u64>,
    released: Released,
}

impl Message {
    /// Whether it counts as one of this block.
    fn is_of(&self, block: u64) -> bool {
        self.block.is_none_or(|own| own == block)
    }
}

/// The messages of a word.
#[derive(Debug)]
struct History {
    messages: VecDeque<Message>,
    /// The position of the first.
    first: u32,
}

impl History {
    fn latest(&self) -> u32 {
        self.first + self.messages.len() as u32 - 1
    }

    fn value(&self) -> u64 {
        self.messages.back().map_or(0, |message| message.value)
    }

    fn at(&self, position: u32) -> &Message {
        &self.messages[(position - self.first) as usize]
    }

    fn push(&mut self, message: Message) -> u32 {
        self.messages.push_back(message);
        if self.messages.len() > KEPT {
            self.messages.pop_front();
            self.first += 1;
        }
        self.latest()
    }
}

/// The views of a warp.
#[derive(Debug, Default)]
struct Knowledge {
    seen: View,
    /// Its view after a fence that reaches all blocks.
    observed: View,
    /// Its view after one that reaches its own block: by messages of that block.
    observed_in_block: View,
    /// Its view at its last fences.
    released: Released,
}

impl Knowledge {
    /// Reads a message.
    fn read(&mut self, block: u64, message: &Message, acquires: Option<Reach>) {
        let is_own = message.is_of(block);
        let released = &message.released;
        let carried = if is_own {
            &released.to_block
        } else {
            &released.to_all
        };
        let Some(carried) = carried else { return };
        self.observed.join(carried);
        if is_own {
            self.observed_in_block.join(carried);
        }
        if acquires.is_some_and(|reach| is_own || reach == Reach::Device) {
            self.seen.join(carried);
        }
    }

    /// The views that a store carries.
    fn carried(&self, releases: Option<Reach>) -> Released {
        let mut released = self.released.clone();
        if let Some(reach) = releases {
            released.release(&self.seen, reach);
        }
        released
    }
}

#[derive(Debug, Default)]
struct State {
    words: Map<Place, usize>,
    /// The width of the words in 8 bytes; 0 where there are several.
    widths: Map<(Option<u64>, u64), u32>,
    histories: Vec<History>,
    warps: Map<Reader, Knowledge>,
    /// The warps in [`View::clocks`].
    numbers: Map<Reader, usize>,
    /// There are more warps than are told apart, or messages were forgotten.
    is_open: bool,
    /// The joined views of all `fence.sc`s that reach all blocks, and by block of those that reach
    /// its own.
    fenced: View,
    fenced_in_block: Map<u64, View>,
}

/// The messages and views of one launch.
#[derive(Debug)]
pub(crate) struct Views {
    state: Mutex<(State, fastrand::Rng)>,
    lateness: Lateness,
}

/// How late stores arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lateness {
    /// Any message that may be read is read as often as another.
    Any,
    /// Seven of eight loads read the oldest message that they may.
    Most,
}

impl Views {
    /// Of a launch in whose order stores arrive late.
    pub(crate) fn of(schedule: Schedule) -> Option<Views> {
        let Schedule::Random { seed } = schedule else {
            return None;
        };
        match seed & KIND {
            3 => Some(Views::new(seed, Lateness::Most)),
            4 => Some(Views::new(seed, Lateness::Any)),
            _ => None,
        }
    }

    fn new(seed: u64, lateness: Lateness) -> Views {
        let random = fastrand::Rng::with_seed(seed ^ 0x6c61_7465_2073_746f);
        Views {
            state: Mutex::new((State::default(), random)),
            lateness,
        }
    }

    fn lock(&self) -> MutexGuard<'_, (State, fastrand::Rng)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value that a strong load reads of a word that holds `value`.
    pub(crate) fn load(
        &self,
        by: Reader,
        place: Place,
        value: u64,
        acquires: Option<Reach>,
    ) -> u64 {
        let (state, random) = &mut *self.lock();
        let Some(word) = state.known(place, value) else {
            state.read_unknown(by, place);
            return value;
        };
        let knowledge = state.warps.entry(by).or_default();
        let history = &state.histories[word];
        let oldest = knowledge.seen.words.of(word).max(history.first);
        let latest = history.latest();
        let position = match self.lateness {
            _ if oldest == latest => latest,
            Lateness::Any => random.u32(oldest..=latest),
            Lateness::Most if random.u32(..8) > 0 => oldest,
            Lateness::Most => latest,
        };
        let message = history.at(position);
        knowledge.seen.words.raise(word, position);
        knowledge.read(by.0, message, acquires);
        message.value
    }

    /// A strong store to a word that holds `old`.
    pub(crate) fn store(
        &self,
        by: Reader,
        place: Place,
        (old, value): (u64, u64),
        releases: Option<Reach>,
    ) {
        let (state, _) = &mut *self.lock();
        let Some(word) = state.word(place, old) else {
            return;
        };
        let knowledge = state.warps.entry(by).or_default();
        let message = Message {
            value,
            block: Some(by.0),
            released: knowledge.carried(releases),
        };
        let position = state.histories[word].push(message);
        knowledge.seen.words.raise(word, position);
    }

    /// An atomic that finds `old` in a word and leaves `value`, which it has stored if it `writes`.
    pub(crate) fn update(
        &self,
        by: Reader,
        place: Place,
        (old, value): (u64, u64),
        writes: bool,
        ordering: Ordering,
    ) {
        let (state, _) = &mut *self.lock();
        let Some(word) = state.word(place, old) else {
            state.read_unknown(by, place);
            return;
        };
        let history = &mut state.histories[word];
        let found = history.at(history.latest()).clone();
        let knowledge = state.warps.entry(by).or_default();
        knowledge.seen.words.raise(word, history.latest());
        knowledge.read(by.0, &found, ordering.acquires);
        if !writes {
            return;
        }
        let own = knowledge.carried(ordering.releases);
        let position = history.push(Message {
            value,
            block: found.block.filter(|&block| block == by.0),
            released: found.released.joined(own),
        });
        knowledge.seen.words.raise(word, position);
    }

    /// A fence; `is_total` if it is a `fence.sc`.
    pub(crate) fn fence(&self, by: Reader, ordering: Ordering, is_total: bool) {
        let (state, _) = &mut *self.lock();
        let knowledge = state.warps.entry(by).or_default();
        let reach = ordering.acquires.or(ordering.releases);
        match ordering.acquires {
            Some(Reach::Device) => knowledge.seen.join(&knowledge.observed),
            Some(Reach::Block) => knowledge.seen.join(&knowledge.observed_in_block),
            None => {}
        }
        if is_total {
            let in_block = state.fenced_in_block.entry(by.0).or_default();
            knowledge.seen.join(in_block);
            if reach == Some(Reach::Device) {
                knowledge.seen.join(&state.fenced);
                state.fenced.join(&knowledge.seen);
            }
            in_block.join(&knowledge.seen);
        }
        if let Some(to) = ordering.releases {
            knowledge.released.release(&knowledge.seen, to);
        }
    }

    /// A warp is about to release what it did, and what it knows of others: up to which clock of
    /// which warps.
    pub(crate) fn note_release(&self, by: Reader, known: impl Iterator<Item = (Reader, u32)>) {
        let (state, _) = &mut *self.lock();
        for (reader, clock) in known {
            let count = state.numbers.len();
            let number = *state.numbers.entry(reader).or_insert(count);
            if number < WARPS {
                let knowledge = state.warps.entry(by).or_default();
                knowledge.seen.clocks.raise(number, clock);
            }
            state.is_open |= number >= WARPS;
        }
    }

    /// Whether accesses of a warp at a clock may be ordered before those of a warp of another block
    /// from now on: false only where it has read neither what that warp has released since, nor
    /// anything behind it.
    pub(crate) fn orders(&self, by: Reader, (earlier, clock): (Reader, u32)) -> bool {
        let (state, _) = &*self.lock();
        let seen = state.warps.get(&by).map(|knowledge| &knowledge.seen);
        let number = state.numbers.get(&earlier);
        state.is_open
            || seen.is_some_and(|seen| {
                seen.is_open || number.is_some_and(|&number| seen.clocks.of(number) > clock)
            })
    }

    /// A barrier that some warps of a block have passed.
    pub(crate) fn meet(&self, block: u64, warps: impl Iterator<Item = usize> + Clone) {
        let (state, _) = &mut *self.lock();
        let (mut seen, mut released) = (View::default(), Released::default());
        for warp in warps.clone() {
            if let Some(knowledge) = state.warps.get(&(block, warp)) {
                seen.join(&knowledge.seen);
                seen.join(&knowledge.observed);
                released = released.joined(knowledge.released.clone());
            }
        }
        if seen == View::default() {
            return;
        }
        for warp in warps {
            let knowledge = state.warps.entry((block, warp)).or_default();
            knowledge.seen = seen.clone();
            knowledge.released = released.clone();
        }
    }

    /// A warp has waited for others in some other way: it sees all that there is.
    pub(crate) fn see_all(&self, by: Reader) {
        let (state, _) = &mut *self.lock();
        let all = state.all();
        state.warps.entry(by).or_default().seen.join(&all);
    }
}

impl State {
    /// The newest messages of all words, and all that may be ordered.
    fn all(&self) -> View {
        View {
            words: Row(self.histories.iter().map(History::latest).collect()),
            is_open: true,
            ..View::default()
        }
    }

    /// The word at a place that holds a value, if it has messages. A value that came by a weak
    /// store, or in another way, is a message whose readers know everything.
    fn known(&mut self, place: Place, value: u64) -> Option<usize> {
        if *self.widths.get(&place.unit())? != place.bytes {
            self.mix(place);
            return None;
        }
        let word = *self.words.get(&place)?;
        if self.histories[word].value() != value {
            let released = Released::all(self.all());
            self.histories[word].push(Message {
                value,
                block: None,
                released,
            });
        }
        Some(word)
    }

    /// The word at a place, which has messages from now on.
    fn word(&mut self, place: Place, value: u64) -> Option<usize> {
        let width = *self.widths.entry(place.unit()).or_insert(place.bytes);
        if width == place.bytes && !self.words.contains_key(&place) {
            if self.histories.len() == WORDS {
                *self = State {
                    is_open: true,
                    ..State::default()
                };
                self.widths.insert(place.unit(), place.bytes);
            }
            self.words.insert(place, self.histories.len());
            let initial = Message {
                value,
                block: None,
                released: Released::default(),
            };
            self.histories.push(History {
                messages: VecDeque::from([initial]),
                first: 0,
            });
        }
        self.known(place, value)
    }

    /// Notes that a warp has read a word without messages: where it is accessed in several widths,
    /// it may have learned from any.
    fn read_unknown(&mut self, by: Reader, place: Place) {
        if self.widths.get(&place.unit()) == Some(&0) {
            self.warps.entry(by).or_default().seen.is_open = true;
        }
    }

    /// Notes that the words in 8 bytes are accessed in several widths: none has messages.
    fn mix(&mut self, place: Place) {
        self.widths.insert(place.unit(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Ordering = Ordering {
        acquires: None,
        releases: None,
    };

    fn both(reach: Reach) -> Ordering {
        Ordering {
            acquires: Some(reach),
            releases: Some(reach),
        }
    }

    fn device(is_ordered: bool) -> Option<Reach> {
        is_ordered.then_some(Reach::Device)
    }

    const BOTH: Ordering = Ordering {
        acquires: Some(Reach::Device),
        releases: Some(Reach::Device),
    };
    const A: Reader = (0, 0);
    const B: Reader = (1, 0);
    const C: Reader = (2, 0);

    fn word(address: u64) -> Place {
        Place {
            block: None,
            address,
            bytes: 4,
        }
    }

    /// The addresses of two words.
    const X: u64 = 0;
    const Y: u64 = 64;

    /// Whether some seed shows an outcome.
    fn sees(shows: impl Fn(&Views) -> bool) -> bool {
        let each = [Lateness::Any, Lateness::Most]
            .map(|lateness| (0..200).any(|seed| shows(&Views::new(seed, lateness))));
        assert_eq!(each[0], each[1]);
        each[0]
    }

    #[test]
    fn a_load_overtakes_a_store_unless_both_sides_have_a_total_fence() {
        // Stores of both come before both loads.
        let both_miss = |fence: &dyn Fn(&Views, Reader)| {
            sees(|views| {
                views.store(A, word(X), (0, 1), device(true));
                fence(views, A);
                views.store(B, word(Y), (0, 1), device(true));
                fence(views, B);
                let a = views.load(A, word(Y), 1, device(true));
                let b = views.load(B, word(X), 1, device(true));
                a == 0 && b == 0
            })
        };
        assert!(both_miss(&|_, _| {}));
        assert!(both_miss(&|views, by| views.fence(by, BOTH, false)));
        assert!(!both_miss(&|views, by| views.fence(by, BOTH, true)));
        assert!(both_miss(&|views, by| views.fence(by, BOTH, by == A)));
    }

    #[test]
    fn a_message_is_passed_by_two_fences() {
        let misses = |releases: bool, acquires: bool, by_fence: bool| {
            sees(|views| {
                views.store(A, word(X), (0, 1), None);
                if by_fence && releases {
                    views.fence(A, BOTH, false);
                }
                views.store(A, word(Y), (0, 1), device(releases && !by_fence));
                let flag = views.load(B, word(Y), 1, device(acquires && !by_fence));
                if by_fence && acquires {
                    views.fence(B, BOTH, false);
                }
                flag == 1 && views.load(B, word(X), 1, None) == 0
            })
        };
        for by_fence in [false, true] {
            assert!(!misses(true, true, by_fence));
            assert!(misses(true, false, by_fence) && misses(false, true, by_fence));
        }
    }

    #[test]
    fn nobody_goes_back() {
        for seed in 0..200 {
            let views = Views::new(seed, Lateness::Any);
            let mut newest = 0;
            for value in 1..20 {
                views.store(A, word(X), (value - 1, value), None);
                assert_eq!(views.load(A, word(X), value, None), value);
                let read = views.load(B, word(X), value, None);
                assert!(newest <= read && read <= value);
                newest = read;
            }
        }
    }

    #[test]
    fn updates_continue_a_release_sequence_and_stores_end_it() {
        let misses = |by_update: bool| {
            sees(|views| {
                views.store(A, word(X), (0, 1), None);
                views.store(A, word(Y), (0, 1), device(true));
                if by_update {
                    views.update(B, word(Y), (1, 2), true, NONE);
                } else {
                    views.store(B, word(Y), (1, 2), None);
                }
                let flag = views.load(C, word(Y), 2, device(true));
                flag == 2 && views.load(C, word(X), 1, None) == 0
            })
        };
        assert!(!misses(true));
        assert!(misses(false));
    }

    #[test]
    fn what_a_fence_knows_is_passed_on() {
        let misses = |through_b: bool| {
            sees(|views| {
                views.store(A, word(X), (0, 1), None);
                if views.load(B, word(X), 1, None) != 1 {
                    return false;
                }
                if through_b {
                    views.fence(B, BOTH, false);
                }
                views.store(B, word(Y), (0, 1), None);
                let flag = views.load(C, word(Y), 1, device(true));
                flag == 1 && views.load(C, word(X), 1, None) == 0
            })
        };
        assert!(!misses(true));
        assert!(misses(false));
    }

    #[test]
    fn a_barrier_shows_each_warp_what_the_others_know() {
        let misses = |warps: std::ops::Range<usize>| {
            sees(|views| {
                views.store((0, 0), word(X), (0, 1), None);
                views.meet(0, warps.clone());
                views.load((0, 1), word(X), 1, None) == 0
            })
        };
        assert!(!misses(0..2));
        assert!(misses(1..2));
        let views = Views::new(0, Lateness::Any);
        views.store(A, word(X), (0, 1), None);
        views.see_all(B);
        assert!((0..50).all(|_| views.load(B, word(X), 1, None) == 1));
    }

    #[test]
    fn who_reads_what_came_by_a_weak_store_knows_everything() {
        assert!(!sees(|views| {
            views.store(A, word(X), (0, 1), None);
            views.store(A, word(Y), (0, 1), None);
            // Now Y is 7 by a weak store.
            views.load(B, word(Y), 7, device(true)) == 7 && views.load(B, word(X), 1, None) == 0
        }));
    }

    #[test]
    fn words_of_two_widths_have_no_messages() {
        let wide = Place {
            bytes: 8,
            ..word(X)
        };
        assert!(!sees(|views| {
            views.store(A, word(X), (0, 1), None);
            views.store(A, wide, (1, 5), None);
            views.load(B, word(X), 5, None) != 5 || views.load(B, wide, 5, None) != 5
        }));
    }

    #[test]
    fn with_too_many_words_all_begin_again() {
        let views = Views::new(1, Lateness::Any);
        for address in 0..3 * WORDS as u64 {
            views.store(A, word(8 * address), (0, 1), None);
            assert!(views.lock().0.histories.len() <= WORDS);
        }
        assert!((0..50).all(|_| views.load(B, word(X), 1, None) == 1));
    }

    #[test]
    fn a_fence_of_the_block_orders_nothing_among_blocks() {
        let misses = |reader: Reader, [release, acquire]: [Reach; 2]| {
            sees(|views| {
                views.store(A, word(X), (0, 1), None);
                views.fence(A, both(release), true);
                views.store(A, word(Y), (0, 1), None);
                let flag = views.load(reader, word(Y), 1, None);
                views.fence(reader, both(acquire), true);
                flag == 1 && views.load(reader, word(X), 1, None) == 0
            })
        };
        let all = [Reach::Block, Reach::Device];
        for release in all {
            for acquire in all {
                assert!(!misses((A.0, 1), [release, acquire]));
                let is_right = [release, acquire] == [Reach::Device; 2];
                assert_eq!(misses(B, [release, acquire]), !is_right);
            }
        }
    }
}
