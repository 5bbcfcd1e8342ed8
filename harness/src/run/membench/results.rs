//! What a measurement leaves: the document that `--json` writes, and that `report` reads.

use host::membench::{BandwidthFigure, Coalescing, LatencyCurve, Level};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::json::{SCHEMA_VERSION, read};

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// As the program was started; empty in documents of programs that did not tell.
    #[serde(default)]
    pub command_line: Vec<String>,
    /// The device.
    pub device: String,
    /// A curve for each way to load.
    pub latencies: Vec<Latencies>,
    /// Of every memory and access.
    pub bandwidths: Vec<BandwidthFigure>,
    /// Loads that coalesce, and that do not.
    pub coalescing: Coalescing,
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
    /// [`Failure::Input`] for another version, or other fields.
    pub fn parse(head: &read::Head, text: &str) -> Result<Measured, Failure> {
        head.expect_version(SCHEMA_VERSION)?;
        read::document(text)
    }
}
