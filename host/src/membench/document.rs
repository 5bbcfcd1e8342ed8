//! The document of `harness run membench --json`.

use exit::CommandError;
use serde::{Deserialize, Serialize};
use terminal::json::{SCHEMA_VERSION, read};

use super::{BandwidthFigure, Coalescing, LatencyCurve, Level, LineMap};

/// The measurement: the document that `--json` writes, and that `report` reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The command line; empty in documents of programs that did not write it.
    #[serde(default)]
    pub command_line: Vec<String>,
    /// The device.
    pub device: String,
    /// A curve for each way to load.
    pub latencies: Vec<Latencies>,
    /// For every memory and access.
    pub bandwidths: Vec<BandwidthFigure>,
    /// Loads that coalesce, and loads that do not.
    pub coalescing: Coalescing,
    /// The latency of lines of L2 from every multiprocessor, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineMap>,
}

/// A curve and its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Latency against footprint.
    #[serde(flatten)]
    pub curve: LatencyCurve,
    /// Its flat parts.
    pub levels: Vec<Level>,
}

impl Measured {
    /// Reads a document of `harness run membench`, whose head was read.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for another version, or other fields.
    pub fn parse(head: &read::Head, text: &str) -> Result<Measured, CommandError> {
        head.expect_version(SCHEMA_VERSION)?;
        read::document(text)
    }
}
