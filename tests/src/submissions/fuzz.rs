//! Bundles that are changed at random, and graded. With any contents, a bundle gets a report, and
//! the grader goes on.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::grade::{GradeReport, sha256};

/// The address space of the grader and of each process that it starts, in KiB.
const MEMORY_KIB: u64 = 6 << 20;
/// The largest total length of a repeated part, in bytes.
const MAX_REPEATED_BYTES: usize = 16 << 20;
/// The largest report, in bytes: truncated texts, and a picture for each case.
const MAX_REPORT_BYTES: u64 = 8 << 20;

/// A bundle to change, and the program that grades it.
#[derive(Debug, Clone)]
pub struct Fuzz {
    /// `harness`, or a program that understands the same command line.
    pub program: PathBuf,
    /// A bundle that is right.
    pub bundle: PathBuf,
    /// Its lab.
    pub lab: String,
    /// The lab file for its grade.
    pub lab_file: PathBuf,
    /// A folder for bundles and reports.
    pub scratch: PathBuf,
}

impl Fuzz {
    /// Grades changed bundles until the time is over, at least `least` of them, and returns their
    /// number. Equal seeds give equal bundles.
    ///
    /// # Errors
    ///
    /// The first bundle whose grade ended without a report. It is kept in the folder.
    pub fn run(&self, seed: u64, time: Duration, least: u32) -> Result<u32, String> {
        let began = Instant::now();
        let right = fs::read(&self.bundle).map_err(|error| error.to_string())?;
        let mut done = 0;
        while done < least || began.elapsed() < time {
            let mut random = Rng::with_seed(seed.wrapping_add(done.into()));
            let (what, bytes) = changed(&right, &mut random);
            let path = self.scratch.join("fuzzed.bundle");
            fs::write(&path, bytes).map_err(|error| error.to_string())?;
            self.grade(&path).map_err(|error| {
                let kept = path.display();
                format!("number {done} of seed {seed}, {what}, kept as {kept}: {error}")
            })?;
            done += 1;
        }
        Ok(done)
    }

    /// Grades it under a limit of memory.
    fn grade(&self, bundle: &Path) -> Result<(), String> {
        let report = self.scratch.join("fuzzed.json");
        let limited = format!("ulimit -v {MEMORY_KIB}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, "sh"]).arg(&self.program);
        command.arg("grade").arg(bundle).args(["--lab", &self.lab]);
        command.arg("--lab-file").arg(&self.lab_file);
        command.args(["--device", "emulated", "--deadline", "3", "--seed", "1"]);
        command.arg("-o").arg(&report);
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !matches!(output.status.code(), Some(0 | 1 | 5)) {
            return Err(format!("{}: {said:.2000}", output.status));
        }
        if said.contains("panicked") {
            return Err(format!("{said:.2000}"));
        }
        let size = fs::metadata(&report).map_err(|error| error.to_string())?;
        if size.len() > MAX_REPORT_BYTES {
            return Err(format!("the report has {} bytes", size.len()));
        }
        let text = fs::read(&report).map_err(|error| error.to_string())?;
        let graded: GradeReport =
            serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let totals = graded.totals;
        if totals.earned > totals.graded() || graded.cases.is_empty() {
            return Err(format!("{totals:?}"));
        }
        Ok(())
    }
}

/// A changed bundle, and a name for the change.
fn changed(right: &[u8], random: &mut Rng) -> (&'static str, Vec<u8>) {
    let mut bytes = right.to_vec();
    let Some(json) = content(right) else {
        return ("nothing", bytes);
    };
    match random.u32(0..8) {
        0 => {
            spoil(&mut bytes, random);
            ("the file's bytes", bytes)
        }
        1 => {
            let mut text = json;
            spoil(&mut text, random);
            ("its content's bytes", sealed(&text))
        }
        2 => (
            "its depth",
            sealed("[".repeat(random.usize(1..3_000_000)).as_bytes()),
        ),
        3 => {
            // A megabyte of zeros packs to a kilobyte.
            let text = vec![b' '; 3 << random.u32(8..28)];
            ("its unpacked size", sealed(&text))
        }
        4 => {
            let mut value: Value = serde_json::from_slice(&json).unwrap_or_default();
            let ptx = value["ptx"].as_str().unwrap_or_default();
            value["ptx"] = kernels(ptx, random).into();
            ("its kernels", sealed(value.to_string().as_bytes()))
        }
        _ => {
            let mut value: Value = serde_json::from_slice(&json).unwrap_or_default();
            for _ in 0..random.u32(1..4) {
                let other = part(&mut value.clone(), random).clone();
                *part(&mut value, random) = something(other, random);
            }
            ("a part of it", sealed(value.to_string().as_bytes()))
        }
    }
}

fn content(bundle: &[u8]) -> Option<Vec<u8>> {
    let end = bundle.iter().position(|&byte| byte == b'\n')?;
    let mut json = Vec::new();
    GzDecoder::new(&bundle[end + 1..])
        .read_to_end(&mut json)
        .ok()?;
    Some(json)
}

/// A bundle's file with this content and a right first line.
fn sealed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory takes everything");
    let packed = encoder.finish().expect("memory takes everything");
    let header = format!("harness-bundle 4 {} {}\n", sha256(&packed), packed.len());
    [header.into_bytes(), packed].concat()
}

/// Changes, removes or repeats a few bytes.
fn spoil(bytes: &mut Vec<u8>, random: &mut Rng) {
    for _ in 0..random.u32(1..6) {
        if bytes.is_empty() {
            return;
        }
        let from = random.usize(..bytes.len());
        let to = (from + random.usize(1..64)).min(bytes.len());
        match random.u32(0..4) {
            0 => bytes[from] = random.u8(..),
            1 => bytes[from] ^= 1 << random.u32(0..8),
            2 => drop(bytes.drain(from..to)),
            _ => {
                let again = bytes[from..to].repeat(random.usize(1..20));
                bytes.splice(from..from, again);
            }
        }
    }
}

/// PTX with lines and words exchanged, removed, repeated, and with large numbers.
fn kernels(ptx: &str, random: &mut Rng) -> String {
    const NUMBERS: [&str; 8] = [
        "0",
        "-1",
        "4294967295",
        "2147483648",
        "18446744073709551615",
        "99999999999999999999",
        "0f7FC00000",
        "1048576",
    ];
    let mut lines: Vec<String> = ptx.lines().map(str::to_owned).collect();
    for _ in 0..random.u32(1..8) {
        if lines.is_empty() {
            break;
        }
        let (a, b) = (random.usize(..lines.len()), random.usize(..lines.len()));
        match random.u32(0..5) {
            0 => lines.swap(a, b),
            1 => drop(lines.remove(a)),
            2 => {
                let line = lines[a].clone();
                let times = random.usize(1..5000);
                lines.splice(a..a, std::iter::repeat_n(line, times));
            }
            3 => {
                let number = NUMBERS[random.usize(..NUMBERS.len())];
                let words = lines[a].split_inclusive(|c: char| !c.is_ascii_digit());
                let replaced = words.map(|word| {
                    let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
                    if digits.is_empty() || random.bool() {
                        word.to_owned()
                    } else {
                        word.replacen(digits, number, 1)
                    }
                });
                lines[a] = replaced.collect();
            }
            _ => {
                let mut words: Vec<&str> = lines[b].split(' ').collect();
                random.shuffle(&mut words);
                lines[a] = words.join(" ");
            }
        }
    }
    lines.join("\n")
}

/// Some part of the value.
fn part<'v>(value: &'v mut Value, random: &mut Rng) -> &'v mut Value {
    let parts = match value {
        Value::Array(values) => values.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if parts == 0 || random.u32(0..5) == 0 {
        return value;
    }
    let index = random.usize(..parts);
    let inner = match value {
        Value::Array(values) => values.get_mut(index),
        Value::Object(fields) => fields.iter_mut().nth(index).map(|(_, inner)| inner),
        _ => None,
    };
    part(inner.expect("there are so many"), random)
}

/// A replacement for a part.
fn something(other: Value, random: &mut Rng) -> Value {
    match random.u32(0..10) {
        0 => Value::Null,
        1 => u64::MAX.into(),
        2 => i64::MIN.into(),
        3 => 1e308.into(),
        4 => random.u64(..).into(),
        5 => "x".repeat(random.usize(0..2 << 20)).into(),
        6 => {
            let most = MAX_REPEATED_BYTES / other.to_string().len();
            vec![other; random.usize(0..2000).min(most)].into()
        }
        7 => (0..90).fold(other, |inner, _| vec![inner].into()),
        8 => u64::from(random.u32(0..70)).into(),
        _ => other,
    }
}
