//! The emulator in a page of the book, where it runs in the reader's browser.
//!
//! # Purpose
//!
//! [`answer`] takes a launch as JSON and gives what it did as JSON: the fault in the words of
//! `emulate`, counts, buffers, and the page that replays it. It is ordinary Rust. Compiled to
//! WebAssembly, a worker of the page in the book calls it; compiled for this machine,
//! tests call it, and compare.
//!
//! # Contract
//!
//! - Both give the same bytes: nothing in an answer depends on the machine, the time or files.
//! - A launch is bounded: by [`FUEL`], [`MOST_THREADS`] and [`MEMORY`].
//! - `unsafe` is in `edge.rs` alone, where memory is lent to JavaScript.
//!
//! # Spine
//!
//! | file | what it holds |
//! |---|---|
//! | `examples.rs` | the kernels that the page has, with their switches |
//! | `launch.rs` | a launch in the words of a command line, and its outcome |
//! | `edge.rs` | the functions that WebAssembly exports |
//!
//! # Limits
//!
//! One launch of one kernel. Source lines are shown for the page's own kernels only: of a text that
//! a reader pastes, the sources are not at hand.

#[cfg(target_arch = "wasm32")]
mod edge;
mod examples;
mod launch;

use replay::Facts;
use serde::{Deserialize, Serialize};

pub use examples::{EXAMPLES, Example, KERNELS, Switch};
pub use launch::{Answer, FUEL, Launch, MEMORY, MOST_THREADS, Made, Room};

/// A question of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// Which examples there are.
    Examples,
    /// The launch of an example.
    Example {
        /// Its kernel.
        name: String,
        /// For each of its switches, which of the options is chosen.
        choices: Vec<usize>,
        /// The order of threads: 0 is by index, others are random.
        order: u32,
    },
    /// The launch of a kernel of the reader's.
    Own {
        /// The text.
        ptx: String,
        /// The launch.
        launch: Launch,
    },
}

/// All examples, and the text that has their kernels.
#[derive(Debug, Serialize)]
struct Examples {
    examples: &'static [Example],
    ptx: &'static str,
}

/// The answer to a question, both as JSON. A question that cannot be read has an answer with an
/// error.
///
/// # Panics
///
/// Never: everything in an answer can be written as JSON.
pub fn answer(question: &str) -> String {
    let written = match serde_json::from_str(question) {
        Ok(Request::Examples) => serde_json::to_string(&Examples {
            examples: EXAMPLES,
            ptx: KERNELS,
        }),
        Ok(request) => serde_json::to_string(&run(&request)),
        Err(error) => serde_json::to_string(&Answer::refused(format!("the request: {error}"))),
    };
    written.expect("an answer has strings for keys")
}

/// A reader's text comes without its sources: a browser has no files.
const NOTHING: Facts<'static> = Facts {
    text: &|_| None,
    axes: &|_| Vec::new(),
};

/// Makes a launch.
pub fn run(request: &Request) -> Answer {
    match request {
        Request::Examples => Answer::refused("the list of examples is not a launch".to_owned()),
        Request::Own { ptx, launch } => launch.run(ptx, "kernels.ptx", &NOTHING),
        Request::Example {
            name,
            choices,
            order,
        } => {
            let Some(example) = EXAMPLES.iter().find(|example| example.name == *name) else {
                return Answer::refused(format!("there is no example `{name}`"));
            };
            match example.launch(choices, *order) {
                Ok(launch) => launch.run(KERNELS, "live-kernels.ptx", &examples::FACTS),
                Err(reason) => Answer::refused(reason),
            }
        }
    }
}
