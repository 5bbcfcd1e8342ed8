//! Which commands of a plan wait for which: those that access the same elements, one of them to
//! write them. The plan's order decides who comes first, so that a run in which others overlap has
//! the results of one in order.

use std::ops::Range;

use crate::{BufferId, Plan};

/// A range of elements, and who accessed it last.
#[derive(Debug, Clone)]
struct Span {
    elements: Range<u64>,
    /// The commands of one stage that wrote it: several, if these are independent of each other.
    writers: Vec<u32>,
    /// Where that stage ends.
    until: u32,
    /// The readers since then, and those in that stage.
    readers: Vec<u32>,
}

impl Span {
    /// Whom a command waits for that reads or writes these elements. Later readers have waited for
    /// the writers.
    fn before(&self, writes: bool) -> impl Iterator<Item = u32> {
        let have_waited = writes && self.readers.iter().any(|&reader| reader >= self.until);
        let writers = self.writers.iter().filter(move |_| !have_waited);
        let readers = self.readers.iter().filter(move |_| writes);
        writers.chain(readers).copied()
    }

    /// Notes a command of a stage.
    fn add(&mut self, command: u32, writes: bool, stage: &Range<usize>) {
        if writes {
            let is_of_stage = |other: &u32| *other >= stage.start as u32 && *other != command;
            self.writers.retain(is_of_stage);
            self.readers.retain(is_of_stage);
            self.until = stage.end as u32;
        }
        let of = if writes {
            &mut self.writers
        } else {
            &mut self.readers
        };
        if of.last() != Some(&command) {
            of.push(command);
        }
    }
}

/// The accesses to a buffer until now: spans in order, apart. Elements in none of them were not
/// accessed.
#[derive(Debug, Clone, Default)]
struct Known(Vec<Span>);

impl Known {
    /// The spans that make up these elements, cut and added as needed.
    fn spans(&mut self, elements: &Range<u64>) -> &mut [Span] {
        self.cut(elements.start);
        self.cut(elements.end);
        let (mut at, mut next) = (
            self.0
                .partition_point(|span| span.elements.end <= elements.start),
            elements.start,
        );
        let first = at;
        while next < elements.end {
            let start = self.0.get(at).map_or(u64::MAX, |span| span.elements.start);
            if start > next {
                let gap = Span {
                    elements: next..start.min(elements.end),
                    writers: Vec::new(),
                    until: 0,
                    readers: Vec::new(),
                };
                self.0.insert(at, gap);
            }
            next = self.0[at].elements.end;
            at += 1;
        }
        &mut self.0[first..at]
    }

    /// Makes a span end at this element, if one lies on both sides of it.
    fn cut(&mut self, element: u64) {
        let at = self.0.partition_point(|span| span.elements.end <= element);
        if let Some(span) = self
            .0
            .get_mut(at)
            .filter(|span| span.elements.start < element)
        {
            let mut after = span.clone();
            span.elements.end = element;
            after.elements.start = element;
            self.0.insert(at + 1, after);
        }
    }

    /// Unites neighbours that nothing tells apart.
    fn unite(&mut self) {
        self.0.dedup_by(|next, span| {
            let is_same = span.elements.end == next.elements.start
                && (&span.writers, span.until) == (&next.writers, next.until)
                && span.readers == next.readers;
            if is_same {
                span.elements.end = next.elements.end;
            }
            is_same
        });
    }
}

impl Plan {
    /// For each command, the earlier ones that must have finished before it begins, in order: those
    /// that write what it may access, and those that read what it may write, as far as launches'
    /// arguments and copies say ([`crate::Command::bounds`]). What these in turn wait for may be
    /// left out. Commands that are recorded as independent do not wait for each other.
    pub fn dependencies(&self) -> Vec<Vec<u32>> {
        let mut known = vec![Known::default(); self.buffers.len()];
        let mut dependencies = vec![Vec::new(); self.commands.len()];
        let mut commands = self.commands();
        for stage in self.stages() {
            let bounds: Vec<(usize, BufferId, Range<u64>, bool)> = stage
                .clone()
                .zip(commands.by_ref().take(stage.len()))
                .flat_map(|(position, command)| {
                    let bounds = command
                        .bounds(&self.buffers)
                        .filter(|(_, elements, _)| !elements.is_empty());
                    bounds
                        .map(|(id, elements, writes)| (position, id, elements, writes))
                        .collect::<Vec<_>>()
                })
                .collect();
            for (position, id, elements, writes) in &bounds {
                for span in known[id.index()].spans(elements) {
                    dependencies[*position].extend(span.before(*writes));
                }
            }
            // Readers first: of what a command both reads and writes it is the writer.
            for pass in [false, true] {
                for (position, id, elements, writes) in &bounds {
                    if *writes != pass {
                        continue;
                    }
                    for span in known[id.index()].spans(elements) {
                        span.add(*position as u32, *writes, &stage);
                    }
                    known[id.index()].unite();
                }
            }
        }
        for waits in &mut dependencies {
            waits.sort_unstable();
            waits.dedup();
        }
        dependencies
    }
}
