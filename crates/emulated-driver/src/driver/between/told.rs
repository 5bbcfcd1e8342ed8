//! The message of a race between commands.

use std::ops::Range;

use command_order::{Chain, Conflict, Found, Manners, Stamp};
use ptx_emu::short_name;

use super::super::Driver;
use super::accesses::condition_at;
use super::{Between, Label, What};
use crate::objects::order::Lane;
use crate::objects::stream::{LEGACY, PER_THREAD};
use crate::report::{self, CommandFault, Side};

/// The kinds of these faults, as records have them.
const RACE: &str = "race between commands";
const EARLY: &str = "memory used before its allocation";
const FREED: &str = "memory freed in use";

/// The conflicts of a command with an earlier one, in one buffer.
struct Met {
    earlier: Stamp,
    /// The address of the buffer.
    buffer: u64,
    /// How the earlier and the later one access it.
    manners: (Manners, Manners),
    extent: Range<u64>,
    bytes: u64,
}

impl Met {
    fn turned(self) -> Met {
        let manners = (self.manners.1, self.manners.0);
        Met { manners, ..self }
    }
}

impl Driver {
    /// Tells the races of a command, each pair of commands and buffer once.
    pub(super) fn judge(&mut self, stamp: Stamp, chain: Chain, found: Found) {
        if found.conflicts.is_empty() {
            return;
        }
        let Some(later) = self.between.commands.label(stamp).cloned() else {
            return;
        };
        for met in self.by_buffer(found.conflicts) {
            let Some(earlier) = self.between.commands.label(met.earlier).cloned() else {
                continue;
            };
            if found.seen.contains(&met.earlier) && has_fences(&earlier) && has_fences(&later) {
                self.between.commands.wait_for(chain, met.earlier.chain);
                continue;
            }
            // A message has the commands as the program sent them. One that frees is the last use.
            let is_late = later.place() < earlier.place() && !matches!(later.what, What::Free);
            let (first, then, met) = if is_late {
                (&later, &earlier, met.turned())
            } else {
                (&earlier, &later, met)
            };
            let key = (name(first), name(then), met.buffer);
            if self.between.told.insert(key) {
                let fault = self.fault(first, then, &met);
                report::command_fault(&fault);
            }
        }
    }

    /// Conflicts by earlier command and buffer, in the order in which they were found. Those
    /// outside of the program's allocations are left out.
    fn by_buffer(&self, conflicts: Vec<Conflict>) -> Vec<Met> {
        let mut all: Vec<Met> = Vec::new();
        for conflict in conflicts {
            let start = conflict.extent.start;
            let buffer = match condition_at(start) {
                Some(_) => start,
                None => match self.allocation(start) {
                    Some((buffer, _)) => buffer,
                    None => continue,
                },
            };
            let is_known = |met: &&mut Met| met.earlier == conflict.earlier && met.buffer == buffer;
            match all.iter_mut().find(is_known) {
                Some(met) => {
                    met.bytes += conflict.bytes;
                    met.extent.start = met.extent.start.min(conflict.extent.start);
                    met.extent.end = met.extent.end.max(conflict.extent.end);
                    met.manners.0 |= conflict.manners;
                    met.manners.1 |= conflict.by;
                }
                None => all.push(Met {
                    earlier: conflict.earlier,
                    buffer,
                    manners: (conflict.manners, conflict.by),
                    extent: conflict.extent,
                    bytes: conflict.bytes,
                }),
            }
        }
        all
    }

    fn fault(&self, earlier: &Label, later: &Label, met: &Met) -> CommandFault {
        let what = condition_at(met.buffer).map_or("bytes", |_| "the value");
        let (kind, title) = title(earlier, later, met.manners, what);
        let between = &self.between;
        let mut lines = vec![title, self.bytes_line(met, kind)];
        lines.extend(between.lines_of("first", earlier));
        lines.extend(between.lines_of("then", later));
        let (edge, rule) = self.remedy(earlier, later);
        lines.push(format!("to order them: {edge}"));
        lines.push(format!("rule: {rule}"));
        let sides = [side("then", later), side("first", earlier)];
        let places = sides.into_iter().flatten().collect();
        fault_of(later, kind, &lines, places)
    }

    fn bytes_line(&self, met: &Met, kind: &str) -> String {
        if let Some(handle) = condition_at(met.buffer) {
            return format!("the value of conditional handle {handle:#x}");
        }
        let whole = self
            .allocation(met.buffer)
            .map_or(0, |(_, known)| known.bytes);
        let buffer = self.machine.buffer_at(met.buffer).unwrap_or("a buffer");
        if kind == EARLY {
            return format!("{buffer}, {whole} bytes at {:#x}", met.buffer);
        }
        let first = met.extent.start - met.buffer;
        let last = met.extent.end.min(met.buffer + whole) - met.buffer;
        let some = if met.bytes < last - first {
            format!(", {} of them", met.bytes)
        } else {
            String::new()
        };
        format!(
            "bytes {first}..{last}{some}, of {buffer}, {whole} bytes at {:#x}",
            met.buffer
        )
    }

    /// The missing edge, and the rule that does not give it.
    fn remedy(&self, earlier: &Label, later: &Label) -> (String, &'static str) {
        let between = &self.between;
        let (from, to) = (short(earlier), short(later));
        let lanes = (earlier.sent.lane, later.sent.lane);
        let (one, other) = (between.stream_name(lanes.0), between.stream_name(lanes.1));
        let are_nodes = earlier.node.is_some() && later.node.is_some();
        // In one stream, launches of graphs have an order: only nodes of one launch have none.
        if are_nodes && lanes.0 == lanes.1 {
            return (
                format!(
                    "let the graph's node of {to} depend on that of {from} (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)"
                ),
                "nodes of a graph have the order of its edges alone (CUDA Programming Guide, \"CUDA Graphs\")",
            );
        }
        let record = format!(
            "record an event in {one} behind {from}, and let {other} wait for it before {to} (cudaEventRecord, cudaStreamWaitEvent)"
        );
        match (&earlier.what, &later.what) {
            (What::Make, _) => (
                record,
                "memory of cudaMallocAsync may be accessed behind its allocation in the order of streams (CUDA Driver API, \"Stream Ordered Memory Allocator\")",
            ),
            (_, What::Free) => (
                record,
                "all accesses must be done before the free in the order of streams (CUDA Driver API, \"Stream Ordered Memory Allocator\")",
            ),
            (What::Copy | What::Fill, _) if is_call_without_stream(earlier) => (
                format!(
                    "call cudaStreamSynchronize(0) behind {from}, or do it in {other} ({}Async)",
                    call(earlier)
                ),
                "this call may return before its work is done, and a stream that was created as non-blocking does not wait for the default stream (CUDA Driver API, \"API synchronization behavior\" and \"Stream synchronization behavior\")",
            ),
            (_, What::Copy | What::Fill) if is_call_without_stream(later) => (
                format!("call cudaStreamSynchronize for {one} before {to}"),
                "a call without a stream waits for the default stream alone, which does not wait for one that was created as non-blocking (CUDA Driver API, \"Stream synchronization behavior\")",
            ),
            _ if between.is_default_apart(lanes.0, lanes.1) => (
                record,
                "a stream that was created as non-blocking and the default stream do not wait for each other (CUDA Driver API, \"Stream synchronization behavior\")",
            ),
            _ => (
                record,
                "commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 \"Asynchronous Execution\")",
            ),
        }
    }
}

/// A fault of a command.
pub(super) fn fault_of(
    label: &Label,
    kind: &'static str,
    lines: &[String],
    places: Vec<Side>,
) -> CommandFault {
    let (command, config) = match &label.what {
        What::Launch(launch) => (launch.kernel.as_str(), Some(&launch.config)),
        _ => (call(label), None),
    };
    CommandFault {
        command: command.to_owned(),
        grid: config.map_or([1; 3], |config| config.grid),
        block: config.map_or([1; 3], |config| config.block),
        kind,
        text: lines.join("\n  "),
        places,
    }
}

/// The line that sent a command, or that added it to its graph.
pub(super) fn side(role: &'static str, label: &Label) -> Option<Side> {
    let site = label.node.as_ref().and_then(|(_, site)| site.as_ref());
    let line = site.unwrap_or(&label.sent.site).line()?;
    Some(Side { role, line })
}

impl Between {
    /// The lines of a message that say which command has this part in it.
    pub(super) fn lines_of(&self, role: &str, label: &Label) -> Vec<String> {
        let place = label.sent.site.place();
        let call = place.map_or(String::new(), |place| format!(", called at {place}"));
        let mut lines = vec![format!(
            "{role}: {} in {}{call}",
            name(label),
            self.stream(label)
        )];
        if let Some((_, Some(site))) = &label.node
            && let Some(added) = site.place()
        {
            let indent = " ".repeat(role.len() + 2);
            lines.push(format!("{indent}a node of the graph, added at {added}"));
        }
        lines
    }

    /// A stream as messages call it.
    pub(super) fn stream_name(&self, lane: Lane) -> String {
        match lane.key.stream {
            LEGACY => "the default stream".to_owned(),
            PER_THREAD => format!("the default stream of thread {}", lane.thread),
            handle => match self.lanes.get(&lane) {
                Some(known) => format!("stream {}", known.number),
                None => format!("stream {handle:#x}"),
            },
        }
    }

    /// The stream of a command, with what is to know about it.
    fn stream(&self, label: &Label) -> String {
        let lane = label.sent.lane;
        let name = self.stream_name(lane);
        let is_apart = self
            .lanes
            .get(&lane)
            .is_some_and(|known| !known.is_blocking);
        match (is_apart, &label.node) {
            (true, None) => format!("{name} (non-blocking)"),
            (false, None) => name,
            (_, Some(_)) => format!("a graph in {name}"),
        }
    }

    /// Whether one is the legacy stream, and the other does not wait for it.
    fn is_default_apart(&self, one: Lane, other: Lane) -> bool {
        let is_apart = |lane| {
            self.lanes
                .get(&lane)
                .is_some_and(|known| !known.is_blocking)
        };
        let is_legacy = |lane: Lane| lane.key.stream == LEGACY;
        is_legacy(one) && is_apart(other) || is_legacy(other) && is_apart(one)
    }
}

/// The function of the driver that sent a command, without its version.
pub(super) fn call(label: &Label) -> &'static str {
    let call = label.sent.call;
    call.strip_suffix("_v2").unwrap_or(call)
}

fn is_call_without_stream(label: &Label) -> bool {
    label.node.is_none() && !call(label).contains("Async")
}

pub(super) fn name(label: &Label) -> String {
    match &label.what {
        What::Launch(launch) => format!("kernel `{}`", short_name(&launch.kernel)),
        What::Copy => format!("the copy of {}", call(label)),
        What::Fill => format!("the fill of {}", call(label)),
        What::Make => format!("the allocation of {}", call(label)),
        What::Free => format!("the free of {}", call(label)),
        What::Value => format!("the value of {}", call(label)),
        What::Function => format!("the function of {}", call(label)),
        What::Branch => "a conditional node".to_owned(),
    }
}

/// As [`name`], for a sentence that has said the kind.
pub(super) fn short(label: &Label) -> String {
    match &label.what {
        What::Launch(launch) => format!("`{}`", short_name(&launch.kernel)),
        What::Branch => "the condition".to_owned(),
        _ => name(label),
    }
}

/// Whether a command may order others by its own stores.
pub(super) fn has_fences(label: &Label) -> bool {
    match &label.what {
        What::Launch(launch) => launch.module.executable().has_fences(&launch.kernel),
        _ => false,
    }
}

pub(super) fn verb(manners: Manners) -> &'static str {
    match (manners.read(), manners.write()) {
        (_, true) => "writes",
        (_, false) => "reads",
    }
}

/// The kind of a fault, and its first line.
fn title(
    earlier: &Label,
    later: &Label,
    manners: (Manners, Manners),
    what: &str,
) -> (&'static str, String) {
    let (one, other) = (name(earlier), name(later));
    match (&earlier.what, &later.what) {
        (What::Make, _) => (
            EARLY,
            format!("{EARLY}: nothing orders {other} behind {one}"),
        ),
        (_, What::Free) => (
            FREED,
            format!("{FREED}: nothing orders {one} before {other}"),
        ),
        _ => (
            RACE,
            format!(
                "{RACE}: {other} {} {what} that {one} {}, and nothing orders the two",
                verb(manners.1),
                verb(manners.0)
            ),
        ),
    }
}
