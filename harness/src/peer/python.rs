//! Naive wave2d in Python, in a process of its own.
//!
//! `kernels-gpu/solutions/wave2d/wave2d.py` says how the two talk. Inputs and results travel in files of raw numbers, so that Python
//! needs no library but its toolkit.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use host::plan::{Arg, Command as PlanCommand};
use host::{
    Case, Device, DeviceKind, Element, HostBuffer, LaunchConfig, Launching, NamedBuffers, Plan,
    Timing,
};
use serde::Serialize;
use tempfile::TempDir;

use super::program;
use crate::perf::contender::{Peer, TimedRun, Trouble};

const SCRIPT: &str = "wave2d.py";
const SOURCE: &str = "wave2d.cu";

/// Which library runs the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolkit {
    /// numba-cuda compiles Python.
    Numba,
    /// cupy compiles the CUDA C++ source at run time.
    Cupy,
}

impl Toolkit {
    /// Both.
    pub const ALL: [Toolkit; 2] = [Toolkit::Numba, Toolkit::Cupy];

    /// What Python imports.
    pub const fn module(self) -> &'static str {
        match self {
            Toolkit::Numba => "numba",
            Toolkit::Cupy => "cupy",
        }
    }

    const fn language(self) -> &'static str {
        match self {
            Toolkit::Numba => "Python, numba",
            Toolkit::Cupy => "Python, cupy RawKernel",
        }
    }

    /// Prints a version if the toolkit is there; fails otherwise.
    const fn probe(self) -> &'static str {
        match self {
            Toolkit::Numba => "import numba, numba.cuda; print(numba.__version__)",
            Toolkit::Cupy => "import cupy; print(cupy.__version__)",
        }
    }
}

/// A toolkit that is installed.
#[derive(Debug)]
pub struct PythonPeer {
    toolkit: Toolkit,
    program: PathBuf,
    built_by: String,
}

impl PythonPeer {
    /// The toolkit of the `PATH`'s `python3`.
    ///
    /// # Errors
    ///
    /// Why there is none, in words for the user.
    pub fn find(toolkit: Toolkit) -> Result<PythonPeer, String> {
        PythonPeer::with("python3".into(), toolkit)
    }

    /// The toolkit of this Python.
    ///
    /// # Errors
    ///
    /// As [`PythonPeer::find`].
    pub fn with(program: PathBuf, toolkit: Toolkit) -> Result<PythonPeer, String> {
        let output = Command::new(&program)
            .args(["-c", toolkit.probe()])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        if !output.status.success() {
            return Err(last_line(&output.stderr).unwrap_or("no message").to_owned());
        }
        let version = last_line(&output.stdout).unwrap_or("of unknown version");
        Ok(PythonPeer {
            toolkit,
            built_by: format!("{} {version}", toolkit.module()),
            program,
        })
    }
}

impl Peer for PythonPeer {
    fn language(&self) -> &str {
        self.toolkit.language()
    }

    fn built_by(&self) -> &str {
        &self.built_by
    }

    fn lab(&self) -> &str {
        "wave2d"
    }

    fn variant(&self) -> &str {
        "naive"
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn Case,
        inputs: &'p NamedBuffers,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble> {
        let info = device.info();
        if info.kind != DeviceKind::Cuda {
            return Err(Trouble::Unsuited(format!(
                "{} runs on a GPU only",
                self.toolkit.language()
            )));
        }
        let flush_bytes = 2 * info.l2_bytes.unwrap_or(0);
        let run = PythonRun::start(
            self,
            &case.record("naive")?,
            inputs,
            info.ordinal,
            flush_bytes,
        )?;
        Ok(Box::new(run))
    }
}

/// What the script is told of a case.
#[derive(Debug, Serialize)]
struct Prepare<'a> {
    ordinal: u32,
    n_x: u32,
    n_y: u32,
    steps: usize,
    first_step: u32,
    scene: u32,
    k: f32,
    /// Of a block.
    rows: u32,
    flush_bytes: u64,
    inputs: [&'a Path; 2],
    outputs: [&'a Path; 2],
    source: &'a Path,
}

/// A process with a prepared case.
pub(super) struct PythonRun {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: TempDir,
    outputs: [PathBuf; 2],
    steps: u64,
}

impl PythonRun {
    /// Starts the process, which loads the inputs and compiles.
    pub(super) fn start(
        peer: &PythonPeer,
        plan: &Plan,
        inputs: &NamedBuffers,
        ordinal: u32,
        flush_bytes: u64,
    ) -> Result<PythonRun, Trouble> {
        let failed = |error: std::io::Error| Trouble::Lacking(format!("python3: {error}"));
        let folder = tempfile::tempdir().map_err(failed)?;
        let path = |name: &str| folder.path().join(name);
        let (script, source) = (path("wave2d.py"), path("wave2d.cu"));
        fs::write(&script, program(SCRIPT).unwrap_or_default()).map_err(failed)?;
        fs::write(&source, program(SOURCE).unwrap_or_default()).map_err(failed)?;
        let input_paths = ["u0", "u1"].map(&path);
        for (name, path) in ["u0", "u1"].iter().zip(&input_paths) {
            let input = inputs.iter().find(|(input, _)| input == name);
            let (_, buffer) = input
                .ok_or_else(|| Trouble::Unsuited(format!("the case has no input `{name}`")))?;
            fs::write(path, buffer.bytes()).map_err(failed)?;
        }
        let outputs = ["u0.out", "u1.out"].map(&path);
        let (first, steps) = launches(plan)?;
        let prepare = Prepare {
            ordinal,
            steps,
            flush_bytes,
            inputs: input_paths.each_ref().map(PathBuf::as_path),
            outputs: outputs.each_ref().map(PathBuf::as_path),
            source: &source,
            ..first
        };
        let prepare = serde_json::to_string(&prepare).expect("plain data");
        let errors = fs::File::create(path("errors")).map_err(failed)?;
        let mut child = Command::new(&peer.program)
            .arg("-u")
            .arg(&script)
            .arg(peer.toolkit.module())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut run = PythonRun {
            child,
            commands,
            answers,
            folder,
            outputs,
            steps: steps as u64,
        };
        run.ask_for_ok(&format!("prepare {prepare}"))?;
        Ok(run)
    }

    /// Sends a command; the answer.
    fn ask(&mut self, command: &str) -> Result<String, Trouble> {
        let commands = self.commands.as_mut().expect("open until dropped");
        let mut answer = String::new();
        let talked = writeln!(commands, "{command}")
            .and_then(|()| commands.flush())
            .and_then(|()| self.answers.read_line(&mut answer));
        match (talked, answer.trim_end()) {
            (Ok(1..), answer) => match answer.strip_prefix("error ") {
                Some(message) => Err(Trouble::Failed(message.to_owned())),
                None => Ok(answer.to_owned()),
            },
            _ => {
                let errors = fs::read(self.folder.path().join("errors")).unwrap_or_default();
                let said = last_line(&errors).unwrap_or("no message");
                Err(Trouble::Failed(format!("python3 ended: {said}")))
            }
        }
    }

    fn ask_for_ok(&mut self, command: &str) -> Result<(), Trouble> {
        match self.ask(command)?.as_str() {
            "ok" => Ok(()),
            other => Err(not_understood(other)),
        }
    }
}

impl TimedRun for PythonRun {
    fn reset(&mut self) -> Result<(), Trouble> {
        self.ask_for_ok("reset")
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        self.ask_for_ok("flush")
    }

    fn run_times(&mut self, runs: u32, _by: Launching) -> Result<Timing, Trouble> {
        let answer = self.ask(&format!("run {runs}"))?;
        timing(&answer).ok_or_else(|| not_understood(&answer))
    }

    fn outputs(&mut self) -> Result<NamedBuffers, Trouble> {
        self.ask_for_ok("outputs")?;
        let names = ["u0", "u1"].into_iter().zip(&self.outputs);
        names
            .map(|(name, path)| {
                let bytes = fs::read(path).map_err(|error| Trouble::Failed(error.to_string()))?;
                let buffer = HostBuffer::from_bytes(Element::F32, &bytes);
                Ok((name.to_owned(), buffer.map_err(host::Error::from)?))
            })
            .collect()
    }

    fn commands(&self) -> Option<u64> {
        Some(self.steps)
    }
}

impl Drop for PythonRun {
    fn drop(&mut self) {
        // At the end of its input the process ends by itself; one that does not is ended.
        drop(self.commands.take());
        for _ in 0..50 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a plan of the naive variant launches: the first of them, and how many. Files are left open.
fn launches(plan: &Plan) -> Result<(Prepare<'static>, usize), Trouble> {
    let mut launches = plan.commands().filter_map(|command| match command {
        PlanCommand::Launch(launch) => Some(launch),
        _ => None,
    });
    let Some(first) = launches.next() else {
        return Err(Trouble::Unsuited("the case has no timestep".to_owned()));
    };
    let &[
        _,
        _,
        Arg::U32(n_x),
        Arg::U32(n_y),
        Arg::U32(scene),
        Arg::F32(k),
        Arg::U32(first_step),
    ] = first.args
    else {
        return Err(Trouble::Unsuited(format!(
            "`{}` has other arguments than the script",
            first.kernel
        )));
    };
    let LaunchConfig { block, .. } = first.config;
    let nowhere = Path::new("");
    let prepare = Prepare {
        ordinal: 0,
        n_x,
        n_y,
        steps: 0,
        first_step,
        scene,
        k,
        rows: block[1],
        flush_bytes: 0,
        inputs: [nowhere; 2],
        outputs: [nowhere; 2],
        source: nowhere,
    };
    Ok((prepare, 1 + launches.count()))
}

/// `time DEVICE_SECONDS HOST_SECONDS`.
fn timing(answer: &str) -> Option<Timing> {
    let mut seconds = answer.strip_prefix("time ")?.split(' ').map(|text| {
        let seconds: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    });
    Some(Timing {
        device: Some(seconds.next()??),
        host: seconds.next()??,
    })
}

fn not_understood(answer: &str) -> Trouble {
    Trouble::Failed(format!("wave2d.py answered `{answer}`"))
}

/// The last line that is not empty.
fn last_line(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}
