//! Naive wave2d in Python, in a process of its own.
//!
//! `kernels-gpu/solutions/wave2d/wave2d.py` says how the two talk. Inputs and results travel in
//! files of raw numbers, so that Python needs no library but its toolkit.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use device::{
    BufferPool, Capture, Device, DeviceKind, Element, Error, Flushed, HostBuffer, KernelInfo,
    Launching, NamedBuffers, Session, Timing,
};
use lab::{LabCase, Variant};
use output_files::ScratchFolder;
use plan::{Arg, BufferId, Command as PlanCommand, Plan};
use serde_json::{Value, json};

use crate::perf::timed_run::{About, Peer, PeerFailure, RunError, TimedRun};
use host::solutions::program;

const SCRIPT: &str = "wave2d.py";
const SOURCE: &str = "wave2d.cu";

/// A library that runs the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolkit {
    /// The module that Python imports.
    pub module: &'static str,
    language: &'static str,
    /// Prints a version if the toolkit is there; fails otherwise.
    probe: &'static str,
}

/// numba-cuda compiles Python.
pub const NUMBA: Toolkit = Toolkit {
    module: "numba",
    language: "Python, numba",
    probe: "import numba, numba.cuda; print(numba.__version__)",
};

/// cupy compiles the CUDA C++ source at run time.
pub const CUPY: Toolkit = Toolkit {
    module: "cupy",
    language: "Python, cupy RawKernel",
    probe: "import cupy; print(cupy.__version__)",
};

/// A toolkit that is installed.
#[derive(Debug)]
pub struct PythonPeer {
    about: About,
    toolkit: Toolkit,
    program: PathBuf,
}

impl PythonPeer {
    /// The toolkit of this Python: `python3` for that of the `PATH`.
    /// Otherwise, why there is none, as a message for the user.
    pub fn find(program: PathBuf, toolkit: Toolkit) -> Result<PythonPeer, String> {
        let output = Command::new(&program)
            .args(["-c", toolkit.probe])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        if !output.status.success() {
            return Err(last_line(&output.stderr).unwrap_or("no message").to_owned());
        }
        let version = last_line(&output.stdout).unwrap_or("of unknown version");
        Ok(PythonPeer {
            about: About {
                language: toolkit.language.to_owned(),
                built_by: format!("{} {version}", toolkit.module),
                lab: "wave2d",
                variant: "naive",
                code_sha256: None,
                rounds_differently: false,
            },
            toolkit,
            program,
        })
    }
}

impl Peer for PythonPeer {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn LabCase,
        launched: &Variant,
        inputs: &'p NamedBuffers,
        _memory: &BufferPool,
    ) -> Result<TimedRun<'p>, RunError> {
        let info = device.info();
        if info.kind != DeviceKind::Cuda {
            let language = self.toolkit.language;
            return Err(RunError::Unsuited(format!("{language} runs on a GPU only")));
        }
        let plan = launched.record(case)?;
        let flush_bytes = 2 * info.l2_bytes.unwrap_or(0);
        let session = PythonSession::start(self, &plan, inputs, info.ordinal, flush_bytes)?;
        Ok(TimedRun::of_program(Box::new(session), plan, inputs))
    }
}

/// A process with a prepared case.
pub(super) struct PythonSession {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: ScratchFolder,
    /// The results, and the file of each.
    outputs: Vec<(BufferId, PathBuf)>,
    flush_bytes: u64,
    /// Whether the fields are the inputs.
    is_reset: bool,
    /// Whether the files have the results of the last run.
    is_written: bool,
}

impl PythonSession {
    /// Starts the process, which loads the inputs and compiles.
    pub(super) fn start(
        peer: &PythonPeer,
        plan: &Plan,
        inputs: &NamedBuffers,
        ordinal: u32,
        flush_bytes: u64,
    ) -> Result<PythonSession, RunError> {
        let failed = |error: std::io::Error| RunError::Lacking(format!("python3: {error}"));
        let folder = ScratchFolder::new("peer").map_err(failed)?;
        let path = |name: &str| folder.path().join(name);
        let (script, source) = (path("wave2d.py"), path("wave2d.cu"));
        fs::write(&script, program(SCRIPT).unwrap_or_default()).map_err(failed)?;
        fs::write(&source, program(SOURCE).unwrap_or_default()).map_err(failed)?;
        let input_paths = ["u0", "u1"].map(&path);
        for (name, path) in ["u0", "u1"].iter().zip(&input_paths) {
            let input = inputs.iter().find(|(input, _)| input == name);
            let (_, buffer) = input
                .ok_or_else(|| RunError::Unsuited(format!("the case has no input `{name}`")))?;
            fs::write(path, buffer.bytes()).map_err(failed)?;
        }
        let outputs: Vec<(BufferId, PathBuf)> = plan
            .outputs()
            .iter()
            .map(|(name, id)| (*id, path(&format!("{name}.out"))))
            .collect();
        let output_paths: Vec<&PathBuf> = outputs.iter().map(|(_, path)| path).collect();
        let mut prepare = launches(plan)?;
        prepare["ordinal"] = json!(ordinal);
        prepare["flush_bytes"] = json!(flush_bytes);
        prepare["inputs"] = json!(input_paths);
        prepare["outputs"] = json!(output_paths);
        prepare["source"] = json!(source);
        let errors = fs::File::create(path("errors")).map_err(failed)?;
        let mut child = Command::new(&peer.program)
            .arg("-u")
            .arg(&script)
            .arg(peer.toolkit.module)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut session = PythonSession {
            child,
            commands,
            answers,
            folder,
            outputs,
            flush_bytes,
            is_reset: false,
            is_written: false,
        };
        session
            .ask_for_ok(&format!("prepare {prepare}"))
            .map_err(|failure| RunError::Failed(failure.0))?;
        Ok(session)
    }

    /// Sends a command, and returns the answer.
    fn ask(&mut self, command: &str) -> Result<String, PeerFailure> {
        let commands = self.commands.as_mut().expect("open until dropped");
        let mut answer = String::new();
        let talked = writeln!(commands, "{command}")
            .and_then(|()| commands.flush())
            .and_then(|()| self.answers.read_line(&mut answer));
        match (talked, answer.trim_end()) {
            (Ok(1..), answer) => match answer.strip_prefix("error ") {
                Some(message) => Err(PeerFailure(message.to_owned())),
                None => Ok(answer.to_owned()),
            },
            _ => {
                let errors = fs::read(self.folder.path().join("errors")).unwrap_or_default();
                let said = last_line(&errors).unwrap_or("no message");
                Err(PeerFailure(format!("python3 ended: {said}")))
            }
        }
    }

    fn ask_for_ok(&mut self, command: &str) -> Result<(), PeerFailure> {
        match self.ask(command)?.as_str() {
            "ok" => Ok(()),
            other => Err(not_understood(other)),
        }
    }
}

impl Session for PythonSession {
    /// The process has read its inputs: see [`Session::recall`].
    fn write(&mut self, _: BufferId, _: &HostBuffer) -> Result<(), Error> {
        Err(PeerFailure("wave2d.py reads its inputs itself".to_owned()).into())
    }

    fn fill(&mut self, _: BufferId, _: u8) -> Result<(), Error> {
        Err(PeerFailure("wave2d.py has no field that is not an input".to_owned()).into())
    }

    /// Makes all fields the inputs.
    fn recall(&mut self, _: BufferId) -> Result<bool, Error> {
        if !self.is_reset {
            self.ask_for_ok("reset")?;
            self.is_reset = true;
        }
        Ok(true)
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        if !self.is_written {
            self.ask_for_ok("outputs")?;
            self.is_written = true;
        }
        let found = self.outputs.iter().find(|(output, _)| *output == id);
        let (_, path) = found.ok_or_else(|| PeerFailure("it is not a result".to_owned()))?;
        let bytes = fs::read(path).map_err(|error| PeerFailure(error.to_string()))?;
        Ok(HostBuffer::from_bytes(Element::F32, &bytes)?)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.run_times(1, Launching::Stream)
    }

    fn run_times(&mut self, runs: u32, _by: Launching) -> Result<Timing, Error> {
        (self.is_reset, self.is_written) = (false, false);
        let answer = self.ask(&format!("run {runs}"))?;
        Ok(timing(&answer).ok_or_else(|| not_understood(&answer))?)
    }

    fn flush(&mut self) -> Result<Flushed, Error> {
        self.ask_for_ok("flush")?;
        Ok(Flushed::Cache {
            bytes: self.flush_bytes,
        })
    }

    fn capture(&mut self) -> Result<Capture, Error> {
        Ok(Capture::Stream {
            reason: "it is not launched by this program".to_owned(),
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        Err(PeerFailure(format!("wave2d.py does not tell of `{kernel}`")).into())
    }
}

impl Drop for PythonSession {
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

/// The launches of a plan of the naive variant, as the script takes them.
fn launches(plan: &Plan) -> Result<Value, RunError> {
    let launches: Vec<_> = plan
        .commands()
        .filter_map(|command| match command {
            PlanCommand::Launch(launch) => Some(launch),
            _ => None,
        })
        .collect();
    let Some(first) = launches.first() else {
        return Err(RunError::Unsuited("the case has no timestep".to_owned()));
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
        return Err(RunError::Unsuited(format!(
            "`{}` has other arguments than the script",
            first.kernel
        )));
    };
    Ok(json!({
        "n_x": n_x,
        "n_y": n_y,
        "steps": launches.len(),
        "scene": scene,
        "k": k,
        "first_step": first_step,
        "rows": first.config.block[1],
    }))
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

fn not_understood(answer: &str) -> PeerFailure {
    PeerFailure(format!("wave2d.py answered `{answer}`"))
}

/// The last line that is not empty.
fn last_line(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}
