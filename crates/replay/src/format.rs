//! Version 1 of what a page of a replay has in it, as JSON.

use ptx_emu::{
    CodePosition, RecordedAccess, RecordedKind, RecordedSpace, RecordedWrite, Recording,
    SourcePosition,
};
use serde::Serialize;

use crate::facts::Facts;
use crate::mistake::Mistake;

/// The number that [`Document::version`] has. It grows when a field changes what it means.
const VERSION: u32 = 1;
/// Lines of PTX around those that were executed.
const MARGIN: usize = 3;

/// All that a page shows.
#[derive(Serialize)]
pub(crate) struct Document {
    /// The version of the recording.
    version: u32,
    /// The kernel's name, short.
    kernel: String,
    /// Blocks of the grid, in x, y, z.
    grid: [u32; 3],
    /// Threads of a block, in x, y, z.
    block: [u32; 3],
    /// The numbers of the recorded blocks, x fastest.
    blocks: Vec<u64>,
    /// Whether more was executed than is here.
    is_cut: bool,
    /// The files of source.
    sources: Vec<Source>,
    /// The PTX that was executed.
    ptx: Ptx,
    /// The positions that steps name.
    places: Vec<Place>,
    /// The registers that steps name.
    registers: Vec<Register>,
    /// The buffers that steps name.
    buffers: Vec<Buffer>,
    /// Bytes of a block's shared memory.
    shared_bytes: u64,
    /// The instructions, in the order in which they ran.
    steps: Vec<Step>,
    /// The fault that ended the launch, or the value that it stored and that is wrong.
    fault: Option<Fault>,
}

/// A file of source.
#[derive(Serialize)]
struct Source {
    /// The path, as the compiler wrote it.
    path: String,
    /// Its text, if it was at hand.
    text: Option<String>,
}

/// Lines of PTX.
#[derive(Serialize)]
struct Ptx {
    /// The number of the first, from 1.
    first: usize,
    /// From the first to the last one that was executed, and some around.
    lines: Vec<String>,
}

/// The position of an instruction.
#[derive(Serialize)]
struct Place {
    /// The line of PTX.
    ptx: u32,
    /// The line of source, and behind it the one from which that code is called.
    at: Vec<Line>,
}

/// A line of source.
#[derive(Serialize)]
struct Line {
    /// Which of `sources`, from 0.
    source: usize,
    /// The line, from 1.
    line: u32,
    /// The column, from 1; 0 where the compiler knows none.
    column: u32,
}

/// A register.
#[derive(Serialize)]
struct Register {
    /// As PTX declares it.
    name: String,
    /// Its bits: 1 for a predicate.
    bits: u32,
    /// The variable of the source that it holds, where debug information says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
}

/// A buffer of global memory.
#[derive(Serialize)]
struct Buffer {
    /// As messages name it.
    name: String,
    /// Its size.
    bytes: u64,
    /// Its axes with their extents, the fastest-varying first, if it is a matrix or a cube.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    axes: Vec<(String, u64)>,
}

/// One instruction of a warp. Its names are short: there are thousands.
#[derive(Serialize)]
struct Step {
    /// Which of `blocks`, from 0.
    b: usize,
    /// The warp of the block.
    w: usize,
    /// Which of `places`, from 0.
    p: usize,
    /// The lanes at this position.
    l: u32,
    /// The active ones: those of them whose guard is true.
    a: u32,
    /// The lanes of the warp that have exited, after the step.
    x: u32,
    /// The lanes of the warp that wait for others, after the step.
    z: u32,
    /// The registers that it wrote.
    v: Vec<Written>,
    /// Its accesses to memory.
    m: Vec<Access>,
    /// Whether it is a barrier of the block.
    #[serde(skip_serializing_if = "is_false")]
    y: bool,
}

/// A register that a step wrote, as a list of two.
#[derive(Serialize)]
struct Written(
    /// Which of `registers`, from 0.
    usize,
    /// Its values.
    Values,
);

fn is_false(flag: &bool) -> bool {
    !flag
}

/// An access of a step.
#[derive(Serialize)]
struct Access {
    /// The kind: `load`, `store`, `atomic`, `copy` where an asynchronous copy begins that stores
    /// there later, `arrival` where it does.
    k: &'static str,
    /// The space: `global`, `shared`, or `own` for local memory and parameters.
    s: &'static str,
    /// Which of `buffers`, from 0, in global memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    f: Option<usize>,
    /// Bytes of a lane.
    n: u32,
    /// The lanes that make it.
    l: u32,
    /// Each lane's offset in its memory.
    o: Values,
    /// Sectors of global memory, or passes over the banks of shared memory.
    c: u64,
}

/// The values of the lanes, in hexadecimal digits: numbers of 64 bits are none of JavaScript's.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Values {
    /// All lanes have it.
    Same(String),
    /// Lane 0's, and the difference from lane to lane.
    Even([String; 2]),
    /// One by one.
    Each(Vec<String>),
}

/// The fault that ended the launch, or the value that it stored and that is wrong.
#[derive(Serialize)]
struct Fault {
    /// The message.
    text: String,
    /// The step that it ended, or that stored the value, from 0.
    step: Option<usize>,
    /// The step of the earlier access of a race.
    other: Option<usize>,
    /// The lane of the step, and that of the other step.
    lanes: Vec<u32>,
}

impl Values {
    /// The values of some lanes. The others may have any.
    fn of(values: &[u64; 32], lanes: u32) -> Self {
        let hex = |value: u64| format!("{value:x}");
        let first = lanes.trailing_zeros() as usize % 32;
        let rest = lanes & lanes.wrapping_sub(1);
        let step = match rest {
            0 => 0,
            _ => {
                let second = rest.trailing_zeros() as usize;
                let apart = (second - first) as u64;
                let difference = values[second].wrapping_sub(values[first]);
                // Not a whole number of steps is none that all lanes could follow.
                if (difference as i64) % (apart as i64) != 0 {
                    return Self::Each(values.map(hex).to_vec());
                }
                ((difference as i64) / (apart as i64)) as u64
            }
        };
        let start = values[first].wrapping_sub(step.wrapping_mul(first as u64));
        let follows =
            |lane: usize| values[lane] == start.wrapping_add(step.wrapping_mul(lane as u64));
        if !(0..32).all(|lane| lanes >> lane & 1 == 0 || follows(lane)) {
            Self::Each(values.map(hex).to_vec())
        } else if step == 0 {
            Self::Same(hex(start))
        } else {
            Self::Even([hex(start), hex(step)])
        }
    }
}

impl Document {
    /// The document of a recording of a kernel of this program.
    pub(crate) fn of(
        recording: &Recording,
        program: &ptx::Program,
        mistake: Option<&Mistake>,
        facts: &Facts<'_>,
    ) -> Document {
        let variables = debug_names::variables(program, &recording.kernel);
        let mut sources = Sources::default();
        let places: Vec<Place> = recording
            .places
            .iter()
            .map(|place| sources.place(place))
            .collect();
        let name = ptx_emu::short_name(&recording.kernel);
        Document {
            version: VERSION,
            kernel: name.into_owned(),
            grid: recording.grid,
            block: recording.block,
            blocks: recording.blocks.clone(),
            is_cut: recording.is_cut,
            sources: sources.with_text(facts),
            ptx: lines(program, &places),
            places,
            registers: recording
                .registers
                .iter()
                .map(|register| Register {
                    name: register.name.clone(),
                    bits: register.bits,
                    variable: variables.get(&register.name).cloned(),
                })
                .collect(),
            buffers: recording
                .buffers
                .iter()
                .map(|buffer| Buffer {
                    name: buffer.name.clone(),
                    bytes: buffer.bytes,
                    axes: (facts.axes)(&buffer.name),
                })
                .collect(),
            shared_bytes: recording.shared_bytes,
            steps: recording.steps.iter().map(step).collect(),
            fault: mistake.map(|mistake| Fault {
                text: mistake.text.clone(),
                step: mistake.step,
                other: mistake.other,
                lanes: mistake.lanes.clone(),
            }),
        }
    }
}

fn step(step: &ptx_emu::Step) -> Step {
    let written =
        |write: &RecordedWrite| Written(write.register, Values::of(&write.values, step.active));
    Step {
        b: step.block,
        w: step.warp,
        p: step.place,
        l: step.lanes,
        a: step.active,
        x: step.exited,
        z: step.waiting,
        v: step.writes.iter().map(written).collect(),
        m: step.accesses.iter().map(access).collect(),
        y: step.is_barrier,
    }
}

fn access(access: &RecordedAccess) -> Access {
    let (space, buffer) = match access.space {
        RecordedSpace::Global(buffer) => ("global", Some(buffer)),
        RecordedSpace::Shared => ("shared", None),
        RecordedSpace::Own => ("own", None),
    };
    Access {
        k: match access.kind {
            RecordedKind::Load => "load",
            RecordedKind::Store => "store",
            RecordedKind::Atomic => "atomic",
            RecordedKind::Copy => "copy",
            RecordedKind::Arrival => "arrival",
        },
        s: space,
        f: buffer,
        n: access.width,
        l: access.lanes,
        o: Values::of(&access.offsets, access.lanes),
        c: access.cost,
    }
}

/// The lines of PTX that were executed, those between them, and some around.
fn lines(program: &ptx::Program, places: &[Place]) -> Ptx {
    let executed = places.iter().map(|place| place.ptx as usize);
    let first = executed
        .clone()
        .min()
        .unwrap_or(1)
        .saturating_sub(MARGIN)
        .max(1);
    let last = executed.max().unwrap_or(0) + MARGIN;
    Ptx {
        first,
        lines: program
            .lines()
            .skip(first - 1)
            .take(last + 1 - first)
            .map(str::to_owned)
            .collect(),
    }
}

/// The files that places name, each once.
#[derive(Default)]
struct Sources(Vec<String>);

impl Sources {
    fn place(&mut self, place: &CodePosition) -> Place {
        let own = place.line().or(place.near.as_ref());
        let at = own.into_iter().chain(&place.called_at);
        Place {
            ptx: place.ptx_line,
            at: at.map(|line| self.line(line)).collect(),
        }
    }

    fn line(&mut self, line: &SourcePosition) -> Line {
        let known = self.0.iter().position(|path| **path == *line.file);
        Line {
            source: known.unwrap_or_else(|| {
                self.0.push(line.file.to_string());
                self.0.len() - 1
            }),
            line: line.line,
            column: line.column,
        }
    }

    /// With the texts that are at hand.
    fn with_text(self, facts: &Facts<'_>) -> Vec<Source> {
        let paths = self.0.into_iter();
        paths
            .map(|path| Source {
                text: (facts.text)(&path),
                path,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(values: &[u64; 32], lanes: u32) -> String {
        serde_json::to_string(&Values::of(values, lanes)).unwrap()
    }

    #[test]
    fn values_are_short_where_lanes_follow_a_rule() {
        let lane = |lane: usize| lane as u64;
        assert_eq!(json(&[31; 32], u32::MAX), r#""1f""#);
        let even = std::array::from_fn(|at| 16 + 4 * lane(at));
        assert_eq!(json(&even, u32::MAX), r#"["10","4"]"#);
        let down = std::array::from_fn(|at| 100 - 2 * lane(at));
        assert_eq!(json(&down, u32::MAX), r#"["64","fffffffffffffffe"]"#);
        // Others than the lanes that count may have anything.
        let mut odd = even;
        odd[3] = 999;
        assert_eq!(json(&odd, !8), r#"["10","4"]"#);
        assert_eq!(json(&odd, 8), r#""3e7""#);
        let each: Vec<String> = serde_json::from_str(&json(&odd, u32::MAX)).unwrap();
        assert_eq!((each.len(), &*each[3], &*each[4]), (32, "3e7", "20"));
        // Two lanes whose difference no whole step makes.
        let mut two = [0; 32];
        two[3] = 7;
        assert!(matches!(Values::of(&two, 0b1001), Values::Each(_)));
        assert_eq!(json(&two, 0), r#""0""#);
    }
}
