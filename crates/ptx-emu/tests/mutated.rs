//! Mutated PTX: whatever the text, there is an answer. Nothing panics, and nothing runs for ever.
//!
//! A few hundred mutants of this workspace's own files are tried. For a longer run:
//!
//!     MUTATED_SECONDS=300 MUTATED_FOLDER=FILES cargo test -p ptx-emu --test mutated -- --nocapture
//!
//! `FILES` is a folder with more files of PTX. `ulimit -v` limits the memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ptx_emu::{Executable, LaunchConfig, Machine, Options};

/// Mutants where no time is given.
const MUTANTS: u64 = 300;
/// Kernels of a mutant that are launched.
const KERNELS: usize = 4;
/// Of a buffer for each parameter of 8 bytes.
const BUFFER_BYTES: u64 = 4096;

/// Texts of PTX: those of this workspace, and those of a folder.
fn texts() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = ["ptx/tests/data", "ptx-emu/tests", "device/tests"].map(|path| crates.join(path));
    let given = std::env::var_os("MUTATED_FOLDER").map(PathBuf::from);
    let mut texts = Vec::new();
    for folder in own.into_iter().chain(given) {
        let mut files = Vec::new();
        find(&folder, &mut files);
        files.sort();
        let read = |path| std::fs::read(path).ok();
        let bytes = files.into_iter().filter_map(read);
        texts.extend(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    }
    texts
}

/// Adds the files of PTX of a folder and of those in it.
fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
}

/// One change, or several, of a text.
fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    // Long files would leave time for few mutants.
    let start = rng.usize(0..lines.len().saturating_sub(400).max(1));
    if rng.bool() && start > 20 {
        lines.drain(20..start);
    }
    lines.truncate(600);
    for _ in 0..rng.usize(0..3) {
        let (from, to) = (rng.usize(0..lines.len()), rng.usize(0..lines.len()));
        match rng.u8(0..3) {
            0 if lines.len() > 1 => {
                lines.remove(from);
            }
            1 => lines.insert(to, lines[from]),
            _ => lines.swap(from, to),
        }
    }
    let mut whole = lines.join("\n");
    for _ in 0..rng.usize(0..4) {
        whole = changed(&whole, rng);
    }
    whole
}

fn changed(text: &str, rng: &mut Rng) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut tokens: Vec<&str> = text.split_inclusive([' ', ',', ';', '.', '\n']).collect();
    let (first, second) = (rng.usize(0..tokens.len()), rng.usize(0..tokens.len()));
    match rng.u8(0..4) {
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let at = rng.usize(0..bytes.len());
            bytes[at] ^= 1 << rng.u8(0..7);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => {
            let end = rng.usize(0..text.len());
            let end = (0..=end).rev().find(|end| text.is_char_boundary(*end));
            text[..end.unwrap_or(0)].to_owned()
        }
        2 => {
            tokens.swap(first, second);
            tokens.concat()
        }
        _ => {
            let numbers = [
                "0",
                "1",
                "-1",
                "31",
                "32",
                "4294967295",
                "18446744073709551615",
            ];
            let number = numbers[rng.usize(0..numbers.len())];
            let is_number = |token: &&str| token.starts_with(|sign: char| sign.is_ascii_digit());
            let found = (first..tokens.len()).find(|index| is_number(&tokens[*index]));
            let Some(index) = found else {
                return text.to_owned();
            };
            let end = tokens[index].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            let changed = format!("{number}{end}");
            tokens[index] = &changed;
            tokens.concat()
        }
    }
}

/// Parses a text, and launches its kernels; says what became of it. That is the same where kernels
/// are read when they are launched.
fn tried(text: &str) -> &'static str {
    let (at_once, lazily) = (Executable::parse(text), Executable::parse_lazily(text));
    let (executable, lazy) = match (at_once, lazily) {
        (Ok(at_once), Ok(lazily)) => (Arc::new(at_once), lazily),
        (at_once, lazily) => {
            assert_eq!(at_once.err(), lazily.err());
            return "refused";
        }
    };
    for (refused, error) in executable.program().refused() {
        assert!(
            !refused.is_kernel || lazy.kernel(&refused.name).is_none(),
            "{error}"
        );
    }
    let (became, results) = launched(&executable, &executable);
    let (_, later) = launched(&executable, &Arc::new(lazy));
    // Where a body is refused, its variables are there or not, and others lie elsewhere.
    if executable.program().refused().next().is_none() {
        assert_eq!(results, later);
    }
    became
}

/// Launches kernels of a module, as another one has them, and says what came of it.
fn launched(known: &Executable, executable: &Arc<Executable>) -> (&'static str, Vec<String>) {
    let options = Options {
        fuel: 3000,
        ..Options::default()
    };
    let mut machine = Machine::new(Default::default(), options);
    let Ok(module) = machine.load(Arc::clone(executable)) else {
        return ("not loaded", Vec::new());
    };
    let (mut became, mut results) = ("without a kernel", Vec::new());
    for kernel in known.program().kernels().take(KERNELS) {
        let mut block = vec![0; kernel.kernel_param_bytes as usize];
        for parameter in kernel.params.iter().filter(|param| param.size() == 8) {
            let buffer = machine.allocate(BUFFER_BYTES, &parameter.name).unwrap();
            let start = parameter.offset as usize;
            block[start..start + 8].copy_from_slice(&buffer.to_le_bytes());
        }
        let config = LaunchConfig {
            grid: [2, 1, 1],
            block: [64, 1, 1],
            shared_mem_bytes: 1024,
            cluster: [1; 3],
        };
        let result = machine.launch(&module, &kernel.name, &config, block);
        results.push(format!("{result:?}"));
        became = match result {
            Ok(_) => "launched",
            Err(_) => "fault",
        };
    }
    (became, results)
}

#[test]
fn no_mutant_panics() {
    let texts = texts();
    let seconds = std::env::var("MUTATED_SECONDS").ok();
    let time = seconds.map(|text| Duration::from_secs(text.parse().expect("whole seconds")));
    let start = Instant::now();
    let mut outcomes = std::collections::BTreeMap::new();
    let mut slowest = Duration::ZERO;
    for seed in 0.. {
        let ends = time.map_or(seed >= MUTANTS, |time| start.elapsed() >= time);
        if ends {
            break;
        }
        let mut rng = Rng::with_seed(seed);
        let text = mutated(&texts[rng.usize(0..texts.len())], &mut rng);
        let begun = Instant::now();
        let became = catch_unwind(AssertUnwindSafe(|| tried(&text)));
        slowest = slowest.max(begun.elapsed());
        let became = became.unwrap_or_else(|_| panic!("mutant {seed} panics:\n{text}"));
        *outcomes.entry(became).or_insert(0u64) += 1;
    }
    println!("{outcomes:?}, the slowest in {slowest:?}");
    assert!(outcomes.contains_key("refused") && outcomes.contains_key("launched"));
}
