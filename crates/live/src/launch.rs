//! A launch in the words of a command line, and its outcome.

use std::sync::Arc;

use ptx_emu::{DeviceLimits, Executable, Fault, LaunchConfig, Options, ProgramFault};
use replay::{Facts, Mistake, NoSuchBlock, Wish, extent, page};
use serde::{Deserialize, Serialize};
use trial::{Counts, Extents, Launched, Trial};
use units::{count, grouped};

/// Warp instructions that a block may execute: seconds of a browser's time.
pub const FUEL: u64 = 2_000_000;
/// Threads that a launch may have.
pub const MOST_THREADS: u64 = 1 << 20;
/// Bytes of the device's memory.
pub const MEMORY: u64 = 256 << 20;

/// A launch, as `emulate FILE.ptx` takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel; empty for the only one.
    pub kernel: String,
    /// Blocks: `4` or `4,2`.
    pub grid: String,
    /// Threads of a block.
    pub block: String,
    /// Bytes of dynamic shared memory of a block.
    #[serde(default)]
    pub shared: u32,
    /// The kernel's arguments, with blanks between them: `f32[64]=iota 64u32`.
    pub arguments: String,
    /// The order of threads: 0 is by index, others are random.
    #[serde(default)]
    pub order: u32,
    /// The numbers of the blocks to record; none for those of the fault, else the first.
    #[serde(default)]
    pub blocks: Vec<u64>,
    /// The most steps to record.
    #[serde(default = "all_steps")]
    pub steps: u32,
}

fn all_steps() -> u32 {
    Wish::STEPS
}

/// The outcome of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The launch that was made, with its kernel's name.
    pub launch: Option<Launch>,
    /// The command that makes it on the reader's machine.
    pub command: Option<String>,
    /// Why nothing was launched.
    pub error: Option<String>,
    /// The work and the fault of a launch that was made.
    pub made: Option<Made>,
}

/// The work and the fault of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Made {
    /// The fault, or what is not supported, as `emulate` tells it.
    pub fault: Option<String>,
    /// Things to know, beside faults.
    pub notes: Vec<String>,
    /// The kernel's prints.
    pub printed: String,
    /// The work, where the launch ended without a fault.
    pub counts: Option<Counts>,
    /// The first elements of each buffer, where it ended without one.
    pub buffers: Vec<String>,
    /// Its share of a multiprocessor.
    pub room: Room,
    /// How much is recorded, in words.
    pub extent: String,
    /// The page that replays it.
    pub page: String,
}

/// How many blocks of a launch a multiprocessor of the emulated device holds. Registers, which it
/// does not allocate, may let a GPU hold fewer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Blocks.
    pub blocks: u64,
    /// Their warps, of 64.
    pub warps: u64,
    /// Bytes of a block's shared memory.
    pub shared_bytes: u64,
}

impl Answer {
    /// The reason why nothing is launched.
    pub(crate) fn refused(error: String) -> Answer {
        Answer {
            launch: None,
            command: None,
            error: Some(error),
            made: None,
        }
    }
}

impl Launch {
    /// Launches a kernel of the text, which is the content of the file that the command names.
    /// `facts` has the texts of source files.
    pub(crate) fn run(&self, ptx: &str, file: &str, facts: &Facts<'_>) -> Answer {
        match self.made(ptx, facts) {
            Ok((kernel, made)) => {
                let launch = Launch {
                    kernel,
                    ..self.clone()
                };
                Answer {
                    command: Some(launch.command(file)),
                    launch: Some(launch),
                    error: None,
                    made: Some(made),
                }
            }
            Err(error) => Answer::refused(error),
        }
    }

    /// The kernel that was launched, and what it did.
    fn made(&self, ptx: &str, facts: &Facts<'_>) -> Result<(String, Made), String> {
        let executable = Executable::parse(ptx).map_err(|error| error.to_string())?;
        let executable = Arc::new(executable);
        let extents = |what: &str, text: &str| match text.parse() {
            Ok(Extents(extents)) => Ok(extents),
            Err(error) => Err(format!("{what}: {error}")),
        };
        let config = LaunchConfig {
            grid: extents("grid", &self.grid)?,
            block: extents("block", &self.block)?,
            shared_mem_bytes: self.shared,
            cluster: [1; 3],
        };
        let threads = config.grid.into_iter().chain(config.block);
        let threads = threads.map(u64::from).fold(1, u64::saturating_mul);
        if threads > MOST_THREADS {
            return Err(format!(
                "the launch has {} threads, and this page runs at most {}; `emulate` runs more",
                grouped(threads),
                grouped(MOST_THREADS)
            ));
        }
        let kernel = self.kernel(executable.program())?;
        let words: Vec<String> = self
            .arguments
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let trial = Trial::new(&executable, &kernel, config, &words);
        let mut trial = trial.map_err(|refused| refused.to_string())?;
        trial.limits.global_bytes = MEMORY;
        // Results do not depend on the number of threads, and a browser has one.
        trial.options = Options {
            fuel: FUEL,
            threads: 1,
            ..Options::default()
        };
        let launched = trial.run(self.order)?;
        let fault = match &launched.outcome {
            Err(Fault::Launch(error)) => return Err(error.to_string()),
            Err(Fault::Program(fault)) => Some(&**fault),
            Ok(_) | Err(Fault::Unsupported(_)) => None,
        };
        let (extent, page) = self.page(&trial, &executable, fault, facts)?;
        let made = Made {
            extent,
            page,
            ..self.found(&trial, &launched)
        };
        Ok((kernel, made))
    }

    /// The name of the kernel that is meant.
    fn kernel(&self, program: &ptx::Program) -> Result<String, String> {
        let given = self.kernel.trim();
        let names: Vec<&str> = program
            .kernels()
            .map(|kernel| kernel.name.as_str())
            .collect();
        match names[..] {
            _ if !given.is_empty() => Ok(given.to_owned()),
            [only] => Ok(only.to_owned()),
            [] => Err("the text has no kernel: no `.entry`".to_owned()),
            _ => Err(format!("name one of the kernels: {}", names.join(", "))),
        }
    }

    /// All but the recording.
    fn found(&self, trial: &Trial<'_>, launched: &Launched<'_>) -> Made {
        let shared = u64::from(trial.kernel().shared_bytes) + u64::from(self.shared);
        let mut made = Made {
            room: Room::of(&trial.limits, trial.config.block, shared, trial.registers()),
            printed: launched.printed.clone(),
            ..Made::default()
        };
        match &launched.outcome {
            Ok(report) => {
                made.notes = report.notes().into_iter().map(|(_, text)| text).collect();
                made.counts = Some(Counts::from(report));
                made.buffers = launched.buffers().collect();
            }
            Err(fault) => made.fault = Some(fault.to_string()),
        }
        made
    }

    /// The extent of a recording, and its page. The launch is made a second time: only then is it
    /// known which blocks matter, and without a recording it was faster.
    fn page(
        &self,
        trial: &Trial<'_>,
        executable: &Executable,
        fault: Option<&ProgramFault>,
        facts: &Facts<'_>,
    ) -> Result<(String, String), String> {
        let wish = Wish {
            blocks: self.blocks.clone(),
            steps: self.steps,
        };
        let plan = wish.plan(trial.config.grid, fault);
        let plan = plan.map_err(|NoSuchBlock { block, blocks }| {
            format!(
                "there is no block {block}: the grid has {}",
                count(blocks as usize, "block")
            )
        })?;
        let recording = trial.record(self.order, plan)?;
        let mistake = fault.map(|fault| Mistake::fault(&recording, fault));
        let page = page(&recording, executable.program(), mistake.as_ref(), facts);
        Ok((extent(&recording, mistake.as_ref()), page))
    }

    /// The command that makes it, of a file with the text.
    fn command(&self, file: &str) -> String {
        let mut words = format!(
            "emulate {file} --kernel {} --grid {} --block {}",
            self.kernel, self.grid, self.block
        );
        if self.shared > 0 {
            words += &format!(" --shared {}", self.shared);
        }
        if self.order > 0 {
            words += &format!(" --orders {}", self.order);
        }
        words += " --counts --replay replay.html";
        if !self.blocks.is_empty() {
            let blocks: Vec<String> = self.blocks.iter().map(u64::to_string).collect();
            words += &format!(" --replay-blocks {}", blocks.join(","));
        }
        if self.steps != Wish::STEPS {
            words += &format!(" --replay-steps {}", self.steps);
        }
        format!("{words} {}", self.arguments)
    }
}

impl Room {
    fn of(limits: &DeviceLimits, block: [u32; 3], shared_bytes: u64, registers: u32) -> Room {
        let threads = block.into_iter().fold(1, u32::saturating_mul);
        let blocks = limits.resident_blocks(threads, shared_bytes, registers);
        let blocks = blocks / u64::from(limits.multiprocessors);
        Room {
            blocks,
            warps: blocks * u64::from(threads.div_ceil(32)),
            shared_bytes,
        }
    }
}
