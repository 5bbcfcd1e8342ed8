//! What a lab grades: its cases, tolerance and points, as `labs/<lab>/lab.toml` states them.
//!
//! A [`Course`] has passed every check: its names are unique, the lab accepts its parameters, its points make sense. What
//! does not is refused with file and line. The five labs' files are part of the program; `--lab-file` replaces one.
//!
//! | module       | what it holds                                             |
//! |--------------|-----------------------------------------------------------|
//! | `types`      | what a file states                                        |
//! | `file`       | the file as it is written: TOML, with positions           |
//! | `check`      | from the one to the other                                 |
//! | `read`       | both, for a text or a path                                |
//! | `embedded`   | the labs' own files                                       |
//! | `error`      | what is wrong with a file, and where                      |

mod check;
mod embedded;
mod error;
mod file;
mod read;
mod types;

pub use embedded::{embedded, embedded_files};
pub use error::CourseError;
pub use types::{Against, CaseSpec, Course, Group, PerformanceSpec, Rule};

#[cfg(test)]
mod tests;
