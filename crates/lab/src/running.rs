//! How `harness run LAB` runs a case and shows it: what differs from lab to lab, as data.

use device::error::Error;
use terminal::progress::Progress;

use crate::case::LabCase;
use crate::convergence::{By, Convergence, Stop};
use crate::lab::AnyCase;
use crate::params::{CaseError, Values};

/// A run of a lab with timesteps.
///
/// The flags of `harness run LAB` follow from the lab's parameters and from this. A lab that says
/// no more than [`Running::in_chunks`] has all of them that need nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// One line for `harness run --help`.
    pub summary: &'static str,
    /// The values of a run where none is given: names of parameters that have others than in a case
    /// of `perf`, with these.
    pub defaults: &'static [(&'static str, &'static str)],
    /// Parameters that one flag gives together. Extents along several axes are `--shape` by
    /// themselves.
    pub together: Option<Together>,
    /// The parameter whose value may be a file, if there is one.
    pub file: Option<FromFile>,
    /// The parts of the case that are shown.
    pub shown: Shown,
}

impl Running {
    /// A run in chunks, whose files have lengths and times in these units: `lengths in metres and
    /// times in seconds`.
    pub const fn in_chunks(summary: &'static str, units: &'static str) -> Running {
        let chunks = Chunks {
            period: None,
            units,
            film: None,
            receivers: None,
        };
        Running::shown(summary, Shown::Chunks(chunks))
    }

    /// A run with the lab's parameters and their defaults.
    pub const fn shown(summary: &'static str, shown: Shown) -> Running {
        Running {
            summary,
            defaults: &[],
            together: None,
            file: None,
            shown,
        }
    }
}

/// A flag that gives several parameters: one value for all, or one for each with commas between.
#[derive(Debug, Clone, Copy)]
pub struct Together {
    /// The flag, without its dashes.
    pub flag: &'static str,
    /// The value in its help: `METRES`.
    pub value: &'static str,
    /// Its help.
    pub summary: &'static str,
    /// The parameters.
    pub parameters: &'static [&'static str],
}

/// A parameter whose value is a word, or the `.npy` file of an array with a number for each point:
/// its axes are the lab's extents, the last one contiguous.
#[derive(Debug, Clone, Copy)]
pub struct FromFile {
    /// The parameter.
    pub name: &'static str,
    /// The help of its flag: the values that it takes.
    pub summary: &'static str,
    /// The words.
    pub words: &'static [&'static str],
    /// The case with these numbers. The other values are as given, the extents those of the array.
    pub case: fn(&Values<'_>, Vec<f32>) -> Result<AnyCase, CaseError>,
}

/// The field that a run shows, and when.
#[derive(Debug, Clone, Copy)]
pub enum Shown {
    /// The field after each chunk of timesteps.
    Chunks(Chunks),
    /// The field after the last one.
    Last(Last),
}

/// A run in chunks of timesteps: each is timed, compared with the CPU's, and shown.
#[derive(Debug, Clone, Copy)]
pub struct Chunks {
    /// Timesteps of a chunk where no flag says it. Without, there are as many chunks as the files
    /// that are asked for want.
    pub period: Option<u32>,
    /// Units of the files: `lengths in metres and times in seconds`.
    pub units: &'static str,
    /// The film of the case's [`Slice`](crate::Slice), if cases have one.
    pub film: Option<Film>,
    /// Receivers along the case's [`Line`](crate::Line), if cases have one.
    pub receivers: Option<Receiving>,
}

/// A film of a slice.
#[derive(Debug, Clone, Copy)]
pub struct Film {
    /// Its name: `a film of the slice through the source`.
    pub summary: &'static str,
    /// Frames where no flag says how many.
    pub frames: u32,
    /// Frames in a second, where no flag says it.
    pub fps: u16,
}

/// Receivers that record the field along a line.
#[derive(Debug, Clone, Copy)]
pub struct Receiving {
    /// The axis of the line.
    pub along: &'static str,
    /// Where [`Line::depth`](crate::Line::depth) is: `just below the shell`.
    pub depth: &'static str,
}

/// A run that is timed as a whole, and whose last field alone is shown.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    /// The formula of the rate of [`LabCase::quoted_bytes`], and what it counts, where there is
    /// one.
    pub quoted: Option<(&'static str, &'static str)>,
    /// How the lab stops where its field hardly changes, if it can.
    pub converging: Option<Converging>,
}

/// A run up to a tolerance: `--tolerance`.
#[derive(Debug, Clone, Copy)]
pub struct Converging {
    /// When it stops; the flag's help.
    pub summary: &'static str,
    /// Computes the case until [`Stop`] says so, at most to its last timestep.
    pub run: Converge,
}

/// [`Converging::run`].
pub type Converge = fn(&dyn LabCase, By<'_>, &Stop, &dyn Progress) -> Result<Convergence, Error>;
