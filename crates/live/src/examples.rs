//! The kernels that the page has, with their switches.

use replay::Facts;
use serde::Serialize;

use crate::launch::Launch;

/// A kernel that the page has.
#[derive(Debug, Serialize)]
pub struct Example {
    /// The kernel's name, which is that of its source file too.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// The page of the book that has it.
    pub page: &'static str,
    /// A thing to try.
    pub words: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Its switches.
    pub switches: &'static [Switch],
    /// The launch for a choice of each switch. The order is the reader's.
    #[serde(skip)]
    chosen: fn(&[usize]) -> Launch,
}

/// Something that can be changed.
#[derive(Debug, Serialize)]
pub struct Switch {
    /// Its name.
    pub label: &'static str,
    /// Its choices. The page begins with the first.
    pub options: &'static [&'static str],
}

impl Example {
    /// The launch for these choices.
    ///
    /// # Errors
    ///
    /// Another number of choices than of switches, or a choice that its switch does not have.
    pub fn launch(&self, choices: &[usize], order: u32) -> Result<Launch, String> {
        let fits = choices.len() == self.switches.len()
            && (choices.iter().zip(self.switches)).all(|(at, switch)| *at < switch.options.len());
        if !fits {
            return Err(format!("`{}` has no choice {choices:?}", self.name));
        }
        Ok(Launch {
            kernel: self.name.to_owned(),
            order,
            steps: replay::Wish::STEPS,
            ..(self.chosen)(choices)
        })
    }
}

/// The PTX of the examples.
pub const KERNELS: &str = include_str!(env!("LIVE_KERNELS_PTX"));

/// The text of a source file of the kernels, by its path in the PTX.
fn source(path: &str) -> Option<String> {
    let name = path.strip_prefix("crates/live/kernels/src/")?;
    let name = name.strip_suffix(".rs")?;
    let example = EXAMPLES.iter().find(|example| example.name == name)?;
    Some(example.source.to_owned())
}

/// The things that a replay shows of the examples: their sources, and the matrix of `grid`.
pub(crate) const FACTS: Facts<'static> = Facts {
    text: &source,
    axes: &|buffer| {
        let extents = [("x", 8), ("y", 6)].map(|(axis, extent)| (axis.to_owned(), extent));
        extents
            .into_iter()
            .filter(|_| buffer == "grid_param_0")
            .collect()
    },
};

macro_rules! source {
    ($name:literal) => {
        include_str!(concat!("../kernels/src/", $name, ".rs"))
    };
}

/// A launch in x alone, and its arguments.
fn row(blocks: u32, threads: u32, arguments: String) -> Launch {
    Launch {
        grid: blocks.to_string(),
        block: threads.to_string(),
        arguments,
        ..Launch::default()
    }
}

/// Threads of a block, for a switch with these options.
const THREADS: [u32; 3] = [64, 32, 128];
const THREAD_NAMES: &[&str] = &["64", "32", "128"];
/// Elements of lab 0's rows: no whole number of blocks.
const ELEMENTS: u32 = 200;

/// The kernels of the page, in its order.
pub const EXAMPLES: &[Example] = &[
    Example {
        name: "add",
        title: "Lab 0: one thread per element",
        page: "first-kernel.html",
        words: "200 elements, and whole blocks. Take the test away: the first thread past the end is told, with its block and line.",
        source: source!("add"),
        switches: &[
            Switch {
                label: "Bound",
                options: &["tested", "not tested"],
            },
            Switch {
                label: "Threads per block",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let (n, tests) = (ELEMENTS, 1 - choices[0]);
            let arguments = format!("f32[{n}]=iota f32[{n}]=0.5 f32[{n}]=nan {n}u32 {tests}u32");
            row(n.div_ceil(threads), threads, arguments)
        },
    },
    Example {
        name: "reverse",
        title: "Lab 0: a race, and its barrier",
        page: "first-kernel.html",
        words: "Each block reverses its part by way of shared memory. Without a barrier, a warp may load an element before another has stored it. In the branch, some threads of the last block never reach it.",
        source: source!("reverse"),
        switches: &[
            Switch {
                label: "Barrier",
                options: &["none", "for all threads", "in the branch"],
            },
            Switch {
                label: "Threads per block",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let (n, barrier) = (ELEMENTS, choices[0]);
            let arguments = format!("f32[{n}]=iota f32[{n}]=0.5 f32[{n}]=nan {n}u32 {barrier}u32");
            row(n.div_ceil(threads), threads, arguments)
        },
    },
    Example {
        name: "grid",
        title: "1. Grid: blocks over a matrix",
        page: "six-figures.html#1-grid-one-thread-per-element",
        words: "A matrix of 8 x 6, in which each element is the number of the block that wrote it. Blocks of 3 x 2 do not fit: without the test, threads past a row's end write the next row's elements.",
        source: source!("grid"),
        switches: &[
            Switch {
                label: "Block",
                options: &["4 x 2", "8 x 1", "3 x 2"],
            },
            Switch {
                label: "Bound",
                options: &["tested", "not tested"],
            },
        ],
        chosen: |choices| {
            let (x, y) = [(4, 2), (8, 1), (3, 2)][choices[0]];
            let (n_x, n_y) = (8u32, 6u32);
            let (across, down) = (n_x.div_ceil(x), n_y.div_ceil(y));
            // Where all is right, the replay shows every block.
            let is_right = choices != [2, 1];
            Launch {
                blocks: (0..u64::from(across * down)).filter(|_| is_right).collect(),
                grid: format!("{across},{down}"),
                block: format!("{x},{y}"),
                arguments: format!("u32[48]=99 {n_x}u32 {n_y}u32 {}u32", 1 - choices[1]),
                ..Launch::default()
            }
        },
    },
    Example {
        name: "diverge",
        title: "2. Warp: lanes that disagree",
        page: "six-figures.html#2-warp-32-threads-one-instruction",
        words: "The threads do nearly as much in each case. Compare the warps' instructions: where lanes of one warp disagree, it executes both sides, and lanes are masked off.",
        source: source!("diverge"),
        switches: &[
            Switch {
                label: "First side",
                options: &["lanes 0 to 15", "even threads", "block 0"],
            },
            Switch {
                label: "Threads per block",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let by = [1, 2, 0][choices[0]];
            Launch {
                blocks: vec![0, 1],
                ..row(2, threads, format!("f32[{}]=8 {by}u32", 2 * threads))
            }
        },
    },
    Example {
        name: "mirror",
        title: "3. Memory: an array for the block",
        page: "six-figures.html#3-memory-five-levels",
        words: "Shared memory and a barrier. Without it, threads of two warps race, and 32 threads do too: the lanes of one warp need not run in step. Other orders show another side of it.",
        source: source!("mirror"),
        switches: &[
            Switch {
                label: "Barrier",
                options: &["on", "off"],
            },
            Switch {
                label: "Threads",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let waits = 1 - choices[0];
            row(
                1,
                threads,
                format!("f32[{threads}]=iota f32[{threads}]=nan {waits}u32"),
            )
        },
    },
    Example {
        name: "strided",
        title: "4. Coalescing: sectors of 32 bytes",
        page: "six-figures.html#4-coalescing-sectors-of-32-bytes",
        words: "As many loads with each stride, and up to eight times the sectors. From stride 8 on, each lane has a sector of its own.",
        source: source!("strided"),
        switches: &[
            Switch {
                label: "Stride",
                options: &["1", "2", "8", "32"],
            },
            Switch {
                label: "Threads per block",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let stride = [1, 2, 8, 32][choices[0]];
            let (all, from) = (2 * threads, 2 * threads * stride);
            row(
                2,
                threads,
                format!("f32[{from}]=iota f32[{all}]=nan {stride}u32"),
            )
        },
    },
    Example {
        name: "stage",
        title: "5. Occupancy: room of a multiprocessor",
        page: "six-figures.html#5-occupancy-how-many-warps-a-multiprocessor-holds",
        words: "A multiprocessor has room for 64 warps, 32 blocks and 228 KiB of shared memory. The warps that it holds are below the result. 128 threads need 512 bytes.",
        source: source!("stage"),
        switches: &[
            Switch {
                label: "Shared memory",
                options: &["1 KiB", "16 KiB", "100 KiB", "256 bytes"],
            },
            Switch {
                label: "Threads per block",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let all = 2 * threads;
            Launch {
                shared: [1 << 10, 16 << 10, 100 << 10, 256][choices[0]],
                ..row(2, threads, format!("f32[{all}]=iota f32[{all}]=nan"))
            }
        },
    },
    Example {
        name: "chase",
        title: "6. Latency: loads in flight",
        page: "six-figures.html#6-latency-how-much-must-be-in-flight",
        words: "Eight loads per thread. In one chain each needs the one before; of four chains, four are in flight before the first value is used. Step along the accesses to see it.",
        source: source!("chase"),
        switches: &[
            Switch {
                label: "Chains",
                options: &["one", "four"],
            },
            Switch {
                label: "Threads",
                options: THREAD_NAMES,
            },
        ],
        chosen: |choices| {
            let threads = THREADS[choices[1]];
            let chains = [1, 4][choices[0]];
            let most = threads + 256;
            row(
                1,
                threads,
                format!("u32[{most}]=iota u32[{threads}]=0 {chains}u32"),
            )
        },
    },
];
