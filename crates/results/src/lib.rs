//! Measurements on paper: the document of `harness perf`, and everything that is made of it.
//!
//! For a reader of measurements, today's or last year's: the tables on the terminal, `harness
//! compare` and `harness report`. Crate `measure` makes the documents. Nothing here opens a device
//! or times anything, so all of it works on a machine without a GPU.
//!
//! # Contract
//!
//! - A measurement is one document, version 4 (`document/mod.rs`). One of another version is
//!   refused, with the remedy. `docs/reference/perf-json.md` describes it field by field.
//! - Figures are withheld, and compared with nothing, where the result is wrong, where the time is
//!   impossible, and where the device was throttled throughout (`Figures::is_result`). How wide an
//!   interval is makes no difference.
//! - A table, a page and a verdict say what the document has; none of them changes it.
//!
//! # The spine, in reading order
//!
//! | file                    | what it holds                                                 |
//! |-------------------------|---------------------------------------------------------------|
//! | `document/mod.rs`           | results, cases, rows                                          |
//! | `document/figures.rs`   | figures of a row: times, work, comparisons, judgement         |
//! | `document/file.rs`      | a document as a whole: begun, written, read                   |
//! | `ratios.rs`             | a row, and what it may be compared with                       |
//! | `counted.rs`            | what the emulated device counted                              |
//! | `tables/mod.rs`         | the terminal's tables, lab by lab                             |
//! | `compare/rows.rs`       | which rows of two documents belong together, and the verdict  |
//! | `compare/change.rs`     | faster, slower, same, undecided                               |
//! | `report/mod.rs`         | `harness report`: the page, section by section                |
//!
//! # Limits
//!
//! - Pages are self-contained: pictures are SVG, and no script draws them.
//! - `compare` takes two documents; a history of many is not kept.

pub mod bound;
pub mod compare;
pub mod counted;
mod document;
pub mod ratios;
pub mod report;
pub mod spent;
pub mod tables;

pub use document::*;
