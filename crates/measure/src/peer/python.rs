//! A variant in Python, in a process of its own.
//!
//! The script, beside the lab's solutions, says how the two talk. Inputs and results travel in
//! files of raw numbers, so that Python needs no library but its toolkit.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use device::{
    BufferPool, Capture, Device, DeviceKind, Element, Error, Flushed, HostBuffer, KernelInfo,
    Launching, NamedBuffers, Session, TimedSession, Timing,
};
use lab::{Counterpart, Lab, LabCase, Script, Variant};
use output_files::ScratchFolder;
use plan::{BufferId, Plan};
use results::Language;
use serde_json::json;

use crate::perf::timed_run::{About, Peer, PeerFailure, RunError, TimedRun};
use host::solutions::program;

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
#[derive(Debug, Clone)]
pub struct Installed {
    toolkit: Toolkit,
    program: PathBuf,
    version: String,
}

/// A variant's script, with a toolkit.
#[derive(Debug)]
pub struct PythonPeer {
    about: About,
    with: Installed,
    script: Script,
}

impl Toolkit {
    /// The toolkit of this Python: `python3` for that of the `PATH`.
    /// Otherwise, why there is none, as a message for the user.
    pub fn find(self, program: PathBuf) -> Result<Installed, String> {
        let output = Command::new(&program)
            .args(["-c", self.probe])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        if !output.status.success() {
            return Err(last_line(&output.stderr).unwrap_or("no message").to_owned());
        }
        let version = last_line(&output.stdout).unwrap_or("of unknown version");
        Ok(Installed {
            toolkit: self,
            program,
            version: version.to_owned(),
        })
    }
}

/// The variants of these labs that have a script, with this toolkit.
pub fn peers(labs: &[&'static Lab], with: &Installed) -> Vec<PythonPeer> {
    let variants = labs
        .iter()
        .flat_map(|&lab| lab.variants.iter().map(move |variant| (lab, variant)));
    let scripts = variants.flat_map(|(lab, variant)| {
        let scripts = variant.counterparts.iter().filter_map(|it| match it {
            Counterpart::Python(script) => Some(*script),
            Counterpart::Cuda(_) => None,
        });
        scripts.map(move |script| (lab, variant, script))
    });
    let peers = scripts.map(|(lab, variant, script)| PythonPeer {
        about: About {
            language: Language::Other(with.toolkit.language.to_owned()),
            built_by: format!("{} {}", with.toolkit.module, with.version),
            lab: lab.name,
            variant: &variant.name,
            code_sha256: None,
            rounds_differently: false,
        },
        with: with.clone(),
        script,
    });
    peers.collect()
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
            let language = self.with.toolkit.language;
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
    /// The script's name.
    script: &'static str,
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
        let [script, source] = [peer.script.file, peer.script.source].map(|name| {
            let path = path(name);
            fs::write(&path, program(name).unwrap_or_default()).map(|()| path)
        });
        let (script, source) = (script.map_err(failed)?, source.map_err(failed)?);
        let mut input_paths = Vec::new();
        for (name, buffer) in inputs {
            let path = path(name);
            fs::write(&path, buffer.bytes()).map_err(failed)?;
            input_paths.push(path);
        }
        let outputs: Vec<(BufferId, PathBuf)> = plan
            .outputs()
            .iter()
            .map(|(name, id)| (*id, path(&format!("{name}.out"))))
            .collect();
        let output_paths: Vec<&PathBuf> = outputs.iter().map(|(_, place)| place).collect();
        let mut prepare = (peer.script.arguments)(plan).map_err(RunError::Unsuited)?;
        prepare["ordinal"] = json!(ordinal);
        prepare["flush_bytes"] = json!(flush_bytes);
        prepare["inputs"] = json!(input_paths);
        prepare["outputs"] = json!(output_paths);
        prepare["source"] = json!(source);
        let errors = fs::File::create(path("errors")).map_err(failed)?;
        let mut child = Command::new(&peer.with.program)
            .arg("-u")
            .arg(&script)
            .arg(peer.with.toolkit.module)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut session = PythonSession {
            script: peer.script.file,
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
            other => Err(not_understood(self.script, other)),
        }
    }
}

impl Session for PythonSession {
    /// The process has read its inputs: see [`TimedSession::recall`].
    fn write(&mut self, _: BufferId, _: &HostBuffer) -> Result<(), Error> {
        Err(PeerFailure(format!("{} reads its inputs itself", self.script)).into())
    }

    fn fill(&mut self, _: BufferId, _: u8) -> Result<(), Error> {
        Err(PeerFailure(format!("{} has no field that is not an input", self.script)).into())
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

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        Err(PeerFailure(format!("{} does not tell of `{kernel}`", self.script)).into())
    }
}

impl TimedSession for PythonSession {
    fn run_times(&mut self, runs: u32, _by: Launching) -> Result<Timing, Error> {
        (self.is_reset, self.is_written) = (false, false);
        let answer = self.ask(&format!("run {runs}"))?;
        Ok(timing(&answer).ok_or_else(|| not_understood(self.script, &answer))?)
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

    /// Makes all fields the inputs.
    fn recall(&mut self, _: BufferId) -> Result<bool, Error> {
        if !self.is_reset {
            self.ask_for_ok("reset")?;
            self.is_reset = true;
        }
        Ok(true)
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

fn not_understood(file: &str, answer: &str) -> PeerFailure {
    PeerFailure(format!("{file} answered `{answer}`"))
}

/// The last line that is not empty.
fn last_line(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}
