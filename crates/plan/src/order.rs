//! Which commands of a plan wait for which: those that access the same elements, one of them to
//! write them. The plan's order decides who comes first, so that a run in which others overlap has
//! the results of one in order.

use std::ops::Range;

use crate::{BufferId, Plan};

/// A range of elements, and who accessed it last.
#[derive(Debug, Clone)]
struct Span {
    elements: Range<u64>,
    writer: Option<u32>,
    /// Since it was written.
    readers: Vec<u32>,
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
                    writer: None,
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
                && span.writer == next.writer
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
            let bounds: Vec<(usize, BufferId, Range<u64>, bool)> =
                { stage.clone().zip(commands.by_ref().take(stage.len())) }
                    .flat_map(|(position, command)| {
                        let bounds = command.bounds(&self.buffers);
                        let bounds = bounds.filter(|(_, elements, _)| !elements.is_empty());
                        bounds
                            .map(|(id, elements, writes)| (position, id, elements, writes))
                            .collect::<Vec<_>>()
                    })
                    .collect();
            for (position, id, elements, writes) in &bounds {
                for span in known[id.index()].spans(elements) {
                    let waits: &mut Vec<u32> = &mut dependencies[*position];
                    match *writes && !span.readers.is_empty() {
                        true => waits.extend(&span.readers),
                        false => waits.extend(span.writer),
                    }
                }
            }
            // Readers first: of what a command both reads and writes it is the writer.
            for pass in [false, true] {
                for (position, id, elements, writes) in &bounds {
                    if *writes != pass {
                        continue;
                    }
                    let position = *position as u32;
                    for span in known[id.index()].spans(elements) {
                        if *writes {
                            (span.writer, span.readers) = (Some(position), Vec::new());
                        } else if span.readers.last() != Some(&position) {
                            span.readers.push(position);
                        }
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
